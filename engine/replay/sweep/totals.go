package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
)

// Totals are sums over a part of the runs. Usage and time are of what is known:
// all of a run that is exact, else the part of it that is recorded. They add up:
// the totals of two parts are those of both together.
type Totals struct {
	Runs                            int
	Exact, Censored, Branches, Told int // Told are some of those that branch
	// Faults are exact runs that would be excluded: they end with a fault, and what
	// they are worth is not known.
	Faults      int
	Successes   int // runs that the loop believed in, of the exact ones
	Iterations  int64
	Least, Most record.Usage // agent and evaluations together
	Elapsed     int64        // nanoseconds
	Scores      []ScoreTotals
	// PerTask are sums in which each run weighs one over the trials of its task, so
	// that tasks count alike: a mean over tasks is such a sum over PerTask.Tasks.
	PerTask TaskTotals
}

// ScoreTotals are sums of one score over a part of the runs.
type ScoreTotals struct {
	// Known is how many runs have a Range; Least and Most are the sums of its ends,
	// PerTask those in which tasks count alike.
	Known       int
	Least, Most float64
	PerTask     Range
	// Unknown is how many runs have an unknown score: see Outcome.Unscored.
	Unknown int
	// Hits are the exact runs with a score of 1 or more. Lost are those that are
	// none though the recorded run was, Gained the other way round.
	Hits, Lost, Gained int
}

// TaskTotals are sums over tasks of the means of their trials.
type TaskTotals struct {
	Tasks       float64 // whole where parts hold whole tasks
	Successes   float64
	Iterations  float64
	Elapsed     float64 // nanoseconds
	Least, Most Amounts
}

// Amounts are what a mean is taken of.
type Amounts struct {
	Calls, InputTokens, OutputTokens, ToolCalls float64
	Cost                                        float64 // 1e-12 USD; see record.Usage.Priced
}

// Label is the worst of the runs.
func (t *Totals) Label() replay.Label {
	switch {
	case t.Told > 0:
		return replay.Counterfactual
	case t.Branches > 0:
		return replay.NeedsCalls
	case t.Censored > 0:
		return replay.Bounded
	}
	return replay.PointExact
}

// Add adds the totals of other runs.
func (t *Totals) Add(o *Totals) {
	t.Runs += o.Runs
	t.Exact, t.Censored, t.Branches, t.Told = t.Exact+o.Exact, t.Censored+o.Censored, t.Branches+o.Branches, t.Told+o.Told
	t.Faults += o.Faults
	t.Successes += o.Successes
	t.Iterations += o.Iterations
	t.Least, t.Most = t.Least.Plus(o.Least), t.Most.Plus(o.Most)
	t.Elapsed += o.Elapsed
	t.PerTask.add(&o.PerTask)
	for len(t.Scores) < len(o.Scores) {
		t.Scores = append(t.Scores, ScoreTotals{})
	}
	for i := range o.Scores {
		t.Scores[i].add(&o.Scores[i])
	}
}

func (s *ScoreTotals) add(o *ScoreTotals) {
	s.Known, s.Unknown = s.Known+o.Known, s.Unknown+o.Unknown
	s.Least, s.Most = s.Least+o.Least, s.Most+o.Most
	s.PerTask.Least, s.PerTask.Most = s.PerTask.Least+o.PerTask.Least, s.PerTask.Most+o.PerTask.Most
	s.Hits, s.Lost, s.Gained = s.Hits+o.Hits, s.Lost+o.Lost, s.Gained+o.Gained
}

func (t *TaskTotals) add(o *TaskTotals) {
	t.Tasks += o.Tasks
	t.Successes += o.Successes
	t.Iterations += o.Iterations
	t.Elapsed += o.Elapsed
	t.Least, t.Most = t.Least.plus(o.Least), t.Most.plus(o.Most)
}

func (a Amounts) plus(b Amounts) Amounts {
	return Amounts{a.Calls + b.Calls, a.InputTokens + b.InputTokens, a.OutputTokens + b.OutputTokens, a.ToolCalls + b.ToolCalls, a.Cost + b.Cost}
}

