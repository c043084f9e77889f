// Package compare decides which of two sides is better: quantity by quantity,
// paired by task, with the interval and the test that fit the sample, and a
// verdict that says so when the sample cannot answer.
//
// The stages of the data, in order: pair joins the tasks and trials of both
// sides; sample makes of a column one difference for each task; measure turns
// the sample into a Difference by the procedures of reports/stats; Correct adjusts the
// p values of several comparisons and judges. Everything is a pure function of
// its arguments, and the order of the tasks makes no difference but to the
// rounding of sums.
//
// It is no stable API.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// ErrNoCommonTask means that two sides have no task in common, and that there is
// nothing to pair.
var ErrNoCommonTask = errors.New("the two sides have no task in common")

// Result is the comparison of two sides.
type Result struct {
	Pairing     PairedHow
	Differences []Difference // one for each quantity that both sides have, in the order of the new one
}

// PairedHow is which runs of both sides belong together.
type PairedHow struct {
	// Paired is true if the runs are compared in pairs. They are not where that
	// was asked for, where no trial is common, and where fewer than half of the
	// tasks of the smaller side are.
	Paired bool   `json:"paired"`
	Why    string `json:"why,omitempty"` // why they are not paired
	// Common is how many tasks both sides have, Runs how many of their runs are paired
	// by their trial.
	Common int `json:"tasks"`
	Runs   int `json:"runs"`
	// OnlyBase and OnlyNew are tasks of one side; LoneBase and LoneNew are runs of
	// common tasks without a partner.
	OnlyBase int `json:"base_only"`
	OnlyNew  int `json:"new_only"`
	LoneBase int `json:"lone_base"`
	LoneNew  int `json:"lone_new"`
}

// Sides compares two sides in each quantity that both have. P values are not
// corrected: see Correct. With ErrNoCommonTask the result has no differences.
func Sides(base, new *Side, options Options) (*Result, error) {
	o := options.Filled()
	joined, pairing := pair(base, new, &o)
	r := &Result{Pairing: pairing}
	if pairing.Common == 0 && !o.Unpaired {
		return r, ErrNoCommonTask
	}
	var s *sample
	for y := range page.EachOf(new.Columns) {
		x := base.column(y.Quantity)
		if x == nil {
			continue
		}
		d := Difference{Quantity: y.Quantity, Paired: pairing.Paired}
		if pairing.Paired {
			s = joined.sampled(x, y, s)
			d.compare(s, &o)
			d.Flips = joined.flips(s, base, &d)
		} else {
			d.compareApart(apart(base, x), apart(new, y), &o)
		}
		if d.Tasks == 0 || d.BaseTasks == 0 {
			d.Missing = cmp.Or(x.Missing, y.Missing, page.Nothing)
		}
		r.Differences = append(r.Differences, d)
	}
	return r, nil
}

// Options say how sides are compared. The zero value has all defaults.
type Options struct {
	Alpha float64 // 0 means 0.05
	// ScoreMargin and RatioMargin are the smallest changes that matter: of
	// quantities compared by differences, in their unit (0 means 0.02), and of
	// those compared by ratios (0 means 0.05, which is 5 %). Below 0: there is no
	// margin, and nothing is ever called the same.
	ScoreMargin, RatioMargin float64
	// Margins are the margins of single quantities, by their names.
	Margins map[string]float64
	// Unpaired compares all runs of one side with all of the other though they
	// could be paired, and though no task is common.
	Unpaired bool
	// Seed is that of random sign flips, together with the sample itself.
	Seed uint64
}

// The defaults of Options.
const (
	DefaultAlpha       = 0.05
	DefaultScoreMargin = 0.02
	DefaultRatioMargin = 0.05
)

// Filled are the options with the defaults in the place of zeros.
func (o Options) Filled() Options {
	o.Alpha = cmp.Or(o.Alpha, DefaultAlpha)
	o.ScoreMargin = cmp.Or(o.ScoreMargin, DefaultScoreMargin)
	o.RatioMargin = cmp.Or(o.RatioMargin, DefaultRatioMargin)
	return o
}

// margin is that of a quantity, 0 where it has none.
func (o *Options) margin(q Quantity) float64 {
	margin, ok := o.Margins[q.Name]
	if !ok && q.Score {
		margin = o.ScoreMargin
	} else if !ok {
		margin = o.RatioMargin
	}
	return max(0, margin)
}

// Side is what was measured of one configuration: its runs, grouped by task.
type Side struct {
	Name string
	// Tasks are the ids of the tasks with a run that counts, each once.
	Tasks []string
	// Clusters are the clusters of the tasks, parallel to Tasks: tasks of one
	// cluster depend on each other. Where there is none, or "", the task is its own.
	// Of paired tasks the base's count, those of the new side where it has none.
	Clusters []string
	// Starts has one entry more than Tasks: the runs of task i are the numbers
	// from Starts[i] up to, without, Starts[i+1].
	Starts []int32
	// Trials are the trials of the runs, ascending within a task.
	Trials  []int32
	Columns []Column
}

