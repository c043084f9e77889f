package compare_test

import (
	"math"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/reports/compare"
)

// sequential is the evidence of one comparison, or of the first of several.
func sequential(t *testing.T, options compare.Options, sides ...*compare.Side) *compare.Sequential {
	t.Helper()
	options.Sequential = true
	var results []*compare.Result
	for i := 0; i < len(sides); i += 2 {
		r, err := compare.Sides(sides[i], sides[i+1], options)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	compare.Correct(results, options)
	q := results[0].Lines[0].Sequential
	if q == nil {
		t.Fatal("no evidence")
	}
	return q
}

// 33 tasks won and 12 lost weigh 26.6, which shows a difference where one is looked
// for and not where there are two comparisons, and never those of amounts.
func TestSequentialEvidenceOfWinsAndLosses(t *testing.T) {
	base, new := won(33, 12, 5, 5)
	q := sequential(t, compare.Options{}, base, new)
	if math.Abs(q.Evidence-26.6) > 0.05 || q.Needed != 20 || q.Units != 55 || q.Verdict != compare.Better || q.After != 8 {
		t.Errorf("%+v, want 26.6 of 20 after 8 of 55 tasks", q)
	}
	slices.Reverse(base.Columns[0].Values)
	slices.Reverse(new.Columns[0].Values)
	if q := sequential(t, compare.Options{}, base, new); math.Abs(q.Evidence-26.6) > 0.05 || q.Verdict != compare.Worse {
		t.Errorf("with the lost tasks first: %+v, want it to have shown the contrary at first", q)
	}
	if q := sequential(t, compare.Options{}, append([]*compare.Side{base, new}, base, new)...); q.Needed != 40 {
		t.Errorf("of two comparisons: %+v, want 40 to be needed", q)
	}
	if l := compared(t, once(cost, 1, 2, 3), once(cost, 2, 3, 4), compare.Options{Sequential: true}); l.Sequential != nil {
		t.Errorf("an amount has evidence: %+v", l.Sequential)
	}
	if l := compared(t, base, new, compare.Options{}); l.Sequential != nil {
		t.Errorf("nobody asked for evidence: %+v", l.Sequential)
	}
}

// Trials of a task, and tasks of a cluster, are one observation.
func TestSequentialEvidenceCountsUnits(t *testing.T) {
	base, new := won(8, 0, 0, 0)
	if q := sequential(t, compare.Options{}, base, new); q.After != 8 || q.Units != 8 {
		t.Errorf("%+v, want it shown after 8 tasks", q)
	}
	base.Clusters = []string{"a", "a", "b", "b", "c", "c", "", ""}
	if q := sequential(t, compare.Options{}, base, new); q.Units != 5 || q.After != 0 || math.Abs(q.Evidence-32.0/6) > 1e-9 {
		t.Errorf("%+v, want no more than 5 units have", q)
	}
	trials := sequential(t, compare.Options{}, side(right, []float64{0, 0}, []float64{0, 1}), side(right, []float64{1, 1}, []float64{1, 1}))
	if trials.Units != 2 || !(trials.Evidence > 1 && trials.Evidence < 2) {
		t.Errorf("of two trials each: %+v", trials)
	}
}

func TestNoSequentialEvidence(t *testing.T) {
	if q := sequential(t, compare.Options{}, once(right, 0, 7), once(right, 5, 9)); !math.IsNaN(q.Evidence) || q.Missing == "" || q.Verdict != compare.CannotTell {
		t.Errorf("scores up to 9: %+v", q)
	}
	if q := sequential(t, compare.Options{Unpaired: true}, once(right, 0, 1), once(right, 1, 1)); !math.IsNaN(q.Evidence) || q.Missing != "not paired" {
		t.Errorf("not paired: %+v", q)
	}
}
