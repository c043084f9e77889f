package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(b))
}

// same is for what may be tiny: it compares as shares of the wanted value.
func same(t *testing.T, what string, got float64, ok bool, want, tolerance float64) {
	t.Helper()
	if !ok || !(math.Abs(got-want) <= tolerance*math.Abs(want)+1e-300) {
		t.Errorf("%s = %.15g, %v; want %.15g", what, got, ok, want)
	}
}

func within(t *testing.T, what string, got stats.Interval, ok bool, want [2]float64, tolerance float64) {
	t.Helper()
	if !ok || !near(got.Low, want[0], tolerance) || !near(got.High, want[1], tolerance) {
		t.Errorf("%s = %v, %v; want %v", what, got, ok, want)
	}
}

type proportion struct {
	X        int        `json:"x"`
	N        int        `json:"n"`
	Level    float64    `json:"conf"`
	Wilson   [2]float64 `json:"wilson"`
	Exact    [2]float64 `json:"clopper_pearson"`
	OneSided float64    `json:"cp_upper_one_sided"`
}

func checkProportion(t *testing.T, v proportion) {
	got, ok := stats.Wilson(float64(v.X)/float64(v.N), float64(v.N), v.Level)
	within(t, "Wilson", got, ok, v.Wilson, closed)
	got, ok = stats.ClopperPearson(v.X, v.N, v.Level)
	within(t, "ClopperPearson", got, ok, v.Exact, closed)
	bound, ok := stats.ProportionAtMost(v.X, v.N, v.Level)
	same(t, "ProportionAtMost", bound, ok, v.OneSided, closed)
}

type clustered struct {
	Name     string      `json:"name"`
	Mean     float64     `json:"mean"`
	N        float64     `json:"n"`
	SE       float64     `json:"se_cr1"`
	Y        []float64   `json:"y"`
	G        []string    `json:"g"`
	NEff     float64     `json:"n_eff"`
	WilsonOn *[2]float64 `json:"wilson_effective_n95"`
	T95      [2]float64  `json:"ci95_t_cr1"`
}

func checkClustered(t *testing.T, v clustered) {
	if v.WilsonOn != nil {
		n := stats.EffectiveN(v.Mean, v.SE, v.N)
		same(t, v.Name+": EffectiveN", n, true, v.NEff, closed)
		got, ok := stats.Wilson(v.Mean, n, 0.95)
		within(t, v.Name+": Wilson on it", got, ok, *v.WilsonOn, closed)
	}
	if v.Y == nil {
		return
	}
	clusters := stats.Grouped(v.Y, v.G)
	got, ok := stats.ClusteredMean(clusters)
	same(t, v.Name+": mean", got.Value, ok, v.Mean, closed)
	same(t, v.Name+": CR1", got.SE, ok, v.SE, closed)
	interval, ok := got.Interval(0.95)
	within(t, v.Name+": interval", interval, ok, v.T95, closed)
	if v.WilsonOn != nil {
		interval, ok = stats.ProportionInterval(clusters, 0.95)
		within(t, v.Name+": ProportionInterval", interval, ok, *v.WilsonOn, closed)
	}
}

type quantiles struct {
	X     []float64 `json:"x"`
	Probs []float64 `json:"probs"`
	Type7 []float64 `json:"type7"`
}

func checkQuantiles(t *testing.T, v quantiles) {
	slices.Sort(v.X)
	for i, p := range v.Probs {
		got, ok := stats.Quantile(v.X, p)
		same(t, "Quantile", got, ok, v.Type7[i], closed)
	}
}

type calibration struct {
	Confidence []float64 `json:"confidence"`
	Outcome    []float64 `json:"outcome"`
	Brier      float64   `json:"brier"`
	AUROC      float64   `json:"auroc"`
}

func checkCalibration(t *testing.T, v calibration) {
	forecasts := make([]stats.Forecast, len(v.Confidence))
	for i := range forecasts {
		forecasts[i] = stats.Forecast{Probability: v.Confidence[i], Outcome: v.Outcome[i]}
	}
	got, ok := stats.Brier(forecasts)
	same(t, "Brier", got, ok, v.Brier, closed)
	got, ok = stats.AUROC(forecasts)
	same(t, "AUROC", got, ok, v.AUROC, closed)
}

type distributions struct {
	Z90 float64 `json:"z90"`
	Z95 float64 `json:"z95"`
	Z99 float64 `json:"z99"`
	T49 float64 `json:"t_975_df49"`
	T4  float64 `json:"t_975_df4"`
	T19 float64 `json:"t_975_df19"`
}

func checkDistributions(t *testing.T, v distributions) {
	for p, want := range map[float64]float64{0.95: v.Z90, 0.975: v.Z95, 0.995: v.Z99} {
		got, ok := stats.NormalQuantile(p)
		same(t, "NormalQuantile", got, ok, want, closed)
	}
	for degrees, want := range map[float64]float64{49: v.T49, 4: v.T4, 19: v.T19} {
		got, ok := stats.StudentQuantile(0.975, degrees)
		same(t, "StudentQuantile", got, ok, want, closed)
	}
}
