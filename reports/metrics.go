package reports

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec/expr"
)

// Metric is a number that a suite declares, made of a score of many runs. What
// the trials of a task become is averaged over the tasks.
type Metric struct {
	Name      string  `json:"name"`
	Score     string  `json:"score"`
	Reduce    string  `json:"reduce"`
	K         int     `json:"k,omitempty"`
	Threshold float64 `json:"threshold,omitempty"` // the least score of a success
	By        string  `json:"by,omitempty"`
	MetricValue
	// Groups are the groups of tasks in natural order. Tasks of no group are only
	// in the number of all.
	Groups []GroupMetric `json:"groups,omitempty"`
}

// MetricValue is a metric of some tasks. Low and High are the ends of its 95 %
// interval.
type MetricValue struct {
	Value page.Value `json:"value"`
	Low   page.Value `json:"low"`
	High  page.Value `json:"high"`
	Tasks int        `json:"tasks"` // that it is the mean of
	// LeftOut are tasks with scored runs that are too few for the metric.
	LeftOut int `json:"tasks_left_out,omitempty"`

	unit bool // all tasks are worth from 0 to 1
}

// GroupMetric is a metric of the tasks of one group.
type GroupMetric struct {
	Group string `json:"group"`
	MetricValue
}

// metrics are those of the i-th configuration.
func (c *collector) metrics(i int, m *measure) []Metric {
	var all []Metric
	groups := c.runs.groups.distinct()
	for k := range c.manifest.Metrics {
		head := &c.manifest.Metrics[k]
		made := c.madeOf(head)
		one := Metric{Name: head.Name, Score: head.Score, Reduce: head.Reduce, K: head.K, Threshold: head.Threshold, By: head.By}
		one.MetricValue = made.over(m, c.runs.byTask(i), m.draws)
		for _, name := range groups {
			one.Groups = append(one.Groups, GroupMetric{name, made.over(m, c.runs.grouped(c.runs.inGroup(i, name)), m.curveDraws)})
		}
		all = append(all, one)
	}
	return all
}

// inGroup are the runs of a configuration, by task, whose tasks are of a group.
func (r *runs) inGroup(configuration int, name string) []int32 {
	return slices.DeleteFunc(slices.Clone(r.ordered[configuration]), func(at int32) bool { return r.groups.of(r.all[at].task) != name })
}

// answers are what the runs answered, in hashes: only metrics by majority keep
// them.
type answers struct {
	seed    maphash.Seed
	outputs []uint64 // of each run: what it returned, 0 where that is not known
	// of are what the scorers took for the answers of the runs, by their names.
	of map[string][]uint64
}

// newAnswers is nil where nothing is asked of answers.
func newAnswers(metrics []record.MetricHead) *answers {
	var a *answers
	for i := range metrics {
		if metrics[i].Reduce != reduceMajority {
			continue
		}
		if a == nil {
			a = &answers{seed: maphash.MakeSeed(), of: map[string][]uint64{}}
		}
		a.of[metrics[i].Score] = []uint64{}
	}
	return a
}

// returned notes what the run added last returned.
func (a *answers) returned(s *record.Signals) {
	if a == nil {
		return
	}
	hash := uint64(0)
	if n := s.Outcome.Returned; n > 0 && n <= len(s.Iterations) && s.Iterations[n-1].Output != "" {
		hash = a.hash(s.Iterations[n-1].Output)
	}
	a.outputs = append(a.outputs, hash)
}

// scored notes what a scorer took for the answer of a run, where it says so.
func (a *answers) scored(run int32, s *record.Score) {
	if a == nil || a.of[s.Name] == nil {
		return
	}
	column := a.of[s.Name]
	for len(column) <= int(run) {
		column = append(column, 0)
	}
	column[run] = 0
	if s.Answer != "" {
		column[run] = a.hash(s.Answer)
	}
	a.of[s.Name] = column
}

// answer is that of a run to a scorer, else what the run returned; 0: not known.
func (a *answers) answer(scorer string, run int32) uint64 {
	if column := a.of[scorer]; int(run) < len(column) && column[run] != 0 {
		return column[run]
	}
	return a.outputs[run]
}

func (a *answers) hash(text string) uint64 { return max(1, maphash.String(a.seed, text)) }

// Metrics are the numbers of the report as the expressions of thresholds see
// them ([expr.Threshold]). Configurations without a run that counts are not
// there: nothing can be said of them.
func (r *Report) Metrics() expr.Scope { return r.metrics(nil, &readings{}) }

