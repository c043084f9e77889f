package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
	"gonum.org/v1/gonum/mathext"
)

func bounded(t *testing.T, values ...float64) *stats.Bounded {
	t.Helper()
	units := make([]stats.Units, len(values))
	for i, v := range values {
		units[i] = stats.Units{Sum: v, Size: 1, Count: 1}
	}
	b, ok := stats.NewBounded(units, -1, 1)
	if !ok {
		t.Fatalf("no bounds of %v", values)
	}
	return b
}

func atMost(t *testing.T, ones, of int, level, want float64) {
	t.Helper()
	b, ok := stats.NewBounded([]stats.Units{{Sum: 0, Size: 1, Count: float64(of - ones)}, {Sum: 1, Size: 1, Count: float64(ones)}}, 0, 1)
	if !ok || math.Abs(b.AtMost(level)-want) > 1e-7*want || b.Shows(want*(1-1e-6), level) || !b.Shows(want*(1+1e-6), level) {
		t.Errorf("%d of %d at %v: %v, want %v", ones, of, level, b.AtMost(level), want)
	}
	if got := b.Interval(level).Low; ok && ones == 0 && math.Abs(got) > 1e-9 {
		t.Errorf("none of %d at %v: at least %v", of, level, got)
	}
}

// Of zeros and ones the bounds are those of Clopper and Pearson.
func TestBoundsOfZerosAndOnes(t *testing.T) {
	for _, n := range []float64{1, 2, 3, 10, 59, 60, 149, 2000, 100000} {
		for _, x := range []float64{0, 1, 2, 20, n / 2, n - 1} {
			if x > n-1 || x != math.Trunc(x) {
				continue
			}
			for _, level := range []float64{0.9, 0.95, 0.975, 0.999, 1 - 1e-6} {
				atMost(t, int(x), int(n), level, mathext.InvRegIncBeta(x+1, n-x, level))
			}
		}
	}
	for number, want := range map[float64]float64{0.02: 149, 0.05: 59, 0.3: 12} { // with no loss seen
		if got, ok := bounded(t, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0).Needed(number, 0.95); !ok || got != want {
			t.Errorf("%v takes %v units, want %v", number, got, want)
		}
	}
	if _, ok := bounded(t, 0.1, 0.1).Needed(0.1, 0.95); ok {
		t.Error("no number of units shows that a mean of 0.1 is at most 0.1")
	}
	none, _ := stats.NewBounded(nil, -1, 1)
	if _, ok := none.Needed(0.1, 0.95); ok {
		t.Error("a number of units like none shows something")
	}
}

// Of other values chances are those of drawn weights.
func TestBoundsOfDrawnWeights(t *testing.T) {
	const draws = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 7, 30} {
		values := fill(n, func() float64 { return 0.1 * r.NormFloat64() })
		at := []float64{0, 0.05, 0.1, 0.2, 0.5}
		above := make([]float64, len(at))
		for range draws {
			weight := r.ExpFloat64()
			sum, total := weight, weight // of the added value of 1
			for _, v := range values {
				weight = r.ExpFloat64()
				sum, total = sum+weight*v, total+weight
			}
			for k := range at {
				if sum > at[k]*total {
					above[k] += 1. / draws
				}
			}
		}
		for k, p := range above {
			p = min(p, 1)
			b, error := bounded(t, values...), 4*math.Sqrt(p*(1-p)/draws)+1e-5
			if p < 1 && b.Shows(at[k], 1-p+error) || !b.Shows(at[k], 1-p-error) {
				t.Errorf("%d values at %v: not %v, as drawn", n, at[k], p)
			}
		}
	}
}

// Bounds are no narrower than they may be: those of large samples with a small spread are
// Student's, and clusters of one size are as good as values.
func TestBoundsTendToStudents(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := fill(20_000, func() float64 { return 0.3 * r.Float64() })
	wide := bounded(t, values...).Interval(0.95)
	narrow, _ := stats.MeanInterval(values, 0.95)
	if !(wide.Low < narrow.Low && wide.High > narrow.High) || wide.High-wide.Low > 1.2*(narrow.High-narrow.Low) {
		t.Errorf("%v, Student's %v", wide, narrow)
	}
	one, ok := stats.NewBounded([]stats.Units{{0.5, 1, 4}, {0, 1, 30}}, 0, 1)
	five, okFive := stats.NewBounded([]stats.Units{{2.5, 5, 4}, {0, 5, 30}}, 0, 1)
	if x, y := one.Interval(0.95), five.Interval(0.95); !ok || !okFive || math.Abs(x.Low-y.Low) > 1e-9 || math.Abs(x.High-y.High) > 1e-9 {
		t.Errorf("%v, in clusters of five %v", x, y)
	}
	for what, units := range map[string][]stats.Units{"none": nil, "beyond the range": {{2, 1, 1}}, "NaN": {{math.NaN(), 1, 1}}, "empty": {{0, 0, 1}}} {
		if _, ok := stats.NewBounded(units, 0, 1); ok {
			t.Errorf("%s: bounded", what)
		}
	}
}

