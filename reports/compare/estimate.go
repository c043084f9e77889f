package compare

import (
	"cmp"
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

// byFlips compares by the changes of tasks: the interval of their mean, or Student's of the
// ratio of the means, by clusters, and the sign flips of the clusters' sums.
func (s *sample) byFlips(groups [][]float64, d *Difference, o *Options) estimate {
	e := estimate{test: SignFlip}
	var mean stats.Estimate
	var known bool
	if d.Relative {
		mean, known = stats.LogRatio(s.totals(groups))
		e.change = d.logRatio()
	} else {
		mean, known = stats.ClusteredMean(groups)
		e.change, _ = stats.Mean(s.values(nil, change))
	}
	e.needed = o.needed(mean, known, len(s.tasks))
	sums := sumsOf(groups)
	e.differing = differing(sums)
	few := e.differing < fewest(o.Alpha)
	e.bound(s.around(mean, groups))
	if few && e.differing > 0 {
		if least := float64(fewest(o.Alpha)*len(s.tasks)) / float64(e.differing); !(e.needed > least) { // or is not known
			e.needed = least
		}
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

// around is the interval of the mean change: where the scores are from 0 to 1 one that
// counts with rare large changes, else Student's, which assumes that there are none.
func (s *sample) around(mean stats.Estimate, groups [][]float64) (stats.Interval, bool) {
	if !s.unit {
		return mean.Interval(stats.Level)
	}
	bounded, ok := bounded(groups, -1)
	if !ok {
		return stats.Interval{}, false
	}
	return bounded.Interval(stats.Level), true
}

// bounded are the values of clusters, which are at most 1.
func bounded(groups [][]float64, low float64) (*stats.Bounded, bool) {
	units := make([]stats.Units, len(groups))
	for i, group := range groups {
		units[i] = stats.Units{Sum: stats.Sum(group), Size: float64(len(group)), Count: 1}
	}
	return stats.NewBounded(units, low, 1)
}

// mostFlipped is how many changes have their signs flipped. Of more the mean is
// normal as well as anything can be told from 10,000 draws.
const mostFlipped = 2000

// seedOf mixes the seed with the sample: the same sample draws the same flips,
// and over many samples no draw is luckier than others.
func seedOf(sums []float64, seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %.9e", seed, len(sums), stats.Sum(sums))
	return h.Sum64()
}

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

func orNaN(x float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return x
}

// compare fills the difference with what a sample of pairs says.
func (d *Difference) compare(s *sample, o *Options) {
	d.Tasks, d.BaseTasks, d.Runs, d.LeftOut, d.Binary = len(s.tasks), len(s.tasks), s.runs, s.leftOut, s.binary && d.Score
	d.AssumesNoRareLoss = d.Score && !s.unit
	d.Base, d.New = s.means()
	if len(s.tasks) == 0 {
		d.know(nothing(), o)
		return
	}
	d.Relative = !d.Score && d.Base > 0 && d.New > 0
	scale := 1.0
	if d.Relative {
		scale = float64(d.Base+d.New) / 2
	}
	s.settle(scale)
	above, below, ties := s.counted()
	d.Wins, d.Losses, d.Ties = above, below, ties
	if !d.Score {
		d.Wins, d.Losses = below, above
	}
	groups := s.groups()
	if len(groups) < len(s.tasks) {
		d.Clusters, d.BaseClusters = len(groups), len(groups)
	} else if d.Binary && s.single {
		d.know(byMcNemar(above, below, len(s.tasks), o), o)
		return
	}
	d.know(s.byFlips(groups, d, o), o)
}

// know takes over an estimate, and judges by its p alone.
func (d *Difference) know(e estimate, o *Options) {
	d.Test, d.Method, d.P, d.Adjusted = e.test, e.method, Number(e.p), Number(e.p)
	if d.Relative {
		e.change, e.low, e.high = math.Expm1(e.change), math.Expm1(e.low), math.Expm1(e.high)
	}
	d.Change, d.Low, d.High = Number(e.change), Number(e.low), Number(e.high)
	d.Margin = d.marginOf(o)
	d.Differing, d.Fewest, d.contrary = e.differing, fewest(o.Alpha), e.contrary
	d.needed, d.tooFew = e.needed, d.Paired && d.Tasks > 0 && d.Differing < d.Fewest
	d.judge(o)
}

// logRatio is the logarithm of the ratio of the means.
func (d *Difference) logRatio() float64 {
	change := math.Log(float64(d.New)) - math.Log(float64(d.Base))
	if math.Abs(change) < equal {
		return 0
	}
	return change
}

func nothing() estimate {
	return estimate{change: math.NaN(), low: math.NaN(), high: math.NaN(), p: math.NaN(), needed: math.NaN()}
}

// mostNeeded is the number of tasks that is as good as none.
const mostNeeded = 1e6

// numberNeeded rounds up, and is more than there are: they did not do.
func numberNeeded(change, needed float64, have int) int {
	switch {
	case change == 0 && have > 1, needed > mostNeeded:
		return Beyond
	case math.IsNaN(needed):
		return 0
	}
	return max(int(math.Ceil(needed)), have+1)
}

func (s *sample) means() (base, new Number) {
	values := s.values(nil, func(t *taskMeans) float64 { return t.base })
	base = meanOf(values)
	return base, meanOf(s.values(values, func(t *taskMeans) float64 { return t.new }))
}

func meanOf(values []float64) Number {
	mean, ok := stats.Mean(values)
	return Number(orNaN(mean, ok))
}

// flips are the tasks whose mean of a binary score changed.
func (p *pairs) flips(s *sample, base *Side, d *Difference) (flips []Flip) {
	if !d.Binary {
		return nil
	}
	for _, t := range s.tasks {
		if at := p.tasks[t.at]; t.change != 0 {
			flips = append(flips, Flip{Task: base.Tasks[at.base], Base: Number(t.base), New: Number(t.new), BaseAt: at.base, NewAt: at.new})
		}
	}
	slices.SortFunc(flips, func(a, b Flip) int {
		x, y := float64(a.New-a.Base), float64(b.New-b.Base)
		return cmp.Or(cmp.Compare(sign(x), sign(y)), -cmp.Compare(math.Abs(x), math.Abs(y)), cmp.Compare(a.BaseAt, b.BaseAt))
	})
	return flips
}

func sign(x float64) int { return cmp.Compare(x, 0) }
