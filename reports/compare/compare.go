// Package compare decides which of two sides is better: quantity by quantity,
// paired by task, with the interval and the test that fit the sample, and a
// verdict that says so when the sample cannot answer.
//
// The stages of the data, in order: pair joins the tasks and trials of both
// sides; sample makes of a column one difference for each task; measure turns
// the sample into a Line by the procedures of reports/stats; Correct adjusts the
// p values of several comparisons and judges. Everything is a pure function of
// its arguments, and the order of the tasks makes no difference but to the
// rounding of sums.
//
// It is no stable API.
package compare

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// ErrNoCommonTask says that two sides have no task in common, and that there is
// nothing to pair.
var ErrNoCommonTask = errors.New("the two sides have no task in common")

// Result is the comparison of two sides.
type Result struct {
	Pairing Pairing
	Lines   []Line // one for each quantity that both sides have, in the order of the new one
}

// Pairing is which runs of both sides belong together.
type Pairing struct {
	// Paired says that the runs are compared in pairs. They are not where that
	// was asked for, where no trial is common, and where fewer than half of the
	// tasks of the smaller side are.
	Paired bool
	// Common is how many tasks both sides have, OnlyBase and OnlyNew how many one
	// of them has.
	Common, OnlyBase, OnlyNew int
	// Runs is how many runs of the common tasks are paired by their trial;
	// LoneBase and LoneNew are the runs of common tasks without a partner.
	Runs, LoneBase, LoneNew int
}

// Sides compares two sides in each quantity that both have. P values are not
// corrected: see Correct.
func Sides(base, new *Side, options Options) (*Result, error) {
	o := options.Filled()
	joined, pairing := pair(base, new, &o)
	if pairing.Common == 0 && !o.Unpaired {
		return nil, ErrNoCommonTask
	}
	r := &Result{Pairing: pairing}
	var s *sample
	for i := range new.Columns {
		y := &new.Columns[i]
		x := base.column(y.Quantity)
		if x == nil {
			continue
		}
		line := Line{Quantity: y.Quantity, Paired: pairing.Paired}
		if pairing.Paired {
			s = joined.sampled(x, y, s)
			line.compare(s, &o)
			line.Flips = joined.flips(s, base, &line)
		} else {
			line.compareApart(apart(base, x), apart(new, y), &o)
			if o.Sequential && !line.Ratio {
				line.Sequential = &Sequential{Missing: "not paired"}
			}
		}
		line.explain(x, y)
		r.Lines = append(r.Lines, line)
	}
	return r, nil
}

// explain says why there is nothing to compare.
func (l *Line) explain(base, new *Column) {
	switch {
	case l.Tasks > 0 && l.BaseTasks > 0:
	case base.Missing != "":
		l.Missing = base.Missing
	case new.Missing != "":
		l.Missing = new.Missing
	default:
		l.Missing = "-"
	}
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
	// Sequential weighs scores so that one may look at any time: see [Sequential].
	Sequential bool
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
	if !ok && q.Ratio {
		margin = o.RatioMargin
	} else if !ok {
		margin = o.ScoreMargin
	}
	return max(0, margin)
}

