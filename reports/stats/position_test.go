package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/reports/stats"
)

func TestPositionBias(t *testing.T) {
	for name, c := range map[string]struct {
		x, y []float64
		want stats.Position
	}{
		"the place does not matter": {[]float64{1, 0, 0.5}, []float64{1, 0, 0.5}, stats.Position{Pairs: 3, First: 0.5, P: 1}},
		"the first always wins":     {[]float64{1, 1, 1, 1, 1, 1}, []float64{0, 0, 0, 0, 0, 0}, stats.Position{Pairs: 6, Changed: 1, First: 1, P: 0.03125}},
		"the second always wins":    {[]float64{0}, []float64{1}, stats.Position{Pairs: 1, Changed: 1, First: 0, P: 1}},
		"noise in both directions":  {[]float64{1, 0, 1, 0}, []float64{0, 1, 1, 0}, stats.Position{Pairs: 4, Changed: 0.5, First: 0.5, P: 1}},
		"a tie in one order":        {[]float64{1, 1}, []float64{0.5, 1}, stats.Position{Pairs: 2, Changed: 0.5, First: 0.625, P: 1}},
	} {
		if got, ok := stats.PositionBias(c.x, c.y); !ok || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, c.want)
		}
	}
	for _, none := range [][2][]float64{{nil, nil}, {{1}, {1, 0}}, {{math.NaN()}, {1}}, {{1}, {1.5}}} {
		if got, ok := stats.PositionBias(none[0], none[1]); ok || got != (stats.Position{}) {
			t.Errorf("of %v: %+v", none, got)
		}
	}
}

// Whichever of two outputs is called the first one, the bias is the same.
func TestPositionBiasIsThatOfThePlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		verdict := rapid.SampledFrom([]float64{0, 0.5, 1})
		n := rapid.IntRange(1, 20).Draw(t, "pairs")
		x, y := rapid.SliceOfN(verdict, n, n).Draw(t, "x"), rapid.SliceOfN(verdict, n, n).Draw(t, "y")
		otherX, otherY := make([]float64, n), make([]float64, n)
		for i := range x {
			otherX[i], otherY[i] = 1-y[i], 1-x[i]
		}
		got, _ := stats.PositionBias(x, y)
		if other, _ := stats.PositionBias(otherX, otherY); math.Abs(got.First-other.First) > 1e-12 || got.Changed != other.Changed || got.P != other.P {
			t.Fatalf("%+v and %+v", got, other)
		}
	})
}
