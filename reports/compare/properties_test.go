package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/compare"
	"pgregory.net/rapid"
)

// drawnSides are two sides with scores, graded scores and amounts, in which
// values, trials, tasks and clusters may be missing.
func drawnSides(t *rapid.T) (base, new *compare.Side) {
	quantities := []compare.Quantity{right, {Name: "graded", Score: true}, cost}
	tasks, trials := rapid.IntRange(1, 30).Draw(t, "tasks"), rapid.IntRange(1, 3).Draw(t, "trials")
	clustered, holes := rapid.Bool().Draw(t, "clustered"), rapid.Bool().Draw(t, "holes")
	one := func(name string) *compare.Side {
		s := &compare.Side{Name: name, Starts: []int32{0}}
		columns := make([][]float64, len(quantities))
		for task := range tasks {
			s.Tasks = append(s.Tasks, fmt.Sprint("t", task))
			if clustered {
				s.Clusters = append(s.Clusters, fmt.Sprint(task%4))
			}
			for trial := range trials {
				if holes && rapid.IntRange(0, 9).Draw(t, "absent") == 0 {
					continue
				}
				s.Trials = append(s.Trials, int32(trial+1))
				for i, from := range [][]float64{{0, 1}, {0, 0.3, 0.75, 1}, {0.001, 0.2, 7, 7, 4000}} {
					if holes {
						from = append(from, math.NaN())
					}
					columns[i] = append(columns[i], rapid.SampledFrom(from).Draw(t, "value"))
				}
			}
			s.Starts = append(s.Starts, int32(len(s.Trials)))
		}
		for i, q := range quantities {
			s.Columns = append(s.Columns, compare.Column{Quantity: q, Values: columns[i]})
		}
		return s
	}
	return one("base"), one("new")
}

// reordered is the same side with its tasks in another order.
func reordered(s *compare.Side, order []int) *compare.Side {
	r := &compare.Side{Name: s.Name, Starts: []int32{0}}
	for _, c := range s.Columns {
		r.Columns = append(r.Columns, compare.Column{Quantity: c.Quantity})
	}
	for _, at := range order {
		r.Tasks = append(r.Tasks, s.Tasks[at])
		if s.Clusters != nil {
			r.Clusters = append(r.Clusters, s.Clusters[at])
		}
		from, to := s.Starts[at], s.Starts[at+1]
		r.Trials = append(r.Trials, s.Trials[from:to]...)
		for c := range s.Columns {
			r.Columns[c].Values = append(r.Columns[c].Values, s.Columns[c].Values[from:to]...)
		}
		r.Starts = append(r.Starts, int32(len(r.Trials)))
	}
	return r
}

func lines(t *rapid.T, base, new *compare.Side, options compare.Options) []compare.Difference {
	r, err := compare.Sides(base, new, options)
	if err != nil {
		t.Fatal(err)
	}
	return r.Differences
}

var mirrored = map[compare.Verdict]compare.Verdict{
	compare.Better: compare.Worse, compare.Worse: compare.Better, compare.Same: compare.Same, compare.CannotTell: compare.CannotTell,
}

// opposite holds for changes that undo each other. Ratios near 0 are left out:
// nothing counts in a float just above -1.
func opposite(l *compare.Difference, x, y compare.Number) bool {
	if !l.Relative {
		return near(x, -y)
	}
	return min(x, y) < 1e-6-1 || near(math.Log1p(float64(x)), -math.Log1p(float64(y)))
}

func TestSwappingSidesMirrors(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		base, new := drawnSides(t)
		options := compare.Options{Unpaired: rapid.Bool().Draw(t, "unpaired"), Alpha: rapid.SampledFrom([]float64{0.05, 0.5}).Draw(t, "alpha")}
		there, back := lines(t, base, new, options), lines(t, new, base, options)
		for i := range there {
			a, b := &there[i], &back[i]
			if !opposite(a, a.Change, b.Change) || !opposite(a, a.Low, b.High) || !opposite(a, a.High, b.Low) || !near(a.Base, b.New) || !near(a.P, b.P) {
				t.Fatalf("there %+v\nback %+v", a, b)
			}
			if a.Verdict != mirrored[b.Verdict] || a.Wins != b.Losses || a.Ties != b.Ties || a.Needed != b.Needed || len(a.Flips) != len(b.Flips) {
				t.Fatalf("there %+v\nback %+v", a, b)
			}
		}
	})
}

func TestOrderOfTasksMakesNoDifference(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		base, new := drawnSides(t)
		options := compare.Options{Unpaired: rapid.Bool().Draw(t, "unpaired")}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
		want := lines(t, base, new, options)
		got := lines(t, reordered(base, random.Perm(len(base.Tasks))), reordered(new, random.Perm(len(new.Tasks))), options)
		for i := range want {
			a, b := want[i], got[i]
			if !near(a.Change, b.Change) || !near(a.Low, b.Low) || !near(a.High, b.High) || !near(a.Base, b.Base) || !near(a.P, b.P) {
				t.Fatalf("%+v\n%+v", a, b)
			}
			if a.Verdict != b.Verdict || a.Wins != b.Wins || a.Needed != b.Needed || a.NotWorse != b.NotWorse || len(a.Flips) != len(b.Flips) {
				t.Fatalf("%+v\n%+v", a, b)
			}
		}
	})
}

