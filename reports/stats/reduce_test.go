package stats_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
)

// The best of k is on average that of all ways to take k of the trials, where
// equally good ones share the place.
func TestBestOfKIsTheMeanOverSubsets(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		quarters := rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) / 4 })
		scores, by := rapid.SliceOfN(quarters, n, n).Draw(t, "scores"), rapid.SliceOfN(quarters, n, n).Draw(t, "by")
		k := rapid.IntRange(1, n).Draw(t, "k")
		sum, subsets := 0.0, 0.0
		for set := range 1 << n {
			var best, of []float64
			size := 0
			for i := range n {
				if set>>i&1 == 0 {
					continue
				}
				size++
				if len(best) > 0 && by[i] > best[0] {
					best, of = nil, nil
				}
				if len(best) == 0 || by[i] == best[0] {
					best, of = append(best, by[i]), append(of, scores[i])
				}
			}
			if size == k {
				mean, _ := stats.Mean(of)
				sum, subsets = sum+mean, subsets+1
			}
		}
		got, ok := stats.BestOfK(scores, by, k)
		if !ok || !near(got, sum/subsets, closed) {
			t.Fatalf("%v, want %v", got, sum/subsets)
		}
	})
}

// Chosen by the score itself, the best of k of failures and successes is pass@k.
func TestBestOfKByItselfIsPassAtK(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1}), 1, 12).Draw(t, "scores")
		k := rapid.IntRange(1, len(scores)).Draw(t, "k")
		best, _ := stats.BestOfK(scores, scores, k)
		if at, _ := stats.PassAtK(len(scores), int(stats.Sum(scores)), k); !near(best, at, closed) {
			t.Fatalf("best of %d: %v, pass@k %v", k, best, at)
		}
	})
}

func TestMajority(t *testing.T) {
	const none = 9
	for name, c := range map[string]struct {
		answers []uint64
		values  []float64
		want    float64
	}{
		"most often":            {[]uint64{1, 2, 1}, []float64{1, 0, 1}, 1},
		"a tie is shared":       {[]uint64{1, 2}, []float64{1, 0}, 0.5},
		"a tie of three":        {[]uint64{1, 2, 3, 3, 2, 1, 4}, []float64{1, 0, 0, 0, 0, 1, 1}, 1.0 / 3},
		"mean of the answer's":  {[]uint64{1, 1, 1, 2}, []float64{1, 0.5, 0, 1}, 0.5},
		"none does not win":     {[]uint64{none, none, none, 4}, []float64{0, 0, 0, 1}, 1},
		"nothing but none":      {[]uint64{none, none}, []float64{0, 0}, 0},
		"none beside a tie":     {[]uint64{none, none, 1, 2}, []float64{0, 0, 1, 0}, 0.5},
		"none as often":         {[]uint64{none, 1}, []float64{0, 1}, 1},
		"only one":              {[]uint64{5}, []float64{0.25}, 0.25},
		"none may be worth one": {[]uint64{none}, []float64{1}, 1},
	} {
		if got, ok := stats.Majority(c.answers, c.values, none); !ok || !near(got, c.want, closed) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if _, ok := stats.Majority(nil, nil, none); ok {
		t.Error("nothing has a majority")
	}
}