// Metrics are the numbers of one configuration as the expressions of tune see
// them ([expr.Objective]).
func (c *Configuration) Metrics() expr.Scope { return scope{c.metrics("", &readings{})} }

// metrics are those of the report and, where there is one, of a comparison with
// the baseline.
func (r *Report) metrics(pair *Pair, seen *readings) expr.Scope {
	configurations := expr.NewObject(len(r.Configurations))
	for c := range r.each() {
		if c.Runs == 0 {
			continue
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			configurations.Set(name, c.metrics(fmt.Sprintf("configurations[%q].", name), seen))
		}
	}
	fields := map[string]any{"configurations": configurations}
	if pair != nil {
		fields["diff"] = pair.metrics(seen)
	}
	return scope{metrics{fields: fields, seen: seen}}
}

// metrics are the fields that spec/expr declares for them in its places.go. n
// counts tasks, runs the runs that count.
func (c *Configuration) metrics(path string, seen *readings) metrics {
	of := func(name string, fields map[string]any) metrics {
		return metrics{path: path + name + ".", fields: fields, seen: seen}
	}
	scores := expr.NewObject(len(c.Scores))
	for _, s := range c.Scores {
		name := fmt.Sprintf("scores[%q]", s.Name)
		scores.Set(s.Name, of(name, map[string]any{"mean": ranged{s.Mean, s.Low, s.High}, "n": int64(s.Tasks)}))
	}
	declared := expr.NewObject(len(c.Declared))
	for i := range c.Declared {
		m := &c.Declared[i]
		declared.Set(m.Name, m.metrics(path+fmt.Sprintf("metrics[%q].", m.Name), seen))
	}
	spread := func(s Spread) map[string]any {
		return map[string]any{"mean": rangedBy(s.Mean, s.MeanInterval), "sum": c.sum(s.Mean), "p50": rangedBy(s.P50, s.P50Interval), "p95": s.P95}
	}
	total := func(mean page.Value, interval page.Range, sum page.Value) map[string]any {
		if !mean.Known() {
			sum = mean
		}
		return map[string]any{"mean": rangedBy(mean, interval), "sum": sum, "total": sum}
	}
	return metrics{path: path, seen: seen, fields: map[string]any{
		"n": int64(c.Tasks), "runs": int64(c.Runs), "coverage": c.Coverage, "success": rangedBy(c.Success, c.SuccessInterval), "scores": scores, "metrics": declared,
		"iterations": of("iterations", spread(c.Iterations)),
		"latency":    of("latency", spread(c.Latency)),
		"cost_usd":   of("cost_usd", map[string]any{"mean": rangedBy(c.Cost.Mean, c.Cost.MeanInterval), "sum": c.Cost.Total, "total": c.Cost.Total}),
		"tokens":     of("tokens", total(c.Tokens, c.TokensInterval, c.TotalTokens)),
		"calls":      of("calls", total(c.Calls, c.CallsInterval, c.TotalCalls)),
		"tool_calls": of("tool_calls", total(c.ToolCalls, c.ToolCallsInterval, c.TotalToolCalls)),
	}}
}

// sum is that over all runs of a number of which the mean per run is known, free
// of the rounding of the mean.
func (c *Configuration) sum(mean page.Value) page.Value {
	if mean.Known() {
		mean.Number = page.Raw(mean.Number * float64(c.Runs))
	}
	return mean
}

// ranged is a metric with the ends of its interval.
type ranged struct{ value, low, high page.Value }

func rangedBy(value page.Value, interval page.Range) ranged {
	return ranged{value, interval.Low, interval.High}
}

// metrics is a record of the metrics. It remembers which values were read.
type metrics struct {
	path   string
	fields map[string]any // Value, ranged, int64, word, metrics, string or *expr.Object
	seen   *readings
}

// Field implements [expr.Fields]. A missing number is null.
func (m metrics) Field(name string) any {
	switch value := m.fields[name].(type) {
	case page.Value:
		return m.seen.number(m.path+name, ranged{value: value, low: page.Missing(page.Nothing), high: page.Missing(page.Nothing)})
	case ranged:
		return m.seen.number(m.path+name, value)
	case int64:
		m.seen.add(reading{path: m.path + name, ranged: ranged{value: page.Known(float64(value))}})
		return value
	case word:
		return m.seen.word(m.path+name, value)
	default:
		return value
	}
}

type scope struct{ top metrics }

// Lookup implements [expr.Scope].
func (s scope) Lookup(name string) (any, bool) {
	if _, ok := s.top.fields[name]; !ok {
		return nil, false
	}
	return s.top.Field(name), true
}

