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
	// What a run used of tokens in all is kept by run, and so output is the rest.
	input, toolCalls []int64
	judging, user    []judgingUse
	phases           [][]phaseUse // one for each phase of the configuration, in its order
	steps            [][]phaseUse // one for each limit of steps: those of each run's longest iteration
}

// judgingUse is what was used beside the agent: empty where nothing was judged
// inside the loop, and where no model answers as its user.
type judgingUse struct {
	calls, tokens int64
	cost          record.Money
}

// phaseUse counts the iterations in a phase, or steps, and the runs that came up to
// their limit.
type phaseUse struct{ iterations, reached int32 }

// add takes a run of a task.
func (u *taskUse) add(task int32, s *record.Signals, head *record.ConfigurationHead, tasks int) {
	if total := s.Total(); total.InputTokens != 0 {
		of := room(&u.input, task, tasks)
		*of = plus(*of, total.InputTokens)
	}
	if calls := s.Total().ToolCalls; calls != 0 {
		*room(&u.toolCalls, task, tasks) += calls
	}
	addUse(&u.judging, task, &s.Judging, tasks)
	addUse(&u.user, task, &s.User, tasks)
	for i := range head.Phases {
		if u.phases == nil {
			u.phases = make([][]phaseUse, len(head.Phases))
		}
		if n, limit := iterationsIn(s, head.Phases[i].Name), head.Phases[i].Limit; n > 0 && limit > 0 {
			of := room(&u.phases[i], task, tasks)
			of.iterations += int32(n)
			of.reached += int32(numberOf(n >= limit))
		}
	}
}

// addSteps takes the steps of a run of a task.
func (u *taskUse) addSteps(task int32, s *record.Signals, head *record.ConfigurationHead, tasks int) {
	for i := range head.Steps {
		if u.steps == nil {
			u.steps = make([][]phaseUse, len(head.Steps))
		}
		if n := longestIn(s, head.Steps[i].Stage); n > 0 {
			of := room(&u.steps[i], task, tasks)
			of.iterations += int32(n)
			of.reached += int32(numberOf(n >= head.Steps[i].Limit))
		}
	}
}

// longestIn is how many steps the longest iteration of a stage made; "" is any.
func longestIn(s *record.Signals, stage string) (n int) {
	for i := range s.Iterations {
		if it := &s.Iterations[i]; stage == "" || it.Phase+it.Strategy == stage {
			n = max(n, it.Steps)
		}
	}
	return n
}

func addUse(to *[]judgingUse, task int32, used *record.Usage, tasks int) {
	if used.Calls == 0 && used.Tokens() == 0 && used.Cost == 0 {
		return
	}
	of := room(to, task, tasks)
	of.calls, of.tokens, of.cost = of.calls+used.Calls, plus(of.tokens, used.Tokens()), of.cost.Plus(used.Cost)
}

// plus is the sum, or the most that fits, as [record.Usage.Plus] has it.
func plus(a, b int64) int64 { return int64(record.Money(a).Plus(record.Money(b))) }

func iterationsIn(s *record.Signals, phase string) (n int) {
	for i := range s.Iterations {
		if s.Iterations[i].Phase == phase {
			n++
		}
	}
	return n
}

// room is the entry of a task, in a list that is made long enough for it, and at
// once for as many tasks as are expected.
func room[T any](list *[]T, task int32, expected int) *T {
	if *list == nil {
		*list = make([]T, 0, min(max(expected, 0), mostExpected))
	}
	if missing := int(task) + 1 - len(*list); missing > 0 {
		*list = slices.Grow(*list, missing)[:int(task)+1]
	}
	return &(*list)[task]
}

// entry is that of a task, empty where it has none.
func entry[T any](list []T, task int32) (found T) {
	if int(task) < len(list) {
		return list[task]
	}
	return found
}

// perTask adds up a number of each task by cluster.
func (m *measure) perTask(of func(task int32) float64) []float64 {
	sums := make([]float64, m.groups)
	for i, at := range m.ordered {
		if task := m.runs.all[at].task; i == 0 || m.runs.all[m.ordered[i-1]].task != task {
			sums[m.clusters[i]] += of(task)
		}
	}
	return sums
}

// usedOf is how much the runs of a task used of the i-th limit of a list.
func usedOf(limits [][]phaseUse, i int) func(task int32) float64 {
	return func(task int32) float64 { return float64(useOf(limits, i, task).iterations) }
}

// reachedOf is how many runs of a task came up to the i-th limit of a list.
func reachedOf(limits [][]phaseUse, i int) func(task int32) float64 {
	return func(task int32) float64 { return float64(useOf(limits, i, task).reached) }
}

func useOf(limits [][]phaseUse, i int, task int32) phaseUse {
	if limits == nil {
		return phaseUse{}
	}
	return entry(limits[i], task)
}

// usage are the intervals of what is kept by task.
func (m *measure) usage(use *taskUse, c *Configuration) {
	input := m.perTask(func(task int32) float64 { return float64(entry(use.input, task)) })
	c.InputTokensInterval = m.about(c.InputTokens, input, m.counts(), m.draws)
	output := m.sums(func(r *run) float64 { return float64(r.tokens) })
	for i := range output {
		output[i] -= input[i]
	}
	c.OutputTokensInterval = m.about(c.OutputTokens, output, m.counts(), m.draws)
	toolCalls := m.perTask(func(task int32) float64 { return float64(entry(use.toolCalls, task)) })
	c.ToolCallsInterval = m.about(c.ToolCalls, toolCalls, m.counts(), m.draws)
	m.judging(use.judging, &c.Judging)
	m.judging(use.user, &c.User)
}

// judging are the intervals of what was used beside the agent.
func (m *measure) judging(use []judgingUse, mean *Judging) {
	interval := func(mean page.Value, amount func(judgingUse) float64) page.Range {
		return m.about(mean, m.perTask(func(task int32) float64 { return amount(entry(use, task)) }), m.counts(), m.draws)
	}
	mean.CallsInterval = interval(mean.Calls, func(j judgingUse) float64 { return float64(j.calls) })
	mean.TokensInterval = interval(mean.Tokens, func(j judgingUse) float64 { return float64(j.tokens) })
	mean.CostInterval = interval(mean.Cost, func(j judgingUse) float64 { return j.cost.Dollars() })
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
