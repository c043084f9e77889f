package replay

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// walk is a recorded run under the rules of the configuration.
type walk struct {
	*Replay
	Options
	ctx   context.Context
	run   *record.Run
	task  *spec.Task
	state *stop.State
	room  *Room
	made  []*record.Iteration
	sums  bool  // Room has what was spent so far, by iteration
	lump  *lump // nil: the iterations tell what they used

	converses bool    // the agent of this iteration does
	follows   follows // and goes along so far

	// usedUp says that the agent uses up its steps in this iteration earlier than the
	// recorded one; shortened that it did so in one before.
	usedUp, shortened bool
	endedEarly        bool // agent.max_steps ended an iteration of a program earlier than anything ended the recorded one

	waited   time.Duration // before this iteration
	charged  record.Usage  // in the hard budget of the configuration
	refused  refusal       // of the call that it had no room for
	restaged bool          // an iteration stood in another phase or strategy than recorded
	rejudged bool          // an iteration was judged otherwise than recorded
	saw      Result        // usage, of the iterations made
	total    spent         // of them
}

// begin takes the room of the walk before; nil: a new one.
func (r *Replay) begin(ctx context.Context, room *Room, run *record.Run, task *spec.Task) *walk {
	if room == nil {
		room = &Room{}
	}
	room.passes.free()
	room.spent = room.spent[:0]
	room.walk = walk{Replay: r, Options: r.options, ctx: ctx, run: run, task: task, room: room, made: room.walk.made[:0]}
	return &room.walk
}

func (w *walk) walk() Result {
	w.lump = lumpOf(w.run)
	w.state = start(&w.states, w.rules, w.task, w.target)
	defer w.states.Put(w.state)
	if path := w.Tells(); path != "" {
		result := w.branches(1, fmt.Sprintf("the agent got %s", path))
		result.Told = true
		return result
	}
	if checklist := spec.PatternChecklist; (w.target.Pattern == checklist) != (w.recorded.Pattern == checklist) {
		w.saw.Changed = 1 // another iteration may be the best one
	}
	for {
		if result, done := w.step(); done {
			return result
		}
	}
}

// step takes the next iteration from the record.
func (w *walk) step() (result Result, done bool) {
	step := w.state.Next()
	switch {
	case len(w.made) < len(w.run.Iterations):
	case w.endedEarly:
		return w.branches(step.Iteration, anew), true
	default:
		return w.end(step), true
	}
	recorded := &w.run.Iterations[len(w.made)]
	if why := w.sendsOther(step, recorded); why != "" {
		return w.branches(step.Iteration, why), true
	}
	w.usedUp = w.converses && w.follows.usedUp != nil
	if w.usedUp {
		recorded = upToItsSteps(recorded, &w.follows)
	}
	it := w.inside(step, recorded)
	switch {
	case it.unknown != "":
		return w.branches(step.Iteration, it.unknown), true
	case it.censored != "":
		return w.censored(step.Iteration, it.censored), true
	case it.before != "":
		return w.exact(w.state.StopBefore(it.before)), true
	}
	return w.decide(step, recorded, it)
}

// decide judges the iteration where that is due and asks the rules.
func (w *walk) decide(step stop.Step, recorded *record.Iteration, p *pass) (result Result, done bool) {
	if why := w.leave(step, p); why != "" {
		return w.branches(step.Iteration, why), true
	}
	w.state.Append(&p.Iteration, nil)
	if p.evaluate {
		judge := w.evaluate
		if p.ended {
			judge = w.evaluateState
		}
		if why := judge(step, recorded, &p.Iteration); why != "" {
			return w.branches(step.Iteration, why), true
		}
	}
	w.rejudged = w.rejudged || p.Skipped != recorded.Skipped || !alike(p.Evaluation, recorded.Evaluation) || !alike(p.Error, recorded.Error)
	w.endedEarly = w.endedEarly || p.ended && p.Cut == string(record.ReasonMaxSteps)
	w.shortened, w.saw.UsedUp = w.shortened || w.usedUp || p.killed || w.endedEarly, w.usedUp || p.ended
	w.restaged = w.restaged || step.Phase != recorded.Phase || step.Strategy != recorded.Strategy
	d := w.state.Decide()
	p.Adaptation = d.Adaptation
	if w.saw.Changed == 0 && wentOtherwise(&p.Iteration, recorded) {
		w.saw.Changed = step.Iteration
	}
	w.keep(p)
	if d.Stop {
		return w.exact(d.Outcome), true
	}
	return Result{}, false
}

