package temporal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// many are so many ids that begin with a letter.
func many(letter string, n int) string {
	var ids strings.Builder
	for i := range n {
		fmt.Fprint(&ids, letter, i, " ")
	}
	return ids.String()
}

// spend makes runs of one call each, and gives how many calls were made. A hook is called in the first run.
func spend(t *testing.T, b *inProcess, ids string, first func(context.Context)) int64 {
	t.Helper()
	var calls atomic.Int64
	var once sync.Once
	run := func(ctx context.Context, item plan.Item) *record.Run {
		if first != nil {
			once.Do(func() { first(ctx) })
		}
		if settle, _, err := pace.BudgetCall(ctx, b.draws); err == nil {
			calls.Add(1)
			settle(false)
		}
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Completed}}
	}
	check(t, b.Execute(t.Context(), items(ids), run, func(context.Context, plan.Item, *record.Run) {}))
	return calls.Load()
}

// spent holds a budget to what was spent and what of it is in doubt.
func (b *inProcess) spent(t *testing.T, calls, doubt int64) {
	t.Helper()
	_, unknown, _ := b.Budget.Books()
	if spent := b.Budget.Spent(); spent.Calls != calls || unknown.Calls != doubt {
		t.Errorf("the budget has %d calls spent and %d of them in doubt, want %d and %d", spent.Calls, unknown.Calls, calls, doubt)
	}
}

// borrow asks the ledger of a suite.
func (b *inProcess) borrow(ctx context.Context, t *testing.T, r Request) Reply {
	t.Helper()
	reply, err := asking(b.client, b.suite.Workflow)(ctx, &r)
	if err != nil {
		t.Error(err)
	}
	return reply
}

// A worker that serves a suite again, in another session, reports to that ledger what it spent in that session alone. What
// it has left of the session before takes no part.
func TestAnAccountIsOfASession(t *testing.T) {
	b := newInProcess(t, sharedServer(t), 3, nil)
	b.budget(20)
	made := int64(0)
	for _, letter := range []string{"a", "b", "c"} {
		b.draws = pace.NewBudget(pace.Suite, calls(20))
		made += spend(t, b, many(letter, 8), nil)
		b.spent(t, made, 0)
	}
	if made != 20 {
		t.Errorf("%d calls were made of 20", made)
	}
}

// A worker that was killed after its last request may have spent all that was lent to it, and so may one that is silent.
func TestALoanOfAKilledWorkerIsInDoubt(t *testing.T) {
	b := newInProcess(t, sharedServer(t), 1, nil)
	b.budget(100)
	var lent int64
	made := spend(t, b, "a", func(ctx context.Context) {
		for _, who := range []string{"killed", "silent"} {
			lent += b.borrow(ctx, t, Request{Account: who, Number: 1, Want: calls(5)}).Lent.Calls
		}
		b.borrow(ctx, t, Request{Account: "killed", Number: 2, Paid: record.Usage{Calls: 3}})
	})
	if lent < 10 {
		t.Errorf("%d calls were lent", lent)
	}
	b.spent(t, lent+made, lent-3)
}

// A ledger whose history has become long continues in a new one: what was lent and spent before counts
// after. Another coordinator can go on with the workflows at any time: their code, executed again, makes what
// their histories have, also those of runs that were cancelled.
func TestWorkflowsContinue(t *testing.T) {
	b := newInProcess(t, sharedServer(t), 3, nil)
	b.most = 7 // requests
	b.budget(25)
	made := spend(t, b, many("a", 30), func(ctx context.Context) {
		if r := b.borrow(ctx, t, Request{Account: "other", Number: 1, Want: calls(5)}); r.Lent.Calls < 5 {
			t.Errorf("the other worker got %+v", r)
		}
		b.borrow(ctx, t, Request{Account: "other", Number: 2, Paid: record.Usage{Calls: 5}, Leaves: true})
	})
	if made != 20 {
		t.Errorf("%d calls were made of 25, and 5 by another worker", made)
	}
	b.spent(t, 25, 0)
	last, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, "")
	check(t, err)
	first := last.GetWorkflowExecutionInfo().GetFirstRunId()
	of, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, first)
	check(t, err)
	if s := of.GetWorkflowExecutionInfo().GetStatus(); s != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
		t.Errorf("the first history ended as %v", s)
	}
	b.replay(t, b.suite.Workflow, first)
	b.replay(t, b.suite.Workflow, "")
	b.replay(t, b.batches[0].id, "")
	ctx, cancel := context.WithCancel(t.Context())
	waits := func(ctx context.Context, item plan.Item) *record.Run {
		cancel()
		<-ctx.Done()
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Cancelled}}
	}
	check(t, b.Execute(ctx, items(many("b", 12)), waits, func(context.Context, plan.Item, *record.Run) {}))
	b.replay(t, b.batches[0].id, "")
}

// replay executes the code of a workflow again, and compares what it does with its history.
func (b *inProcess) replay(t *testing.T, id, run string) {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(SuiteWorkflow, workflow.RegisterOptions{Name: suiteWorkflow})
	replayer.RegisterWorkflowWithOptions(BatchWorkflow, workflow.RegisterOptions{Name: batchWorkflow})
	found := &history.History{}
	for events := b.client.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		check(t, err)
		found.Events = append(found.Events, event)
	}
	if err := replayer.ReplayWorkflowHistory(nil, found); err != nil || len(found.Events) < 10 {
		t.Errorf("%s with %d events: %v", id, len(found.Events), err)
	}
}
