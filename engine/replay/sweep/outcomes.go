package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
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

// Candidate is a configuration to be tried.
type Candidate struct {
	Name string
	// Aliases are the names of equal ones.
	Aliases []string
	// Loop is what is tried; nil: Declared makes it. Candidates of a grid keep none:
	// together they would be the most that a tuning has in memory.
	Loop *spec.Loop
	// Params are the parameters that were set to get it, in the order declared;
	// none: the recorded configuration itself.
	Params []spec.Param
	// Base is the configuration that they were set in, where there are several.
	Base string

	of   *gridding // of a candidate without a loop
	at   int       // in the grid
	hash string
	when timing
}

// Declared is the loop that is tried.
func (c *Candidate) Declared() *spec.Loop {
	if c.Loop != nil {
		return c.Loop
	}
	loop, _ := c.of.loop(c.at) // it was made before, without a fault
	return loop
}

// Hash is that of the loop.
func (c *Candidate) Hash() string {
	if c.Loop != nil {
		return c.Loop.Hash()
	}
	return c.hash
}

// Outcome is what a candidate makes of a recorded run.
type Outcome struct {
	replay.Result
	// Scores are those of the iteration returned, by name; see Range.
	Scores []Range
	// Unscored says of each score why it is not known, though it is of the recorded
	// run; nil where there is none of which to say it.
	Unscored []Why
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

// Outcomes are what candidates make of each run, in the order of Runs; of several it
// takes little longer than of one. The error is that of the context.
func (s *Sweep) Outcomes(ctx context.Context, candidates ...int) ([][]Outcome, error) {
	n, runs := len(s.scores), len(s.Runs())
	all, scores := make([][]Outcome, len(candidates)), make([]Range, n*runs*len(candidates))
	for k := range all {
		all[k] = make([]Outcome, runs)
	}
	err := s.Visit(ctx, candidates, func() func(int, int, *Outcome, bool) {
		return func(k, run int, o *Outcome, _ bool) {
			at := n * (k*runs + run)
			into := &all[k][run]
			*into = *o
			into.Scores = scores[at : at+n : at+n]
			copy(into.Scores, o.Scores)
		}
	})
	return all, err
}

// Visit tells what candidates make of each run: the outcomes of one run after the
// other, and of several runs at a time. It asks for a visitor for every worker,
// which is given the place among the candidates, the run, and an outcome that is
// valid until the next one; again says that it is the one before, but for the limit
// that decided. The error is that of the context.
func (s *Sweep) Visit(ctx context.Context, candidates []int, visitor func() func(k, run int, o *Outcome, again bool)) error {
	courses := make([][]*course, len(s.recordings))
	for k, candidate := range candidates {
		on, err := s.Recording(ctx, candidate)
		if err != nil {
			return err
		}
		courses[on] = s.join(courses[on], k, candidate, on)
	}
	for _, c := range slices.Concat(courses...) {
		c.sort()
	}
	return eachOn(ctx, len(s.Runs()), chunk, func() func(run int) {
		visit, o := visitor(), &Outcome{}
		w := &walking{ctx: ctx}
		scores := make([]Range, len(s.scores))
		return func(run int) {
			for on := range courses {
				if len(courses[on]) == 0 {
					continue
				}
				r := &s.recordings[on]
				w.run, w.task = r.Runs[run].Whole(&w.room), r.Runs[run].Task
				for _, c := range courses[on] {
					c.each(w, &o.Result, func(one *asked, path *replay.Path, again bool) {
						var asIf func() *record.Run
						if r.Judge != nil && one.judged {
							asIf = func() *record.Run { return path.AsIf(w.run, &o.Result) }
							if one.stops == nil {
								asIf = func() *record.Run { _, made := one.replay.AsIf(ctx, w.run, w.task); return made }
							}
						}
						if !again || asIf != nil {
							o.Scores, o.Unscored = r.value(ctx, scores, run, &o.Result, asIf)
							r.leaveOut(run, o)
							again = false
						}
						visit(one.k, run, o, again)
					})
				}
			}
		}
	})
}

// walking is where a worker walks the run that it is at.
type walking struct {
	ctx   context.Context
	room  replay.Room
	run   *record.Run
	task  *spec.Task
	rooms []*pathRoom    // of the paths of a chain
	paths []*replay.Path // by link; nil: not walked
	alike []int          // by link: the first one under which the run ends alike
}

// pathRoom is where a path of a chain is walked.
type pathRoom struct {
	replay.Room
	path replay.Path
}

// course is candidates that take one path of a run; one that takes its own; or a chain:
// those that differ in one limit of a hard budget, and, where points serve all of them,
// in when else they stop.
type course struct {
	family  *family        // of those that take one path
	endless *replay.Replay // which walks it; nil: of a chain, each link walks
	asked   []asked        // of a chain those with the same rest together, the one with the smallest limit first
	chain   chain
	points  *replay.Points // that serve all of a chain; nil: none do
	links   []link         // by limit, the smallest first
}

// link is a limit of a chain.
type link struct {
	limit  float64
	replay *replay.Replay // that stops for nothing else, where points serve the chain
}

// asked is a candidate that is replayed.
type asked struct {
	k      int
	stops  *replay.Stops  // along a path that it shares; nil: it takes its own
	replay *replay.Replay // which walks it
	limit  float64        // of the chain
	link   int
	rest   string // the other parameters, where points serve the chain
	// judged says that the best iteration is found alike in the candidate and the
	// recording, so that whoever judges recorded runs can judge those of the candidate.
	judged bool
}

// join adds a candidate to the courses on a recording.
func (s *Sweep) join(courses []*course, k, candidate, on int) []*course {
	f, r, loop := s.of[candidate], &s.recordings[on], s.candidates[candidate].Declared()
	one := asked{k: k, judged: (loop.Pattern == spec.PatternChecklist) == (r.Loop.Pattern == spec.PatternChecklist)}
	if f.points == nil || s.told(candidate, on) {
		return s.joinChain(courses, candidate, on, loop, one)
	}
	one.stops = replay.NewStops(loop)
	at := slices.IndexFunc(courses, func(c *course) bool { return c.family == f })
	if at < 0 {
		at, courses = len(courses), append(courses, &course{family: f, endless: s.endless(f, on)})
	}
	courses[at].asked = append(courses[at].asked, one)
	return courses
}

// joinChain adds a candidate of which no family takes the path.
func (s *Sweep) joinChain(courses []*course, candidate, on int, loop *spec.Loop, one asked) []*course {
	r := &s.recordings[on]
	var in chain
	if len(r.Announced) == 0 {
		in, one.limit = s.candidates[candidate].chain(loop)
	}
	own := &course{chain: in}
	walked := loop
	if in != (chain{}) {
		soft, hard := *loop, *loop.Guards.Budget
		soft.Guards.Budget = &spec.RunBudget{Tokens: hard.Tokens, Calls: hard.Calls, CostUSD: hard.CostUSD}
		if p := replay.NewPoints(&soft); p.Serves(&soft) == "" {
			own.points, own.chain.rest = p, ""
			one.rest, one.stops = in.rest, replay.NewStops(loop)
			walked = replay.Endless(loop)
			walked.Guards.Budget = &hard
		}
		at := slices.IndexFunc(courses, func(c *course) bool {
			return c.chain == own.chain && (c.points == nil) == (own.points == nil) && (c.points == nil || c.points.Serves(&soft) == "")
		})
		if at >= 0 {
			own = courses[at]
		}
	}
	if len(own.asked) == 0 {
		courses = append(courses, own)
	}
	at, known := slices.BinarySearchFunc(own.links, one.limit, func(l link, limit float64) int { return cmp.Compare(l.limit, limit) })
	if !known {
		own.links = slices.Insert(own.links, at, link{one.limit, s.options.replay(r.Loop, walked, r.Announced...)})
	}
	one.replay = own.links[at].replay
	own.asked = append(own.asked, one)
	return courses
}

// sort puts those that are asked into their order, and finds their links.
func (c *course) sort() {
	if c.links == nil {
		return
	}
	slices.SortStableFunc(c.asked, func(a, b asked) int { return cmp.Or(cmp.Compare(a.rest, b.rest), cmp.Compare(a.limit, b.limit)) })
	for i := range c.asked {
		c.asked[i].link, _ = slices.BinarySearchFunc(c.links, c.asked[i].limit, func(l link, limit float64) int { return cmp.Compare(l.limit, limit) })
	}
}

func (s *Sweep) endless(f *family, on int) *replay.Replay {
	return s.options.replay(s.recordings[on].Loop, replay.Endless(s.candidates[f.members[0]].Declared()))
}

// each puts the result of one candidate after the other into its place. Again says that
// the result is the one before, but for the limit that decided.
func (c *course) each(w *walking, into *replay.Result, visit func(one *asked, path *replay.Path, again bool)) {
	if c.endless == nil {
		c.eachOfChain(w, into, visit)
		return
	}
	path := c.endless.Path(w.ctx, &w.room, w.run, w.task)
	for i := range c.asked {
		*into = c.asked[i].stops.Along(&path)
		visit(&c.asked[i], &path, false)
	}
}

func (c *course) eachOfChain(w *walking, into *replay.Result, visit func(one *asked, path *replay.Path, again bool)) {
	c.walk(w)
	for i := range c.asked {
		one := &c.asked[i]
		alike := w.alike[one.link]
		again := i > 0 && one.rest == c.asked[i-1].rest && alike == w.alike[c.asked[i-1].link]
		switch path := w.paths[alike]; {
		case again:
		case one.stops != nil:
			*into = one.stops.Along(path)
		default:
			*into = path.End
		}
		if c.chain.reason != "" && into.Outcome.Reason == c.chain.reason {
			into.Outcome.Limit = one.limit
		}
		visit(one, w.paths[alike], again)
	}
}

// walk walks the run under as many limits of a chain as it takes to know how it ends
// under each: a larger limit ends a run no earlier, so that between two limits that end
// it alike all do.
func (c *course) walk(w *walking) {
	last, walks := len(c.links)-1, 0
	w.alike, w.paths = slices.Grow(w.alike[:0], last+1)[:last+1], slices.Grow(w.paths[:0], last+1)[:last+1]
	clear(w.paths)
	walk := func(i int) {
		if walks == len(w.rooms) {
			w.rooms = append(w.rooms, &pathRoom{})
		}
		room := w.rooms[walks]
		room.path = c.links[i].replay.Path(w.ctx, &room.Room, w.run, w.task)
		w.alike[i], w.paths[i] = i, &room.path
		walks++
	}
	var between func(low, high int)
	between = func(low, high int) {
		a, b := &w.paths[low].End, &w.paths[high].End
		decides := a.Outcome.Limit == c.links[low].limit && b.Outcome.Limit == c.links[high].limit
		switch {
		case endAlike(a, b) && (decides || a.Outcome.Limit == b.Outcome.Limit):
			for i := low + 1; i <= high; i++ {
				w.alike[i] = w.alike[low]
			}
		case high-low > 1:
			middle := (low + high) / 2
			walk(middle)
			between(low, middle)
			between(middle, high)
		}
	}
	if walk(0); last > 0 {
		walk(last)
		between(0, last)
	}
}

// endAlike reports whether two results are the same but for the limit that decided.
func endAlike(a, b *replay.Result) bool {
	x, y := &a.Outcome, &b.Outcome
	return a.Verdict == b.Verdict && a.At == b.At && a.Why == b.Why && a.Told == b.Told && a.Iterations == b.Iterations &&
		a.Usage == b.Usage && a.Judging == b.Judging && a.User == b.User && a.Elapsed == b.Elapsed && a.Changed == b.Changed && a.UsedUp == b.UsedUp &&
		sameStop(x, y) && x.Returned == y.Returned && x.Used == y.Used && slices.Equal(x.Held, y.Held) && reflect.DeepEqual(x.Error, y.Error)
}

// chain is what candidates have in common that differ in one limit of a hard budget,
// which nothing reads that is sent, judged or decided.
type chain struct {
	of     *gridding
	path   string        // of the limit
	reason record.Reason // why a run ends that reaches it
	others spec.RunBudget
	rest   string // the other parameters
}

// chain is that of a candidate of a grid, and its limit as outcomes tell it.
func (c *Candidate) chain(loop *spec.Loop) (in chain, limit float64) {
	budget := loop.Guards.Budget
	callsModels := func(s spec.Stage) bool { return len(s.Agent.Models) > 0 } // limits decide about each of its calls
	if c.of == nil || budget == nil || !budget.Hard || replay.ReadsParameters(loop) || slices.ContainsFunc(loop.Stages(), callsModels) {
		return chain{}, 0
	}
	limits, most := stop.LimitsOf(budget), 0
	for i := range c.of.axes {
		one := chain{of: c.of, path: c.of.axes[i].Path, others: *budget}
		at := 0.0
		switch spec.FullPath(one.path) {
		case "guards.budget.calls":
			at, one.reason, one.others.Calls = float64(limits.Calls), record.ReasonBudgetCalls, 0
		case "guards.budget.tokens":
			at, one.reason, one.others.Tokens = float64(limits.Tokens), record.ReasonBudgetTokens, 0
		case "guards.budget.cost_usd":
			at, one.reason, one.others.CostUSD = float64(limits.Cost)/float64(record.USD), record.ReasonBudgetCost, 0
		}
		if n := len(c.of.axes[i].Values); at > 0 && n > most {
			in, limit, most = one, at, n
		}
	}
	for _, p := range c.Params {
		if most > 0 && p.Path != in.path {
			in.rest += fmt.Sprintf("%s=%v,", p.Path, p.Value)
		}
	}
	return in, limit
}

// chunk is how many runs a worker takes at a time.
const chunk = 64

// Each does something with each of n things, so many at a time, on all processors. The error is that
// of the context.
func Each(ctx context.Context, n, chunk int, do func(i int)) error {
	return eachOn(ctx, n, chunk, func() func(int) { return do })
}

// eachOn is Each with something of its own for every worker.
func eachOn(ctx context.Context, n, chunk int, worker func() func(i int)) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		do := worker()
		workers.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(chunk))) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// Recording is the index, among Recordings, of the one that a candidate is
