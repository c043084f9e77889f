package reports

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// RangeOf is what the functions of reports/stats give, as a range.
func RangeOf(interval stats.Interval, ok bool) page.Range {
	if !ok {
		return page.NoRange(page.Nothing)
	}
	bound := func(x float64) page.Value {
		if math.IsInf(x, 0) {
			return page.Missing(page.Unbounded)
		}
		return page.ValueOf(x, true)
	}
	return page.Range{Low: bound(interval.Low), High: bound(interval.High)}
}

// How often the clusters are drawn for an interval: of the many points of curves
// and of many configurations less often.
const (
	mostDraws   = 10_000
	curveDraws  = 2_000
	fewestDraws = 1_000
	// manyToDraw is the number of configurations beyond which draws get fewer.
	manyToDraw = 50
)

// drawn is how often clusters are drawn in a report of so many configurations.
func drawn(draws, configurations int) int {
	return max(fewestDraws, draws*manyToDraw/max(manyToDraw, configurations))
}

// measure makes the intervals of a configuration. What varies by chance is which
// tasks a suite has, or which clusters of them: the clusters are resampled, and
// with a cluster all of its runs.
type measure struct {
	runs      *runs
	ordered   []int32
	clusters  []int32 // of each run, parallel to ordered
	groups    int     // clusters
	resamples func(groups, draws int) *stats.Resamples
	level     func(groups int) float64 // stats.PercentileLevel
	// draws are made for an interval, curveDraws for one of a point of a curve.
	draws, curveDraws int
}

func (c *collector) measure(i int) *measure {
	m := &measure{runs: c.runs, ordered: c.runs.ordered[i], resamples: c.resample, level: c.percentileLevel}
	m.draws, m.curveDraws = drawn(mostDraws, len(c.sums)), drawn(curveDraws, len(c.sums))
	m.clusters, m.groups = c.runs.clustersOf(m.ordered)
	return m
}

// resample draws once for all configurations with so many clusters.
func (c *collector) resample(groups, draws int) *stats.Resamples {
	key := [2]int{groups, draws}
	if c.resamples[key] == nil {
		c.resamples[key] = stats.Resample(groups, draws, uint64(c.manifest.Seed))
	}
	return c.resamples[key]
}

// percentileLevel is computed once for all intervals over so many clusters.
func (c *collector) percentileLevel(groups int) float64 {
	level, known := c.levels[groups]
	if !known {
		level = stats.PercentileLevel(groups, stats.Level)
		c.levels[groups] = level
	}
	return level
}

// clustersOf numbers the clusters of runs that are ordered by task.
func (r *runs) clustersOf(ordered []int32) (clusters []int32, groups int) {
	clusters = make([]int32, len(ordered))
	named := map[string]int32{}
	for i, at := range ordered {
		task := r.all[at].task
		if i > 0 && r.all[ordered[i-1]].task == task {
			clusters[i] = clusters[i-1]
			continue
		}
		name := r.clusterOf(task)
		number, known := named[name]
		if !known || name == "" {
			number = int32(groups)
			groups++
			if name != "" {
				named[name] = number
			}
		}
		clusters[i] = number
	}
	return clusters, groups
}

// sums adds up a number of each run by cluster.
func (m *measure) sums(of func(*run) float64) []float64 {
	sums := make([]float64, m.groups)
	for i, at := range m.ordered {
		sums[m.clusters[i]] += of(&m.runs.all[at])
	}
	return sums
}

func (m *measure) counts() []float64 { return m.sums(func(*run) float64 { return 1 }) }

// byCluster are a number of each run, by cluster, in one piece of memory.
func (m *measure) byCluster(of func(at int32) float64) [][]float64 {
	clusters, rest := make([][]float64, m.groups), make([]float64, len(m.ordered))
	for i, n := range m.counts() {
		clusters[i], rest = rest[:0:int(n)], rest[int(n):]
	}
	for i, at := range m.ordered {
		clusters[m.clusters[i]] = append(clusters[m.clusters[i]], of(at))
	}
	return clusters
}

func (m *measure) perTask(u *taskUse, column int, unit func(int64) float64) []float64 {
	sums := make([]float64, m.groups)
	if column >= len(u.columns) {
		return sums
	}
	for i, at := range m.ordered {
		if task := m.runs.all[at].task; (i == 0 || m.runs.all[m.ordered[i-1]].task != task) && int(task) < len(u.columns[column]) {
			sums[m.clusters[i]] += unit(u.columns[column][task])
		}
	}
	return sums
}

func whole(n int64) float64 { return float64(n) }

// mean is a mean over runs with its interval.
func (m *measure) mean(of func(*run) float64, mean page.Value) page.Estimate {
	return m.about(mean, m.sums(of), m.counts(), m.draws)
}

// about is a ratio of two sums with its interval.
func (m *measure) about(ratio page.Value, above, below []float64, draws int) page.Estimate {
	if !ratio.Known() {
		return page.NoEstimate(ratio.Missing)
	}
	return page.Estimate{Value: ratio, Range: m.ratio(above, below, draws)}
}

