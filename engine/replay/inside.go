package replay

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

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
	// someTools says that nobody knows how many of the tools were used.
	someTools bool
	// late says that a timeout cut it earlier than anything cut the recorded one.
	late bool
}

// flying says whether a call was in flight when the iteration was cut.
func (p *pass) flying(c *record.Call) bool {
	return p.late && c.Start+c.Duration+c.Waited > p.End
}

const (
	noReservation = "a hard budget reserves this call, and the record does not have its reservation"
	cutShort      = "the recording was cut inside this iteration"
	noRoom        = "the budget of the recording had no room for the next call"
)

// inside looks for what cuts an iteration: as live, first what the agent's calls
// meet, then what those of the evaluation meet.
func (w *walk) inside(step stop.Step, recorded *record.Iteration) *pass {
	p := &pass{Iteration: *recorded}
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

// failedJudging says whether the evaluation failed, not the agent.
func (w *walk) failedJudging(it *record.Iteration) bool {
	switch {
	case it.Error == nil || w.converses && w.follows.unfinished:
		return false
	case judgedFrom(it) < len(it.Calls), it.Error.Class == record.Unjudged:
		return true
	}
	return it.Error.Class == record.Expression && len(it.Calls) > 0 // the prompt's comes before any call
}

// over says that nothing more happens inside the iteration.
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
		w.toolsUsed(p)
	case refused != "":
		p.cut(refused)
	case judged == len(recorded.Calls) && recorded.Cut != "" && !w.judgeCut(recorded):
		w.recordedCut(p, recorded)
	}
}

// judgeCut says that the recording was cut inside the evaluation, so that the
// agent came to its end.
func (w *walk) judgeCut(recorded *record.Iteration) bool {
	return recorded.Cut != "" && w.run.Next != nil && w.run.Next.Role == record.RoleJudge
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
		p.Working += c.Duration
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
	if w.signals && len(p.ToolCalls) > 0 && len(p.Calls) > 0 {
		p.unknown = "signals do not tell which tools were used before the budget was spent"
	}
	p.ToolCalls = stop.BegunTools(p.ToolCalls, p.End)
}

// late cuts the iteration where a timeout cancels it before it ended.
func (w *walk) late(p *pass) bool {
	at, cancels := w.cutAt(p)
	if !cancels || p.End <= at {
		return false
	}
	if w.signals && w.converses {
		p.unknown = noSteps
		return true
	}
	p.cut(record.ReasonTimeout)
	m := stop.Clip(w.rules, &p.Iteration, w.waited)
	p.End, p.Working, p.late = m.End, m.Working, true
	return true
}

// toolsUsed drops the tools that the agent did not come to use before it was cut.
func (w *walk) toolsUsed(p *pass) {
	if !w.signals {
		return
	}
	p.someTools = true
	if s := w.target.Guards.Stagnation; s != nil && !s.Window.Off && len(p.ToolCalls) > 0 {
		p.unknown = "signals do not tell which tools were used before the run was cut"
	}
}

// cutAt is the as-if time at which a timeout cancels the iteration in flight.
func (w *walk) cutAt(p *pass) (at time.Duration, cancels bool) {
	return w.cancelsAt(w.waited + waitedIn(&p.Iteration))
}

// cancelsAt is that time where so much of the run was waited: it comes on top
// where only working time counts.
func (w *walk) cancelsAt(waited time.Duration) (at time.Duration, cancels bool) {
	at, working, cancels := w.rules.CancelAt()
	if working {
		at += waited
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
	for _, leg := range stop.Legs(it) {
		sum += leg.Waited
	}
	return sum
}

// recordedCut is an iteration of which the record has no more: something cut it.
// The configuration cuts it too where the same thing stands in its way.
func (w *walk) recordedCut(p *pass, recorded *record.Iteration) {
	switch record.Reason(recorded.Cut) {
	case record.ReasonTimeout:
		if at, cancels := w.clipsAt(p); cancels && at == recorded.End {
			p.cut(record.ReasonTimeout)
			return
		}
	case record.ReasonBudgetCalls, record.ReasonBudgetTokens, record.ReasonBudgetCost:
		w.refusedNext(p)
		return
	}
	p.censored = cutShort
}

// refusedNext asks whether the configuration has room for the call that the
// recording's budget refused.
func (w *walk) refusedNext(p *pass) {
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

// reserves says whether a call is reserved in a hard budget: those of models
// are. An evaluation asks its judge first.
func (w *walk) reserves(c *record.Call, first bool) bool {
	switch c.Role {
	case record.RoleProgram, record.RoleHTTP:
		return false
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
	return limits.Short(w.charged.Plus(*reserved)), ""
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
