package reports

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// summarise measures the i-th configuration.
func (c *collector) summarise(i int) Configuration {
	head, u, ordered := &c.manifest.Configurations[i], &c.sums[i], c.runs.ordered[i]
	s := Configuration{
		Name: head.Name, Aliases: head.Aliases, Params: head.Params, Simulated: u.simulated,
		Runs: len(ordered), Expected: c.manifest.Tasks * c.manifest.Trials,
		Faults: []Count{}, Failures: counted(u.failed), Scores: []Score{},
		Success: page.Ratio(u.believed, u.evaluated),
	}
	for range c.runs.byTask(i) {
		s.Tasks++
	}
	s.Coverage = page.Ratio(int64(s.Runs), int64(s.Expected))
	s.Faults, s.Cancelled = c.faults(int32(i))
	for _, scores := range c.runs.scores {
		s.Scores = append(s.Scores, scores.summary(c.runs, i))
	}
	m := c.measure(i)
	s.Declared = c.metrics(i, m)
	s.SuccessInterval = m.share((*run).claims, (*run).judgedItself)
	s.Iterations = c.spread(m, func(r *run) int64 { return int64(r.iterations) }, 1)
	s.Latency = noSpread
	if u.untimed == 0 {
		s.Latency = c.spread(m, func(r *run) int64 { return int64(r.elapsed) }, float64(time.Second))
	}
	s.Stops = c.stops(i, m)
	s.Limits, s.Curve = []Limit{}, []CurvePoint{}
	if !c.manifest.Brief { // a baseline does not tell what each iteration did
		s.Limits, s.Curve = m.limits(head, u, &c.uses[i], &s), c.curve(i, m)
	}
	s.Calibration, s.Residue = c.calibration(m), c.residue(i)
	s.Judges = c.judges(i, s.Residue)
	s.measureUsage(u)
	m.usage(&c.uses[i], &s)
	s.CallsInterval = m.mean(func(r *run) float64 { return float64(r.calls) }, s.Calls)
	s.TokensInterval = m.mean(func(r *run) float64 { return float64(r.tokens) }, s.Tokens)
	s.Cost.MeanInterval = m.mean(func(r *run) float64 { return r.cost.Dollars() }, s.Cost.Mean)
	s.Cost.PerSuccess = c.costPerSuccess(ordered, s.Cost.Total)
	s.Cost.PerSuccessInterval = m.perSuccess(s.Cost.PerSuccess)
	s.Warnings = c.warnAbout(i, &s)
	return s
}

func (r *run) claims() bool       { return r.believed }
func (r *run) judgedItself() bool { return r.assessed }

// noSpread is that of a number which some run does not tell.
var noSpread = Spread{
	Mean: page.Missing(page.Unknown), P50: page.Missing(page.Unknown), P95: page.Missing(page.Unknown),
	MeanInterval: without(page.Unknown), P50Interval: without(page.Unknown),
}

// spread sorts the numbers of the runs; unit is what 1 is divided by for the
// reader.
func (c *collector) spread(m *measure, of func(*run) int64, unit float64) Spread {
	sorted := make([]int64, len(m.ordered))
	var total int64
	for i, run := range m.ordered {
		sorted[i] = of(&c.runs.all[run])
		total += sorted[i]
	}
	slices.Sort(sorted)
	quantile := func(p float64) page.Value {
		q, ok := stats.Quantile(sorted, p)
		return page.ValueOf(q/unit, ok)
	}
	mean, ok := stats.Ratio(float64(total), float64(len(sorted)))
	s := Spread{Mean: page.ValueOf(mean/unit, ok), P50: quantile(0.5), P95: quantile(0.95)}
	s.MeanInterval = m.mean(func(r *run) float64 { return float64(of(r)) / unit }, s.Mean)
	s.P50Interval = m.median(of, sorted, unit)
	return s
}