// Line compares both sides in one quantity. Numbers that are not known are NaN.
type Line struct {
	Quantity
	// Paired says that runs of the same task and trial were compared; else all
	// runs of one side with all of the other.
	Paired bool
	// Test names the procedure that P is of, Method says how it came about.
	Test   Test
	Method stats.Method
	// Tasks is how many tasks were compared, BaseTasks those of the base side: as
	// many where they are paired.
	Tasks, BaseTasks int
	// Runs is how many pairs of runs were compared, LeftOut how many had no value
	// on a side and were left out. Where tasks are not paired they are runs of
	// either side.
	Runs, LeftOut int
	// Base and New are the means of the tasks' means over what was compared.
	Base, New float64
	// Change is New - Base, or, where Relative, the ratio of both, New / Base - 1.
	// Low and High are the ends of its 95 % interval.
	Change, Low, High float64
	Relative          bool
	// P is two-sided. Adjusted is P corrected for the comparisons made at once;
	// verdicts are by it.
	P, Adjusted float64
	// Wins are tasks at which the new side is better, Losses those at which it is
	// worse, Ties those at which both are equal to 1e-9. All are 0 where not
	// paired.
	Wins, Losses, Ties int
	// Binary says that it is a score, and all values compared are 0 or 1.
	Binary bool

	Verdict Verdict
	// Margin is the smallest change that matters, in the unit of Change.
	Margin float64
	// NotWorse says that the interval shows the new side to be worse by less than
	// Margin, if at all: non-inferiority. What is better or the same is not worse.
	NotWorse bool
	// Needed is how many tasks it would take to show, with a power of 0.8, a
	// change of the size seen; 0 where the change is shown or nothing is known,
	// Beyond where it is more than a million.
	Needed int
	// TooFew says that with so few tasks that differ, Differing and not Fewest, no
	// outcome could have been shown at alpha. Where the tasks have clusters, these
	// are what is counted.
	TooFew            bool
	Differing, Fewest int
	// Clusters is how many clusters the tasks compared are in, BaseClusters those
	// of the base side; 0: every task is its own. ClustersNeeded is Needed in
	// clusters of the present size.
	Clusters, BaseClusters int
	ClustersNeeded         int
	// Contrary says that the test shows a difference, and another way than the
	// change, as ranks may beside a mean: then nothing is better or worse.
	Contrary bool
	// Missing says why there is nothing to compare; "" where there is.
	Missing string

	// Sequential is nil unless it was asked for, and of amounts.
	Sequential *Sequential

	// Flips are the tasks whose mean of a binary score changed, those that got
	// worse first, then by how much. They are of paired lines only.
	Flips []Flip

	needed float64 // as Needed and TooFew, whatever the verdict; not rounded
	tooFew bool
	// contrary is as Contrary, whether the test shows anything or not.
	contrary bool
}

// clustered reports whether tasks depend on each other.
func (l *Line) clustered() bool { return l.Clusters > 0 }

// Flip is a task whose success changed.
type Flip struct {
	Task      string
	Base, New float64 // means over the runs paired
	// BaseAt and NewAt are the numbers of the task in Side.Tasks.
	BaseAt, NewAt int32
}

// Test is a procedure that gives a p value.
type Test string

// The Tests.
const (
	McNemar     Test = "mcnemar"      // exact, of binary scores of one trial
	SignFlip    Test = "sign_flip"    // of the tasks' differences
	Student     Test = "t"            // the same, of more than 2,000 that are not 0
	Welch       Test = "welch"        // of tasks that are not paired
	MannWhitney Test = "mann_whitney" // the same, of amounts without clusters
)

// Verdict is what a line says.
type Verdict string

// The Verdicts.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Same       Verdict = "same" // within the margin
	CannotTell Verdict = "cannot_tell"
)

// Beyond is Needed where more than a million tasks are needed.
const Beyond = -1

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

// Quantity is what is compared.
type Quantity struct {
	Name string
	// Lower says that less is better.
	Lower bool
	// Ratio says that it is compared by the ratio of the means, as amounts are; else by
	// their difference.
	Ratio bool
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
	for i := range s.Columns {
		if s.Columns[i].Quantity == of {
			return &s.Columns[i]
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
func pair(base, new *Side, options *Options) (*pairs, Pairing) {
	p, found := &pairs{}, Pairing{}
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
	found.Paired = !options.Unpaired && found.Runs > 0 && 2*found.Common >= min(len(base.Tasks), len(new.Tasks))
	return p, found
}

// join pairs the runs of a task by their trials.
func (p *pairs) join(base, new *Side, i, j int32, found *Pairing) {
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
	s := &sample{clustered: p.clusters != nil, single: true, binary: true, unit: !new.Ratio}
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
	for i := range s.tasks {
		t := &s.tasks[i]
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
	changes := s.changes()
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

// totals are the sums of both sides by group.
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

func (s *sample) changes() []float64 {
	changes := make([]float64, len(s.tasks))
	for i := range s.tasks {
		changes[i] = s.tasks[i].change
	}
	return changes
}

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

// Interval is the 95 % interval of the mean change, that of a Line about the same
// scores at an alpha of 0.05. It has no answer where a Line has none.
func (c *Changes) Interval() (interval stats.Interval, ok bool) {
	c.settle(1)
	c.clustered = true
	groups := c.groups()
	if len(groups) == len(c.tasks) && c.single && c.binary {
		above, below, _ := c.counted()
		return stats.BonettPrice(above, below, len(c.tasks), stats.Level)
	}
	mean, _ := stats.ClusteredMean(groups)
	return c.around(mean, groups, differing(sumsOf(groups)) < fewest(DefaultAlpha))
}
