package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
	"pgregory.net/rapid"
)

// drawnOff is how far a p from 10,000 draws may lie from the exact one.
func drawnOff(p float64) float64 {
	return 5*math.Sqrt(p*(1-p)/stats.Draws) + 2.0/stats.Draws
}

// parts are multiples of a part of 1, as means of trials are.
func parts(t *rapid.T) *rapid.Generator[float64] {
	of := rapid.SampledFrom([]float64{1, 2, 3, 4, 7, 10, 12, 60}).Draw(t, "parts")
	return rapid.Map(rapid.IntRange(-8, 8), func(n int) float64 { return float64(n) / of })
}

func TestWaysToFlipAgree(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(parts(t), 1, 12).Draw(t, "differences")
		if stats.Sum(d) == 0 || !slices.ContainsFunc(d, func(x float64) bool { return x != 0 }) {
			t.Skip("p is 1")
		}
		whole, all, drawn, isWhole := stats.FlipWays(d, 1)
		if !isWhole || !near(whole, all, closed) || math.Abs(drawn-all) > drawnOff(all) {
			t.Fatalf("convolved %v (%v), counted %v, drawn %v", whole, isWhole, all, drawn)
		}
	})
}

// Binary pairs: the sign flip is McNemar's test.
func TestSignFlipIsMcNemar(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		won, lost, tied := rapid.IntRange(0, 60).Draw(t, "won"), rapid.IntRange(0, 60).Draw(t, "lost"), rapid.IntRange(1, 9).Draw(t, "tied")
		d := slices.Concat(slices.Repeat([]float64{1}, won), slices.Repeat([]float64{-1}, lost), make([]float64, tied))
		flip, _ := stats.SignFlip(d, 1)
		mcnemar, _ := stats.McNemar(won, lost)
		if !near(flip.P, mcnemar.P, closed) || flip.Statistic != mcnemar.Statistic {
			t.Fatalf("%v and %v", flip, mcnemar)
		}
	})
}

// Which side comes first, the unit and the order of the values do not matter.
func TestTestsDoNotDependOnTheWayOfTelling(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(parts(t), 1, 15).Draw(t, "differences")
		e := rapid.SliceOfN(parts(t), 1, 15).Draw(t, "others")
		scale := rapid.SampledFrom([]float64{-1, 3, 1e-6, 1e9}).Draw(t, "scale")
		told := func(values []float64) []float64 {
			other := slices.Clone(values)
			for i := range other {
				other[i] *= scale
			}
			slices.Reverse(other)
			return other
		}
		for name, test := range map[string]func(x, y []float64) (stats.Test, bool){
			"SignFlip":    func(x, _ []float64) (stats.Test, bool) { return stats.SignFlip(x, 1) },
			"MannWhitney": stats.MannWhitney,
		} {
			here, ok := test(d, e)
			there, thereOK := test(told(d), told(e))
			swapped, _ := test(e, d)
			if ok != thereOK || !near(here.P, there.P, closed) || name[0] != 'S' && !near(here.P, swapped.P, closed) {
				t.Fatalf("%s: %v, told otherwise %v, swapped %v", name, here, there, swapped)
			}
		}
	})
}

// Rounding does not tell 0.3 from 0.1 + 0.2.
func TestRoundingMakesNoDifference(t *testing.T) {
	noisy, clean := []float64{0.1 + 0.2, -0.3, 0.3, 0.6, 1.1 - 0.8}, []float64{3, -3, 3, 6, 3}
	a, _ := stats.SignFlip(noisy, 1)
	b, _ := stats.SignFlip(clean, 1)
	if !near(a.P, b.P, closed) {
		t.Errorf("%v and %v", a, b)
	}
	if counts, ok := stats.Steps(noisy); !ok || !slices.Equal(counts, []int{1, -1, 1, 2, 1}) {
		t.Errorf("steps of %v are %v, %v", noisy, counts, ok)
	}
	if counts, ok := stats.Steps([]float64{1, math.Sqrt2, math.Pi}); ok {
		t.Errorf("numbers without a common step have steps %v", counts)
	}
}

func TestAdjustedValuesKeepTheirOrder(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 12).Draw(t, "p")
		holm, _ := stats.Holm(p)
		bh, _ := stats.BenjaminiHochberg(p)
		for i := range p {
			if !(p[i] <= bh[i] && bh[i] <= holm[i]+1e-15) {
				t.Fatalf("p %v: Holm %v, BH %v", p, holm, bh)
			}
			for j := range p {
				if p[i] < p[j] && (holm[i] > holm[j] || bh[i] > bh[j]) {
					t.Fatalf("p %v: Holm %v, BH %v", p, holm, bh)
				}
			}
		}
	})
}

// Clusters of one size: both standard errors, and that of the means, are the same.
func TestStandardErrorsAgreeOnEqualClusters(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "size")
		clusters := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(0, 1), size, size), 2, 12).Draw(t, "clusters")
		means := make([]float64, len(clusters))
		for i := range clusters {
			means[i], _ = stats.Mean(clusters[i])
		}
		cr1, _ := stats.ClusteredSE(clusters)
		cr2, _ := stats.ClusteredMean(clusters)
		plain, _ := stats.MeanOf(means)
		if math.Abs(cr1-plain.SE) > closed || math.Abs(cr2.SE-plain.SE) > closed || math.Abs(cr2.Value-plain.Value) > closed || !near(cr2.Degrees, plain.Degrees, closed) {
			t.Fatalf("CR1 %v, CR2 %v, of means %v", cr1, cr2, plain)
		}
	})
}

