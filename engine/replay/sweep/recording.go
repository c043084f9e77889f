package sweep

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// Recording is the runs that were recorded under one configuration.
type Recording struct {
	Configuration string
	Loop          *spec.Loop
	// Announced are the paths of parameters that the agent was told other than in
	// its requests.
	Announced []string
	// Scores are the names of the scores, in the order of Run.Scores.
	Scores []string
	// Reads say what each score depends on, in that order; nil: nobody knows.
	Reads []Reads
	// Bounds are the ends between which each score lies, in that order; nil: from 0
	// to 1, and unbounded where a recorded value lies outside.
	Bounds []Range
	Runs   []Run // that count, ordered by task and trial
	// Judge makes scores that no recorded one tells; nil: they are not known. Runs
	// have their texts then, and tasks their targets.
	Judge Judge
	OfLog bool // of another tool, which may not tell what a run is worth that is cut

	judged *sync.Map // by standing: scores that were made
}

// Reads says what a score depends on, so that it can be known of a run that
// stops earlier than the recorded one.
type Reads int

// The ways. The score of an iteration is that of a run that stops there.
const (
	// ReadsUnknown: the score of an iteration also holds for a run that returns it
	// and stops later; the score of a run holds for no other.
	ReadsUnknown Reads = iota
	// ReadsOutput: nothing but the output that is returned matters, so that the
	// score of a run also holds for one that returns the same iteration.
	ReadsOutput
	// ReadsAround: it matters what is returned and what was done until the run stops,
	// so that the score of an iteration holds only for a run that also stops there.
	ReadsAround
	// ReadsCourse: it matters what was done until the run stops, and not what is
	// returned, so that the score of an iteration holds for every run that stops there.
	ReadsCourse
	// ReadsStop: it matters why the run stops as well, so that only the score of a run
	// tells it, of those that stop there for the same reason.
	ReadsStop
)

// Run is a recorded run with what it was worth.
type Run struct {
	replay.Recorded
	// Scores are those of each name: that of the run as it was returned, then
	// those of its iterations; NaN where there is none.
	Scores [][]float64
}

// Range is a number of which the ends are known. Both are NaN where nothing is
// known, for example of a run that is unscored; they are the same where it is a
// point. Where a run is censored or branches, the number may be anything that
// the score may be.
type Range struct{ Least, Most float64 }

// Known reports whether it has ends.
func (r Range) Known() bool { return !math.IsNaN(r.Least) }

// Hit reports whether it is a point of 1 or more.
func (r Range) Hit() bool { return r.Least == r.Most && r.Least >= 1 }

func point(v float64) Range { return Range{v, v} }

var unknown = point(math.NaN())

// length is the mean number of iterations of a run.
func (r *Recording) length() float64 {
	var sum int
	for i := range r.Runs {
		sum += len(r.Runs[i].Run.Iterations)
	}
	return float64(sum) / float64(len(r.Runs))
}

