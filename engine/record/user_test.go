package record

import (
	"bytes"
	"strings"
	"testing"
)

// The one who answers an agent spends in a ledger of its own, which is part of
// every total.
func TestTheUserHasALedgerOfItsOwn(t *testing.T) {
	user := Usage{Calls: 1, InputTokens: 7, Cost: USD}
	run := Run{ID: "c/t/1", Configuration: "c", Task: "t", Trial: 1, Outcome: Outcome{Status: Completed}, Iterations: []Iteration{{
		Calls:     []Call{{Role: RoleAgent, Usage: Usage{Calls: 1}}, {Role: RoleUser, Usage: user}, {Role: RoleJudge, Usage: Usage{Calls: 1}}},
		ToolCalls: []ToolCall{{Tool: "a"}}, Steps: []Step{{Call: 1, Tools: 1}},
	}}}
	it := &run.Iterations[0]
	run.Usage, run.Judging = it.Spent()
	run.User = it.SpentByUser()
	signals := run.Signals()
	agent, judging := signals.Iterations[0].Spent()
	if run.User != user || agent != run.Usage || judging != run.Judging || run.Usage.InputTokens+run.Judging.InputTokens != 0 {
		t.Errorf("agent %+v, judging %+v, user %+v; by the signals %+v and %+v", run.Usage, run.Judging, run.User, agent, judging)
	}
	var totals Totals
	totals.Add(&signals)
	for name, total := range map[string]Usage{
		"run": run.Total(), "iteration": it.Total(), "signals": signals.Total(), "iteration's signals": signals.Iterations[0].Total(), "manifest": totals.Used(),
	} {
		if total != (Usage{Calls: 3, InputTokens: 7, Cost: USD, ToolCalls: 1}) {
			t.Errorf("%s: %+v in all", name, total)
		}
	}
	grouped := signals
	grouped.Group = "hard"
	untimed := signals
	untimed.Untimed = true
	for schema, s := range map[string]Signals{"agentbench/baseline/4": untimed, "agentbench/baseline/3": grouped, "agentbench/baseline/2": signals, "agentbench/baseline/1": {ID: "c/t/1", Configuration: "c", Task: "t", Trial: 1}} {
		var out bytes.Buffer
		b := newBaseline(&Results{Manifest: Manifest{Configurations: []ConfigurationHead{{Name: "c"}}}}, BaselineOptions{})
		b.add(&s)
		if err := b.write(&out); err != nil || !strings.Contains(out.String(), `"schema":"`+schema+`"`) {
			t.Errorf("%v, want %s of %s", err, schema, out.String())
		}
	}
}
