package stats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/reports/stats"
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

// The vectors may be absent, so one known value of each formula stands here.
func TestKnownValues(t *testing.T) {
	if got, _ := stats.Quantile([]int64{3, 7, 15, 20, 35, 40, 50, 88}, 0.9); !near(got, 61.4, 1e-12) {
		t.Errorf("Quantile = %v, want 61.4", got)
	}
	if got, _ := stats.Wilson(0, 1, 0.95); got.Low != 0 || !near(got.High, 0.793450685622763, 1e-12) {
		t.Errorf("Wilson(0/1) = %v", got)
	}
	equal := [][]float64{{1, 1}, {1, 1}, {1, 1}}
	onClusters, _ := stats.Wilson(1, 3, 0.95)
	if got, _ := stats.ProportionInterval(equal, 0.95); got != onClusters {
		t.Errorf("ProportionInterval of ones = %v, want Wilson on 3 clusters, %v", got, onClusters)
	}
	ties := []stats.Forecast{{Probability: 0.5, Outcome: 1}, {Probability: 0.5, Outcome: 0}}
	if got, ok := stats.AUROC(ties); !ok || got != 0.5 {
		t.Errorf("AUROC of a tie = %v, %v; want 0.5", got, ok)
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
	rapid.Check(t, func(t *rapid.T) {
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
	rapid.Check(t, func(t *rapid.T) {
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
	rapid.Check(t, func(t *rapid.T) {
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