// wentOtherwise reports whether a score that goes by what was done in an iteration
// might differ.
func wentOtherwise(it, recorded *record.Iteration) bool {
	return it.Cut != recorded.Cut || it.End != recorded.End || it.Phase != recorded.Phase || it.Strategy != recorded.Strategy ||
		len(it.Calls) != len(recorded.Calls) || len(it.ToolCalls) != len(recorded.ToolCalls) ||
		it.Skipped != recorded.Skipped || !alike(it.Evaluation, recorded.Evaluation) || !alike(it.Error, recorded.Error)
}

func alike[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

// keep adds up what an iteration used.
func (w *walk) keep(p *pass) {
	w.made = append(w.made, &p.Iteration)
	if _, working, _ := w.rules.CancelAt(); working {
		w.waited += waitedIn(&p.Iteration)
	}
	most := spentIn(&p.Iteration)
	least := most
	if p.late {
		landed := p.Iteration
		landed.Calls = slices.DeleteFunc(slices.Clone(p.Calls), func(c record.Call) bool { return p.flying(&c) })
		least = spentIn(&landed)
	}
	for i, span := range [...]*Span{&w.saw.Usage, &w.saw.Judging, &w.saw.User} {
		span.Most, span.Least = span.Most.Plus(most[i].AtMost()), span.Least.Plus(least[i])
	}
	if w.sums {
		for i := range most {
			w.total[i] = w.total[i].Plus(most[i])
		}
		w.room.spent = append(w.room.spent, w.total)
	}
}

// spent is what the agent, the evaluations and the user used.
type spent [3]record.Usage

func spentIn(it *record.Iteration) (s spent) {
	s[0], s[1] = it.Spent()
	s[2] = it.SpentByUser()
	return s
}

// known is the part of the run that was walked.
func (w *walk) known() Result {
	r := w.saw
	r.Iterations = len(w.made)
	if n := len(w.made); n > 0 {
		r.Elapsed = w.made[n-1].End
		if w.lump != nil {
			r.Usage = w.lump.span(r.Usage.Most, n, w.made[n-1].Cut != w.run.Iterations[n-1].Cut)
		}
	}
	return r
}

func (w *walk) exact(o record.Outcome) Result {
	if n := len(w.made); n > 0 && w.run.Outcome.Status == record.Faulted && brokenBy(w.made[n-1], &o) {
		return w.broken(n)
	}
	r := w.known()
	r.Verdict, r.Outcome = Exact, o
	if r.Changed > r.Iterations {
		r.Changed = 0 // no iteration is made that could differ
	}
	return r
}

func (w *walk) branches(at int, why string) Result {
	r := w.known()
	r.Verdict, r.At, r.Why = Branches, at, why
	return r
}

func (w *walk) censored(at int, why string) Result {
	r := w.known()
	r.Verdict, r.At, r.Why = Censored, at, why
	return r
}

// broken is a run that comes as far as the fault that ended the recording. What follows is unknown, and a live run
// with that fault is in no number either.
func (w *walk) broken(at int) Result {
	r := w.censored(at, HadFault(w.run))
	r.Outcome = w.run.Outcome
	return r
}

// brokenBy reports whether the last iteration ends a run by a fault that a live one need not have.
func brokenBy(last *record.Iteration, o *record.Outcome) bool {
	return o.Status == record.Faulted && last.Error != nil && last.Error.Class.Infrastructure()
}

// brokenAt reports whether the fault that ended the recording ends the path at an iteration.
func (p *Path) brokenAt(i int, d *stop.Decision) bool {
	return d.Stop && i+1 == len(p.Made) && p.End.Verdict == Censored && p.End.Excluded() && brokenBy(p.Made[i], &d.Outcome)
}

// HadFault is why a recorded run that ended in a fault answers for no configuration that comes so far.
func HadFault(run *record.Run) string {
	return "the recorded run had a fault: " + run.Outcome.Fired
}

// paramOf is what expressions see as param: nothing, rather than a nil object,
// where a loop has none.
func paramOf(l *spec.Loop) any {
	if l.Param == nil {
		return nil
	}
	return l.Param
}

// Path is a recorded run as far as it answers for the configurations that differ
// only in when they stop.
type Path struct {
	Task *spec.Task
	// Made are the iterations as these configurations make them.
	Made []*record.Iteration
	// End is what becomes of the run where none of them stops it.
	End Result

	lump    *lump   // nil: the iterations tell what they used
	spent   []spent // by iteration: up to its end, at most
	limits  stop.Limits
	refused refusal
}

// refusal is why a hard budget had no room for a call, and what would have been used with it; the reason is "" where it had.
type refusal struct {
	reason record.Reason
	need   record.Usage
}

// HoldsUnder reports whether the path is the same under larger limits of a hard budget: what was refused is refused for the
// same reason, and what was reached is reached.
func (p *Path) HoldsUnder(limits stop.Limits) bool {
	if p.refused.reason != "" && limits.Short(p.refused.need) != p.refused.reason {
		return false
	}
	var used record.Usage
	if n := len(p.spent); n > 0 {
		used = p.spent[n-1][0].Plus(p.spent[n-1][1]).Plus(p.spent[n-1][2])
	}
	return limits.Reached(used) == p.limits.Reached(used)
}

// Endless is a loop without conditions and guards, the maximum that follows from
// its stages included: what it does is the path of all configurations that differ
// from it in nothing else. A timeout that cancels is part of the path: it decides
// what becomes of an iteration.
func Endless(l *spec.Loop) *spec.Loop {
	endless := *l
	endless.Terminate, endless.Guards = spec.Tree{}, spec.Guards{}
	endless.Guards.AbsoluteMaxIterations.Off = true
	if _, derived, _ := endless.EffectiveMax(); derived {
		endless.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: math.MaxInt}}
	}
	if c := cancelsOf(stop.Compile(l)); c.ok {
		after := source.Maybe[time.Duration]{Set: true, Value: c.at}
		endless.Terminate.Any = append(endless.Terminate.Any, spec.Condition{Kind: spec.KindTimeout, Timeout: spec.Timeout{After: after, Working: c.working}})
	}
	return &endless
}