func (c *Configuration) measureUsage(u *sums) {
	total, runs := u.agent.Plus(u.judging).Plus(u.user), int64(c.Runs)
	used := func(n int64) page.Value {
		if u.agent.Unreported > 0 {
			return page.Missing(page.Unknown)
		}
		return page.Ratio(n, runs)
	}
	c.Calls, c.ToolCalls = used(total.Calls), page.Ratio(total.ToolCalls, runs)
	c.Tokens, c.InputTokens, c.OutputTokens = used(total.Tokens()), used(total.InputTokens), used(total.OutputTokens)
	if !total.TokensTold() {
		none := page.Missing(page.Unknown)
		c.Tokens, c.InputTokens, c.OutputTokens = none, none, none
	}
	c.TotalCalls, c.TotalToolCalls, c.TotalTokens = totalOf(total.Calls, c.Calls), totalOf(total.ToolCalls, c.ToolCalls), totalOf(total.Tokens(), c.Tokens)
	c.Judging, c.User = partOf(u.judging, runs), partOf(u.user, runs)
	c.Cost.Mean, c.Cost.Total = meanCost(total, runs), totalCost(total, runs)
}

// totalOf is a sum of which the mean is known; without runs it is 0.
func totalOf(sum int64, mean page.Value) page.Value {
	if mean.Missing == page.Unknown {
		return mean
	}
	return page.Known(float64(sum))
}

func partOf(u record.Usage, runs int64) Judging {
	return Judging{Calls: page.Ratio(u.Calls, runs), Tokens: page.Ratio(u.Tokens(), runs), Cost: meanCost(u, runs)}
}

func meanCost(u record.Usage, runs int64) page.Value {
	return totalCost(u, runs).Over(float64(runs))
}

// totalCost is missing, not 0, when any call is unpriced, or any program did not
// say what it used.
func totalCost(u record.Usage, runs int64) page.Value {
	if runs == 0 {
		return page.Missing(page.Nothing)
	}
	return costOr(u.Cost, u.Unpriced > 0, u.Unreported > 0)
}

// costOr is a cost in USD, unless it is not the whole cost.
func costOr(cost record.Money, isUnpriced, isUnreported bool) page.Value {
	switch {
	case isUnreported:
		return page.Missing(page.Unknown)
	case isUnpriced:
		return page.Missing(page.Unpriced)
	case cost >= record.Countless:
		return page.Missing(page.TooMuch)
	}
	return page.Known(cost.Dollars())
}

// costPerSuccess is a ratio of sums over the runs whose success is known: those
// that the primary scorer judged; without scorers, all.
func (c *collector) costPerSuccess(ordered []int32, total page.Value) page.Value {
	if !total.Known() {
		return total
	}
	var cost record.Money
	successes, judged := 0, 0
	for _, at := range ordered {
		succeeded, known := c.runs.succeeded(at)
		if !known {
			continue
		}
		judged++
		cost = cost.Plus(c.runs.all[at].cost)
		if succeeded {
			successes++
		}
	}
	switch {
	case judged == 0:
		return page.Missing(page.Nothing)
	case successes == 0:
		return page.Missing(page.None)
	}
	return page.Known(cost.Dollars() / float64(successes))
}

// succeeded is what the primary scorer says; without scorers, what the loop
// believed.
func (r *runs) succeeded(run int32) (succeeded, known bool) {
	if len(r.scores) == 0 {
		return r.all[run].believed, true
	}
	value, ok := r.scores[0].of(run)
	return value >= success, ok
}

func (c *collector) faults(configuration int32) (faults []Count, cancelled int) {
	classes := map[record.ErrorClass]int{}
	for _, a := range c.absent {
		switch {
		case a.configuration != configuration:
		case a.fault == "":
			cancelled++
		default:
			classes[a.fault]++
		}
	}
	return counted(classes), cancelled
}

// AllFailed are the runs that count by the class of the error by which the agent
// failed, the most frequent first, if it failed in every one of them; else nil.
func (r *Report) AllFailed() []Count {
	classes := map[record.ErrorClass]int{}
	for c := range r.each() {
		if countAll(c.Failures) < c.Runs {
			return nil
		}
		for _, failure := range c.Failures {
			classes[record.ErrorClass(failure.Name)] += failure.N
		}
	}
	if len(classes) == 0 {
		return nil
	}
	return counted(classes)
}

