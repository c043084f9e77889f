package stop

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// compileGuards appends the guards in the order in which they give the reason.
func (r *Rules) compileGuards(l *spec.Loop) {
	g := &l.Guards
	r.compileCircuitBreaker(g.CircuitBreaker)
	r.compileStagnation(g.Stagnation)
	if g.RepeatedOutput {
		r.guard(string(record.ReasonRepeatedOutput), record.ReasonRepeatedOutput, false, repeatedOutput)
	}
	if g.Degradation != nil {
		r.windowed(record.ReasonDegradation, g.Degradation.Window, true, degradation)
	}
	r.compileRows(g)
	r.compileBudget(g.Budget)
	if !g.AbsoluteMaxIterations.Off {
		r.guard(string(record.ReasonAbsolute), record.ReasonAbsolute, false, atLeast(g.AbsoluteMaxIterations.Value))
	}
}

// stepScoped is the scope of guards that are asked after each step.
const stepScoped = spec.ScopeStep

func (r *Rules) compileCircuitBreaker(c *spec.CircuitBreaker) {
	if c == nil || c.Threshold.Off {
		return
	}
	threshold := c.Threshold.Value
	r.guardOf(leaf{
		reason: record.ReasonCircuitBreaker,
		judge:  func(s *State, t *tracker) (bool, error) { return circuitBreaker(s, t) >= threshold, nil },
		step: func(s *stepScope, t *tracker) (bool, error) {
			return t.sameText(errorSignature(s.calls)) >= threshold, nil
		},
	})
}

func (r *Rules) compileStagnation(g *spec.Stagnation) {
	if g == nil || g.Window.Off || g.Times.Off {
		return
	}
	times, window := g.Times.Value, g.Window.Value
	if times == 0 {
		times = window
	}
	l := leaf{reason: record.ReasonStagnation}
	if g.Scope == stepScoped {
		l.step = func(s *stepScope, t *tracker) (bool, error) {
			return t.stagnates(s.calls, g.Signature, window) >= times, nil
		}
	} else {
		l.judge = func(s *State, t *tracker) (bool, error) {
			return t.stagnates(s.last().ToolCalls, g.Signature, window) >= times, nil
		}
	}
	r.guardOf(l)
}

// compileRows are the guards that have names.
func (r *Rules) compileRows(g *spec.Guards) {
	for _, n := range g.Repeated {
		l := leaf{name: n.Name, reason: record.ReasonRepeated}
		if n.Scope == stepScoped {
			l.step = repeatedStep(n.Of, n.Times.Value, n.Window)
		} else {
			l.judge = repeated(n.Of, n.Times.Value, n.Window)
		}
		if !n.Times.Off {
			r.guardOf(l)
		}
	}
	for _, n := range g.Consecutive {
		l := leaf{name: n.Name, reason: record.ReasonConsecutive}
		if n.Scope == stepScoped {
			l.step = consecutiveStep(n.When, n.Times.Value)
		} else {
			l.judge = consecutive(n.When, n.Times.Value)
		}
		if !n.Times.Off {
			r.guardOf(l)
		}
	}
}

func (r *Rules) guard(name string, reason record.Reason, anew bool, judge func(*State, *tracker) (bool, error)) {
	r.guardOf(leaf{name: name, reason: reason, anew: anew, judge: judge})
}

// guardOf adds a guard; it is called like its reason unless it has a name.
func (r *Rules) guardOf(l leaf) {
	if l.name == "" {
		l.name = string(l.reason)
	}
	l.class = record.ByGuard
	r.guards = append(r.guards, r.add(l))
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

// stagnates puts down a set of tool calls: how often it stands among the last
// ones. No call at all takes a place as well, and equals nothing.
func (t *tracker) stagnates(calls []record.ToolCall, signature string, window int) int {
	if same := callSignature(calls, signature); same != "" {
		return t.among(same, window)
	}
	return t.among(nil, window)
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

// repeatedOutput: the output equals any earlier one of the current strategy, as
// JSON: however it is written.
func repeatedOutput(s *State, _ *tracker) (bool, error) {
	e := s.last()
	if !e.judged() {
		return false, nil
	}
	for i := s.strategyStart; i < s.Len()-1; i++ {
		earlier := &s.history[i]
		if earlier.judged() && earlier.outputHash() == e.outputHash() {
			return true, nil
		}
	}
	return false, nil
}
