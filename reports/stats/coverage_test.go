package stats_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
	"gonum.org/v1/gonum/stat/distuv"
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

// costs are two configurations, of which the second costs twice as much; each adds noise
// of its own to what a task costs, and both have long tails: logarithms are normal.
func costs(name string, tail, noise, noiseOfNew float64) coverage {
	return coverage{name: name, truth: math.Log(2), draw: func(w world, tasks int) (stats.Interval, bool) {
		base, new := make([]float64, tasks), make([]float64, tasks)
		for i := range base {
			cost := w.heavy(tail)
			base[i], new[i] = cost*w.heavy(noise), 2*cost*w.heavy(noiseOfNew)
		}
		estimate, _ := stats.LogRatio(new, base)
		return estimate.Interval(0.95)
	}}
}

// costsInClusters share much of their noise in each of 20 clusters.
func costsInClusters(w world, tasks int) (stats.Interval, bool) {
	const groups = 20
	shift := fill(groups, func() float64 { return w.heavy(0.3) })
	base, new := make([]float64, groups), make([]float64, groups)
	for range tasks {
		at, cost := w.IntN(groups), w.heavy(0.8)
		base[at], new[at] = base[at]+cost*w.heavy(0.3), new[at]+2*cost*shift[at]*w.heavy(0.3)
	}
	estimate, _ := stats.LogRatio(new, base)
	return estimate.Interval(0.95)
}

// costsApart are those of other tasks on either side.
func costsApart(w world, tasks int) (stats.Interval, bool) {
	mean := func() stats.Estimate {
		estimate, _ := stats.LogRatio(fill(tasks, func() float64 { return w.heavy(0.8) }), fill(tasks, func() float64 { return 1 }))
		return estimate
	}
	difference, _ := mean().Minus(mean())
	return difference.Interval(0.95)
}

