package tune

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec"
)

// Schema names the form of a replay in JSON. Its number rises when a field
// changes its meaning or goes away, not when one is added.
const ReplaySchema = "agentbench/replay/1"

// Replay is what recorded runs say of other configurations. Its JSON form is
// documented by the tags; numbers that are missing are null.
type Replay struct {
	Schema   string `json:"schema"`
	Suite    string `json:"suite"`
	Tasks    int    `json:"tasks"`
	Runs     int    `json:"runs"` // recorded ones that count
	Clusters int    `json:"clusters,omitempty"`
	// Recordings are the configurations that the runs were recorded under, each with
	// as many tasks and runs.
	Recordings []string `json:"recordings"`
	// Scorers are in the order declared; the first says what a success is.
	Scorers        []string        `json:"scorers"`
	Simulated      []string        `json:"simulated,omitempty"` // models
	PricesAsOf     string          `json:"prices_as_of,omitempty"`
	Configurations []Configuration `json:"configurations"`
	Warnings       []ReplayNote    `json:"warnings"` // on the replay as a whole
}

// Configuration is what the recorded runs say of one configuration.
type Configuration struct {
	Name    string         `json:"name"`
	Aliases []string       `json:"aliases,omitempty"` // equal configurations
	Params  []record.Param `json:"params,omitempty"`  // those that were set
	// Recording is the configuration on whose runs it was replayed: lost, gained and
	// saved are against these.
	Recording string `json:"recording"`
	// Recorded reports whether this is what was recorded itself, not replayed.
	Recorded bool `json:"recorded"`
	// Label is recorded, exact, bounded, needs calls or counterfactual: that of
	// the worst of the runs.
	Label string `json:"label"`
	Runs  int    `json:"runs"`
	Exact int    `json:"exact"`
	// Faults are runs that would end with a fault, for example because a condition
	// cannot be evaluated on them, or that did when they were recorded, and not later
	// than they would stop. As after a live run they are in no number, nor
	// among the exact ones; saved is against the other runs as recorded.
	Faults   int `json:"faults"`
	Censored int `json:"censored"`
	Branches int `json:"branches"`
	Told     int `json:"told"` // of those that branch: the agent knew a limit

	Scores     []Score `json:"scores"` // in the order of the scorers
	Iterations Amount  `json:"iterations"`
	Calls      Amount  `json:"calls"`
	Tokens     Amount  `json:"tokens"`
	Cost       Amount  `json:"cost_usd"`
	Latency    Amount  `json:"latency_s"`
	// Stops are the ways in which the exact runs stopped, the most frequent first.
	Stops []StopCount `json:"stops"`
	// Warnings say why runs are not exact, or would have a fault.
	Warnings []ReplayNote `json:"warnings"`

	broken int // of the faults: those of the recording
}

// Score is what is known of a score.
type Score struct {
	Name string `json:"name"`
	// Mean is the mean over tasks of the mean over their runs, and Interval its
	// 95 % interval, whose ends may lie beyond the scale of the scores. They are
	// missing unless all scored runs are exact.
	Mean     page.Value `json:"mean"`
	Interval page.Range `json:"interval"`
	// Bounds are between which numbers the mean lies where it is no point: there
	// is no chance in them.
	Bounds page.Range `json:"bounds"`
	Scored int        `json:"scored"` // runs with a score, or with bounds of one
	// Unscored are runs whose score is unknown. That of one that is as recorded is unknown to no one: its scorer could not
	// judge it, and it is in no mean.
	Unscored int `json:"unscored"`
	// Successes, Lost and Gained are exact runs with a score of 1 or more: all of
	// them; those that had it as recorded, and have it no more; the other way round.
	Successes int `json:"successes"`
	Lost      int `json:"lost"`
	Gained    int `json:"gained"`

	unit bool           // all scores are from 0 to 1
	whys [len(whys)]int // how many are unscored for each reason
}

// Amount is a mean per run of something that is spent.
type Amount struct {
	// Mean is missing where it is not known, or is no point.
	Mean page.Value `json:"mean"`
	// Bounds are between which numbers the mean lies where it is no point.
	Bounds page.Range `json:"bounds"`
	// Saved is the share of what the same runs took as recorded, SavedBounds its
	// bounds where it is no point.
	Saved       page.Value `json:"saved"`
	SavedBounds page.Range `json:"saved_bounds"`
}

