package reports

import (
	"hash/maphash"
	"iter"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
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

// MetricValue is a metric of some tasks.
type MetricValue struct {
	Value page.Estimate `json:"value" interval:"low,high"`
	Tasks int           `json:"tasks"` // that it is the mean of
	// LeftOut are tasks with scored runs that are too few for the metric.
	LeftOut int `json:"tasks_left_out,omitempty"`

	unit bool // all tasks are worth from 0 to 1
}

// GroupMetric is a metric of the tasks of one group.
type GroupMetric struct {
	Group string `json:"group"`
	MetricValue
}

func (c *collector) metrics(i int, m *measure) []Metric {
	var all []Metric
	groups := c.runs.groups.distinct()
	for head := range page.EachOf(c.manifest.Metrics) {
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
func (a *answers) returned(s *record.Run) {
	if a == nil {
		return
	}
	hash := uint64(0)
	if n := s.Outcome.Returned; n > 0 && n <= len(s.Iterations) && len(s.Iterations[n-1].Output) > 0 {
		hash = a.hash(string(s.Iterations[n-1].Output))
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

// tasks are those with scored runs, the most that any metric has; without metrics, all with runs.
func (row metricsRow) tasks() (n int) {
	if len(row.Declared) == 0 {
		return row.Tasks
	}
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
// configuration and for each group of them. Of the scorers that ask others all tasks
// have their agreement.
func metricsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, func(row metricsRow) *Configuration { return row.Configuration }),
		page.Named("tasks of", "group", metricsRow.name).Optional(), page.Counted("tasks", "", metricsRow.tasks).ForPeople())
	for i := range r.declared() {
		fields = append(fields, metricFields(r, i)...)
	}
	for _, scorer := range r.Scorers {
		fields = append(fields, r.judgesFields(scorer)...)
	}
	return page.Filled(page.Table{Keys: 2, Name: "metrics", Title: "Metrics"}, fields, r.metricsRows())
}

// judgesFields tell of a scorer that asked others; there are none where it asked nobody.
func (r *Report) judgesFields(scorer string) page.Fields[metricsRow] {
	if !slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.judgesOf(scorer) != nil }) {
		return nil
	}
	share := func(head, key string, of func(*Judges) page.Value) page.Fields[metricsRow] {
		return page.Right(head, scorer+key, func(row metricsRow) page.Cell {
			if judges := row.judgesOf(scorer); judges != nil && row.group < 0 {
				return page.Number(of(judges), page.Or(page.Nothing, page.Percent))
			}
			return page.Cell{}
		}).About(scorer).Optional()
	}
	return append(share("judges\nagree", "_agreement", func(j *Judges) page.Value { return j.Agreement }),
		share("without\nscore", "_without_score", func(j *Judges) page.Value { return j.WithoutScore })...)
}

func (c *Configuration) judgesOf(scorer string) *Judges {
	if at := slices.IndexFunc(c.Judges, func(j Judges) bool { return j.Scorer == scorer }); at >= 0 {
		return &c.Judges[at]
	}
	return nil
}

// declared are the metrics, as the first configuration has them.
func (r *Report) declared() []Metric {
	if len(r.Configurations) == 0 {
		return nil
	}
	return r.Configurations[0].Declared
}

func metricFields(r *Report, i int) page.Fields[metricsRow] {
	name := r.declared()[i].Name
	form := func(v page.Value) string { return page.Score(v, r.scoreDigits()) }
	return slices.Concat(
		page.Right("", name, func(row metricsRow) page.Cell {
			cell := page.Number(row.value(i).Value.Value, form)
			if row.group < 0 {
				cell.Warnings = row.notesOf(name, TooFewTrials)
			}
			return cell
		}).About(name),
		page.ShownInterval("95%", form, func(row metricsRow) page.Range { return row.value(i).Value.OnScale(row.value(i).unit) }).About(name),
		page.Counted("", name+"_tasks", func(row metricsRow) int { return row.value(i).Tasks }).ForMachines(),
		page.Ends(name, func(row metricsRow) page.Range { return row.value(i).Value.Range }))
}

func (r *Report) metricsRows() iter.Seq[metricsRow] {
	return func(yield func(metricsRow) bool) {
		for c := range r.each() {
			groups := 0
			if len(c.Declared) > 0 {
				groups = len(c.Declared[0].Groups)
			} else if len(c.Judges) == 0 {
				continue
			}
			for group := -1; group < groups; group++ {
				if !yield(metricsRow{c, group}) {
					return
				}
			}
		}
	}
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

func (c *collector) madeOf(head *record.MetricHead) *reducer {
	r := &reducer{MetricHead: head, runs: c.runs, score: c.scorers[head.Score], by: c.scorers[head.By], answers: c.answers}
	if c.answers != nil {
		r.none = c.answers.hash(noAnswer)
	}
	return r
}

// over is the metric of the tasks whose runs are given.
func (r *reducer) over(m *measure, tasks iter.Seq[[]int32], draws int) MetricValue {
	means := &Means{}
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
			means.Add(r.runs.clusterOfRun(group[0]), t.values)
		default:
			means.Put(r.runs.clusterOfRun(group[0]), value)
		}
	}
	if v.Tasks = len(means.All); v.Tasks == 0 {
		v.Value = page.NoEstimate(r.why(scored))
		return v
	}
	v.unit = slices.Min(means.All) >= 0 && slices.Max(means.All) <= 1
	v.Value = page.Estimate{Value: page.ValueOf(stats.Mean(means.All)), Range: r.interval(m, means, draws)}
	return v
}

// why a metric of no task is missing.
func (r *reducer) why(scored int) string {
	switch {
	case scored == 0:
		return page.Unscored
	case r.Reduce == reduceMajority:
		return page.Unanswered
	}
	return page.FewTrials
}

// isMean reports whether the metric is a mean over runs, which has the intervals of
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
func (r *reducer) interval(m *measure, means *Means, draws int) page.Range {
	if r.isMean() {
		return means.Interval()
	}
	above, below := means.All, make([]float64, len(means.All))
	for i := range below {
		below[i] = 1
	}
	if means.Clusters != nil {
		above, below = make([]float64, len(means.Clusters)), make([]float64, len(means.Clusters))
		for i, of := range means.Clusters {
			above[i], below[i] = stats.Sum(of), float64(len(of))
		}
	}
	if first := means.All[0]; (first == 0 || first == 1) && r.Reduce != reduceStd && allEqual(means.All) {
		return RangeOf(stats.Wilson(first, float64(len(above)), stats.Level))
	}
	some := *m
	some.groups = len(above)
	return some.ratio(above, below, draws)
}

func allEqual(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}
