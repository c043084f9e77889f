package temporal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	enums "go.temporal.io/api/enums/v1"

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
func spend(t *testing.T, b *beside, ids string, first func(context.Context)) int64 {
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
func (b *beside) spent(t *testing.T, calls, doubt int64) {
	t.Helper()
	_, unknown, _ := b.Budget.Books()
	if spent := b.Budget.Spent(); spent.Calls != calls || unknown.Calls != doubt {
		t.Errorf("the budget has %d calls spent and %d of them in doubt, want %d and %d", spent.Calls, unknown.Calls, calls, doubt)
	}
}

// borrow asks the ledger of a suite.
func (b *beside) borrow(ctx context.Context, t *testing.T, r Request) Reply {
	t.Helper()
	reply, err := asking(b.client, b.suite.Workflow)(ctx, &r)
	if err != nil {
		t.Error(err)
	}
	return reply
}

// A worker that serves a suite again, in another session, tells that ledger what it spent in that session alone. What
// it has left of the session before takes no part.
func TestAnAccountIsOfASession(t *testing.T) {
	b := newBeside(t, sharedServer(t), 3, nil)
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

// A worker that was killed after its last outcome may have spent all that was lent to it, and so may one that is silent.
func TestALoanOfAKilledWorkerIsInDoubt(t *testing.T) {
	b := newBeside(t, sharedServer(t), 1, nil)
	b.budget(100)
	var lent int64
	made := spend(t, b, "a", func(ctx context.Context) {
		for _, who := range []string{"killed", "silent"} {
			lent += b.borrow(ctx, t, Request{Account: who, Number: 1, Want: calls(5)}).Lent.Calls
		}
		b.noteBooks(&Books{Account: "killed", Number: 2, Paid: record.Usage{Calls: 3}})
	})
	if lent < 10 {
		t.Errorf("%d calls were lent", lent)
	}
	b.spent(t, lent+made, lent-3)
}

// continued makes 30 runs of a budget of 25, by a ledger that continues as new after every 7 requests. Another worker
// makes five calls and leaves before that. It gives how many calls were made, and the first run of the workflow.
func continued(t *testing.T, b *beside) (int64, string) {
	t.Helper()
	b.most = 7
	b.budget(25)
	made := spend(t, b, many("a", 30), func(ctx context.Context) {
		if r := b.borrow(ctx, t, Request{Account: "other", Number: 1, Want: calls(5)}); r.Lent.Calls < 5 {
			t.Errorf("the other worker got %+v", r)
		}
		b.borrow(ctx, t, Request{Account: "other", Number: 2, Paid: record.Usage{Calls: 5}, Leaves: true})
	})
	last, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, "")
	check(t, err)
	return 5 + made, last.GetWorkflowExecutionInfo().GetFirstRunId()
}

// A ledger whose history has become long carries on in a new one: what was lent and spent
// before counts after.
func TestALedgerContinuesAsNew(t *testing.T) {
	b := newBeside(t, sharedServer(t), 3, nil)
	calls, first := continued(t, b)
	if calls != 25 {
		t.Errorf("%d calls were made of 25", calls)
	}
	b.spent(t, 25, 0)
	of, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, first)
	check(t, err)
	if s := of.GetWorkflowExecutionInfo().GetStatus(); s != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
		t.Errorf("the first history ended as %v", s)
	}
}
