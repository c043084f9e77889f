package temporal

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// batchSize is how many items a batch takes. Each leaves 6 events in its history, of which
// Temporal warns at 10,000.
const batchSize = 500

// The names that workflows, activities, signals and updates have in Temporal.
const (
	suiteWorkflow = "agentbench-suite"
	batchWorkflow = "agentbench-batch"
	runActivity   = "agentbench-run"

	signalAdd    = "add"
	signalCancel = "cancel"
	signalWarn   = "warn"
	updateTime   = "time"
	updateWait   = "wait"
	updateOpen   = "open"
	updateLease  = "lease"
	updateFinish = "finish"
	queryTotals  = "totals"
)

// Batch says how the items of a batch are run.
type Batch struct {
	Suite Suite `json:"suite"`
	// Queue is where the workers take activities from.
	Queue string `json:"queue"`
	// Heartbeat is how long a worker may be silent.
	Heartbeat time.Duration `json:"heartbeat"`
}

// Task is an item with its suite: what an activity gets.
type Task struct {
	Suite Suite `json:"suite"`
	Item  Item  `json:"item"`
}

// Add gives a batch an item. Last: there are no more.
type Add struct {
	Item *Item `json:"item,omitempty"`
	Last bool  `json:"last,omitempty"`
}

// Outcomes are those that were not fetched before. Over: these are the last, and were all fetched.
type Outcomes struct {
	Outcomes []Outcome `json:"outcomes,omitempty"`
	Over     bool      `json:"over,omitempty"`
}

// Faults that another attempt on another machine would meet as well, by their kinds. A store
// that refuses was tried for a while.
const (
	kindVersion = "other_version"
	kindSuite   = "other_suite"
	kindClock   = "clock"
	kindItem    = "unknown_item"
	kindLarge   = "too_large"
	kindStore   = "store"
)

const (
	longestRun = 24 * time.Hour
	attempts   = 50 // of an item that meets lost workers
)

// retries are for what is no fault of the run: a worker that is lost. Calls of models are tried again within the run.
func retries() *sdk.RetryPolicy {
	return &sdk.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: attempts,
		NonRetryableErrorTypes: []string{kindVersion, kindSuite, kindClock, kindItem, kindLarge, kindStore},
	}
}

// batchState is a batch in progress.
type batchState struct {
	*Batch
	items    workflow.Context // of all activities
	taken    map[Item]bool
	pending  int
	outcomes []Outcome
	last     bool
	fetched  bool // the coordinator has all outcomes
}

// BatchWorkflow runs the items that are added to it, until the last one. The outcomes are
// fetched by an update, and it ends once all are.
func BatchWorkflow(ctx workflow.Context, in Batch) error {
	items, cancel := workflow.WithCancel(ctx)
	s := &batchState{Batch: &in, taken: map[Item]bool{}}
	s.items = workflow.WithActivityOptions(items, workflow.ActivityOptions{
		TaskQueue: in.Queue, StartToCloseTimeout: longestRun, HeartbeatTimeout: in.Heartbeat, WaitForCancellation: true, RetryPolicy: retries(),
	})
	if err := workflow.SetUpdateHandler(ctx, updateWait, s.wait); err != nil {
		return err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, signalCancel).Receive(ctx, nil)
		cancel()
	})
	warnings := workflow.GetSignalChannel(ctx, signalWarn)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var text string
			warnings.Receive(ctx, &text)
			s.outcomes = append(s.outcomes, Outcome{Warning: text})
		}
	})
	adds := workflow.GetSignalChannel(ctx, signalAdd)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var add Add
			adds.Receive(ctx, &add)
			s.add(ctx, &add)
		}
	})
	// A cancelled suite ends its batches, once the runs in progress have ended.
	_ = workflow.Await(ctx, func() bool { return s.fetched })
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	return workflow.Await(quiet, func() bool { return s.pending == 0 && workflow.AllHandlersFinished(quiet) })
}

// add begins an item, unless it is known: a signal may come twice.
func (s *batchState) add(ctx workflow.Context, add *Add) {
	if add.Item != nil && !s.taken[*add.Item] {
		s.taken[*add.Item] = true
		s.pending++
		workflow.Go(ctx, func(ctx workflow.Context) { s.run(ctx, *add.Item) })
	}
	s.last = s.last || add.Last
}

func (s *batchState) run(ctx workflow.Context, item Item) {
	var o Outcome
	err := workflow.ExecuteActivity(s.items, runActivity, Task{Suite: s.Suite, Item: item}).Get(ctx, &o)
	if err != nil {
		o = Outcome{Failure: err.Error()}
		var known *sdk.ApplicationError
		if errors.As(err, &known) {
			o.Kind, o.Failure = known.Type(), known.Message()
		}
	}
	o.ID = item.ID
	s.pending--
	s.outcomes = append(s.outcomes, o)
}

