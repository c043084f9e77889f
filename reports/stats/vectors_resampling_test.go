package stats_test

import (
	"math"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

type exhaustive struct {
	X         []float64  `json:"x"`
	Resamples int        `json:"resamples"`
	SE        float64    `json:"boot_se"`
	Interval  [2]float64 `json:"percentile95_type7"`
}

func checkExhaustive(t *testing.T, v exhaustive) {
	resamples := stats.Resample(len(v.X), v.Resamples, 1)
	got, ok := resamples.Ratio(v.X, ones(len(v.X)), 0.95)
	within(t, "all resamples", got, ok, v.Interval, closed)
	same(t, "their SE", spreadOf(resamples, v.X), ok, v.SE, closed)
}

// spreadOf is the standard deviation of the means of all resamples.
func spreadOf(resamples *stats.Resamples, values []float64) float64 {
	var means []float64
	resamples.Interval(func(drawn []uint8) (float64, bool) {
		sum := 0.0
		for i, times := range drawn {
			sum += float64(times) * values[i]
		}
		means = append(means, sum/float64(len(values)))
		return 0, true
	}, 0.95)
	variance, _ := stats.Variance(means)
	return math.Sqrt(variance * (1 - 1/float64(len(means))))
}

type binaryBootstrap struct {
	X        int        `json:"x"`
	N        int        `json:"n"`
	Interval [2]float64 `json:"percentile95"`
	SE       float64    `json:"boot_se"`
}

// The entries state 0.005 for 10,000 resamples of 50 or more.
func checkBinaryBootstrap(t *testing.T, v binaryBootstrap) {
	if v.N < 50 {
		return
	}
	values := make([]float64, v.N)
	for i := range v.X {
		values[i] = 1
	}
	if v.N > stats.MostResampled {
		got, ok := stats.ExpandedRatio(values, ones(v.N), 0.95)
		within(t, "ExpandedRatio", got, ok, v.Interval, 0.005+closed)
		return
	}
	resamples := stats.Resample(v.N, 10_000, 1)
	got, ok := resamples.Ratio(values, ones(v.N), 0.95)
	within(t, "Resample", got, ok, v.Interval, 0.005+closed)
	nearTo(t, "its SE", spreadOf(resamples, values), ok, v.SE, 0.005)
}

type tauBootstrap struct {
	Mean      float64    `json:"mean"`
	SE        float64    `json:"boot_se"`
	Interval  [2]float64 `json:"percentile95"`
	Tolerance float64    `json:"tolerance"`
}

// The mean of a resample is a multiple of 0.005, and the chance that it is at
// most 0.52 is 0.97489 when it is computed and not drawn: the upper end is 0.525
// by a hair, and 0.52 by as much luck as the vector had. So that end may lie one
// multiple off, which the stated tolerance does not allow; all else keeps to it.
func checkTauBootstrap(t *testing.T, v tauBootstrap) {
	const multiple = 0.005
	var sums, counts []float64
	for _, cluster := range tauBench(t).clusters {
		sums, counts = append(sums, stats.Sum(cluster)), append(counts, float64(len(cluster)))
	}
	resamples := stats.Resample(len(sums), 400_000, 1)
	got, ok := resamples.Ratio(sums, counts, 0.95)
	nearTo(t, "lower end", got.Low, ok, v.Interval[0], v.Tolerance)
	nearTo(t, "upper end", got.High, ok, v.Interval[1], multiple+closed)
	perRun := make([]float64, len(sums))
	for i := range sums {
		perRun[i] = sums[i] / counts[i]
	}
	nearTo(t, "SE", spreadOf(resamples, perRun), ok, v.SE, v.Tolerance)
	mean, ok := stats.Ratio(stats.Sum(sums), stats.Sum(counts))
	same(t, "mean", mean, ok, v.Mean, closed)
}

type front struct {
	Points [][2]float64 `json:"points"`
	Front  [][2]float64 `json:"front"`
}

func checkFront(t *testing.T, v front) {
	points := make([]stats.Point, len(v.Points))
	for i, p := range v.Points {
		points[i] = stats.Point{Cost: p[0], Quality: p[1]}
	}
	var got [][2]float64
	for _, at := range stats.Front(points) {
		got = append(got, v.Points[at])
	}
	if len(got) != len(v.Front) {
		t.Fatalf("Front of %v = %v; want %v", v.Points, got, v.Front)
	}
	for i := range got {
		if got[i] != v.Front[i] {
			t.Errorf("Front of %v = %v; want %v", v.Points, got, v.Front)
		}
	}
}

type halving struct {
	Brackets []struct {
		Halvings int      `json:"s"`
		Rungs    [][2]int `json:"rungs"`
	} `json:"R81_eta3"`
}

func checkHyperband(t *testing.T, v halving) {
	got, ok := stats.Hyperband(81, 3)
	if !ok || len(got) != len(v.Brackets) {
		t.Fatalf("Hyperband = %v, %v", got, ok)
	}
	for i, bracket := range v.Brackets {
		if len(got[i]) != len(bracket.Rungs) {
			t.Fatalf("bracket %d: %v; want %v", bracket.Halvings, got[i], bracket.Rungs)
		}
		for j, rung := range bracket.Rungs {
			if want := (stats.Rung{Rows: rung[0], Resource: rung[1]}); got[i][j] != want {
				t.Errorf("bracket %d: %v; want %v", bracket.Halvings, got[i], bracket.Rungs)
			}
		}
	}
}
