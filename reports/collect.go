package reports

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/stats"
)

// Collect reads the light runs and scores of a result folder into a report. It
// keeps some numbers for each run and nothing of its trajectory. The order in
// which runs and scores come makes no difference, except that of several scores
// by one scorer on the same thing the last one stands, unless it was taken back.
//
// An error, such as a [record.Damage], ends the collection.
func Collect(m *record.Manifest, runs iter.Seq2[*record.Run, error], scores iter.Seq2[record.Score, error]) (*Report, error) {
	return CollectSteps(m, runs, scores, func(func(record.Snapshot, error) bool) {})
}

// CollectSteps also reads what was found of states of workspaces, if any run kept them.
func CollectSteps(m *record.Manifest, runs iter.Seq2[*record.Run, error], scores iter.Seq2[record.Score, error], snapshots iter.Seq2[record.Snapshot, error]) (*Report, error) {
	c := newCollector(m)
	for s, err := range runs {
		if err != nil {
			return nil, fmt.Errorf("reading the runs: %w", err)
		}
		c.add(s)
	}
	for s, err := range scores {
		if err != nil {
			return nil, fmt.Errorf("reading scores: %w", err)
		}
		c.score(&s)
	}
	if len(c.runs.kept) == 0 {
		return c.report(), nil
	}
	for s, err := range snapshots {
		if err != nil {
			return nil, fmt.Errorf("reading scores of states: %w", err)
		}
		c.snapshot(&s)
	}
	return c.report(), nil
}

// collector gathers what a report is made of.
type collector struct {
	manifest *record.Manifest
	runs     *runs
	at       map[string]int32 // the number of a configuration
	sums     []sums           // of each configuration
	uses     []taskUse        // of each configuration
	scorers  map[string]*scores
	absent   map[string]absent // runs that do not count, by their id
	answers  *answers          // nil: no metric asks for them
	judged   map[judgedBy]map[judgedThing]agreement
	// resamples are made once for each number of clusters and of draws.
	resamples map[[2]int]*stats.Resamples
	levels    map[int]float64 // of percentiles, by the number of clusters

	unknown, repeated int
}

// absent is a run that does not count.
type absent struct {
	configuration int32
	task          string
	fault         record.ErrorClass // "" for a cancelled run
}

func newCollector(m *record.Manifest) *collector {
	c := &collector{
		manifest: m, runs: newRuns(m.Totals.Planned), at: map[string]int32{}, sums: make([]sums, len(m.Configurations)),
		uses:    make([]taskUse, len(m.Configurations)),
		scorers: map[string]*scores{}, absent: map[string]absent{}, answers: newAnswers(m.Metrics), judged: map[judgedBy]map[judgedThing]agreement{},
		resamples: map[[2]int]*stats.Resamples{}, levels: map[int]float64{},
	}
	for i := range m.Configurations {
		c.at[m.Configurations[i].Name] = int32(i)
		c.sums[i] = sums{failed: map[record.ErrorClass]int{}, versions: map[string]bool{}, phases: map[string]*histogram{}, answered: map[string]*answered{}, programs: map[string]bool{}}
	}
	for _, name := range m.Scorers {
		c.scorer(name)
	}
	return c
}

func (c *collector) add(s *record.Run) {
	configuration, ok := c.at[s.Configuration]
	switch {
	case !ok:
		c.unknown++
	case c.runs.find(s.ID) >= 0:
		if s.Outcome.Counts() {
			c.repeated++
		}
	case !s.Outcome.Counts():
		c.addAbsent(configuration, s)
	default:
		delete(c.absent, s.ID) // a later attempt succeeded
		head := &c.manifest.Configurations[configuration]
		c.runs.add(configuration, s, head)
		c.runs.keepSteps(s)
		c.runs.keepProgram(s)
		c.answers.returned(s)
		if len(c.manifest.Scorers) > 0 {
			c.runs.keepReturned(s)
		}
		c.sums[configuration].add(s, head)
		c.uses[configuration].add(c.runs.all[len(c.runs.all)-1].task, s, head, c.manifest.Tasks)
	}
}

// addAbsent keeps one entry for each run, the same whatever the order of its
// attempts.
func (c *collector) addAbsent(configuration int32, s *record.Run) {
	a := absent{configuration: configuration, task: strings.Clone(s.Task)}
	if s.Outcome.Status == record.Faulted {
		a.fault = "unknown"
		if e := s.Outcome.Error; e != nil && e.Class != "" {
			a.fault = e.Class
		}
	}
	if before, seen := c.absent[s.ID]; !seen || a.fault > before.fault {
		c.absent[s.ID] = a
	}
}

