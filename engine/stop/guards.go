package stop

import (
	"bytes"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// compileGuards appends the guards in the order in which they give the reason.
func (r *Rules) compileGuards(l *spec.Loop) {
	g := &l.Guards
	if g.CircuitBreaker != nil {
		r.windowed(record.ReasonCircuitBreaker, g.CircuitBreaker.Threshold, false, circuitBreaker)
	}
	if g.Stagnation != nil {
		r.windowed(record.ReasonStagnation, g.Stagnation.Window, false, stagnation(g.Stagnation.Signature))
	}
	if g.RepeatedOutput {
		r.guard(string(record.ReasonRepeatedOutput), record.ReasonRepeatedOutput, false, repeatedOutput)
	}
	if g.Degradation != nil {
		r.windowed(record.ReasonDegradation, g.Degradation.Window, true, degradation)
	}
	for _, n := range g.Repeated {
		if !n.Times.Off {
			r.guard(n.Name, record.ReasonRepeated, false, repeated(n.Of, n.Times.Value))
		}
	}
	for _, n := range g.Consecutive {
		if !n.Times.Off {
			r.guard(n.Name, record.ReasonConsecutive, false, consecutive(n.When, n.Times.Value))
		}
	}
	r.compileBudget(g.Budget)
	if !g.AbsoluteMaxIterations.Off {
		r.guard(string(record.ReasonAbsolute), record.ReasonAbsolute, false, atLeast(g.AbsoluteMaxIterations.Value))
	}
}

func (r *Rules) guard(name string, reason record.Reason, anew bool, judge func(*State, *tracker) (bool, error)) {
	if name == "" {
		name = string(reason)
	}
	r.guards = append(r.guards, r.add(leaf{name: name, reason: reason, class: record.ByGuard, anew: anew, judge: judge}))
}

// windowed adds a guard that counts a row, unless its window is off.
func (r *Rules) windowed(reason record.Reason, window source.Maybe[int], anew bool, row func(*State, *tracker) int) {
	if window.Off {
		return
	}
	r.guard(string(reason), reason, anew, func(s *State, t *tracker) (bool, error) { return row(s, t) >= window.Value, nil })
}

func (r *Rules) compileBudget(b *spec.RunBudget) {
	if b == nil {
		return
	}
	r.budget = b
	limits := LimitsOf(b)
	limit := func(reason record.Reason, over func(record.Usage) bool) {
		r.guard(string(reason), reason, false, func(s *State, _ *tracker) (bool, error) {
			return s.last().Cut == string(reason) || over(s.Usage()), nil
		})
	}
	if limits.Tokens > 0 {
		limit(record.ReasonBudgetTokens, func(u record.Usage) bool { return u.Tokens() >= limits.Tokens })
	}
	if limits.Calls > 0 {
		limit(record.ReasonBudgetCalls, func(u record.Usage) bool { return u.Calls >= limits.Calls })
	}
	if limits.Cost > 0 {
		limit(record.ReasonBudgetCost, func(u record.Usage) bool { return u.Cost >= limits.Cost })
	}
}

// circuitBreaker counts the same error in a row; a success resets it.
func circuitBreaker(s *State, t *tracker) int {
	if err := s.last().Error; err != nil {
		return t.sameText(err.Error())
	}
	return t.sameText("")
}

// stagnation counts the same set of tool calls in a row; an iteration without
// calls breaks the row.
func stagnation(signature string) func(*State, *tracker) int {
	return func(s *State, t *tracker) int {
		return t.sameText(callSignature(s.last().ToolCalls, signature))
	}
}

// degradation counts evaluated iterations in a row, each strictly worse than
// the one before; failed and unevaluated ones are passed over.
func degradation(s *State, t *tracker) int {
	e := s.last()
	if !e.Evaluated() {
		return 0
	}
	fell := t.seen && e.Evaluation.Confidence < t.ref
	t.ref, t.seen = e.Evaluation.Confidence, true
	if !fell {
		t.row = 0
	}
	t.row++
	return t.row
}

// repeatedOutput: the output equals any earlier one of the current strategy.
func repeatedOutput(s *State, _ *tracker) (bool, error) {
	e := s.last()
	if !e.judged() {
		return false, nil
	}
	for i := s.strategyStart; i < s.Len()-1; i++ {
		earlier := &s.history[i]
		if earlier.judged() && bytes.Equal(earlier.Output, e.Output) && bytes.Equal(earlier.OutputB64, e.OutputB64) {
			return true, nil
		}
	}
	return false, nil
}
