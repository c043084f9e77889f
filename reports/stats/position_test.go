package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
)

// alone are verdicts of which each is a cluster of its own.
func alone(verdicts ...stats.Placed) (clusters [][]stats.Placed) {
	for _, v := range verdicts {
		clusters = append(clusters, []stats.Placed{v})
	}
	return clusters
}

func TestPositionBias(t *testing.T) {
	first := stats.Placed{First: 1, Second: 0}
	for name, c := range map[string]struct {
		of   [][]stats.Placed
		want stats.Position
	}{
		"the place does not matter": {alone(stats.Placed{First: 1, Second: 1}, stats.Placed{First: 0, Second: 0}, stats.Placed{First: 0.5, Second: 0.5}), stats.Position{Pairs: 3, First: 0.5, P: 1}},
		"the first always wins":     {alone(first, first, first, first, first, first), stats.Position{Pairs: 6, Changed: 1, First: 1, P: 0.03125}},
		"the second always wins":    {alone(stats.Placed{First: 0, Second: 1}), stats.Position{Pairs: 1, Changed: 1, First: 0, P: 1}},
		"noise in both directions":  {alone(first, stats.Placed{First: 0, Second: 1}, stats.Placed{First: 1, Second: 1}, stats.Placed{First: 0, Second: 0}), stats.Position{Pairs: 4, Changed: 0.5, First: 0.5, P: 1}},
		"a tie in one order":        {alone(stats.Placed{First: 1, Second: 0.5}, stats.Placed{First: 1, Second: 1}), stats.Position{Pairs: 2, Changed: 0.5, First: 0.625, P: 1}},
		"six votes on one task":     {[][]stats.Placed{{first, first, first, first, first, first}}, stats.Position{Pairs: 6, Changed: 1, First: 1, P: 1}},
		"a task against itself":     {[][]stats.Placed{{first, {First: 0, Second: 1}}, {}}, stats.Position{Pairs: 2, Changed: 1, First: 0.5, P: 1}},
	} {
		got, ok := stats.PositionBias(c.of)
		p := got.P
		if got.P = c.want.P; !ok || got != c.want || !near(p, c.want.P, closed) {
			got.P = p
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, c.want)
		}
	}
	for _, none := range [][][]stats.Placed{nil, {{}}, alone(stats.Placed{First: math.NaN(), Second: 1}), alone(stats.Placed{First: 1, Second: 1.5})} {
		if got, ok := stats.PositionBias(none); ok || got != (stats.Position{}) {
			t.Errorf("of %v: %+v", none, got)
		}
	}
}

// Whichever of two outputs is called the first one, the bias is the same.
func TestPositionBiasIsThatOfThePlace(t *testing.T) {
	verdict := rapid.SampledFrom([]float64{0, 0.5, 1})
	placed := rapid.Custom(func(t *rapid.T) stats.Placed {
		return stats.Placed{First: verdict.Draw(t, "first"), Second: verdict.Draw(t, "second")}
	})
	propertytest.Check(t, func(t *rapid.T) {
		clusters := rapid.SliceOfN(rapid.SliceOfN(placed, 1, 3), 1, 20).Draw(t, "clusters")
		others := make([][]stats.Placed, len(clusters))
		for i, cluster := range clusters {
			for _, v := range cluster {
				others[i] = append(others[i], stats.Placed{First: 1 - v.Second, Second: 1 - v.First})
			}
		}
		got, _ := stats.PositionBias(clusters)
		if other, _ := stats.PositionBias(others); math.Abs(got.First-other.First) > 1e-12 || got.Changed != other.Changed || got.P != other.P {
			t.Fatalf("%+v and %+v", got, other)
		}
	})
}
