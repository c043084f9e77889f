package pace

import (
	"context"
	"errors"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// A call that is no model's counts as one in both budgets, and in none that had
// no room for it.
func TestCallsThatAreNoModels(t *testing.T) {
	for name, c := range map[string]struct {
		run, suite int64
		made       int
		reason     record.Reason
	}{
		"the run's is smaller":   {2, 5, 2, record.ReasonBudgetCalls},
		"the suite's is smaller": {5, 3, 3, record.ReasonSuiteBudget},
		"none has a limit":       {0, 0, 9, ""},
	} {
		run, suite := NewBudget(Run, Limits{Calls: c.run}), NewBudget(Suite, Limits{Calls: c.suite})
		ctx := WithRun(t.Context(), run)
		var err error
		made := 0
		for made < 9 && err == nil {
			var settle func(unsent bool)
			var reserved *record.Usage
			if settle, reserved, err = BudgetCall(ctx, suite); err == nil {
				settle(false)
				made++
				if reserved == nil || reserved.Calls != 1 {
					t.Errorf("%s: reserved %+v", name, reserved)
				}
			}
		}
		if want := (record.Usage{Calls: int64(c.made)}); made != c.made || run.Spent() != want || suite.Spent() != want || run.Reserved().Calls+suite.Reserved().Calls != 0 {
			t.Errorf("%s: %d calls, %+v of the run, %+v of the suite", name, made, run.Spent(), suite.Spent())
		}
		var refused *Refused
		if (err != nil) != (c.reason != "") || err != nil && (!errors.As(err, &refused) || refused.StopReason() != c.reason) {
			t.Errorf("%s: %v", name, err)
		}
		var unanswered *model.Unanswered
		if ofRun := c.reason == record.ReasonBudgetCalls; errors.As(err, &unanswered) != ofRun || ofRun && unanswered.Reserved.Calls != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCallsWithoutBudgets(t *testing.T) {
	settle, reserved, err := BudgetCall(context.Background(), nil)
	if err != nil || reserved != nil {
		t.Fatal(err, reserved)
	}
	settle(false)
}

// A call that never reached the remote agent is in the suite's budget no more; in
// the run's it is, whose decisions are the same whenever a server dies.
func TestCallsThatReachedNobody(t *testing.T) {
	run, suite := NewBudget(Run, Limits{Calls: 5}), NewBudget(Suite, Limits{Calls: 5})
	settle, _, err := BudgetCall(WithRun(t.Context(), run), suite)
	if err != nil {
		t.Fatal(err)
	}
	settle(true)
	if run.Spent().Calls != 1 || suite.Spent() != (record.Usage{}) || suite.Reserved() != (record.Usage{}) {
		t.Errorf("spent %+v of the run, %+v of the suite", run.Spent(), suite.Spent())
	}
}