// ratio is the interval of the ratio of two sums, of which each cluster gives a
// part.
func (m *measure) ratio(above, below []float64, draws int) page.Range {
	level := m.level(m.groups)
	if m.groups > stats.MostResampled {
		return RangeOf(stats.ExpandedRatio(above, below, level))
	}
	return RangeOf(m.resamples(m.groups, draws).Ratio(above, below, level))
}

// share is the interval of the share of the runs, of those that are counted, of
// which something is so.
func (m *measure) share(is func(*run) bool, counted func(*run) bool) page.Range {
	return proportion(m.sums(func(r *run) float64 { return numberOf(counted(r) && is(r)) }), m.sums(func(r *run) float64 { return numberOf(counted(r)) }))
}

// proportion is the interval of a share, from how many runs of each cluster it
// is, and of how many.
func proportion(hits, counts []float64) page.Range {
	clusters, rest := make([][]float64, len(counts)), make([]float64, int(stats.Sum(counts)))
	for i, n := range counts {
		clusters[i], rest = rest[:int(n):int(n)], rest[int(n):]
		for k := range int(hits[i]) {
			clusters[i][k] = 1
		}
	}
	return RangeOf(stats.ProportionInterval(clusters, stats.Level))
}

// anyRun says of every run that it is counted.
func anyRun(*run) bool { return true }

// among is the measure of some of the runs alone, and of the clusters that hold
// any of them.
func (m *measure) among(is func(at int32) bool) *measure {
	some := *m
	some.ordered = nil
	for _, at := range m.ordered {
		if is(at) {
			some.ordered = append(some.ordered, at)
		}
	}
	some.clusters, some.groups = m.runs.clustersOf(some.ordered)
	return &some
}

// meanScore is the interval of the mean over runs of their primary scores, which
// they all have. Whether these are graded is said of the whole configuration: a few
// of its runs may happen to have 0 or 1.
func (m *measure) meanScore(graded bool) page.Range {
	clusters := m.byCluster(func(at int32) float64 {
		score, _ := m.runs.primary(at)
		return score
	})
	if !graded {
		return RangeOf(stats.ProportionInterval(clusters, stats.Level))
	}
	mean, ok := stats.ClusteredMean(clusters)
	if !ok {
		return page.NoRange(page.Nothing)
	}
	return RangeOf(mean.Interval(stats.Level))
}

func (m *measure) perSuccess(mean page.Value) page.Estimate {
	cost, successes := make([]float64, m.groups), make([]float64, m.groups)
	for i, at := range m.ordered {
		if succeeded, known := m.runs.succeeded(at); known {
			cost[m.clusters[i]] += m.runs.all[at].cost.Dollars()
			successes[m.clusters[i]] += numberOf(succeeded)
		}
	}
	return m.about(mean, cost, successes, m.draws)
}

// median is the interval of the median of numbers that are sorted: two of them
// between which it lies.
func (m *measure) median(of func(*run) int64, sorted []int64, unit float64) page.Range {
	low, high, ok := 0, 0, false
	if m.groups == len(sorted) {
		low, high, _, ok = stats.MedianOrders(len(sorted), stats.Level)
	} else if m.groups >= fewestForMedian {
		low, high, ok = m.clusteredMedian(of, sorted)
	}
	if !ok {
		return page.NoRange(page.Nothing)
	}
	return page.Range{Low: page.Known(float64(sorted[low-1]) / unit), High: page.Known(float64(sorted[high-1]) / unit)}
}

// fewestForMedian is the number of independent values below which no two of them
// hold the median between them with a chance of 95 %.
const fewestForMedian = 6

// clusteredMedian gives the places, from 1, of the numbers below which so many
// others lie as the share below the median may be, given how much clusters differ
// in it (R. S. Woodruff, JASA 47, 1952).
func (m *measure) clusteredMedian(of func(*run) int64, sorted []int64) (low, high int, ok bool) {
	n := float64(len(sorted))
	middle := sorted[(len(sorted)-1)/2]
	se, ok := stats.ClusteredSE(m.byCluster(func(at int32) float64 { return numberOf(of(&m.runs.all[at]) <= middle) }))
	if !ok {
		return 0, 0, false
	}
	share, ok := stats.Wilson(0.5, stats.EffectiveN(0.5, se, n), stats.Level)
	return 1 + int(share.Low*n), min(len(sorted), 1+int(share.High*n)), ok
}

func numberOf(is bool) float64 { return float64(number(is)) }

// Means are the means of tasks over their scored runs, of which the mean is taken,
// and what is known of that one. The zero value holds none.
type Means struct {
	All []float64 // of each task
	// Clusters are the same means by cluster, a task without one on its own; nil where
	// no task has one.
	Clusters [][]float64
	at       map[string]int // of the named clusters
	Scored   int            // runs
	graded   bool           // not all scores are 0 or 1
	Beyond   bool           // not all are from 0 to 1
}

