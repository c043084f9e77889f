package compare

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// estimate is a change with its uncertainty, on the scale on which it is
// measured: differences, or logarithms of ratios. What is not known is NaN.
type estimate struct {
	change, low, high float64
	needed            float64 // tasks, not rounded
	differing         int     // tasks, or clusters of them, whose change is not 0
	contrary          bool    // the test points another way than the change
	p                 float64
	test              Test
	method            stats.Method
}

// byMcNemar compares binary scores of one trial.
func byMcNemar(wins, losses, n int, o *Options) estimate {
	e := estimate{change: float64(wins-losses) / float64(n), differing: wins + losses, test: McNemar}
	e.tested(stats.McNemar(wins, losses))
	e.bound(stats.BonettPrice(wins, losses, n, stats.Level))
	won, lost := float64(wins)/float64(n), float64(losses)/float64(n)
	needed, ok := o.power().NeededMcNemar(won, lost)
	e.needed = orNaN(max(needed, float64(fewest(o.Alpha))/(won+lost)), ok)
	return e
}

// byFlips compares by the changes of tasks: Student's interval of their mean,
// with standard errors by cluster, and the sign flips of the clusters' sums.
func (s *sample) byFlips(o *Options) estimate {
	groups := s.groups()
	e := estimate{test: SignFlip}
	e.change, _ = stats.Mean(s.changes())
	mean, known := stats.ClusteredMean(groups)
	e.needed = o.needed(mean, known, len(s.tasks))
	sums := sumsOf(groups)
	e.differing = differing(sums)
	few := e.differing < fewest(o.Alpha)
	e.bound(s.around(mean, groups, few))
	if few && e.differing > 0 {
		e.needed = max(orZero(e.needed), float64(fewest(o.Alpha)*len(s.tasks))/float64(e.differing))
	}
	if e.differing > mostFlipped {
		e.test = Student
		e.tested(mean.Test())
		return e
	}
	sums = oriented(sums)
	e.tested(stats.SignFlip(sums, seedOf(sums, o.Seed)))
	return e
}

// around is the interval of the mean change of groups, few of which differ.
func (s *sample) around(mean stats.Estimate, groups [][]float64, few bool) (stats.Interval, bool) {
	if few && s.unit {
		return sparse(groups)
	}
	return mean.Interval(stats.Level)
}

// mostFlipped is how many changes have their signs flipped. Of more the mean is
// normal as well as anything can be told from 10,000 draws.
const mostFlipped = 2000

// sparse is the interval of a mean change of scores from 0 to 1 where hardly any
// cluster changed, so that Student's would rest on a handful: that of Bonett and
// Price, which counts one more change of 1 in either direction, for changes of
// any size. Clusters weigh as much as they have tasks, as in the mean change.
func sparse(groups [][]float64) (stats.Interval, bool) {
	n := float64(len(groups) + 2)
	var sum, squares, tasks float64
	for _, group := range groups {
		tasks += float64(len(group))
	}
	for _, group := range groups {
		share := stats.Sum(group) * float64(len(groups)) / tasks
		sum, squares = sum+share, squares+share*share
	}
	z, ok := stats.NormalQuantile((1 + stats.Level) / 2)
	half := z * math.Sqrt(((squares+2)/n-(sum/n)*(sum/n))/n)
	return stats.Interval{Low: max(-1, sum/n-half), High: min(1, sum/n+half)}, ok
}

// seedOf mixes the seed with the sample: the same sample draws the same flips,
// and over many samples no draw is luckier than others.
func seedOf(sums []float64, seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %.9e", seed, len(sums), stats.Sum(sums))
	return h.Sum64()
}

// sumsOf are those of groups.
func sumsOf(groups [][]float64) []float64 {
	sums := make([]float64, len(groups))
	for i, group := range groups {
		sums[i] = stats.Sum(group)
	}
	return sums
}

// oriented turns sums so that they add up to more than 0, and sorts them: random
// flips of a sample are then the same in any order of its tasks, and of the one
// with sides swapped.
func oriented(sums []float64) []float64 {
	if stats.Sum(sums) < 0 {
		for i := range sums {
			sums[i] = -sums[i]
		}
	}
	slices.Sort(sums)
	return sums
}

func differing(sums []float64) (n int) {
	for _, sum := range sums {
		if math.Abs(sum) >= equal {
			n++
		}
	}
	return n
}

// fewest is how many tasks have to differ before a test of signs can show
// anything at alpha: 6 at 0.05, because 2 / 2^5 is more.
func fewest(alpha float64) int {
	n := 1
	for n < 1000 && math.Ldexp(2, -n) >= alpha {
		n++
	}
	return n
}

// power is the chance that as many tasks as are needed show the change.
const power = 0.8

func (o *Options) power() stats.Power { return stats.Power{Alpha: o.Alpha, Power: power} }

// needed is how many tasks an estimate from n of them would take to be shown.
func (o *Options) needed(of stats.Estimate, known bool, n int) float64 {
	needed, ok := o.power().Needed(of.SE*of.SE*float64(n), of.Value)
	return orNaN(needed, ok && known)
}

func (e *estimate) bound(ends stats.Interval, ok bool) {
	e.low, e.high = orNaN(ends.Low, ok), orNaN(ends.High, ok)
}

func (e *estimate) tested(test stats.Test, ok bool) {
	e.p, e.method = orNaN(test.P, ok), test.Method
}

func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func orNaN(x float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return x
}