func medianCost(w world, tasks int) (stats.Interval, bool) {
	return medianInterval(fill(tasks, w.skewed), 0.95)
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
	costs("ratio of mean costs", 0.8, 0.3, 0.3),
	costs("ratio of mean costs, noisy", 0.8, 0.5, 0.5),
	costs("ratio of mean costs, independent", 0, 0.8, 0.8),
	costs("ratio of mean costs, long tails", 1.2, 0.5, 0.5),
	costs("ratio of mean costs, one side noisy", 0.8, 0, 0.8).within(0.93, 0.96),
	{name: "ratio of mean costs, in 20 clusters", truth: math.Log(2), draw: costsInClusters},
	{name: "ratio of mean costs, not paired", draw: costsApart},
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

// alike are two configurations that do not differ, and how a test is fooled.
var alike = []struct {
	name string
	test func(w world, tasks int) (stats.Test, bool)
}{
	{"McNemar, 1 trial", func(w world, tasks int) (stats.Test, bool) {
		won, lost := 0, 0
		for range tasks {
			p := w.beta(0.5, 2)
			switch w.coin(p) - w.coin(p) {
			case 1:
				won++
			case -1:
				lost++
			}
		}
		return stats.McNemar(won, lost)
	}},
	{"sign-flip, 4 trials", func(w world, tasks int) (stats.Test, bool) { return stats.SignFlip(w.differences(tasks), w.Uint64()) }},
	{"sign-flip, graded", func(w world, tasks int) (stats.Test, bool) {
		return stats.SignFlip(w.gradedDifferences(tasks), w.Uint64())
	}},
	{"sign-flip, 2 trials, in 20 clusters", func(w world, tasks int) (stats.Test, bool) {
		gains := fill(20, func() float64 { return 0.5*w.Float64() - 0.25 })
		clusters := w.unequal(tasks, 20, func(g int) float64 { return w.tosses(0.5+gains[g], 2) - w.tosses(0.5, 2) })
		return stats.SignFlip(sums(clusters), w.Uint64())
	}},
	{"paired t, 4 trials", func(w world, tasks int) (stats.Test, bool) {
		estimate, _ := stats.MeanOf(w.differences(tasks))
		return estimate.Test()
	}},
	{"Mann-Whitney, costs", func(w world, tasks int) (stats.Test, bool) {
		return stats.MannWhitney(fill(tasks, w.skewed), fill(tasks, w.skewed))
	}},
	{"Welch, graded", func(w world, tasks int) (stats.Test, bool) {
		draw := func() float64 { return w.graded(w.beta(0.7, 3)) }
		estimate := welch(fill(tasks, draw), fill(tasks/2, draw))
		return estimate.Test()
	}},
	{"smallest of 5 by Holm", func(w world, tasks int) (stats.Test, bool) {
		adjusted, ok := stats.Holm(fill(5, func() float64 {
			estimate, _ := stats.MeanOf(w.gradedDifferences(tasks))
			test, _ := estimate.Test()
			return test.P
		}))
		least := 1.0
		for _, p := range adjusted {
			least = min(least, p)
		}
		return stats.Test{P: least}, ok
	}},
	{"evidence, looked at after every pair", func(w world, tasks int) (stats.Test, bool) {
		won, lost, most := 0, 0, 1.0
		for range tasks {
			if w.coin(0.5) == 1 {
				won++
			} else {
				lost++
			}
			evidence, _ := stats.Evidence(won, lost, 1)
			most = max(most, evidence)
		}
		return stats.Test{P: 1 / most}, true
	}},
	{"evidence of a mean, looked at after every pair", func(w world, tasks int) (stats.Test, bool) {
		differences, most := w.differences(tasks), 1.0
		for n := range differences {
			evidence, _ := stats.MeanEvidence(differences[:n+1], 0)
			most = max(most, evidence)
		}
		return stats.Test{P: 1 / most}, true
	}},
}

func (w world) differences(tasks int) []float64 {
	return fill(tasks, func() float64 {
		p := w.beta(0.5, 2)
		return w.tosses(p, 4) - w.tosses(p, 4)
	})
}

func (w world) gradedDifferences(tasks int) []float64 {
	return fill(tasks, func() float64 {
		quality := w.beta(0.7, 3)
		return w.graded(quality) - w.graded(quality)
	})
}

func sums(clusters [][]float64) []float64 {
	all := make([]float64, len(clusters))
	for i, cluster := range clusters {
		all[i] = stats.Sum(cluster)
	}
	return all
}

func TestLevels(t *testing.T) {
	const alpha = 0.05
	for _, a := range alike {
		for _, tasks := range sizes() {
			got := share(t, func(w world) bool {
				test, ok := a.test(w, tasks)
				return ok && test.P <= alpha
			})
			t.Logf("%-40s %4d tasks: %.1f %%", a.name, tasks, 100*got)
			if got > alpha+chanceError(t, alpha) {
				t.Errorf("%s, %d tasks: finds %v where there is nothing", a.name, tasks, got)
			}
		}
	}
}

// As many pairs as are said to be needed find the difference four times in five.
func TestPower(t *testing.T) {
	connor, _ := usual.NeededMcNemar(0.15, 0.05)
	needed, _ := usual.Needed(1, 0.5)
	for name, finds := range map[string]func(w world) (stats.Test, bool){
		"McNemar": func(w world) (stats.Test, bool) {
			won, lost := 0, 0
			for range int(connor) + 1 {
				switch p := w.Float64(); {
				case p < 0.15:
					won++
				case p < 0.20:
					lost++
				}
			}
			return stats.McNemar(won, lost)
		},
		"t": func(w world) (stats.Test, bool) {
			estimate, _ := stats.MeanOf(fill(int(needed)+1, func() float64 { return w.NormFloat64() + 0.5 }))
			return estimate.Test()
		},
	} {
		got := share(t, func(w world) bool {
			test, ok := finds(w)
			return ok && test.P <= 0.05
		})
		t.Logf("%s: %.1f %%", name, 100*got)
		if exactness := 0.06; got < 0.8-exactness-chanceError(t, 0.8) || got > 0.8+0.02+chanceError(t, 0.8) {
			t.Errorf("%s: power %v", name, got)
		}
	}
}

// suites is how many synthetic suites a simulation has: enough to see a fault, or
// as many as the environment variable AGENTBENCH_SUITES says.
func suites(t *testing.T) int {
	t.Helper()
	if raceEnabled {
		t.Skip("nothing here runs at the same time")
	}
	text := os.Getenv("AGENTBENCH_SUITES")
	if text == "" {
		return 200
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("AGENTBENCH_SUITES is %q", text)
	}
	return n
}

// sizes are the numbers of tasks.
func sizes() []int {
	if os.Getenv("AGENTBENCH_SUITES") == "" {
		return []int{30, 200}
	}
	return []int{30, 50, 200}
}

// share is in how many of the suites something holds.
func share(t *testing.T, holds func(w world) bool) float64 {
	t.Helper()
	n, held := suites(t), 0
	for i := range n {
		if holds(world{rand.New(rand.NewPCG(uint64(i), 2026))}) {
			held++
		}
	}
	return float64(held) / float64(n)
}

// chanceError is how far such a share may lie off by chance.
func chanceError(t *testing.T, p float64) float64 {
	return 3.5 * math.Sqrt(p*(1-p)/float64(suites(t)))
}

// world draws suites: tasks differ in how hard they are, and trials of a task
// depend on each other only by that.
type world struct{ *rand.Rand }

// beta is spread around its mean, the less the larger the concentration.
func (w world) beta(mean, concentration float64) float64 {
	return distuv.Beta{Alpha: mean * concentration, Beta: (1 - mean) * concentration, Src: w.Rand}.Rand()
}

func (w world) coin(p float64) float64 {
	if w.Float64() < p {
		return 1
	}
	return 0
}

// tosses is the mean of k coins.
func (w world) tosses(p float64, k int) (mean float64) {
	for range k {
		mean += w.coin(p) / float64(k)
	}
	return mean
}

// graded is a score between 0 and 1 whose mean is gradedMean of the quality.
func (w world) graded(quality float64) float64 { return w.beta(gradedMean(quality), 5) }

func gradedMean(quality float64) float64 { return 0.01 + 0.98*quality }

// skewed is a cost: its logarithm is normal, its mean skewedMean.
func (w world) skewed() float64 { return math.Exp(0.8 * w.NormFloat64()) }

// heavy is a cost with a mean of 1, whose logarithm has that standard deviation.
func (w world) heavy(tail float64) float64 { return math.Exp(tail*w.NormFloat64() - tail*tail/2) }

var skewedMean = math.Exp(0.8 * 0.8 / 2)

// unequal puts tasks into groups of which the first ones are larger.
func (w world) unequal(tasks, groups int, value func(group int) float64) [][]float64 {
	clusters := make([][]float64, groups)
	for range tasks {
		at := int(float64(groups) * math.Pow(w.Float64(), 1.5))
		clusters[at] = append(clusters[at], value(at))
	}
	return clusters
}

// qualities are those of groups of tasks.
func (w world) qualities(groups int) []float64 {
	q := make([]float64, groups)
	for i := range q {
		q[i] = w.beta(0.7, 8)
	}
	return q
}

// welch estimates the difference of two means of independent values.
func welch(x, y []float64) stats.Estimate {
	a, _ := stats.MeanOf(x)
	b, _ := stats.MeanOf(y)
	difference, _ := a.Minus(b)
	return difference
}

// medianInterval are the values between which the median lies.
func medianInterval(values []float64, level float64) (stats.Interval, bool) {
	low, high, _, ok := stats.MedianOrders(len(values), level)
	if !ok {
		return stats.Interval{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return stats.Interval{Low: sorted[low-1], High: sorted[high-1]}, true
}

func fill(n int, draw func() float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = draw()
	}
	return values
}

func bootstrapped(above, below []float64, seed uint64) (stats.Interval, bool) {
	level := stats.PercentileLevel(len(above), 0.95)
	if len(above) > stats.MostResampled {
		return stats.ExpandedRatio(above, below, level)
	}
	return stats.Resample(len(above), 1_000, seed).Ratio(above, below, level)
}

// Two normal populations one standard deviation apart have an area of
// Phi(1/sqrt 2); their forecasts come in clusters that share a shift.
func TestAUROCIntervalCoversTheArea(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const truth, samples, groups, each = 0.76024994, 600, 40, 5
	covered := map[bool]int{}
	for range samples {
		var clusters, alone [][]stats.Forecast
		for range groups {
			shift, outcome := random.NormFloat64()*math.Sqrt(0.8), float64(random.IntN(2))
			var cluster []stats.Forecast
			for range each {
				f := stats.Forecast{Probability: outcome + shift + random.NormFloat64()*math.Sqrt(0.2), Outcome: outcome}
				cluster, alone = append(cluster, f), append(alone, []stats.Forecast{f})
			}
			clusters = append(clusters, cluster)
		}
		for clustered, forecasts := range map[bool][][]stats.Forecast{true: clusters, false: alone} {
			if interval, ok := stats.AUROCInterval(forecasts, 0.95); ok && interval.Low <= truth && truth <= interval.High {
				covered[clustered]++
			}
		}
	}
	if share := float64(covered[true]) / samples; share < 0.92 || share > 0.98 {
		t.Errorf("%.3f of the intervals cover the area", share)
	}
	if share := float64(covered[false]) / samples; share > 0.85 {
		t.Errorf("%.3f of those that do not know of clusters cover it: the clusters are none", share)
	}
}

func TestAUROCIntervalHasNoAnswer(t *testing.T) {
	f := func(p, outcome float64) stats.Forecast { return stats.Forecast{Probability: p, Outcome: outcome} }
	for name, clusters := range map[string][][]stats.Forecast{
		"nothing": nil, "one cluster": {{f(0.1, 0), f(0.9, 1), f(0.2, 1)}}, "one kind": {{f(0.1, 1)}, {f(0.5, 1)}},
		"all in order": {{f(0.1, 0)}, {f(0.5, 1)}, {f(0.6, 1)}}, "NaN": {{f(math.NaN(), 0)}, {f(0.5, 1)}, {f(0.6, 1)}}, "half an outcome": {{f(0.7, 0)}, {f(0.5, 1)}, {f(0.6, 0.5)}}, "no level": {{f(0.1, 0), f(0.2, 1)}, {f(0.5, 1), f(0.6, 0)}},
	} {
		level := 0.95
		if name == "no level" {
			level = 1
		}
		if interval, ok := stats.AUROCInterval(clusters, level); ok {
			t.Errorf("%s: %v", name, interval)
		}
	}
}