func TestSideAgainstItselfIsNeitherBetterNorWorse(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		base, _ := drawnSides(t)
		for _, l := range lines(t, base, base, compare.Options{Unpaired: rapid.Bool().Draw(t, "unpaired"), Alpha: 0.9}) {
			if l.Verdict == compare.Better || l.Verdict == compare.Worse || l.Wins+l.Losses > 0 || l.Tasks > 0 && l.Change != 0 {
				t.Fatalf("%+v", l)
			}
		}
	})
}

// Pairs that are equal only make a difference smaller.
func TestEqualPairsNeverFlipTheSign(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}), n, n)
		x, y := values.Draw(t, "base"), values.Draw(t, "new")
		more := slices.Repeat([]float64{0.5}, rapid.IntRange(1, 50).Draw(t, "more"))
		before := lines(t, once(right, x...), once(right, y...), compare.Options{})[0]
		after := lines(t, once(right, append(slices.Clone(x), more...)...), once(right, append(slices.Clone(y), more...)...), compare.Options{})[0]
		if before.Change*after.Change < 0 || abs(after.Change) > abs(before.Change) || !near(before.P, after.P) && before.Test == after.Test && before.Method == after.Method {
			t.Fatalf("before %+v\nafter %+v", before, after)
		}
		if before.Wins != after.Wins || before.Losses != after.Losses || before.Verdict != after.Verdict && after.Verdict != compare.Same {
			t.Fatalf("before %+v\nafter %+v", before, after)
		}
	})
}

// A verdict never says more than its numbers do.
func TestVerdictsFollowFromTheNumbers(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		base, new := drawnSides(t)
		for _, l := range lines(t, base, new, compare.Options{Alpha: 0.3}) {
			better := l.Change > 0 == l.Score
			if l.Low > l.Change+1e-9 || l.High < l.Change-1e-9 {
				t.Fatalf("the change is not in its interval: %+v", l)
			}
			if !l.NotWorse && (l.Verdict == compare.Better || l.Verdict == compare.Same) {
				t.Fatalf("neither worse nor not worse: %+v", l)
			}
			switch l.Verdict {
			case compare.Better:
				if !better || l.P >= 0.3 {
					t.Fatalf("%+v", l)
				}
			case compare.Worse:
				if better || l.P >= 0.3 || l.NotWorse && float64(l.High-l.Low) < 2*l.Margin {
					t.Fatalf("%+v", l)
				}
			case compare.Same:
				if abs(l.Change) > compare.Number(l.Margin) || float64(l.High) > l.Margin {
					t.Fatalf("%+v", l)
				}
			case compare.CannotTell:
				if l.P < 0.3 && l.Change != 0 {
					t.Fatalf("%+v", l)
				}
			}
		}
	})
}

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
		{"graded", compare.Quantity{Name: "graded", Score: true}, 40, 2, false, false, graded},
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

// large is a side with a binary score, a graded one and five amounts.
func large(tasks, trials int, seed uint64) *compare.Side {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &compare.Side{Starts: []int32{0}}
	quantities := []compare.Quantity{{Name: "right", Score: true}, {Name: "close", Score: true}}
	for _, name := range []string{"cost_usd", "tokens", "latency_s", "iterations", "calls"} {
		quantities = append(quantities, compare.Quantity{Name: name})
	}
	columns := make([][]float64, len(quantities))
	for task := range tasks {
		s.Tasks = append(s.Tasks, fmt.Sprint("task-", task))
		for trial := range trials {
			s.Trials = append(s.Trials, int32(trial+1))
			columns[0] = append(columns[0], float64(random.IntN(2)))
			columns[1] = append(columns[1], random.Float64())
			for i := 2; i < len(columns); i++ {
				columns[i] = append(columns[i], random.ExpFloat64()+1e-9)
			}
		}
		s.Starts = append(s.Starts, int32(len(s.Trials)))
	}
	for i, q := range quantities {
		s.Columns = append(s.Columns, compare.Column{Quantity: q, Values: columns[i]})
	}
	return s
}

// BenchmarkSides compares two sides of 100,000 runs in seven quantities.
func BenchmarkSides(b *testing.B) {
	for _, trials := range []int{1, 4, 50} {
		for _, how := range []string{"paired", "apart", "clustered"} {
			base, new := large(100_000/trials, trials, 1), large(100_000/trials, trials, 2)
			if how == "clustered" {
				for i := range base.Tasks {
					base.Clusters = append(base.Clusters, fmt.Sprint(i%1000))
				}
			}
			b.Run(fmt.Sprintf("%s/trials=%d", how, trials), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := compare.Sides(base, new, compare.Options{Unpaired: how == "apart"}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
