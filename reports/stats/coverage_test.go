package stats_test

import (
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

// coverage is how often an interval of level 0.95 holds the truth, by the number
// of tasks. An interval that is not listed with less covers 94 to 96 %.
type coverage struct {
	name  string
	truth float64
	draw  func(w world, tasks int) (stats.Interval, bool)
	low   float64
	high  float64
}

// successes are rates of tasks whose own rates spread widely: their variance
// within a task is 1.5 times that between tasks.
func successes(name string, rate float64, trials int) coverage {
	return coverage{name: name, truth: rate, draw: func(w world, tasks int) (stats.Interval, bool) {
		means := fill(tasks, func() float64 { return w.tosses(w.beta(rate, 1.5), trials) })
		return stats.MeanProportionInterval(means, tasks*trials, 0.95)
	}}
}

func (c coverage) within(low, high float64) coverage {
	c.low, c.high = low, high
	return c
}

// anyRate draws the rate, too, and tells the interval of rate - truth.
func anyRate(name string, trials int) coverage {
	return coverage{name: name, draw: func(w world, tasks int) (stats.Interval, bool) {
		rate := 0.05 + 0.9*w.Float64()
		interval, ok := successes("", rate, trials).draw(w, tasks)
		return stats.Interval{Low: interval.Low - rate, High: interval.High - rate}, ok
	}}
}

func successClusters(name string, groups int) coverage {
	return coverage{name: name, truth: 0.7, draw: func(w world, tasks int) (stats.Interval, bool) {
		quality := w.qualities(groups)
		return stats.ProportionInterval(w.unequal(tasks, groups, func(g int) float64 { return w.coin(quality[g]) }), 0.95)
	}}
}

func gradedClusters(name string, groups int) coverage {
	return coverage{name: name, truth: gradedMean(0.7), draw: func(w world, tasks int) (stats.Interval, bool) {
		quality := w.qualities(groups)
		estimate, _ := stats.ClusteredMean(w.unequal(tasks, groups, func(g int) float64 { return w.graded(quality[g]) }))
		return estimate.Interval(0.95)
	}}
}

// pairs are two configurations, of which the second solves four fifths of what
// the first solves.
func pairs(name string, trials int) coverage {
	return coverage{name: name, truth: 0.1, draw: func(w world, tasks int) (stats.Interval, bool) {
		return stats.MeanInterval(fill(tasks, func() float64 {
			p := w.beta(0.5, 2)
			return w.tosses(p, trials) - w.tosses(0.8*p, trials)
		}), 0.95)
	}}
}

func bonettPricePairs(w world, tasks int) (stats.Interval, bool) {
	won, lost := 0, 0
	for range tasks {
		p := w.beta(0.5, 2)
		switch w.coin(p) - w.coin(0.8*p) {
		case 1:
			won++
		case -1:
			lost++
		}
	}
	return stats.BonettPrice(won, lost, tasks, 0.95)
}

func gradedPairs(w world, tasks int) (stats.Interval, bool) {
	return stats.MeanInterval(fill(tasks, func() float64 {
		quality := w.beta(0.7, 3)
		return w.graded(quality) - w.graded(0.9*quality)
	}), 0.95)
}

func pairsInClusters(w world, tasks int) (stats.Interval, bool) {
	gains := fill(20, func() float64 { return 0.5 * w.Float64() })
	estimate, _ := stats.ClusteredMean(w.unequal(tasks, 20, func(g int) float64 {
		p := w.beta(0.5, 2)
		return w.tosses(p, 2) - w.tosses((1-gains[g])*p, 2)
	}))
	return estimate.Interval(0.95)
}

func costPerSuccess(w world, tasks int) (stats.Interval, bool) {
	costs := fill(tasks, w.skewed)
	return bootstrapped(costs, fill(tasks, func() float64 { return w.coin(0.5) }), w.Uint64())
}

func medianCost(w world, tasks int) (stats.Interval, bool) {
	return stats.MedianInterval(fill(tasks, w.skewed), 0.95)
}

var coverages = []coverage{
	anyRate("success rate, any, 1 trial", 1),
	anyRate("success rate, any, 4 trials", 4),
	successes("success rate 0.42, 1 trial", 0.42, 1).within(0.93, 0.96),
	successes("success rate 0.42, 4 trials", 0.42, 4),
	successes("success rate 0.7, 1 trial", 0.7, 1).within(0.925, 0.96),
	successes("success rate 0.7, 4 trials", 0.7, 4),
	successes("success rate 0.9, 1 trial", 0.9, 1).within(0.94, 0.98),
	successes("success rate 0.9, 4 trials", 0.9, 4),
	successClusters("success rate in 8 clusters", 8).within(0.94, 0.97),
	successClusters("success rate in 20 clusters", 20).within(0.94, 0.97),
	successClusters("success rate in 40 clusters", 40).within(0.94, 0.97),
	{name: "graded score, 3 trials", truth: gradedMean(0.7), draw: func(w world, tasks int) (stats.Interval, bool) {
		return stats.MeanInterval(fill(tasks, func() float64 {
			quality := w.beta(0.7, 3)
			return (w.graded(quality) + w.graded(quality) + w.graded(quality)) / 3
		}), 0.95)
	}},
	gradedClusters("graded score in 8 clusters", 8),
	gradedClusters("graded score in 20 clusters", 20),
	gradedClusters("graded score in 40 clusters", 40),
	{name: "paired, 1 trial, Bonett and Price", truth: 0.1, draw: bonettPricePairs},
	pairs("paired, 1 trial, t", 1),
	pairs("paired, 4 trials, t", 4),
	{name: "paired, graded, t", truth: gradedMean(0.7) - gradedMean(0.63), draw: gradedPairs},
	{name: "paired, 2 trials, in 20 clusters", truth: 0.125, draw: pairsInClusters},
	{name: "cost per success, bootstrap", truth: 2 * skewedMean, draw: costPerSuccess},
	{name: "median cost, order statistics", truth: 1, draw: medianCost, low: 0.95, high: 0.97},
}

func TestCoverage(t *testing.T) {
	for _, c := range coverages {
		if c.high == 0 {
			c = c.within(0.94, 0.96)
		}
		for _, tasks := range sizes() {
			got := share(t, func(w world) bool {
				interval, ok := c.draw(w, tasks)
				return ok && interval.Low <= c.truth && c.truth <= interval.High
			})
			t.Logf("%-40s %4d tasks: %.1f %%", c.name, tasks, 100*got)
			if got < c.low-chanceError(t, c.low) || got > c.high+chanceError(t, c.high) {
				t.Errorf("%s, %d tasks: covers %v; want %v to %v", c.name, tasks, got, c.low, c.high)
			}
		}
	}
}