// Where few tasks fail wholly, scores are graded or a judge errs, or whole clusters are
// lost, bounds of the fall are exceeded in no more than they say.
func TestBoundsHold(t *testing.T) {
	const alpha = 0.05
	type unit struct{ sum, size, score float64 }
	judged := func(w world) float64 { return min(1, max(0, 0.76+0.1*w.NormFloat64())) }
	fails := func(share float64, before, after func(w world) float64) func(w world) unit {
		return func(w world) unit {
			if score := before(w); w.Float64() >= share {
				return unit{score - after(w), 1, score}
			} else {
				return unit{score, 1, score}
			}
		}
	}
	quarters := func(w world) float64 { return float64(w.IntN(5)) / 4 }
	exactly := func(w world) float64 { return 0.76 }
	cluster := func(share, spread float64, byTask bool) func(w world) unit {
		return func(w world) unit {
			size := min(100, 1+math.Floor(3*math.Exp(spread*w.NormFloat64())))
			if byTask {
				share = 0.12 / size // small clusters are lost
			}
			if w.Float64() < share {
				return unit{size, size, size}
			}
			return unit{0, size, size}
		}
	}
	for _, c := range []struct {
		name string
		draw func(w world) unit
	}{
		{"exact scores, 7.5 % fail", fails(0.075, exactly, exactly)},
		{"exact scores, 2.5 % fail", fails(0.025, exactly, exactly)},
		{"a judge, 7.5 % fail", fails(0.075, judged, judged)},
		{"a judge, 2.5 % fail", fails(0.025, judged, judged)},
		{"a judge that likes the new side, 3 % fail", fails(0.03, judged, func(w world) float64 { return min(1, judged(w)+0.03) })},
		{"high scores fail", func(w world) unit {
			switch score := 0.2 + 0.8*w.coin(0.5); {
			case score == 1 && w.Float64() < 0.06:
				return unit{score, 1, score}
			default:
				return unit{0, 1, score}
			}
		}},
		{"half of the tasks fail", fails(0.5, quarters, exactly)},
		{"clusters, 5 % are lost", cluster(0.05, 0.5, false)},
		{"clusters that differ much, 6 % are lost", cluster(0.06, 1, false)},
		{"clusters that differ very much, 10 % are lost", cluster(0.1, 1.5, false)},
		{"clusters that differ much, small ones are lost", cluster(0, 1, true)},
	} {
		var sum, size float64
		w := world{rand.New(rand.NewPCG(1, 2))}
		for range 500_000 {
			u := c.draw(w)
			sum, size = sum+u.sum, size+u.size
		}
		truth := sum / size
		for _, n := range []int{12, 20, 30, 60, 120} {
			both := 0
			exceeded := share(t, func(w world) bool {
				units, mirrored, scores := make([]stats.Units, n), make([]stats.Units, n), make([]stats.Units, n)
				for i := range units {
					u := c.draw(w)
					units[i], mirrored[i] = stats.Units{Sum: u.sum, Size: u.size, Count: 1}, stats.Units{Sum: -u.sum, Size: u.size, Count: 1}
					scores[i] = stats.Units{Sum: u.score, Size: u.size, Count: 1}
				}
				up, upOK := stats.NewBounded(units, -1, 1)
				down, downOK := stats.NewBounded(mirrored, -1, 1)
				if !upOK || !downOK {
					t.Fatalf("%s: no bounds of %v", c.name, units)
				}
				if !up.Shows(truth, 1-alpha/2) && !down.Shows(-truth, 1-alpha/2) {
					both++
				}
				return up.Losing(scores).Shows(truth, 1-alpha)
			})
			covered := float64(both) / float64(suites(t))
			t.Logf("%-50s %4d units: exceeded %.1f %%, covered %.1f %%", c.name, n, 100*exceeded, 100*covered)
			if exceeded > alpha+chanceError(t, alpha) || covered < 0.94-chanceError(t, 0.94) {
				t.Errorf("%s, %d units: exceeded %v, covered %v", c.name, n, exceeded, covered)
			}
		}
	}
}
