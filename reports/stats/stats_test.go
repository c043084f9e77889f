package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
	"golang.org/x/perf/benchmath"
	"pgregory.net/rapid"
)

// Quantiles of t: those of R, of tables beyond them, and of the normal distribution far out.
func TestStudentQuantileAgreesWithTables(t *testing.T) {
	for degrees, want := range map[float64]float64{
		1: 12.7062047361747, 2: 4.30265272974946, 3: 3.18244630528371, 4: 2.77644510519779, 19: 2.09302405440831, 49: 2.00957523712924,
		200: 1.97189622424, 201: 1.97183652, 1000: 1.96233908, 1e9: 1.95996398454005,
	} {
		if got, ok := stats.StudentQuantile(0.975, degrees); !ok || !near(got, want, 1e-8) {
			t.Errorf("%v degrees: %.11f, want %.11f", degrees, got, want)
		}
	}
	for degrees := 1.0; degrees < 500; degrees++ {
		here, _ := stats.StudentQuantile(0.975, degrees)
		if next, _ := stats.StudentQuantile(0.975, degrees+1); next >= here {
			t.Errorf("the quantile does not fall from %v degrees on: %v", degrees, here)
		}
	}
}

// The vectors may be absent, so known values of the formulas stand here.
func TestKnownValues(t *testing.T) {
	type is struct{ got, want float64 }
	p := func(test stats.Test, _ bool) float64 { return test.P }
	value := func(x float64, _ bool) float64 { return x }
	low := func(i stats.Interval, _ bool) float64 { return i.Low }
	gob := [][]float64{{3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062}, {3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062}}
	cr2, _ := stats.ClusteredMean([][]float64{{0.2, 0.4}, {0.9, 0.8, 0.85}, {0.1, 0.3, 0.2}})
	ties := []stats.Forecast{{Probability: 0.5, Outcome: 1}, {Probability: 0.5, Outcome: 0}}
	onClusters, _ := stats.Wilson(1, 3, 0.95)
	equal, _ := stats.ProportionInterval([][]float64{{1, 1}, {1, 1}, {1, 1}}, 0.95)
	adjusted, _ := stats.Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for name, v := range map[string]is{
		"a quantile":                 {value(stats.Quantile([]int64{3, 7, 15, 20, 35, 40, 50, 88}, 0.9)), 61.4},
		"Wilson":                     {low(stats.Wilson(0.42, 200, 0.95)), 0.353735991616167},
		"Wilson on clusters":         {equal.Low, onClusters.Low},
		"Bonett and Price":           {low(stats.BonettPrice(33, 12, 1034, 0.95)), 0.00735921866012527},
		"McNemar":                    {p(stats.McNemar(33, 12)), 0.00245890032209673},
		"sign flip":                  {p(stats.SignFlip([]float64{1.1, -0.4, 2.3, 0.7, 1.9, -0.2, 0.5, 1.4}, 1)), 0.0390625},
		"benchstat's example gob":    {p(stats.MannWhitney(gob[0], gob[1])), 0.446101885730369},
		"CR2":                        {cr2.SE, 0.226557112004898},
		"its degrees of freedom":     {cr2.Degrees, 1.92307692307692},
		"Holm":                       {adjusted[2], 0.06},
		"needed by Miller":           {value(usual.Needed(1.0/9+1.0/3, 0.03)), 3875.98999227115},
		"needed by Connor":           {value(usual.NeededMcNemar(0.15, 0.05)), 154.598569560211},
		"pass@k":                     {value(stats.PassAtK(10, 3, 5)), 11.0 / 12},
		"pass^k":                     {value(stats.PassHatK(8, 6, 4)), 3.0 / 14},
		"evidence":                   {value(stats.Evidence(33, 12, 1)), 26.5951695338345},
		"AUROC of a tie":             {value(stats.AUROC(ties)), 0.5},
		"detectable, 50 tasks, 25 %": {value(usual.Detectable(0.25, 50)), 0.198101990579967},
		"interval of the median, 10": {low(medianInterval([]float64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.95)), 1},
		"all 3,125 resamples":        {low(stats.Resample(5, 3125, 1).Ratio([]float64{0.2, 0.5, 0.9, 0.4, 0.7}, ones(5), 0.95)), 0.34},
	} {
		if !near(v.got, v.want, 1e-7) {
			t.Errorf("%s: %.12g, want %.12g", name, v.got, v.want)
		}
	}
}