// weigh makes PerTask of sums over tasks that have so many trials each.
func (t *Totals) weigh(trials int) {
	n := float64(trials)
	t.PerTask = TaskTotals{
		Tasks: float64(t.Runs) / n, Successes: float64(t.Successes) / n, Iterations: float64(t.Iterations) / n,
		Elapsed: float64(t.Elapsed) / n, Least: weighed(t.Least, n), Most: weighed(t.Most, n),
	}
	for i := range t.Scores {
		t.Scores[i].weigh(n)
	}
}

func (s *ScoreTotals) weigh(trials float64) { s.PerTask = Range{s.Least / trials, s.Most / trials} }

func weighed(u record.Usage, n float64) Amounts {
	return Amounts{float64(u.Calls) / n, float64(u.InputTokens) / n, float64(u.OutputTokens) / n, float64(u.ToolCalls) / n, float64(u.Cost) / n}
}

// Parts are runs divided into parts, so that outcomes of many candidates are added
// up without dividing the runs each time.
type Parts struct {
	runs  []Run
	cells *cells
}

// Divide puts each run into a part, from 0; one of a part below 0 is left out.
func Divide(runs []Run, part []int, parts int) *Parts {
	return &Parts{runs, newCells(trials(runs), part, parts)}
}

// Sum adds up outcomes, which are those of the runs in their order, by part. Scores
// are added up in steps of 1e-9, so that their order does not matter.
func (p *Parts) Sum(outcomes []Outcome) *Sums {
	var scores int
	if len(outcomes) > 0 {
		scores = len(outcomes[0].Scores)
	}
	s := &Sums{cells: p.cells, all: p.cells.sums(columnsOf(scores))}
	for i := range outcomes {
		if at := p.cells.of[i]; at >= 0 {
			s.all[at].add(&outcomes[i], &p.runs[i])
		}
	}
	return s
}

// Sum adds up outcomes, which are those of the runs in their order, by the part
// that each run is of: see [Divide].
func Sum(outcomes []Outcome, runs []Run, part []int, parts int) []Totals {
	return Divide(runs, part, parts).Sum(outcomes).Totals()
}

// Sums are what the outcomes of a candidate add up to, by part.
type Sums struct {
	cells   *cells
	all     []sums   // by cell
	columns *columns // those of sums; nil: all
}

// Totals are all sums, by part.
func (s *Sums) Totals() []Totals {
	totals := make([]Totals, s.cells.parts)
	for at, sum := range s.all {
		if s.columns != nil {
			sum = s.columns.unpack(sum)
		}
		t, part := sum.totals(s.cells.trials[at]), &totals[s.cells.part[at]]
		if part.Runs == 0 {
			*part = t
			continue
		}
		part.Add(&t)
	}
	return totals
}

// Score are the sums of one score, by part: those that Totals has of it.
func (s *Sums) Score(score int) []ScoreTotals {
	totals := make([]ScoreTotals, s.cells.parts)
	var columns [ofScore]int // where the score is in the sums; -1: no run has a number there
	for column := range columns {
		columns[column] = ofScores + score*ofScore + column
		if s.columns != nil {
			columns[column] = slices.Index(s.columns.found, columns[column])
		}
	}
	var of [ofScore]int64
	for at, sum := range s.all {
		for column, place := range columns {
			if place >= 0 && place < len(sum) {
				of[column] = sum[place]
			}
		}
		t := sums(of[:]).score()
		t.weigh(float64(s.cells.trials[at]))
		totals[s.cells.part[at]].add(&t)
	}
	return totals
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
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(a.part-b.part, a.trials-b.trials) })
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

