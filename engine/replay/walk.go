package replay

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// walk makes the iterations of a run of the configuration from what a recorded run has of them.
type walk struct {
	stop.Run
	*Replay
	ctx  context.Context
	run  *record.Run // the recorded one
	task *spec.Task
	room *Room
	sums bool       // Room has what was spent so far, by iteration, and reserved
	lump *lump      // nil: the iterations tell what they used
	made record.Run // as far as it is
	open Result     // the verdict on an iteration that is not known; zero: all are

	pass pass // the newest iteration

	equal      int           // of so many iterations from the first the request is known to be the recorded one
	shortened  bool          // an agent used up its steps in an iteration earlier than the recorded one
	endedEarly bool          // agent.max_steps ended an iteration of a program earlier than anything ended the recorded one
	waited     time.Duration // before this iteration
	charged    record.Usage  // in the hard budget of the configuration
	refusal    Refusal       // of a smaller one
	restaged   bool          // an iteration stood in another phase or strategy than recorded
	rejudged   bool          // an iteration was judged otherwise than recorded
	saw        Result        // of the iterations that are known
	total      spent         // of them
}

// begin takes the room of the walk before; nil: a new one.
func (r *Replay) begin(ctx context.Context, room *Room, run *record.Run, task *spec.Task) *walk {
	if room == nil {
		room = &Room{}
	}
	room.spent, room.reserved = room.spent[:0], room.reserved[:0]
	if cap(room.made) <= len(run.Iterations) {
		room.made = make([]record.Iteration, 0, 2*len(run.Iterations)+1)
	}
	room.walk = walk{Replay: r, ctx: ctx, run: run, task: task, room: room}
	room.walk.made.Iterations, room.walk.Record = room.made[:0], &room.walk.made
	return &room.walk
}

func (w *walk) walk() Result {
	if path := w.Tells(); path != "" {
		w.branches(fmt.Sprintf("the agent got %s", path))
		w.open.At, w.open.Told = 1, true
		return w.known(w.open)
	}
	w.lump = lumpOf(w.run)
	w.State = start(&w.states, w.rules, w.task, w.target)
	defer w.states.Put(w.State)
	if checklist := spec.PatternChecklist; (w.target.Pattern == checklist) != (w.recorded.Pattern == checklist) {
		w.saw.Changed = 1 // another iteration may be the best one
	}
	if w.sent != nil {
		if n, known := w.sent.Load(w.run); known {
			w.equal = n.(int)
		}
	}
	outcome := w.Iterate(w)
	if w.sent != nil {
		w.sent.Store(w.run, w.equal)
	}
	if w.open.Verdict != "" {
		return w.known(w.open)
	}
	n := w.saw.Iterations
	if n > 0 && w.run.Outcome.Status == record.Faulted && brokenBy(&w.made.Iterations[n-1], &outcome) {
		w.broken(n)
		return w.known(w.open)
	}
	result := w.known(Result{Verdict: Exact, Outcome: outcome})
	if result.Changed > n {
		result.Changed = 0 // no iteration is made that could differ
	}
	return result
}

// Make makes the next iteration as far as the record tells it.
func (w *walk) Make(it *record.Iteration, step stop.Step) (before record.Reason) {
	switch {
	case w.open.Verdict != "": // how the last one was judged is not known
		return record.ReasonUnknown
	case step.Iteration <= len(w.run.Iterations):
	case w.endedEarly:
		return w.branches(anew)
	default:
		return w.end(step)
	}
	p := &w.pass
	*p = pass{Iteration: it, recorded: &w.run.Iterations[step.Iteration-1], step: step}
	if why := w.sendsOther(p); why != "" {
		return w.branches(why)
	}
	if p.follows.usedUp != nil {
		p.recorded = upToItsSteps(p.recorded, &p.follows)
	}
	p.judged = judgedFrom(p.recorded)
	if before = w.execute(p); before == "" && w.Executed(it, nil) {
		w.judge(p)
	}
	return before
}

