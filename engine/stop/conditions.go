// Package stop decides whether a loop continues. Compile makes the Rules of a loop; their State folds the iterations so far,
// and answers with the next Step, or with the Outcome of the run.
// It reads no clock, has no I/O and no randomness: elapsed time and usage are data on
// the iterations.
//
// Call Run.Iterate with a Maker of iterations: package loop makes them with agents, package replay with what
// a record has of them. Both follow one course, and are cut and decided alike.
//
// The stages beneath it, in order: Compile turns a declared loop into Rules, Start begins
// a history, Append adds an executed iteration (so that it can be evaluated),
// Decide judges every leaf of the rules on it and answers by the order of
// decision.
package stop

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// tracker is what a leaf remembers of a history.
type tracker struct {
	row   int     // iterations in a row
	ref   float64 // the confidence that is compared against
	seen  bool    // ref, value or text is set
	value any
	text  string
	// recent are the last values, where they are looked for among a window.
	recent []any
	used   float64 // of the limit
}

// reaches notes how much of a limit is used, and reports whether that is all.
func (t *tracker) reaches(limit, used int) bool {
	t.used = float64(used)
	return used >= limit
}

// clone is a tracker that goes on for itself.
func (t *tracker) clone() tracker {
	other := *t
	other.recent = slices.Clone(t.recent)
	return other
}

// count puts a match of the row down, or begins the row anew.
func (t *tracker) count(match bool) int {
	if match {
		t.row++
	} else {
		t.row = 0
	}
	return t.row
}

// same puts a value down: how many of the last ones equal it.
func (t *tracker) same(value any) int {
	switch {
	case value == nil:
		t.row = 0
	case t.seen && t.row > 0 && expr.Equal(t.value, value):
		t.row++
	default:
		t.row = 1
	}
	t.value, t.seen = value, true
	return t.row
}

// sameText is same for texts; the empty text equals nothing.
func (t *tracker) sameText(text string) int {
	switch {
	case text == "":
		t.row = 0
	case t.row > 0 && t.text == text:
		t.row++
	default:
		t.row = 1
	}
	t.text = text
	return t.row
}

// among puts a value down: how many of the last ones, so many as the window has
// places, equal it. Null takes a place, and equals nothing.
func (t *tracker) among(value any, window int) (n int) {
	if len(t.recent) >= window {
		t.recent = append(t.recent[:0], t.recent[len(t.recent)-window+1:]...)
	}
	t.recent = append(t.recent, value)
	if value == nil {
		return 0
	}
	for _, earlier := range t.recent {
		if earlier != nil && expr.Equal(earlier, value) {
			n++
		}
	}
	return n
}

// sameAmong is same where no window is given, else among.
func (t *tracker) sameAmong(value any, window int) int {
	if window == 0 {
		return t.same(value)
	}
	return t.among(value, window)
}

// reaches: the confidence reaches the threshold, from min iterations on.
func reaches(threshold float64, min int) func(*State, *tracker) (bool, error) {
	return func(s *State, _ *tracker) (bool, error) {
		e := s.last()
		return e.Evaluated() && s.Len() >= min && e.Evaluation.Confidence >= threshold, nil
	}
}

// readsEvaluation reports whether an expression reads what an evaluation says of the
// last iteration. It passes over one without, which only logs of other tools have.
func readsEvaluation(e *spec.Expr) bool {
	return e.Program != nil && slices.ContainsFunc(e.Reads(), func(path string) bool {
		variable, _, _ := strings.Cut(path, ".")
		switch variable {
		case "confidence", "passed", "feedback", "improvements", "checks", "failing":
			return true
		}
		return false
	})
}

// unevaluated reports whether the last iteration has no evaluation, though the loop
// evaluates.
func (s *State) unevaluated() bool {
	e := s.last()
	return s.rules.evaluate != nil && e.Evaluation == nil && e.Error == nil
}

// when: the expression is true of an iteration that is neither failed, cut nor
// before the first evaluated phase.
func when(e *spec.Expr) func(*State, *tracker) (bool, error) {
	evaluated := readsEvaluation(e)
	return func(s *State, _ *tracker) (bool, error) {
		if !s.last().judged() || evaluated && s.unevaluated() {
			return false, nil
		}
		return s.truth(e)
	}
}

// repeated: so many of the last values of the expression are equal to the newest,
// among a window where one is given, else in a row. A failed iteration has the
// value null, which equals nothing.
func repeated(of *spec.Expr, times, window int) func(*State, *tracker) (bool, error) {
	evaluated := readsEvaluation(of)
	return func(s *State, t *tracker) (bool, error) {
		it := s.last()
		if it.passedOver() || evaluated && s.unevaluated() {
			return false, nil
		}
		if !it.judged() {
			return t.reaches(times, t.sameAmong(nil, window)), nil
		}
		value, err := s.value(of)
		if err != nil {
			return false, err
		}
		return t.reaches(times, t.sameAmong(value, window)), nil
	}
}

