package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// fewestAlike is how many tasks that are all equal say that the sides are the
// same in an amount, of which no interval can then be told. A score has to show
// by its interval.
const fewestAlike = 20

// judge says what the numbers mean.
func (d *Difference) judge(o *Options) {
	shown := float64(d.Adjusted) < o.Alpha
	d.Contrary = d.contrary && shown
	switch {
	case d.within(o):
		d.Verdict = Same
	case !shown || d.Change == 0 || d.Contrary:
		d.Verdict = CannotTell
	case d.Change > 0 == d.Score:
		d.Verdict = Better
	default:
		d.Verdict = Worse
	}
	d.NotWorse = d.Verdict == Better || d.Verdict == Same || d.Margin > 0 && d.badEnd() < 0
	d.Needed, d.ClustersNeeded, d.TooFew = 0, 0, false
	if d.Verdict == CannotTell {
		d.need()
		d.TooFew = d.tooFew
	}
}

// need says how many tasks would do, and how many clusters: more tasks in the
// same ones are worth little.
func (d *Difference) need() {
	if d.Contrary { // as many of them show nothing but the contradiction
		return
	}
	d.Needed = numberNeeded(float64(d.Change), d.needed, max(d.Tasks, d.BaseTasks))
	if d.Clusters == 0 {
		return
	}
	share := float64(d.Clusters+d.BaseClusters) / float64(d.Tasks+d.BaseTasks)
	d.ClustersNeeded = numberNeeded(float64(d.Change), d.needed*share, max(d.Clusters, d.BaseClusters))
	if d.Needed == Beyond {
		d.ClustersNeeded = Beyond
	}
}

// within reports whether the whole interval is inside the margin.
func (d *Difference) within(o *Options) bool {
	switch {
	case o.margin(d.Quantity) == 0:
		return false
	case math.IsNaN(float64(d.Low)):
		return !d.Score && d.Wins+d.Losses == 0 && d.Ties >= fewestAlike
	}
	return float64(d.Low) >= d.lowest() && float64(d.High) <= d.Margin
}

// lowest is the end of the margin below no change: as far off as the other one,
// which for ratios is measured by their logarithms.
func (d *Difference) lowest() float64 {
	if d.Relative {
		return 1/(1+d.Margin) - 1
	}
	return -d.Margin
}

// badEnd is below 0 where the worst that the interval allows is inside the
// margin.
func (d *Difference) badEnd() float64 {
	if d.Score {
		return d.lowest() - float64(d.Low)
	}
	return float64(d.High) - d.Margin
}

// marginOf is the margin in the unit of the change. Where amounts are compared
// by differences, because some are 0, it is a share of what both sides have on
// average.
func (d *Difference) marginOf(o *Options) float64 {
	margin := o.margin(d.Quantity)
	if both := float64(d.Base + d.New); !d.Score && !d.Relative && !math.IsNaN(both) {
		margin *= math.Abs(both) / 2
	}
	return page.Raw(margin)
}

// Correction is how p values of several comparisons are adjusted.
type Correction string

// The Corrections.
const (
	NoCorrection      Correction = ""
	Holm              Correction = "holm"
	BenjaminiHochberg Correction = "benjamini_hochberg"
)

// manyComparisons is the number above which comparisons are a sweep.
const manyComparisons = 20

// Correct adjusts the p values of several comparisons, each quantity on its own,
// and judges anew: by Holm, which bounds the chance of any false finding; where
// there are more than 20, by Benjamini and Hochberg, who bound the share of
// false ones among the findings. It does nothing to a single one.
func Correct(results []*Result, options Options) Correction {
	o := options.Filled()
	correction, adjust := correctionOf(len(results))
	if adjust != nil {
		correct(results, adjust, &o)
	}
	return correction
}

// correctionOf is how so many comparisons are corrected; nil: not at all.
func correctionOf(comparisons int) (Correction, func([]float64) ([]float64, bool)) {
	switch {
	case comparisons < 2:
		return NoCorrection, nil
	case comparisons > manyComparisons:
		return BenjaminiHochberg, stats.BenjaminiHochberg
	}
	return Holm, stats.Holm
}

// Adjusted are p values of several comparisons of one quantity, adjusted as Correct does it.
func Adjusted(p []float64) []float64 {
	if _, adjust := correctionOf(len(p)); adjust != nil {
		if adjusted, ok := adjust(p); ok {
			return adjusted
		}
	}
	return p
}

// harder is how many times as many tasks it takes to show the same change among
// so many comparisons, at worst: where alpha is shared out by Bonferroni.
func (o *Options) harder(comparisons int) float64 {
	shared := stats.Power{Alpha: o.Alpha / float64(comparisons), Power: power}
	alone, ok := o.power().Needed(1, 1)
	among, sharedOK := shared.Needed(1, 1)
	if !ok || !sharedOK {
		return 1
	}
	return among / alone
}

func correct(results []*Result, adjust func([]float64) ([]float64, bool), o *Options) {
	families := map[Quantity][]*Difference{}
	for _, r := range results {
		for i := range r.Differences {
			if d := &r.Differences[i]; !math.IsNaN(float64(d.P)) {
				families[d.Quantity] = append(families[d.Quantity], d)
			}
		}
	}
	for _, family := range families {
		p := make([]float64, len(family))
		for i, d := range family {
			p[i] = float64(d.P)
		}
		adjusted, ok := adjust(p)
		if !ok {
			continue
		}
		for i, d := range family {
			d.Adjusted = Number(adjusted[i])
			d.needed *= o.harder(len(family))
			d.judge(o)
		}
	}
}

