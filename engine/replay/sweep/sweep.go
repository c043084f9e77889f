// Package sweep replays many configurations on recorded runs at once: what each
// of them would have made of every run, and the sums over all runs or parts of
// them. Like package replay it makes no call and reads no file.
//
// The stages of the data, in order: a Recording is the runs of one recorded
// configuration with their scores; a Candidate is a loop to be tried on them;
// a Sweep tries candidates on recordings and answers with an Outcome for
// each run, or with Totals for parts of the runs. Totals of candidates that
// differ only in when they stop come from bit sets, of all others from Outcomes;
// they are the same numbers either way, and a test says so.
//
// It is no stable API.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Options are what recordings and candidates do not say.
type Options struct {
	// Replay makes the replays; nil: requests are compared as they are declared, and
	// nothing is judged again.
	Replay func(recorded, target *spec.Loop, announced ...string) *replay.Replay
}

func (o *Options) replay(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	if o.Replay != nil {
		return o.Replay(recorded, target, announced...)
	}
	return replay.New(recorded, target, replay.Options{Announced: announced})
}

// Sweep is candidates held against recorded runs. It is not safe for concurrent
// use; it uses all processors itself.
type Sweep struct {
	recordings []Recording // those that answer: their runs are paired
	unpaired   int
	candidates []Candidate
	scores     []string
	options    Options
	families   []*family
	of         []*family // by candidate
	walked     []*family // their walks are kept
	tasks      []int     // by run: the trials of its task
}

// New holds candidates against recordings. Of recordings that differ only in when
// they stop, the one whose runs went on longest answers. Where several answer,
// runs are paired by task and trial, and those that one of them does not have are
// left out: see Unpaired. The error is that there is nothing to replay.
func New(recordings []Recording, candidates []Candidate, o Options) (*Sweep, error) {
	switch {
	case len(recordings) == 0:
		return nil, errors.New("there are no recorded runs")
	case len(candidates) == 0:
		return nil, errors.New("there is no configuration to replay")
	}
	s := &Sweep{candidates: candidates, options: o, scores: names(recordings)}
	s.recordings, s.unpaired = paired(widest(recordings))
	if len(s.recordings[0].Runs) == 0 {
		return nil, errors.New("the recordings have no task and trial in common")
	}
	for i := range s.recordings {
		s.recordings[i].align(s.scores)
		s.recordings[i].judged = &sync.Map{}
	}
	s.tasks = trials(s.recordings[0].Runs)
	s.families, s.of = families(candidates)
	return s, nil
}

// Candidates are those that were given, in their order.
func (s *Sweep) Candidates() []Candidate { return s.candidates }

// Scores are the names of the scores, in the order of Outcome.Scores.
func (s *Sweep) Scores() []string { return s.scores }

// Runs are those of the first recording, in the order of outcomes.
func (s *Sweep) Runs() []Run { return s.recordings[0].Runs }

// Recordings are those that answer: one of each path, their runs in one order.
func (s *Sweep) Recordings() []Recording { return s.recordings }

// Unpaired is how many recorded runs are left out because another recording has
// no run of that task and trial.
func (s *Sweep) Unpaired() int { return s.unpaired }

// Lead puts one of the recordings first, so that losses are counted against it.
// What was answered before is of another order.
func (s *Sweep) Lead(recording int) {
	if recording == 0 {
		return
	}
	r := s.recordings[recording]
	s.recordings = slices.Insert(slices.Delete(slices.Clone(s.recordings), recording, recording+1), 0, r)
	for _, f := range s.families {
		f.chosen, f.walked = false, walked{}
	}
	s.walked = nil
}

// trials are, for each run, those of its task.
func trials(runs []Run) []int {
	of := map[string]int{}
	for i := range runs {
		of[runs[i].Run.Task]++
	}
	all := make([]int, len(runs))
	for i := range runs {
		all[i] = of[runs[i].Run.Task]
	}
	return all
}

// Parts are runs divided into parts, so that outcomes of many candidates are added
// up without dividing the runs each time.
type Parts struct {
	runs  []Run
	cells *cells
}

// Divide puts each run into a part, from 0; one of a part below 0 is left out.
func Divide(runs []Run, part []int, parts int) *Parts {
	return &Parts{runs, newCells(trials(runs), part, parts)}
}

