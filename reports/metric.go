package reports

import (
	"hash/maphash"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
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
