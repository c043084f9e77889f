package temporal

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"
)

// SuiteState is a suite that is given away, and what its workflow carries on with where its
// history has become long.
type SuiteState struct {
	Batch Batch `json:"batch"`
	Book  Book  `json:"book"`
	// Opened counts the batches, Open are those that may still run.
	Opened int      `json:"opened"`
	Open   []string `json:"open,omitempty"`
	// Most is how many requests are answered before it continues as new; 0: mostRequests.
	Most int `json:"most,omitempty"`
}

// NewBatch asks for one. Ended are those that have ended.
type NewBatch struct {
	Ended []string `json:"ended,omitempty"`
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

// end cancels the batches that still run: those that a killed coordinator has left behind.
func (s *suiteRun) end(ctx workflow.Context) {
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	for _, id := range s.Open {
		// Where it has ended there is nothing to cancel.
		_ = workflow.RequestCancelExternalWorkflow(quiet, id, "").Get(quiet, nil)
	}
}

func (s *suiteRun) serve(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, queryTotals, func() (Totals, error) { return s.Book.Totals(), nil }); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandler(ctx, updateLease, s.lease); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandler(ctx, updateFinish, s.finish); err != nil {
		return err
	}
	return workflow.SetUpdateHandler(ctx, updateOpen, s.open)
}

func (s *suiteRun) lease(ctx workflow.Context, r Request) (Reply, error) {
	s.answered++
	return s.Book.Answer(&r, workflow.Now(ctx)), nil
}

func (s *suiteRun) finish(_ workflow.Context, last []Books) (Totals, error) {
	s.finished = true
	return s.Book.Close(last), nil
}

// open starts a batch, and gives its id. Batches outlive a suite workflow that continues
// as new.
func (s *suiteRun) open(ctx workflow.Context, o NewBatch) (string, error) {
	s.answered++
	s.Open = slices.DeleteFunc(s.Open, func(id string) bool { return slices.Contains(o.Ended, id) })
	s.Opened++
	// A batch of an earlier session may still be about to end.
	id := fmt.Sprintf("%s/%.8s-%d", s.Batch.Suite.Workflow, workflow.GetInfo(ctx).WorkflowExecution.RunID, s.Opened)
	s.Open = append(s.Open, id)
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
