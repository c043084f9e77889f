package stats_test

import (
	"math"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
)

// sampleOf gives benchstat a copy, since it sorts what it is given.
func sampleOf(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// benchstat compares two samples as MannWhitney does. It doubles the smaller tail,
// which is the same but for ties in samples of different sizes.
func TestMannWhitneyAgreesWithBenchstat(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		m := n
		value := rapid.Map(rapid.IntRange(0, 12), func(v int) float64 { return float64(v) / 4 })
		distinct := rapid.Bool().Draw(t, "distinct")
		if distinct {
			m = rapid.IntRange(1, 20).Draw(t, "m")
			value = rapid.Float64Range(0, 1000)
		}
		all := rapid.SliceOfN(value, n+m, n+m).Draw(t, "values")
		if distinct && len(slices.Compact(slices.Sorted(slices.Values(all)))) < n+m {
			t.Skip("ties")
		}
		x, y := all[:n], all[n:]
		want := benchmath.AssumeNothing.Compare(sampleOf(x), sampleOf(y))
		got, ok := stats.MannWhitney(x, y)
		if !ok || got.Method != stats.Exact || math.Abs(got.P-want.P) > closed {
			t.Fatalf("%v, %v; benchstat has p %v", got, ok, want.P)
		}
	})
}

// benchstat leaves out a value on one side where that is still enough: its
// interval lies within ours.
func TestMedianIntervalAgreesWithBenchstat(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 60).Draw(t, "values")
		want := benchmath.AssumeNothing.Summary(sampleOf(values), 0.95)
		got, ok := stats.MedianInterval(values, 0.95)
		if ok != (len(want.Warnings) == 0) {
			t.Fatalf("%v, %v; benchstat has %v, %v", got, ok, want, want.Warnings)
		}
		if ok && (want.Lo < got.Low || want.Hi > got.High || want.Lo != got.Low && want.Hi != got.High) {
			t.Fatalf("%v; benchstat has %v to %v", got, want.Lo, want.Hi)
		}
	})
}