// cancels is when a loop cancels an iteration in flight.
type cancels struct {
	at          time.Duration
	working, ok bool
}

func cancelsOf(rules *stop.Rules) (c cancels) {
	c.at, c.working, c.ok = rules.CancelAt()
	return c
}

// Path walks a recorded run. The configuration of the replay is endless, or stands for itself. The path is
// valid until the room is used for another walk; nil: it stays.
func (r *Replay) Path(ctx context.Context, room *Room, run *record.Run, task *spec.Task) Path {
	w := r.begin(ctx, room, run, task)
	w.sums = true
	end := w.walk()
	for i, it := range w.made {
		if recorded := &run.Iterations[i]; unchanged(it, recorded) {
			w.made[i] = recorded // so that nothing is kept twice
		}
	}
	limits, _ := r.rules.Reservations()
	return Path{Task: task, Made: w.made, End: end, lump: w.lump, spent: w.room.spent, limits: limits, refused: w.refused}
}

// unchanged reports whether an iteration that nothing cut is made as it was recorded, but
// for what it adapts, which replays do not read.
func unchanged(it, recorded *record.Iteration) bool {
	return it.Cut == "" && recorded.Cut == "" && it.Skipped == recorded.Skipped && it.Phase == recorded.Phase && it.Strategy == recorded.Strategy &&
		it.Evaluation == recorded.Evaluation && it.Error == recorded.Error && it.Ended == recorded.Ended &&
		it.End == recorded.End && it.Working == recorded.Working &&
		len(it.Calls) == len(recorded.Calls) && len(it.Steps) == len(recorded.Steps) && len(it.ToolCalls) == len(recorded.ToolCalls)
}

