package replay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// follows is how far the configuration goes along with a recorded conversation.
type follows struct {
	steps int    // of the recorded ones it makes so many, whole and going on
	why   string // it then does something else; "": it goes along to the end
	// unfinished says that the conversation did not come to its end: the agent
	// failed, or was cut.
	unfinished bool
	// over says that the configuration would make no step after the recorded ones,
	// though the recording might have.
	over bool
	// usedUp says that it would make no step after these because it used up its steps,
	// with the output and the fault of the trace.
	usedUp *record.Trace
	// ranOut says that whoever is behind the agent's model had nothing more to give.
	ranOut bool
}

// follow says how far the configuration goes along with the recorded iteration of
// an agent that converses.
func (w *walk) follow(step stop.Step, recorded *record.Iteration, pair *pair) follows {
	tools := pair.usesOther(recorded)
	tools.unfinished, tools.ranOut = !w.endedTalk(recorded), ranOut(recorded)
	if w.Renderer == nil {
		return tools
	}
	run := *w.run
	run.Iterations = append(run.Iterations[:w.state.Len():w.state.Len()], *recorded)
	trace, _, err := w.Renderer.Retrace(w.ctx, w.task, step, w.state, &run)
	var failure *record.Error
	switch {
	case errors.As(err, &failure) && recorded.Error != nil && *recorded.Error == *failure:
	case err != nil:
		return follows{why: "its conversation cannot be told again: " + err.Error()}
	case neverAsked(recorded):
		return follows{why: because(otherRequest, pair)}
	}
	f := goesAlong(&trace, recorded, w.endedTalk(recorded), w.wholeLast(recorded))
	if f.usedUp != nil && (tools.why == "" || tools.steps >= f.steps) {
		return f
	}
	if n := len(recorded.Steps); f.why == "" && f.unfinished && n > 0 && says(ofLastStep(recorded)) {
		switch {
		case pair.user:
			f.steps, f.why = n-1, otherUser // whose turn it was, or was to be
		case pair.shown != "" && n >= w.target.Steps(w.target.Stages()[step.StageIndex()].Agent):
			f.steps, f.why = n-1, pair.shown // it would not ask the user any more
		}
	}
	if f.why == "" && f.unfinished && f.over && pair.shown != "" && cutAtItsEnd(recorded) {
		f.steps, f.why = max(0, f.steps-1), pair.shown // it may have come to its end just in time
	}
	if f.ranOut = tools.ranOut; f.ranOut {
		w.dries(&f, &trace, pair)
	}
	if f.why == otherRequest {
		f.why = because(f.why, pair)
	}
	if tools.why != "" && (f.why == "" || tools.steps < f.steps) {
		return tools
	}
	return f
}

// neverAsked says that the prompts of a recorded iteration could not be rendered.
func neverAsked(it *record.Iteration) bool {
	return it.Error != nil && it.Error.Class == record.Expression && len(sentIn(it)) == 0
}

// cutAtItsEnd says that a timeout cut a conversation at the very moment at which
// its last leg ended.
func cutAtItsEnd(it *record.Iteration) bool {
	legs := stop.Legs(it)
	return it.Cut == string(record.ReasonTimeout) && len(legs) > 0 && legs[len(legs)-1].End == it.End
}

// endedTalk says that a recorded conversation came to its end: neither did its
// agent fail, nor did anything cut it.
func (w *walk) endedTalk(recorded *record.Iteration) bool {
	if recorded.Cut != "" {
		return w.judgeCut(recorded)
	}
	return recorded.Error == nil || recorded.Ended != nil || len(recorded.Output) > 0
}

// cutBetween says that something cut a recorded conversation before its end.
func (w *walk) cutBetween(recorded *record.Iteration) bool {
	return recorded.Cut != "" && !w.judgeCut(recorded)
}

