package sweep

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
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
	s.Known += o.Known
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

// Sum adds up outcomes, which are those of the runs in their order, by the part
// that each run is of: see [Divide].
func Sum(outcomes []Outcome, runs []Run, part []int, parts int) []Totals {
	return Divide(runs, part, parts).Sum(outcomes)
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

// Totals visits every candidate with the sums of its outcomes over each part of the
// runs, as Sum gives them, in no order and several candidates at a time. A part is a
// number from 0; runs of a part below 0 are left out. The error is that of the context.
func (s *Sweep) Totals(ctx context.Context, part []int, parts int, visit func(candidate int, totals []Totals)) error {
	into := newCells(s.tasks, part, parts)
	var others []int // that are not counted
	for _, f := range s.families {
		quick, err := s.countable(ctx, f)
		if err != nil {
			return err
		}
		counted := func(candidate int) bool { return quick && !s.told(candidate, f.recording) }
		if quick {
			err = s.count(ctx, f, into, func(candidate int, totals []Totals) {
				if counted(candidate) {
					visit(candidate, totals)
				}
			})
		}
		if err != nil {
			return err
		}
		for _, candidate := range f.members {
			if !counted(candidate) {
				others = append(others, candidate)
			}
		}
	}
	for some := range slices.Chunk(others, max(1, mostSums/max(1, len(into.trials)))) {
		if err := s.sum(ctx, some, into, visit); err != nil {
			return err
		}
	}
	return nil
}

// mostSums are made at a time.
const mostSums = 20_000

func (s *Sweep) sum(ctx context.Context, candidates []int, into *cells, visit func(candidate int, totals []Totals)) error {
	var workers [][]cell // by candidate and cell
	n := len(into.trials)
	err := s.Visit(ctx, candidates, func() func(int, int, *Outcome, bool) {
		sums := make([]cell, len(candidates)*n)
		workers = append(workers, sums)
		return func(k, run int, o *Outcome, _ bool) {
			if at := into.of[run]; at >= 0 {
				sums[k*n+at].add(o, &s.recordings[s.of[candidates[k]].recording].Runs[run])
			}
		}
	})
	if err != nil {
		return err
	}
	for k, candidate := range candidates {
		sums := workers[0][k*n : (k+1)*n]
		for _, other := range workers[1:] {
			for at := range sums {
				sums[at].plus(&other[k*n+at])
			}
		}
		visit(candidate, into.totals(sums))
	}
	return nil
}

// ofIterations are the names of parameters that count iterations, or steps where
// a guard looks at these.
var ofIterations = []string{"max_iterations", "absolute_max_iterations", "min_iterations", "patience", "times", "window", "threshold"}

// counts reports whether a parameter is a number of iterations, of steps or of turns.
func counts(l *spec.Loop, path string) bool {
	// A max_iterations may have a name of its own.
	isMaximum := slices.ContainsFunc(l.Values(), func(v spec.Value) bool { return v.Path == path && v.Value == string(spec.KindMaxIterations) })
	if !slices.Contains(ofIterations, lastOf(path)) && !isMaximum && !limitsSteps(l, path) && path != "user.max_turns" {
		return false
	}
	return slices.ContainsFunc(l.Values(), func(v spec.Value) bool {
		_, whole := v.Value.(int64)
		return v.Path == path && whole
	})
}

func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// limitsSteps knows how many steps an agent, or a program, makes at most: that of the loop, of a
// phase or of a strategy.
func limitsSteps(l *spec.Loop, path string) bool {
	return lastOf(path) == "max_steps" && (path == "agent.max_steps" || strings.HasSuffix(path, ".agent.max_steps")) && (converses(l) || l.LimitsPrograms())
}

func converses(l *spec.Loop) bool {
	return slices.ContainsFunc(l.Stages(), func(s spec.Stage) bool { return l.Converses(s.Agent) })
}

// counted is what a parameter counts of a run; nil: its iterations.
func counted(l *spec.Loop, path string) func(*record.Run) int {
	switch {
	case limitsSteps(l, path):
		return mostSteps(l, path)
	case path == "user.max_turns":
		return mostTurns
	case looksAtSteps(l, path):
		return allSteps
	}
	return nil
}

// looksAtSteps reports whether a parameter is of a guard that looks at the steps of a
// run. Iterations without any count, too: as failures, of circuit_breaker.
func looksAtSteps(l *spec.Loop, path string) bool {
	guard, inside := strings.CutPrefix(path, "guards.")
	if !inside {
		return false
	}
	if guard == "circuit_breaker.threshold" {
		return converses(l)
	}
	scope := "guards." + strings.TrimSuffix(guard, "."+lastOf(guard)) + ".scope"
	return slices.ContainsFunc(l.Values(), func(v spec.Value) bool { return v.Path == scope && v.Value == spec.ScopeStep })
}

// mostSteps are those of the longest iteration, as far as the limit counts them. A call that the recorded limit refused is one more.
func mostSteps(l *spec.Loop, path string) func(*record.Run) int {
	steps := (*record.Iteration).StepCount
	if slices.ContainsFunc(l.StepLimits(), func(of spec.StepLimit) bool { return of.Path == path && of.Main }) {
		steps = (*record.Iteration).MainStepCount
	}
	return func(run *record.Run) (most int) {
		for i := range run.Iterations {
			n := steps(&run.Iterations[i])
			if run.Iterations[i].Cut == string(record.ReasonMaxSteps) {
				n++
			}
			most = max(most, n)
		}
		return most
	}
}

// mostTurns are those of a user.
func mostTurns(run *record.Run) (most int) {
	for i := range run.Iterations {
		turns := 0
		for _, step := range run.Iterations[i].Steps {
			if step.User != "" {
				turns++
			}
		}
		most = max(most, turns)
	}
	return most
}

func allSteps(run *record.Run) (all int) {
	for i := range run.Iterations {
		all += max(1, len(run.Iterations[i].Steps))
	}
	return all
}

// upTo are the whole numbers up to the most that a run has of something.
func upTo(recordings []Recording, of func(*record.Run) int) []float64 {
	most := 0
	for i := range recordings {
		if of == nil {
			for k := range recordings[i].Runs {
				most = max(most, recordings[i].Runs[k].Iterations())
			}
			continue
		}
		for run := range recordings[i].whole() {
			most = max(most, of(run))
		}
	}
	values := make([]float64, most)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}