// metricsRow is a configuration, or one group of tasks in it.
type metricsRow struct {
	*Configuration
	group int // -1: all tasks
}

// name is that of the group, "" of all tasks.
func (row metricsRow) name() string {
	if row.group < 0 {
		return ""
	}
	return row.Declared[0].Groups[row.group].Group
}

// tasks are those with scored runs, the most that any metric has.
func (row metricsRow) tasks() (n int) {
	for i := range row.Declared {
		n = max(n, row.value(i).Tasks+row.value(i).LeftOut)
	}
	return n
}

func (row metricsRow) value(metric int) *MetricValue {
	if row.group < 0 {
		return &row.Declared[metric].MetricValue
	}
	return &row.Declared[metric].Groups[row.group].MetricValue
}

// metricsTable has a column for each metric, and a row for all tasks of a
// configuration and for each group of them.
func metricsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, func(row metricsRow) *Configuration { return row.Configuration }),
		page.Named("tasks of", "group", metricsRow.name).Optional(), page.Counted("tasks", "", metricsRow.tasks).ForPeople())
	for i := range r.declared() {
		fields = append(fields, metricFields(r, i)...)
	}
	return page.Filled(page.Table{Keys: 2, Name: "metrics", Title: "Metrics"}, fields, r.metricsRows())
}

// declared are the metrics, as the first configuration has them.
func (r *Report) declared() []Metric {
	if len(r.Configurations) == 0 {
		return nil
	}
	return r.Configurations[0].Declared
}

// metricFields are the columns of the i-th metric.
func metricFields(r *Report, i int) page.Fields[metricsRow] {
	name := r.declared()[i].Name
	form := func(v page.Value) string { return page.Score(v, r.scoreDigits()) }
	return slices.Concat(
		page.Of(page.Column{Key: name, Right: true}, func(row metricsRow) page.Cell {
			if row.group >= 0 {
				return page.Number(row.value(i).Value, form)
			}
			return page.Number(row.value(i).Value, form, row.notesOf(name, TooFewTrials)...)
		}).About(name),
		page.ShownInterval("95%", form, func(row metricsRow) page.Range { return onScale(row.value(i).unit, row.value(i).interval()) }).About(name),
		page.Counted("", name+"_tasks", func(row metricsRow) int { return row.value(i).Tasks }).ForMachines(),
		page.Ends(name, func(row metricsRow) page.Range { return row.value(i).interval() }))
}

func (v *MetricValue) interval() page.Range { return page.Range{Low: v.Low, High: v.High} }

func (r *Report) metricsRows() iter.Seq[metricsRow] {
	return func(yield func(metricsRow) bool) {
		for c := range r.each() {
			if len(c.Declared) == 0 {
				continue
			}
			for group := -1; group < len(c.Declared[0].Groups); group++ {
				if !yield(metricsRow{c, group}) {
					return
				}
			}
		}
	}
}

// metrics are the fields that spec/expr declares for a metric.
func (m *Metric) metrics(path string, seen *readings) metrics {
	fields := m.fields()
	groups := expr.NewObject(len(m.Groups))
	for i := range m.Groups {
		g := &m.Groups[i]
		groups.Set(g.Group, metrics{path: path + fmt.Sprintf("groups[%q].", g.Group), seen: seen, fields: g.fields()})
	}
	fields["groups"] = groups
	return metrics{path: path, seen: seen, fields: fields}
}

func (v *MetricValue) fields() map[string]any {
	return map[string]any{"value": ranged{v.Value, v.Low, v.High}, "n": int64(v.Tasks)}
}

// The ways to reduce the trials of a task, as suites name them.
const (
	reduceMean     = "mean"
	reduceMedian   = "median"
	reduceMin      = "min"
	reduceMax      = "max"
	reduceStd      = "std"
	reducePassRate = "pass_rate"
	reducePassAtK  = "pass_at_k"
	reducePassHatK = "pass_hat_k"
	reduceMajority = "majority"
	reduceBestOfK  = "best_of_k"
)

// noAnswer is what scorers take for the answer where there is none.
const noAnswer = "none"

// reducer makes a metric of runs.
type reducer struct {
	*record.MetricHead
	runs      *runs
	score, by *scores // nil: none was ever made
	answers   *answers
	none      uint64 // the answer none
}

// madeOf finds what a metric is made of.
func (c *collector) madeOf(head *record.MetricHead) *reducer {
	r := &reducer{MetricHead: head, runs: c.runs, score: c.scorers[head.Score], by: c.scorers[head.By], answers: c.answers}
	if c.answers != nil {
		r.none = c.answers.hash(noAnswer)
	}
	return r
}

