package reports

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// manyConfigurations is the number of configurations from which on the table of
// tasks has no room for their iterations.
const manyConfigurations = 4

// tasksTable has one row for each task, for people: the primary score and the
// iterations of each configuration beside each other.
func tasksTable(r *Report) page.Table {
	digits := r.scoreDigits()
	fields := []page.Field[Task]{{Column: page.Column{Head: "task"}, Cell: func(t Task) page.Cell { return page.Name(t.ID) }}}
	if len(r.Configurations) > 1 && r.Primary() != "" {
		fields = append(fields, page.Field[Task]{Column: page.Column{Head: "spread", Right: true}, Cell: func(t Task) page.Cell {
			return page.Number(t.spread(), func(v page.Value) string { return page.Score(v, digits) })
		}})
	}
	for i := range r.Configurations {
		fields = append(fields, taskFields(r, i, digits)...)
	}
	t := page.Table{Name: "tasks", Title: "Tasks (means)", Columns: page.ColumnsOf(fields), Blocks: 1}
	t.Rows, t.Count = page.RowsOf(fields, r.Tasks()), r.CountTasks()
	return t
}

// taskFields are the columns of the i-th configuration.
func taskFields(r *Report, i, digits int) []page.Field[Task] {
	named := r.nameCell(&r.Configurations[i])
	measured := func(head string, form func(page.Value) string, of func(*TaskResult) (page.Value, page.Range)) []page.Field[Task] {
		column := page.Column{About: named.Text, Warnings: named.Warnings, Head: head}
		return page.Measured(column, form, func(t Task) (page.Value, page.Range) { return of(&t.Results[i]) })
	}
	var fields []page.Field[Task]
	if r.Primary() != "" {
		fields = measured("", func(v page.Value) string { return page.Score(v, digits) }, func(t *TaskResult) (page.Value, page.Range) {
			return t.Score, r.Configurations[i].Scores[0].onScale(t.ScoreInterval)
		})
	}
	if r.Primary() != "" && len(r.Configurations) >= manyConfigurations {
		return fields
	}
	return append(fields, measured("iterations", page.Whole, func(t *TaskResult) (page.Value, page.Range) { return t.Iterations, t.IterationsInterval })...)
}

// spread is the difference between the best and the worst score.
func (t *Task) spread() page.Value {
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
	measured := func(key string, of func(*TaskResult) (page.Value, page.Range)) []page.Field[taskRow] {
		return page.Measured(page.Column{Key: key}, page.Whole, func(row taskRow) (page.Value, page.Range) { return of(&row.result) })
	}
	fields := slices.Concat(
		[]page.Field[taskRow]{{Column: page.Column{Key: "task"}, Cell: func(row taskRow) page.Cell { return page.Name(row.id) }}},
		nameFields(r, func(row taskRow) *Configuration { return row.configuration }),
		[]page.Field[taskRow]{{Column: page.Column{Key: "runs"}, Cell: func(row taskRow) page.Cell { return page.Count(row.result.Runs) }}},
		measured("score_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Score, t.ScoreInterval }),
		measured("iterations_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Iterations, t.IterationsInterval }),
		measured("cost_usd_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Cost, t.CostInterval }),
		measured("latency_s_mean", func(t *TaskResult) (page.Value, page.Range) { return t.Seconds, t.SecondsInterval }))
	t := page.Table{Name: "tasks", Columns: page.ColumnsOf(fields), Count: r.CountTasks() * len(r.Configurations)}
	t.Rows = page.RowsOf(fields, r.taskRows())
	return t
}

func (r *Report) taskRows() iter.Seq[taskRow] {
	return func(yield func(taskRow) bool) {
		for task := range r.Tasks() {
			for i, result := range task.Results {
				if !yield(taskRow{task.ID, &r.Configurations[i], result}) {
					return
				}
			}
		}
	}
}
