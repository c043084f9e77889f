package reports

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// run is what is kept of each run that counts, 80 bytes.
type run struct {
	configuration, task, trial int32
	iterations                 int32
	returned                   int32  // the iteration whose output is returned, 0: none
	stop                       int32  // index of runs.stops
	steps                      uint32 // index of its first iteration in the columns of steps
	calls                      int32  // the most that fits where there are more
	talked                     int32  // steps of its conversations, likewise
	evaluated                  bool   // the returned iteration has a confidence
	assessed                   bool   // the loop believes or does not
	believed                   bool   // the loop believed to have succeeded
	unpriced, unreported       bool
	uncounted, untimed         bool // its tokens, its time are unknown
	confidence                 float64
	elapsed                    time.Duration
	cost                       record.Money
	tokens                     int64
}

// runs are the runs that count, in columns. Memory grows by the run, not by
// what is in its trajectory.
type runs struct {
	all []run
	// The columns of steps have an entry for each iteration of each run: which
	// iteration would be returned had the run stopped there (0: none), and its
	// score by the primary scorer, NaN where there is none; where nothing is
	// scored they are empty. What an iteration cost and took is for intervals,
	// which need no more than seven digits.
	stepReturned []int32
	stepScores   []float64
	stepDollars  []float32
	stepSeconds  []float32

	tasks    names
	clusters taskNames // a task without one is its own
	groups   taskNames

	stops   []stopKey
	stopAt  map[stopKey]int32
	scores  []*scores // in the order of the report's scorers
	ordered [][]int32 // for each configuration its runs by task and trial
	// absent are the runs of each configuration that do not count, by task.
	absent [][]absent

	index *index // of the runs' ids
}

// newRuns makes room for as many runs as are expected, so that what grows does
// not have to be moved; a wrong number costs only memory.
func newRuns(expected int) *runs {
	expected = min(max(expected, 0), mostExpected)
	return &runs{
		all: make([]run, 0, expected), stepReturned: make([]int32, 0, expected), stepScores: make([]float64, 0, expected),
		stepDollars: make([]float32, 0, expected), stepSeconds: make([]float32, 0, expected),
		tasks: names{at: map[string]int32{}}, stopAt: map[stopKey]int32{},
		index: newIndex(expected),
	}
}

// mostExpected bounds the room that is made because a manifest says so.
const mostExpected = 1 << 20

// find is the index of a run, -1 where it is not kept.
func (r *runs) find(id string) int32 { return r.index.find(id) }

// add keeps a run that find does not know.
func (r *runs) add(configuration int32, s *record.Signals, head *record.ConfigurationHead) {
	total, task := s.Total(), r.tasks.number(s.Task)
	r.clusters.note(task, s.Cluster, len(r.tasks.all))
	r.groups.note(task, s.Group, len(r.tasks.all))
	kept := run{
		configuration: configuration, task: task, trial: int32(s.Trial),
		iterations: int32(len(s.Iterations)), returned: int32(s.Outcome.Returned),
		assessed: assessed(s, head), talked: talked(s),
		stop: r.stop(&s.Outcome), steps: uint32(len(r.stepDollars)), believed: s.Outcome.Success,
		unpriced: total.Unpriced > 0, unreported: total.Unreported > 0, uncounted: !total.TokensTold(), untimed: s.Untimed,
		elapsed: s.Elapsed, cost: total.Cost,
		tokens: total.Tokens(), calls: int32(min(total.Calls, math.MaxInt32)),
	}
	if n := s.Outcome.Returned; n > 0 && n <= len(s.Iterations) && s.Iterations[n-1].Evaluated {
		kept.evaluated, kept.confidence = true, s.Iterations[n-1].Confidence
	}
	r.index.add(s.ID)
	r.all = append(r.all, kept)
}

// talked is how many steps the agents of a run made.
func talked(s *record.Signals) int32 {
	steps := 0
	for i := range s.Iterations {
		steps += s.Iterations[i].Steps
	}
	return int32(min(steps, math.MaxInt32))
}

