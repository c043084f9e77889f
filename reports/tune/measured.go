package tune

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec/expr"
)

// measured are what candidates are chosen by, on all runs (subset 0) and on all
// but each fold (subset fold + 1).
type measured struct {
	subsets int
	labels  []replay.Label
	exact   []int // runs
	// can says that a candidate can be chosen at all; else standing says why not.
	can      []bool
	standing []standingOfOne
	value    [][]float64 // by subset and candidate: the objective, the larger the better; NaN: not known
	cost     [][]float64
	seconds  [][]float64 // mean latency of a run
	within   [][]bool    // the constraints hold
	// least is what a candidate that is not exact is worth at least; NaN: not known.
	least [][]float64
	// recorded is what each recording is worth, by subset and recording; NaN where it
	// is not known or breaks a constraint.
	recorded [][]float64
	fails    [][]string // by constraint and candidate, where the choice is made: "" where it holds, else violated or why a number is missing
	// why is why a number is missing, of the first candidate that lacks it.
	why  []string
	sums [][]sums // by candidate and fold
	// recordedSums are those of the recording, by subset.
	recordedSums  []*sums
	recordedCells *profile
	print         []uint64   // by candidate: equal where they make the same of every run
	recordedPrint uint64     // that of what makes of every run what was recorded
	asking        sync.Mutex // held while the Source is asked by several
}

// violated says that the numbers of a candidate are known, and break a constraint.
const violated = "violated"

// standingOfOne is why a candidate cannot be chosen.
type standingOfOne uint8

const (
	choosable standingOfOne = iota
	notExact
	faulty // some runs would have a fault
	notScored
	notCosted
	notMeasured
)

// measure evaluates the objective, the cost and the constraints for all candidates
// on all subsets.
func (t *chooser) measure(ctx context.Context) (err error) {
	n := len(t.candidates)
	subsets := 1 + t.folds
	m := &measured{subsets: subsets, labels: make([]replay.Label, n), exact: make([]int, n), can: make([]bool, n), standing: make([]standingOfOne, n), why: make([]string, n)}
	for range subsets {
		m.value, m.cost, m.within = append(m.value, make([]float64, n)), append(m.cost, make([]float64, n)), append(m.within, make([]bool, n))
		m.seconds, m.least = append(m.seconds, make([]float64, n)), append(m.least, slices.Repeat([]float64{math.NaN()}, n))
	}
	for range t.Constraints {
		m.fails = append(m.fails, make([]string, n))
	}
	t.measured = m
	t.recordedCells = t.profileOf(t.held.Recorded())
	for s := range subsets {
		t.recordedSums = append(t.recordedSums, t.sum(t.recordedCells, s))
	}
	if err := t.measureRecordings(ctx); err != nil {
		return err
	}
	seed := maphash.MakeSeed()
	t.sums, t.print = make([][]sums, n), make([]uint64, n)
	t.recordedPrint = printOf(seed, sweep.Sum(t.held.Recorded(), t.held.Runs, t.fold, max(1, t.folds)))
	err = t.Totals(ctx, t.fold, max(1, t.folds), func(i int, totals []sweep.Totals) {
		t.labels[i], t.standing[i], t.exact[i] = t.stand(totals)
		t.print[i] = printOf(seed, totals)
		t.sums[i] = make([]sums, len(totals))
		for f := range totals {
			t.sums[i][f].add(&totals[f])
		}
		if t.standing[i] == notExact {
			t.measureLeast(ctx, i, totals)
		}
	})
	if err != nil {
		return err
	}
	var failed atomic.Pointer[error]
	err = sweep.Each(ctx, n, chunk, func(i int) {
		if err := t.measureOne(ctx, i); err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	})
	if e := failed.Load(); err == nil && e != nil {
		err = *e
	}
	if err == nil {
		t.steps, err = t.stepsOf(ctx)
	}
	return err
}

// over adds up what a candidate makes of the runs of a subset.
func (t *chooser) over(s *sums, candidate, subset int) *sums {
	for f := range t.sums[candidate] {
		if subset == 0 || f != subset-1 {
			s.plus(&t.sums[candidate][f], 1)
		}
	}
	return s
}

