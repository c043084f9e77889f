package stats_test

import (
	"math"
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