func (c *collector) report() *Report {
	m := c.manifest
	c.runs.scores = c.orderedScores()
	c.runs.order(len(m.Configurations))
	c.runs.absent = orderedAbsent(c.absent, len(m.Configurations))
	c.runs.forget()
	r := &Report{
		Schema: Schema, Incomplete: m.Incomplete, Suite: m.Suite, Status: m.Status, SpecHash: m.SpecHash, Seed: m.Seed, Baseline: m.Baseline,
		TaskCount: m.Tasks, Trials: m.Trials, Clusters: c.runs.countClusters(), PricesAsOf: m.PricesAsOf, Volatile: EffortOf(m), Scorers: []string{}, Simulated: m.Simulated,
		Configurations: make([]Configuration, len(m.Configurations)), runs: c.runs,
	}
	for _, s := range c.runs.scores {
		r.Scorers = append(r.Scorers, s.name)
	}
	for i := range r.Configurations {
		r.Configurations[i] = c.summarise(i)
	}
	c.warn(r)
	return r
}

// orderedScores are the scores in the order in which the suite declares them;
// those that it does not declare follow by name.
func (c *collector) orderedScores() []*scores {
	var ordered []*scores
	for _, s := range c.scorers {
		if any := s.settle(); any || slices.Contains(c.manifest.Scorers, s.name) { // else all were taken back
			ordered = append(ordered, s)
		}
	}
	place := func(s *scores) int {
		if at := slices.Index(c.manifest.Scorers, s.name); at >= 0 {
			return at
		}
		return len(c.manifest.Scorers)
	}
	slices.SortFunc(ordered, func(a, b *scores) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.name, b.name))
	})
	return ordered
}

// run is what is kept of each run that counts, 72 bytes.
type run struct {
	configuration, task, trial int32
	iterations                 int32
	returned                   int32  // the iteration whose output is returned, 0: none
	stop                       int32  // index of runs.stops
	steps                      uint32 // index of its first iteration in the columns of steps
	calls                      int32  // the most that fits where there are more
	agentSteps                 int32  // steps of its conversations, likewise
	assessed                   bool   // the loop believes or does not
	believed                   bool   // the loop believed to have succeeded
	unknown                    unknown
	confidence                 float64 // of the returned iteration, NaN where it has none
	elapsed                    time.Duration
	cost                       record.Money
	tokens                     int64
}

// unknown is what is not known of a run, a bit for each.
type unknown uint8

const (
	unpriced   unknown = 1 << iota // the cost of some calls
	unreported                     // the usage of some calls
	uncounted                      // its tokens
	untimed                        // its time
)

func (u unknown) where(is bool) unknown {
	if is {
		return u
	}
	return 0
}

func (r *run) lacks(what unknown) bool { return r.unknown&what != 0 }

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

	programs map[int32][]spentUntil // of runs whose programs called models, at each step
	// kept are the primary scores of states that were kept, by the step that found them; of runs that
	// kept any.
	kept map[int32]map[int]float64

	tasks    names
	clusters taskNames // a task without one is its own
	groups   taskNames

	stops   []stopKey
	stopAt  map[stopKey]int32
	scores  []*scores // in the order of the report's scorers
	ordered [][]int32 // for each configuration its runs by task and trial
	// absent are the runs of each configuration that do not count, by task.
	absent [][]absent

	ids map[string]int32 // the places of the runs
}

// newRuns makes room for as many runs as are expected, so that what grows does
// not have to be moved; a wrong number costs only memory.
func newRuns(expected int) *runs {
	expected = min(max(expected, 0), mostExpected)
	return &runs{
		all: make([]run, 0, expected), stepReturned: make([]int32, 0, expected), stepScores: make([]float64, 0, expected),
		stepDollars: make([]float32, 0, expected), stepSeconds: make([]float32, 0, expected),
		tasks: names{at: map[string]int32{}}, stopAt: map[stopKey]int32{},
		ids: make(map[string]int32, expected),
	}
}

// mostExpected bounds the room that is made because a manifest says so.
const mostExpected = 1 << 20

// find is the place of a run, -1 where it is not kept.
func (r *runs) find(id string) int32 {
	if at, kept := r.ids[id]; kept {
		return at
	}
	return -1
}