// repeatedStep is repeated for the values after each step.
func repeatedStep(of *spec.Expr, times, window int) func(*stepScope, *tracker) (bool, error) {
	return func(s *stepScope, t *tracker) (bool, error) {
		value, err := of.Value(context.Background(), s)
		if err != nil {
			return false, err
		}
		return t.reaches(times, t.sameAmong(value, window)), nil
	}
}

// consecutive: the expression was true so many iterations in a row. A failed
// iteration ends the row.
func consecutive(e *spec.Expr, times int) func(*State, *tracker) (bool, error) {
	evaluated := readsEvaluation(e)
	return func(s *State, t *tracker) (bool, error) {
		it := s.last()
		if it.passedOver() || evaluated && s.unevaluated() {
			return false, nil
		}
		if !it.judged() {
			t.count(false)
			return false, nil
		}
		ok, err := s.truth(e)
		return err == nil && t.reaches(times, t.count(ok)), err
	}
}

// consecutiveStep is consecutive for steps in a row.
func consecutiveStep(e *spec.Expr, times int) func(*stepScope, *tracker) (bool, error) {
	return func(s *stepScope, t *tracker) (bool, error) {
		ok, err := e.Bool(context.Background(), s)
		return err == nil && t.reaches(times, t.count(ok)), err
	}
}

// noImprovement: so many iterations in a row, evaluated or failed, did not
// exceed the reference by more than min delta.
func noImprovement(patience int, minDelta float64) func(*State, *tracker) (bool, error) {
	return func(s *State, t *tracker) (bool, error) {
		if !s.last().counted() {
			return false, nil
		}
		return t.improve(s.last(), minDelta) >= patience, nil
	}
}

// improve moves the reference where the iteration improves on it, and counts
// the iterations in a row that did not.
func (t *tracker) improve(e *entry, minDelta float64) int {
	if e.Evaluated() && (!t.seen || e.Evaluation.Confidence-t.ref > minDelta) {
		t.ref, t.seen = e.Evaluation.Confidence, true
		return t.count(false)
	}
	return t.count(true)
}

// timeout: so much time has passed, or the iteration was cut because it had.
func timeout(after time.Duration, working bool) func(*State, *tracker) (bool, error) {
	return func(s *State, _ *tracker) (bool, error) {
		cuts := after == s.rules.cancelAt && working == s.rules.working
		return cuts && s.last().Cut == string(spec.KindTimeout) || reached(s, after, working), nil
	}
}

func atLeast(limit int) func(*State, *tracker) (bool, error) {
	return func(s *State, t *tracker) (bool, error) { return t.reaches(limit, s.Len()), nil }
}

// Rules are the decisions of one configuration of a loop. They are read-only
// and serve any number of histories at once.
type Rules struct {
	pattern  spec.Pattern
	evaluate *spec.Evaluate
	text     bool // outputs are texts
	first    int  // the first phase that is evaluated

	leaves []leaf   // conditions, then guards; a history keeps one tracker for each
	names  []string // of the leaves
	tree   []node   // the terminate tree: any of these, in the order of reasons
	maxima []int    // leaves: max_iterations at the top of the tree
	guards []int    // leaves, in the order of reasons
	// decisive is how many leaves decide; the others are only watched.
	decisive int
	stepping []int // leaves that look at steps

	limit      int // of iterations, that ends every run; unlimited: there is none
	phases     []spec.Phase
	strategies []spec.Strategy

	// completing are the tools by which an agent ends the run as a success, by the
	// name of the stage; nil: there are none.
	completing map[string][]string
	threshold  float64 // at which the best confidence means success; +Inf: never
	minDelta   float64 // of since_improvement
	continueIf *spec.Expr
	budget     *spec.RunBudget // nil: none
	cancelAt   time.Duration   // as-if; 0: no timeout cancels
	working    bool            // cancelAt counts working time only
}

// leaf is one condition or guard. Judge is called once for every iteration of
// a history, in order, and says whether the leaf holds after it; step, for every
// step of it before. A leaf has one of them, or both.
type leaf struct {
	identity
	name   string
	reason record.Reason
	class  record.Class
	// anew says that the leaf forgets what it saw when the strategy changes.
	anew bool
	// limit is that of a guard or of a maximum, of which trackers note what is
	// used: times, iterations, tokens, calls or USD.
	limit float64
	// newest says that judge looks at the newest iteration and the sums so far alone, so
	// that it need not be called for every iteration.
	newest bool
	judge  func(*State, *tracker) (bool, error)
	step   func(*stepScope, *tracker) (bool, error)
}

// node is a place in the terminate tree: a leaf, or any or all of its children.
type node struct {
	name     string
	leaf     int // -1 for any and all
	all      bool
	children []node
}