// measureOne measures a candidate. No other reads or writes what is its own.
func (t *chooser) measureOne(ctx context.Context, i int) error {
	m := t.measured
	if m.standing[i] != choosable {
		return nil
	}
	scope := t.scope(&sums{})
	var runs *everyRun
	if t.quantiles {
		var err error
		if runs, err = t.everyRun(ctx, i); err != nil {
			return err
		}
	}
	for s := range m.subsets {
		scope.clear()
		t.over(scope.sums, i, s)
		if runs != nil {
			runs.into(scope.sums, t.fold, s-1)
		}
		t.judge(ctx, i, s, scope)
	}
	return nil
}

// stand reports whether the runs answer for a candidate, with the scores that are read,
// and how many of them are exact.
func (t *chooser) stand(totals []sweep.Totals) (label replay.Label, standing standingOfOne, exact int) {
	whole := wholeOf(totals)
	label, exact = whole.Label(), whole.Exact
	switch {
	case label != replay.PointExact:
		return label, notExact, exact
	case whole.Faults > 0:
		return label, faulty, exact
	}
	for _, s := range t.needs {
		if s >= len(whole.Scores) || whole.Scores[s].Unknown > 0 {
			return label, notScored, exact
		}
	}
	return label, choosable, exact
}

func wholeOf(totals []sweep.Totals) (whole sweep.Totals) {
	for f := range totals {
		whole.Add(&totals[f])
	}
	return whole
}

func (t *chooser) scope(s *sums) *metrics {
	return &metrics{sums: s, names: t.held.Scores, timed: t.known.times, lumps: t.known.lumps}
}

func (t *chooser) judge(ctx context.Context, i, s int, scope *metrics) {
	m := t.measured
	cost, noCost := t.price.of(ctx, scope)
	value, noValue := t.goal.of(ctx, scope)
	if t.Minimize {
		value = -value
	}
	m.cost[s][i], m.value[s][i], m.seconds[s][i], m.within[s][i] = cost, value, scope.sums.seconds/scope.runs, true
	for c := range t.Constraints {
		ok, why := holds(ctx, &t.Constraints[c], scope)
		m.within[s][i] = m.within[s][i] && ok
		if s == 0 && !ok {
			m.fails[c][i] = cmp.Or(why, violated)
			m.why[i] = cmp.Or(m.why[i], why)
		}
	}
	if s > 0 {
		return
	}
	switch {
	case math.IsNaN(value):
		m.standing[i], m.why[i] = notMeasured, noValue
	case math.IsNaN(cost):
		m.standing[i], m.why[i] = notCosted, noCost
	default:
		m.can[i] = true
	}
}

// chunk is how many candidates a worker takes at a time.
const chunk = 64

// sums are what metrics come from: those of a candidate over a part of the runs.
// They add up, and can be taken away again.
type sums struct {
	amounts
	scores                      []scoreSums
	everyIteration, everySecond []float64 // of each run, where quantiles are asked for
}

// amounts are what runs take, and how many there are.
type amounts struct {
	tasks, runs, exact, successes float64
	iterations, seconds, dollars  float64
	tokens, calls, toolCalls      float64
	unpriced, unreported          float64 // calls without a price, programs that did not say
	tokensUntold                  float64 // parts of which the tokens are unknown
}

// scoreSums are those of a score. Sum counts tasks alike, and is over so many
// tasks.
type scoreSums struct{ sum, tasks, known, hits, lost, gained float64 }

// add adds the totals of a part. What was cut in flight counts at its most: a
// cost that has bounds is not to look cheap.
func (s *sums) add(t *sweep.Totals) { s.include(t, 1) }