// add keeps a run that find does not know.
func (r *runs) add(configuration int32, s *record.Run, head *record.ConfigurationHead) {
	total, task := s.Total(), r.tasks.number(s.Task)
	r.clusters.note(task, s.Cluster, len(r.tasks.all))
	r.groups.note(task, s.Group, len(r.tasks.all))
	kept := run{
		configuration: configuration, task: task, trial: int32(s.Trial),
		iterations: int32(len(s.Iterations)), returned: int32(s.Outcome.Returned),
		assessed: assessed(s, head), agentSteps: agentSteps(s),
		stop: r.stop(&s.Outcome), steps: uint32(len(r.stepDollars)), believed: s.Outcome.Success,
		elapsed: s.Elapsed, cost: total.Cost, confidence: math.NaN(),
		tokens: total.Tokens(), calls: int32(min(total.Calls, math.MaxInt32)),
	}
	if n := s.Outcome.Returned; n > 0 && n <= len(s.Iterations) && s.Iterations[n-1].Evaluation != nil {
		kept.confidence = s.Iterations[n-1].Evaluation.Confidence
	}
	kept.unknown = unpriced.where(total.Unpriced > 0) | unreported.where(total.Unreported > 0) |
		uncounted.where(!total.TokensTold()) | untimed.where(s.Untimed)
	r.ids[strings.Clone(s.ID)] = int32(len(r.all)) // it may lie in a longer text
	r.all = append(r.all, kept)
}

// agentSteps is how many steps the agents of a run made.
func agentSteps(s *record.Run) int32 {
	steps := 0
	for i := range s.Iterations {
		steps += s.Iterations[i].StepCount()
	}
	return int32(min(steps, math.MaxInt32))
}

// clusterOf is a task's cluster, "" where it is its own.
func (r *runs) clusterOf(task int32) string { return r.clusters.of(task) }

func (r *runs) clusterOfRun(at int32) string { return r.clusterOf(r.all[at].task) }

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
func (r *runs) keepSteps(s *record.Run) {
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
func (r *runs) keepReturned(s *record.Run) {
	r.stepReturned = appendReturned(r.stepReturned, s)
	for len(r.stepScores) < len(r.stepReturned) {
		r.stepScores = append(r.stepScores, math.NaN())
	}
}

// appendReturned tells for each iteration which one would be returned had the
// run stopped there, 0 for none: the one with the highest confidence, the
// earliest among equals; while nothing is evaluated, the last with an output. At
// the last iteration it is what was returned.
func appendReturned(returned []int32, s *record.Run) []int32 {
	best, last := 0, 0
	for i := range s.Iterations {
		it := &s.Iterations[i]
		if whole := it.Error == nil && it.Cut == "" && len(it.Output) > 0; whole {
			last = i + 1
			if it.Evaluation != nil && !it.Skipped && (best == 0 || it.Evaluation.Confidence > s.Iterations[best-1].Evaluation.Confidence) {
				best = i + 1
			}
		}
		at := best
		if best == 0 {
			at = last
		}
		returned = append(returned, int32(at))
	}
	if n := len(s.Iterations); n > 0 {
		returned[len(returned)-1] = int32(min(n, max(0, s.Outcome.Returned)))
	}
	return returned
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
	counts := make([]int, configurations)
	for i := range r.all {
		counts[r.all[i].configuration]++
	}
	for c, n := range counts {
		r.ordered[c] = slices.Grow(r.ordered[c], n)
	}
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
func (r *runs) forget() { r.ids, r.stopAt, r.tasks.at = nil, nil, nil }

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

// leading is how many of the first runs are of that task.
func (r *runs) leading(ordered []int32, task int32) (n int) {
	for n < len(ordered) && r.all[ordered[n]].task == task {
		n++
	}
	return n
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

// taskNames are names that tasks have, by their number: of clusters, or of
// groups. They are nil where no task has one, "" where one has none.
type taskNames []string

// note keeps a task's name. All runs of a task have the same; in mixed results
// the last by name stands, whatever the order of the runs.
func (n *taskNames) note(task int32, name string, tasks int) {
	if name == "" {
		return
	}
	for len(*n) < tasks {
		*n = append(*n, "")
	}
	if (*n)[task] < name {
		(*n)[task] = strings.Clone(name)
	}
}

// of is a task's name, "" where it has none.
func (n taskNames) of(task int32) string {
	if int(task) >= len(n) {
		return ""
	}
	return n[task]
}

func (n taskNames) distinct() []string {
	seen := map[string]bool{}
	var all []string
	for _, name := range n {
		if name != "" && !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	slices.SortFunc(all, naturally)
	return all
}

// orderedAbsent parts the runs that do not count by configuration, each by task.
func orderedAbsent(all map[string]absent, configurations int) [][]absent {
	ordered := make([][]absent, configurations)
	for _, a := range all {
		ordered[a.configuration] = append(ordered[a.configuration], a)
	}
	for _, absents := range ordered {
		slices.SortFunc(absents, func(a, b absent) int {
			return cmp.Or(naturally(a.task, b.task), cmp.Compare(a.fault, b.fault))
		})
	}
	return ordered
}

type stopKey struct {
	Reason record.Reason
	Class  record.Class
	Fired  string
}