// goesAlong holds what would be sent against what was. Ended says that the
// conversation came to its end, whole that its last step did.
func goesAlong(trace *record.Trace, recorded *record.Iteration, ended, whole bool) follows {
	sent := sentIn(recorded)
	if usesUp(trace, recorded, ended, whole) && slices.Equal(trace.Requests, sent[:len(trace.Requests)]) {
		return follows{steps: len(trace.Requests), usedUp: trace}
	}
	for i, request := range sent {
		switch {
		case i >= len(trace.Requests) && trace.Why != "":
			return follows{steps: max(0, i-1), why: trace.Why}
		case i >= len(trace.Requests):
			return follows{steps: max(0, i-1), why: fmt.Sprintf("it would make no step after step %d: agent.max_steps, or what ends a conversation, differs", i)}
		case request != trace.Requests[i]:
			return follows{steps: i, why: otherRequest}
		}
	}
	steps, failed := len(recorded.Steps), len(sent) > len(recorded.Steps)
	switch {
	case trace.Why != "" && !ended && !failed && recorded.Steps[steps-1].User == "":
		return follows{steps: steps, unfinished: true} // it was cut before the user answered
	case trace.Why != "":
		return follows{steps: max(0, steps-1), why: trace.Why}
	case failed || recorded.Error != nil && !ended:
		return follows{steps: steps, unfinished: true}
	case ended && !trace.Over:
		return follows{steps: steps, why: oneMore}
	case !ended && trace.Over && whole: // and was cut before the next one
		return follows{steps: steps, unfinished: true, over: true, why: fmt.Sprintf("it would make no step after step %d, where the recording was cut", steps)}
	}
	return follows{steps: steps, unfinished: !ended, over: trace.Over}
}

// usesUp reports whether the configuration would use up its steps with one that the
// record has whole, where the recording went on.
func usesUp(trace *record.Trace, recorded *record.Iteration, ended, whole bool) bool {
	steps, sent := len(trace.Requests), len(sentIn(recorded))
	switch {
	case trace.Output == nil || trace.Why != "" || steps > len(recorded.Steps):
		return false
	case steps < sent || ranOut(recorded):
		return true
	}
	return !ended && whole
}

// upToItsSteps is a recorded iteration as far as an agent makes it that uses up its
// steps. Whether its output is the JSON that it was to be stands in its evaluation,
// which nobody made.
func upToItsSteps(recorded *record.Iteration, f *follows) *record.Iteration {
	it := *recorded
	m := stop.ClipAfter(&it, f.steps)
	it.End, it.Working = m.End, m.Working
	it.Output, it.Ended, it.Cut = f.usedUp.Output, nil, ""
	it.Fail(nil)
	it.Evaluation = &record.Evaluation{Fault: f.usedUp.Fault}
	return &it
}

const (
	reached = "the recording does not judge that the agent reached its maximum of steps"
	anew    = "in an iteration before this one it would make fewer steps, so that its calls are others"
)

const oneMore = "it would make another step: agent.max_steps, or what ends a conversation, differs"

// ranOut says that whoever is behind the agent's model had nothing more to give
// within the conversation.
func ranOut(it *record.Iteration) bool {
	return it.Ended != nil && it.Ended.Reason == string(record.ReasonAgentEnded)
}

// dries asks an agent again that had nothing more to give within its conversation.
func (w *walk) dries(f *follows, trace *record.Trace, pair *pair) {
	switch next := w.run.Next; {
	case f.why != "":
	case len(trace.Requests) <= f.steps:
		f.why = "it would make no step after the last one, at which the recorded agent had nothing more to give"
	case next != nil && next.Request != "":
		if next.Request != trace.Requests[f.steps] {
			f.why = because(otherRequest, pair)
		}
	case pair.shown != "":
		f.why = pair.shown
	}
}

// sentIn are the hashes of the requests of an iteration's agent, one for each
// step, and that of the call that failed, if one did. Where it made no call it is
// the one that it was about to make.
func sentIn(it *record.Iteration) []string {
	var sent []string
	for i := range it.Calls {
		if it.Calls[i].Role == record.RoleAgent {
			sent = append(sent, it.Calls[i].Request)
		}
	}
	if len(sent) == 0 && it.Request != "" {
		return []string{it.Request}
	}
	return sent
}