func (s *sums) include(t *sweep.Totals, sign float64) {
	used := &t.Most
	part := sums{amounts: amounts{
		tasks: t.PerTask.Tasks, runs: float64(t.Runs), exact: float64(t.Exact - t.Faults), successes: float64(t.Successes),
		iterations: float64(t.Iterations), seconds: float64(t.Elapsed) / 1e9, dollars: used.Cost.Dollars(),
		tokens: float64(used.Tokens()), calls: float64(used.Calls), toolCalls: float64(used.ToolCalls),
		unpriced: float64(used.Unpriced), unreported: float64(used.Unreported), tokensUntold: float64(count(!used.TokensTold())),
	}}
	var room [4]scoreSums
	part.scores = room[:0]
	for i := range t.Scores {
		part.scores = append(part.scores, scoreOf(&t.Scores[i], t))
	}
	s.plus(&part, sign)
}

// scoreOf are the sums of a score of a part.
func scoreOf(s *sweep.ScoreTotals, of *sweep.Totals) scoreSums {
	sum := scoreSums{sum: s.PerTask.Least, known: float64(s.Known), hits: float64(s.Hits), lost: float64(s.Lost), gained: float64(s.Gained)}
	if of.Runs > 0 {
		sum.tasks = of.PerTask.Tasks * float64(s.Known) / float64(of.Runs)
	}
	return sum
}

// plus adds other sums so many times.
func (s *sums) plus(o *sums, times float64) {
	s.tasks += times * o.tasks
	s.runs += times * o.runs
	s.exact += times * o.exact
	s.successes += times * o.successes
	s.iterations += times * o.iterations
	s.seconds += times * o.seconds
	s.dollars += times * o.dollars
	s.tokens += times * o.tokens
	s.calls += times * o.calls
	s.toolCalls += times * o.toolCalls
	s.unpriced += times * o.unpriced
	s.unreported += times * o.unreported
	s.tokensUntold += times * o.tokensUntold
	for len(s.scores) < len(o.scores) {
		s.scores = append(s.scores, scoreSums{})
	}
	for i := range o.scores {
		to, from := &s.scores[i], &o.scores[i]
		to.sum += times * from.sum
		to.tasks += times * from.tasks
		to.known += times * from.known
		to.hits += times * from.hits
		to.lost += times * from.lost
		to.gained += times * from.gained
	}
}

// clear makes them those of no run, and keeps their room.
func (s *sums) clear() {
	clear(s.scores)
	*s = sums{scores: s.scores, everyIteration: s.everyIteration[:0], everySecond: s.everySecond[:0]}
}

// set makes them equal to others, and keeps their room.
func (s *sums) set(o *sums) {
	scores := append(s.scores[:0], o.scores...)
	*s = *o
	s.scores = scores
}

// mean is that of an amount per run.
func (s *sums) mean(total page.Value) page.Value {
	if s.runs == 0 {
		return page.Missing(page.Nothing)
	}
	if total.Known() {
		total.Number /= s.runs
	}
	return total
}

func (s *sums) score(i int) page.Value {
	if i < 0 || i >= len(s.scores) || s.scores[i].tasks <= 0 {
		return page.Missing(page.Unscored)
	}
	return page.Known(s.scores[i].sum / s.scores[i].tasks)
}

// sumOf is a total by its name: seconds of "latency" and "latency_s". What programs
// or a log may not have told is missing then.
func (s *sums) sumOf(name string) page.Value {
	known := func(total float64, told bool) page.Value {
		if !told {
			return page.Missing(page.Unknown)
		}
		return page.Known(total)
	}
	switch name {
	case "iterations":
		return page.Known(s.iterations)
	case "latency", "latency_s":
		return page.Known(s.seconds)
	case "cost_usd":
		if s.unreported == 0 && s.unpriced > 0 {
			return page.Missing(page.Unpriced)
		}
		return known(s.dollars, s.unreported == 0)
	case "tokens":
		return known(s.tokens, s.unreported == 0 && s.tokensUntold == 0)
	case "calls":
		return known(s.calls, s.unreported == 0)
	}
	return known(s.toolCalls, s.unreported == 0)
}

// perRuns is what so many runs take of an amount; NaN where it is not known.
func perRuns(runs float64, amount string) func(s *sums) float64 {
	return func(s *sums) float64 { return runs * numberOf(s.sumOf(amount)) / s.runs }
}

