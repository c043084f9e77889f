package tune

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
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
	Name   string         `json:"name"`
	Params []record.Param `json:"params,omitempty"` // those that were set
	// Recording is the configuration on whose runs it was replayed: lost, gained and
	// saved are against these.
	Recording string `json:"recording"`
	// Recorded says that this is what was recorded itself, not replayed.
	Recorded bool `json:"recorded"`
	// Label is recorded, exact, bounded, needs calls or counterfactual: that of
	// the worst of the runs.
	Label string `json:"label"`
	Runs  int    `json:"runs"`
	Exact int    `json:"exact"`
	// Faults are runs that would end with a fault, for example because a condition
	// cannot be evaluated on them. As after a live run they are in no number, nor
	// among the exact ones; saved is against the other runs as recorded.
	Faults   int `json:"faults"`
	Censored int `json:"censored"`
	Branches int `json:"branches"`
	Told     int `json:"told"` // of those that branch: the agent was told a limit

	Scores     []Score `json:"scores"` // in the order of the scorers
	Iterations Amount  `json:"iterations"`
	Calls      Amount  `json:"calls"`
	Tokens     Amount  `json:"tokens"`
	Cost       Amount  `json:"cost_usd"`
	Latency    Amount  `json:"latency_s"`
	// Stops are the ways in which the exact runs stopped, the most frequent first.
	Stops []StopCount `json:"stops"`
	// Unknown says why runs are not exact, the worst first, and why others would have
	// a fault.
	Unknown  []Unknown    `json:"unknown"`
	Warnings []ReplayNote `json:"warnings"`
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
	// Unscored are runs of which the recording has a score, but not of the
	// iteration that would be returned.
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

// Unknown is one reason why runs are not exact, or would have a fault.
type Unknown struct {
	Label string `json:"label"` // of these runs: that of a configuration, or fault
	Why   string `json:"why"`
	Runs  int    `json:"runs"`
	// First and Last are the iterations, from 1, from which the runs are not known
	// any more: those of the first and of the last such run.
	First int `json:"first_iteration"`
	Last  int `json:"last_iteration"`
}

// Source are configurations and what they make of recorded runs; a *sweep.Sweep
// is one.
type Source interface {
	Candidates() []sweep.Candidate
	Scores() []string
	Runs() []sweep.Run
	// Outcomes are those of a candidate, in the order of the runs.
	Outcomes(ctx context.Context, candidate int) ([]sweep.Outcome, error)
}

// Recorded are replays that know on which recording each candidate is replayed.
type Recorded interface {
	Source
	// Recordings are those that answer, each with the same runs in one order.
	Recordings() []sweep.Recording
	// Recording is the index of the one that a candidate is replayed on.
	Recording(ctx context.Context, candidate int) (int, error)
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
	for i := range candidates {
		c, err := replayed(ctx, of, i, held)
		if err != nil {
			return nil, fmt.Errorf("replaying %s: %w", candidates[i].Name, err)
		}
		r.Configurations = append(r.Configurations, c)
	}
	r.whole(held, o)
	return r, nil
}

