package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

// differencesOf are so many wins, losses and ties.
func differencesOf(won, lost, tied int) []float64 {
	return slices.Concat(slices.Repeat([]float64{1}, won), slices.Repeat([]float64{-1}, lost), make([]float64, tied))
}

func meanEvidence(t *testing.T, differences []float64, margin float64) float64 {
	t.Helper()
	evidence, ok := stats.MeanEvidence(differences, margin)
	if !ok {
		t.Fatalf("no evidence of %v with a margin of %v", differences, margin)
	}
	return evidence
}

// Of wins and losses the evidence is the usual one, whatever the ties; a margin
// that is next to nothing is the sum over stakes instead of the closed form.
func TestMeanEvidenceOfWinsAndLosses(t *testing.T) {
	for _, c := range []struct{ won, lost int }{{3, 10}, {12, 33}, {0, 1}, {0, 40}, {20, 90}} {
		want, _ := stats.Evidence(c.won, c.lost, 1)
		for _, margin := range []float64{0, 1e-9} {
			if got := meanEvidence(t, differencesOf(c.won, c.lost, 7), margin); math.Abs(got/want-1) > 0.01 {
				t.Errorf("%d won, %d lost, margin %v: %v, want %v", c.won, c.lost, margin, got, want)
			}
		}
		if got := meanEvidence(t, differencesOf(c.lost, c.won, 0), 0); got != 0 {
			t.Errorf("%d won, %d lost: %v", c.lost, c.won, got)
		}
	}
}

// Small differences weigh less than large ones, and are held by their mean: many
// small losses against few large wins are no evidence.
func TestMeanEvidenceOfGradedDifferences(t *testing.T) {
	if large, small := meanEvidence(t, differencesOf(0, 8, 0), 0), meanEvidence(t, slices.Repeat([]float64{-0.1}, 8), 0); large < 20 || small > 2 {
		t.Errorf("eight losses of 1: %v, of 0.1: %v", large, small)
	}
	if got := meanEvidence(t, append(slices.Repeat([]float64{-0.05}, 14), 0.5), 0); got > 1 {
		t.Errorf("14 losses of 0.05 and a win of 0.5: %v", got)
	}
}

// A margin asks for more, and a loss within it is never shown.
func TestMeanEvidenceWithAMargin(t *testing.T) {
	within, beyond := differencesOf(0, 200, 9800), differencesOf(0, 200, 800)
	if plain, held := meanEvidence(t, within, 0), meanEvidence(t, within, 0.02); plain < 1e9 || held > 1 {
		t.Errorf("2 %% lost: %v without a margin, %v with one of 0.02", plain, held)
	}
	if plain, held := meanEvidence(t, beyond, 0), meanEvidence(t, beyond, 0.02); held < 1e9 || held > plain {
		t.Errorf("20 %% lost: %v without a margin, %v with one of 0.02", plain, held)
	}
}

func TestNoMeanEvidence(t *testing.T) {
	for _, c := range []struct {
		differences []float64
		margin      float64
	}{{[]float64{1.1}, 0}, {[]float64{math.NaN()}, 0}, {[]float64{1}, -0.1}, {[]float64{1}, 1}, {[]float64{1}, math.NaN()}} {
		if evidence, ok := stats.MeanEvidence(c.differences, c.margin); ok {
			t.Errorf("%v with a margin of %v: %v", c.differences, c.margin, evidence)
		}
	}
}

