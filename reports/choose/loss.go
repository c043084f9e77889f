package choose

import (
	"context"
	"math"

	"github.com/agentbench/agentbench/reports/stats"
)

// loss is how much of a score a candidate may lose against the recording.
type loss struct {
	lost, gained, runs int
	// most is the one-sided upper bound of the share of runs that lose their
	// success; where runs may also gain one, or the score is graded, of what the
	// mean loses.
	most float64
	net  bool // the latter
}

// lossOf bounds the loss on a subset, at a level. Runs that are independent have the bound of
// Clopper and Pearson, and that of Bonett and Price where some gain; where tasks
// have several runs or stand in clusters, the bounds are by these.
func (t *chooser) lossOf(ctx context.Context, candidate, subset int, level float64) (l loss, err error) {
	same, err := t.onTheRecording(ctx, candidate)
	if err != nil {
		return l, err
	}
	if same && t.independent && !t.graded {
		return t.plainLoss(candidate, subset, level), nil
	}
	if same && t.hopeless(candidate, subset, level) {
		l = t.flips(candidate, subset)
		l.most = math.Inf(1)
		return l, nil
	}
	return t.clusteredLoss(ctx, candidate, subset, level)
}

// lossInFull bounds the loss on a subset, at a level, however large it is.
func (t *chooser) lossInFull(ctx context.Context, candidate, subset int, level float64) (loss, error) {
	same, err := t.onTheRecording(ctx, candidate)
	if err != nil {
		return loss{}, err
	}
	if same && t.independent && !t.graded {
		return t.plainLoss(candidate, subset, level), nil
	}
	return t.clusteredLoss(ctx, candidate, subset, level)
}

// onTheRecording says that a candidate is replayed on the recording that losses
// are counted against.
func (t *chooser) onTheRecording(ctx context.Context, candidate int) (bool, error) {
	on, err := t.Recording(ctx, candidate)
	return on == 0, err
}

// flips are the successes lost and gained on a subset, by the totals.
func (t *chooser) flips(candidate, subset int) (l loss) {
	for f := range t.sums[candidate] {
		if subset == 0 || f != subset-1 {
			s := &t.sums[candidate][f].scores[t.score]
			l.lost, l.gained, l.runs = l.lost+int(s.lost), l.gained+int(s.gained), l.runs+int(s.known)
		}
	}
	return l
}

func (t *chooser) plainLoss(candidate, subset int, level float64) loss {
	l := t.flips(candidate, subset)
	if l.gained == 0 {
		l.most = t.atMost(l.lost, l.runs, level)
		return l
	}
	l.net, l.most = true, math.Inf(1)
	if interval, ok := stats.BonettPrice(l.lost, l.gained, l.runs, 2*level-1); ok {
		l.most = interval.High
	}
	return l
}

// counted is what a bound of a share follows from.
type counted struct {
	x, n  int
	level float64
}

// atMost remembers the bounds of Clopper and Pearson: many candidates lose as
// much.
func (t *chooser) atMost(x, n int, level float64) float64 {
	key := counted{x, n, level}
	bound, known := t.bounds[key]
	if !known {
		var ok bool
		if bound, ok = stats.ProportionAtMost(x, n, level); !ok {
			bound = math.Inf(1)
		}
		t.bounds[key] = bound
	}
	return bound
}

// hopeless says that a candidate loses more than is allowed without any bound, or
// with that of independent runs, so that its runs need not be looked at.
func (t *chooser) hopeless(candidate, subset int, level float64) bool {
	l := t.flips(candidate, subset)
	if !t.graded && l.gained == 0 {
		return t.atMost(l.lost, l.runs, level) > t.Choose.Number
	}
	before, now := t.recordedSums[subset].score(t.score), t.over(&sums{}, candidate, subset)
	return numberOf(before)-numberOf(now.score(t.score)) > t.Choose.Number
}

// lossCell is what a candidate loses and gains in a cell, and what its score sums up
// to: what bounds of losses need of a profile, which is much larger.
type lossCell struct {
	lost, gained, known int32
	sum, tasks          float64 // of the score, tasks counting alike, and over so many tasks
}

// mostLossCells are kept at a time, of all candidates together.
const mostLossCells = 5_000_000

// lossCells replays a candidate, and remembers what it loses: the folds ask for the same
// candidates again and again.
func (t *chooser) lossCells(ctx context.Context, candidate int) ([]lossCell, error) {
	if known, ok := t.losses[candidate]; ok {
		return known, nil
	}
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return nil, err
	}
	cells := make([]lossCell, len(p.cells))
	for c := range p.cells {
		if t.score >= len(p.cells[c].Scores) {
			continue
		}
		total, score := &sums{}, &p.cells[c].Scores[t.score]
		total.add(&p.cells[c])
		cells[c] = lossCell{int32(score.Lost), int32(score.Gained), int32(score.Known), total.scores[t.score].sum, total.scores[t.score].tasks}
	}
	if (len(t.losses)+1)*len(cells) > mostLossCells {
		clear(t.losses)
	}
	t.losses[candidate] = cells
	return cells, nil
}