// usageKnown says what of the recorded runs' usage is known, and whether any of
// it is above zero.
type usageKnown struct {
	cost, tokens, times bool
	lumps               bool // only whole runs tell the cost
}

// byIteration forgets what only whole runs tell: it is unknown of a run that
// stops earlier.
func (k usageKnown) byIteration(runs []sweep.Run) usageKnown {
	for i := range runs {
		run := runs[i].Run
		k.lumps = k.lumps || replay.OnlyWholeCost(run)
		for j := range run.Iterations {
			told := run.Iterations[j].Total()
			k.cost = k.cost && told.Unreported == 0 && told.Unpriced == 0
			k.tokens = k.tokens && told.TokensTold()
		}
	}
	return k
}

func knownOf(held *Held) (k usageKnown) {
	var used record.Usage
	for i := range held.Recorded() {
		used = used.Plus(held.Recorded()[i].Total().Most)
	}
	k.cost = used.Unreported == 0 && used.Unpriced == 0 && used.Cost > 0
	k.tokens = used.TokensTold() && used.Tokens() > 0
	k.times = held.Timed()
	return k
}

// metrics are sums as the expressions of tune see them ([expr.Objective]).
type metrics struct {
	*sums
	names []string // of the scores
	timed bool     // the recording has times
	lumps bool     // only whole runs tell what they cost
	// missing is the first metric that was read and is not known, and why.
	missing string
}

// Lookup implements [expr.Scope].
func (m *metrics) Lookup(name string) (any, bool) {
	switch name {
	case "n":
		return int64(m.tasks + 0.5), true
	case "runs":
		return int64(m.runs + 0.5), true
	case "coverage":
		return m.number(name, page.ValueOf(m.exact/m.runs, m.runs > 0)), true
	case "success":
		return m.number(name, m.mean(page.Known(m.successes))), true
	case "scores":
		return m.scored(), true
	case "iterations", "latency", "cost_usd", "tokens", "calls", "tool_calls":
		return amountMetric{m, name}, true
	}
	return nil, false
}

// number is what an expression sees: null where nothing is known.
func (m *metrics) number(path string, v page.Value) any {
	if v.Known() {
		return v.Number
	}
	if m.missing == "" {
		m.missing = path + " is not known: " + v.Why()
	}
	return nil
}

func (m *metrics) scored() *expr.Object {
	object := expr.NewObject(len(m.names))
	for i, name := range m.names {
		object.Set(name, scoreMetric{m, i})
	}
	return object
}

type scoreMetric struct {
	*metrics
	at int
}

// Field implements [expr.Fields].
func (s scoreMetric) Field(name string) any {
	switch name {
	case "mean":
		return s.number("the score "+s.names[s.at], s.score(s.at))
	case "n":
		if s.at >= len(s.scores) {
			return int64(0)
		}
		return int64(s.scores[s.at].tasks + 0.5)
	}
	return nil
}

// amountMetric is an amount, by its name.
type amountMetric struct {
	*metrics
	name string
}

// Field implements [expr.Fields].
func (a amountMetric) Field(name string) any {
	total := a.total()
	switch name {
	case "mean":
		total = a.mean(total)
	case "p50":
		total = a.quantile(0.5)
	case "p95":
		total = a.quantile(0.95)
	}
	return a.number(a.name+"."+name, total)
}

func (a amountMetric) total() page.Value {
	if a.name == "latency" && !a.timed || a.name == "cost_usd" && a.lumps {
		return page.Missing(page.Unknown)
	}
	return a.sumOf(a.name)
}

func (a amountMetric) quantile(p float64) page.Value {
	of := a.everyIteration
	if a.name == "latency" {
		of = a.everySecond
	}
	if a.name == "latency" && !a.timed {
		return page.Missing(page.Unknown)
	}
	return page.ValueOf(stats.Quantile(slices.Sorted(slices.Values(of)), p))
}

// term is an expression over metrics, or one of the defaults, which need no
// expression.
type term struct {
	text    string
	program *Term
	native  func(s *sums) float64 // NaN where it is not known
	// why says why it is not the usual default, "" where it is.
	why string
}