// unpaired is one side of a comparison without pairs: the means of its tasks, by
// cluster.
type unpaired struct {
	groups        [][]float64
	tasks         int
	clustered     bool // some cluster holds several tasks
	runs, leftOut int
	binary, unit  bool
}

func apart(s *Side, c *Column) *unpaired {
	clusters := numbered(s.Clusters)
	l := &unpaired{binary: true, unit: c.Score, clustered: clusters != nil}
	grouped := map[int32][]float64{}
	for task := range s.Tasks {
		mean, ok := l.mean(c.Values[s.Starts[task]:s.Starts[task+1]])
		switch {
		case !ok:
		case l.clustered && clusters[task] != own:
			grouped[clusters[task]] = append(grouped[clusters[task]], mean)
		default:
			l.groups = append(l.groups, []float64{mean})
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(grouped)) {
		l.groups = append(l.groups, grouped[cluster])
	}
	return l
}

func (l *unpaired) mean(values []float64) (mean float64, ok bool) {
	var sum, n float64
	for _, x := range values {
		if math.IsNaN(x) {
			l.leftOut++
			continue
		}
		n, sum = n+1, sum+x
		l.binary, l.unit = l.binary && (x == 0 || x == 1), l.unit && x >= 0 && x <= 1
	}
	if n == 0 {
		return 0, false
	}
	l.runs, l.tasks = l.runs+int(n), l.tasks+1
	return sum / n, true
}

func (l *unpaired) means() []float64 { return slices.Concat(l.groups...) }

// compareApart fills the difference with what two independent samples say.
func (d *Difference) compareApart(base, new *unpaired, o *Options) {
	d.Tasks, d.BaseTasks, d.Runs = new.tasks, base.tasks, base.runs+new.runs
	d.LeftOut, d.Binary = base.leftOut+new.leftOut, base.binary && new.binary && d.Score
	d.AssumesNoRareLoss = d.Score && !(base.unit && new.unit)
	x, y := base.means(), new.means()
	d.Base, d.New = meanOf(x), meanOf(y)
	if base.tasks == 0 || new.tasks == 0 {
		d.know(nothing(), o)
		return
	}
	if base.clustered || new.clustered {
		d.Clusters, d.BaseClusters = len(new.groups), len(base.groups)
	}
	d.Relative = !d.Score && d.Base > 0 && d.New > 0
	e := byWelch(base, new, d, o)
	if e.test == MannWhitney {
		e.ranked(x, y)
	}
	d.know(e, o)
}

// byWelch estimates the difference of the means over tasks, or the ratio of those of
// amounts, with standard errors by cluster; of scores from 0 to 1 the interval counts with
// rare losses. It is what is tested, but for amounts of
// tasks without clusters: theirs are the ranks.
func byWelch(base, new *unpaired, d *Difference, o *Options) estimate {
	e := nothing()
	e.test = Welch
	if !d.Score && d.Clusters == 0 {
		e.test = MannWhitney
	}
	mean := stats.ClusteredMean
	e.change = float64(d.New - d.Base)
	if d.Relative {
		mean, e.change = logMean, d.logRatio()
	}
	if math.Abs(e.change) < equal {
		e.change = 0
	}
	if d.Score && !d.AssumesNoRareLoss {
		of, ok := bounded(new.groups, 0)
		than, thanOK := bounded(base.groups, 0)
		if ok && thanOK {
			e.bound(of.Minus(than, stats.Level), true)
		}
	}
	y, yOK := mean(new.groups)
	x, xOK := mean(base.groups)
	difference, known := y.Minus(x)
	if !yOK || !xOK || !known {
		return e
	}
	if !d.Score || d.AssumesNoRareLoss {
		e.bound(difference.Interval(stats.Level))
	}
	e.needed = o.needed(difference, known, (base.tasks+new.tasks)/2)
	e.tested(difference.Test())
	return e
}

func logMean(groups [][]float64) (stats.Estimate, bool) {
	sizes := make([]float64, len(groups))
	for i, group := range groups {
		sizes[i] = float64(len(group))
	}
	return stats.LogRatio(sumsOf(groups), sizes)
}

// ranked tests by the ranks of the values, which may point another way than the
// change. They would tell apart what only rounding does.
func (e *estimate) ranked(base, new []float64) {
	test, ok := stats.MannWhitney(rounded(base), rounded(new))
	e.tested(test, ok)
	losses := float64(len(base)*len(new)) - test.Statistic // of the base: pairs in which the new side is above
	e.contrary = ok && sign(losses-test.Statistic)*sign(e.change) < 0
}

// rounded are the values to 40 binary digits, some 12 decimal ones.
func rounded(values []float64) []float64 {
	const digits = 40
	short := make([]float64, len(values))
	for i, x := range values {
		fraction, exponent := math.Frexp(x)
		short[i] = math.Ldexp(math.Round(fraction*(1<<digits)), exponent-digits)
	}
	return short
}