// The front holds no point that another beats, and all others are beaten.
func TestFrontIsWhatNobodyBeats(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		number := rapid.Map(rapid.IntRange(0, 5), func(n int) float64 { return float64(n) })
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stats.Point {
			return stats.Point{Cost: number.Draw(t, "cost"), Quality: number.Draw(t, "quality"), Delay: number.Draw(t, "delay")}
		}), 0, 12).Draw(t, "points")
		front := stats.Front(points)
		for i, p := range points {
			beaten := slices.ContainsFunc(points, func(o stats.Point) bool {
				return o != p && o.Cost <= p.Cost && o.Quality >= p.Quality && o.Delay <= p.Delay
			})
			first := slices.Index(points, p) == i
			if on := slices.Contains(front, i); on != (!beaten && first) {
				t.Fatalf("front of %v: %v", points, front)
			}
		}
	})
}

func TestFrontShares(t *testing.T) {
	row := func(cost float64, quality ...float64) (points []stats.Point) {
		for _, q := range quality {
			points = append(points, stats.Point{Cost: cost, Quality: q})
		}
		return points
	}
	// All 27 draws of 3 tasks: the dear row is better unless the third is not drawn.
	rows := [][]stats.Point{row(1, 1, 1, 0), row(2, 1, 1, 1), row(3, 0, 0, 0), row(1, 1, 1, 0)}
	got, ok := stats.FrontShares(rows, 27, 1)
	if want := []float64{1, 19.0 / 27, 0, 1}; !ok || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, ok, want)
	}
	drawn, _ := stats.FrontShares(rows, 26, 1)
	if math.Abs(drawn[1]-19.0/27) > 0.3 {
		t.Errorf("drawn %v", drawn)
	}
}

// Standings tell of every distinct point whether it is on the front, and of those
// behind it, too, how often they would be.
func TestStandingsOfAllPoints(t *testing.T) {
	tasks := [][]float64{{1, 1, 1}, {1, 1, 0}, {0, 0, 0}, {1, 1, 0}, {1, 1, 1}}
	costs := []float64{2, 1, 3, 1, math.NaN()}
	spread := func(at int) (row []stats.Point, err error) {
		for _, quality := range tasks[at] {
			row = append(row, stats.Point{Cost: costs[at], Quality: quality})
		}
		return row, nil
	}
	var points []stats.Point
	for at := range tasks {
		points = append(points, stats.Point{Cost: costs[at], Quality: stats.Sum(tasks[at]) / 3})
	}
	all, err := stats.Standings(points, spread, func(int) bool { return false }, 1)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []stats.Standing{
		{At: []int{1, 3}, Front: true, Share: 1}, {At: []int{0}, Front: true, Share: 19.0 / 27}, {At: []int{2}},
	} {
		if got := all[i]; !slices.Equal(got.At, want.At) || got.Front != want.Front || !got.Drawn || math.Abs(got.Share-want.Share) > 1e-12 {
			t.Errorf("place %d: %+v, want %+v", i, got, want)
		}
	}
}

// Of very many clusters several are drawn together, which leaves the shares what
// they are but for chance.
func TestFrontSharesOfManyClusters(t *testing.T) {
	const clusters = 9_000
	cheap, dear := make([]stats.Point, clusters), make([]stats.Point, clusters)
	for at := range clusters {
		cheap[at], dear[at] = stats.Point{Cost: 1, Quality: float64(at % 2)}, stats.Point{Cost: 2, Quality: float64((at + 1) % 2)}
	}
	for extra := range 100 {
		dear[90*extra+1].Quality = 1
	}
	// The differences add up to 100 and have a variance of 1 each: their sum is above 0
	// in the share of draws that the normal distribution gives to z < 100/sqrt(9000).
	got, ok := stats.FrontShares([][]stats.Point{cheap, dear}, 2_000, 1)
	if want := 0.854; !ok || got[0] != 1 || math.Abs(got[1]-want) > 0.03 {
		t.Errorf("%v, want 1 and about %v", got, want)
	}
}

// The trials say what is on average so: the mean over all ways to take k of n.
func TestPassOfKIsTheMeanOverSubsets(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		c, k := rapid.IntRange(0, n).Draw(t, "c"), rapid.IntRange(1, n).Draw(t, "k")
		some, every, subsets := 0.0, 0.0, 0.0
		for set := range 1 << n {
			size, hits := 0, 0
			for i := range n {
				if set>>i&1 == 1 {
					size++
					if i < c {
						hits++
					}
				}
			}
			if size != k {
				continue
			}
			subsets++
			if hits > 0 {
				some++
			}
			if hits == k {
				every++
			}
		}
		at, _ := stats.PassAtK(n, c, k)
		hat, _ := stats.PassHatK(n, c, k)
		if !near(at, some/subsets, closed) || !near(hat, every/subsets, closed) {
			t.Fatalf("pass@k %v, pass^k %v; want %v, %v", at, hat, some/subsets, every/subsets)
		}
	})
}

// What is needed detects, and what is detectable is what that needs.
func TestNeededAndDetectableAreInverse(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		power := stats.Power{Alpha: rapid.Float64Range(0.001, 0.2).Draw(t, "alpha"), Power: rapid.Float64Range(0.6, 0.99).Draw(t, "power")}
		variance, difference := rapid.Float64Range(0.01, 2).Draw(t, "variance"), rapid.Float64Range(0.01, 1).Draw(t, "difference")
		n, _ := power.Needed(variance, difference)
		back, ok := power.Detectable(variance, n)
		if !ok || !near(back, difference, closed) {
			t.Fatalf("%v values detect %v, not %v", n, back, difference)
		}
	})
}

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
