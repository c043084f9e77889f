package reports

import (
	"iter"
	"slices"
)

// manyConfigurations is the number of configurations from which on the table of
// tasks has no room for their iterations.
const manyConfigurations = 4

// tasksTable has one row for each task, for people: the primary score and the
// iterations of each configuration beside each other.
func tasksTable(r *Report) table {
	digits := r.scoreDigits()
	fields := []field[Task]{{column{head: "task"}, func(t Task) cell { return ofName(t.ID) }}}
	if len(r.Configurations) > 1 && r.Primary() != "" {
		fields = append(fields, field[Task]{column{head: "spread", right: true}, func(t Task) cell {
			return of(t.spread(), func(v Value) string { return score(v, digits) })
		}})
	}
	for i := range r.Configurations {
		fields = append(fields, taskFields(r, i, digits)...)
	}
	t := table{name: "tasks", title: "Tasks (means)", columns: columnsOf(fields), blocks: 1}
	t.rows, t.count = rowsOf(fields, r.Tasks()), r.CountTasks()
	return t
}

// taskFields are the columns of the i-th configuration.
func taskFields(r *Report, i, digits int) []field[Task] {
	named := r.nameCell(&r.Configurations[i])
	fields := []field[Task]{{column{about: named.text, warnings: named.warnings, right: true}, func(t Task) cell {
		return of(t.Results[i].Score, func(v Value) string { return score(v, digits) })
	}}}
	if r.Primary() == "" {
		fields = nil
	}
	if r.Primary() != "" && len(r.Configurations) >= manyConfigurations {
		return fields
	}
	return append(fields, field[Task]{column{about: named.text, warnings: named.warnings, head: "iterations", right: true}, func(t Task) cell {
		return of(t.Results[i].Iterations, count)
	}})
}

// spread is the difference between the best and the worst score.
func (t *Task) spread() Value {
	var scores []float64
	for _, result := range t.Results {
		if result.Score.Known() {
			scores = append(scores, result.Score.Number)
		}
	}
	if len(scores) < 2 {
		return missing(nothing)
	}
	return known(slices.Max(scores) - slices.Min(scores))
}

// taskRow is a task under one configuration.
type taskRow struct {
	id            string
	configuration *Configuration
	result        TaskResult
}

// taskRowsTable has one row for each task and configuration, for machines.
func taskRowsTable(r *Report) table {
	value := func(key string, value func(*TaskResult) Value) field[taskRow] {
		return field[taskRow]{column{key: key}, func(row taskRow) cell { return of(value(&row.result), count) }}
	}
	fields := []field[taskRow]{{column{key: "task"}, func(row taskRow) cell { return ofName(row.id) }}}
	fields = append(fields, nameFields(r, func(row taskRow) *Configuration { return row.configuration })...)
	fields = append(fields, []field[taskRow]{
		{column{key: "runs"}, func(row taskRow) cell { return ofCount(row.result.Runs) }},
		value("score_mean", func(t *TaskResult) Value { return t.Score }),
		value("iterations_mean", func(t *TaskResult) Value { return t.Iterations }),
		value("cost_usd_mean", func(t *TaskResult) Value { return t.Cost }),
		value("latency_s_mean", func(t *TaskResult) Value { return t.Seconds }),
	}...)
	t := table{name: "tasks", columns: columnsOf(fields), count: r.CountTasks() * len(r.Configurations)}
	t.rows = rowsOf(fields, r.taskRows())
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
