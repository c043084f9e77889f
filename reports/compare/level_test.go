package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/reports/compare"
)

// suites is how many synthetic suites a simulation has, as in reports/stats.
func suites(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("AGENTBENCH_SUITES"))
	if err != nil || n < 1 {
		return 200
	}
	return n
}

// drawn is a side whose runs have a quality that its task has, and a gain on
// top of it. Tasks differ, and their clusters by some more.
func drawn(random *rand.Rand, q compare.Quantity, tasks []float64, trials int, clustered bool, gain float64, value func(quality float64) float64) *compare.Side {
	s := &compare.Side{Starts: []int32{0}}
	var values []float64
	shift := make([]float64, 1+len(tasks)/8)
	for i := range shift {
		shift[i] = 0.3 * (random.Float64() - 0.5)
	}
	for i, quality := range tasks {
		s.Tasks = append(s.Tasks, fmt.Sprint("t", i))
		if clustered {
			s.Clusters = append(s.Clusters, fmt.Sprint(i/8))
			quality += shift[i/8]
		}
		for trial := range trials {
			s.Trials = append(s.Trials, int32(trial+1))
			values = append(values, value(min(1, max(0, quality+gain))))
		}
		s.Starts = append(s.Starts, int32(len(values)))
	}
	s.Columns = []compare.Column{{Quantity: q, Values: values}}
	return s
}

// Where nothing differs at most 5 % of all comparisons say that something does,
// and 95 % of the intervals hold 0; where something does most of them say so, and
// none of them the opposite.
func TestVerdictsHoldTheirLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("many synthetic suites: not with -short")
	}
	for _, c := range []struct {
		name      string
		q         compare.Quantity
		tasks     int
		trials    int
		clustered bool
		unpaired  bool
		value     func(*rand.Rand, float64) float64
	}{
		{"binary, 1 trial", right, 100, 1, false, false, coin},
		{"binary, 4 trials", right, 50, 4, false, false, coin},
		{"binary, 1 trial, in clusters", right, 240, 1, true, false, coin},
		{"binary, 3 trials, apart", right, 60, 3, false, true, coin},
		{"graded", compare.Quantity{Name: "graded"}, 40, 2, false, false, graded},
		{"amounts", cost, 40, 2, false, false, amount},
		{"amounts, apart", cost, 40, 2, false, true, amount},
		{"binary, apart, in clusters", right, 240, 1, true, true, coin},
		{"amounts, apart, in clusters", cost, 240, 1, true, true, amount},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := suites(t)
			claims, covered, found, opposite := 0, 0, 0, 0
			for i := range n {
				random := rand.New(rand.NewPCG(uint64(i), 4))
				qualities := make([]float64, c.tasks)
				for j := range qualities {
					qualities[j] = 0.1 + 0.6*random.Float64()
				}
				side := func(gain float64) *compare.Side {
					for j := range qualities {
						if c.unpaired { // the tasks of each side are others
							qualities[j] = 0.1 + 0.6*random.Float64()
						}
					}
					return drawn(random, c.q, qualities, c.trials, c.clustered, gain, func(quality float64) float64 { return c.value(random, quality) })
				}
				options := compare.Options{ScoreMargin: -1, RatioMargin: -1, Unpaired: c.unpaired}
				base := side(0)
				null := compared(t, base, side(0), options)
				if null.Verdict != compare.CannotTell {
					claims++
				}
				if null.Low <= 0 && null.High >= 0 {
					covered++
				}
				switch compared(t, base, side(0.25), options).Verdict {
				case compare.Better:
					found++
				case compare.Worse:
					opposite++
				}
			}
			share := func(of int) float64 { return float64(of) / float64(n) }
			off := 3.5 * math.Sqrt(0.05*0.95/float64(n))
			t.Logf("%d suites: %.4f claims, %.4f covered, %.4f found", n, share(claims), share(covered), share(found))
			if share(claims) > 0.05+off || math.Abs(share(covered)-0.95) > 0.01+off+slack(c.q) {
				t.Errorf("%.4f claim a difference where there is none, %.4f of the intervals hold 0", share(claims), share(covered))
			}
			if share(found) < 0.5 || opposite > 0 {
				t.Errorf("%.4f find a difference of a quarter, %d the opposite", share(found), opposite)
			}
		})
	}
}

// slack is what Bonett and Price's interval may cover more.
func slack(q compare.Quantity) float64 {
	if q == right {
		return 0.02
	}
	return 0
}

func coin(random *rand.Rand, quality float64) float64 {
	if random.Float64() < quality {
		return 1
	}
	return 0
}

func graded(random *rand.Rand, quality float64) float64 {
	return min(1, max(0, quality+0.2*random.NormFloat64()))
}

// amount is larger, and so worse, where the quality is lower.
func amount(random *rand.Rand, quality float64) float64 {
	return math.Exp(-2*quality + 0.4*random.NormFloat64())
}
