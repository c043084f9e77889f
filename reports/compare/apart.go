package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// lot is one side of a comparison without pairs: the means of its tasks, by
// cluster.
type lot struct {
	groups        [][]float64
	tasks         int
	clustered     bool // some cluster holds several tasks
	runs, leftOut int
	binary        bool
}

// apart are the values of a side.
func apart(s *Side, c *Column) *lot {
	clusters := numbered(s.Clusters)
	l := &lot{binary: true, clustered: clusters != nil}
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

// mean is that of a task's runs.
func (l *lot) mean(values []float64) (mean float64, ok bool) {
	var sum, n float64
	for _, x := range values {
		if math.IsNaN(x) {
			l.leftOut++
			continue
		}
		n, sum = n+1, sum+x
		l.binary = l.binary && (x == 0 || x == 1)
	}
	if n == 0 {
		return 0, false
	}
	l.runs, l.tasks = l.runs+int(n), l.tasks+1
	return sum / n, true
}

// means are those of all tasks.
func (l *lot) means() []float64 { return slices.Concat(l.groups...) }

// compareApart fills the line with what two independent samples say.
func (l *Line) compareApart(base, new *lot, o *Options) {
	l.Tasks, l.BaseTasks, l.Runs = new.tasks, base.tasks, base.runs+new.runs
	l.LeftOut, l.Binary = base.leftOut+new.leftOut, base.binary && new.binary && !l.Ratio
	x, y := base.means(), new.means()
	l.Base, l.New = meanOf(x), meanOf(y)
	if base.tasks == 0 || new.tasks == 0 {
		l.know(nothing(), o)
		return
	}
	if base.clustered || new.clustered {
		l.Clusters, l.BaseClusters = len(new.groups), len(base.groups)
	}
	l.Relative = l.Ratio && slices.Min(x) > 0 && slices.Min(y) > 0
	e := byWelch(base, new, l, o)
	if e.test == MannWhitney {
		e.ranked(x, y)
	}
	l.know(e, o)
}

// byWelch estimates the difference of the means over tasks, of amounts that of
// their logarithms, with standard errors by cluster. It is what is tested, but for
// amounts of tasks without clusters: theirs are the ranks.
func byWelch(base, new *lot, l *Line, o *Options) estimate {
	x, y := base.groups, new.groups
	if l.Relative {
		x, y = logs(x), logs(y)
	}
	e := nothing()
	e.test = Welch
	if l.Ratio && !l.clustered() {
		e.test = MannWhitney
	}
	e.change = meanOf(slices.Concat(y...)) - meanOf(slices.Concat(x...))
	if math.Abs(e.change) < equal {
		e.change = 0
	}
	difference, known := differenceOf(y, x)
	if !known {
		return e
	}
	e.bound(difference.Interval(stats.Level))
	e.needed = o.needed(difference, known, (base.tasks+new.tasks)/2)
	e.tested(difference.Test())
	return e
}

// differenceOf is that of two means over clusters that depend on nothing
// outside.
func differenceOf(y, x [][]float64) (difference stats.Estimate, ok bool) {
	a, aOK := stats.ClusteredMean(y)
	b, bOK := stats.ClusteredMean(x)
	if !aOK || !bOK {
		return stats.Estimate{}, false
	}
	return a.Minus(b)
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

func logs(groups [][]float64) [][]float64 {
	logs := make([][]float64, len(groups))
	for i, group := range groups {
		for _, x := range group {
			logs[i] = append(logs[i], math.Log(x))
		}
	}
	return logs
}
