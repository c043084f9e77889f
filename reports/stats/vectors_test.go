package stats_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports/stats"
)

// The readme of the vectors states these: closed forms and exact tests, and
// whatever goes through a quantile of our own.
const (
	closed      = 1e-9
	ofQuantiles = 1e-6
)

// sections are the vectors, computed with R and checked with scipy, and what
// holds the package to each of them. Of a section, figures of methods that this
// package leaves out on purpose are not looked at: Wald's, Jeffreys', Agresti and
// Coull's and corrected intervals, chi-squared McNemar with correction, doubled
// tails, BCa and basic bootstraps, Hodges and Lehmann's shift, Bonferroni.
var sections = map[string]func(*testing.T, json.RawMessage){
	"proportion_ci":              each(checkProportion),
	"mcnemar":                    each(checkMcNemar),
	"paired_binary_diff":         each(checkBonettPrice),
	"paired_permutation":         each(checkSignFlip),
	"mann_whitney":               each(checkMannWhitney),
	"clustered_se":               each(checkClustered),
	"paired_t":                   each(checkPairedT),
	"multiple_comparisons":       each(checkMultiplicity),
	"power_paired":               each(checkNeeded),
	"mde_paired":                 each(checkDetectable),
	"power_mcnemar_connor":       each(checkConnor),
	"power_two_prop":             nothing, // no function has it
	"normal":                     one(checkDistributions),
	"quantiles":                  one(checkQuantiles),
	"calibration":                one(checkCalibration),
	"two_sample_permutation":     nothing, // no function has it
	"wilcoxon_signed_rank":       nothing, // no function has it
	"friedman":                   nothing, // no function has it
	"power_t_paired":             nothing, // no function has it
	"median_ci_order_statistics": each(checkMedianOrders),
	"rank_correlation":           nothing, // no function has it
	"pass_at_k":                  each(checkPassAtK),
	"pass_hat_k":                 each(checkPassHatK),
	"pass_k_undefined":           each(checkPassUndefined),
	"cumulative_incidence":       nothing, // no function has it
	"cumulative_incidence_tau":   nothing, // no function has it
	"bootstrap_exhaustive":       each(checkExhaustive),
	"bootstrap_binary_exact":     each(checkBinaryBootstrap),
	"bootstrap_cluster_tau":      one(checkTauBootstrap),
	"pareto":                     each(checkFront),
	"successive_halving":         one(checkHalving),
	"engine":                     nothing,
	"readme":                     nothing,
}

func TestVectors(t *testing.T) {
	vectors := readVectors(t)
	for name, section := range vectors {
		check, known := sections[name]
		if !known {
			t.Errorf("the section %s is not tested", name)
			continue
		}
		t.Run(name, func(t *testing.T) { check(t, section) })
	}
	for name := range sections {
		if _, there := vectors[name]; !there {
			t.Errorf("the section %s is missing", name)
		}
	}
}

func each[T any](check func(*testing.T, T)) func(*testing.T, json.RawMessage) {
	return one(func(t *testing.T, vectors []T) {
		if len(vectors) == 0 {
			t.Error("no vectors")
		}
		for _, v := range vectors {
			check(t, v)
		}
	})
}

func one[T any](check func(*testing.T, T)) func(*testing.T, json.RawMessage) {
	return func(t *testing.T, section json.RawMessage) {
		var v T
		if err := json.Unmarshal(section, &v); err != nil {
			t.Fatal(err)
		}
		check(t, v)
	}
}

// nothing is for what only says where the vectors come from.
func nothing(*testing.T, json.RawMessage) {}

func readVectors(t *testing.T) (vectors map[string]json.RawMessage) {
	t.Helper()
	recordingtest.Decode(t, "vectors/stats_vectors.json", &vectors)
	return vectors
}

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
	OneSided float64    `json:"cp_upper_one_sided"`
}