func (t *chooser) clusteredLoss(ctx context.Context, candidate, subset int, level float64) (loss, error) {
	cells, err := t.lossCells(ctx, candidate)
	if err != nil {
		return loss{}, err
	}
	var l loss
	byUnit := make([][]float64, t.units)
	for c := range cells {
		if !t.in(c, subset) {
			continue
		}
		s := &cells[c]
		l.lost, l.gained, l.runs = l.lost+int(s.lost), l.gained+int(s.gained), l.runs+int(s.known)
		for i := range s.known {
			byUnit[t.cellUnit[c]] = append(byUnit[t.cellUnit[c]], float64(count(i < s.lost)))
		}
	}
	if !t.graded && l.gained == 0 {
		l.most = shareAtMost(byUnit, level)
		return l, nil
	}
	l.net = true
	l.most, err = t.meanLoss(ctx, cells, subset, level)
	return l, err
}

// means are the pseudo-values of the mean of the score for the units of a subset, as
// influence has them of any term.
func (t *chooser) means(cells []lossCell, subset int) []float64 {
	units := make([]lossCell, t.units)
	var all lossCell
	for c := range cells {
		if s := &cells[c]; t.in(c, subset) {
			u := &units[t.cellUnit[c]]
			u.sum, u.tasks, u.known = u.sum+s.sum, u.tasks+s.tasks, u.known+1
			all.sum, all.tasks = all.sum+s.sum, all.tasks+s.tasks
		}
	}
	values, mean := []float64{}, 0.0
	for _, u := range units {
		if u.known > 0 {
			without := (all.sum - u.sum) / (all.tasks - u.tasks)
			values = append(values, without)
			mean += without
		}
	}
	return pseudo(values, all.sum/all.tasks, mean/float64(len(values)))
}

// shareAtMost is the bound of the share of ones. It is no less than that of none: a
// few, one to a cluster, do not show that the runs of a cluster are independent.
func shareAtMost(clusters [][]float64, level float64) float64 {
	n, filled := 0, 0
	for _, c := range clusters {
		n, filled = n+len(c), filled+count(len(c) > 0)
	}
	estimate, ok := stats.ClusteredMean(clusters)
	if !ok { // they do not vary
		estimate = stats.Estimate{}
		if filled > 0 {
			estimate.Value = float64(count(valueAt(clusters) > 0))
		}
	}
	bound, ok := estimate.ProportionAtMost(float64(n), filled, level)
	none, known := stats.Estimate{}.ProportionAtMost(float64(n), filled, level)
	if !ok || !known {
		return math.Inf(1)
	}
	return max(bound, none)
}

// valueAt is the first of the values.
func valueAt(clusters [][]float64) float64 {
	for _, c := range clusters {
		if len(c) > 0 {
			return c[0]
		}
	}
	return 0
}

// fewDiffer is below how many units that lose or gain something Student's t is not
// relied on alone: two of them may be near to each other by chance.
const fewDiffer = 10

// meanLoss is the one-sided bound of what the mean of the score loses, by
// Student's t. Where no unit loses or gains anything, it is that of the share of
// units that might; where few do, it is no less.
func (t *chooser) meanLoss(ctx context.Context, cells []lossCell, subset int, level float64) (float64, error) {
	before, err := t.lossCells(ctx, theRecording)
	if err != nil {
		return 0, err
	}
	d := differences(t.means(before, subset), t.means(cells, subset))
	if len(d) < 2 {
		return math.Inf(1), nil
	}
	estimate, ok := stats.MeanOf(d)
	if !ok || estimate.SE == 0 {
		mean, _ := stats.Mean(d)
		return mean + t.atMost(0, len(d), level), nil
	}
	quantile, ok := stats.StudentQuantile(level, estimate.Degrees)
	if !ok {
		return math.Inf(1), nil
	}
	most := estimate.Value + quantile*estimate.SE
	if differing(d) < fewDiffer {
		most = max(most, t.atMost(0, len(d), level))
	}
	if !t.wide {
		most = min(most, 1) // no score from 0 to 1 falls by more
	}
	return most, nil
}

// differing counts the differences that are not 0.
func differing(d []float64) (n int) {
	for _, x := range d {
		n += count(x != 0)
	}
	return n
}

// differences are those of two lists of one length, nil where they are not.
func differences(a, b []float64) []float64 {
	if a == nil || len(a) != len(b) {
		return nil
	}
	d := make([]float64, len(a))
	for i := range d {
		if d[i] = a[i] - b[i]; math.Abs(d[i]) < 1e-9 {
			d[i] = 0
		}
	}
	return d
}
