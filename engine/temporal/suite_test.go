package temporal

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// spend makes 60 runs of one call each, of a budget of 50, by a ledger that continues as new
// after every 7 requests. Another worker makes five calls and leaves before that. It gives how
// many calls were made.
func spend(t *testing.T, b *beside) int64 {
	t.Helper()
	b.most = 7
	b.Budget = pace.NewBudget(pace.Suite, pace.Limits{Calls: 50})
	b.draws = pace.NewBudget(pace.Suite, pace.Limits{Calls: 50})
	var calls atomic.Int64
	var other sync.Once
	run := func(ctx context.Context, item plan.Item) *record.Run {
		other.Do(func() {
			for _, r := range []Request{{Number: 1, Want: pace.Limits{Calls: 5}}, {Number: 2, Paid: record.Usage{Calls: 5}, Leaves: true}} {
				r.Account = "other"
				if reply, err := asking(b.client, b.suite.Workflow)(ctx, &r); err != nil || r.Number == 1 && reply.Lent.Calls < 5 {
					t.Errorf("the other worker got %+v, %v", reply, err)
				}
			}
			calls.Add(5)
		})
		if settle, _, err := pace.BudgetCall(ctx, b.draws); err == nil {
			time.Sleep(20 * time.Millisecond)
			calls.Add(1)
			settle(false)
		}
		return &record.Run{ID: item.ID}
	}
	ids := strings.Repeat("x", 60)
	var names []string
	for i := range ids {
		names = append(names, ids[:i+1])
	}
	if err := b.Execute(t.Context(), items(strings.Join(names, " ")), run, func(context.Context, plan.Item, *record.Run) {}); err != nil {
		t.Fatal(err)
	}
	return calls.Load()
}

// A worker that serves a suite again, in another session, tells that ledger what it spent in that session alone. What
// it has left of the session before takes no part.
func TestAnAccountIsOfASession(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 3, nil)
	defer end()
	b.Budget = pace.NewBudget(pace.Suite, pace.Limits{Calls: 50})
	var calls atomic.Int64
	run := func(ctx context.Context, item plan.Item) *record.Run {
		if settle, _, err := pace.BudgetCall(ctx, b.draws); err == nil {
			time.Sleep(10 * time.Millisecond)
			calls.Add(1)
			settle(false)
		}
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Completed}}
	}
	for _, ids := range []string{"a b c d e f g h i j k l m n o p q r s t", "A B C D E F G H I J K L M N O P Q R S T", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"} {
		b.draws = pace.NewBudget(pace.Suite, pace.Limits{Calls: 50})
		before := calls.Load()
		if err := b.Execute(t.Context(), items(ids), run, func(context.Context, plan.Item, *record.Run) {}); err != nil {
			t.Fatal(err)
		}
		want := min(50, before+20)
		if spent, doubt := b.Budget.Spent(), doubtOf(b.Budget); calls.Load() != want || spent.Calls != want || doubt.Calls != 0 {
			t.Errorf("%d calls were made, want %d; the budget has %d spent and %d of them in doubt", calls.Load(), want, spent.Calls, doubt.Calls)
		}
	}
}

// A worker that was killed after its last outcome may have spent all that was lent to it, and so may one that is silent.
func TestALoanOfAKilledWorkerIsInDoubt(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 1, nil)
	defer end()
	b.Budget, b.draws = pace.NewBudget(pace.Suite, calls(100)), pace.NewBudget(pace.Suite, calls(100))
	var lent int64
	run := func(ctx context.Context, item plan.Item) *record.Run {
		for _, who := range []string{"killed", "silent"} {
			reply, err := asking(b.client, b.suite.Workflow)(ctx, &Request{Account: who, Number: 1, Want: calls(5)})
			if err != nil || reply.Lent.Calls < 5 {
				t.Errorf("the %s worker got %+v, %v", who, reply, err)
			}
			lent += reply.Lent.Calls
		}
		b.noteBooks(&Books{Account: "killed", Number: 2, Paid: record.Usage{Calls: 3}})
		return &record.Run{ID: item.ID}
	}
	if err := b.Execute(t.Context(), one("a"), run, func(context.Context, plan.Item, *record.Run) {}); err != nil {
		t.Fatal(err)
	}
	if spent, doubt := b.Budget.Spent(), doubtOf(b.Budget); spent.Calls != lent || doubt.Calls != lent-3 {
		t.Errorf("%d calls were lent, and 3 told of; %d are spent, %d of them in doubt", lent, spent.Calls, doubt.Calls)
	}
}

// firstRun is the first run of the suite's workflow.
func firstRun(t *testing.T, b *beside) string {
	t.Helper()
	last, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, "")
	if err != nil {
		t.Fatal(err)
	}
	return last.GetWorkflowExecutionInfo().GetFirstRunId()
}

// A ledger whose history has become long carries on in a new one: what was lent and spent
// before counts after.
func TestALedgerContinuesAsNew(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 3, nil)
	defer end()
	calls := spend(t, b)
	if spent, doubt := b.Budget.Spent(), doubtOf(b.Budget); calls != 50 || spent.Calls != calls || doubt.Calls != 0 {
		t.Errorf("%d calls were made of 50; the budget has %d spent and %d of them in doubt", calls, spent.Calls, doubt.Calls)
	}
	first, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, firstRun(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if s := first.GetWorkflowExecutionInfo().GetStatus(); s != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
		t.Errorf("the first history ended as %v", s)
	}
}

// doubtOf is what calls of a budget may have used whose answers did not come.
func doubtOf(b *pace.Budget) record.Usage {
	_, doubt, _ := b.Books()
	return doubt
}