// replayed is a candidate on the recording that it is replayed on.
func replayed(ctx context.Context, of Recorded, i int, held []*Held) (c Configuration, err error) {
	at, err := of.Recording(ctx, i)
	if err != nil {
		return c, err
	}
	outcomes, err := of.Outcomes(ctx, i)
	if err != nil {
		return c, err
	}
	candidate := &of.Candidates()[i]
	c = held[at].Configuration(candidate, outcomes)
	c.Recording = of.Recordings()[at].Configuration
	c.Recorded = len(c.Params) == 0 && c.Name == c.Recording
	return c, nil
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

// asRecorded is what was recorded.
func (b *Held) asRecorded(name string) Configuration {
	c := b.Configuration(&sweep.Candidate{Name: name}, b.Recorded)
	c.Recording, c.Recorded, c.Label = name, true, LabelRecorded
	return c
}

// Configuration is what a candidate makes of the runs.
func (b *Held) Configuration(candidate *sweep.Candidate, outcomes []sweep.Outcome) Configuration {
	c := Configuration{
		Name: candidate.Name, Params: Params(candidate.Params), Runs: len(outcomes), Scores: []Score{}, Warnings: []ReplayNote{},
		Stops: StopCounts(outcomes), Unknown: Unknowns(outcomes),
	}
	label := replay.PointExact
	for i := range outcomes {
		o := &outcomes[i]
		label = max(label, o.Label())
		c.Exact += count(o.Verdict == replay.Exact && !o.Excluded())
		c.Faults += count(o.Excluded())
		c.Censored += count(o.Verdict == replay.Censored)
		c.Branches += count(o.Verdict == replay.Branches)
		c.Told += count(o.Told)
	}
	c.Label = label.String()
	for s := range b.Scores {
		c.Scores = append(c.Scores, b.score(s, outcomes, label == replay.PointExact))
	}
	b.amounts(&c, outcomes)
	c.note()
	return c
}

// primary is the score that says what a success is, "" where nothing is scored.
func (r *Replay) primary() string {
	if len(r.Scorers) == 0 {
		return ""
	}
	return r.Scorers[0]
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
	Recorded  []sweep.Outcome // the runs as they were
	before    []total         // what they took, by spending; nil: not added up yet
	Tasks     []Task
	Clusters  int
	Simulated bool
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
	for i := range b.Runs {
		run := b.Runs[i].Run
		b.Recorded = append(b.Recorded, asItWas(&b.Runs[i]))
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

// asItWas is what a recorded run says of the configuration that made it.
func asItWas(run *sweep.Run) sweep.Outcome {
	o := sweep.Outcome{Result: replay.Result{
		Verdict: replay.Exact, Outcome: run.Run.Outcome, Iterations: len(run.Run.Iterations),
		Usage:   replay.Span{Least: run.Run.Usage, Most: run.Run.Usage},
		Judging: replay.Span{Least: run.Run.Judging, Most: run.Run.Judging},
		User:    replay.Span{Least: run.Run.User, Most: run.Run.User},
		Elapsed: run.Run.Elapsed,
	}}
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
func (b *Held) score(s int, outcomes []sweep.Outcome, exact bool) Score {
	sum := Score{Name: b.Scores[s]}
	least, most := reports.Means{}, reports.Means{}
	for t := range b.Tasks {
		task := &b.Tasks[t]
		var low, high []float64
		for _, i := range task.Runs {
			if outcomes[i].Excluded() {
				continue
			}
			r, before := ScoreOf(&outcomes[i], s), ScoreOf(&b.Recorded[i], s).Least
			if math.IsNaN(r.Least) || math.IsNaN(r.Most) {
				if !math.IsNaN(before) {
					sum.miss(whyOf(&outcomes[i], s))
				}
				continue
			}
			low, high = append(low, r.Least), append(high, r.Most)
			exact = exact && r.Least == r.Most
			sum.count(r, before, outcomes[i].Verdict == replay.Exact)
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

// whyOf is why the s-th score of a run is not known.
func whyOf(o *sweep.Outcome, s int) sweep.Why {
	if s < len(o.Unscored) && o.Unscored[s] != "" {
		return o.Unscored[s]
	}
	return sweep.NotJudged
}

// whys are the reasons in the order in which notes give them.
var whys = [...]sweep.Why{sweep.NotJudged, sweep.ReturnsEarlier, sweep.StopsOtherwise, sweep.GoesOtherwise, sweep.UsesUpSteps}

func (sum *Score) miss(why sweep.Why) {
	sum.Unscored++
	sum.whys[slices.Index(whys[:], why)]++
}

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
	sum.Mean, sum.Interval, sum.Bounds = none, page.Range{Low: none, High: none}, page.Range{Low: none, High: none}
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
	Of   func(o *sweep.Outcome) (least, most int64)
	Unit float64 // so many are 1 for the reader
	// Missing is why a run does not say it, "" where it does.
	Missing func(u record.Usage) string
}

// What runs take.
var (
	Iterations = Spending{func(o *sweep.Outcome) (int64, int64) { return int64(o.Iterations), int64(o.Iterations) }, 1, reported}
	Calls      = Spending{used(func(u record.Usage) int64 { return u.Calls }), 1, unreported}
	Tokens     = Spending{used(record.Usage.Tokens), 1, tokensUntold}
	Cost       = Spending{used(func(u record.Usage) int64 { return int64(u.Cost) }), float64(record.USD), unpriced}
	Time       = Spending{func(o *sweep.Outcome) (int64, int64) { return int64(o.Elapsed), int64(o.Elapsed) }, float64(time.Second), reported}
)

func used(of func(record.Usage) int64) func(*sweep.Outcome) (int64, int64) {
	return func(o *sweep.Outcome) (least, most int64) {
		span := o.Total()
		return of(span.Least), of(span.Most)
	}
}

func reported(record.Usage) string { return "" }

func unreported(u record.Usage) string {
	if u.Unreported > 0 {
		return page.Unknown
	}
	return ""
}

func tokensUntold(u record.Usage) string {
	if !u.TokensTold() {
		return page.Unknown
	}
	return ""
}

func unpriced(u record.Usage) string {
	if u.Unreported == 0 && u.Unpriced > 0 {
		return page.Unpriced
	}
	return unreported(u)
}

// spendings are those that are shown, in the order of amounts.
var spendings = [...]*Spending{&Iterations, &Calls, &Tokens, &Cost, &Time}

// amounts fills in what the runs take.
func (b *Held) amounts(c *Configuration, outcomes []sweep.Outcome) {
	if b.before == nil {
		b.before = totalsOf(b.Recorded)
	}
	before, counted := b.before, outcomes
	if c.Faults > 0 {
		before, counted = totalsOf(alike(b.Recorded, outcomes)), alike(outcomes, outcomes)
	}
	for i, into := range [...]*Amount{&c.Iterations, &c.Calls, &c.Tokens, &c.Cost, &c.Latency} {
		*into = spendings[i].amount(counted, before[i])
	}
	if !b.Timed() {
		c.Latency = noAmount(page.Unknown)
	}
}

// alike are those of the runs that would be in the numbers.
func alike(of, outcomes []sweep.Outcome) (kept []sweep.Outcome) {
	for i := range outcomes {
		if !outcomes[i].Excluded() {
			kept = append(kept, of[i])
		}
	}
	return kept
}

// totalsOf are what runs take, by spending.
func totalsOf(outcomes []sweep.Outcome) []total {
	all := make([]total, len(spendings))
	for i, of := range spendings {
		all[i] = of.total(outcomes)
	}
	return all
}

// Timed reports whether the times are known, of all iterations of all runs, and some
// run took any.
func (b *Held) Timed() bool {
	took := false
	for i := range b.Runs {
		run := b.Runs[i].Run
		if run.Untimed || slices.ContainsFunc(run.Iterations, func(it record.Iteration) bool { return it.Untimed }) {
			return false
		}
		took = took || run.Elapsed > 0
	}
	return took
}

// total is what runs take at least and at most. open says that there is no most:
// some run would have gone on.
type total struct {
	least, most int64
	open        bool
	missing     string
}

func (s *Spending) total(outcomes []sweep.Outcome) (t total) {
	for i := range outcomes {
		o := &outcomes[i]
		least, most := s.Of(o)
		t.least, t.most = t.least+least, t.most+most
		t.open = t.open || o.Verdict != replay.Exact
		t.missing = max(t.missing, s.Missing(o.Total().Most))
	}
	return t
}

// amount is the mean per run, and what is saved of the recorded.
func (s *Spending) amount(outcomes []sweep.Outcome, before total) Amount {
	t := s.total(outcomes)
	switch {
	case len(outcomes) == 0:
		return noAmount(page.Nothing)
	case t.missing != "":
		return noAmount(t.missing)
	}
	scale := s.Unit * float64(len(outcomes))
	a := noAmount(page.Nothing)
	if t.least == t.most && !t.open {
		a.Mean = page.Known(float64(t.least) / scale)
	} else {
		a.Bounds = page.Range{Low: page.Known(float64(t.least) / scale), High: t.end(float64(t.most) / scale)}
	}
	a.save(t, before)
	return a
}

// save tells what is saved, where it is known what was spent before.
func (a *Amount) save(t, before total) {
	if before.missing != "" || before.least == 0 {
		return
	}
	of := func(now int64) float64 { return 1 - float64(now)/float64(before.least) }
	if a.Mean.Known() {
		a.Saved = page.Known(of(t.least))
		return
	}
	a.SavedBounds = page.Range{Low: t.end(of(t.most)), High: page.Known(of(t.least))}
}

// end is the end of bounds that may have none.
func (t total) end(x float64) page.Value {
	if t.open {
		return page.Missing(page.Unbounded)
	}
	return page.Known(x)
}

func noAmount(why string) Amount {
	none := page.Missing(why)
	return Amount{Mean: none, Bounds: page.Range{Low: none, High: none}, Saved: none, SavedBounds: page.Range{Low: none, High: none}}
}

// LabelFault is the label of runs that would have a fault.
const LabelFault = "fault"

// Unknowns gathers why runs are not exact, or would have a fault: the worst first,
// then what holds for most of them.
func Unknowns(outcomes []sweep.Outcome) []Unknown {
	type reason struct {
		label replay.Label
		why   string
	}
	at, all, labels := map[reason]int{}, []Unknown{}, []replay.Label{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Verdict == replay.Exact && !o.Excluded() {
			continue
		}
		one := unknownOf(o)
		key := reason{o.Label(), one.Why}
		place, known := at[key]
		if !known {
			place = len(all)
			at[key] = place
			all = append(all, one)
			labels = append(labels, key.label)
		}
		u := &all[place]
		u.Runs, u.First, u.Last = u.Runs+1, min(u.First, one.First), max(u.Last, one.Last)
	}
	rank := map[string]replay.Label{}
	for i := range all {
		rank[all[i].Label] = labels[i] // a fault comes last
	}
	slices.SortFunc(all, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(rank[b.Label], rank[a.Label]), cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.First, b.First), cmp.Compare(a.Why, b.Why))
	})
	return all
}

// unknownOf is why a run is not exact, or would have a fault.
func unknownOf(o *sweep.Outcome) Unknown {
	if !o.Excluded() {
		return Unknown{Label: o.Label().String(), Why: o.Why, First: o.At, Last: o.At}
	}
	why := o.Outcome.Fired
	if o.Outcome.Error != nil {
		why = o.Outcome.Error.Error()
	}
	return Unknown{Label: LabelFault, Why: "a live run would have a fault: " + why, First: o.Iterations, Last: o.Iterations}
}

// StopCounts counts the ways in which exact runs stopped.
func StopCounts(outcomes []sweep.Outcome) []StopCount {
	type way struct {
		reason record.Reason
		fired  string
	}
	at, all, exact := map[way]int{}, []StopCount{}, 0
	for i := range outcomes {
		o := &outcomes[i]
		if o.Verdict != replay.Exact || o.Excluded() {
			continue
		}
		exact++
		key := way{o.Outcome.Reason, o.Outcome.Fired}
		place, known := at[key]
		if !known {
			place = len(all)
			at[key] = place
			all = append(all, StopCount{Name: stopName(key.reason, key.fired), Reason: key.reason, Fired: key.fired})
		}
		all[place].Runs++
	}
	for i := range all {
		all[i].Share = page.Ratio(int64(all[i].Runs), int64(exact))
	}
	slices.SortFunc(all, func(a, b StopCount) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Fired, b.Fired))
	})
	return all
}

// stopName is the reason, with the name of what fired where that says more.
func stopName(reason record.Reason, fired string) string {
	text := string(reason)
	if fired == "" || fired == text || strings.HasSuffix(text, ":"+fired) {
		return text
	}
	return text + " (" + fired + ")"
}