func TestNothingHasNoAnswer(t *testing.T) {
	answers := map[string]func() bool{
		"mean":               func() bool { _, ok := stats.Mean(nil); return ok },
		"quantile":           func() bool { _, ok := stats.Quantile([]float64{}, 0.5); return ok },
		"quantile beyond 1":  func() bool { _, ok := stats.Quantile([]float64{1}, 1.1); return ok },
		"quantile NaN":       func() bool { _, ok := stats.Quantile([]float64{1}, math.NaN()); return ok },
		"ratio":              func() bool { _, ok := stats.Ratio(1, 0); return ok },
		"wilson":             func() bool { _, ok := stats.Wilson(0.5, 0, 0.95); return ok },
		"wilson of a mean":   func() bool { _, ok := stats.Wilson(7, 10, 0.95); return ok },
		"clustered se":       func() bool { _, ok := stats.ClusteredSE([][]float64{{1, 0}}); return ok },
		"proportion":         func() bool { _, ok := stats.ProportionInterval(nil, 0.95); return ok },
		"mean proportion":    func() bool { _, ok := stats.MeanProportionInterval(nil, 0, 0.95); return ok },
		"standard error":     func() bool { _, ok := stats.StandardError([]float64{1}); return ok },
		"mean of equals":     func() bool { _, ok := stats.MeanInterval([]float64{0.5, 0.5}, 0.95); return ok },
		"interval of one":    func() bool { _, ok := stats.MeanInterval([]float64{0.5}, 0.95); return ok },
		"brier":              func() bool { _, ok := stats.Brier(nil); return ok },
		"auroc of one class": func() bool { _, ok := stats.AUROC([]stats.Forecast{{0.5, 1}}); return ok },
	}
	for name, answered := range answers {
		if answered() {
			t.Errorf("%s: nothing has an answer", name)
		}
	}
}

func TestSumDoesNotLoseSmallValues(t *testing.T) {
	if got := stats.Sum([]float64{1, 1e100, 1, -1e100}); got != 2 {
		t.Errorf("Sum = %v, want 2", got)
	}
}

func TestIntervalHoldsItsProportion(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		clusters := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1}), 1, 4), 1, 12).Draw(t, "clusters")
		all := slices.Concat(clusters...)
		p, _ := stats.Mean(all)
		got, ok := stats.ProportionInterval(clusters, 0.95)
		if !ok || got.Low < 0 || got.High > 1 || got.Low > p || got.High < p {
			t.Fatalf("interval of %v is %v, %v", p, got, ok)
		}
	})
}

// Where all clusters have one size the two ways to weigh them are the same.
func TestIntervalsAgreeOnEqualClusters(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "size")
		clusters := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1}), size, size), 1, 12).Draw(t, "clusters")
		a, aOK := stats.ProportionInterval(clusters, 0.95)
		means := make([]float64, len(clusters))
		for i := range clusters {
			means[i], _ = stats.Mean(clusters[i])
		}
		b, bOK := stats.MeanProportionInterval(means, size*len(clusters), 0.95)
		if aOK != bOK || !near(a.Low, b.Low, 1e-9) || !near(a.High, b.High, 1e-9) {
			t.Fatalf("%v %v and %v %v", a, aOK, b, bOK)
		}
	})
}

