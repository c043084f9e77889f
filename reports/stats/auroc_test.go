package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

// Two normal populations one standard deviation apart have an area of
// Phi(1/sqrt 2); their forecasts come in clusters that share a shift.
func TestAUROCIntervalCoversTheArea(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const truth, samples, groups, each = 0.76024994, 600, 40, 5
	covered := map[bool]int{}
	for range samples {
		var clusters, alone [][]stats.Forecast
		for range groups {
			shift, outcome := random.NormFloat64()*math.Sqrt(0.8), float64(random.IntN(2))
			var cluster []stats.Forecast
			for range each {
				f := stats.Forecast{Probability: outcome + shift + random.NormFloat64()*math.Sqrt(0.2), Outcome: outcome}
				cluster, alone = append(cluster, f), append(alone, []stats.Forecast{f})
			}
			clusters = append(clusters, cluster)
		}
		for clustered, forecasts := range map[bool][][]stats.Forecast{true: clusters, false: alone} {
			if interval, ok := stats.AUROCInterval(forecasts, 0.95); ok && interval.Low <= truth && truth <= interval.High {
				covered[clustered]++
			}
		}
	}
	if share := float64(covered[true]) / samples; share < 0.92 || share > 0.98 {
		t.Errorf("%.3f of the intervals cover the area", share)
	}
	if share := float64(covered[false]) / samples; share > 0.85 {
		t.Errorf("%.3f of those that do not know of clusters cover it: the clusters are none", share)
	}
}

func TestAUROCIntervalHasNoAnswer(t *testing.T) {
	f := func(p, outcome float64) stats.Forecast { return stats.Forecast{Probability: p, Outcome: outcome} }
	for name, clusters := range map[string][][]stats.Forecast{
		"nothing": nil, "one cluster": {{f(0.1, 0), f(0.9, 1), f(0.2, 1)}}, "one kind": {{f(0.1, 1)}, {f(0.5, 1)}},
		"all in order": {{f(0.1, 0)}, {f(0.5, 1)}, {f(0.6, 1)}}, "NaN": {{f(math.NaN(), 0)}, {f(0.5, 1)}, {f(0.6, 1)}}, "half an outcome": {{f(0.7, 0)}, {f(0.5, 1)}, {f(0.6, 0.5)}}, "no level": {{f(0.1, 0), f(0.2, 1)}, {f(0.5, 1), f(0.6, 0)}},
	} {
		level := 0.95
		if name == "no level" {
			level = 1
		}
		if interval, ok := stats.AUROCInterval(clusters, level); ok {
			t.Errorf("%s: %v", name, interval)
		}
	}
}