// Decided notes what the newest iteration, which is known, changes for those after it, and adds up what it used.
func (w *walk) Decided(it *record.Iteration) {
	if w.open.Verdict != "" {
		return
	}
	p, recorded := &w.pass, w.pass.recorded
	w.rejudged = w.rejudged || it.Skipped != recorded.Skipped || !alike(it.Evaluation, recorded.Evaluation) || !alike(it.Error, recorded.Error)
	w.endedEarly = w.endedEarly || p.ended && it.Cut == string(record.ReasonMaxSteps)
	w.shortened = w.shortened || p.follows.usedUp != nil || p.killed || w.endedEarly
	w.restaged = w.restaged || it.Phase != recorded.Phase || it.Strategy != recorded.Strategy
	w.saw.UsedUp = p.follows.usedUp != nil || p.ended
	w.saw.Iterations++
	if w.saw.Changed == 0 && wentOtherwise(it, recorded) {
		w.saw.Changed = p.step.Iteration
	}
	w.waited = w.Waited
	w.add(p)
}

// end is where the record ends and the configuration goes on: it is the reason for which it ends there, too.
func (w *walk) end(step stop.Step) record.Reason {
	if reason := w.run.Outcome.Reason; byTool(reason) {
		return reason
	}
	next := w.run.Next
	if next == nil || next.Role == record.RoleJudge {
		next = &record.Next{} // nothing is known of what the agent would have been sent
	}
	dry := w.ranDry()
	model := next.Reserved != nil
	if dry {
		model = w.differ.stages[step.StageIndex()].model
	}
	refused, unknown := w.reserve(next.Reserved, model)
	switch {
	case unknown != "" && dry:
		return w.branches(unknown)
	case refused == "" && dry: // a budget comes before it
		refused = record.ReasonAgentEnded
	}
	switch {
	case refused != "":
		waiting := &pass{step: step, recorded: &record.Iteration{Phase: next.Phase, Strategy: next.Strategy, Request: next.Request}}
		if why := w.sendsOther(waiting); why != "" {
			return w.branches(why)
		}
		return refused
	case w.run.Outcome.Status == record.Faulted:
		return w.broken(step.Iteration)
	case w.run.Outcome.Reason == record.ReasonUnknown:
		return w.censored("the recording ended here, and the log does not say why")
	}
	return w.censored(fmt.Sprintf("the recording ended here: %s", w.run.Outcome.Reason))
}

// byTool reports whether a limit of the tool that a log is of ended a run: one that no
// configuration changes.
func byTool(reason record.Reason) bool {
	return reason == record.ReasonMaxSteps || reason == record.ReasonTooManyErrors
}

// ranDry reports whether the agent had nothing more to give, which it says before an
// iteration.
func (w *walk) ranDry() bool {
	if w.run.Outcome.Reason != record.ReasonAgentEnded {
		return false
	}
	n := len(w.run.Iterations)
	return n == 0 || w.run.Iterations[n-1].Ended == nil
}

// wentOtherwise reports whether a score that goes by what was done in an iteration
// might differ.
func wentOtherwise(it, recorded *record.Iteration) bool {
	return it.Cut != recorded.Cut || it.End != recorded.End || it.Phase != recorded.Phase || it.Strategy != recorded.Strategy ||
		len(it.Calls) != len(recorded.Calls) || len(it.ToolCalls) != len(recorded.ToolCalls) ||
		it.Skipped != recorded.Skipped || !alike(it.Evaluation, recorded.Evaluation) || !alike(it.Error, recorded.Error)
}

