package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// census counts what the loops of a property are made of, and what ended them, so
// that a generator that leaves something out is seen.
type census struct {
	runs    int
	kinds   map[string]int
	reasons map[string]int
}

func newCensus() *census { return &census{kinds: map[string]int{}, reasons: map[string]int{}} }

// add counts a loop and the run that it made.
func (c *census) add(l *spec.Loop, live *record.Run) {
	c.runs++
	for _, kind := range kindsOf(l) {
		c.kinds[kind]++
	}
	c.reasons[string(live.Outcome.Reason)]++
	if strings.HasPrefix(string(live.Outcome.Reason), "when:") {
		c.reasons["when"]++
	}
	if tree, _, nested := strings.Cut(live.Outcome.Fired, "-"); nested && (tree == "any" || tree == "all") {
		c.reasons["a condition within "+tree]++
	}
	if cut := lastCut(live); cut != "" {
		c.reasons["cut by "+cut]++
	}
}

// hold fails where something wanted came up less often than once in so many runs.
func (c *census) hold(t *testing.T) {
	t.Helper()
	t.Logf("of %d runs\nloops: %v\nends: %v", c.runs, c.kinds, c.reasons)
	if c.runs < 5000 {
		return // too few to tell
	}
	for _, kind := range wantedKinds() {
		if c.kinds[kind] < c.runs/1000 {
			t.Errorf("%d of %d loops have %s", c.kinds[kind], c.runs, kind)
		}
	}
	for _, reason := range wantedReasons {
		if c.reasons[reason] < max(1, c.runs/2000) {
			t.Errorf("%d of %d runs: %s", c.reasons[reason], c.runs, reason)
		}
	}
}

// kindsOf names what a loop is made of.
func kindsOf(l *spec.Loop) (kinds []string) {
	has := func(is bool, kind string) {
		if is {
			kinds = append(kinds, kind)
		}
	}
	has(true, "pattern "+string(l.Pattern))
	has(len(l.Phases) > 1, "phases")
	has(len(l.Strategies) > 1, "strategies")
	has(l.OnError != nil, "on_error")
	has(l.Agent.FinalResponse != nil, "final_response")
	for _, s := range l.Stages() {
		has(s.Agent.Timeout > 0, "a call's timeout")
		has(s.Agent.System != nil, "a stage's own system prompt")
		has(s.Until != nil, "until")
	}
	for i := range l.Terminate.Any {
		kinds = append(kinds, conditionKinds(&l.Terminate.Any[i], "")...)
	}
	return append(append(kinds, evaluationKinds(l.Evaluate)...), guardKinds(&l.Guards)...)
}

func conditionKinds(c *spec.Condition, under string) (kinds []string) {
	name := under + string(c.Kind)
	if c.Off {
		return []string{string(c.Kind) + " off"}
	}
	if c.Kind == spec.KindTimeout {
		name += map[bool]string{true: " that cancels"}[*c.Timeout.Cancel] + map[bool]string{true: " of working time"}[c.Timeout.Working]
	}
	kinds = append(kinds, name)
	for i := range c.Nested {
		kinds = append(kinds, conditionKinds(&c.Nested[i], string(c.Kind)+" of ")...)
	}
	return kinds
}

func evaluationKinds(e *spec.Evaluate) (kinds []string) {
	if e == nil {
		return []string{"no evaluation"}
	}
	for kind, is := range map[string]bool{
		"checks": len(e.Checks) > 0, "confidence": e.Confidence != nil, "passed": e.Passed != nil, "judge": e.Judge != nil, "from_phase": e.FromPhase != "",
	} {
		if is {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func guardKinds(g *spec.Guards) (kinds []string) {
	for kind, is := range map[string]bool{
		"guard repeated_output": g.RepeatedOutput, "guard degradation": g.Degradation != nil, "guard stagnation": g.Stagnation != nil,
		"guard circuit_breaker": g.CircuitBreaker != nil, "guard repeated": len(g.Repeated) > 0, "guard consecutive": len(g.Consecutive) > 0,
	} {
		if is {
			kinds = append(kinds, kind)
		}
	}
	if b := g.Budget; b != nil {
		for resource, is := range map[string]bool{"calls": b.Calls > 0, "tokens": b.Tokens > 0, "cost": b.CostUSD > 0} {
			if is {
				kinds = append(kinds, fmt.Sprintf("budget of %s, hard %v", resource, b.Hard))
			}
		}
	}
	return kinds
}

// wantedKinds are all that the language has, as far as loops can be run.
func wantedKinds() []string {
	wanted := []string{
		"phases", "strategies", "on_error", "final_response", "a call's timeout", "a stage's own system prompt", "until",
		"no evaluation", "checks", "confidence", "passed", "judge", "from_phase",
		"guard repeated_output", "guard degradation", "guard stagnation", "guard circuit_breaker", "guard repeated", "guard consecutive",
	}
	for _, p := range []spec.Pattern{spec.PatternNone, spec.PatternConfidence, spec.PatternImprovement, spec.PatternChecklist, spec.PatternMultiStrategy} {
		wanted = append(wanted, "pattern "+string(p))
	}
	for _, resource := range []string{"calls", "tokens", "cost"} {
		wanted = append(wanted, "budget of "+resource+", hard true", "budget of "+resource+", hard false")
	}
	for _, under := range []string{"", "any of ", "all of "} {
		for _, kind := range []spec.Kind{spec.KindConfidence, spec.KindWhen, spec.KindRepeated, spec.KindConsecutive, spec.KindNoImprovement, spec.KindMaxIterations, spec.KindAny, spec.KindAll} {
			wanted = append(wanted, under+string(kind))
		}
		wanted = append(wanted, under+"timeout", under+"timeout of working time")
	}
	for _, kind := range []string{"confidence", "when", "repeated", "consecutive", "no_improvement", "max_iterations", "timeout"} {
		wanted = append(wanted, kind+" off")
	}
	return append(wanted, "timeout that cancels", "timeout that cancels of working time", "any of timeout that cancels")
}

// wantedReasons are all ends that a run of a model can come to, and what cuts an
// iteration.
var wantedReasons = slices.Concat([]string{
	"error", "passed", "checklist_complete", "strategy_succeeded", "final_response", "agent_ended", "confidence", "repeated", "consecutive", "no_improvement",
	"timeout", "when", "strategies_exhausted", "phases_complete", "max_iterations", "circuit_breaker", "stagnation", "repeated_output", "degradation",
	"budget_tokens", "budget_calls", "budget_cost", "absolute_max_iterations",
}, []string{"cut by timeout", "a condition within all", "a condition within any"})
