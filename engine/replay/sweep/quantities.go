package sweep

import (
	"math"

	"github.com/agentbench/agentbench/engine/replay"
)

// The quantities of a count, in their order: those of usage, those of usage in
// flight, the time, faults, and then for each score the following.
const (
	flown     = len(fields)
	elapsed   = 2 * len(fields)
	faults    = elapsed + 1
	perScores = faults + 1
)

// Of a score.
const (
	unscored = iota
	value
	hits
	lost
	gained
	ofScore
)

// quantities are those of some of the runs.
func (l *ledger) quantities(runs []int) []replay.Quantity {
	var all []replay.Quantity
	made := func(of func(i int) int64, a amount) {
		all = append(all, replay.Quantity{Made: func(run, n int) int64 { return of(l.from[runs[run]]+n) / a.unit }})
	}
	for f, field := range fields {
		made(func(i int) int64 { return *field(&l.used[i]) }, l.amounts[f])
	}
	for f, field := range fields {
		made(func(i int) int64 { return *field(&l.flown[i]) }, l.amounts[flown+f])
	}
	made(func(i int) int64 { return l.took[i] }, l.amounts[elapsed])
	all = append(all, replay.Quantity{Stopped: func(run, made, _ int) int64 { return truth(l.faults(runs[run], made)) }})
	for s := range l.scores {
		all = append(all, l.score(runs, s)...)
	}
	return all
}

// faults says that a run ends by itself after so many iterations, and would be
// excluded.
func (l *ledger) faults(run, made int) bool {
	p := &l.paths[run]
	return made == len(p.Made) && p.Faults()
}

// ending is how a run ends that makes so many iterations; why it stops there no
// quantity knows.
func (l *ledger) ending(run, made, returned int) *ending {
	end := &l.paths[run].End
	return &ending{made: made, returned: returned, changed: end.Changed, usedUp: end.UsedUp && made == len(l.paths[run].Made)}
}

// score are the quantities of a score.
func (l *ledger) score(runs []int, s int) []replay.Quantity {
	ask := func(of func(worth float64, recorded bool) int64) replay.Quantity {
		return replay.Quantity{Stopped: func(run, made, returned int) int64 {
			i := runs[run]
			worth := math.NaN()
			if !l.faults(i, made) {
				worth, _ = l.recording.worthOf(&l.recording.Runs[i], s, l.ending(i, made, returned))
			}
			return of(worth, l.recording.Runs[i].recordedHit(s))
		}}
	}
	all := make([]replay.Quantity, ofScore)
	all[unscored] = ask(func(v float64, _ bool) int64 { return truth(math.IsNaN(v)) })
	all[value] = ask(func(v float64, _ bool) int64 {
		if math.IsNaN(v) {
			return 0
		}
		return (inSteps(v) - l.scores[s].least) / l.scores[s].unit
	})
	all[hits] = ask(func(v float64, _ bool) int64 { return truth(v >= 1) })
	all[lost] = ask(func(v float64, recorded bool) int64 { return truth(recorded && v < 1) })
	all[gained] = ask(func(v float64, recorded bool) int64 { return truth(!recorded && v >= 1) })
	return all
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// cell makes of a count of some runs what their outcomes would add up to.
func (l *ledger) cell(count *replay.Count, runs int) *cell {
	c := &cell{}
	c.Runs, c.Exact, c.Branches = runs, count.Stops, count.Branches
	c.Censored = runs - count.Stops - count.Branches
	c.Faults, c.Successes = count.Failures+int(count.Sums[faults]), count.Successes
	c.Iterations = count.Iterations
	for f, field := range fields {
		*field(&c.Most) = count.Sums[f] * l.amounts[f].unit
		*field(&c.Least) = *field(&c.Most) - count.Sums[flown+f]*l.amounts[flown+f].unit
	}
	c.Elapsed = count.Sums[elapsed] * l.amounts[elapsed].unit
	c.grow(len(l.scores))
	for s := range l.scores {
		l.worth(c, s, count)
	}
	return c
}

// worth adds a score to a cell.
func (l *ledger) worth(c *cell, s int, count *replay.Count) {
	sums := count.Sums[perScores+s*ofScore:][:ofScore]
	t, ends, a, bounds := &c.Scores[s], &c.scores[s], l.scores[s], l.recording.Bounds[s]
	known, inexact := int64(count.Stops-count.Failures)-sums[unscored], int64(c.Censored+c.Branches)
	t.Known = int(known)
	ends.least.carry(sums[value]*a.unit + known*a.least)
	ends.most = ends.least
	if !math.IsNaN(bounds.Least) {
		t.Known += int(inexact)
		ends.least.add(bounds.Least, inexact)
		ends.most.add(bounds.Most, inexact)
	}
	t.Hits, t.Lost, t.Gained = int(sums[hits]), int(sums[lost]), int(sums[gained])
}