// steps is how many steps the runs have in all: of those that are equally long, the longer
// ones answer for more limits of steps.
func (r *Recording) steps() (sum int) {
	for k := range r.Runs {
		run := r.Runs[k].Run
		for i := range run.Iterations {
			sum += run.Iterations[i].StepCount()
		}
	}
	return sum
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

// Why says why a score is not known of a run; "" where it is.
type Why string

// The reasons.
const (
	// NotJudged: the iteration that would tell it has no score.
	NotJudged Why = "not judged"
	// NotTold: it has none, and the runs are those of a log, which may tell what a run is worth that is cut.
	NotTold Why = "not told"
	// StateNotJudged: the state of the workspace that would be left has no score.
	StateNotJudged Why = "state not judged"
	// ReturnsEarlier: the scorer reads what is returned and what was done until the
	// run stops, and no score is of an earlier iteration seen from there.
	ReturnsEarlier Why = "returns earlier"
	// StopsOtherwise: the scorer reads why the run stops.
	StopsOtherwise Why = "stops otherwise"
	// UsesUpSteps: the agent reaches its maximum of steps in the iteration that is
	// returned, and that output nobody judged.
	UsesUpSteps Why = "uses up its steps"
	// GoesOtherwise: an iteration is judged or cut otherwise than recorded, and the
	// scorer goes by that.
	GoesOtherwise Why = "goes otherwise"
)

// value puts the scores of a run, as a candidate makes it and leaves it behind, into
// scores. Of those that are unknown though the run as recorded has them it says why.
func (r *Recording) value(ctx context.Context, scores []Range, run int, result *replay.Result, asIf func() *record.Run) (all []Range, whys []Why) {
	recorded := &r.Runs[run]
	by := endingOf(result)
	for s := range scores {
		switch {
		case result.Verdict != replay.Exact:
			scores[s] = r.Bounds[s]
		case !result.Outcome.Counts():
			scores[s] = unknown // a live run would be made again
		default:
			v, why := r.worthOf(recorded, s, &by)
			if why != "" && (why != NotJudged || recorded.Run.Seed != "" || recorded.Run.Outcome.Status == record.Faulted) {
				if v = r.judge(ctx, run, s, &by, asIf); !math.IsNaN(v) {
					why = ""
				} else if (why == NotJudged || why == UsesUpSteps) && r.Loop.Workspace.BySteps() {
					why = StateNotJudged
				}
			}
			if why == NotJudged && r.OfLog {
				why = NotTold
			}
			scores[s] = point(v)
			if why != "" && !(r.scoredAsRecorded(recorded, s, &by) && math.IsNaN(at(recorded.Scores[s], 0))) {
				if whys == nil {
					whys = make([]Why, len(scores))
				}
				whys[s] = why
			}
		}
	}
	return scores, whys
}

// leaveOut leaves a run out that had a fault later than it would stop, if it is unknown what it would be worth.
func (r *Recording) leaveOut(run int, o *Outcome) {
	recorded := r.Runs[run].Run
	known := !slices.ContainsFunc(o.Scores, func(score Range) bool { return !score.Known() })
	if recorded.Outcome.Status != record.Faulted || o.Verdict != replay.Exact || o.Excluded() || known {
		return
	}
	o.Verdict, o.At, o.Outcome, o.Unscored = replay.Censored, o.Iterations, recorded.Outcome, nil
	copy(o.Scores, r.Bounds)
	o.Why = replay.HadFault(recorded) + ", and what the iteration returned before it is worth is unknown"
}

// ending is how a run ends, as far as scores go by it.
type ending struct {
	made, returned int // iterations, and the one that is returned, from 1; 0: none
	changed        int // see replay.Result
	usedUp         bool
	outcome        *record.Outcome
}

func endingOf(r *replay.Result) ending {
	return ending{r.Iterations, r.Outcome.Returned, r.Changed, r.UsedUp, &r.Outcome}
}

// asRecorded reports whether a run makes and returns what the recorded one did.
func (e *ending) asRecorded(run *Run) bool {
	return e.made == len(run.Run.Iterations) && e.returned == run.Run.Outcome.Returned
}

// scoredAsRecorded reports whether a score goes by nothing that differs from the recorded run.
func (r *Recording) scoredAsRecorded(run *Run, score int, by *ending) bool {
	switch reads := r.Reads[score]; {
	case by.usedUp, by.changes(reads):
		return false
	case reads == ReadsOutput:
		return by.returned == run.Run.Outcome.Returned
	case reads == ReadsStop:
		return by.asRecorded(run) && sameStop(by.outcome, &run.Run.Outcome)
	}
	return by.asRecorded(run)
}

// changes reports whether a score goes by an iteration that is judged or cut
// otherwise than recorded.
func (e *ending) changes(reads Reads) bool {
	switch reads {
	case ReadsOutput:
		return false
	case ReadsUnknown:
		return e.changed > 0 && e.changed <= e.returned
	}
	return e.changed > 0 && e.changed <= e.made
}

func sameStop(a, b *record.Outcome) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Class == b.Class && a.Fired == b.Fired && a.Success == b.Success
}

// worthOf is a score of a run that ends so; NaN where nobody knows it, and why. One
// that ends as recorded is worth what was recorded.
func (r *Recording) worthOf(run *Run, s int, by *ending) (float64, Why) {
	values, reads := run.Scores[s], r.Reads[s]
	asRecorded := by.asRecorded(run)
	switch {
	case by.usedUp && by.returned == by.made && reads != ReadsCourse:
		return math.NaN(), UsesUpSteps
	case by.changes(reads):
		return math.NaN(), GoesOtherwise
	case reads == ReadsStop && !(asRecorded && sameStop(by.outcome, &run.Run.Outcome)):
		return math.NaN(), StopsOtherwise
	case asRecorded:
		return known(at(values, 0))
	case reads == ReadsCourse && by.made == 0:
		return math.NaN(), NotJudged
	case reads == ReadsCourse:
		return known(at(values, by.made))
	case reads == ReadsAround && by.returned != by.made:
		return math.NaN(), ReturnsEarlier
	case by.returned == 0 && (reads == ReadsOutput || len(values) > 1):
		return 0, "" // a run that returns nothing cannot be right
	case by.returned == 0:
		return math.NaN(), NotJudged
	}
	v := at(values, by.returned)
	if math.IsNaN(v) && reads == ReadsOutput && by.returned == run.Run.Outcome.Returned {
		v = at(values, 0)
	}
	return known(v)
}

func known(v float64) (float64, Why) {
	if math.IsNaN(v) {
		return v, NotJudged
	}
	return v, ""
}

func at(values []float64, i int) float64 {
	if i >= len(values) {
		return math.NaN()
	}
	return values[i]
}

// recordedHit reports whether the run as it was recorded scored 1 or more.
func (r *Run) recordedHit(s int) bool { return at(r.Scores[s], 0) >= 1 }

// Judge judges a run as a live one would be judged, by a scorer that asks nobody.
// It is NaN where that scorer cannot.
type Judge func(ctx context.Context, run *Run, as *record.Run, score string) float64

// judges reports whether scores can be made of runs as a loop leaves them behind: it finds the best iteration as the recorded
// loop does.
func (r *Recording) judges(l *spec.Loop) bool {
	return r.Judge != nil && (l.Pattern == spec.PatternChecklist) == (r.Loop.Pattern == spec.PatternChecklist)
}

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