// converse makes the recorded conversation as far as the configuration lets it
// go, up to the first call of the evaluation.
func (w *walk) converse(step stop.Step, p *pass, recorded *record.Iteration, judged int) {
	p.Calls, p.Working, p.End = recorded.Calls[:judged:judged], 0, recorded.Start
	if w.signals {
		w.talkOfSignals(p, recorded, judged)
		return
	}
	t := &talk{walk: w, p: p, watch: w.state.Watch(), waited: w.waited, ended: recorded.End}
	legs := stop.Legs(&p.Iteration)
	for i := range legs {
		t.whole = i+1 < len(legs) || w.wholeLast(recorded)
		t.goesOn = i+1 < len(legs) || w.cutBetween(recorded) && t.whole && !w.follows.over || w.follows.ranOut || w.follows.why == oneMore
		t.asks = t.goesOn || w.asksUser(step, recorded, &legs[i])
		t.cutLast = recorded.Cut == string(record.ReasonTimeout) && i+1 == len(legs) && !w.judgeCut(recorded)
		last := i+1 == len(legs) || legs[i+1].Step != legs[i].Step
		if t.leg(&legs[i], last) {
			return
		}
	}
	switch {
	case w.follows.why != "":
		p.unknown = w.follows.why
	case w.follows.ranOut && t.refusesNext():
	case recorded.Cut != "" && !w.judgeCut(recorded):
		p.End, p.Working = recorded.End, recorded.Working
		w.recordedCut(p, recorded)
	case judged < len(recorded.Calls):
		p.End = recorded.Calls[judged].Start
	case recorded.Cut == "":
		p.End = recorded.End
	}
}

// talk is a recorded conversation under the rules of the configuration.
type talk struct {
	*walk
	p      *pass
	watch  *stop.Watch
	waited time.Duration // up to the end of the newest leg
	whole  bool          // the step of the newest leg is, if that is the last of it
	goesOn bool          // another step would follow the newest leg
	asks   bool          // or a turn of the user
	// cutLast says that a timeout cut the recording within the newest leg.
	cutLast bool
	ended   time.Duration // when something cut the recording
}

// leg takes the next leg. Last says that it is the last one of its step. Over says
// that nothing more happens in the iteration.
func (t *talk) leg(l *stop.Leg, last bool) (over bool) {
	step := l.Step
	if step == 0 {
		step = len(t.p.Steps) + 1 // a call that failed
	}
	if t.follows.why != "" && step > t.follows.steps {
		t.p.unknown = t.follows.why
		return true
	}
	if t.refuses(l) {
		return true
	}
	t.p.Working += l.Worked()
	t.waited += l.Waited
	t.p.End = l.End
	if t.isLate() {
		t.timeOut()
		return true
	}
	return last && l.Step > 0 && t.watches(l.Step)
}

// isLate says that a timeout cancels the iteration within the newest leg, or before
// what follows it; earlier than one cut the recording, if one did.
func (t *talk) isLate() bool {
	at, cancels := t.cancelsAt(t.waited)
	if !cancels || t.p.End < at || t.p.End == at && !t.asks {
		return false
	}
	if !t.cutLast {
		return true
	}
	at, _ = t.clipsAt(t.p)
	return at < t.ended
}

// refuses asks the budget for the calls of a leg.
func (t *talk) refuses(l *stop.Leg) bool {
	from := l.Calls - 1
	if l.Tools {
		from = l.Calls
		for from > 0 && t.p.Calls[from-1].Role == record.RoleDelegate {
			from--
		}
	}
	for i := from; i < l.Calls; i++ {
		c := &t.p.Calls[i]
		refused, unknown := t.reserve(c.Reserved, t.reserves(c, true))
		switch {
		case unknown != "":
			t.p.unknown = unknown
		case refused != "" && c.Role == record.RoleDelegate:
			t.p.unknown = "the budget has no room for a call of a delegate, and the record does not have what follows"
		case refused != "" && i == 0:
			t.p.before = refused
		case refused != "":
			m := stop.ClipBefore(&t.p.Iteration, i)
			t.p.End, t.p.Working, t.p.Ended, t.p.Thinking = m.End, m.Working, nil, ""
			t.p.cut(refused)
		default:
			t.charge(c)
			continue
		}
		return true
	}
	return false
}

// refusesNext asks the budget for the call to which nobody would have answered.
func (t *talk) refusesNext() bool {
	next := t.run.Next
	if next == nil {
		next = &record.Next{}
	}
	refused, unknown := t.reserve(next.Reserved, true)
	if t.p.unknown = unknown; unknown != "" {
		return true
	}
	if refused == "" {
		return false
	}
	stop.ClipAfter(&t.p.Iteration, len(t.p.Steps))
	t.p.Ended, t.p.Thinking = nil, ""
	t.p.cut(refused)
	return true
}

// hasNoRoom says that the budget refuses the call to which nobody would have
// answered, or may do so.
func (w *walk) hasNoRoom() bool {
	next := w.run.Next
	if next == nil {
		next = &record.Next{}
	}
	refused, unknown := w.reserve(next.Reserved, true)
	return refused != "" || unknown != ""
}

