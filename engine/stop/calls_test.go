package stop

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

func used(tokens int64) record.Usage {
	return record.Usage{Calls: 1, OutputTokens: tokens, Cost: record.Money(tokens)}
}

// called is a call of a program that arrived and ended then; 0: it is in flight.
func called(kind record.CallKind, arrived, ended time.Duration, reserved, tokens int64) record.Call {
	r := used(reserved)
	c := record.Call{Conversation: "main", Kind: kind, Step: 1, Arrived: arrived, Ended: ended, Reserved: &r}
	if ended > 0 {
		c.Usage = used(tokens)
	}
	return c
}

func TestWhichCallIsRefused(t *testing.T) {
	failed := called(record.MainCall, 1, 2, 100, 0)
	failed.Charged = failed.Reserved
	unpriced := called(record.MainCall, 1, 2, 100, 10)
	unpriced.Usage.Unpriced = 1
	tooLong := func(ended time.Duration) record.Call {
		c := called(record.MainCall, 1, ended, 100, 0)
		c.Step = 0
		return c
	}
	judge := record.Call{Role: record.RoleJudge, Usage: used(50)}
	main := called(record.MainCall, 10, 0, 100, 0)
	for name, c := range map[string]struct {
		limits CallLimits
		before []record.Call
		next   record.Call
		want   record.Reason
	}{
		"no limit":                      {CallLimits{}, []record.Call{failed, main}, main, ""},
		"its reservation fits":          {CallLimits{Limits: Limits{Tokens: 110}}, []record.Call{called("main", 1, 2, 100, 10)}, main, ""},
		"its reservation does not":      {CallLimits{Limits: Limits{Tokens: 109}}, []record.Call{called("main", 1, 2, 100, 10)}, main, record.ReasonBudgetTokens},
		"one in flight is reserved":     {CallLimits{Limits: Limits{Tokens: 199}}, []record.Call{called("main", 1, 0, 100, 0)}, main, record.ReasonBudgetTokens},
		"one that ended later, too":     {CallLimits{Limits: Limits{Tokens: 199}}, []record.Call{called("main", 1, 11, 100, 10)}, main, record.ReasonBudgetTokens},
		"one that ended then is not":    {CallLimits{Limits: Limits{Tokens: 110}}, []record.Call{called("main", 1, 10, 100, 10)}, main, ""},
		"a failed one is charged":       {CallLimits{Limits: Limits{Tokens: 199}}, []record.Call{failed}, main, record.ReasonBudgetTokens},
		"a judge's call counts":         {CallLimits{Limits: Limits{Tokens: 149}}, []record.Call{judge}, main, record.ReasonBudgetTokens},
		"calls":                         {CallLimits{Limits: Limits{Calls: 2}}, []record.Call{judge, failed}, main, record.ReasonBudgetCalls},
		"cost":                          {CallLimits{Limits: Limits{Cost: 109}}, []record.Call{called("main", 1, 2, 100, 10)}, main, record.ReasonBudgetCost},
		"an unknown cost":               {CallLimits{Limits: Limits{Cost: 1000}}, []record.Call{unpriced}, main, record.ReasonBudgetCost},
		"steps":                         {CallLimits{Steps: 1}, []record.Call{called("agent", 1, 2, 1, 1)}, main, record.ReasonBudgetSteps},
		"side calls are no steps":       {CallLimits{Steps: 1}, []record.Call{called("side", 1, 2, 1, 1), called("retry", 1, 2, 1, 1)}, main, ""},
		"and not refused for steps":     {CallLimits{Steps: 1}, []record.Call{main, main}, called("side", 20, 0, 1, 0), ""},
		"one that was too long is none": {CallLimits{Steps: 1, MainSteps: 1}, []record.Call{tooLong(10)}, main, ""},
		"which is known when it ends":   {CallLimits{Steps: 1}, []record.Call{tooLong(11)}, main, record.ReasonBudgetSteps},
		"steps of the main one":         {CallLimits{MainSteps: 1}, []record.Call{main}, main, record.ReasonBudgetSteps},
		"which those of others are not": {CallLimits{MainSteps: 1}, []record.Call{called("agent", 1, 2, 1, 1)}, main, ""},
		"nor refused for them":          {CallLimits{MainSteps: 1}, []record.Call{main}, called("agent", 20, 0, 1, 0), ""},
	} {
		if got := c.limits.Refuses(c.before, &c.next); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A tighter limit refuses what a wider one refuses.
func TestATighterLimitRefusesMore(t *testing.T) {
	kinds := []record.CallKind{record.MainCall, record.AgentCall, record.SideCall, record.RetryCall}
	propertytest.Check(t, func(t *rapid.T) {
		var calls []record.Call
		for i := range rapid.IntRange(1, 8).Draw(t, "calls") {
			arrived := time.Duration(10 * (i + 1))
			ended := time.Duration(rapid.IntRange(0, 1).Draw(t, "ends")) * (arrived + time.Duration(rapid.IntRange(1, 50).Draw(t, "after")))
			calls = append(calls, called(rapid.SampledFrom(kinds).Draw(t, "kind"), arrived, ended, rapid.Int64Range(0, 100).Draw(t, "reserved"), rapid.Int64Range(0, 100).Draw(t, "used")))
		}
		last := &calls[len(calls)-1]
		wide := CallLimits{
			Limits: Limits{Calls: rapid.Int64Range(2, 9).Draw(t, "most calls"), Tokens: rapid.Int64Range(2, 500).Draw(t, "most tokens")},
			Steps:  rapid.IntRange(2, 9).Draw(t, "most steps"),
		}
		tight := wide
		tight.Calls, tight.Tokens, tight.Steps = tight.Calls-1, tight.Tokens-1, tight.Steps-1
		before := calls[:len(calls)-1]
		if wide.Refuses(before, last) != "" && tight.Refuses(before, last) == "" {
			t.Fatalf("%+v refuses, %+v does not", wide, tight)
		}
	})
}