// Add takes the scores of a task, and gives false where there are none.
func (t *Means) Add(cluster string, scored []float64) bool {
	if len(scored) == 0 {
		return false
	}
	for _, x := range scored {
		t.graded, t.Beyond = t.graded || x != 0 && x != 1, t.Beyond || x < 0 || x > 1
	}
	t.Scored += len(scored)
	t.Put(cluster, stats.Sum(scored)/float64(len(scored)))
	return true
}

// Put takes the mean of a task.
func (t *Means) Put(cluster string, mean float64) {
	if t.All = append(t.All, mean); cluster == "" && t.at == nil {
		return
	}
	if t.at == nil { // none had a cluster before
		t.at = map[string]int{}
		for _, alone := range t.All[:len(t.All)-1] {
			t.Clusters = append(t.Clusters, []float64{alone})
		}
	}
	at, known := t.at[cluster]
	if !known {
		at, t.Clusters = len(t.Clusters), append(t.Clusters, nil)
		if cluster != "" {
			t.at[cluster] = at
		}
	}
	t.Clusters[at] = append(t.Clusters[at], mean)
}

// Estimate is the mean of the means.
func (t *Means) Estimate() page.Estimate {
	return page.Estimate{Value: page.ValueOf(stats.Mean(t.All)), Range: t.Interval()}
}

// Interval is the 95 % interval of the mean of the means: Wilson's on an
// effective number of runs where all scores are 0 or 1, else Student's, whose ends
// may lie beyond the scale of the scores.
func (t *Means) Interval() page.Range {
	switch {
	case t.Clusters == nil && t.graded:
		return RangeOf(stats.MeanInterval(t.All, stats.Level))
	case t.Clusters == nil:
		return RangeOf(stats.MeanProportionInterval(t.All, t.Scored, stats.Level))
	}
	estimate, ok := stats.ClusteredMean(t.Clusters)
	switch {
	case t.graded && ok:
		return RangeOf(estimate.Interval(stats.Level))
	case t.graded:
		return page.NoRange(page.Nothing)
	case ok:
		return RangeOf(estimate.Proportion(float64(t.Scored), len(t.Clusters), stats.Level))
	}
	return RangeOf(stats.ProportionInterval(t.Clusters, stats.Level))
}

// standardError is that of the mean of the means.
func (t *Means) standardError() (se float64, ok bool) {
	if t.Clusters != nil {
		return stats.ClusteredSE(t.Clusters)
	}
	return stats.StandardError(t.All)
}

// trialIntervals makes the intervals of what is told of a task. Its trials are
// all that varies: they do not depend on each other.
type trialIntervals struct {
	// quantiles are those of Student's t by the number of trials, few of which
	// differ among many tasks.
	quantiles map[int]page.Value
	values    []float64 // of the runs
}

// bound finds the intervals of a task's means over some runs.
func (t *trialIntervals) bound(result *TaskResult, runs *runs, group []int32, isBinary bool) {
	t.values = runs.primaries(group)
	if isBinary {
		result.Score.Range = t.share(result.Score.Value)
	} else {
		result.Score.Range = t.mean(result.Score.Value)
	}
	bound := func(mean *page.Estimate, number func(*run) float64) {
		t.values = t.values[:0]
		for _, at := range group {
			t.values = append(t.values, number(&runs.all[at]))
		}
		mean.Range = t.mean(mean.Value)
	}
	bound(&result.Iterations, func(r *run) float64 { return float64(r.iterations) })
	bound(&result.Cost, func(r *run) float64 { return r.cost.Dollars() })
	bound(&result.Seconds, func(r *run) float64 { return r.elapsed.Seconds() })
}

// mean is Student's interval of the mean of the values.
func (t *trialIntervals) mean(mean page.Value) page.Range {
	switch {
	case !mean.Known():
		return page.NoRange(mean.Missing)
	case len(t.values) < 2:
		return page.NoRange(page.OneTrial)
	case slices.Min(t.values) == slices.Max(t.values):
		return page.NoRange(page.AllEqual)
	}
	estimate, ok := stats.MeanOf(t.values)
	if quantile := t.quantile(len(t.values)); ok && quantile.Known() {
		half := quantile.Number * estimate.SE
		return page.Range{Low: page.Known(mean.Number - half), High: page.Known(mean.Number + half)}
	}
	return page.NoRange(page.Nothing)
}

// share is Wilson's interval of the share of ones among the values.
func (t *trialIntervals) share(mean page.Value) page.Range {
	switch {
	case !mean.Known():
		return page.NoRange(mean.Missing)
	case len(t.values) < 2:
		return page.NoRange(page.OneTrial)
	}
	return RangeOf(stats.Wilson(mean.Number, float64(len(t.values)), stats.Level))
}

// quantile is how many standard errors a mean of so many values is surrounded by.
func (t *trialIntervals) quantile(values int) page.Value {
	known, ok := t.quantiles[values]
	if !ok {
		known = page.ValueOf(stats.StudentQuantile((1+stats.Level)/2, float64(values-1)))
		t.quantiles[values] = known
	}
	return known
}
