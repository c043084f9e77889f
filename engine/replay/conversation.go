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
func (w *walk) follow(p *pass) follows {
	step, recorded, pair := p.step, p.recorded, p.pair
	tools := pair.usesOther(recorded)
	tools.unfinished, tools.ranOut = !w.endedTalk(recorded), ranOut(recorded)
	if w.options.Renderer == nil {
		return tools
	}
	run := *w.run
	run.Iterations = append(run.Iterations[:w.State.Len():w.State.Len()], *recorded)
	trace, _, err := w.options.Renderer.Retrace(w.ctx, w.task, step, w.State, &run)
	var failure *record.Error
	switch {
	case errors.As(err, &failure) && recorded.Error != nil && *recorded.Error == *failure:
	case err != nil:
		return follows{why: "its conversation cannot be repeated: " + err.Error()}
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

// neverAsked reports whether the prompts of a recorded iteration could not be rendered.
func neverAsked(it *record.Iteration) bool {
	return it.Error != nil && it.Error.Class == record.Expression && len(sentIn(it)) == 0
}

// cutAtItsEnd reports whether a timeout cut a conversation at the very moment at which
// its last stretch ended.
func cutAtItsEnd(it *record.Iteration) bool {
	stretches := stop.Timeline(it)
	return it.Cut == string(record.ReasonTimeout) && len(stretches) > 0 && stretches[len(stretches)-1].End == it.End
}

// endedTalk reports whether a recorded conversation came to its end: neither did its
// agent fail, nor did anything cut it.
func (w *walk) endedTalk(recorded *record.Iteration) bool {
	if recorded.Cut != "" {
		return w.judgeCut(recorded)
	}
	return recorded.Error == nil || recorded.Ended != nil || len(recorded.Output) > 0
}

// cutBetween reports whether something cut a recorded conversation before its end.
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

// ranOut reports whether whoever is behind the agent's model had nothing more to give
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
func (w *walk) converse(p *pass) (before record.Reason) {
	recorded := p.recorded
	p.Calls, p.Working, p.End = recorded.Calls[:p.judged:p.judged], 0, recorded.Start
	t := &talk{walk: w, p: p}
	stretches := stop.Timeline(p.Iteration)
	for i := range stretches {
		s := &stretches[i]
		t.whole = i+1 < len(stretches) || w.wholeLast(recorded)
		t.goesOn = i+1 < len(stretches) || w.cutBetween(recorded) && t.whole && !p.follows.over || p.follows.ranOut || p.follows.why == oneMore
		t.asks = t.goesOn || w.asksUser(p.step, recorded, s)
		t.cutLast = recorded.Cut == string(record.ReasonTimeout) && i+1 == len(stretches) && !w.judgeCut(recorded)
		last := i+1 == len(stretches) || stretches[i+1].Step != s.Step
		if before = t.stretch(s, last); before != "" || p.Cut != "" {
			return before
		}
	}
	if p.follows.why != "" {
		return w.branches(p.follows.why)
	}
	if p.follows.ranOut {
		if before = t.refusesNext(); before != "" || p.Cut != "" {
			return before
		}
	}
	switch {
	case recorded.Cut != "" && !w.judgeCut(recorded):
		p.End, p.Working = recorded.End, recorded.Working
		return w.recordedCut(p)
	case p.judged < len(recorded.Calls):
		p.End = recorded.Calls[p.judged].Start
	case recorded.Cut == "":
		p.End = recorded.End
	}
	return ""
}

// talk is a recorded conversation under the rules of the configuration.
type talk struct {
	*walk
	p       *pass
	waiting time.Duration // in the iteration, up to the end of the newest stretch
	whole   bool          // the step of the newest stretch is, if that is the last of it
	goesOn  bool          // another step would follow the newest stretch
	asks    bool          // or a turn of the user
	// cutLast: a timeout cut the recording within the newest stretch.
	cutLast bool
}

// stretch takes the next stretch, which may be the last one of its step.
func (t *talk) stretch(s *stop.Stretch, last bool) (before record.Reason) {
	step := s.Step
	if step == 0 {
		step = len(t.p.Steps) + 1 // a call that failed
	}
	if t.p.follows.why != "" && step > t.p.follows.steps {
		return t.branches(t.p.follows.why)
	}
	if before = t.refuses(s); before != "" || t.p.Cut != "" {
		return before
	}
	t.p.Working += s.Worked()
	t.p.End, t.waiting = s.End, t.waiting+s.Waited
	switch {
	case t.isLate():
		t.timedOut(t.p)
	case last && s.Step > 0 && t.whole && t.LooksAtSteps():
		t.watches(s.Step)
	}
	return ""
}

// isLate reports whether a timeout cancels the iteration within the newest stretch, or before
// what follows it; earlier than one cut the recording, if one did.
func (t *talk) isLate() bool {
	at, cancels := t.CancelAt(t.waiting)
	if !cancels || t.p.End < at || t.p.End == at && !t.asks {
		return false
	}
	if !t.cutLast {
		return true
	}
	at, _ = t.clipsAt(t.p)
	return at < t.p.recorded.End
}

// refuses asks the budget for the calls of a stretch.
func (t *talk) refuses(s *stop.Stretch) (before record.Reason) {
	from := s.Calls - 1
	if s.Tools {
		from = s.Calls
		for from > 0 && t.p.Calls[from-1].Role == record.RoleDelegate {
			from--
		}
	}
	for i := from; i < s.Calls; i++ {
		c := &t.p.Calls[i]
		refused, unknown := t.reserve(c.Reserved, t.reserves(c, true))
		switch {
		case unknown != "":
			return t.branches(unknown)
		case refused == "":
			t.charged = t.charged.Plus(c.ChargedToRun())
		case c.Role == record.RoleDelegate:
			return t.branches("the budget has no room for a call of a delegate, and the record does not have what follows")
		case i == 0:
			return refused
		default:
			t.p.clipped(stop.ClipBefore(t.p.Iteration, i))
			t.p.cut(refused)
			return ""
		}
	}
	return ""
}

// refusesNext asks the budget for the call to which nobody would have answered.
func (t *talk) refusesNext() (before record.Reason) {
	next := t.run.Next
	if next == nil {
		next = &record.Next{}
	}
	refused, unknown := t.reserve(next.Reserved, true)
	if unknown != "" {
		return t.branches(unknown)
	}
	if refused != "" {
		t.p.clipped(stop.ClipAfter(t.p.Iteration, len(t.p.Steps)))
		t.p.cut(refused)
	}
	return ""
}

// watches asks the guards that look at steps. At the end of a conversation they
// cut nothing.
func (t *talk) watches(step int) {
	sofar := *t.p.Iteration
	stop.ClipAfter(&sofar, step)
	if reason := t.AfterStep(&sofar); reason != "" && t.goesOn {
		t.p.clipped(stop.ClipAfter(t.p.Iteration, step))
		t.p.cut(reason)
	}
}

// clipped is a conversation as far as something lets it go.
func (p *pass) clipped(made stop.Made) {
	p.End, p.Working = made.End, made.Working
}

// wholeLast reports whether the last step of a recorded conversation was made whole,
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

// says reports whether a step says something to the user: it calls no tool, or the one
// for that.
func says(used []record.ToolCall) bool {
	return len(used) == 0 || slices.ContainsFunc(used, func(c record.ToolCall) bool { return c.Tool == "converse" && c.Error == nil })
}

// asksUser reports whether the user's turn would follow the last stretch of a conversation.
func (w *walk) asksUser(step stop.Step, it *record.Iteration, last *stop.Stretch) bool {
	n := len(it.Steps)
	if w.target.User == nil || n == 0 || last.Step != n || it.Ended != nil || !says(ofLastStep(it)) {
		return false
	}
	byUser := !last.Tools && it.Calls[last.Calls-1].Role == record.RoleUser
	return !byUser && n < w.target.Steps(w.target.Stages()[step.StageIndex()].Agent)
}
