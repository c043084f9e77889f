package reports

import (
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// taskMeans are the means of tasks over their scored runs.
type taskMeans struct {
	runs *runs
	all  []float64
	// clusters are the same means by cluster, where any task has one.
	clusters [][]float64
	at       map[string]int
	scored   int  // runs
	graded   bool // not all scores are 0 or 1
}

// add takes the scores of a task, one of whose runs is given. It gives false
// where there are none.
func (t *taskMeans) add(run int32, scored []float64) bool {
	mean, ok := stats.Mean(scored)
	if !ok {
		return false
	}
	t.scored += len(scored)
	t.graded = t.graded || slices.ContainsFunc(scored, func(x float64) bool { return x != 0 && x != 1 })
	t.put(t.runs.all[run].task, mean)
	return true
}

// put takes the mean of a task.
func (t *taskMeans) put(task int32, mean float64) {
	t.all = append(t.all, mean)
	if t.runs.clusters != nil {
		t.group(t.runs.clusterOf(task), mean)
	}
}

func (t *taskMeans) group(cluster string, mean float64) {
	at, known := t.at[cluster]
	if !known {
		at = len(t.clusters)
		t.clusters = append(t.clusters, nil)
	}
	t.clusters[at] = append(t.clusters[at], mean)
	if cluster == "" || known {
		return
	}
	if t.at == nil {
		t.at = map[string]int{}
	}
	t.at[cluster] = at
}

// clusterSize is how many tasks a cluster has on average.
func (t *taskMeans) clusterSize() float64 {
	if len(t.clusters) == 0 {
		return 1
	}
	return float64(len(t.all)) / float64(len(t.clusters))
}

// interval is the 95 % interval of the mean of the means: Wilson's on an
// effective number of runs where all scores are 0 or 1, else Student's.
func (t *taskMeans) interval() (interval stats.Interval, ok bool) {
	switch {
	case t.clusters == nil && t.graded:
		return stats.MeanInterval(t.all, stats.Level)
	case t.clusters == nil:
		return stats.MeanProportionInterval(t.all, t.scored, stats.Level)
	case t.graded:
		return t.clusteredMean()
	}
	return t.clusteredShare()
}

func (t *taskMeans) clusteredMean() (interval stats.Interval, ok bool) {
	estimate, ok := stats.ClusteredMean(t.clusters)
	if !ok {
		return stats.Interval{}, false
	}
	return estimate.Interval(stats.Level)
}

func (t *taskMeans) clusteredShare() (interval stats.Interval, ok bool) {
	estimate, ok := stats.ClusteredMean(t.clusters)
	if !ok {
		return stats.ProportionInterval(t.clusters, stats.Level)
	}
	return estimate.Proportion(float64(t.scored), len(t.clusters), stats.Level)
}
