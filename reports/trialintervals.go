package reports

import (
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// trialIntervals makes the intervals of what is told of a task. Its trials are
// all that varies: they do not depend on each other.
type trialIntervals struct {
	// quantiles are those of Student's t by the number of trials, few of which
	// differ among many tasks.
	quantiles map[int]page.Value
	values    []float64 // of the runs
}

// bound finds the intervals of a task's means over some runs.
func (t *trialIntervals) bound(result *TaskResult, runs *runs, group []int32, isBinary bool) {
	t.values = t.values[:0]
	for _, at := range group {
		if score, ok := runs.primary(at); ok {
			t.values = append(t.values, score)
		}
	}
	if isBinary {
		result.ScoreInterval = t.share(result.Score)
	} else {
		result.ScoreInterval = t.mean(result.Score)
	}
	of := func(mean page.Value, number func(*run) float64) page.Range {
		t.values = t.values[:0]
		for _, at := range group {
			t.values = append(t.values, number(&runs.all[at]))
		}
		return t.mean(mean)
	}
	result.IterationsInterval = of(result.Iterations, func(r *run) float64 { return float64(r.iterations) })
	result.CostInterval = of(result.Cost, func(r *run) float64 { return r.cost.Dollars() })
	result.SecondsInterval = of(result.Seconds, func(r *run) float64 { return r.elapsed.Seconds() })
}

// mean is Student's interval of the mean of the values.
func (t *trialIntervals) mean(mean page.Value) page.Range {
	switch {
	case !mean.Known():
		return without(mean.Missing)
	case len(t.values) < 2:
		return without(page.OneTrial)
	case slices.Min(t.values) == slices.Max(t.values):
		return without(page.AllEqual)
	}
	estimate, ok := stats.MeanOf(t.values)
	if quantile := t.quantile(len(t.values)); ok && quantile.Known() {
		half := quantile.Number * estimate.SE
		return page.Range{Low: page.Known(mean.Number - half), High: page.Known(mean.Number + half)}
	}
	return without(page.Nothing)
}

// share is Wilson's interval of the share of ones among the values.
func (t *trialIntervals) share(mean page.Value) page.Range {
	switch {
	case !mean.Known():
		return without(mean.Missing)
	case len(t.values) < 2:
		return without(page.OneTrial)
	}
	return rangeOf(stats.Wilson(mean.Number, float64(len(t.values)), stats.Level))
}

// quantile is how many standard errors a mean of so many values is surrounded by.
func (t *trialIntervals) quantile(values int) page.Value {
	known, ok := t.quantiles[values]
	if !ok {
		known = page.ValueOf(stats.StudentQuantile((1+stats.Level)/2, float64(values-1)))
		t.quantiles[values] = known
	}
	return known
}

// without is no interval, for a reason.
func without(why string) page.Range {
	return page.Range{Low: page.Missing(why), High: page.Missing(why)}
}

// isBinary says that all primary scores of the i-th configuration are 0 or 1.
func (r *Report) isBinary(i int) bool {
	scores := r.Configurations[i].Scores
	return len(scores) > 0 && scores[0].Binary
}
