package choose

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
)

// reference finds the recording that losses are counted against: the one with the
// best objective, the first by name among equals. Its place among Recordings is
// where it stood in the folder, which must not matter.
func (t *chooser) reference(ctx context.Context) int {
	best, most := 0, math.Inf(-1)
	recordings := t.Recordings()
	for r := range recordings {
		value, _ := t.recordingOn(ctx, r, 0)
		if math.IsNaN(value) {
			value = math.Inf(-1)
		}
		if c := cmp.Compare(value, most); c > 0 || c == 0 && recordings[r].Configuration < recordings[best].Configuration {
			best, most = r, value
		}
	}
	return best
}

// recordingOn is what a recording is worth on a subset, the larger the better, NaN
// where that is not known, and whether it satisfies the constraints.
func (t *chooser) recordingOn(ctx context.Context, recording, subset int) (value float64, within bool) {
	p, err := t.profile(ctx, recordingNumber(recording))
	if err != nil {
		return math.NaN(), false
	}
	scope := t.scope(t.sum(p, subset))
	if t.quantiles {
		everyRunOf(tune.Hold(t.Recordings()[recording].Runs, t.held.Scores).Recorded).into(scope.sums, t.fold, subset-1)
	}
	value, _ = t.goal.of(ctx, scope)
	if t.Minimize {
		value = -value
	}
	within = true
	for c := range t.Constraints {
		ok, _ := holds(ctx, &t.Constraints[c], scope)
		within = within && ok
	}
	return value, within
}

// recordingNumber stands for a recording among candidates: theRecording for the
// first one.
func recordingNumber(recording int) int { return theRecording - recording }

// measureRecordings fills in what each recording is worth.
func (t *chooser) measureRecordings(ctx context.Context) error {
	for s := range t.subsets {
		t.recorded = append(t.recorded, nil)
		for r := range t.Recordings() {
			value, within := t.recordingOn(ctx, r, s)
			if !within {
				value = math.NaN()
			}
			t.recorded[s] = append(t.recorded[s], value)
		}
	}
	return ctx.Err()
}

// measureLeast fills in what a candidate that is not exact is worth at least: the
// mean of the score when every run whose end is not known fails. With another
// objective, with constraints, and where the agent was told a limit, nothing is
// known.
func (t *chooser) measureLeast(ctx context.Context, candidate int, totals []sweep.Totals) {
	if t.goal.native == nil || t.Minimize || len(t.Constraints) > 0 {
		return
	}
	if slices.ContainsFunc(totals, func(part sweep.Totals) bool { return part.Told > 0 }) {
		return
	}
	scope := t.scope(&sums{})
	for s := range t.subsets {
		scope.clear()
		t.over(scope.sums, candidate, s)
		if !math.IsInf(scope.sums.score(t.score).Number, 0) {
			t.least[s][candidate], _ = t.goal.of(ctx, scope)
		}
	}
}

// topOf is the best of all that is known on a subset, and what it is worth at least:
// the best candidate, else the recording or the candidate of which only bounds are
// known that is better by more than rounding.
func (t *chooser) topOf(best, subset int) (top int, value float64) {
	top, value = best, t.value[subset][best]
	better := func(number int, is float64) {
		if is > value+slack(value) {
			top, value = number, is
		}
	}
	for r, is := range t.recorded[subset] {
		better(recordingNumber(r), is)
	}
	for i, is := range t.least[subset] {
		better(i, is)
	}
	return top, value
}