// counted lists how many there are of each class, the most frequent first.
func counted(classes map[record.ErrorClass]int) []Count {
	counts := []Count{}
	for class, n := range classes {
		counts = append(counts, Count{Name: string(class), N: n})
	}
	slices.SortFunc(counts, func(a, b Count) int { return mostFirst(a.N, b.N, a.Name, b.Name) })
	return counts
}

// Collect reads the signals and scores of a result folder into a report. It
// keeps some numbers for each run and nothing of its trajectory. The order in
// which runs and scores come makes no difference, except that of several scores
// by one scorer on the same thing the last one stands, unless it was taken back.
//
// Lines that cannot be read ([record.Problem]) become a warning; any other
// error ends the collection.
func Collect(m *record.Manifest, signals iter.Seq2[*record.Signals, error], scores iter.Seq2[record.Score, error]) (*Report, error) {
	c := newCollector(m)
	for s, err := range signals {
		if err == nil {
			c.add(s)
		} else if err = c.unread(err); err != nil {
			return nil, fmt.Errorf("reading signals: %w", err)
		}
	}
	for s, err := range scores {
		if err == nil {
			c.score(&s)
		} else if err = c.unread(err); err != nil {
			return nil, fmt.Errorf("reading scores: %w", err)
		}
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
	judged   map[judgedBy]map[judgedThing]*judged
	// resamples are made once for each number of clusters and of draws.
	resamples map[[2]int]*stats.Resamples
	levels    map[int]float64 // of percentiles, by the number of clusters

	badLines, unknown, repeated int
	firstBad                    string
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
		scorers: map[string]*scores{}, absent: map[string]absent{}, answers: newAnswers(m.Metrics), judged: map[judgedBy]map[judgedThing]*judged{},
		resamples: map[[2]int]*stats.Resamples{}, levels: map[int]float64{},
	}
	for i := range m.Configurations {
		c.at[m.Configurations[i].Name] = int32(i)
		c.sums[i] = newSums()
	}
	for _, name := range m.Scorers {
		c.scorer(name)
	}
	return c
}

func (c *collector) unread(err error) error {
	var problem *record.Problem
	if !errors.As(err, &problem) {
		return err
	}
	if c.badLines == 0 {
		c.firstBad = problem.Error()
	}
	c.badLines += max(1, problem.Lines)
	return nil
}