// never is the node of a condition that is off.
var never = node{leaf: -1}

// defaultSuccess is the confidence that means success where the terminate tree
// has no threshold.
const defaultSuccess = 0.8

// Compile turns a loop, presets applied, into its rules.
func Compile(l *spec.Loop) *Rules {
	r := &Rules{
		pattern:    l.Pattern,
		evaluate:   l.Evaluate,
		text:       l.RepliesText(),
		phases:     l.Phases,
		strategies: l.Strategies,
		limit:      limitOf(l),
		threshold:  successThreshold(l),
		minDelta:   firstMinDelta(l.Terminate.Any),
	}
	for _, s := range l.Stages() {
		if names := s.Agent.Completing(); len(names) > 0 {
			if r.completing == nil {
				r.completing = map[string][]string{}
			}
			r.completing[s.Name] = names
		}
	}
	if l.OnError != nil {
		r.continueIf = l.OnError.ContinueIf
	}
	if l.Evaluate != nil && l.Evaluate.FromPhase != "" {
		r.first = max(0, slices.IndexFunc(l.Phases, func(p spec.Phase) bool { return p.Name == l.Evaluate.FromPhase }))
	}
	r.compileTree(l)
	r.compileGuards(l)
	r.decisive = len(r.leaves)
	return r
}

// CancelAt is the time since the start of the run at which a timeout cancels
// the iteration in flight; ok is false where none does. Working says that only
// working time counts.
func (r *Rules) CancelAt() (at time.Duration, working, ok bool) {
	return r.cancelAt, r.working, r.cancelAt > 0
}

// MinDelta is by how much an iteration has to improve so that
// `since_improvement` begins anew.
func (r *Rules) MinDelta() float64 { return r.minDelta }

// SuccessThreshold is the confidence of the best iteration at which the loop
// believes in a run; +Inf where only what passed is a success.
func (r *Rules) SuccessThreshold() float64 { return r.threshold }

// add appends a leaf and gives its index.
func (r *Rules) add(l leaf) int {
	r.leaves, r.names = append(r.leaves, l), append(r.names, l.name)
	if l.step != nil {
		r.stepping = append(r.stepping, len(r.leaves)-1)
	}
	return len(r.leaves) - 1
}

// Remaining is how many iterations the limits leave at most, the next one
// included; 0: there is no limit. Conditions that may end the run sooner do not
// count, nor does a limit that ends it only together with others.
func (s *State) Remaining() int {
	left := min(s.rules.limit-s.Len(), s.leftInPhases(), s.leftInStrategies())
	if left > unlimited/2 {
		return 0
	}
	return max(1, left)
}

// SameRemaining says that as much remains under both rules after any history that
// neither ends.
func SameRemaining(a, b *Rules) bool {
	return a.limit == b.limit && slices.Equal(a.stageLimits(), b.stageLimits())
}

func (r *Rules) stageLimits() (limits []int) {
	for i := range r.phases {
		limits = append(limits, r.phases[i].MaxIterations)
	}
	for i := range r.strategies {
		limits = append(limits, r.strategies[i].MaxIterations)
	}
	return limits
}

// unlimited is as many iterations as nothing reaches.
const unlimited = math.MaxInt / 2

// limitOf is the least number of iterations that ends every run.
func limitOf(l *spec.Loop) int {
	limit := smallestLimit(l.Terminate.Any)
	if most, derived, _ := l.EffectiveMax(); derived {
		limit = min(limit, most)
	}
	if absolute := l.Guards.AbsoluteMaxIterations; !absolute.Off && absolute.Value > 0 {
		limit = min(limit, absolute.Value)
	}
	return limit
}

// smallestLimit is the least max_iterations of which each ends the run alone.
func smallestLimit(conditions []spec.Condition) int {
	limit := unlimited
	for i := range conditions {
		switch c := &conditions[i]; {
		case c.Off:
		case c.Kind == spec.KindMaxIterations:
			limit = min(limit, c.MaxIterations)
		case c.Kind == spec.KindAny:
			limit = min(limit, smallestLimit(c.Nested))
		}
	}
	return limit
}

// leftInPhases are the iterations up to the end of the last phase.
func (s *State) leftInPhases() int {
	if s.phase >= len(s.rules.phases) {
		return unlimited
	}
	left := -s.inPhase
	for i := range s.rules.phases[s.phase:] {
		most := s.rules.phases[s.phase+i].MaxIterations
		if most == 0 {
			return unlimited
		}
		left += most
	}
	return left
}

// leftInStrategies are the iterations up to the end of the last strategy.
func (s *State) leftInStrategies() int {
	if s.strategy >= len(s.rules.strategies) {
		return unlimited
	}
	left := -s.inStrategy
	for i := range s.rules.strategies[s.strategy:] {
		left += max(1, s.rules.strategies[s.strategy+i].MaxIterations)
	}
	return left
}