// done reports whether all outcomes are there.
func (s *batchState) done() bool { return s.last && s.pending == 0 }

// wait gives the outcomes after the first so many, as soon as there are any. The coordinator has those before.
func (s *batchState) wait(ctx workflow.Context, seen int) (Outcomes, error) {
	err := workflow.Await(ctx, func() bool { return len(s.outcomes) > seen || s.done() })
	if err != nil {
		return Outcomes{}, err
	}
	over := s.done() && seen >= len(s.outcomes)
	s.fetched = s.fetched || over
	return Outcomes{s.outcomes[min(seen, len(s.outcomes)):], over}, nil
}

// SuiteState is a suite that is given away, and what its workflow carries on with where its
// history has become long.
type SuiteState struct {
	Batch Batch `json:"batch"`
	Book  Book  `json:"book"`
	// Batches are the ids of all that it has opened.
	Batches []string `json:"batches,omitempty"`
	// Most is how many requests are answered before it continues as new; 0: mostRequests.
	Most int `json:"most,omitempty"`
}

// mostRequests of a ledger are answered before its workflow continues as new: Temporal
// allows one history 2,000 updates.
const mostRequests = 1500

// longestWorkflow ends what a coordinator has left behind that never came back.
const longestWorkflow = 30 * 24 * time.Hour

// suiteRun is a suite in progress.
type suiteRun struct {
	*SuiteState
	answered int
	finished bool
}

// SuiteWorkflow is the ledger of a suite, and starts its batches. It ends when the
// coordinator is done, and gives what was spent.
func SuiteWorkflow(ctx workflow.Context, state SuiteState) (Totals, error) {
	s := &suiteRun{SuiteState: &state}
	if err := s.serve(ctx); err != nil {
		return Totals{}, err
	}
	most := cmp.Or(state.Most, mostRequests)
	long := func() bool { return s.answered >= most || workflow.GetInfo(ctx).GetContinueAsNewSuggested() }
	err := workflow.Await(ctx, func() bool { return s.finished || long() })
	if err != nil || s.finished {
		s.end(ctx)
	}
	if err != nil { // somebody cancelled it
		return s.Book.Totals(), err
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return Totals{}, err
	}
	if s.finished {
		return s.Book.Totals(), nil
	}
	return Totals{}, workflow.NewContinueAsNewError(ctx, suiteWorkflow, state)
}

// end cancels the batches that still run: those that a killed coordinator has left.
func (s *suiteRun) end(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	var cancelled []workflow.Future
	for _, id := range s.Batches {
		cancelled = append(cancelled, workflow.RequestCancelExternalWorkflow(ctx, id, ""))
	}
	for _, c := range cancelled {
		_ = c.Get(ctx, nil) // a batch that has ended cannot be cancelled
	}
}

// serve answers requests.
func (s *suiteRun) serve(ctx workflow.Context) error {
	type none = struct{}
	return errors.Join(
		workflow.SetQueryHandler(ctx, queryTotals, func() (Totals, error) { return s.Book.Totals(), nil }),
		workflow.SetUpdateHandler(ctx, updateTime, func(ctx workflow.Context, _ none) (time.Time, error) { return workflow.Now(ctx), nil }),
		workflow.SetUpdateHandler(ctx, updateLease, func(ctx workflow.Context, r Request) (Reply, error) {
			s.answered++
			return s.Book.Answer(&r, workflow.Now(ctx)), nil
		}),
		workflow.SetUpdateHandler(ctx, updateFinish, func(workflow.Context, none) (Totals, error) {
			s.finished = true
			return s.Book.Totals(), nil
		}),
		workflow.SetUpdateHandler(ctx, updateOpen, func(ctx workflow.Context, _ none) (string, error) { return s.open(ctx) }),
	)
}

// open starts a batch, and gives its id. Batches outlive a suite workflow that continues
// as new.
func (s *suiteRun) open(ctx workflow.Context) (string, error) {
	s.answered++
	// A batch of an earlier session may still be about to end.
	id := fmt.Sprintf("%s/%.8s-%d", s.Batch.Suite.Workflow, workflow.GetInfo(ctx).WorkflowExecution.RunID, len(s.Batches)+1)
	s.Batches = append(s.Batches, id)
	free, _ := workflow.NewDisconnectedContext(ctx)
	free = workflow.WithChildOptions(free, workflow.ChildWorkflowOptions{
		WorkflowID: id, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, WorkflowExecutionTimeout: longestWorkflow,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowTaskTimeout: taskTimeout,
	})
	err := workflow.ExecuteChildWorkflow(free, batchWorkflow, s.Batch).GetChildWorkflowExecution().Get(ctx, nil)
	return id, err
}

// taskTimeout is how long a coordinator may compute on a workflow before Temporal takes it
// to be lost.
const taskTimeout = 5 * time.Second