// of is its value; NaN where it reads what is not known, and why says so.
func (t *term) of(ctx context.Context, m *metrics) (value float64, why string) {
	if t.native != nil {
		if value = t.native(m.sums); math.IsNaN(value) {
			return value, t.text + " is not known"
		}
		return value, ""
	}
	m.missing = ""
	value, err := t.program.Number(ctx, m)
	if err != nil {
		return math.NaN(), m.because(t.text, err)
	}
	return value, ""
}

func (m *metrics) because(text string, err error) string {
	if m.missing != "" {
		return m.missing
	}
	return fmt.Sprintf("%s: %v", text, err)
}

func holds(ctx context.Context, t *Term, m *metrics) (ok bool, why string) {
	m.missing = ""
	ok, err := t.Bool(ctx, m)
	if err != nil {
		return false, m.because(t.Text, err)
	}
	return ok, ""
}

// objective is what was asked for, or the mean of a score.
func objective(asked *Term, scores []string, score int) term {
	if asked != nil {
		return term{text: asked.Text, program: asked}
	}
	text := fmt.Sprintf("scores[%q].mean", scores[score])
	return term{text: text, native: func(s *sums) float64 { return numberOf(s.score(score)) }}
}

// costTerm is what was asked for, or what of the usual is known of the recording.
func costTerm(asked *Term, known usageKnown) term {
	switch {
	case asked != nil:
		return term{text: asked.Text, program: asked}
	case known.cost:
		return term{text: "cost_usd.mean", native: perRuns(1, "cost_usd")}
	case known.tokens:
		return term{text: "tokens.mean", why: "the cost in USD is not known", native: perRuns(1, "tokens")}
	}
	return term{text: "iterations.mean", why: "neither the cost in USD nor the tokens are known", native: perRuns(1, "iterations")}
}

// reads are the paths that the terms of a tuning read.
func (o *ChoiceOptions) reads() (paths []string) {
	terms := append([]*Term{o.Objective, o.Choose.Cost}, slices.Collect(page.EachOf(o.Constraints))...)
	for _, t := range terms {
		if t != nil {
			paths = append(paths, t.Reads()...)
		}
	}
	return paths
}

// ScoresRead are the scores that the terms of a tuning read, where the usual objective
// reads the first one.
func (o *ChoiceOptions) ScoresRead(first string) (names []string) {
	if o.Objective == nil {
		names = append(names, first)
	}
	for _, path := range o.reads() {
		if name, ok := scoreNamed(path); ok {
			names = append(names, name)
		}
	}
	return names
}

// readsQuantiles reports whether a path needs every run, not sums.
func readsQuantiles(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, ".p50") || strings.HasSuffix(path, ".p95") })
}

// scoreRead is the first score, in their order, that a term reads; -1: none.
func scoreRead(t *Term, scores []string) int {
	if t == nil {
		return -1
	}
	reads := t.Reads()
	return slices.IndexFunc(scores, func(name string) bool {
		return slices.ContainsFunc(reads, func(path string) bool {
			return path == "scores."+name || strings.HasPrefix(path, "scores."+name+".")
		})
	})
}

func scoreNamed(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, "scores.")
	for _, field := range []string{".mean", ".n"} {
		name = strings.TrimSuffix(name, field)
	}
	return name, ok
}

// UnknownScoreError is of an expression that reads a score that is not made.
type UnknownScoreError struct {
	Name  string
	Known []string
}

// Error names those that there are.
func (e *UnknownScoreError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no score is called %q: nothing is scored", e.Name)
	}
	return fmt.Sprintf("no score is called %q; there is %s", e.Name, strings.Join(e.Known, ", "))
}

// numberOf is a number for arithmetic: NaN where there is none.
func numberOf(v page.Value) float64 {
	if !v.Known() {
		return math.NaN()
	}
	return v.Number
}

// valueOf is a number that arithmetic gave, and why it is missing where it is NaN.
func valueOf(x float64, why string) page.Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return page.Missing(why)
	}
	return page.Known(x)
}
