package sweep

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
)

// Sum adds up outcomes, which are those of the runs in their order, by the part
// that each run is of: see [Divide].
func Sum(outcomes []Outcome, runs []Run, part []int, parts int) []Totals {
	return Divide(runs, part, parts).Sum(outcomes)
}

func addUp(outcomes []Outcome, runs []Run, all *cells) []Totals {
	sums := make([]cell, len(all.trials))
	for i := range outcomes {
		if all.of[i] >= 0 {
			sums[all.of[i]].add(&outcomes[i], &runs[i])
		}
	}
	return all.totals(sums)
}

// cells divide runs by part and by the trials of their tasks, so that sums over
// tasks follow from whole numbers.
type cells struct {
	of     []int // by run; -1: none
	part   []int // by cell, which are sorted by part and trials
	trials []int
	parts  int
}

func newCells(trials, part []int, parts int) *cells {
	type key struct{ part, trials int }
	var keys []key
	at := map[key]int{}
	for i, p := range part {
		if k := (key{p, trials[i]}); p >= 0 && at[k] == 0 {
			at[k] = 1
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.part != b.part {
			return a.part - b.part
		}
		return a.trials - b.trials
	})
	c := &cells{of: make([]int, len(part)), parts: parts}
	for i, k := range keys {
		at[k] = i
		c.part, c.trials = append(c.part, k.part), append(c.trials, k.trials)
	}
	for i, p := range part {
		c.of[i] = -1
		if p >= 0 {
			c.of[i] = at[key{p, trials[i]}]
		}
	}
	return c
}

// totals are those of the parts.
func (c *cells) totals(sums []cell) []Totals {
	all := make([]Totals, c.parts)
	for i := range sums {
		t, part := sums[i].totals(c.trials[i]), &all[c.part[i]]
		if part.Runs == 0 {
			*part = t
			continue
		}
		part.Add(&t)
	}
	return all
}

// cell is a sum in the making.
type cell struct {
	Totals
	scores []scoreSum
}

// scoreSum are the ends of the ranges of a score.
type scoreSum struct{ least, most fixed }

func (c *cell) grow(scores int) {
	for len(c.Scores) < scores {
		c.Scores = append(c.Scores, ScoreTotals{})
	}
	for len(c.scores) < scores {
		c.scores = append(c.scores, scoreSum{})
	}
}

// plus adds the sums of other runs.
func (c *cell) plus(o *cell) {
	c.Totals.Add(&o.Totals)
	c.grow(len(o.scores))
	for i := range o.scores {
		c.scores[i].least.plus(&o.scores[i].least)
		c.scores[i].most.plus(&o.scores[i].most)
	}
}

func (c *cell) add(o *Outcome, run *Run) {
	c.Runs++
	switch {
	case o.Verdict == replay.Exact:
		c.exact(&o.Outcome)
	case o.Verdict == replay.Censored:
		c.Censored++
	default:
		c.Branches++
		if o.Told {
			c.Told++
		}
	}
	c.Iterations += int64(o.Iterations)
	used := o.Total()
	c.Least, c.Most = c.Least.Plus(used.Least), c.Most.Plus(used.Most)
	c.Elapsed += int64(o.Elapsed)
	c.grow(len(o.Scores))
	for i, r := range o.Scores {
		if r.Known() {
			c.Scores[i].Known++
			c.scores[i].least.add(r.Least, 1)
			c.scores[i].most.add(r.Most, 1)
		}
		if o.Verdict == replay.Exact {
			c.Scores[i].compare(r, run.recordedHit(i))
		}
	}
}

func (c *cell) exact(o *record.Outcome) {
	c.Exact++
	if !o.Counts() {
		c.Faults++
	}
	if o.Success {
		c.Successes++
	}
}

// compare counts hits, those lost and those gained against the recorded run.
func (s *ScoreTotals) compare(r Range, recorded bool) {
	switch hit := r.Hit(); {
	case hit && recorded:
		s.Hits++
	case hit:
		s.Hits, s.Gained = s.Hits+1, s.Gained+1
	case recorded && r.Known():
		s.Lost++
	}
}

// totals are the sums, of tasks with so many trials each. They are made once.
func (c *cell) totals(trials int) Totals {
	t := c.Totals
	for i := range c.scores {
		t.Scores[i].Least, t.Scores[i].Most = c.scores[i].least.sum(), c.scores[i].most.sum()
	}
	t.weigh(trials)
	return t
}

// fixed is a sum of numbers, each rounded to a step of 1e-9: the order in which
// they are added does not matter.
type fixed struct {
	whole, steps int64
	below, above bool // of what is infinite
}

const step = 1_000_000_000

// add adds a number so many times.
func (f *fixed) add(v float64, times int64) {
	switch {
	case times == 0:
	case math.IsInf(v, -1):
		f.below = true
	case math.IsInf(v, 1):
		f.above = true
	default:
		whole := math.Floor(v)
		f.whole += times * int64(whole)
		f.carry(times * int64(math.Round((v-whole)*step)))
	}
}

// carry adds steps.
func (f *fixed) carry(steps int64) {
	f.steps += steps
	f.whole += f.steps / step
	if f.steps %= step; f.steps < 0 {
		f.steps, f.whole = f.steps+step, f.whole-1
	}
}

func (f *fixed) plus(o *fixed) {
	f.whole += o.whole
	f.carry(o.steps)
	f.below, f.above = f.below || o.below, f.above || o.above
}

func (f *fixed) sum() float64 {
	switch {
	case f.above && f.below:
		return math.NaN()
	case f.above:
		return math.Inf(1)
	case f.below:
		return math.Inf(-1)
	}
	return float64(f.whole) + float64(f.steps)/step
}