// StopCount is how many runs stopped in one way.
type StopCount struct {
	Name   string        `json:"name"`
	Reason record.Reason `json:"reason"`
	Fired  string        `json:"fired,omitempty"`
	Runs   int           `json:"runs"`
	Share  page.Value    `json:"share"` // of the runs whose stop is known
}

// Source are configurations and what they make of recorded runs; a *sweep.Sweep
// is one.
type Source interface {
	Candidates() []sweep.Candidate
	Scores() []string
	Runs() []sweep.Run
	// Outcomes are those of each of some candidates, in the order of the runs.
	Outcomes(ctx context.Context, candidates ...int) ([][]sweep.Outcome, error)
}

// Recorded are replays that know on which recording each candidate is replayed.
type Recorded interface {
	Source
	// Recordings are those that answer, each with the same runs in one order.
	Recordings() []sweep.Recording
	// Recording is the index of the one that a candidate is replayed on.
	Recording(ctx context.Context, candidate int) (int, error)
	// Visit tells what candidates make of the runs: see [sweep.Sweep.Visit].
	Visit(ctx context.Context, candidates []int, visitor func() func(k, run int, o *sweep.Outcome)) error
}

// ReplayOptions are what the runs do not say.
type ReplayOptions struct {
	Suite      string
	Simulated  []string // models
	PricesAsOf string
	Warnings   []ReplayNote // on the recording, for example runs that were left out
}

// LabelRecorded is the label of what was recorded itself.
const LabelRecorded = "recorded"

// Collect holds every candidate against the recorded runs. What was recorded comes
// first, unless a candidate is that.
func Collect(ctx context.Context, of Recorded, o ReplayOptions) (*Replay, error) {
	r := &Replay{
		Schema: ReplaySchema, Suite: o.Suite, Recordings: []string{}, Scorers: append([]string{}, of.Scores()...),
		PricesAsOf: o.PricesAsOf, Configurations: []Configuration{},
	}
	candidates, recordings := of.Candidates(), of.Recordings()
	held := make([]*Held, len(recordings))
	for i := range recordings {
		held[i] = Hold(recordings[i].Runs, r.Scorers)
		name := recordings[i].Configuration
		r.Recordings = append(r.Recordings, name)
		if !slices.ContainsFunc(candidates, func(c sweep.Candidate) bool { return len(c.Params) == 0 && c.Name == name }) {
			r.Configurations = append(r.Configurations, held[i].asRecorded(name))
		}
	}
	all := make([]int, len(candidates))
	for i := range all {
		all[i] = i
	}
	for some := range slices.Chunk(all, min(math.MaxUint16, max(1, mostTaken/max(1, len(of.Runs()))))) {
		made, err := replayed(ctx, of, some, held)
		if err != nil {
			return nil, fmt.Errorf("replaying %s: %w", candidates[some[0]].Name, err)
		}
		r.Configurations = append(r.Configurations, made...)
	}
	r.whole(held, o)
	return r, nil
}

// mostTaken is of how many runs of candidates it is kept at a time what these make of
// them: two bytes each.
const mostTaken = 20_000_000