// wholeLast says that the last step of a recorded conversation was made whole,
// the user's answer included, before something happened to the iteration.
func (w *walk) wholeLast(it *record.Iteration) bool {
	n := len(it.Steps)
	if n == 0 || w.endedTalk(it) {
		return n > 0
	}
	switch record.Reason(it.Cut) {
	case "", record.ReasonTimeout, record.ReasonCancelled, record.ReasonSuiteBudget:
		return false
	case record.ReasonBudgetCalls, record.ReasonBudgetTokens, record.ReasonBudgetCost:
		used := ofLastStep(it)
		handed := func(c record.ToolCall) bool { return c.Delegate != "" }
		return !slices.ContainsFunc(used, handed) && (w.recorded.User == nil || !says(used))
	}
	return true
}

func ofLastStep(it *record.Iteration) []record.ToolCall {
	return it.ToolCalls[len(it.ToolCalls)-it.Steps[len(it.Steps)-1].Tools:]
}

// says says that a step says something to the user: it calls no tool, or the one
// for that.
func says(used []record.ToolCall) bool {
	return len(used) == 0 || slices.ContainsFunc(used, func(c record.ToolCall) bool { return c.Tool == "converse" && c.Error == nil })
}

// asksUser says that the user's turn would follow the last leg of a conversation.
func (w *walk) asksUser(step stop.Step, it *record.Iteration, last *stop.Leg) bool {
	n := len(it.Steps)
	if w.target.User == nil || n == 0 || last.Step != n || it.Ended != nil || !says(ofLastStep(it)) {
		return false
	}
	byUser := !last.Tools && it.Calls[last.Calls-1].Role == record.RoleUser
	return !byUser && n < w.target.Steps(w.target.Stages()[step.StageIndex()].Agent)
}

// timeOut cuts the conversation where a timeout cancels it.
func (t *talk) timeOut() {
	t.p.cut(record.ReasonTimeout)
	m := stop.Clip(t.rules, &t.p.Iteration, t.walk.waited)
	t.p.End, t.p.Working, t.p.Ended, t.p.late = m.End, m.Working, nil, true
}

// watches asks the guards that look at steps. At the end of a conversation they
// cut nothing.
func (t *talk) watches(step int) bool {
	if t.watch == nil || !t.whole {
		return false
	}
	sofar := t.p.Iteration
	stop.ClipAfter(&sofar, step)
	reason := t.watch.Step(&sofar)
	if reason == "" || !t.goesOn {
		return false
	}
	m := stop.ClipAfter(&t.p.Iteration, step)
	t.p.End, t.p.Working, t.p.Ended = m.End, m.Working, nil
	t.p.cut(reason)
	return true
}

const noSteps = "signals do not tell what happened in the conversation before it was cut"

// talkOfSignals takes a conversation as a whole.
func (w *walk) talkOfSignals(p *pass, recorded *record.Iteration, judged int) {
	p.End, p.Working = recorded.End, recorded.Working
	if judged < len(recorded.Calls) {
		p.End = recorded.Calls[judged].Start
		for _, c := range recorded.Calls[judged:] {
			p.Working -= c.Duration
		}
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		if refused, unknown := w.reserve(c.Reserved, w.reserves(c, true)); refused != "" || unknown != "" {
			p.unknown = noSteps
			return
		}
		w.charge(c)
	}
	at, cancels := w.cutAt(p)
	switch {
	case cancels && p.End >= at, w.follows.ranOut && w.hasNoRoom(): // what takes no time may have been left at the very end
		p.unknown = noSteps
	case judged == len(recorded.Calls) && recorded.Cut != "" && !w.judgeCut(recorded):
		w.recordedCut(p, recorded)
	}
}

// usesOther says before which step the agent uses a tool, or a delegate, that is
// another one in the configuration than in the recorded loop, though it is called
// and described alike.
func (p *pair) usesOther(recorded *record.Iteration) follows {
	at := 0
	for i := range recorded.Steps {
		until := min(at+recorded.Steps[i].Tools, len(recorded.ToolCalls))
		if p.player && says(recorded.ToolCalls[at:until]) {
			return follows{steps: i, why: otherUser}
		}
		for ; at < until; at++ {
			if why := p.tools.other(&recorded.ToolCalls[at]); why != "" {
				return follows{steps: i, why: why}
			}
		}
	}
	return follows{steps: len(recorded.Steps)}
}
