package stats_test

import (
	"math"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

type mcnemar struct {
	B     int     `json:"b"`
	C     int     `json:"c"`
	Exact float64 `json:"exact_p"`
	Even  float64 `json:"eprocess_a1"`
	Half  float64 `json:"eprocess_a05"`
}

func checkMcNemar(t *testing.T, v mcnemar) {
	got, ok := stats.McNemar(v.B, v.C)
	same(t, "McNemar", got.P, ok, v.Exact, closed)
	evidence, ok := stats.Evidence(v.B, v.C, 1)
	same(t, "Evidence", evidence, ok, v.Even, closed)
	evidence, ok = stats.Evidence(v.B, v.C, 0.5)
	same(t, "Evidence of a half", evidence, ok, v.Half, closed)
}

type bonettPrice struct {
	B        int        `json:"b"`
	C        int        `json:"c"`
	N        int        `json:"n"`
	Interval [2]float64 `json:"bonett_price"`
}

func checkBonettPrice(t *testing.T, v bonettPrice) {
	got, ok := stats.BonettPrice(v.B, v.C, v.N, 0.95)
	within(t, "BonettPrice", got, ok, v.Interval, closed)
}

type signFlip struct {
	D   []float64 `json:"d"`
	Sum float64   `json:"statistic_sum"`
	P   float64   `json:"p_two_sided"`
}

func checkSignFlip(t *testing.T, v signFlip) {
	got, ok := stats.SignFlip(v.D, 1)
	same(t, "SignFlip", got.P, ok, v.P, closed)
	same(t, "its statistic", got.Statistic, ok, v.Sum, closed)
	if got.Method != stats.Exact {
		t.Errorf("%v: %v", v.D, got.Method)
	}
}

type mannWhitney struct {
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
	U float64   `json:"U_x"`
	P float64   `json:"p_exact_conditional"`
	// Normal is null where all values are equal.
	Normal *float64 `json:"p_normal_cc"`
	Wins   float64  `json:"prob_superiority"`
}

func checkMannWhitney(t *testing.T, v mannWhitney) {
	got, ok := stats.MannWhitney(v.X, v.Y)
	same(t, "MannWhitney", got.P, ok, v.P, closed)
	same(t, "U", got.Statistic, ok, v.U, closed)
	same(t, "share of pairs won", got.Statistic/float64(len(v.X)*len(v.Y)), ok, v.Wins, closed)
	if v.Normal != nil {
		same(t, "normal", stats.MannWhitneyNormal(v.U, v.X, v.Y), true, *v.Normal, closed)
	}
}

type pairedT struct {
	A     []float64  `json:"a"`
	B     []float64  `json:"b"`
	Mean  float64    `json:"mean_diff"`
	SE    float64    `json:"se"`
	T     float64    `json:"t"`
	DF    float64    `json:"df"`
	P     float64    `json:"p"`
	CI    [2]float64 `json:"ci95"`
	Welch float64    `json:"unpaired_welch_p"`
}

func checkPairedT(t *testing.T, v pairedT) {
	differences := make([]float64, len(v.A))
	for i := range differences {
		differences[i] = v.A[i] - v.B[i]
	}
	got, ok := stats.MeanOf(differences)
	same(t, "mean", got.Value, ok, v.Mean, closed)
	same(t, "SE", got.SE, ok, v.SE, closed)
	same(t, "degrees", got.Degrees, ok, v.DF, closed)
	test, ok := got.Test()
	same(t, "t", test.Statistic, ok, v.T, closed)
	same(t, "p", test.P, ok, v.P, closed)
	interval, ok := stats.MeanInterval(differences, 0.95)
	within(t, "interval", interval, ok, v.CI, closed)
	test, ok = welch(v.A, v.B).Test()
	same(t, "Welch", test.P, ok, v.Welch, closed)
}

type multiplicity struct {
	P    []float64 `json:"p"`
	Holm []float64 `json:"holm"`
	BH   []float64 `json:"bh"`
}

func checkMultiplicity(t *testing.T, v multiplicity) {
	for name, check := range map[string]struct {
		adjust func([]float64) ([]float64, bool)
		want   []float64
	}{
		"Holm": {stats.Holm, v.Holm}, "BenjaminiHochberg": {stats.BenjaminiHochberg, v.BH},
	} {
		got, ok := check.adjust(v.P)
		for i := range v.P {
			same(t, name, got[i], ok, check.want[i], closed)
		}
	}
}

type planned struct {
	Delta   float64 `json:"delta"`
	Between float64 `json:"omega2"`
	WithinA float64 `json:"sigma2_A"`
	WithinB float64 `json:"sigma2_B"`
	TrialsA int     `json:"K_A"`
	TrialsB int     `json:"K_B"`
	N       float64 `json:"n"`
	Ceil    float64 `json:"n_ceil"`
	MDE     float64 `json:"mde"`
}

var usual = stats.Power{Alpha: 0.05, Power: 0.8}

func (v planned) variance(t *testing.T) float64 {
	variance, ok := stats.PairedVariance{v.Between, v.WithinA, v.WithinB, v.TrialsA, v.TrialsB}.Value()
	if !ok {
		t.Errorf("%v has no variance", v)
	}
	return variance
}

func checkNeeded(t *testing.T, v planned) {
	n, ok := usual.Needed(v.variance(t), v.Delta)
	same(t, "Needed", n, ok, v.N, ofQuantiles)
	same(t, "rounded", math.Ceil(n), ok, v.Ceil, 0)
}

func checkDetectable(t *testing.T, v planned) {
	difference, ok := usual.Detectable(v.variance(t), v.N)
	same(t, "Detectable", difference, ok, v.MDE, ofQuantiles)
}

type connor struct {
	Won  float64 `json:"p10"`
	Lost float64 `json:"p01"`
	N    float64 `json:"n"`
}

func checkConnor(t *testing.T, v connor) {
	n, ok := usual.NeededMcNemar(v.Won, v.Lost)
	same(t, "NeededMcNemar", n, ok, v.N, ofQuantiles)
}

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
	same(t, "their SE", spreadOf(v.X, v.Resamples), ok, v.SE, closed)
}

// spreadOf is the standard deviation of the means of all resamples.
func spreadOf(values []float64, draws int) float64 {
	var means []float64
	stats.Bootstrap(len(values), draws, 1, func(drawn []uint8) (float64, bool) {
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
	nearTo(t, "its SE", spreadOf(values, 10_000), ok, v.SE, 0.005)
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
	for _, cluster := range tauBench(t) {
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
	nearTo(t, "SE", spreadOf(perRun, 400_000), ok, v.SE, v.Tolerance)
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

// The brackets of Hyperband are successive halvings.
func checkHalving(t *testing.T, v halving) {
	for _, bracket := range v.Brackets {
		got, ok := stats.SuccessiveHalving(bracket.Rungs[0][0], 81, 3, bracket.Halvings)
		if !ok || len(got) != len(bracket.Rungs) {
			t.Fatalf("bracket %d: %v; want %v", bracket.Halvings, got, bracket.Rungs)
		}
		for j, rung := range bracket.Rungs {
			if want := (stats.Rung{Rows: rung[0], Resource: rung[1]}); got[j] != want {
				t.Errorf("bracket %d: %v; want %v", bracket.Halvings, got, bracket.Rungs)
			}
		}
	}
}