// Stops are the conditions and guards of a configuration, to be held against
// paths. They serve any number of them at once.
type Stops struct {
	loop   *spec.Loop
	rules  *stop.Rules
	states sync.Pool // of histories that are over
}

// NewStops are those of a configuration that decides after iterations only: one
// that Limits serve.
func NewStops(l *spec.Loop) *Stops { return &Stops{loop: l, rules: stop.Compile(l)} }

// Along is what a replay of the run would give.
func (s *Stops) Along(p *Path) Result {
	state := start(&s.states, s.rules, p.Task, s.loop)
	defer s.states.Put(state)
	for i, it := range p.Made {
		if d := state.Fold(it); p.brokenAt(i, &d) {
			return p.End
		} else if d.Stop {
			return p.upTo(i+1, d.Outcome)
		}
	}
	if p.End.Verdict != Exact {
		return p.End
	}
	return p.upTo(len(p.Made), state.StopBefore(p.End.Outcome.Reason)) // the agent has nothing more to give, or a hard budget no room
}

// start begins a history, in the memory of one that is over.
func start(states *sync.Pool, rules *stop.Rules, task *spec.Task, loop *spec.Loop) *stop.State {
	if state, ok := states.Get().(*stop.State); ok {
		state.Restart(task, paramOf(loop))
		return state
	}
	return rules.Start(task, paramOf(loop))
}

// AsIf is the run that such a result leaves behind, of the recorded one.
func (p *Path) AsIf(run *record.Run, result *Result) *record.Run {
	made := asIf(run, result, p.Made[:result.Iterations])
	if p.lump != nil && !result.Usage.Point() {
		made.Usage = record.Usage{} // what iterations tell is no number
		for _, it := range p.Made[:result.Iterations] {
			agent, _ := it.Spent()
			made.Usage = made.Usage.Plus(agent)
		}
	}
	return made
}

// upTo is an exact result of so many iterations.
func (p *Path) upTo(n int, o record.Outcome) Result {
	r := Result{Verdict: Exact, Outcome: o, Iterations: n}
	if p.End.Changed <= n {
		r.Changed = p.End.Changed
	}
	if n == len(p.Made) {
		r.UsedUp = p.End.UsedUp
		r.Usage, r.Judging, r.User, r.Elapsed = p.End.Usage, p.End.Judging, p.End.User, p.End.Elapsed
		return r
	}
	if n > 0 {
		s := &p.spent[n-1]
		r.Usage, r.Judging, r.User, r.Elapsed = SpanOf(s[0]), SpanOf(s[1]), SpanOf(s[2]), p.Made[n-1].End
	}
	if p.lump != nil {
		r.Usage = p.lump.span(r.Usage.Most, n, false)
	}
	return r
}

// pass is a recorded iteration as the configuration would have made it, up to
// its evaluation.
type pass struct {
	record.Iteration
	// evaluate says that its evaluation is due.
	evaluate bool
	// before is the reason where the run ends before the iteration.
	before record.Reason
	// unknown and censored say why nobody can tell how the iteration goes.
	unknown, censored string
	// late says that it was cut earlier than anything cut the recorded one.
	late bool
	// ended says that a limit ended its program at a call that the recorded one made, or a timeout did; killed
	// that its own timeout did, so that it failed.
	ended, killed bool
}

// flying reports whether a call that no program made was in flight when the iteration was cut.
func (p *pass) flying(c *record.Call) bool {
	return p.late && c.Conversation == "" && c.Start+c.Duration+c.Waited > p.End
}

const (
	noReservation = "a hard budget reserves this call, and the record does not have its reservation"
	cutShort      = "the recording was cut inside this iteration"
	noRoom        = "the budget of the recording had no room for the next call"
	guarded       = "a guard of the recording refused the next call"
)

