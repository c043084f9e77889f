package temporal

import (
	"errors"
	"time"

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
	signalHere   = "here"
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
	// Longest is how long a run may take, Heartbeat how long a worker may be silent.
	Longest   time.Duration `json:"longest"`
	Heartbeat time.Duration `json:"heartbeat"`
	Attempts  int32         `json:"attempts"`
}

// Task is an item with its suite: what an activity gets.
type Task struct {
	Suite Suite `json:"suite"`
	Item  Item  `json:"item"`
}

// Add gives a batch items. Last: there are no more.
type Add struct {
	Items []Item `json:"items,omitempty"`
	Last  bool   `json:"last,omitempty"`
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

// retries are for what is no fault of the run: a worker that is lost. Calls of models are tried again within the run.
func (b *Batch) retries() *sdk.RetryPolicy {
	return &sdk.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: b.Attempts,
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
	fetched  bool // all there will be
}

// BatchWorkflow runs the items that are added to it, until the last one. The outcomes are
// fetched by an update, and it ends once all are.
func BatchWorkflow(ctx workflow.Context, in Batch) error {
	items, cancel := workflow.WithCancel(ctx)
	s := &batchState{Batch: &in, taken: map[Item]bool{}}
	s.items = workflow.WithActivityOptions(items, workflow.ActivityOptions{
		TaskQueue: in.Queue, StartToCloseTimeout: in.Longest, HeartbeatTimeout: in.Heartbeat, WaitForCancellation: true, RetryPolicy: in.retries(),
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
		var text string
		for warnings.Receive(ctx, &text) {
			s.outcomes = append(s.outcomes, Outcome{Warning: text})
		}
	})
	adds := workflow.GetSignalChannel(ctx, signalAdd)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var add Add
			if !adds.Receive(ctx, &add) {
				return
			}
			s.add(ctx, &add)
		}
	})
	// A cancelled suite ends its batches, once the runs in progress have ended.
	_ = workflow.Await(ctx, func() bool { return s.fetched })
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	return workflow.Await(quiet, func() bool { return s.pending == 0 && workflow.AllHandlersFinished(quiet) })
}

// add begins the items, those that are new: a signal may come twice.
func (s *batchState) add(ctx workflow.Context, add *Add) {
	for _, item := range add.Items {
		if s.taken[item] {
			continue
		}
		s.taken[item] = true
		s.pending++
		workflow.Go(ctx, func(ctx workflow.Context) { s.run(ctx, item) })
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

// wait gives the outcomes behind the first so many, as soon as there are any. Who asks has
// those before.
func (s *batchState) wait(ctx workflow.Context, seen int) ([]Outcome, error) {
	err := workflow.Await(ctx, func() bool { return len(s.outcomes) > seen || s.pending == 0 })
	if err != nil {
		return nil, err
	}
	s.fetched = s.fetched || s.last && s.pending == 0 && seen >= len(s.outcomes)
	return s.outcomes[min(seen, len(s.outcomes)):], nil
}
