package sweep

import (
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
		s := &t.Scores[i]
		s.PerTask = Range{s.Least / n, s.Most / n}
	}
}

func weighed(u record.Usage, n float64) Amounts {
	return Amounts{float64(u.Calls) / n, float64(u.InputTokens) / n, float64(u.OutputTokens) / n, float64(u.ToolCalls) / n, float64(u.Cost) / n}
}