func (c *collector) add(s *record.Signals) {
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
func (c *collector) addAbsent(configuration int32, s *record.Signals) {
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

// sums are what is added up over the runs of a configuration that count. All
// are integers, so that the order of the runs makes no difference.
type sums struct {
	agent, judging, user record.Usage
	failed               map[record.ErrorClass]int // runs in which the agent failed
	replies              int64                     // iterations with an evaluation
	notJSON              int64                     // of which the reply was to be JSON and was not
	evaluated            int64                     // runs with an evaluation
	believed             int64                     // of which the loop believed to have succeeded
	simulated            bool
	untimed              int64                 // runs without a time
	answered             map[string]*answered  // by models of the suite
	versions             map[string]bool       // hashes of the loop
	phases               map[string]*histogram // iterations of each run, by phase
	reached              []reach               // by iteration, from 1 at index 0
	steps                []histogram           // of each run's longest iteration, one for each limit of steps
}

// reach is what the runs that reached an iteration spent in it.
type reach struct {
	runs    int64
	spent   record.Usage
	elapsed time.Duration // since the end of the iteration before
	untimed int64         // runs that do not tell it
}

func newSums() sums {
	return sums{failed: map[record.ErrorClass]int{}, versions: map[string]bool{}, phases: map[string]*histogram{}, answered: map[string]*answered{}}
}

func (u *sums) add(s *record.Signals, head *record.ConfigurationHead) {
	u.agent, u.judging, u.user = u.agent.Plus(s.Usage), u.judging.Plus(s.Judging), u.user.Plus(s.User)
	u.simulated = u.simulated || s.Simulated
	if s.Untimed {
		u.untimed++
	}
	if s.Loop != "" {
		u.versions[s.Loop] = true
	}
	if assessed(s, head) {
		u.evaluated++
		if s.Outcome.Success {
			u.believed++
		}
	}
	if class := failedBy(s); class != "" {
		u.failed[class]++
	}
	u.addReplies(s.Iterations)
	u.addAnswered(s.Iterations)
	u.addPhases(s.Iterations)
	u.addReached(s.Iterations)
	for i := range head.Steps {
		if len(u.steps) == 0 {
			u.steps = make([]histogram, len(head.Steps))
		}
		u.steps[i].add(longestIn(s, head.Steps[i].Stage))
	}
}

// assessed says that the loop believes or does not: an iteration was evaluated, or
// its agent could have said that the task is done.
func assessed(s *record.Signals, head *record.ConfigurationHead) bool {
	return head.Completes || slices.ContainsFunc(s.Iterations, func(it record.IterationSignals) bool { return it.Evaluated })
}

// failedBy is the class of the error by which the agent failed in a run: the one
// that ended it, or the last one where no iteration went well. It is "" where the
// agent did not fail.
func failedBy(s *record.Signals) record.ErrorClass {
	if e := s.Outcome.Error; s.Outcome.Status == record.Failed && e != nil {
		return e.Class
	}
	class := record.ErrorClass("")
	for i := range s.Iterations {
		if class = s.Iterations[i].Error; class == "" {
			return ""
		}
	}
	return class
}

func (u *sums) addReplies(iterations []record.IterationSignals) {
	for i := range iterations {
		if iterations[i].Evaluated {
			u.replies++
		}
		if iterations[i].Fault {
			u.notJSON++
		}
	}
}

func (u *sums) addPhases(iterations []record.IterationSignals) {
	for i := range iterations {
		phase := iterations[i].Phase
		if slices.ContainsFunc(iterations[:i], func(it record.IterationSignals) bool { return it.Phase == phase }) {
			continue // counted at its first iteration
		}
		n := 0
		for _, it := range iterations[i:] {
			if it.Phase == phase {
				n++
			}
		}
		if u.phases[phase] == nil {
			u.phases[phase] = &histogram{}
		}
		u.phases[phase].add(n)
	}
}

func (u *sums) addReached(iterations []record.IterationSignals) {
	var before time.Duration
	for i := range iterations {
		if i == len(u.reached) {
			u.reached = append(u.reached, reach{})
		}
		at := &u.reached[i]
		at.runs++
		at.elapsed += iterations[i].End - before
		before = iterations[i].End
		if iterations[i].Untimed {
			at.untimed++
		}
		at.spent = at.spent.Plus(iterations[i].Total())
	}
}

// histogram counts how many runs have each number of iterations, or of steps.
type histogram struct{ runs []int64 }

func (h *histogram) add(iterations int) {
	for iterations >= len(h.runs) {
		h.runs = append(h.runs, 0)
	}
	h.runs[iterations]++
}

// total is the number of iterations of all runs together.
func (h *histogram) total() (iterations int64) {
	for n, runs := range h.runs {
		iterations += int64(n) * runs
	}
	return iterations
}

// atLeast is the number of runs with so many iterations or more.
func (h *histogram) atLeast(iterations int) (runs int64) {
	for n := iterations; n < len(h.runs); n++ {
		runs += h.runs[n]
	}
	return runs
}

// covering is the least number of iterations that is enough for all but
// `without` of the runs.
func (h *histogram) covering(without int64) int {
	n := len(h.runs) - 1
	for ; n > 0 && h.atLeast(n) <= without; n-- {
	}
	return max(n, 0)
}

// Task is how the configurations did on one task.
type Task struct {
	ID      string       `json:"id"`
	Results []TaskResult `json:"results"` // one for each configuration of the report, in its order
}

// TaskResult is what was measured of a configuration on a task. Means are over
// the runs that count, and their intervals of what other trials of the same task
// would have given.
type TaskResult struct {
	Runs               int        `json:"runs"`
	Score              page.Value `json:"score"` // the primary one
	ScoreInterval      page.Range `json:"score_interval"`
	Iterations         page.Value `json:"iterations"`
	IterationsInterval page.Range `json:"iterations_interval"`
	Cost               page.Value `json:"cost_usd"`
	CostInterval       page.Range `json:"cost_usd_interval"`
	Seconds            page.Value `json:"latency_s"`
	SecondsInterval    page.Range `json:"latency_s_interval"`
}

// Tasks are the tasks with a run that counts, in natural order of their ids:
// task-2 before task-10. They are made as they are asked for.
func (r *Report) Tasks() iter.Seq[Task] {
	return func(yield func(Task) bool) {
		rank := r.runs.tasks.ranks()
		inOrder := make([]int32, len(rank))
		for task, place := range rank {
			inOrder[place] = int32(task)
		}
		rest, between := slices.Clone(r.runs.ordered), &trialIntervals{quantiles: map[int]page.Value{}}
		for _, task := range inOrder {
			t := Task{ID: r.runs.tasks.all[task], Results: make([]TaskResult, len(rest))}
			for c := range rest {
				n := r.runs.leading(rest[c], task)
				t.Results[c] = r.runs.taskResult(rest[c][:n])
				between.bound(&t.Results[c], r.runs, rest[c][:n], r.isBinary(c))
				rest[c] = rest[c][n:]
			}
			if !yield(t) {
				return
			}
		}
	}
}

// CountTasks is how many tasks there are.
func (r *Report) CountTasks() int { return len(r.runs.tasks.all) }

// leading is how many of the first runs are of that task.
func (r *runs) leading(ordered []int32, task int32) (n int) {
	for n < len(ordered) && r.all[ordered[n]].task == task {
		n++
	}
	return n
}

func (r *runs) taskResult(group []int32) TaskResult {
	var iterations int64
	var cost record.Money
	var scored []float64
	var isUnpriced, isUnreported bool
	for _, at := range group {
		run := &r.all[at]
		iterations += int64(run.iterations)
		cost = cost.Plus(run.cost)
		isUnpriced, isUnreported = isUnpriced || run.unpriced, isUnreported || run.unreported
		if score, ok := r.primary(at); ok {
			scored = append(scored, score)
		}
	}
	runs := int64(len(group))
	result := TaskResult{
		Runs: len(group), Score: page.ValueOf(stats.Mean(scored)), Iterations: page.Ratio(iterations, runs),
		Cost: page.Missing(page.Nothing), Seconds: r.meanSeconds(group),
	}
	if runs > 0 {
		result.Cost = costOr(cost, isUnpriced, isUnreported).Over(float64(runs))
	}
	return result
}

// taskMeans are the means of tasks over their scored runs.
type taskMeans struct {
	runs *runs
	all  []float64
	// clusters are the same means by cluster, where any task has one.
	clusters [][]float64
	at       map[string]int
	scored   int  // runs
	graded   bool // not all scores are 0 or 1
}

// add takes the scores of a task, one of whose runs is given. It gives false
// where there are none.
func (t *taskMeans) add(run int32, scored []float64) bool {
	mean, ok := stats.Mean(scored)
	if !ok {
		return false
	}
	t.scored += len(scored)
	t.graded = t.graded || slices.ContainsFunc(scored, func(x float64) bool { return x != 0 && x != 1 })
	t.put(t.runs.all[run].task, mean)
	return true
}

// put takes the mean of a task.
func (t *taskMeans) put(task int32, mean float64) {
	t.all = append(t.all, mean)
	if t.runs.clusters != nil {
		t.group(t.runs.clusterOf(task), mean)
	}
}

func (t *taskMeans) group(cluster string, mean float64) {
	at, known := t.at[cluster]
	if !known {
		at = len(t.clusters)
		t.clusters = append(t.clusters, nil)
	}
	t.clusters[at] = append(t.clusters[at], mean)
	if cluster == "" || known {
		return
	}
	if t.at == nil {
		t.at = map[string]int{}
	}
	t.at[cluster] = at
}

// clusterSize is how many tasks a cluster has on average.
func (t *taskMeans) clusterSize() float64 {
	if len(t.clusters) == 0 {
		return 1
	}
	return float64(len(t.all)) / float64(len(t.clusters))
}

// interval is the 95 % interval of the mean of the means: Wilson's on an
// effective number of runs where all scores are 0 or 1, else Student's.
func (t *taskMeans) interval() (interval stats.Interval, ok bool) {
	switch {
	case t.clusters == nil && t.graded:
		return stats.MeanInterval(t.all, stats.Level)
	case t.clusters == nil:
		return stats.MeanProportionInterval(t.all, t.scored, stats.Level)
	case t.graded:
		return t.clusteredMean()
	}
	return t.clusteredShare()
}

func (t *taskMeans) clusteredMean() (interval stats.Interval, ok bool) {
	estimate, ok := stats.ClusteredMean(t.clusters)
	if !ok {
		return stats.Interval{}, false
	}
	return estimate.Interval(stats.Level)
}

func (t *taskMeans) clusteredShare() (interval stats.Interval, ok bool) {
	estimate, ok := stats.ClusteredMean(t.clusters)
	if !ok {
		return stats.ProportionInterval(t.clusters, stats.Level)
	}
	return estimate.Proportion(float64(t.scored), len(t.clusters), stats.Level)
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

// distinct are the names in their natural order.
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

// orders are what votes on pairs are worth to the same output where it stands
// first, and where it stands second: of each judge the n-th with the n-th, where
// both are there.
func orders(votes []record.Vote) (both []stats.Placed) {
	asked := map[string]int{}
	straight := map[string][]*record.Vote{}
	for i := range votes {
		if v := &votes[i]; !v.Swapped {
			straight[v.Judge] = append(straight[v.Judge], v)
		}
	}
	for i := range votes {
		v := &votes[i]
		if !v.Swapped {
			continue
		}
		n := asked[v.Judge]
		asked[v.Judge]++
		if n < len(straight[v.Judge]) && v.Unscored == "" && straight[v.Judge][n].Unscored == "" {
			both = append(both, stats.Placed{First: straight[v.Judge][n].Value, Second: v.Value})
		}
	}
	return both
}

// readings are the metrics that an expression read, in the order in which they
// were first read.
type readings struct {
	all []reading
	// at are numbers that stand in the place of those measured, by their paths.
	at map[string]float64
	// untold is why a word that was read is not known, nil where all are.
	untold error
}

// reading is a metric that was read.
type reading struct {
	path string
	ranged
	text string // of a word, in the place of the number
}

// word is a metric that is no number.
type word struct {
	value any
	shown string // with the numbers that it comes from
	// missing says why nothing is known; "" where it is.
	missing string
}

func (r *readings) add(one reading) {
	if !slices.ContainsFunc(r.all, func(known reading) bool { return known.path == one.path }) {
		r.all = append(r.all, one)
	}
}

// number is what an expression sees of a number: null where it is missing.
func (r *readings) number(path string, of ranged) any {
	r.add(reading{path: path, ranged: of})
	if at, ok := r.at[path]; ok {
		return at
	}
	if !of.value.Known() {
		return nil
	}
	return of.value.Number
}

// word is what an expression sees of a word. Null would be unlike any word, and
// let thresholds hold of which nothing is known.
func (r *readings) word(path string, of word) any {
	if of.missing != "" {
		r.untold = fmt.Errorf("%s is missing: %s", path, of.missing)
	}
	r.add(reading{path: path, ranged: ranged{value: page.Known(0)}, text: of.shown})
	return of.value
}

// explain adds to an error what was missing.
func (r *readings) explain(err error) error {
	if err == nil {
		return r.untold
	}
	for _, one := range r.all {
		if !one.value.Known() {
			return fmt.Errorf("%w (%s is missing: %s)", err, one.path, one.value.Why())
		}
	}
	return errors.Join(err, r.untold)
}

// detail lists what was read, with the intervals.
func (r *readings) detail() string {
	parts := make([]string, len(r.all))
	for i, one := range r.all {
		parts[i] = one.path + " is " + one.exact()
	}
	return strings.Join(parts, ", ")
}

func (r *reading) exact() string {
	if r.text != "" {
		return r.text
	}
	return r.ranged.exact()
}

// exact shows the number and its interval with enough digits to see on which
// side of a bound they lie.
func (r *ranged) exact() string {
	text := r.value.Exact()
	if r.isWide() {
		text += " [" + r.low.Exact() + ", " + r.high.Exact() + "]"
	}
	return text
}

// isWide says that there is an interval.
func (r *ranged) isWide() bool {
	return r.value.Known() && r.low.Known() && r.high.Known() && r.low.Number < r.high.Number
}