// inside looks for what cuts an iteration: as live, first what the agent's calls
// meet, then what those of the evaluation meet.
func (w *walk) inside(step stop.Step, recorded *record.Iteration) *pass {
	p := &w.room.passes.take(1)[0]
	p.Iteration = *recorded
	p.Phase, p.Strategy = step.Phase, step.Strategy
	never := w.neverEvaluated(recorded)
	p.Skipped = w.target.Evaluate != nil && !step.Evaluate || never && recorded.Skipped
	p.Evaluation, p.Cut = nil, ""
	judged := judgedFrom(recorded)
	if w.converses {
		w.converse(step, p, recorded, judged)
	} else {
		w.execute(p, recorded, judged)
	}
	switch {
	case p.killed || p.censored != "":
	case p.ended && p.unknown == "" && p.Workspace != nil:
		p.evaluate = step.Evaluate
	case p.Cut != "" && p.unknown == "" && recorded.Workspace != nil:
		w.cutWorkspace(step, p, recorded)
	case p.over():
	case !step.Evaluate || never:
		w.unevaluated(p, recorded, judged)
	case w.differ.evaluation.why != "" && (judged < len(recorded.Calls) || w.judgeCut(recorded)):
		p.unknown = w.differ.evaluation.why
	case recorded.Error == nil || w.failedJudging(recorded):
		w.judge(p, recorded, judged)
		p.evaluate = !p.over()
	}
	return p
}

// neverEvaluated reports whether a log has no evaluation of an iteration, though its
// loop evaluates all of them, and the configuration evaluates alike. Conditions on its
// output hold as on any other.
func (w *walk) neverEvaluated(recorded *record.Iteration) bool {
	e := w.recorded.Evaluate
	return recorded.Evaluation == nil && recorded.Error == nil && recorded.Cut == "" && e != nil && e.FromPhase == "" && w.target.Evaluate != nil && w.differ.evaluation.why == ""
}

// judgedFrom is the index of the first call of the evaluation.
func judgedFrom(it *record.Iteration) int {
	for i := range it.Calls {
		if it.Calls[i].Role == record.RoleJudge {
			return i
		}
	}
	return len(it.Calls)
}

// failedJudging reports whether the evaluation failed, not the agent.
func (w *walk) failedJudging(it *record.Iteration) bool {
	switch {
	case it.Error == nil || w.converses && w.follows.unfinished:
		return false
	case judgedFrom(it) < len(it.Calls), it.Error.Class == record.Unjudged:
		return true
	}
	return it.Error.Class == record.Expression && len(it.Calls) > 0 // the prompt's comes before any call
}

// over reports whether nothing more happens inside the iteration.
func (p *pass) over() bool {
	return p.Cut != "" || p.before != "" || p.unknown != "" || p.censored != ""
}

// unevaluated is an iteration that the configuration does not evaluate. One that
// was, by calls, took time that it would not have taken.
func (w *walk) unevaluated(p *pass, recorded *record.Iteration, judged int) {
	if judged < len(recorded.Calls) {
		p.unknown = "the recording evaluated this iteration with calls"
	}
	if w.failedJudging(recorded) {
		p.Fail(nil)
	}
}

// execute makes the agent's calls, up to the first of the evaluation.
func (w *walk) execute(p *pass, recorded *record.Iteration, judged int) {
	p.Calls = nil
	if len(recorded.Calls) > 0 {
		p.Working = 0
	}
	if p.unknown = w.stepless(recorded); p.unknown != "" {
		return
	}
	over, late := w.overtime(p, recorded)
	if at, reason := w.refusedCall(recorded, judged); reason != "" && !(late && over <= recorded.Calls[at].Arrived) {
		w.endProgram(p, recorded, at, reason)
		return
	}
	if at, cancels := w.cancelsAt(func() time.Duration { return w.waited }); late && !(cancels && at <= over) {
		w.killProgram(p, recorded, over)
		return
	}
	refused := w.calls(p, recorded, 0, judged)
	if refused != "" && p.unknown == "" {
		w.unsaid(p)
	}
	switch {
	case p.unknown != "":
	case refused != "" && len(p.Calls) == 0:
		p.before = refused
	case w.late(p):
		p.Ended = nil
	case refused != "":
		p.cut(refused)
	case recorded.Cut != "" && (judged == len(recorded.Calls) || recorded.Workspace != nil) && !w.judgeCut(recorded):
		w.recordedCut(p, recorded)
	}
}

