package tune

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Success is the least score that counts as one.
const Success = 1

// score sums up a score. It is a point only where all runs are exact, and all
// that are scored as recorded are so here.
func (b *Held) score(s int, outcomes []sweep.Outcome, exact bool) Score {
	sum := Score{Name: b.Scores[s]}
	least, most := taskMeans{}, taskMeans{}
	for t := range b.Tasks {
		task := &b.Tasks[t]
		var low, high []float64
		for _, i := range task.Runs {
			if outcomes[i].Excluded() {
				continue
			}
			r, before := ScoreOf(&outcomes[i], s), ScoreOf(&b.Recorded[i], s).Least
			if math.IsNaN(r.Least) || math.IsNaN(r.Most) {
				if !math.IsNaN(before) {
					sum.miss(whyOf(&outcomes[i], s))
				}
				continue
			}
			low, high = append(low, r.Least), append(high, r.Most)
			exact = exact && r.Least == r.Most
			sum.count(r, before, outcomes[i].Verdict == replay.Exact)
		}
		least.add(task.Cluster, low)
		most.add(task.Cluster, high)
	}
	sum.fill(&least, &most, exact)
	return sum
}

// ScoreOf is the s-th score of a run; not known where the run has none.
func ScoreOf(o *sweep.Outcome, s int) sweep.Range {
	if s >= len(o.Scores) {
		return sweep.Range{Least: math.NaN(), Most: math.NaN()}
	}
	return o.Scores[s]
}

// whyOf is why the s-th score of a run is not known.
func whyOf(o *sweep.Outcome, s int) sweep.Why {
	if s < len(o.Unscored) && o.Unscored[s] != "" {
		return o.Unscored[s]
	}
	return sweep.NotJudged
}

// whys are the reasons in the order in which notes give them.
var whys = [...]sweep.Why{sweep.NotJudged, sweep.ReturnsEarlier, sweep.StopsOtherwise, sweep.GoesOtherwise, sweep.UsesUpSteps}

func (sum *Score) miss(why sweep.Why) {
	sum.Unscored++
	sum.whys[slices.Index(whys[:], why)]++
}

func (sum *Score) count(r sweep.Range, before float64, exact bool) {
	sum.Scored++
	if !exact || r.Least != r.Most {
		return
	}
	sum.Successes += count(r.Least >= Success)
	sum.Lost += count(before >= Success && r.Least < Success)
	sum.Gained += count(before < Success && r.Least >= Success)
}

// fill gives the mean, or its bounds, or says why there is neither.
func (sum *Score) fill(least, most *taskMeans, exact bool) {
	none := page.Missing(page.Unscored)
	sum.Mean, sum.Interval, sum.Bounds = none, page.Range{Low: none, High: none}, page.Range{Low: none, High: none}
	if len(least.all) == 0 || sum.Unscored > 0 {
		return
	}
	if exact {
		sum.Mean, sum.Interval, sum.unit = least.end(), least.interval(), !least.beyond
		return
	}
	sum.Mean = page.Missing(page.Nothing)
	sum.Bounds = page.Range{Low: least.end(), High: most.end()}
}

// taskMeans are the means of tasks over their runs.
type taskMeans struct {
	all      []float64
	clusters [][]float64
	at       map[string]int // the place of a named cluster
	scored   int
	graded   bool // not all scores are 0 or 1
	beyond   bool // not all are from 0 to 1
}

// add takes the scores of a task's runs; without any the task does not count.
func (t *taskMeans) add(cluster string, scores []float64) {
	if len(scores) == 0 {
		return
	}
	mean := stats.Sum(scores) / float64(len(scores))
	for _, x := range scores {
		t.graded = t.graded || x != 0 && x != 1
		t.beyond = t.beyond || x < 0 || x > 1
	}
	t.scored += len(scores)
	t.all = append(t.all, mean)
	place, known := t.at[cluster]
	if !known {
		place = len(t.clusters)
		t.clusters = append(t.clusters, nil)
		if t.at == nil {
			t.at = map[string]int{}
		}
		if cluster != "" {
			t.at[cluster] = place
		}
	}
	t.clusters[place] = append(t.clusters[place], mean)
}

// end is the mean, which is none where a score may be anything.
func (t *taskMeans) end() page.Value {
	mean, ok := stats.Mean(t.all)
	if !ok || math.IsInf(mean, 0) {
		return page.Missing(page.Unbounded)
	}
	return page.Known(mean)
}

// interval is the 95 % interval of the mean of the means, as reports have it: its
// ends may lie beyond the scale of the scores.
func (t *taskMeans) interval() page.Range {
	interval, ok := t.estimate()
	if !ok {
		return page.Range{Low: page.Missing(page.Nothing), High: page.Missing(page.Nothing)}
	}
	return page.Range{Low: page.ValueOf(interval.Low, true), High: page.ValueOf(interval.High, true)}
}

func (t *taskMeans) estimate() (interval stats.Interval, ok bool) {
	clustered := len(t.at) > 0
	switch {
	case !clustered && t.graded:
		return stats.MeanInterval(t.all, stats.Level)
	case !clustered:
		return stats.MeanProportionInterval(t.all, t.scored, stats.Level)
	}
	estimate, ok := stats.ClusteredMean(t.clusters)
	switch {
	case t.graded && !ok:
		return stats.Interval{}, false
	case t.graded:
		return estimate.Interval(stats.Level)
	case !ok:
		return stats.ProportionInterval(t.clusters, stats.Level)
	}
	return estimate.Proportion(float64(t.scored), len(t.clusters), stats.Level)
}
