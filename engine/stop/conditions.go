package stop

import (
	"context"
	"slices"
	"strings"
	"time"

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