func checkProportion(t *testing.T, v proportion) {
	got, ok := stats.Wilson(float64(v.X)/float64(v.N), float64(v.N), v.Level)
	within(t, "Wilson", got, ok, v.Wilson, closed)
	atMost(t, v.X, v.N, v.Level, v.OneSided)
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
	CR2      float64     `json:"se_cr2"`
	Degrees  float64     `json:"cr2_satterthwaite_df"`
}

// values are those of the vector, or those of the recording that it names.
func (v clustered) values(t *testing.T) [][]float64 {
	switch {
	case v.Y != nil:
		return grouped(v.Y, v.G)
	case strings.HasPrefix(v.Name, "tau-bench"):
		return tauBench(t)
	}
	return interCode(t)
}

func checkClustered(t *testing.T, v clustered) {
	if v.WilsonOn != nil {
		n := stats.EffectiveN(v.Mean, v.SE, v.N)
		same(t, v.Name+": EffectiveN", n, true, v.NEff, closed)
		got, ok := stats.Wilson(v.Mean, n, 0.95)
		within(t, v.Name+": Wilson on it", got, ok, *v.WilsonOn, closed)
	}
	clusters := v.values(t)
	got, ok := stats.ClusteredMean(clusters)
	same(t, v.Name+": mean", got.Value, ok, v.Mean, closed)
	se, ok := stats.ClusteredSE(clusters)
	same(t, v.Name+": CR1", se, ok, v.SE, closed)
	interval, ok := stats.Estimate{Value: got.Value, SE: se, Degrees: float64(len(clusters) - 1)}.Interval(0.95)
	within(t, v.Name+": interval", interval, ok, v.T95, closed)
	same(t, v.Name+": CR2", got.SE, ok, v.CR2, closed)
	same(t, v.Name+": degrees", got.Degrees, ok, v.Degrees, closed)
	if v.WilsonOn != nil && len(clusters) >= 50 {
		interval, ok = stats.ProportionInterval(clusters, 0.95)
		within(t, v.Name+": ProportionInterval", interval, ok, *v.WilsonOn, closed)
	}
}

type quantiles struct {
	X     []float64 `json:"x"`
	Probs []float64 `json:"probs"`
	Type7 []float64 `json:"type7"`
	SD    float64   `json:"sd"`
}

func checkQuantiles(t *testing.T, v quantiles) {
	slices.Sort(v.X)
	for i, p := range v.Probs {
		got, ok := stats.Quantile(v.X, p)
		same(t, "Quantile", got, ok, v.Type7[i], closed)
	}
	variance, ok := stats.Variance(v.X)
	same(t, "Variance", math.Sqrt(variance), ok, v.SD, closed)
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

type medianOrders struct {
	N        int      `json:"n"`
	Low      int      `json:"lower_order"`
	High     int      `json:"upper_order"`
	Coverage *float64 `json:"coverage"`
}

func checkMedianOrders(t *testing.T, v medianOrders) {
	low, high, coverage, ok := stats.MedianOrders(v.N, 0.95)
	if ok != (v.Coverage != nil) || low != v.Low || high != v.High {
		t.Errorf("MedianOrders(%d) = %d, %d, %v; want %d, %d", v.N, low, high, ok, v.Low, v.High)
	}
	if ok {
		same(t, "coverage", coverage, ok, *v.Coverage, closed)
	}
}

type pass struct {
	N     int     `json:"n"`
	C     int     `json:"c"`
	K     int     `json:"k"`
	Value float64 `json:"value"`
}

func checkPassAtK(t *testing.T, v pass) {
	got, ok := stats.PassAtK(v.N, v.C, v.K)
	same(t, "PassAtK", got, ok, v.Value, closed)
}

func checkPassHatK(t *testing.T, v pass) {
	got, ok := stats.PassHatK(v.N, v.C, v.K)
	same(t, "PassHatK", got, ok, v.Value, closed)
}

func checkPassUndefined(t *testing.T, v pass) {
	_, at := stats.PassAtK(v.N, v.C, v.K)
	if _, hat := stats.PassHatK(v.N, v.C, v.K); at || hat {
		t.Errorf("%v has an answer", v)
	}
}
