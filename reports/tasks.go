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
	Runs       int           `json:"runs" col:""`
	Score      page.Estimate `json:"score" key:"score_mean" col:",whole"` // the primary one
	Iterations page.Estimate `json:"iterations" key:"iterations_mean" col:",whole"`
	Cost       page.Estimate `json:"cost_usd" key:"cost_usd_mean" col:",whole"`
	Seconds    page.Estimate `json:"latency_s" key:"latency_s_mean" col:",whole"`
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
	result := TaskResult{Runs: len(group)}
	result.Score.Value, result.Iterations.Value = page.ValueOf(stats.Mean(r.primaries(group))), page.Ratio(iterations, runs)
	result.Seconds.Value = r.meanSeconds(group)
	if result.Cost.Value = page.Missing(page.Nothing); runs > 0 {
		result.Cost.Value = costOr(cost, isUnpriced, isUnreported).Over(float64(runs))
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
		if r.Primary() != "" {
			fields = append(fields, page.Measured("", "", form, func(t Task) page.Estimate {
				score := t.Results[i].Score
				score.Range = score.OnScale(r.Configurations[i].Scores[0].unit)
				return score
			}).About(named.Text, named.Warnings...)...)
		}
		if r.Primary() == "" || len(r.Configurations) < manyConfigurations {
			iterations := page.Measured("iterations", "", page.Whole, func(t Task) page.Estimate { return t.Results[i].Iterations })
			fields = append(fields, iterations.About(named.Text, named.Warnings...)...)
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
	configuration := func(row *taskRow) *Configuration { return row.configuration }
	fields := slices.Concat(page.Named("", "task", func(row *taskRow) string { return row.id }), nameFields(r, configuration),
		page.Tagged(tagsOf(r, configuration), func(row *taskRow) *TaskResult { return &row.result }))
	rows := func(yield func(*taskRow) bool) {
		for task := range r.Tasks() {
			for i, result := range task.Results {
				if !yield(&taskRow{task.ID, &r.Configurations[i], result}) {
					return
				}
			}
		}
	}
	return page.Table{Name: "tasks", Columns: page.ColumnsOf(fields), Rows: page.RowsOf(fields, rows), Count: r.CountTasks() * len(r.Configurations)}
}
