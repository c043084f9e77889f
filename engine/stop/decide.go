package stop

import (
	"context"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Decision is the answer after an iteration: the outcome, or what comes next.
type Decision struct {
	Stop    bool
	Outcome record.Outcome // where Stop is set
	Next    Step           // where it is not
	// Adaptation says what changes for the next iteration.
	Adaptation string
}

// verdict is why a run stops.
type verdict struct {
	reason record.Reason
	class  record.Class
	fired  string
	err    *record.Error
	status record.Status
	// limit is that of the guard or the maximum, of which so much was used.
	used, limit float64
}

// Decide folds the iteration appended last and decides whether the loop goes on.
func (s *State) Decide() Decision {
	s.failure = s.fold()
	clear(s.answers)
	for i := range s.rules.leaves {
		held, err := s.judge(i)
		s.held[i] = held
		switch {
		case i >= s.rules.decisive:
			s.watched[i-s.rules.decisive] = err
		case err != nil && s.failure == nil:
			s.failure = err
		}
	}
	if v, stop := s.verdict(); stop {
		return Decision{Stop: true, Outcome: s.outcome(v)}
	}
	s.advance()
	next := s.Next()
	s.last().adaptation = s.adaptation(next)
	return Decision{Next: next, Adaptation: s.last().adaptation}
}

// judge says whether a leaf holds after the newest iteration, or after a step of it.
func (s *State) judge(leaf int) (held bool, err error) {
	l := &s.rules.leaves[leaf]
	if l.judge != nil {
		held, err = l.judge(s, &s.trackers[leaf])
	}
	if l.step == nil {
		return held, err
	}
	i, _ := slices.BinarySearch(s.rules.stepping, leaf)
	if err == nil {
		err = s.steps.failed[i]
	}
	return held || s.steps.held[i], err
}

// OfLog is what fired where the log of another tool says why a run ended.
const OfLog = "the log"

// StopBefore ends a run between iterations: the agent has nothing more to give
// (agent_ended), a budget is spent, or the run is cancelled.
func (s *State) StopBefore(reason record.Reason) record.Outcome {
	v := verdict{reason: reason, fired: string(reason), status: record.Completed}
	switch reason {
	case record.ReasonCancelled, record.ReasonSuiteBudget:
		v.class, v.status = record.ByBudget, record.Cancelled
	case record.ReasonBudgetTokens, record.ReasonBudgetCalls, record.ReasonBudgetCost:
		v.class = record.ByGuard
		for _, leaf := range s.rules.guards {
			if s.rules.leaves[leaf].reason == reason {
				v.used, v.limit = s.trackers[leaf].used, s.rules.leaves[leaf].limit
			}
		}
	case record.ReasonMaxSteps:
		v.class, v.fired = record.ByCondition, OfLog
	case record.ReasonTooManyErrors:
		v.class, v.fired = record.ByGuard, OfLog
	default:
		v.class = record.ByAgent
	}
	clear(s.held)
	return s.outcome(v)
}

// order is the order of decision. It decides only the reason: a run stops at
// this iteration if any of these holds.
var order = [...]func(*State) (verdict, bool){
	(*State).cut,
	(*State).failed,
	(*State).passed,
	(*State).ended,
	(*State).terminated,
	(*State).expressionFailed,
	(*State).interrupted,
	(*State).stagesOver,
	(*State).maximum,
	(*State).guarded,
}

func (s *State) verdict() (verdict, bool) {
	for _, ask := range order {
		if v, ok := ask(s); ok {
			return v, true
		}
	}
	return verdict{}, false
}

// cut: the run was cancelled from outside, or the suite's budget is spent.
func (s *State) cut() (verdict, bool) {
	switch reason := record.Reason(s.last().Cut); reason {
	case record.ReasonCancelled, record.ReasonSuiteBudget:
		return verdict{reason: reason, class: record.ByBudget, fired: string(reason), status: record.Cancelled}, true
	}
	return verdict{}, false
}

// failed: the iteration failed and on_error does not let the loop go on.
func (s *State) failed() (verdict, bool) {
	err := s.last().Error
	if err == nil || s.continues() {
		return verdict{}, false
	}
	status := record.Failed
	if err.Class.Fault() {
		status = record.Faulted
	}
	return verdict{reason: record.ReasonError, class: record.ByFault, fired: string(err.Class), err: err, status: status}, true
}

// continues: what on_error says; under multi_strategy while there is something
// left to try, because a failed iteration uses up its strategy's limit; else
// with a best confidence above 0.5. But a fault of the infrastructure that the
// loop did not choose to go on from, or that nothing followed, ends the run: it
// is excluded and tried again.
func (s *State) continues() bool {
	if c := s.rules.continueIf; c != nil {
		ok, err := c.Bool(context.Background(), s)
		return ok && err == nil
	}
	fault := s.last().Error.Class.Infrastructure()
	if s.rules.pattern == spec.PatternMultiStrategy {
		return !fault || !s.lastStrategyEnds()
	}
	return !fault && s.best >= 0 && s.history[s.best].Evaluation.Confidence > 0.5
}

func (s *State) passed() (verdict, bool) {
	e := s.last()
	if !e.Evaluated() || !e.Evaluation.Passed {
		return verdict{}, false
	}
	reason := record.ReasonPassed
	switch s.rules.pattern {
	case spec.PatternChecklist:
		reason = record.ReasonChecklistComplete
	case spec.PatternMultiStrategy:
		reason = record.ReasonStrategySucceeded
	}
	return verdict{reason: reason, class: record.ByCondition, fired: string(reason)}, true
}

func (s *State) ended() (verdict, bool) {
	ended := s.last().Ended
	if ended == nil {
		return verdict{}, false
	}
	return verdict{reason: record.Reason(ended.Reason), class: record.ByAgent, fired: ended.Reason}, true
}

func (s *State) terminated() (verdict, bool) {
	for i := range s.rules.tree {
		if leaf, ok := s.rules.tree[i].holds(s.held); ok {
			return s.byLeaf(leaf, s.rules.tree[i].name), true
		}
	}
	return verdict{}, false
}

// expressionFailed: a condition, an `until` or an `of` could not be evaluated.
func (s *State) expressionFailed() (verdict, bool) {
	if s.failure == nil {
		return verdict{}, false
	}
	fault := &record.Error{Class: record.Expression, Message: s.failure.Error()}
	return verdict{reason: record.ReasonError, class: record.ByFault, fired: string(record.Expression), err: fault, status: record.Faulted}, true
}

// interrupted: a guard that looks at steps, or a hard budget, cut the iteration in
// flight. A limit that is reached by the same iteration has not ended it.
func (s *State) interrupted() (verdict, bool) {
	cut := record.Reason(s.last().Cut)
	if cut == "" {
		return verdict{}, false
	}
	for i, leaf := range s.rules.stepping {
		if s.steps.held[i] && s.rules.leaves[leaf].reason == cut {
			return s.byLeaf(leaf, s.rules.leaves[leaf].name), true
		}
	}
	for _, leaf := range s.rules.guards {
		if s.held[leaf] && s.rules.leaves[leaf].reason == cut {
			return s.byLeaf(leaf, s.rules.leaves[leaf].name), true
		}
	}
	return verdict{}, false
}

func (s *State) stagesOver() (verdict, bool) {
	reason := record.ReasonPhasesComplete
	switch {
	case s.lastStrategyEnds():
		reason = record.ReasonStrategiesExhausted
	case !s.phaseEnds || s.phase < len(s.rules.phases)-1:
		return verdict{}, false
	}
	return verdict{reason: reason, class: record.ByCondition, fired: string(reason)}, true
}

func (s *State) lastStrategyEnds() bool {
	return s.strategyEnds && s.strategy == len(s.rules.strategies)-1
}

func (s *State) maximum() (verdict, bool) { return s.firstOf(s.rules.maxima) }

func (s *State) guarded() (verdict, bool) { return s.firstOf(s.rules.guards) }

func (s *State) firstOf(leaves []int) (verdict, bool) {
	for _, leaf := range leaves {
		if s.held[leaf] {
			return s.byLeaf(leaf, s.rules.leaves[leaf].name), true
		}
	}
	return verdict{}, false
}

func (s *State) byLeaf(leaf int, fired string) verdict {
	l := &s.rules.leaves[leaf]
	v := verdict{reason: l.reason, class: l.class, fired: fired, limit: l.limit}
	if l.limit > 0 {
		v.used = s.usedOf(leaf)
	}
	if l.reason == record.ReasonCircuitBreaker {
		v.err = s.sameError()
	}
	return v
}

// usedOf is how much of its limit a leaf has used that holds: where steps made it
// hold, they used it.
func (s *State) usedOf(leaf int) float64 {
	if i, looks := slices.BinarySearch(s.rules.stepping, leaf); looks && s.steps.held[i] {
		return s.steps.trackers[i].used
	}
	return s.trackers[leaf].used
}

// sameError is the error that the circuit breaker found again and again: of the
// newest iteration, else of the last tool call of its last step.
func (s *State) sameError() *record.Error {
	e := s.last()
	if n := len(e.ToolCalls); e.Error == nil && n > 0 {
		return e.ToolCalls[n-1].Error
	}
	return e.Error
}

func (s *State) outcome(v verdict) record.Outcome {
	if v.status == "" {
		v.status = record.Completed
	}
	return record.Outcome{
		Status:   v.status,
		Reason:   v.reason,
		Class:    v.class,
		Fired:    v.fired,
		Held:     s.heldNames(),
		Success:  v.status == record.Completed && s.success(),
		Returned: s.returned(v.reason),
		Used:     v.used,
		Limit:    v.limit,
		Error:    v.err,
	}
}

func (s *State) heldNames() []string {
	var names []string
	for i, held := range s.held[:s.rules.decisive] {
		switch {
		case held && names == nil:
			names = s.rules.names[i : i+1 : i+1] // mostly it is the only one: all runs share it
		case held:
			names = append(names, s.rules.names[i])
		}
	}
	return names
}

// adaptation says in words what changes for the next iteration.
func (s *State) adaptation(next Step) string {
	switch {
	case s.strategyEnds:
		return "next strategy: " + next.Strategy
	case s.phaseEnds:
		return "next phase: " + next.Phase
	case s.last().Error != nil:
		return "after an error: " + s.last().Error.Message
	}
	e := s.last()
	switch {
	case e.Evaluated() && len(e.Evaluation.Improvements) > 0:
		return strings.Join(e.Evaluation.Improvements, ", ")
	case e.Evaluated() && e.Evaluation.Feedback != "":
		return e.Evaluation.Feedback
	}
	return "general refinement"
}
