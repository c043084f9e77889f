// Package temporal makes the runs of a suite on other machines, with Temporal as the
// engine that survives the loss of any of them. Call [Place]: it is all that a program needs.
//
//	coordinator                       Temporal                   workers
//	agentbench-temporal run           suite workflow             agentbench-temporal worker
//	  plan -> Pool -> Executor  --->    batch workflows  --->      activity: one run
//	  deliver: scores, journal  <---    outcomes         <---      record -> store
//
// An item is one activity. The coordinator takes as many items at a time as the suite's
// concurrency says, as on one machine, and gives each to a batch: a workflow of at most
// [batchSize] items, so that no history grows without end. Only what identifies a run travels
// through Temporal (messages.go). Its record goes to the store that all machines share, and the
// record's digest comes back. So do the suite's folder and the states of workspaces (suitefiles.go,
// states.go), and the events of runs in progress, if --events wants them (events.go). The coordinator reads
// the record, scores it and writes it to the result folder. So whatever works on recorded runs works on
// these.
//
// The suite workflow is one for a result folder. It starts the batches, and it is the
// ledger (ledger.go): workers borrow from the suite's budget, and get a share of the limits
// of its models, for as long as they renew their lease (lease.go).
//
// The coordinator alone executes the code of the workflows (workflows.go). Without it runs in progress end
// and are stored; the next coordinator finds them.
//
// An activity may run twice. The record of a run that counts is created if it is absent, by
// the run's id; the answers of models go to a cache that all workers share. So what is paid
// twice is what was in flight when a worker was lost.
//
// The way of a suite: place.go (flags), server.go and store.go (is everything there?), executor.go
// (items and records), session.go (the suite's workflow and its budget), batches.go (items to workflows),
// worker.go (activities), unstored.go (records that the store refused), clear.go (what killed workers
// left on their machine).
package temporal