// Column is one quantity of all runs of a side.
type Column struct {
	Quantity
	Values []float64 // by run; NaN where there is none
	// Missing says in a word or two why there is no value, for example
	// "unpriced"; "" where all runs have one.
	Missing string
}

// Quantity is what is compared: a score by the difference of the means; else an amount,
// of which less is better, by their ratio.
type Quantity struct {
	Name  string `json:"quantity"`
	Score bool   `json:"score"`
}

// Runs is how many runs the side has.
func (s *Side) Runs() int { return len(s.Trials) }

// clusterOf is the cluster of a task, "" where it is its own.
func (s *Side) clusterOf(task int) string {
	if s.Clusters == nil {
		return ""
	}
	return s.Clusters[task]
}

// column is the column of a quantity, nil where the side has none.
func (s *Side) column(of Quantity) *Column {
	for c := range page.EachOf(s.Columns) {
		if c.Quantity == of {
			return c
		}
	}
	return nil
}

// pairs are the runs of both sides that belong together. base and new are the
// numbers of runs, parallel to each other and grouped by task.
type pairs struct {
	tasks     []pairedTask
	base, new []int32
	clusters  []int32 // of the base's tasks, by number; nil: every task is its own
}

// pairedTask is a task with a run on both sides.
type pairedTask struct {
	base, new int32 // its numbers in Side.Tasks
	from, to  int32 // its runs in pairs
}

// pair joins two sides by task and trial.
func pair(base, new *Side, options *Options) (*pairs, PairedHow) {
	p, found := &pairs{}, PairedHow{}
	clusters := make([]string, len(base.Tasks))
	where := finder{tasks: new.Tasks}
	for i, task := range base.Tasks {
		j, ok := where.find(task)
		if !ok {
			continue
		}
		found.Common++
		clusters[i] = cmp.Or(base.clusterOf(i), new.clusterOf(int(j)))
		p.join(base, new, int32(i), j, &found)
	}
	p.clusters = numbered(clusters)
	found.OnlyBase, found.OnlyNew = len(base.Tasks)-found.Common, len(new.Tasks)-found.Common
	found.Runs = len(p.base)
	switch {
	case options.Unpaired:
		found.Why = "that was asked for"
	case found.Common == 0:
		found.Why = "no task is common"
	case found.Runs == 0:
		found.Why = "no trial is common"
	case 2*found.Common < min(len(base.Tasks), len(new.Tasks)):
		found.Why = fmt.Sprintf("only %s common", page.Plural(found.Common, "task is", "tasks are"))
	}
	found.Paired = found.Why == ""
	return p, found
}

// join pairs the runs of a task by their trials.
func (p *pairs) join(base, new *Side, i, j int32, found *PairedHow) {
	task := pairedTask{base: i, new: j, from: int32(len(p.base))}
	a, b := base.Starts[i], new.Starts[j]
	for a < base.Starts[i+1] && b < new.Starts[j+1] {
		switch x, y := base.Trials[a], new.Trials[b]; {
		case x < y:
			a, found.LoneBase = a+1, found.LoneBase+1
		case x > y:
			b, found.LoneNew = b+1, found.LoneNew+1
		default:
			p.base, p.new = append(p.base, a), append(p.new, b)
			a, b = a+1, b+1
		}
	}
	found.LoneBase += int(base.Starts[i+1] - a)
	found.LoneNew += int(new.Starts[j+1] - b)
	if task.to = int32(len(p.base)); task.to > task.from {
		p.tasks = append(p.tasks, task)
	}
}

// finder finds tasks by their ids. Where they are looked for in the order in
// which they stand, as is usual, it needs no index.
type finder struct {
	tasks []string
	next  int
	index map[string]int32
}

func (f *finder) find(task string) (at int32, ok bool) {
	if f.next < len(f.tasks) && f.tasks[f.next] == task {
		f.next++
		return int32(f.next - 1), true
	}
	if f.index == nil {
		f.index = make(map[string]int32, len(f.tasks))
		for i, t := range f.tasks {
			f.index[t] = int32(i)
		}
	}
	if at, ok = f.index[task]; ok {
		f.next = int(at) + 1
	}
	return at, ok
}

// cluster is the number of a task's cluster, own where it is its own.
func (p *pairs) cluster(t *pairedTask) int32 {
	if p.clusters == nil {
		return own
	}
	return p.clusters[t.base]
}

// own is the number of a cluster that holds one task.
const own = -1

// numbered are the places of clusters among their names in order, nil where no
// two tasks share one.
func numbered(clusters []string) []int32 {
	names := slices.Sorted(slices.Values(clusters))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	named := len(names)
	names = slices.Compact(names)
	if len(names) == named {
		return nil
	}
	at := make(map[string]int32, len(names)+1)
	for i, name := range names {
		at[name] = int32(i)
	}
	at[""] = own
	numbers := make([]int32, len(clusters))
	for i, name := range clusters {
		numbers[i] = at[name]
	}
	return numbers
}

