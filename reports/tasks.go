package reports

import (
	"iter"
	"slices"
	"time"

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

func (r *runs) taskResult(group []int32) TaskResult {
	var iterations int64
	var cost record.Money
	var isUnpriced, isUnreported bool
	for _, at := range group {
		run := &r.all[at]
		iterations += int64(run.iterations)
		cost = cost.Plus(run.cost)
		isUnpriced, isUnreported = isUnpriced || run.lacks(unpriced), isUnreported || run.lacks(unreported)
	}
	runs := int64(len(group))
	result := TaskResult{
		Runs: len(group), Score: page.ValueOf(stats.Mean(r.primaries(group))), Iterations: page.Ratio(iterations, runs),
		Cost: page.Missing(page.Nothing), Seconds: r.meanSeconds(group),
	}
	if runs > 0 {
		result.Cost = costOr(cost, isUnpriced, isUnreported).Over(float64(runs))
	}
	return result
}

// meanSeconds is the mean time of some runs, unknown where that of one is.
func (r *runs) meanSeconds(group []int32) page.Value {
	var elapsed time.Duration
	for _, at := range group {
		if r.all[at].lacks(untimed) {
			return page.Missing(page.Unknown)
		}
		elapsed += r.all[at].elapsed
	}
	return page.ValueOf(stats.Ratio(elapsed.Seconds(), float64(len(group))))
}

// isBinary reports whether all primary scores of the i-th configuration are 0 or 1.
func (r *Report) isBinary(i int) bool {
	scores := r.Configurations[i].Scores
	return len(scores) > 0 && scores[0].Binary
}

// manyConfigurations is the number of configurations from which on the table of
// tasks has no room for their iterations.
const manyConfigurations = 4

// tasksTable has one row for each task, for people: the primary score and the
// iterations of each configuration beside each other.
func tasksTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	fields := page.Named("task", "task", func(t Task) string { return t.ID })
	if len(r.Configurations) > 1 && r.Primary() != "" {
		fields = append(fields, page.Valued("spread", "", form, Task.spread)...)
	}
	for i := range r.Configurations {
		named := r.nameCell(&r.Configurations[i])
		measured := func(head string, form func(page.Value) string, of func(*TaskResult) (page.Value, page.Range)) page.Fields[Task] {
			return page.Measured(head, "", form, func(t Task) (page.Value, page.Range) { return of(&t.Results[i]) }).About(named.Text, named.Warnings...)
		}
		if r.Primary() != "" {
			fields = append(fields, measured("", form, func(t *TaskResult) (page.Value, page.Range) {
				return t.Score, t.ScoreInterval.OnScale(r.Configurations[i].Scores[0].unit)
			})...)
		}
		if r.Primary() == "" || len(r.Configurations) < manyConfigurations {
			fields = append(fields, measured("iterations", page.Whole, func(t *TaskResult) (page.Value, page.Range) { return t.Iterations, t.IterationsInterval })...)
		}
	}
	return page.Table{Name: "tasks", Title: "Tasks (means)", Columns: page.ColumnsOf(fields), Blocks: 1, Rows: page.RowsOf(fields, r.Tasks()), Count: r.CountTasks()}
}

// spread is the difference between the best and the worst score.
func (t Task) spread() page.Value {
	var scores []float64
	for _, result := range t.Results {
		if result.Score.Known() {
			scores = append(scores, result.Score.Number)
		}
	}
	if len(scores) < 2 {
		return page.Missing(page.Nothing)
	}
	return page.Known(slices.Max(scores) - slices.Min(scores))
}

// taskRow is a task under one configuration.
type taskRow struct {
	id            string
	configuration *Configuration
	result        TaskResult
}

// taskRowsTable has one row for each task and configuration, for machines.
func taskRowsTable(r *Report) page.Table {
	measured := func(key string, of func(*TaskResult) (page.Value, page.Range)) page.Fields[taskRow] {
		return page.Measured("", key, page.Whole, func(row taskRow) (page.Value, page.Range) { return of(&row.result) })
	}
	fields := slices.Concat(
		page.Named("", "task", func(row taskRow) string { return row.id }),
		nameFields(r, func(row taskRow) *Configuration { return row.configuration }),
		page.Counted("", "runs", func(row taskRow) int { return row.result.Runs }),
		measured("score_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Score, t.ScoreInterval }),
		measured("iterations_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Iterations, t.IterationsInterval }),
		measured("cost_usd_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Cost, t.CostInterval }),
		measured("latency_s_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Seconds, t.SecondsInterval }))
	rows := func(yield func(taskRow) bool) {
		for task := range r.Tasks() {
			for i, result := range task.Results {
				if !yield(taskRow{task.ID, &r.Configurations[i], result}) {
					return
				}
			}
		}
	}
	return page.Table{Name: "tasks", Columns: page.ColumnsOf(fields), Rows: page.RowsOf(fields, rows), Count: r.CountTasks() * len(r.Configurations)}
}