// Sum adds up outcomes, which are those of the runs in their order, by part. Scores
// are added up in steps of 1e-9, so that their order does not matter.
func (p *Parts) Sum(outcomes []Outcome) []Totals {
	sums := make([]cell, len(p.cells.trials))
	for i := range outcomes {
		if at := p.cells.of[i]; at >= 0 {
			sums[at].add(&outcomes[i], &p.runs[i])
		}
	}
	return p.cells.totals(sums)
}

// widest keeps one recording of each path: the one whose runs have the most iterations,
// then the most steps, the first by name among equals. The order in which recordings come changes nothing.
func widest(recordings []Recording) []Recording {
	var kept []Recording
	byName := slices.SortedStableFunc(slices.Values(recordings), func(a, b Recording) int { return cmp.Compare(a.Configuration, b.Configuration) })
	for _, r := range byName {
		same := slices.IndexFunc(kept, func(k Recording) bool {
			return replay.Apart(k.Loop, r.Loop) == "" && slices.Equal(k.Announced, r.Announced)
		})
		switch {
		case len(r.Runs) == 0:
		case same < 0:
			kept = append(kept, r)
		case cmp.Or(cmp.Compare(r.length(), kept[same].length()), cmp.Compare(r.steps(), kept[same].steps())) > 0:
			kept[same] = r
		}
	}
	if len(kept) == 0 {
		return recordings[:1]
	}
	slices.SortStableFunc(kept, func(a, b Recording) int { return placeOf(recordings, &a) - placeOf(recordings, &b) })
	return kept
}

func placeOf(recordings []Recording, r *Recording) int {
	return slices.IndexFunc(recordings, func(o Recording) bool { return o.Configuration == r.Configuration })
}

// length is the mean number of iterations of a run.
func (r *Recording) length() float64 {
	var sum int
	for i := range r.Runs {
		sum += r.Runs[i].Iterations()
	}
	return float64(sum) / float64(len(r.Runs))
}

// steps is how many steps the runs have in all: of those that are equally long, the longer
// ones answer for more limits of steps.
func (r *Recording) steps() (sum int) {
	for run := range r.whole() {
		for i := range run.Iterations {
			sum += run.Iterations[i].StepCount()
		}
	}
	return sum
}

// whole are the runs with their iterations, each valid until the next.
func (r *Recording) whole() iter.Seq[*record.Run] {
	return func(yield func(*record.Run) bool) {
		room := &replay.Room{}
		for i := range r.Runs {
			if !yield(r.Runs[i].Whole(room)) {
				return
			}
		}
	}
}

// slot is what runs are paired by.
type slot struct {
	task  string
	trial int
}

func (r *Run) slot() slot { return slot{r.Run.Task, r.Run.Trial} }

// paired keeps the runs that every recording has, in the order of the first.
func paired(recordings []Recording) (kept []Recording, left int) {
	has := map[slot]int{}
	for i := range recordings {
		for k := range recordings[i].Runs {
			has[recordings[i].Runs[k].slot()]++
		}
	}
	place := map[slot]int{}
	for k := range recordings[0].Runs {
		if at := recordings[0].Runs[k].slot(); has[at] == len(recordings) {
			place[at] = len(place)
		}
	}
	for _, r := range recordings {
		left += len(r.Runs) - len(place)
		runs := make([]Run, len(place))
		for k := range r.Runs {
			if at, ok := place[r.Runs[k].slot()]; ok {
				runs[at] = r.Runs[k]
			}
		}
		r.Runs = runs
		kept = append(kept, r)
	}
	return kept, left
}

