package stop

import (
	"fmt"
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// compileGuards appends the guards in the order in which they give the reason.
func (r *Rules) compileGuards(l *spec.Loop) {
	g := &l.Guards
	r.compileCircuitBreaker(g.CircuitBreaker)
	r.compileStagnation(g.Stagnation)
	if g.RepeatedOutput {
		r.guardOf(leaf{identity: identity{what: "repeated_output"}, reason: record.ReasonRepeatedOutput, limit: mostEqual, judge: repeatedOutput})
	}
	if d := g.Degradation; d != nil && !d.Window.Off {
		window := d.Window.Value
		r.guardOf(leaf{
			identity: identity{what: fmt.Sprint("degradation ", window)}, reason: record.ReasonDegradation, limit: float64(window), anew: true,
			judge: func(s *State, t *tracker) (bool, error) { return t.reaches(window, degradation(s, t)), nil },
		})
	}
	r.compileRows(g)
	r.compileBudget(g.Budget)
	if !g.AbsoluteMaxIterations.Off {
		limit := g.AbsoluteMaxIterations.Value
		r.guardOf(leaf{identity: identity{"iterations", float64(limit)}, reason: record.ReasonAbsolute, limit: float64(limit), newest: true, judge: atLeast(limit)})
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
		identity: identity{what: fmt.Sprint("circuit_breaker ", threshold)},
		reason:   record.ReasonCircuitBreaker,
		limit:    float64(threshold),
		judge:    func(s *State, t *tracker) (bool, error) { return t.reaches(threshold, circuitBreaker(s, t)), nil },
		step: func(s *stepScope, t *tracker) (bool, error) {
			return t.reaches(threshold, t.sameText(errorSignature(s.calls))), nil
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
	l := leaf{reason: record.ReasonStagnation, limit: float64(times)}
	l.identity.what = fmt.Sprint("stagnation ", times, window, " ", g.Signature, " ", g.Scope)
	if g.Scope == stepScoped {
		l.step = func(s *stepScope, t *tracker) (bool, error) {
			return t.reaches(times, t.stagnates(callSignature(s.calls, g.Signature), window)), nil
		}
	} else {
		l.judge = func(s *State, t *tracker) (bool, error) {
			return t.reaches(times, t.stagnates(s.last().callSignature(g.Signature), window)), nil
		}
	}
	r.guardOf(l)
}

// compileRows are the guards that have names.
func (r *Rules) compileRows(g *spec.Guards) {
	for _, n := range g.Repeated {
		l := leaf{name: n.Name, reason: record.ReasonRepeated, limit: float64(n.Times.Value)}
		l.identity.what = fmt.Sprint("repeated ", n.Times.Value, " ", n.Window, " ", n.Of.Text, n.Scope)
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
		l := leaf{name: n.Name, reason: record.ReasonConsecutive, limit: float64(n.Times.Value)}
		l.identity.what = fmt.Sprint("consecutive ", n.Times.Value, " ", n.When.Text, n.Scope)
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

// guardOf adds a guard; it is called like its reason unless it has a name.
func (r *Rules) guardOf(l leaf) {
	if l.name == "" {
		l.name = string(l.reason)
	}
	l.class = record.ByGuard
	r.guards = append(r.guards, r.add(l))
}

func (r *Rules) compileBudget(b *spec.RunBudget) {
	if b == nil {
		return
	}
	r.budget = b
	limits := LimitsOf(b)
	r.compileAmount(record.ReasonBudgetTokens, limits.Tokens, 1, func(u record.Usage) int64 { return u.Tokens() })
	r.compileAmount(record.ReasonBudgetCalls, limits.Calls, 1, func(u record.Usage) int64 { return u.Calls })
	r.compileAmount(record.ReasonBudgetCost, int64(limits.Cost), float64(record.USD), func(u record.Usage) int64 { return int64(u.Cost) })
	if b.Steps > 0 {
		r.guardOf(leaf{identity: identity{string(record.ReasonBudgetSteps), float64(b.Steps)}, reason: record.ReasonBudgetSteps, limit: float64(b.Steps), newest: true, judge: func(s *State, t *tracker) (bool, error) {
			steps := int64(0)
			for i := range s.history {
				steps += int64(s.history[i].StepCount())
			}
			t.used = float64(steps)
			return s.last().Cut == string(record.ReasonBudgetSteps) || steps >= b.Steps, nil
		}})
	}
}

// compileAmount limits an amount of the budget; 0 is no limit. So much of it is 1
// to the reader.
func (r *Rules) compileAmount(reason record.Reason, limit int64, unit float64, of func(record.Usage) int64) {
	if limit <= 0 {
		return
	}
	r.guardOf(leaf{identity: identity{string(reason), float64(limit)}, reason: reason, limit: float64(limit) / unit, newest: true, judge: func(s *State, t *tracker) (bool, error) {
		used := of(s.Usage())
		t.used = float64(used) / unit
		return s.last().Cut == string(reason) || used >= limit, nil
	}})
}

// circuitBreaker counts the same error in a row; a success resets it.
func circuitBreaker(s *State, t *tracker) int {
	if err := s.last().Error; err != nil {
		return t.sameText(err.Error())
	}
	return t.sameText("")
}

// stagnates puts down the signature of a set of tool calls: how often it stands among the last
// ones. No call at all takes a place as well, and equals nothing.
func (t *tracker) stagnates(signature string, window int) int {
	if signature != "" {
		return t.among(signature, window)
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

// mostEqual outputs end a run.
const mostEqual = 2

// repeatedOutput: the output equals any earlier one of the current strategy, as
// JSON: however it is written.
func repeatedOutput(s *State, t *tracker) (bool, error) {
	e := s.last()
	if !e.judged() {
		return false, nil
	}
	for i := s.strategyStart; i < s.Len()-1; i++ {
		earlier := &s.history[i]
		if earlier.judged() && earlier.outputHash() == e.outputHash() {
			return t.reaches(mostEqual, mostEqual), nil
		}
	}
	return false, nil
}

// Limits are what may be spent. Zero means no limit.
type Limits struct {
	Calls  int64
	Tokens int64
	Cost   record.Money
}

// LimitsOf are the limits of a run's budget.
func LimitsOf(b *spec.RunBudget) Limits {
	return Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: Dollars(b.CostUSD)}
}

// Dollars is an amount as money. One that is above zero stays so: zero would be
// no limit.
func Dollars(usd float64) record.Money {
	switch exact := math.Round(usd * float64(record.USD)); {
	case usd <= 0:
		return 0
	case exact >= math.MaxInt64:
		return math.MaxInt64
	default:
		return max(1, record.Money(exact))
	}
}

// Short is the limit that so much usage would exceed, "" where none. A call of unknown price may have cost any amount.
func (l *Limits) Short(u record.Usage) record.Reason {
	if u.Unpriced > 0 {
		u.Cost = math.MaxInt64
	}
	switch {
	case l.Calls > 0 && u.Calls > l.Calls:
		return record.ReasonBudgetCalls
	case l.Tokens > 0 && u.Tokens() > l.Tokens:
		return record.ReasonBudgetTokens
	case l.Cost > 0 && u.Cost > l.Cost:
		return record.ReasonBudgetCost
	}
	return ""
}

// Reached are the limits that so much usage reaches: of calls, tokens and cost.
func (l *Limits) Reached(u record.Usage) [3]bool {
	return [3]bool{l.Calls > 0 && u.Calls >= l.Calls, l.Tokens > 0 && u.Tokens() >= l.Tokens, l.Cost > 0 && u.Cost >= l.Cost}
}

// Left is what of the limits is left beside a usage; nothing of what is not limited.
func (l *Limits) Left(u record.Usage) Limits {
	return Limits{
		Calls: max(0, l.Calls-u.Calls), Tokens: max(0, l.Tokens-u.Tokens()), Cost: max(0, l.Cost-u.Cost),
	}
}

// Excess is by how much a usage exceeds the limits; nothing where there is no limit.
func (l *Limits) Excess(u record.Usage) (over Limits) {
	if l.Calls > 0 {
		over.Calls = max(0, u.Calls-l.Calls)
	}
	if l.Tokens > 0 {
		over.Tokens = max(0, u.Tokens()-l.Tokens)
	}
	if l.Cost > 0 {
		over.Cost = max(0, u.Cost-l.Cost)
	}
	return over
}

// Reservations are the limits in which every call is reserved before it is made;
// ok is false where no budget is hard.
func (r *Rules) Reservations() (limits Limits, ok bool) {
	if r.budget == nil || !r.budget.Hard {
		return Limits{}, false
	}
	return LimitsOf(r.budget), true
}
