package reports

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// rangeOf is what the functions of reports/stats give, as a range.
func rangeOf(interval stats.Interval, ok bool) page.Range {
	if !ok {
		return page.Range{Low: page.Missing(page.Nothing), High: page.Missing(page.Nothing)}
	}
	return page.Range{Low: bound(interval.Low), High: bound(interval.High)}
}

func bound(x float64) page.Value {
	if math.IsInf(x, 0) {
		return page.Missing(page.Unbounded)
	}
	return page.Known(x)
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

// measure is that of the i-th configuration.
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

// counts are the runs of each cluster.
func (m *measure) counts() []float64 { return m.sums(func(*run) float64 { return 1 }) }

// mean is the interval of the mean over runs; it is missing where the mean is.
func (m *measure) mean(of func(*run) float64, mean page.Value) page.Range {
	return m.about(mean, m.sums(of), m.counts(), m.draws)
}

// about is the interval of a ratio of two sums; it is missing where the ratio is.
func (m *measure) about(ratio page.Value, above, below []float64, draws int) page.Range {
	if !ratio.Known() {
		return page.Range{Low: ratio, High: ratio}
	}
	return m.ratio(above, below, draws)
}

// ratio is the interval of the ratio of two sums, of which each cluster gives a
// part.
func (m *measure) ratio(above, below []float64, draws int) page.Range {
	level := m.level(m.groups)
	if m.groups > stats.MostResampled {
		return rangeOf(stats.ExpandedRatio(above, below, level))
	}
	return rangeOf(m.resamples(m.groups, draws).Ratio(above, below, level))
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
	return rangeOf(stats.ProportionInterval(clusters, stats.Level))
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

// graded says that some primary score is neither 0 nor 1.
func (m *measure) graded() bool {
	return slices.ContainsFunc(m.ordered, func(at int32) bool {
		score, ok := m.runs.primary(at)
		return ok && score != 0 && score != 1
	})
}

// meanScore is the interval of the mean over runs of their primary scores, which
// they all have. Whether these are graded is said of the whole configuration: a few
// of its runs may happen to have 0 or 1.
func (m *measure) meanScore(graded bool) page.Range {
	clusters := make([][]float64, m.groups)
	for i, at := range m.ordered {
		score, _ := m.runs.primary(at)
		clusters[m.clusters[i]] = append(clusters[m.clusters[i]], score)
	}
	if !graded {
		return rangeOf(stats.ProportionInterval(clusters, stats.Level))
	}
	mean, ok := stats.ClusteredMean(clusters)
	if !ok {
		return rangeOf(stats.Interval{}, false)
	}
	return rangeOf(mean.Interval(stats.Level))
}

// perSuccess is the interval of the cost per success.
func (m *measure) perSuccess(mean page.Value) page.Range {
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
		return rangeOf(stats.Interval{}, false)
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
	below := make([][]float64, m.groups)
	for i, at := range m.ordered {
		below[m.clusters[i]] = append(below[m.clusters[i]], numberOf(of(&m.runs.all[at]) <= middle))
	}
	se, ok := stats.ClusteredSE(below)
	if !ok {
		return 0, 0, false
	}
	share, ok := stats.Wilson(0.5, stats.EffectiveN(0.5, se, n), stats.Level)
	return 1 + int(share.Low*n), min(len(sorted), 1+int(share.High*n)), ok
}

func numberOf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