// names are the scores of all recordings, in the order in which they occur.
func names(recordings []Recording) []string {
	var all []string
	for i := range recordings {
		for _, name := range recordings[i].Scores {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// align puts the scores into the order of the names, and finds their bounds.
func (r *Recording) align(names []string) {
	at := make([]int, len(names))
	reads, bounds := make([]Reads, len(names)), make([]Range, len(names))
	for i, name := range names {
		at[i], bounds[i] = slices.Index(r.Scores, name), Range{0, 1}
		if at[i] >= 0 && r.Reads != nil {
			reads[i] = r.Reads[at[i]]
		}
		if at[i] >= 0 && r.Bounds != nil {
			bounds[i] = r.Bounds[at[i]]
		}
	}
	declared := r.Bounds != nil
	r.Scores, r.Reads, r.Bounds = names, reads, bounds
	runs := make([]Run, len(r.Runs))
	for k := range runs {
		runs[k].Recorded, runs[k].Scores = r.Runs[k].Recorded, make([][]float64, len(names))
		for i, from := range at {
			if from >= 0 && from < len(r.Runs[k].Scores) {
				runs[k].Scores[i] = r.Runs[k].Scores[from]
			}
		}
	}
	r.Runs = runs
	if !declared {
		r.unbind()
	}
}

// unbind says of scores with values that lie outside of their bounds that they
// have none.
func (r *Recording) unbind() {
	for k := range r.Runs {
		for i, values := range r.Runs[k].Scores {
			if slices.ContainsFunc(values, func(v float64) bool { return v < 0 || v > 1 }) {
				r.Bounds[i] = Range{math.Inf(-1), math.Inf(1)}
			}
		}
	}
}

// Unscored are the iterations, by the ids of recorded runs, that some candidate
// returns and of which one of the scores is not known, though it would be if the
// iteration was judged. What a run is worth as it was recorded is not among them.
// The error is that of the context.
func (s *Sweep) Unscored(ctx context.Context, scores []string) (map[string][]int, error) {
	var which []int
	for i, name := range s.scores {
		if slices.Contains(scores, name) {
			which = append(which, i)
		}
	}
	missing := map[string][]int{}
	if len(which) == 0 {
		return missing, nil
	}
	all := make([]int, len(s.candidates))
	for i := range all {
		all[i] = i
	}
	var one sync.Mutex
	return missing, s.Visit(ctx, all, func() func(int, int, *Outcome, bool) {
		return func(candidate, run int, o *Outcome, _ bool) {
			r := &s.recordings[s.of[candidate].recording]
			one.Lock()
			defer one.Unlock()
			r.unscored(&r.Runs[run], &o.Result, which, missing)
		}
	})
}

// unscored adds the iteration that a run returns where it wants a score.
func (r *Recording) unscored(run *Run, result *replay.Result, which []int, missing map[string][]int) {
	by := endingOf(result)
	if result.Verdict != replay.Exact || !result.Outcome.Counts() {
		return
	}
	for _, score := range which {
		if n := r.wanted(run, score, &by); n > 0 && !slices.Contains(missing[run.Run.ID], n) {
			missing[run.Run.ID] = append(missing[run.Run.ID], n)
		}
	}
}

// wanted is the iteration, from 1, that would have to be judged to know what a run
// is worth that ends so; 0: none, or that would not tell.
func (r *Recording) wanted(run *Run, score int, by *ending) int {
	if by.asRecorded(run) || r.Reads[score] == ReadsOutput && by.returned == run.Run.Outcome.Returned {
		return 0
	}
	switch _, why := r.worthOf(run, score, by); {
	case why != NotJudged:
		return 0
	case r.Reads[score] == ReadsCourse:
		return by.made
	}
	return by.returned
}

// Judge judges a run as a live one would be judged, by a scorer that asks nobody.
// It is NaN where that scorer cannot.
type Judge func(ctx context.Context, run *Run, as *record.Run, score string) float64

// standing is a run that goes as recorded up to where it stops, and why it does.
type standing struct {
	run, score, made, returned int
	status                     record.Status
	reason                     record.Reason
	class                      record.Class
	fired                      string
	success                    bool
}

// whole stands for the recorded run itself.
const whole = -1

// judge makes a score that no recorded one tells, of a run as it would be left
// behind. It is NaN where the judge would not give the recorded run the score that
// it has, because the scorer was another one. A run that ended in a fault has none:
// the first run that has one shows the scorer.
func (r *Recording) judge(ctx context.Context, run, s int, by *ending, asIf func() *record.Run) float64 {
	if r.Judge == nil || asIf == nil {
		return math.NaN()
	}
	of, name, scored := &r.Runs[run], r.Scores[s], run
	if of.Run.Outcome.Status == record.Faulted {
		scored = slices.IndexFunc(r.Runs, func(o Run) bool { return !math.IsNaN(at(o.Scores[s], 0)) })
	}
	if scored < 0 {
		return math.NaN()
	}
	shows := &r.Runs[scored]
	if was := r.once(standing{run: scored, score: s, made: whole}, func() float64 { return r.Judge(ctx, shows, shows.Run, name) }); was != at(shows.Scores[s], 0) {
		return math.NaN()
	}
	judge := func() float64 { return r.Judge(ctx, of, asIf(), name) }
	if by.changed > 0 {
		return judge()
	}
	o := by.outcome
	return r.once(standing{run, s, by.made, by.returned, o.Status, o.Reason, o.Class, o.Fired, o.Success}, judge)
}

// once remembers what many candidates ask for.
func (r *Recording) once(key standing, judge func() float64) float64 {
	if known, ok := r.judged.Load(key); ok {
		return known.(float64)
	}
	v := judge()
	r.judged.Store(key, v)
	return v
}

// NeedsTexts says why a loop can be replayed on whole records only, and not on
// runs without texts (replay.Words); "" where both say the same.
func NeedsTexts(recorded, target *spec.Loop) string {
	if texts := replay.New(recorded, target, replay.Options{}).Texts(); len(texts) > 0 {
		return "it reads " + strings.Join(texts, ", ")
	}
	if _, _, cancels := stop.Compile(target).CancelAt(); cancels {
		return "a timeout cancels the iteration in flight"
	}
	if budget := target.Guards.Budget; budget != nil && (budget.Hard || budget.Steps > 0) {
		return "a budget cuts the iteration in flight"
	}
	if converses(target) && timed(target.Terminate.Any, func(t *spec.Timeout) bool { return t.Working }) {
		return "a timeout goes by the working time, which the tools of a conversation tell"
	}
	if apart := replay.Apart(recorded, target); apart != "" {
		return fmt.Sprintf("it takes another path: %s", apart)
	}
	return ""
}

// ReadsTask reports whether a loop decides by what stands in the task,
// so that it can only be replayed where the tasks are at hand.
func ReadsTask(l *spec.Loop) bool {
	return slices.ContainsFunc(replay.Reads(l), func(path string) bool {
		variable, _, _ := strings.Cut(path, ".")
		return variable == "task"
	})
}

// Untold says what a loop goes by that a log does not tell: usage, prices or
// times, which are then unknown and not zero. "" where it goes by nothing such.
func Untold(l *spec.Loop, recordings []Recording) string {
	budget := l.Guards.Budget
	if budget == nil {
		budget = &spec.RunBudget{}
	}
	reads := func(paths ...string) bool {
		return slices.ContainsFunc(replay.Reads(l), func(path string) bool { return slices.Contains(paths, path) })
	}
	tokens, cost := unused(record.Usage.TokensTold), unused(record.Usage.Priced)
	for _, goes := range []struct {
		by     bool
		what   string
		untold func(*record.Run) bool
	}{
		{budget.Tokens > 0, "guards.budget.tokens goes by tokens", tokens},
		{budget.CostUSD > 0, "guards.budget.cost_usd goes by cost", cost},
		{timed(l.Terminate.Any, func(*spec.Timeout) bool { return true }), "a timeout goes by time", untimed},
		{reads("usage", "usage.tokens", "usage.input_tokens", "usage.output_tokens"), "an expression reads tokens", tokens},
		{reads("usage", "usage.cost_usd"), "an expression reads the cost", cost},
		{reads("elapsed", "best.elapsed", "previous.elapsed"), "an expression reads the time", untimed},
	} {
		if n, of := untold(recordings, goes.untold); goes.by && n > 0 {
			return fmt.Sprintf("%s, which %s of %s recorded runs do not tell", goes.what, spec.Thousands(n), spec.Thousands(of))
		}
	}
	return ""
}

// unused reports of a run whether it, or some iteration of it, does not tell what it
// used: what only the whole run tells decides nothing inside it.
func unused(told func(record.Usage) bool) func(*record.Run) bool {
	return func(r *record.Run) bool {
		return !told(r.Total()) || slices.ContainsFunc(r.Iterations, func(it record.Iteration) bool { return !told(it.Total()) })
	}
}

// untimed reports of a run whether some of its times are unknown.
func untimed(r *record.Run) bool {
	return r.Untimed || slices.ContainsFunc(r.Iterations, func(it record.Iteration) bool { return it.Untimed })
}

func untold(recordings []Recording, is func(*record.Run) bool) (n, of int64) {
	for i := range recordings {
		for run := range recordings[i].whole() {
			of++
			if is(run) {
				n++
			}
		}
	}
	return n, of
}

// timed reports whether one of the conditions is such a timeout.
func timed(conditions []spec.Condition, is func(*spec.Timeout) bool) bool {
	return slices.ContainsFunc(conditions, func(c spec.Condition) bool {
		return !c.Off && (c.Kind == spec.KindTimeout && is(&c.Timeout) || timed(c.Nested, is))
	})
}