func alike[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

// add adds up what an iteration used.
func (w *walk) add(p *pass) {
	most := spentIn(p.Iteration)
	least := most
	if p.late {
		landed := *p.Iteration
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

// known completes a result with what the iterations that are known used.
func (w *walk) known(r Result) Result {
	saw, n := w.saw, w.saw.Iterations
	r.Iterations, r.Changed, r.UsedUp, r.Usage, r.Judging, r.User = n, saw.Changed, saw.UsedUp, saw.Usage, saw.Judging, saw.User
	if n > 0 {
		last := &w.made.Iterations[n-1]
		r.Elapsed = last.End
		if w.lump != nil {
			r.Usage = w.lump.span(r.Usage.Most, n, last.Cut != w.run.Iterations[n-1].Cut)
		}
	}
	return r
}

// branches says why the newest iteration needs calls, and censored why the record ends before it. Both end the walk.
func (w *walk) branches(why string) record.Reason { return w.leaves(Branches, why) }

func (w *walk) censored(why string) record.Reason { return w.leaves(Censored, why) }

func (w *walk) leaves(verdict Verdict, why string) record.Reason {
	w.open = Result{Verdict: verdict, At: len(w.made.Iterations), Why: why}
	return record.ReasonUnknown
}

// broken is a run that comes as far as the fault that ended the recording. What follows is unknown, and a live run
// with that fault is in no number either.
func (w *walk) broken(at int) record.Reason {
	w.open = Result{Verdict: Censored, At: at, Why: HadFault(w.run), Outcome: w.run.Outcome}
	return record.ReasonUnknown
}

// brokenBy reports whether the last iteration ends a run by a fault that a live one need not have.
func brokenBy(last *record.Iteration, o *record.Outcome) bool {
	return o.Status == record.Faulted && last.Error != nil && last.Error.Class.Infrastructure()
}

// HadFault is why a recorded run that ended in a fault answers for no configuration that comes so far.
func HadFault(run *record.Run) string {
	return "the recorded run had a fault: " + run.Outcome.Fired
}

// pass is a recorded iteration as the configuration makes it.
type pass struct {
	*record.Iteration
	recorded *record.Iteration
	step     stop.Step
	pair     *pair   // the stages of both
	follows  follows // of an agent that converses: how far it goes along
	judged   int     // the recorded call with which its evaluation begins
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

// execute makes the iteration up to its evaluation, as far as its agent meets nothing that cuts it.
func (w *walk) execute(p *pass) (before record.Reason) {
	it, recorded := p.Iteration, p.recorded
	skipped := it.Skipped
	*it = *recorded
	it.Phase, it.Strategy, it.Skipped, it.Evaluation, it.Cut = p.step.Phase, p.step.Strategy, skipped, nil, ""
	if w.neverEvaluated(recorded) {
		it.Skipped = it.Skipped || recorded.Skipped
	}
	if p.pair.converses {
		before = w.converse(p)
	} else {
		before = w.act(p)
	}
	w.clock(p)
	switch {
	case before != "" || p.killed:
		return before
	case p.ended:
		return w.leave(p)
	case p.Cut != "" && p.late && recorded.Workspace != nil:
		return w.branches("the record does not have the workspace of that moment")
	case p.Cut == "" && !p.step.Evaluate && p.judged < len(recorded.Calls): // it took time that it would not have taken
		return w.branches("the recording evaluated this iteration with calls")
	case p.Cut == "" && p.failedJudging():
		p.Fail(nil)
	}
	return ""
}

// clock is the virtual time at which the iteration ends so far.
func (w *walk) clock(p *pass) {
	w.Elapsed, w.Waited = p.End, w.waited+waitedIn(p.Iteration)
}

// act makes the calls of an agent that does not converse, up to the first of the evaluation.
func (w *walk) act(p *pass) (before record.Reason) {
	recorded := p.recorded
	p.Calls = nil
	if len(recorded.Calls) > 0 {
		p.Working = 0
	}
	if why := w.stepless(recorded); why != "" {
		return w.branches(why)
	}
	over, late := w.overtime(p)
	if at, reason := w.refusedCall(p); reason != "" && !(late && over <= recorded.Calls[at].Arrived) {
		return w.endProgram(p, at, reason)
	}
	if at, cancels := w.CancelAt(0); late && !(cancels && at <= over) {
		return w.killProgram(p, over)
	}
	refused, why := w.calls(p, 0, p.judged)
	if refused != "" {
		w.unsaid(p)
	}
	switch {
	case why != "":
		return w.branches(why)
	case refused != "" && len(p.Calls) == 0:
		return refused
	}
	if cut, unknown := w.overdue(p); cut || unknown != "" {
		return unknown
	}
	switch {
	case refused != "":
		p.cut(refused)
	case recorded.Cut != "" && (p.judged == len(recorded.Calls) || recorded.Workspace != nil) && !w.judgeCut(recorded):
		return w.recordedCut(p)
	}
	return ""
}

// calls takes over the recorded calls from one to another that the configuration's budget
// has room for, and sets the time at which they ended. Why says why the record does not tell whether it has.
func (w *walk) calls(p *pass, from, to int) (refused record.Reason, why string) {
	recorded := p.recorded
	p.End = recorded.End
	for i := from; i < to; i++ {
		c := &recorded.Calls[i]
		if refused, why = w.reserve(c.Reserved, w.reserves(c, i == from)); why != "" || refused != "" {
			p.End = c.Start
			return refused, why
		}
		w.charged = w.charged.Plus(c.ChargedToRun())
		p.Calls = recorded.Calls[: i+1 : i+1]
		if c.Conversation == "" { // else it is in the time of its program
			p.Working += c.Duration
		}
	}
	if to < len(recorded.Calls) {
		p.End = recorded.Calls[to].Start
	}
	return "", ""
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

// overdue cuts the iteration where a timeout of the loop passed before it ended.
func (w *walk) overdue(p *pass) (cut bool, unknown record.Reason) {
	w.clock(p)
	if !w.Overdue() {
		return false, ""
	}
	at, _ := w.CancelAt(0)
	if p.Workspace != nil {
		if program := &p.Calls[0]; program.Start+program.Duration <= at {
			return false, w.branches("a timeout cancels the evaluation of what the program left")
		}
		return true, w.timeOut(p, at)
	}
	w.timedOut(p)
	if p.OfProgram() {
		p.Calls = slices.Clone(begunBy(p.Calls, at))
		for i := range p.Calls {
			p.cancel(&p.Calls[i])
		}
		p.Steps, p.ToolCalls = stop.StepsBy(p.recorded, len(p.Calls)-1, at)
	}
	return true, ""
}

// timedOut cuts the iteration where a timeout cancels it earlier than anything cut the recorded one.
func (w *walk) timedOut(p *pass) {
	p.Fail(nil)
	w.Cut(p.Iteration, record.ReasonTimeout)
	p.End, p.late = w.Elapsed, true
}

// clipsAt is the as-if time at which a timeout ends what the record has of an
// iteration. It may be earlier than all that was waited says: what tools waited
// after the end of the iteration puts it off no more.
func (w *walk) clipsAt(p *pass) (at time.Duration, cancels bool) {
	if _, _, cancels = w.rules.CancelAt(); !cancels {
		return 0, false
	}
	left := *p.Iteration
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
func (w *walk) recordedCut(p *pass) record.Reason {
	switch cut := record.Reason(p.recorded.Cut); cut {
	case record.ReasonTimeout:
		if at, cancels := w.clipsAt(p); cancels && at == p.End {
			p.cut(record.ReasonTimeout)
			return ""
		}
	case record.ReasonBudgetCalls, record.ReasonBudgetTokens, record.ReasonBudgetCost, record.ReasonBudgetSteps:
		return w.refusedNext(p, noRoom)
	case record.ReasonMaxSteps:
		return w.endedBySteps(p)
	case record.ReasonStagnation, record.ReasonRepeated, record.ReasonConsecutive, record.ReasonCircuitBreaker:
		if p.recorded.OfProgram() {
			return w.refusedNext(p, guarded)
		}
	}
	return w.censored(cutShort)
}

// refusedNext asks whether the configuration refuses the call that was refused when the run was recorded; where it has room, why the record has no more.
func (w *walk) refusedNext(p *pass, why string) record.Reason {
	next := w.run.Next
	var refused record.Reason
	if next != nil && next.Kind != "" {
		limits, _ := w.rules.CallLimits()
		refused = limits.Refuses(w.callsBefore(p, len(p.recorded.Calls)), &record.Call{Kind: next.Kind, Reserved: next.Reserved, Arrived: next.Arrived})
		if refused == "" {
			refused = w.refusedNextStep(p.recorded)
		}
	} else if _, hard := w.rules.Reservations(); hard && next != nil {
		var unknown string
		if refused, unknown = w.reserve(next.Reserved, true); unknown != "" {
			return w.branches(unknown)
		}
	}
	if refused == "" {
		return w.censored(why)
	}
	p.cut(refused)
	return ""
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
	if w.sums {
		if w.refusal.Limit != "" && w.refusal.At == len(w.room.reserved) {
			return w.refusal.Limit, ""
		}
		w.room.reserved = append(w.room.reserved, Reservation{w.saw.Iterations, need})
	}
	return limits.Short(need), ""
}
