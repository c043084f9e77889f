// Package temporal makes the runs of a suite on other machines, with Temporal as the
// engine that survives the loss of any of them.
//
//	coordinator                       Temporal                   workers
//	agentbench-temporal run           suite workflow             agentbench-temporal worker
//	  plan -> Pool -> Executor  --->    batch workflows  --->      activity: one run
//	  deliver: scores, journal  <---    outcomes         <---      record -> store
//
// An item is one activity. The coordinator takes as many items at a time as the suite's
// concurrency says, as on one machine, and gives them to a batch: a workflow of at most
// [batchSize] items, so that no history grows without end. Only what identifies a run travels
// through Temporal; its record goes to the store that all machines share, and its digest
// comes back. States of workspaces take the same way (states.go), and so do the events of
// runs in progress, where somebody follows them (tell.go). The coordinator reads the record,
// scores it and writes it to the result folder. So whatever works on recorded runs works on
// these.
//
// The suite workflow is one for a result folder. It starts the batches, and it is the
// ledger (book.go): workers borrow from the suite's budget, and get a share of the limits
// of its models, for as long as they renew their lease (lease.go).
//
// The coordinator alone executes the code of the workflows. Without it runs in progress end
// and are stored; the next coordinator finds them.
//
// An activity may run twice. The record of a run that counts is created if it is absent, by
// the run's id; the answers of models go to a cache that all workers share. So what is paid
// twice is what was in flight when a worker was lost.
//
// The stages: connect.go (what can be known before money is spent), pack.go, store.go and
// watched.go (the suite's files and the records), executor.go, batch.go and suite.go (workflows),
// worker.go (activities), clear.go (what killed workers left on their machine).
package temporal