func TestQuantileStaysBetweenItsNeighbours(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int32(), 1, 20).Draw(t, "values")
		slices.Sort(values)
		low := rapid.Float64Range(0, 1).Draw(t, "low")
		high := rapid.Float64Range(low, 1).Draw(t, "high")
		a, _ := stats.Quantile(values, low)
		b, _ := stats.Quantile(values, high)
		if a > b || a < float64(values[0]) || b > float64(values[len(values)-1]) {
			t.Fatalf("quantiles %v and %v of %v", a, b, values)
		}
	})
}

// sampleOf gives benchstat a copy, since it sorts what it is given.
func sampleOf(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// benchstat compares two samples as MannWhitney does. It doubles the smaller tail,
// which is the same but for ties in samples of different sizes.
func TestMannWhitneyAgreesWithBenchstat(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		m := n
		value := rapid.Map(rapid.IntRange(0, 12), func(v int) float64 { return float64(v) / 4 })
		distinct := rapid.Bool().Draw(t, "distinct")
		if distinct {
			m = rapid.IntRange(1, 20).Draw(t, "m")
			value = rapid.Float64Range(0, 1000)
		}
		all := rapid.SliceOfN(value, n+m, n+m).Draw(t, "values")
		if distinct && len(slices.Compact(slices.Sorted(slices.Values(all)))) < n+m {
			t.Skip("ties")
		}
		x, y := all[:n], all[n:]
		want := benchmath.AssumeNothing.Compare(sampleOf(x), sampleOf(y))
		got, ok := stats.MannWhitney(x, y)
		if !ok || got.Method != stats.Exact || math.Abs(got.P-want.P) > closed {
			t.Fatalf("%v, %v; benchstat has p %v", got, ok, want.P)
		}
	})
}

// benchstat leaves out a value on one side where that is still enough: its
// interval lies within ours.
func TestMedianIntervalAgreesWithBenchstat(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 60).Draw(t, "values")
		want := benchmath.AssumeNothing.Summary(sampleOf(values), 0.95)
		got, ok := medianInterval(values, 0.95)
		if ok != (len(want.Warnings) == 0) {
			t.Fatalf("%v, %v; benchstat has %v, %v", got, ok, want, want.Warnings)
		}
		if ok && (want.Lo < got.Low || want.Hi > got.High || want.Lo != got.Low && want.Hi != got.High) {
			t.Fatalf("%v; benchstat has %v to %v", got, want.Lo, want.Hi)
		}
	})
}

// Sizes as in a suite of 1,000 tasks, and where exact tests give up.
func BenchmarkTests(b *testing.B) {
	w := world{rand.New(rand.NewPCG(1, 1))}
	graded, whole, twenty := w.gradedDifferences(1_000), w.differences(1_000), w.gradedDifferences(20)
	x, y := fill(50, w.skewed), fill(50, w.skewed)
	costs, won := fill(1_000, w.skewed), fill(1_000, func() float64 { return w.coin(0.5) })
	points := make([][]stats.Point, 20)
	for i := range points {
		points[i] = make([]stats.Point, 1_000)
		for j := range points[i] {
			points[i][j] = stats.Point{Cost: w.skewed(), Quality: w.coin(0.5)}
		}
	}
	for name, run := range map[string]func(){
		"sign-flip, drawn":      func() { stats.SignFlip(graded, 1) },
		"sign-flip, multiples":  func() { stats.SignFlip(whole, 1) },
		"sign-flip, all of 20":  func() { stats.SignFlip(twenty, 1) },
		"Mann-Whitney, 50":      func() { stats.MannWhitney(x, y) },
		"McNemar":               func() { stats.McNemar(33, 12) },
		"t quantile":            func() { stats.StudentQuantile(0.975, 49) },
		"bootstrap of 100":      func() { stats.Resample(100, 10_000, 1).Ratio(costs[:100], won[:100], 0.95) },
		"bootstrap of 1,000":    func() { bootstrapped(costs, won, 1) },
		"shares of 20 on front": func() { stats.FrontShares(points, 2_000, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}