// One may look at any time: it is told after how many differences the bound was first
// reached, and which way they pointed, though later ones point the other way.
func TestSequentialEvidence(t *testing.T) {
	both := append(differencesOf(0, 8, 0), differencesOf(40, 0, 0)...)
	evidence, after, way, ok := stats.SequentialEvidence(both, 20)
	want, _ := stats.Evidence(40, 8, 1)
	if !ok || evidence != want || after != 8 || way != -1 { // 2^8/9 is 28.4, 2^7/8 is 16
		t.Errorf("%v after %d, way %d, %v; want %v after 8, down", evidence, after, way, ok, want)
	}
	mixed := slices.Concat(differencesOf(12, 0, 3), differencesOf(0, 33, 0))
	for from, want := range map[int]float64{48: 26.6, 13: 0} {
		evidence, after, _, _ := stats.SequentialEvidence(mixed[:from], 1e9)
		if want > 0 && math.Abs(evidence-want) > 0.05 || after != 0 {
			t.Errorf("of %d: %v after %d, want %v", from, evidence, after, want)
		}
	}
	graded := slices.Concat(slices.Repeat([]float64{0.5}, 20), []float64{-0.25})
	evidence, after, way, _ = stats.SequentialEvidence(graded, 20)
	if one := meanEvidence(t, negated(graded), 0); math.Abs(evidence/one-1) > 1e-9 || after < 5 || after > 20 || way != 1 {
		t.Errorf("graded: %v after %d, way %d; want %v", evidence, after, way, one)
	}
	if _, _, _, ok := stats.SequentialEvidence([]float64{2}, 20); ok {
		t.Error("a difference of 2 has evidence")
	}
}

func negated(values []float64) []float64 {
	other := make([]float64, len(values))
	for i, v := range values {
		other[i] = -v
	}
	return other
}

func ones(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// The bootstrap distribution of a share is binomial: 36 of 50 and 84 of 200
// (vectors, bootstrap_binary_exact).
func TestResampledShareIsBinomial(t *testing.T) {
	hits := make([]float64, 50)
	for i := range 36 {
		hits[i] = 1
	}
	got, ok := stats.Resample(50, 10_000, 7).Ratio(hits, ones(50), 0.95)
	if !ok || math.Abs(got.Low-0.60) > 0.021 || math.Abs(got.High-0.84) > 0.021 {
		t.Errorf("%v, %v; want 0.60 to 0.84", got, ok)
	}
	many := make([]float64, 200)
	for i := range 84 {
		many[i] = 1
	}
	if got, ok := stats.ExpandedRatio(many, ones(200), 0.95); !ok || math.Abs(got.Low-0.35) > 0.005 || math.Abs(got.High-0.49) > 0.005 {
		t.Errorf("%v, %v; want 0.35 to 0.49", got, ok)
	}
}

// Where drawing ends the expansion goes on: both give the same interval, but for
// what 10,000 draws vary, also of values with long tails and of ratios whose
// denominators are often 0.
func TestExpandedRatioIsTheLimitOfDraws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() (above, below float64){
		"a mean":            func() (float64, float64) { return random.Float64(), 1 },
		"long tails":        func() (float64, float64) { return math.Exp(random.NormFloat64()), 1 },
		"runs per cluster":  func() (float64, float64) { n := float64(1 + random.IntN(4)); return n * random.Float64(), n },
		"cost per success":  func() (float64, float64) { return random.ExpFloat64(), float64(random.IntN(2)) },
		"one success in 10": func() (float64, float64) { return random.ExpFloat64(), float64(random.IntN(10) / 9) },
	} {
		above, below := make([]float64, stats.MostResampled), make([]float64, stats.MostResampled)
		for i := range above {
			above[i], below[i] = draw()
		}
		drawn, ok := stats.Resample(stats.MostResampled, 100_000, 3).Ratio(above, below, 0.95)
		expanded, expandedOK := stats.ExpandedRatio(above, below, 0.95)
		wide := drawn.High - drawn.Low
		if !ok || !expandedOK || math.Abs(drawn.Low-expanded.Low) > 0.03*wide || math.Abs(drawn.High-expanded.High) > 0.03*wide {
			t.Errorf("%s: drawn %v, %v, expanded %v, %v", name, drawn, ok, expanded, expandedOK)
		}
	}
}

