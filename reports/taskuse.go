package reports

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// taskUse is what the runs of a task used together, by tasks, of what is not kept
// run by run. All are integers, so that the order of the runs makes no difference.
type taskUse struct {
	// columns have an entry for each task, of each of the quantities below; they are
	// empty where nothing was used. What a run used of tokens in all is kept by run,
	// and so output is the rest.
	columns [][]int64
}

// The columns. Of the judging inside the loop, and of the users who answer the
// agents, there are calls, tokens and cost; of each phase, and then of each limit of
// steps, what the runs used of it, and how many came up to the limit.
const (
	useInput = iota
	useToolCalls
	useJudging
	useUser   = useJudging + 3
	usePhases = useUser + 3
)

// add takes a run of a task. At once there is room for as many tasks as are expected.
func (u *taskUse) add(task int32, s *record.Signals, head *record.ConfigurationHead, expected int) {
	put := func(column int, n int64) {
		if n == 0 {
			return
		}
		for len(u.columns) <= column {
			u.columns = append(u.columns, nil)
		}
		of := &u.columns[column]
		if *of == nil {
			*of = make([]int64, 0, min(max(expected, 0), mostExpected))
		}
		if missing := int(task) + 1 - len(*of); missing > 0 {
			*of = slices.Grow(*of, missing)[:int(task)+1]
		}
		(*of)[task] = int64(record.Money((*of)[task]).Plus(record.Money(n))) // or the most that fits
	}
	limited := func(column, n, limit int) {
		put(column, int64(n))
		if n >= limit {
			put(column+1, 1)
		}
	}
	total := s.Total()
	put(useInput, total.InputTokens)
	put(useToolCalls, total.ToolCalls)
	for i, used := range [...]*record.Usage{&s.Judging, &s.User} {
		column := useJudging + 3*i
		put(column, used.Calls)
		put(column+1, used.Tokens())
		put(column+2, int64(used.Cost))
	}
	for i, phase := range head.Phases {
		n := 0
		for k := range s.Iterations {
			if s.Iterations[k].Phase == phase.Name {
				n++
			}
		}
		if phase.Limit > 0 {
			limited(usePhases+2*i, n, phase.Limit)
		}
	}
	for i, of := range head.Steps {
		if n := longestIn(s, of.Stage); n > 0 {
			limited(useSteps(head, i), n, of.Limit)
		}
	}
}

// useSteps is the column of the i-th limit of steps.
func useSteps(head *record.ConfigurationHead, i int) int { return usePhases + 2*len(head.Phases) + 2*i }

// longestIn is how many steps the longest iteration of a stage made; "" is any.
func longestIn(s *record.Signals, stage string) (n int) {
	for i := range s.Iterations {
		if it := &s.Iterations[i]; stage == "" || it.Phase+it.Strategy == stage {
			n = max(n, it.Steps)
		}
	}
	return n
}

// perTask adds up a column by cluster.
func (m *measure) perTask(u *taskUse, column int, unit func(int64) float64) []float64 {
	sums := make([]float64, m.groups)
	if column >= len(u.columns) {
		return sums
	}
	for i, at := range m.ordered {
		if task := m.runs.all[at].task; (i == 0 || m.runs.all[m.ordered[i-1]].task != task) && int(task) < len(u.columns[column]) {
			sums[m.clusters[i]] += unit(u.columns[column][task])
		}
	}
	return sums
}

func whole(n int64) float64 { return float64(n) }

// usage are the intervals of what is kept by task.
func (m *measure) usage(use *taskUse, c *Configuration) {
	counts := m.counts()
	interval := func(mean page.Value, column int) page.Range {
		return m.about(mean, m.perTask(use, column, whole), counts, m.draws)
	}
	c.InputTokensInterval, c.ToolCallsInterval = interval(c.InputTokens, useInput), interval(c.ToolCalls, useToolCalls)
	output := m.sums(func(r *run) float64 { return float64(r.tokens) })
	for i, input := range m.perTask(use, useInput, whole) {
		output[i] -= input
	}
	c.OutputTokensInterval = m.about(c.OutputTokens, output, counts, m.draws)
	for i, of := range [...]*Judging{&c.Judging, &c.User} {
		column := useJudging + 3*i
		of.CallsInterval, of.TokensInterval = interval(of.Calls, column), interval(of.Tokens, column+1)
		cost := m.perTask(use, column+2, func(n int64) float64 { return record.Money(n).Dollars() })
		of.CostInterval = m.about(of.Cost, cost, counts, m.draws)
	}
}

// manyConfigurations is the number of configurations from which on the table of
// tasks has no room for their iterations.
const manyConfigurations = 4

// tasksTable has one row for each task, for people: the primary score and the
// iterations of each configuration beside each other.
func tasksTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	fields := page.Named("task", "", func(t Task) string { return t.ID })
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
				return t.Score, onScale(r.Configurations[i].Scores[0].unit, t.ScoreInterval)
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

// residueTable tells what varies inside the means of the scores, and what would
// make them surer.
func residueTable(r *Report) page.Table {
	digits := r.scoreDigits()
	variance := func(v page.Value) string { return page.Score(v, digits+1) }
	type part = row[Part]
	number := func(head, key string, form func(page.Value) string, value func(*Part) page.Value) page.Fields[part] {
		return page.Valued(head, key, form, func(row part) page.Value { return value(row.of) }).Optional()
	}
	fields := slices.Concat(nameFields(r, configurationOf[Part]),
		page.Named("score", "scorer", func(row part) string { return row.of.Scorer }),
		page.Counted("", "tasks", func(row part) int { return row.of.Tasks }).ForMachines(),
		number("trials", "trials_mean", page.Whole, func(p *Part) page.Value { return p.Trials }),
		number("ICC", "icc", func(v page.Value) string { return page.Score(v, 2) }, func(p *Part) page.Value { return p.ICC }),
		number("agree", "agreement", page.Percent, func(p *Part) page.Value { return p.Agreement }),
		number("SE now", "se", variance, func(p *Part) page.Value { return p.SE }),
		page.Worded("advice", "advice", func(row part) string { return row.of.Advice }),
		number("between\ntasks", "variance_between", variance, func(p *Part) page.Value { return p.Between }).Wide(),
		number("within\ntasks", "variance_within", variance, func(p *Part) page.Value { return p.Within }).Wide())
	for i, trials := range residueTrials {
		fields = append(fields, number(fmt.Sprintf("SE with\n%d", trials), fmt.Sprintf("se_with_%d", trials), variance, func(p *Part) page.Value { return p.With[i].SE }).Wide()...)
	}
	return page.Filled(page.Table{Keys: 2, Name: "residue", Title: "What varies inside the means of the scores, and what would make them surer"}, fields,
		rowsOf(r, func(c *Configuration) []Part { return c.Residue }))
}