// cutWorkspace is an iteration that was cut and leaves files, which are evaluated. Where the recorded one was
// cut at the same moment, they are the same.
func (w *walk) cutWorkspace(step stop.Step, p *pass, recorded *record.Iteration) {
	switch {
	case p.late:
		p.Cut, p.unknown = "", "the record does not have the workspace of that moment"
	case !step.Evaluate:
	case w.differ.evaluation.why != "":
		p.Cut, p.unknown = "", w.differ.evaluation.why
	default:
		p.Calls, p.Evaluation, p.Error, p.Confidence = recorded.Calls, recorded.Evaluation, recorded.Error, recorded.Confidence
		p.End, p.Working = recorded.End, recorded.Working
	}
}

// judgeCut reports whether the recording was cut inside the evaluation, so that the
// agent came to its end.
func (w *walk) judgeCut(recorded *record.Iteration) bool {
	return recorded.Cut != "" && recorded.Cut != string(record.ReasonMaxSteps) && w.run.Next != nil && w.run.Next.Role == record.RoleJudge
}

// judge makes the calls of the evaluation.
func (w *walk) judge(p *pass, recorded *record.Iteration, judged int) {
	refused := w.calls(p, recorded, judged, len(recorded.Calls))
	switch {
	case p.unknown != "":
	case w.late(p):
	case refused != "":
		p.cut(refused)
	case recorded.Cut != "":
		w.recordedCut(p, recorded)
	}
}

// calls takes over the calls from one to another that the configuration's budget
// has room for, and sets the time at which they ended.
func (w *walk) calls(p *pass, recorded *record.Iteration, from, to int) (refused record.Reason) {
	p.End = recorded.End
	for i := from; i < to; i++ {
		c := &recorded.Calls[i]
		if refused, p.unknown = w.reserve(c.Reserved, w.reserves(c, i == from)); p.unknown != "" || refused != "" {
			p.End = c.Start
			return refused
		}
		w.charge(c)
		p.Calls = recorded.Calls[: i+1 : i+1]
		if c.Conversation == "" { // else it is in the time of its program
			p.Working += c.Duration
		}
	}
	if to < len(recorded.Calls) {
		p.End = recorded.Calls[to].Start
	}
	return ""
}

func (p *pass) cut(reason record.Reason) {
	p.Cut = string(reason)
	p.Fail(nil)
}

// unsaid drops what the agent did not come to do and to say.
func (w *walk) unsaid(p *pass) {
	p.Ended, p.Output, p.Thinking = nil, nil, ""
	p.NotUTF8, p.OutputB64 = false, nil
	p.ToolCalls = stop.BegunTools(p.ToolCalls, p.End)
}

// late cuts the iteration where a timeout cancels it before it ended.
func (w *walk) late(p *pass) bool {
	at, cancels := w.cancelsAt(func() time.Duration { return w.waited + waitedIn(&p.Iteration) })
	if !cancels || p.End <= at {
		return false
	}
	if p.Workspace != nil {
		if program := &p.Calls[0]; program.Start+program.Duration <= at {
			p.unknown = "a timeout cancels the evaluation of what the program left"
		} else {
			w.timeOut(p, at)
		}
		return true
	}
	p.cut(record.ReasonTimeout)
	m := stop.Clip(w.rules, &p.Iteration, w.waited)
	p.End, p.Working, p.late = m.End, m.Working, true
	if p.OfProgram() {
		p.Calls = slices.Clone(begunBy(p.Calls, at))
		for i := range p.Calls {
			p.cancel(&p.Calls[i])
		}
		p.Steps, p.ToolCalls = stop.StepsBy(&w.run.Iterations[len(w.made)], len(p.Calls)-1, at)
	}
	return true
}

// cancelsAt is the as-if time at which a timeout cancels the iteration in flight, where
// so much of the run was waited: it comes on top where only working time counts.
func (w *walk) cancelsAt(waited func() time.Duration) (at time.Duration, cancels bool) {
	at, working, cancels := w.rules.CancelAt()
	if working {
		at += waited()
	}
	return at, cancels
}