// sample is what a quantity gives of each task.
type sample struct {
	tasks         []taskMeans
	runs, leftOut int
	single        bool // one pair of runs a task
	clustered     bool // tasks depend on each other
	binary        bool // all values are 0 or 1
	unit          bool // it is a score, and all values are from 0 to 1
}

// taskMeans are the means of a task over its paired runs, and by how much the
// new side is above the base.
type taskMeans struct {
	base, new, change float64
	cluster           int32
	at                int32 // in pairs.tasks
}

// sampled are the means of the tasks of which both sides have values of the same
// runs. The memory of an earlier sample may be used again.
func (p *pairs) sampled(base, new *Column, earlier *sample) *sample {
	s := &sample{clustered: p.clusters != nil, single: true, binary: true, unit: new.Score}
	if earlier != nil {
		s.tasks = earlier.tasks[:0]
	}
	for at := range p.tasks {
		t := &p.tasks[at]
		var sumBase, sumNew, n float64
		for i := t.from; i < t.to; i++ {
			x, y := base.Values[p.base[i]], new.Values[p.new[i]]
			if math.IsNaN(x) || math.IsNaN(y) {
				s.leftOut++
				continue
			}
			n, sumBase, sumNew = n+1, sumBase+x, sumNew+y
			s.see(x)
			s.see(y)
		}
		if n > 0 {
			s.add(taskMeans{base: sumBase / n, new: sumNew / n, change: (sumNew - sumBase) / n, cluster: p.cluster(t), at: int32(at)}, int(n))
		}
	}
	return s
}

func (s *sample) add(task taskMeans, runs int) {
	s.tasks = append(s.tasks, task)
	s.runs, s.single = s.runs+runs, s.single && runs == 1
}

func (s *sample) see(x float64) {
	s.binary = s.binary && (x == 0 || x == 1)
	s.unit = s.unit && x >= 0 && x <= 1
}

// equal is the largest difference that is rounding.
const equal = 1e-9

// settle tells the changes in a unit, and those that are rounding as none.
func (s *sample) settle(unit float64) {
	for t := range page.EachOf(s.tasks) {
		if t.change /= unit; math.Abs(t.change) < equal {
			t.change = 0
		}
	}
}

// groups are the changes by cluster, the clusters that hold one task first.
func (s *sample) groups() [][]float64 {
	if s.clustered {
		slices.SortStableFunc(s.tasks, func(a, b taskMeans) int { return cmp.Compare(a.cluster, b.cluster) })
	}
	changes := s.values(nil, change)
	groups := make([][]float64, 0, len(s.tasks))
	for from, to := 0, 0; from < len(changes); from = to {
		to = from + 1
		for cluster := s.tasks[from].cluster; cluster != own && to < len(changes) && s.tasks[to].cluster == cluster; {
			to++
		}
		groups = append(groups, changes[from:to])
	}
	return groups
}

func (s *sample) totals(groups [][]float64) (new, base []float64) {
	new, base = make([]float64, len(groups)), make([]float64, len(groups))
	at := 0
	for i, group := range groups {
		for range group {
			new[i], base[i], at = new[i]+s.tasks[at].new, base[i]+s.tasks[at].base, at+1
		}
	}
	return new, base
}

// values are a number of each task, in the room that there is.
func (s *sample) values(room []float64, of func(*taskMeans) float64) []float64 {
	room = slices.Grow(room[:0], len(s.tasks))
	for i := range s.tasks {
		room = append(room, of(&s.tasks[i]))
	}
	return room
}

func change(t *taskMeans) float64 { return t.change }

// counted are the tasks at which the new side is above the base, below it, or
// equal.
func (s *sample) counted() (above, below, ties int) {
	for i := range s.tasks {
		switch change := s.tasks[i].change; {
		case change > 0:
			above++
		case change < 0:
			below++
		default:
			ties++
		}
	}
	return above, below, ties
}

// Changes are those of the scores of tasks whose runs all have a score on both
// sides. The zero value holds none.
type Changes struct{ sample }

// Add takes the scores of a task's runs on both sides, in the same order. Tasks
// of one cluster depend on each other.
func (c *Changes) Add(cluster int32, base, new []float64) {
	if len(base) == 0 {
		return
	}
	if len(c.tasks) == 0 {
		c.single, c.binary, c.unit = true, true, true
	}
	var change float64
	for i, x := range base {
		change += new[i] - x
		c.see(x)
		c.see(new[i])
	}
	c.add(taskMeans{change: change / float64(len(base)), cluster: cluster}, len(base))
}

// Clear makes room for other tasks.
func (c *Changes) Clear() { c.sample = sample{tasks: c.tasks[:0]} }

// Interval is the 95 % interval of the mean change, that of a Difference in the
// same scores at an alpha of 0.05. It has no answer where a Difference has none.
func (c *Changes) Interval() (interval stats.Interval, ok bool) {
	c.settle(1)
	c.clustered = true
	groups := c.groups()
	if len(groups) == len(c.tasks) && c.single && c.binary {
		above, below, _ := c.counted()
		return stats.BonettPrice(above, below, len(c.tasks), stats.Level)
	}
	mean, _ := stats.ClusteredMean(groups)
	return c.around(mean, groups)
}
