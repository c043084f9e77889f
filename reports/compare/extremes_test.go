package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/reports/compare"
)

// amountsOf is a side whose tasks have one run each with an amount; clusters of so many tasks, 1: none.
func amountsOf(values []float64, clusters int) *compare.Side {
	s := &compare.Side{Columns: []compare.Column{{Quantity: compare.Quantity{Name: "cost_usd"}, Values: values}}}
	for i := range values {
		s.Tasks, s.Starts, s.Trials = append(s.Tasks, fmt.Sprintf("t%04d", i)), append(s.Starts, int32(i)), append(s.Trials, 1)
		if clusters > 1 {
			s.Clusters = append(s.Clusters, fmt.Sprint(i/clusters))
		}
	}
	s.Starts = append(s.Starts, int32(len(values)))
	return s
}

// Whatever amounts are, each number is known or NaN, and sides that are the same are never better or worse.
func TestExtremeAmounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	extremes := []float64{0, 0, 1e-150, 1e-100, 1e-12, 1e-9, 1e-6, 0.01, 1, 1, 3, 1e6, 1e12, 1e100, 1e150, math.NaN()}
	usual := []float64{0, 0, 1e-6, 1e-4, 0.01, 0.02, 1}
	for round := range 4000 {
		from := usual
		if round%2 == 0 {
			from = extremes
		}
		base, new := make([]float64, 1+random.IntN(25)), []float64(nil)
		for i := range base {
			base[i] = from[random.IntN(len(from))]
			new = append(new, from[random.IntN(len(from))])
		}
		alike := round%3 == 0
		if alike {
			new = base
		}
		clusters := 1 + round%4
		o := compare.Options{Unpaired: round%5 == 0, Seed: uint64(round)}
		r, err := compare.Sides(amountsOf(base, clusters), amountsOf(new, clusters), o)
		if err != nil {
			t.Fatal(err)
		}
		compare.Correct([]*compare.Result{r}, o)
		l := r.Differences[0]
		for name, x := range map[string]compare.Number{
			"base": l.Base, "new": l.New, "change": l.Change, "low": l.Low, "high": l.High, "p": l.P, "adjusted": l.Adjusted, "margin": compare.Number(l.Margin),
		} {
			if math.IsInf(float64(x), 0) && name != "high" { // a ratio may have no upper end
				t.Errorf("%s is %v: %v %v, clusters of %d, %+v", name, x, base, new, clusters, o)
			}
		}
		if l.Low > l.Change+1e-9*abs(l.Change) || l.High < l.Change-1e-9*abs(l.Change) {
			t.Errorf("change %v outside [%v, %v]: %v %v, clusters of %d, %+v", l.Change, l.Low, l.High, base, new, clusters, o)
		}
		if alike && (l.Verdict == compare.Better || l.Verdict == compare.Worse || l.Tasks > 1 && l.Change != 0 && !isNaN(l.Change)) {
			t.Errorf("alike: %v by %v, [%v, %v]: %v, clusters of %d, %+v", l.Verdict, l.Change, l.Low, l.High, base, clusters, o)
		}
		if alike && l.Paired && from[0] == usual[0] && len(from) == len(usual) && l.Tasks >= 20 && l.Verdict != compare.Same {
			t.Errorf("alike: %v by %v, [%v, %v], p %v: %v, clusters of %d, %+v", l.Verdict, l.Change, l.Low, l.High, l.P, base, clusters, o)
		}
		if t.Failed() && round > 400 {
			return
		}
	}
}
