package stop

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Of two timeouts only the one that came holds.
func TestATimeoutThatDidNotCutDoesNotHold(t *testing.T) {
	rules := load(t, "terminate: {any: [{name: long, timeout: 9s}, {name: short, timeout: 2s}]}")
	it := &record.Iteration{N: 1, Cut: "timeout", End: 2 * time.Second}
	d := rules.Start(&spec.Task{}, nil).Fold(it)
	if !d.Stop || d.Outcome.Fired != "short" || len(d.Outcome.Held) != 1 {
		t.Errorf("%+v", d.Outcome)
	}
}

// A timeout on working time cuts before the calls in flight have worked so long.
func TestATimeoutOnWorkingTimeHoldsWhereItCut(t *testing.T) {
	rules := load(t, "terminate: {timeout: {after: 2s, working: true}}")
	d := rules.Start(&spec.Task{}, nil).Fold(&record.Iteration{N: 1, Cut: "timeout", Working: time.Second, End: 2 * time.Second})
	if !d.Stop || d.Outcome.Reason != record.ReasonTimeout {
		t.Errorf("%+v", d.Outcome)
	}
}

// 0.29 USD is not 0.289999999999.
func TestBudgetsOfMoneyAreRounded(t *testing.T) {
	for usd, want := range map[float64]record.Money{0.29: 290_000_000_000, 0: 0, 1e-15: 1, 1e30: 1<<63 - 1} {
		if got := Dollars(usd); got != want {
			t.Errorf("%v USD are %d, want %d", usd, got, want)
		}
	}
	limits := LimitsOf(&spec.RunBudget{Calls: 2, Tokens: 100, CostUSD: 0.29})
	for name, c := range map[string]struct {
		usage record.Usage
		want  record.Reason
	}{
		"all of it":     {record.Usage{Calls: 2, InputTokens: 60, OutputTokens: 40, Cost: 290_000_000_000}, ""},
		"a call more":   {record.Usage{Calls: 3, InputTokens: 200}, record.ReasonBudgetCalls},
		"a token more":  {record.Usage{InputTokens: 101, Cost: record.USD}, record.ReasonBudgetTokens},
		"a little more": {record.Usage{Cost: 290_000_000_001}, record.ReasonBudgetCost},
	} {
		if got := limits.Short(c.usage); got != c.want {
			t.Errorf("%s: short of %q, want %q", name, got, c.want)
		}
	}
}

// What is left of an iteration that a timeout cut is cut at the same place again:
// what tools waited that are left out puts nothing off, and one that would have
// begun at the very end is left out.
func TestWhatWasCutIsCutAgainAtTheSamePlace(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		seconds := func(most int, what string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Second
		}
		rules := Compile(&spec.Loop{Terminate: spec.Tree{Any: []spec.Condition{{
			Kind:    spec.KindTimeout,
			Timeout: spec.Timeout{After: set(max(1, seconds(9, "after"))), Cancel: new(true), Working: rapid.Bool().Draw(t, "working")},
		}}}})
		it := &record.Iteration{N: 1, Calls: []record.Call{{Role: record.RoleAgent, Duration: time.Second}}}
		serial := time.Second
		for range rapid.IntRange(1, 5).Draw(t, "tools") {
			c := record.ToolCall{Tool: "t", Waited: seconds(3, "waited"), Start: time.Second}
			c.Duration = c.Waited + seconds(3, "working")
			if rapid.Bool().Draw(t, "serial") {
				c.Start, serial = serial, serial+c.Duration
			}
			it.ToolCalls = append(it.ToolCalls, c)
		}
		it.Steps = []record.Step{{Call: 1, Tools: len(it.ToolCalls)}}
		once := Clip(rules, it, 0)
		for _, c := range it.ToolCalls {
			if c.Start >= once.End {
				t.Fatalf("a tool began at %v, and all ended at %v", c.Start, once.End)
			}
		}
		left := len(it.ToolCalls)
		if twice := Clip(rules, it, 0); twice != once || len(it.ToolCalls) != left {
			t.Fatalf("%+v with %d tools, then %+v with %d", once, left, twice, len(it.ToolCalls))
		}
	})
}