// replayed on: the one whose path it takes, else the one that leaves most of its
// runs exact. The error is that of the context.
func (s *Sweep) Recording(ctx context.Context, candidate int) (int, error) {
	f := s.of[candidate]
	if f.chosen {
		return f.recording, nil
	}
	recording, err := s.choose(ctx, f.members[0])
	if err != nil {
		return 0, err
	}
	f.chosen, f.recording = true, recording
	return recording, nil
}

func (s *Sweep) choose(ctx context.Context, candidate int) (int, error) {
	if len(s.recordings) == 1 {
		return 0, nil
	}
	for i := range s.recordings {
		if replay.Apart(s.recordings[i].Loop, s.candidates[candidate].Declared()) == "" {
			return i, nil
		}
	}
	best, most := 0, -1
	for i := range s.recordings {
		r := &s.recordings[i]
		replayed, exact := s.options.replay(r.Loop, s.candidates[candidate].Declared(), r.Announced...), atomic.Int64{}
		err := eachOn(ctx, len(r.Runs), chunk, func() func(int) {
			room := &replay.Room{}
			return func(run int) {
				if result := replayed.Run(ctx, r.Runs[run].Whole(room), r.Runs[run].Task); result.Verdict == replay.Exact {
					exact.Add(1)
				}
			}
		})
		if err != nil {
			return 0, err
		}
		if n := int(exact.Load()); n > most {
			best, most = i, n
		}
	}
	return best, nil
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
			if why != "" && !math.IsNaN(at(recorded.Scores[s], 0)) {
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
	return e.made == run.Iterations() && e.returned == run.Run.Outcome.Returned
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
