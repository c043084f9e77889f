package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/compare"
)

// drawnSides are two sides with scores, graded scores and amounts, in which
// values, trials, tasks and clusters may be missing.
func drawnSides(t *rapid.T) (base, new *compare.Side) {
	quantities := []compare.Quantity{right, {Name: "graded"}, cost}
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

func lines(t *rapid.T, base, new *compare.Side, options compare.Options) []compare.Line {
	r, err := compare.Sides(base, new, options)
	if err != nil {
		t.Fatal(err)
	}
	return r.Lines
}

var mirrored = map[compare.Verdict]compare.Verdict{
	compare.Better: compare.Worse, compare.Worse: compare.Better, compare.Same: compare.Same, compare.CannotTell: compare.CannotTell,
}

// opposite holds for changes that undo each other. Ratios near 0 are left out:
// nothing counts in a float just above -1.
func opposite(l *compare.Line, x, y float64) bool {
	if !l.Relative {
		return near(x, -y)
	}
	return min(x, y) < 1e-6-1 || near(math.Log1p(x), -math.Log1p(y))
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
		if before.Change*after.Change < 0 || math.Abs(after.Change) > math.Abs(before.Change) || !near(before.P, after.P) && before.Test == after.Test && before.Method == after.Method {
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
			better := l.Change > 0 != l.Lower
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
				if better || l.P >= 0.3 || l.NotWorse && l.High-l.Low < 2*l.Margin {
					t.Fatalf("%+v", l)
				}
			case compare.Same:
				if math.Abs(l.Change) > l.Margin || l.High > l.Margin {
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