// replayed are candidates, each on the recording that it is replayed on.
func replayed(ctx context.Context, of Recorded, candidates []int, held []*Held) ([]Configuration, error) {
	all, on, known := make([]*taken, len(candidates)), make([]int, len(candidates)), make([]*endings, len(held))
	for k, i := range candidates {
		at, err := of.Recording(ctx, i)
		if err != nil {
			return nil, err
		}
		if known[at] == nil {
			known[at] = held[at].endings()
		}
		on[k], all[k] = at, held[at].take(known[at])
	}
	var workers [][]tally // by candidate
	err := of.Visit(ctx, candidates, func() func(int, int, *sweep.Outcome) {
		sums := make([]tally, len(candidates))
		workers = append(workers, sums)
		return func(k, run int, o *sweep.Outcome) {
			sums[k].add(o)
			all[k].at[run] = all[k].place(run, o)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, k := range on {
		held[k].tookBefore()
	}
	made := make([]Configuration, len(candidates))
	return made, sweep.Each(ctx, len(candidates), 1, func(k int) {
		var sum tally
		for _, sums := range workers {
			sum.plus(&sums[k])
		}
		c := held[on[k]].configuration(&of.Candidates()[candidates[k]], &sum, all[k])
		c.Recording = of.Recordings()[on[k]].Configuration
		c.Recorded = len(c.Params) == 0 && c.Name == c.Recording
		made[k] = c
	})
}

// whole fills in what holds for all configurations.
func (r *Replay) whole(held []*Held, o ReplayOptions) {
	if len(held) == 0 {
		r.Warnings = append([]ReplayNote{}, o.Warnings...)
		return
	}
	first := held[0]
	r.Tasks, r.Runs, r.Clusters = len(first.Tasks), len(first.Runs), first.Clusters
	if slices.ContainsFunc(held, func(b *Held) bool { return b.Simulated }) {
		r.Simulated = o.Simulated
	}
	r.Warnings = append(r.wholeNotes(held), o.Warnings...)
}

func (b *Held) asRecorded(name string) Configuration {
	c := b.summed(&sweep.Candidate{Name: name}, b.asTheyWere())
	c.Recording, c.Recorded, c.Label = name, true, LabelRecorded
	return c
}

func (b *Held) summed(candidate *sweep.Candidate, outcomes iter.Seq[*sweep.Outcome]) Configuration {
	var sum tally
	all, run := b.take(b.endings()), 0
	for o := range outcomes {
		sum.add(o)
		all.at[run] = all.place(run, o)
		run++
	}
	return b.configuration(candidate, &sum, all)
}

func (b *Held) configuration(candidate *sweep.Candidate, sum *tally, all *taken) Configuration {
	c := Configuration{
		Name: candidate.Name, Aliases: candidate.Aliases, Params: Params(candidate.Params), Runs: sum.runs, Scores: []Score{}, Warnings: []ReplayNote{},
		Exact: sum.exact, Faults: sum.faults, Censored: sum.censored, Branches: sum.branches, Told: sum.told,
		Label: sum.label.String(), Stops: sum.stops(),
	}
	for s := range b.Scores {
		c.Scores = append(c.Scores, b.score(s, all, sum.label == replay.PointExact))
	}
	b.amounts(&c, sum, all)
	if c.broken = sum.broken; c.broken > 0 && sum.label == replay.PointExact {
		c.Label = replay.Bounded.String() // what the runs with a fault would have given is unknown
	}
	c.note(sum)
	return c
}

// tally counts what a configuration makes of some of the runs.
type tally struct {
	label                                         replay.Label // the worst
	runs, exact, faults, censored, branches, told int
	broken                                        int // of the faults: those of the recording
	ways                                          map[way]*int
	last                                          way // counted in lastWay
	lastWay                                       *int
	reasons                                       map[reason]int        // runs
	spent                                         [len(spendings)]total // of the runs without a fault
}

// way is how an exact run stops.
type way struct {
	reason record.Reason
	fired  string
}

// reason is why a run is not exact, or would have a fault: the kind of note that counts it, and why.
type reason struct {
	kind reports.WarningKind
	why  string
}

func (t *tally) add(o *sweep.Outcome) {
	excluded := o.Excluded()
	broken := excluded && o.Verdict == replay.Censored // by a fault of the recording
	label := o.Label()
	if broken {
		label = replay.PointExact // of the other runs
	}
	t.label = max(t.label, label)
	t.runs++
	t.faults += count(excluded)
	t.broken += count(broken)
	t.censored += count(o.Verdict == replay.Censored && !broken)
	t.branches += count(o.Verdict == replay.Branches)
	t.told += count(o.Told)
	if o.Verdict == replay.Exact && !excluded {
		t.exact++
		t.stopped(way{o.Outcome.Reason, o.Outcome.Fired}, 1)
	} else {
		t.because(reasonOf(o), 1)
	}
	if excluded {
		return
	}
	used := o.Total()
	for i, s := range spendings {
		least, most := s.Of(o, &used)
		t.spent[i].add(&total{least, most, o.Verdict != replay.Exact, s.Missing(used.Most)})
	}
}

// stopped counts runs that stop in one way.
func (t *tally) stopped(in way, runs int) {
	if t.lastWay == nil || t.last != in {
		if t.ways == nil {
			t.ways = map[way]*int{}
		}
		if t.ways[in] == nil {
			t.ways[in] = new(int)
		}
		t.last, t.lastWay = in, t.ways[in]
	}
	*t.lastWay += runs
}

func (t *tally) plus(o *tally) {
	t.label = max(t.label, o.label)
	t.runs, t.exact, t.faults, t.broken = t.runs+o.runs, t.exact+o.exact, t.faults+o.faults, t.broken+o.broken
	t.censored, t.branches, t.told = t.censored+o.censored, t.branches+o.branches, t.told+o.told
	for key, n := range o.ways {
		t.stopped(key, *n)
	}
	for key, runs := range o.reasons {
		t.because(key, runs)
	}
	for i := range t.spent {
		t.spent[i].add(&o.spent[i])
	}
}

// taken is what a configuration makes of each run, as far as its scores need it: by run,
// the place of its ending among those that the run has.
type taken struct {
	*endings
	at []uint16
}

// endings are the different ways in which each run ends under some configurations: there
// are few.
type endings struct {
	scores int
	of     [][]ending // by run
}

// ending is how a run ends, and what it is worth.
type ending struct {
	as     runAs
	ranges []sweep.Range // by score
	whys   []sweep.Why   // by score; nil: none is told
}

func (e *ending) alike(o *ending) bool {
	same := func(a, b sweep.Range) bool {
		return math.Float64bits(a.Least) == math.Float64bits(b.Least) && math.Float64bits(a.Most) == math.Float64bits(b.Most)
	}
	return e.as == o.as && slices.EqualFunc(e.ranges, o.ranges, same) && slices.Equal(e.whys, o.whys)
}

// runAs is how a run ends: with a fault, exactly, or in no known way.
type runAs uint8

const (
	unknownEnd runAs = iota
	exactEnd
	faultyEnd
)

// endings has none yet.
func (b *Held) endings() *endings {
	return &endings{scores: len(b.Scores), of: make([][]ending, len(b.Runs))}
}

// take makes room for what a configuration makes of the runs.
func (b *Held) take(of *endings) *taken { return &taken{of, make([]uint16, len(b.Runs))} }

func (t *taken) ending(run int) *ending { return &t.of[run][t.at[run]] }

// place is that of a run's ending.
func (e *endings) place(run int, o *sweep.Outcome) uint16 {
	var room [4]sweep.Range
	one := ending{ranges: room[:0], whys: o.Unscored}
	switch {
	case o.Excluded():
		one.as, one.whys = faultyEnd, nil
	case o.Verdict == replay.Exact:
		one.as = exactEnd
	}
	for s := 0; s < e.scores && one.as != faultyEnd; s++ {
		one.ranges = append(one.ranges, ScoreOf(o, s))
	}
	at := slices.IndexFunc(e.of[run], func(known ending) bool { return known.alike(&one) })
	if at < 0 {
		at, one.ranges = len(e.of[run]), slices.Clone(one.ranges)
		e.of[run] = append(e.of[run], one)
	}
	return uint16(at)
}

// Params are those of a candidate as records have them.
func Params(params []spec.Param) (all []record.Param) {
	for _, p := range params {
		value, err := json.Marshal(p.Value)
		if err != nil {
			value = []byte("null")
		}
		all = append(all, record.Param{Path: p.Path, Value: value})
	}
	return all
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Held are recorded runs, against which configurations are held.
type Held struct {
	Scores    []string
	Runs      []sweep.Run
	Tasks     []Task
	Clusters  int
	Simulated bool

	recorded []sweep.Outcome // see Recorded; nil: not made yet
	before   *tally          // of what was recorded; nil: not added up yet
	timed    bool
	lumped   int // runs of which only the whole tells its cost
}

// Task is a task with the places of its runs.
type Task struct {
	Cluster string
	Runs    []int
}

// Hold makes ready runs with scores of these names.
func Hold(runs []sweep.Run, scores []string) *Held {
	b := &Held{Scores: scores, Runs: runs}
	at, clusters := map[string]int{}, map[string]bool{}
	type seen struct{ untimed, lumped bool }
	within := make([]seen, len(b.Runs))
	_ = sweep.Each(context.Background(), len(b.Runs), chunk, func(i int) { // nothing stops it
		run := b.Runs[i].Run
		within[i] = seen{slices.ContainsFunc(run.Iterations, func(it record.Iteration) bool { return it.Untimed }), replay.OnlyWholeCost(run)}
	})
	b.timed = true
	for i := range b.Runs {
		run := b.Runs[i].Run
		b.timed = b.timed && !run.Untimed && !within[i].untimed
		b.lumped += count(within[i].lumped)
		place, known := at[run.Task]
		if !known {
			place = len(b.Tasks)
			at[run.Task] = place
			b.Tasks = append(b.Tasks, Task{Cluster: run.Cluster})
		}
		b.Tasks[place].Runs = append(b.Tasks[place].Runs, i)
		if run.Cluster != "" {
			clusters[run.Cluster] = true
		}
		b.Simulated = b.Simulated || run.Simulated
	}
	b.Clusters = len(clusters)
	return b
}

// Recorded are the runs as they were.
func (b *Held) Recorded() []sweep.Outcome {
	if b.recorded == nil {
		b.recorded = make([]sweep.Outcome, 0, len(b.Runs))
		for o := range b.asTheyWere() {
			b.recorded = append(b.recorded, *o)
		}
	}
	return b.recorded
}

// asTheyWere are the recorded runs as outcomes, each valid until the next.
func (b *Held) asTheyWere() iter.Seq[*sweep.Outcome] {
	return func(yield func(*sweep.Outcome) bool) {
		var o sweep.Outcome
		for i := range b.Runs {
			if o = asItWas(&b.Runs[i]); !yield(&o) {
				return
			}
		}
	}
}

// asItWas is what a recorded run says of the configuration that made it.
func asItWas(run *sweep.Run) sweep.Outcome {
	o := sweep.Outcome{Result: replay.Result{
		Verdict: replay.Exact, Outcome: run.Run.Outcome, Iterations: len(run.Run.Iterations),
		Usage:   replay.SpanOf(run.Run.Usage),
		Judging: replay.SpanOf(run.Run.Judging),
		User:    replay.SpanOf(run.Run.User),
		Elapsed: run.Run.Elapsed,
	}}
	if o.Excluded() {
		o.Verdict, o.At, o.Why = replay.Censored, len(run.Run.Iterations), replay.HadFault(run.Run)
	}
	for _, scores := range run.Scores {
		o.Scores = append(o.Scores, pointOf(scores))
	}
	return o
}

// pointOf is the score of the run itself, the first of its scores.
func pointOf(scores []float64) sweep.Range {
	if len(scores) == 0 {
		return sweep.Range{Least: math.NaN(), Most: math.NaN()}
	}
	return sweep.Range{Least: scores[0], Most: scores[0]}
}

// Success is the least score that counts as one.
const Success = 1

// score sums up a score. It is a point only where all runs are exact, and all
// that are scored as recorded are so here.
func (b *Held) score(s int, all *taken, exact bool) Score {
	sum := Score{Name: b.Scores[s]}
	least, most := reports.Means{}, reports.Means{}
	var low, high []float64
	for task := range page.EachOf(b.Tasks) {
		low, high = low[:0], high[:0]
		for _, i := range task.Runs {
			e := all.ending(i)
			if e.as == faultyEnd {
				continue
			}
			r, before := e.ranges[s], pointOf(at(b.Runs[i].Scores, s)).Least
			if math.IsNaN(r.Least) || math.IsNaN(r.Most) {
				if s < len(e.whys) && e.whys[s] != "" {
					sum.Unscored++
					sum.whys[slices.Index(whys[:], e.whys[s])]++
				}
				continue
			}
			low, high = append(low, r.Least), append(high, r.Most)
			exact = exact && r.Least == r.Most
			sum.count(r, before, e.as == exactEnd)
		}
		least.Add(task.Cluster, low)
		most.Add(task.Cluster, high)
	}
	sum.fill(&least, &most, exact)
	return sum
}

// ScoreOf is the s-th score of a run; not known where the run has none.
func ScoreOf(o *sweep.Outcome, s int) sweep.Range {
	if s >= len(o.Scores) {
		return sweep.Range{Least: math.NaN(), Most: math.NaN()}
	}
	return o.Scores[s]
}

// at is the i-th list; nil where there are fewer.
func at(lists [][]float64, i int) []float64 {
	if i >= len(lists) {
		return nil
	}
	return lists[i]
}

// whys are the reasons in the order in which notes give them.
var whys = [...]sweep.Why{sweep.NotJudged, sweep.NotTold, sweep.ReturnsEarlier, sweep.StopsOtherwise, sweep.GoesOtherwise, sweep.UsesUpSteps, sweep.StateNotJudged}

func (sum *Score) count(r sweep.Range, before float64, exact bool) {
	sum.Scored++
	if !exact || r.Least != r.Most {
		return
	}
	sum.Successes += count(r.Least >= Success)
	sum.Lost += count(before >= Success && r.Least < Success)
	sum.Gained += count(before < Success && r.Least >= Success)
}

// fill gives the mean, or its bounds, or says why there is neither.
func (sum *Score) fill(least, most *reports.Means, exact bool) {
	none := page.Missing(page.Unscored)
	sum.Mean, sum.Interval, sum.Bounds = none, page.NoRange(page.Unscored), page.NoRange(page.Unscored)
	if len(least.All) == 0 || sum.Unscored > 0 {
		return
	}
	if exact {
		sum.Mean, sum.Interval, sum.unit = meanOf(least), least.Interval(), !least.Beyond
		return
	}
	sum.Mean = page.Missing(page.Nothing)
	sum.Bounds = page.Range{Low: meanOf(least), High: meanOf(most)}
}

// meanOf is the mean of means, which is none where a score may be anything.
func meanOf(means *reports.Means) page.Value {
	mean, ok := stats.Mean(means.All)
	if !ok || math.IsInf(mean, 0) {
		return page.Missing(page.Unbounded)
	}
	return page.Known(mean)
}

// Spending is something that a run takes, as whole numbers of a small unit.
type Spending struct {
	Of   func(o *sweep.Outcome, used *replay.Span) (least, most int64) // used is the outcome's total
	Unit float64                                                       // so many are 1 for the reader
	// Missing is why a run does not say it, "" where it does.
	Missing func(u record.Usage) string
}

// What runs take.
var (
	Iterations = Spending{func(o *sweep.Outcome, _ *replay.Span) (int64, int64) { return int64(o.Iterations), int64(o.Iterations) }, 1, reported}
	Calls      = Spending{used(func(u record.Usage) int64 { return u.Calls }), 1, unreported}
	Tokens     = Spending{used(record.Usage.Tokens), 1, tokensUntold}
	Cost       = Spending{used(func(u record.Usage) int64 { return int64(u.Cost) }), float64(record.USD), unpriced}
	Time       = Spending{func(o *sweep.Outcome, _ *replay.Span) (int64, int64) { return int64(o.Elapsed), int64(o.Elapsed) }, float64(time.Second), reported}
)

func used(of func(record.Usage) int64) func(*sweep.Outcome, *replay.Span) (int64, int64) {
	return func(_ *sweep.Outcome, used *replay.Span) (least, most int64) {
		return of(used.Least), of(used.Most)
	}
}

func reported(record.Usage) string { return "" }

func unreported(u record.Usage) string { return unknownIf(u.Unreported > 0) }

func tokensUntold(u record.Usage) string { return unknownIf(!u.TokensTold()) }

func unpriced(u record.Usage) string {
	if u.Unreported == 0 && u.Unpriced > 0 {
		return page.Unpriced
	}
	return unreported(u)
}

func unknownIf(is bool) string {
	if is {
		return page.Unknown
	}
	return ""
}

// spendings are those that are shown, in the order of amounts.
var spendings = [...]*Spending{&Iterations, &Calls, &Tokens, &Cost, &Time}

// amounts fills in what the runs take. Those that would have a fault are in no number,
// nor in what the others took as recorded.
func (b *Held) amounts(c *Configuration, sum *tally, all *taken) {
	before := b.tookBefore()
	if sum.faults > 0 {
		before = b.took(func(run int) bool { return all.ending(run).as != faultyEnd })
	}
	for i, into := range [...]*Amount{&c.Iterations, &c.Calls, &c.Tokens, &c.Cost, &c.Latency} {
		*into = spendings[i].amount(sum.runs-sum.faults, &sum.spent[i], &before.spent[i])
	}
	if !b.timed {
		c.Latency = noAmount(page.Unknown)
	}
}

// tookBefore adds up the runs as they were recorded.
func (b *Held) tookBefore() *tally {
	if b.before == nil {
		b.before = b.took(func(int) bool { return true })
	}
	return b.before
}

// took adds up some of them.
func (b *Held) took(in func(run int) bool) *tally {
	sum, run := &tally{}, 0
	for o := range b.asTheyWere() {
		if in(run) {
			sum.add(o)
		}
		run++
	}
	return sum
}

// Timed reports whether the times are known, of all iterations of all runs.
func (b *Held) Timed() bool { return b.timed }

// total is what runs take at least and at most. open says that there is no most:
// some run would have continued.
type total struct {
	least, most int64
	open        bool
	missing     string
}

func (t *total) add(o *total) {
	t.least, t.most = t.least+o.least, t.most+o.most
	t.open, t.missing = t.open || o.open, max(t.missing, o.missing)
}

// amount is the mean of so many runs, and what is saved of the recorded.
func (s *Spending) amount(runs int, t, before *total) Amount {
	switch {
	case runs == 0:
		return noAmount(page.Nothing)
	case t.missing != "":
		return noAmount(t.missing)
	}
	scale := s.Unit * float64(runs)
	a := noAmount(page.Nothing)
	spent := before.missing == "" && before.least != 0 // what was spent before is known
	saved := func(now int64) float64 { return 1 - float64(now)/float64(before.least) }
	if t.least == t.most && !t.open {
		a.Mean = page.Known(float64(t.least) / scale)
		if spent {
			a.Saved = page.Known(saved(t.least))
		}
		return a
	}
	a.Bounds = page.Range{Low: page.Known(float64(t.least) / scale), High: t.end(float64(t.most) / scale)}
	if spent {
		a.SavedBounds = page.Range{Low: t.end(saved(t.most)), High: page.Known(saved(t.least))}
	}
	return a
}

// end is the end of bounds that may have none.
func (t *total) end(x float64) page.Value {
	if t.open {
		return page.Missing(page.Unbounded)
	}
	return page.Known(x)
}

func noAmount(why string) Amount {
	return Amount{Mean: page.Missing(why), Bounds: page.NoRange(why), Saved: page.Missing(why), SavedBounds: page.NoRange(why)}
}

// reasonOf is why a run is not exact, or would have a fault.
func reasonOf(o *sweep.Outcome) reason {
	switch why := o.Why; {
	case o.Excluded() && o.Verdict == replay.Censored:
		return reason{RecordedFault, o.Outcome.Fired}
	case o.Excluded() && o.Verdict == replay.Exact:
		if why = o.Outcome.Fired; o.Outcome.Error != nil {
			why = o.Outcome.Error.Error()
		}
		return reason{WouldFault, why}
	case o.Excluded():
		return reason{WouldFault, why}
	case o.Told:
		return reason{ToldLimits, why}
	case o.Verdict == replay.Branches:
		return reason{Branching, why}
	default:
		return reason{Bounds, why}
	}
}

func (t *tally) because(of reason, runs int) {
	if t.reasons == nil {
		t.reasons = map[reason]int{}
	}
	t.reasons[of] += runs
}

// mostly is the most frequent reason of some kinds, the first in the alphabet among equals; "mostly ..." where there are others.
func (t *tally) mostly(kinds ...reports.WarningKind) string {
	var first reason
	of := 0
	for one, runs := range t.reasons {
		if !slices.Contains(kinds, one.kind) {
			continue
		}
		if of++; first.why == "" || cmp.Or(cmp.Compare(t.reasons[first], runs), cmp.Compare(one.why, first.why)) < 0 {
			first = one
		}
	}
	if of > 1 {
		return "mostly " + first.why
	}
	return first.why
}

// tallied counts what a configuration makes of the runs.
func tallied(outcomes []sweep.Outcome) *tally {
	t := &tally{}
	for o := range page.EachOf(outcomes) {
		t.add(o)
	}
	return t
}

// stops are the ways in which exact runs stopped.
func (t *tally) stops() []StopCount {
	all := []StopCount{}
	for key, n := range t.ways {
		all = append(all, StopCount{
			Name: reports.StopName(key.reason, key.fired), Reason: key.reason, Fired: key.fired, Runs: *n, Share: page.Ratio(int64(*n), int64(t.exact)),
		})
	}
	slices.SortFunc(all, func(a, b StopCount) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Fired, b.Fired), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}