// meanSeconds is the mean time of some runs, unknown where that of one is.
func (r *runs) meanSeconds(group []int32) page.Value {
	var elapsed time.Duration
	for _, at := range group {
		if r.all[at].untimed {
			return page.Missing(page.Unknown)
		}
		elapsed += r.all[at].elapsed
	}
	return page.ValueOf(stats.Ratio(elapsed.Seconds(), float64(len(group))))
}

// clusterOf is a task's cluster, "" where it is its own.
func (r *runs) clusterOf(task int32) string { return r.clusters.of(task) }

// unit is what is independent of others: a cluster, else a task.
type unit struct {
	cluster string
	task    int32 // where there is no cluster
}

func (r *runs) unitOf(task int32) unit {
	if cluster := r.clusterOf(task); cluster != "" {
		return unit{cluster: cluster}
	}
	return unit{task: task}
}

// countClusters is 0 where no task has a cluster.
func (r *runs) countClusters() int {
	if r.clusters == nil {
		return 0
	}
	named, alone := map[string]bool{}, 0
	for task := range r.tasks.all {
		if name := r.clusterOf(int32(task)); name != "" {
			named[name] = true
		} else {
			alone++
		}
	}
	return len(named) + alone
}

// keepSteps keeps what the iterations of the run added last spent.
func (r *runs) keepSteps(s *record.Signals) {
	var before time.Duration
	for i := range s.Iterations {
		it := &s.Iterations[i]
		r.stepDollars = append(r.stepDollars, float32(it.Total().Cost.Dollars()))
		r.stepSeconds = append(r.stepSeconds, float32((it.End - before).Seconds()))
		before = it.End
	}
}

// keepReturned keeps what the run added last would have returned, had it stopped
// at any of its iterations.
func (r *runs) keepReturned(s *record.Signals) {
	r.stepReturned = appendReturned(r.stepReturned, s)
	for len(r.stepScores) < len(r.stepReturned) {
		r.stepScores = append(r.stepScores, math.NaN())
	}
}

func (r *runs) stop(o *record.Outcome) int32 {
	key := stopKey{Reason: o.Reason, Class: o.Class, Fired: o.Fired}
	at, ok := r.stopAt[key]
	if !ok {
		at = int32(len(r.stops))
		r.stops = append(r.stops, key)
		r.stopAt[key] = at
	}
	return at
}

// order sorts the runs of each configuration by task and trial, which makes
// every sum over them independent of the order in which they came.
func (r *runs) order(configurations int) {
	rank := r.tasks.ranks()
	r.ordered = make([][]int32, configurations)
	for i := range r.all {
		c := r.all[i].configuration
		r.ordered[c] = append(r.ordered[c], int32(i))
	}
	for _, ordered := range r.ordered {
		slices.SortFunc(ordered, func(i, j int32) int {
			a, b := &r.all[i], &r.all[j]
			return cmp.Or(cmp.Compare(rank[a.task], rank[b.task]), cmp.Compare(a.trial, b.trial))
		})
	}
}

// forget gives up what only collecting needs.
func (r *runs) forget() { r.index, r.stopAt, r.tasks.at = nil, nil, nil }

// byTask are a configuration's runs, one slice for each of its tasks.
func (r *runs) byTask(configuration int) iter.Seq[[]int32] {
	return r.grouped(r.ordered[configuration])
}

// grouped are runs that are ordered by task, one slice for each.
func (r *runs) grouped(ordered []int32) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for len(ordered) > 0 {
			n := r.leading(ordered, r.all[ordered[0]].task)
			if !yield(ordered[:n]) {
				return
			}
			ordered = ordered[n:]
		}
	}
}

// names numbers names as they come.
type names struct {
	all []string
	at  map[string]int32
}

func (n *names) number(name string) int32 {
	at, ok := n.at[name]
	if !ok {
		at = int32(len(n.all))
		name = strings.Clone(name) // it may lie in a longer text
		n.all = append(n.all, name)
		n.at[name] = at
	}
	return at
}

// ranks are the places of the names in their natural order.
func (n *names) ranks() []int32 {
	sorted := make([]int32, len(n.all))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(i, j int32) int { return naturally(n.all[i], n.all[j]) })
	ranks := make([]int32, len(n.all))
	for place, i := range sorted {
		ranks[i] = int32(place)
	}
	return ranks
}