// sums are empty sums of each cell.
func (c *cells) sums(columns int) []sums {
	all, memory := make([]sums, len(c.trials)), make(sums, len(c.trials)*columns)
	for i := range all {
		all[i] = memory[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return all
}

// sums are what outcomes add up to, in whole numbers, so that their order does not matter: a number for each column.
type sums []int64

// The columns, in their order; of each score those from ofKnown on.
const (
	ofRuns = iota
	ofExact
	ofCensored
	ofBranches
	ofTold
	ofFaults
	ofSuccesses
	ofMade
	ofElapsed
	ofLeast                                         // the numbers of what was used at least
	ofOpen   = ofLeast + len(record.UsageNumbers{}) // by how much more was used at most
	ofScores = ofOpen + len(record.UsageNumbers{})
)

// The columns of a score.
const (
	ofKnown = iota
	ofUnknown
	ofHits
	ofLost
	ofGained
	ofLeastValue // whole, and steps of 1e-9; then how many are infinite
	ofMostValue  = ofLeastValue + 3
	ofScore      = ofMostValue + 3
)

func columnsOf(scores int) int { return ofScores + scores*ofScore }

// add adds the outcome of a run.
func (s sums) add(o *Outcome, run *Run) {
	s[ofRuns]++
	exact := o.Verdict == replay.Exact
	switch {
	case exact:
		s[ofExact]++
		s[ofFaults] += count(!o.Outcome.Counts())
		s[ofSuccesses] += count(o.Outcome.Success)
	case o.Verdict == replay.Censored:
		s[ofCensored]++
	default:
		s[ofBranches]++
		s[ofTold] += count(o.Told)
	}
	s[ofMade] += int64(o.Iterations)
	s[ofElapsed] += int64(o.Elapsed)
	used := o.Total()
	least, most := used.Least.Numbers(), used.Most.Numbers()
	for n := range least {
		s[ofLeast+n] += *least[n]
		s[ofOpen+n] += *most[n] - *least[n]
	}
	for i, r := range o.Scores {
		if r.Known() {
			s[ofScores+i*ofScore:].addScore(r, exact, run.recordedHit(i))
		}
	}
	for i, why := range o.Unscored {
		s[ofScores+i*ofScore+ofUnknown] += count(why != "")
	}
}

// addScore adds a known score, and counts hits of exact runs, those lost and those gained against the recorded run.
func (s sums) addScore(r Range, exact, recorded bool) {
	s[ofKnown]++
	s[ofLeastValue:].addValue(r.Least)
	s[ofMostValue:].addValue(r.Most)
	if exact {
		hit := r.Hit()
		s[ofHits] += count(hit)
		s[ofLost] += count(recorded && !hit)
		s[ofGained] += count(hit && !recorded)
	}
}

const step = 1_000_000_000

// addValue adds a number, rounded to a step of 1e-9.
func (s sums) addValue(v float64) {
	if math.IsInf(v, 0) {
		s[2]++
		return
	}
	whole := math.Floor(v)
	s[0] += int64(whole)
	s[1] += int64(math.Round((v - whole) * step))
}

// value is a sum of numbers; with infinite ones it has their sign.
func (s sums) value(sign int) float64 {
	if s[2] > 0 {
		return math.Inf(sign)
	}
	whole, steps := s[0]+s[1]/step, s[1]%step
	if steps < 0 {
		whole, steps = whole-1, steps+step
	}
	return float64(whole) + float64(steps)/step
}

// plus adds other sums.
func (s sums) plus(o sums) {
	s = s[:len(o)]
	for column, v := range o {
		s[column] += v
	}
}

func (s sums) minus(o sums) {
	s = s[:len(o)]
	for column, v := range o {
		s[column] -= v
	}
}

// totals are the sums over tasks that have so many trials each.
func (s sums) totals(trials int) Totals {
	t := Totals{
		Runs: int(s[ofRuns]), Exact: int(s[ofExact]), Censored: int(s[ofCensored]), Branches: int(s[ofBranches]), Told: int(s[ofTold]),
		Faults: int(s[ofFaults]), Successes: int(s[ofSuccesses]), Iterations: s[ofMade], Elapsed: s[ofElapsed], Scores: make([]ScoreTotals, (len(s)-ofScores)/ofScore),
	}
	least, most := t.Least.Numbers(), t.Most.Numbers()
	for n := range least {
		*least[n], *most[n] = s[ofLeast+n], s[ofLeast+n]+s[ofOpen+n]
	}
	for i := range t.Scores {
		t.Scores[i] = s[ofScores+i*ofScore:].score()
	}
	t.weigh(trials)
	return t
}

// score are the totals of one score, of its columns.
func (s sums) score() ScoreTotals {
	return ScoreTotals{
		Known: int(s[ofKnown]), Unknown: int(s[ofUnknown]), Hits: int(s[ofHits]), Lost: int(s[ofLost]), Gained: int(s[ofGained]),
		Least: s[ofLeastValue:].value(-1), Most: s[ofMostValue:].value(1),
	}
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
