package reports

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Task is how the configurations did on one task.
type Task struct {
	ID      string       `json:"id"`
	Results []TaskResult `json:"results"` // one for each configuration of the report, in its order
}

// TaskResult is what was measured of a configuration on a task. Means are over
// the runs that count, and their intervals of what other trials of the same task
// would have given.
type TaskResult struct {
	Runs               int        `json:"runs"`
	Score              page.Value `json:"score"` // the primary one
	ScoreInterval      page.Range `json:"score_interval"`
	Iterations         page.Value `json:"iterations"`
	IterationsInterval page.Range `json:"iterations_interval"`
	Cost               page.Value `json:"cost_usd"`
	CostInterval       page.Range `json:"cost_usd_interval"`
	Seconds            page.Value `json:"latency_s"`
	SecondsInterval    page.Range `json:"latency_s_interval"`
}

// Tasks are the tasks with a run that counts, in natural order of their ids:
// task-2 before task-10. They are made as they are asked for.
func (r *Report) Tasks() iter.Seq[Task] {
	return func(yield func(Task) bool) {
		rank := r.runs.tasks.ranks()
		inOrder := make([]int32, len(rank))
		for task, place := range rank {
			inOrder[place] = int32(task)
		}
		rest, between := slices.Clone(r.runs.ordered), &trialIntervals{quantiles: map[int]page.Value{}}
		for _, task := range inOrder {
			t := Task{ID: r.runs.tasks.all[task], Results: make([]TaskResult, len(rest))}
			for c := range rest {
				n := r.runs.leading(rest[c], task)
				t.Results[c] = r.runs.taskResult(rest[c][:n])
				between.bound(&t.Results[c], r.runs, rest[c][:n], r.isBinary(c))
				rest[c] = rest[c][n:]
			}
			if !yield(t) {
				return
			}
		}
	}
}

// CountTasks is how many tasks there are.
func (r *Report) CountTasks() int { return len(r.runs.tasks.all) }

// leading is how many of the first runs are of that task.
func (r *runs) leading(ordered []int32, task int32) (n int) {
	for n < len(ordered) && r.all[ordered[n]].task == task {
		n++
	}
	return n
}

func (r *runs) taskResult(group []int32) TaskResult {
	var iterations int64
	var cost record.Money
	var scored []float64
	var isUnpriced, isUnreported bool
	for _, at := range group {
		run := &r.all[at]
		iterations += int64(run.iterations)
		cost = cost.Plus(run.cost)
		isUnpriced, isUnreported = isUnpriced || run.unpriced, isUnreported || run.unreported
		if score, ok := r.primary(at); ok {
			scored = append(scored, score)
		}
	}
	runs := int64(len(group))
	result := TaskResult{
		Runs: len(group), Score: page.ValueOf(stats.Mean(scored)), Iterations: page.Ratio(iterations, runs),
		Cost: page.Missing(page.Nothing), Seconds: r.meanSeconds(group),
	}
	if runs > 0 {
		result.Cost = costOr(cost, isUnpriced, isUnreported).Over(float64(runs))
	}
	return result
}