// clipsAt is the as-if time at which a timeout ends what the record has of an
// iteration. It may be earlier than all that was waited says: what tools waited
// after the end of the iteration puts it off no more.
func (w *walk) clipsAt(p *pass) (at time.Duration, cancels bool) {
	if _, _, cancels = w.rules.CancelAt(); !cancels {
		return 0, false
	}
	left := p.Iteration
	left.Steps = slices.Clone(left.Steps)
	return stop.Clip(w.rules, &left, w.waited).End, true
}

func waitedIn(it *record.Iteration) (sum time.Duration) {
	for _, stretch := range stop.Timeline(it) {
		sum += stretch.Waited
	}
	return sum
}

// recordedCut is an iteration of which the record has no more: something cut it.
// The configuration cuts it too where the same thing stands in its way.
func (w *walk) recordedCut(p *pass, recorded *record.Iteration) {
	switch record.Reason(recorded.Cut) {
	case record.ReasonTimeout:
		if at, cancels := w.clipsAt(p); cancels && at == p.End {
			p.cut(record.ReasonTimeout)
			return
		}
	case record.ReasonBudgetCalls, record.ReasonBudgetTokens, record.ReasonBudgetCost, record.ReasonBudgetSteps:
		w.refusedNext(p, recorded)
		return
	case record.ReasonMaxSteps:
		w.endedBySteps(p, recorded)
		return
	case record.ReasonStagnation, record.ReasonRepeated, record.ReasonConsecutive, record.ReasonCircuitBreaker:
		if recorded.OfProgram() {
			w.refusedNext(p, recorded)
			if p.censored != "" {
				p.censored = guarded
			}
			return
		}
	}
	p.censored = cutShort
}

// refusedNext asks whether the configuration has room for the call that the
// recording's budget refused.
func (w *walk) refusedNext(p *pass, recorded *record.Iteration) {
	if next := w.run.Next; next != nil && next.Kind != "" {
		limits, _ := w.rules.CallLimits()
		reason := limits.Refuses(w.callsBefore(recorded, len(recorded.Calls)), &record.Call{Kind: next.Kind, Reserved: next.Reserved, Arrived: next.Arrived})
		if reason == "" {
			reason = w.refusedNextStep(recorded)
		}
		if reason != "" {
			p.cut(reason)
			return
		}
		p.censored = noRoom
		return
	}
	if _, hard := w.rules.Reservations(); !hard || w.run.Next == nil {
		p.censored = noRoom
		return
	}
	refused, unknown := w.reserve(w.run.Next.Reserved, true)
	switch {
	case unknown != "":
		p.unknown = unknown
	case refused == "":
		p.censored = noRoom
	default:
		p.cut(refused)
	}
}

// reserves reports whether a call is reserved in a hard budget: those of models
// are. An evaluation asks its judge first.
func (w *walk) reserves(c *record.Call, first bool) bool {
	switch c.Role {
	case record.RoleProgram, record.RoleHTTP:
		return false
	case record.RoleAgent:
		return c.Conversation == "" // what programs call is decided when it arrives
	case record.RoleDelegate: // a remote agent, or a program, where it is no model
		b := w.recorded.Guards.Budget
		return c.Model != "" || c.Reserved != nil || b == nil || !b.Hard
	case record.RoleJudge:
		return first && w.target.Evaluate != nil && w.target.Evaluate.Judge != nil
	}
	return true
}

// reserve asks the configuration's hard budget for room. Unknown says why the
// record does not tell.
func (w *walk) reserve(reserved *record.Usage, model bool) (refused record.Reason, unknown string) {
	limits, hard := w.rules.Reservations()
	switch {
	case !hard || !model:
		return "", ""
	case reserved == nil, limits.Cost > 0 && reserved.Unpriced > 0:
		return "", noReservation
	}
	need := w.charged.Plus(*reserved)
	if refused = limits.Short(need); refused != "" {
		w.refused = refusal{refused, need}
	}
	return refused, ""
}

// charge settles what a call used.
func (w *walk) charge(c *record.Call) {
	switch {
	case c.Charged != nil:
		w.charged = w.charged.Plus(*c.Charged)
	case c.Reserved != nil:
		w.charged = w.charged.Plus(c.Usage)
	}
}