// over is the metric of the tasks whose runs are given.
func (r *reducer) over(m *measure, tasks iter.Seq[[]int32], draws int) MetricValue {
	means := &taskMeans{runs: r.runs}
	v := MetricValue{}
	scored := 0
	for group := range tasks {
		t := r.trials(group)
		if len(t.values) == 0 {
			continue
		}
		scored++
		value, ok := r.reduce(&t)
		switch {
		case !ok:
			v.LeftOut++
		case r.isMean():
			means.add(group[0], t.values)
		default:
			means.put(r.runs.all[group[0]].task, value)
		}
	}
	v.Tasks, v.Value = len(means.all), page.ValueOf(stats.Mean(means.all))
	if v.Tasks == 0 {
		v.Value = r.why(scored)
		v.Low, v.High = v.Value, v.Value
		return v
	}
	v.unit = slices.Min(means.all) >= 0 && slices.Max(means.all) <= 1
	between := r.interval(m, means, draws)
	v.Low, v.High = between.Low, between.High
	return v
}

// why a metric of no task is missing.
func (r *reducer) why(scored int) page.Value {
	switch {
	case scored == 0:
		return page.Missing(page.Unscored)
	case r.Reduce == reduceMajority:
		return page.Missing(page.Unanswered)
	}
	return page.Missing(page.FewTrials)
}

// isMean says that the metric is a mean over runs, which has the intervals of
// scores.
func (r *reducer) isMean() bool { return r.Reduce == reduceMean || r.Reduce == reducePassRate }

// taskTrials are what is known of the trials of a task, the first one first.
type taskTrials struct {
	values, by []float64
	answers    []uint64
}

func (r *reducer) trials(group []int32) (t taskTrials) {
	for _, run := range group {
		value, ok := r.score.of(run)
		if !ok {
			continue
		}
		switch r.Reduce {
		case reduceBestOfK:
			by, ok := r.by.of(run)
			if !ok {
				continue
			}
			t.by = append(t.by, by)
		case reduceMajority:
			t.answers = append(t.answers, r.answers.answer(r.Score, run))
		case reducePassRate:
			value = numberOf(value >= r.Threshold)
		}
		t.values = append(t.values, value)
	}
	return t
}

// reduce makes one number of the trials of a task, where they are enough.
func (r *reducer) reduce(t *taskTrials) (value float64, ok bool) {
	switch r.Reduce {
	case reduceMean, reducePassRate:
		return stats.Mean(t.values)
	case reduceMedian:
		return stats.Quantile(slices.Sorted(slices.Values(t.values)), 0.5)
	case reduceMin:
		return slices.Min(t.values), true
	case reduceMax:
		return slices.Max(t.values), true
	case reduceStd:
		variance, ok := stats.Variance(t.values)
		return math.Sqrt(variance), ok
	case reducePassAtK:
		return stats.PassAtK(len(t.values), r.successes(t), r.K)
	case reducePassHatK:
		return stats.PassHatK(len(t.values), r.successes(t), r.K)
	case reduceBestOfK:
		return stats.BestOfK(t.values, t.by, r.K)
	case reduceMajority:
		if slices.Contains(t.answers, 0) {
			return 0, false
		}
		return stats.Majority(t.answers, t.values, r.none)
	}
	return 0, false // of a newer agentbench
}

func (r *reducer) successes(t *taskTrials) (n int) {
	for _, value := range t.values {
		if value >= r.Threshold {
			n++
		}
	}
	return n
}

// interval is that of the mean of the tasks' numbers: of means over runs as
// scores have it, of others by resampling the tasks, or the clusters of them.
// Where all tasks are worth 0, or all 1, a bootstrap would say that it is sure.
func (r *reducer) interval(m *measure, means *taskMeans, draws int) page.Range {
	if r.isMean() {
		return rangeOf(means.interval())
	}
	above, below := means.all, make([]float64, len(means.all))
	for i := range below {
		below[i] = 1
	}
	if means.clusters != nil {
		above, below = make([]float64, len(means.clusters)), make([]float64, len(means.clusters))
		for i, of := range means.clusters {
			above[i], below[i] = stats.Sum(of), float64(len(of))
		}
	}
	if first := means.all[0]; (first == 0 || first == 1) && r.Reduce != reduceStd && allEqual(means.all) {
		return rangeOf(stats.Wilson(first, float64(len(above)), stats.Level))
	}
	some := *m
	some.groups = len(above)
	return some.ratio(above, below, draws)
}

func allEqual(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}
