package reports

import (
	"iter"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// The ways to reduce the trials of a task, as suites name them.
const (
	reduceMean     = "mean"
	reduceMedian   = "median"
	reduceMin      = "min"
	reduceMax      = "max"
	reduceStd      = "std"
	reducePassRate = "pass_rate"
	reducePassAtK  = "pass_at_k"
	reducePassHatK = "pass_hat_k"
	reduceMajority = "majority"
	reduceBestOfK  = "best_of_k"
)

// noAnswer is what scorers take for the answer where there is none.
const noAnswer = "none"

// reducer makes a metric of runs.
type reducer struct {
	*record.MetricHead
	runs      *runs
	score, by *scores // nil: none was ever made
	answers   *answers
	none      uint64 // the answer none
}

// madeOf finds what a metric is made of.
func (c *collector) madeOf(head *record.MetricHead) *reducer {
	r := &reducer{MetricHead: head, runs: c.runs, score: c.scorers[head.Score], by: c.scorers[head.By], answers: c.answers}
	if c.answers != nil {
		r.none = c.answers.hash(noAnswer)
	}
	return r
}

// over is the metric of the tasks whose runs are given.
func (r *reducer) over(m *measure, tasks iter.Seq[[]int32], draws int) MetricValue {
	means := &taskMeans{runs: r.runs}
	v := MetricValue{}
	scored := 0
	for group := range tasks {
		t := r.trials(group)
		if len(t.values) == 0 {
			continue
		}
		scored++
		value, ok := r.reduce(&t)
		switch {
		case !ok:
			v.LeftOut++
		case r.isMean():
			means.add(group[0], t.values)
		default:
			means.put(r.runs.all[group[0]].task, value)
		}
	}
	v.Tasks, v.Value = len(means.all), page.ValueOf(stats.Mean(means.all))
	if v.Tasks == 0 {
		v.Value = r.why(scored)
		v.Low, v.High = v.Value, v.Value
		return v
	}
	v.unit = slices.Min(means.all) >= 0 && slices.Max(means.all) <= 1
	between := r.interval(m, means, draws)
	v.Low, v.High = between.Low, between.High
	return v
}

// why a metric of no task is missing.
func (r *reducer) why(scored int) page.Value {
	switch {
	case scored == 0:
		return page.Missing(page.Unscored)
	case r.Reduce == reduceMajority:
		return page.Missing(page.Unanswered)
	}
	return page.Missing(page.FewTrials)
}

// isMean says that the metric is a mean over runs, which has the intervals of
// scores.
func (r *reducer) isMean() bool { return r.Reduce == reduceMean || r.Reduce == reducePassRate }

// taskTrials are what is known of the trials of a task, the first one first.
type taskTrials struct {
	values, by []float64
	answers    []uint64
}

func (r *reducer) trials(group []int32) (t taskTrials) {
	for _, run := range group {
		value, ok := r.score.of(run)
		if !ok {
			continue
		}
		switch r.Reduce {
		case reduceBestOfK:
			by, ok := r.by.of(run)
			if !ok {
				continue
			}
			t.by = append(t.by, by)
		case reduceMajority:
			t.answers = append(t.answers, r.answers.answer(r.Score, run))
		case reducePassRate:
			value = numberOf(value >= r.Threshold)
		}
		t.values = append(t.values, value)
	}
	return t
}

// reduce makes one number of the trials of a task, where they are enough.
func (r *reducer) reduce(t *taskTrials) (value float64, ok bool) {
	switch r.Reduce {
	case reduceMean, reducePassRate:
		return stats.Mean(t.values)
	case reduceMedian:
		return stats.Quantile(slices.Sorted(slices.Values(t.values)), 0.5)
	case reduceMin:
		return slices.Min(t.values), true
	case reduceMax:
		return slices.Max(t.values), true
	case reduceStd:
		variance, ok := stats.Variance(t.values)
		return math.Sqrt(variance), ok
	case reducePassAtK:
		return stats.PassAtK(len(t.values), r.successes(t), r.K)
	case reducePassHatK:
		return stats.PassHatK(len(t.values), r.successes(t), r.K)
	case reduceBestOfK:
		return stats.BestOfK(t.values, t.by, r.K)
	case reduceMajority:
		if slices.Contains(t.answers, 0) {
			return 0, false
		}
		return stats.Majority(t.answers, t.values, r.none)
	}
	return 0, false // of a newer agentbench
}

func (r *reducer) successes(t *taskTrials) (n int) {
	for _, value := range t.values {
		if value >= r.Threshold {
			n++
		}
	}
	return n
}

// interval is that of the mean of the tasks' numbers: of means over runs as
// scores have it, of others by resampling the tasks, or the clusters of them.
// Where all tasks are worth 0, or all 1, a bootstrap would say that it is sure.
func (r *reducer) interval(m *measure, means *taskMeans, draws int) page.Range {
	if r.isMean() {
		return rangeOf(means.interval())
	}
	above, below := means.all, make([]float64, len(means.all))
	for i := range below {
		below[i] = 1
	}
	if means.clusters != nil {
		above, below = make([]float64, len(means.clusters)), make([]float64, len(means.clusters))
		for i, of := range means.clusters {
			above[i], below[i] = stats.Sum(of), float64(len(of))
		}
	}
	if first := means.all[0]; (first == 0 || first == 1) && r.Reduce != reduceStd && allEqual(means.all) {
		return rangeOf(stats.Wilson(first, float64(len(above)), stats.Level))
	}
	some := *m
	some.groups = len(above)
	return some.ratio(above, below, draws)
}

func allEqual(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}