// The interval of a mean covers it about as often as it says: also of few
// clusters, and of many, whose values have a tail. It cannot know of a tail that
// few clusters do not show.
func TestRatiosCoverTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	samples := 2000
	if testing.Short() {
		samples = 400
	}
	for _, c := range []struct {
		name   string
		groups int
		truth  float64
		draw   func() float64
		least  float64
	}{
		{"5 normal", 5, 3, func() float64 { return 3 + random.NormFloat64() }, 0.9},
		{"30 normal", 30, 3, func() float64 { return 3 + random.NormFloat64() }, 0.935},
		{"200 normal", 200, 3, func() float64 { return 3 + random.NormFloat64() }, 0.935},
		{"30 exponential", 30, 1, random.ExpFloat64, 0.91},
		{"200 exponential", 200, 1, random.ExpFloat64, 0.93},
	} {
		covered := 0
		level := stats.PercentileLevel(c.groups, 0.95)
		drawn := stats.Resample(c.groups, 1000, 9)
		for range samples {
			values := make([]float64, c.groups)
			for i := range values {
				values[i] = c.draw()
			}
			interval, ok := stats.ExpandedRatio(values, ones(c.groups), level)
			if c.groups <= stats.MostResampled {
				interval, ok = drawn.Ratio(values, ones(c.groups), level)
			}
			if ok && interval.Low <= c.truth && c.truth <= interval.High {
				covered++
			}
		}
		if share := float64(covered) / float64(samples); share < c.least || share > 0.98 {
			t.Errorf("%s: %.3f of the intervals cover the mean", c.name, share)
		}
	}
}

func TestRatiosWithoutABound(t *testing.T) {
	// A draw holds the only success with a chance of two thirds.
	got, ok := stats.Resample(3, 10_000, 1).Ratio([]float64{1, 2, 3}, []float64{1, 0, 0}, 0.95)
	if !ok || !math.IsInf(got.High, 1) || !(got.Low > 0) {
		t.Errorf("%v, %v", got, ok)
	}
}

func TestResamplesHaveNoAnswer(t *testing.T) {
	r := stats.Resample(3, 100, 1)
	for name, answered := range map[string]func() bool{
		"one cluster":         func() bool { _, ok := stats.Resample(1, 100, 1).Ratio([]float64{1}, []float64{1}, 0.95); return ok },
		"none":                func() bool { _, ok := stats.Resample(0, 100, 1).Ratio(nil, nil, 0.95); return ok },
		"no draws":            func() bool { _, ok := stats.Resample(3, 0, 1).Ratio(ones(3), ones(3), 0.95); return ok },
		"all equal":           func() bool { _, ok := r.Ratio(ones(3), ones(3), 0.95); return ok },
		"another number":      func() bool { _, ok := r.Ratio(ones(2), ones(3), 0.95); return ok },
		"NaN":                 func() bool { _, ok := r.Ratio([]float64{1, 2, math.NaN()}, ones(3), 0.95); return ok },
		"an impossible level": func() bool { _, ok := r.Ratio([]float64{1, 2, 3}, ones(3), 1); return ok },
		"expanded: all equal": func() bool { _, ok := stats.ExpandedRatio(ones(3), ones(3), 0.95); return ok },
		"expanded: NaN":       func() bool { _, ok := stats.ExpandedRatio([]float64{1, math.NaN()}, ones(2), 0.95); return ok },
		"expanded: 0 below":   func() bool { _, ok := stats.ExpandedRatio(ones(2), make([]float64, 2), 0.95); return ok },
		"no number": func() bool {
			_, ok := stats.Bootstrap(3, 100, 1, func([]uint8) (float64, bool) { return 0, false }, 0.95)
			return ok
		},
	} {
		if answered() {
			t.Errorf("%s: nothing has an answer", name)
		}
	}
}

// The same seed gives the same draws; another one others, of which each has as
// many clusters as there are.
func TestResamplesComeFromTheirSeed(t *testing.T) {
	drawn := func(seed uint64) (all []uint8) {
		stats.Bootstrap(5, 20, seed, func(counts []uint8) (float64, bool) {
			sum := 0
			for _, n := range counts {
				sum += int(n)
			}
			if sum != 5 {
				t.Errorf("%v are drawn", counts)
			}
			all = append(all, counts...)
			return 0, true
		}, 0.95)
		return all
	}
	first, again := string(drawn(1)), string(drawn(1))
	if first != again || first == string(drawn(2)) {
		t.Error("draws do not depend on the seed, or on more")
	}
}

func BenchmarkRatio(b *testing.B) {
	values := make([]float64, stats.MostResampled)
	for i := range values {
		values[i] = float64(i * i % 17)
	}
	r := stats.Resample(len(values), 10_000, 1)
	for b.Loop() {
		r.Ratio(values, ones(len(values)), 0.95)
	}
}
