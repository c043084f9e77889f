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

// byFlips compares by the changes of tasks: Student's interval of their mean, or of the
// ratio of the means, with standard errors by cluster, and the sign flips of the
// clusters' sums.
func (s *sample) byFlips(l *Line, o *Options) estimate {
	groups := s.groups()
	e := estimate{test: SignFlip}
	var mean stats.Estimate
	var known bool
	if l.Relative {
		mean, known = stats.LogRatio(s.totals(groups))
		e.change = l.logRatio()
	} else {
		mean, known = stats.ClusteredMean(groups)
		e.change, _ = stats.Mean(s.changes())
	}
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

// compare fills the line with what a sample of pairs says.
func (l *Line) compare(s *sample, o *Options) {
	l.Tasks, l.BaseTasks, l.Runs, l.LeftOut, l.Binary = len(s.tasks), len(s.tasks), s.runs, s.leftOut, s.binary && !l.Ratio
	l.Base, l.New = s.means()
	if len(s.tasks) == 0 {
		l.know(nothing(), o)
		return
	}
	l.Relative = l.Ratio && l.Base > 0 && l.New > 0
	scale := 1.0
	if l.Relative {
		scale = (l.Base + l.New) / 2
	}
	s.settle(scale)
	if o.Sequential && !l.Ratio {
		l.Sequential = s.sequential()
	}
	above, below, ties := s.counted()
	l.Wins, l.Losses, l.Ties = above, below, ties
	if l.Lower {
		l.Wins, l.Losses = below, above
	}
	if l.Binary && s.single && !s.clustered {
		l.know(byMcNemar(above, below, len(s.tasks), o), o)
		return
	}
	if s.clustered {
		l.Clusters = len(s.groups())
		l.BaseClusters = l.Clusters
	}
	l.know(s.byFlips(l, o), o)
}

// know takes over an estimate, and judges by its p alone.
func (l *Line) know(e estimate, o *Options) {
	l.Test, l.Method, l.P, l.Adjusted = e.test, e.method, e.p, e.p
	l.Change, l.Low, l.High = e.change, e.low, e.high
	if l.Relative {
		l.Change, l.Low, l.High = math.Expm1(e.change), math.Expm1(e.low), math.Expm1(e.high)
	}
	l.Margin = l.marginOf(o)
	l.Differing, l.Fewest, l.contrary = e.differing, fewest(o.Alpha), e.contrary
	l.needed, l.tooFew = e.needed, l.Paired && l.Tasks > 0 && l.Differing < l.Fewest
	l.judge(o)
}

// logRatio is the logarithm of the ratio of the means.
func (l *Line) logRatio() float64 {
	change := math.Log(l.New) - math.Log(l.Base)
	if math.Abs(change) < equal {
		return 0
	}
	return change
}

// nothing is the estimate of an empty sample.
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

// means are the means of the tasks' means.
func (s *sample) means() (base, new float64) {
	values := make([]float64, len(s.tasks))
	for i := range s.tasks {
		values[i] = s.tasks[i].base
	}
	base = meanOf(values)
	for i := range s.tasks {
		values[i] = s.tasks[i].new
	}
	return base, meanOf(values)
}

func meanOf(values []float64) float64 {
	mean, ok := stats.Mean(values)
	return orNaN(mean, ok)
}

// flips are the tasks whose mean of a binary score changed.
func (p *pairs) flips(s *sample, base *Side, l *Line) (flips []Flip) {
	if !l.Binary {
		return nil
	}
	for _, t := range s.tasks {
		if at := p.tasks[t.at]; t.change != 0 {
			flips = append(flips, Flip{Task: base.Tasks[at.base], Base: t.base, New: t.new, BaseAt: at.base, NewAt: at.new})
		}
	}
	toTheBad := func(f Flip) float64 {
		if l.Lower {
			return f.Base - f.New
		}
		return f.New - f.Base
	}
	slices.SortFunc(flips, func(a, b Flip) int {
		x, y := toTheBad(a), toTheBad(b)
		return cmp.Or(cmp.Compare(sign(x), sign(y)), -cmp.Compare(math.Abs(x), math.Abs(y)), cmp.Compare(a.BaseAt, b.BaseAt))
	})
	return flips
}

func sign(x float64) int { return cmp.Compare(x, 0) }

// Sequential is evidence that may be looked at while tasks come in, any number of
// times ([stats.SequentialEvidence]). Tasks count in the order in which they stand in
// the base, which no result has a part in; clusters in that of their first tasks.
type Sequential struct {
	// Evidence is 1 where nothing is known, and the larger the less likely chance is;
	// NaN where Missing says why there is none. Needed is what shows a difference:
	// 1/alpha, times the comparisons made at once.
	Evidence, Needed float64
	// Units are the tasks, or clusters of them, that were weighed. After is after how
	// many of them the evidence first was what is needed, 0: never. Verdict is what it
	// showed then, else CannotTell.
	Units, After int
	Verdict      Verdict
	Missing      string

	differences []float64 // of the units, in their order
}

// sequential are the mean changes of the units, in their order.
func (s *sample) sequential() *Sequential {
	q := &Sequential{}
	if !s.unit {
		q.Missing = "scores beyond 0 and 1"
	}
	at, tasks := map[int32]int{}, []float64{}
	for _, t := range s.tasks {
		i, known := at[t.cluster]
		if !known || t.cluster == own {
			i = len(tasks)
			at[t.cluster] = i
			q.differences, tasks = append(q.differences, 0), append(tasks, 0)
		}
		tasks[i]++
		q.differences[i] += t.change
	}
	for i, n := range tasks {
		q.differences[i] = math.Round(q.differences[i]/n*1e9) / 1e9
	}
	q.Units = len(q.differences)
	return q
}

// weigh looks at the units one after the other, of which there are so many
// comparisons at once.
func (q *Sequential) weigh(comparisons int, o *Options) {
	q.Evidence, q.Needed, q.After, q.Verdict = math.NaN(), float64(max(1, comparisons))/o.Alpha, 0, CannotTell
	if q.Missing != "" {
		return
	}
	evidence, after, way, ok := stats.SequentialEvidence(q.differences, q.Needed)
	q.Evidence, q.After = orNaN(evidence, ok), after
	switch way {
	case 1:
		q.Verdict = Better
	case -1:
		q.Verdict = Worse
	}
}

// weighAll weighs what was asked for of several comparisons, each quantity on its own.
func weighAll(results []*Result, o *Options) {
	comparisons := map[Quantity]int{}
	for _, weigh := range []bool{false, true} {
		for _, r := range results {
			for i := range r.Lines {
				switch l := &r.Lines[i]; {
				case l.Sequential == nil:
				case weigh:
					l.Sequential.weigh(comparisons[l.Quantity], o)
				default:
					comparisons[l.Quantity]++
				}
			}
		}
	}
}
