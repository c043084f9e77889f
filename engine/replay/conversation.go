package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
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
	run.Iterations = append(run.Iterations[:w.State.Len():w.State.Len()], *recorded)
	trace, _, err := w.Renderer.Retrace(w.ctx, w.task, step, w.State, &run)
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
		t.goesOn = i+1 < len(stretches) || w.cutBetween(recorded) && t.whole && !w.follows.over || w.follows.ranOut || w.follows.why == oneMore
		t.asks = t.goesOn || w.asksUser(p.step, recorded, s)
		t.cutLast = recorded.Cut == string(record.ReasonTimeout) && i+1 == len(stretches) && !w.judgeCut(recorded)
		last := i+1 == len(stretches) || stretches[i+1].Step != s.Step
		if before = t.stretch(s, last); before != "" || p.Cut != "" {
			return before
		}
	}
	if w.follows.why != "" {
		return w.branches(w.follows.why)
	}
	if w.follows.ranOut {
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
	if t.follows.why != "" && step > t.follows.steps {
		return t.branches(t.follows.why)
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
			t.charge(c)
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

// sendsOther says why the configuration would not have made the recorded
// iteration: it would send something else, or treat the answer in another way.
// "": it would have.
func (w *walk) sendsOther(step stop.Step, recorded *record.Iteration) string {
	pair, ok := w.differ.pair(step.StageIndex(), recorded)
	switch {
	case !ok:
		return fmt.Sprintf("the recorded loop has no stage %q", recorded.Phase+recorded.Strategy)
	case pair.hidden != "":
		return pair.hidden
	case w.shortened:
		return anew
	case !pair.kills(recorded) && !pair.inTime(recorded):
		return "agent.timeout decides on a call that took this long"
	case w.lacksSteps(pair, recorded):
		return "the recording does not have the steps of its conversation"
	}
	w.converses = pair.converses
	if w.converses {
		return w.talksOther(step, recorded, pair)
	}
	if w.Renderer != nil {
		if why, known := w.rendersOther(step, recorded); known {
			return because(why, pair)
		}
	}
	return w.declaresOther(step, recorded, pair)
}

// lacksSteps reports whether an agent that converses answered, and nobody knows how it
// came to that: an import, or a loop that did not converse, made the record.
func (w *walk) lacksSteps(pair *pair, recorded *record.Iteration) bool {
	return pair.converses && len(recorded.Steps) == 0 && len(recorded.Output) > 0
}

// talksOther is sendsOther of an agent that converses: nothing of the iteration
// would be as recorded.
func (w *walk) talksOther(step stop.Step, recorded *record.Iteration, pair *pair) string {
	if w.Renderer == nil || len(sentIn(recorded)) == 0 {
		if why := w.declaresOther(step, recorded, pair); why != "" {
			return why
		}
	}
	w.follows = w.follow(step, recorded, pair)
	if w.follows.steps == 0 && (len(sentIn(recorded)) > 0 || neverAsked(recorded)) {
		return w.follows.why
	}
	return ""
}

const otherRequest = "it would send another request"

// because says of a request that differs what is declared otherwise.
func because(why string, p *pair) string {
	if why == otherRequest && p.shown != "" {
		return p.shown
	}
	return why
}

// rendersOther renders the request again. Known is false where that tells
// nothing, for instance because a log has no requests.
func (w *walk) rendersOther(step stop.Step, recorded *record.Iteration) (why string, known bool) {
	hash, err := w.Renderer.Request(w.ctx, w.task, w.run.Trial, step, w.State)
	var failure *record.Error
	switch {
	case errors.As(err, &failure) && recorded.Request == "" && recorded.Error != nil && *recorded.Error == *failure:
		return "", true
	case err != nil && recorded.Request != "":
		return "its prompt cannot be rendered: " + err.Error(), true
	case err != nil || hash == "" || recorded.Request == "":
		return "", false
	case hash != recorded.Request:
		return otherRequest, true
	}
	return "", true
}

// declaresOther compares what is declared, and what prompts read.
func (w *walk) declaresOther(step stop.Step, recorded *record.Iteration, pair *pair) string {
	switch {
	case step.Phase != recorded.Phase:
		return fmt.Sprintf("it would be in phase %q, not %q", step.Phase, recorded.Phase)
	case step.Strategy != recorded.Strategy:
		return fmt.Sprintf("it would try strategy %q, not %q", step.Strategy, recorded.Strategy)
	case pair.shown != "":
		return pair.shown
	case w.rejudged && pair.toldOfJudging:
		return "the agent gets evaluations, and they differ"
	}
	return ""
}

// inTime reports whether both limits on a call's time leave the recorded calls alone.
func (p *pair) inTime(recorded *record.Iteration) bool {
	if p.timeout == p.recordedTimeout {
		return true
	}
	for i := range recorded.Calls {
		c := &recorded.Calls[i]
		switch c.Role {
		case record.RoleJudge, record.RoleUser, record.RoleDelegate:
			continue
		}
		late := c.Error != nil && c.Error.Class == record.CallTimeout
		if late || exceeds(c.Duration, p.timeout) || exceeds(c.Duration, p.recordedTimeout) {
			return false
		}
	}
	return true
}

// kills reports whether a program of the recording was not killed before the configuration would
// kill it, so that it is known what it did until then.
func (p *pair) kills(recorded *record.Iteration) bool {
	if len(recorded.Calls) == 0 || recorded.Calls[0].Role != record.RoleProgram {
		return false
	}
	c := &recorded.Calls[0]
	limit, was := cmp.Or(p.timeout, spec.DefaultProgramTimeout), cmp.Or(p.recordedTimeout, spec.DefaultProgramTimeout)
	return limit <= was || c.Duration < was
}

// exceeds is cautious at the very moment.
func exceeds(took, limit time.Duration) bool { return limit > 0 && took >= limit }

// others are the tools and delegates of an agent that are other ones than in the
// recorded loop, by their names: why.
type others struct {
	tools    map[string]string
	timeouts map[string]timeouts
	servers  string // why those of servers are
}

// timeouts are those of a tool that differs in nothing else.
type timeouts struct{ target, recorded time.Duration }

// other says why a recorded call might have given something else.
func (o *others) other(c *record.ToolCall) string {
	if both, ok := o.timeouts[c.Tool]; ok && !both.inTime(c) {
		return fmt.Sprintf("the timeout of the tool %q differs, and it took this long", c.Tool)
	}
	if why := o.tools[c.Tool]; why != "" || c.Server == "" {
		return why
	}
	return o.servers
}

// inTime reports whether both timeouts leave a call alone.
func (t *timeouts) inTime(c *record.ToolCall) bool {
	limit := min(cmp.Or(t.target, spec.DefaultToolTimeout), cmp.Or(t.recorded, spec.DefaultToolTimeout))
	return c.Error == nil && c.Duration < limit
}

// conversation compares what two agents that converse do with what they are
// answered.
func (c *comparison) conversation(p *pair, t, r *spec.Agent) {
	p.tools = others{tools: map[string]string{}, timeouts: map[string]timeouts{}}
	for i := range t.Tools {
		if t.Tools[i].MCP == nil {
			p.tools.compare(&t.Tools[i], r.Tools)
		}
	}
	p.tools.compareServers(serversOf(t), serversOf(r))
	for i := range t.Delegates {
		p.tools.compareDelegate(&t.Delegates[i], r.Delegates)
	}
	if len(spec.Differences(c.target.User, c.recorded.User)) > 0 {
		p.shown, p.user = otherUser, true
		p.player = (modelOf(c.target.User) == "") != (modelOf(c.recorded.User) == "")
	}
}

const otherUser = "the user differs"

// modelOf is the model that plays a user, "" where none does.
func modelOf(u *spec.User) string {
	if u == nil {
		return ""
	}
	return u.Model
}

// compare finds a tool among the recorded ones.
func (o *others) compare(t *spec.Tool, recorded []spec.Tool) {
	name := nameOf(t)
	i := slices.IndexFunc(recorded, func(r spec.Tool) bool { return r.MCP == nil && nameOf(&r) == name })
	if i < 0 {
		return // the recorded agent could not call it
	}
	for _, d := range spec.Differences(t, &recorded[i]) {
		switch {
		case d.Path == "timeout":
			o.timeouts[name] = timeouts{t.Timeout, recorded[i].Timeout}
		case d.Class == spec.ChangesPath:
			o.tools[name] = fmt.Sprintf("%s of the tool %q differs, and it is called", d.Path, name)
		}
	}
}

// nameOf is what a model calls a tool by that is not of a server.
func nameOf(t *spec.Tool) string { return cmp.Or(t.Name, t.Builtin) }

func serversOf(a *spec.Agent) (servers []spec.Tool) {
	for i := range a.Tools {
		if a.Tools[i].MCP != nil {
			servers = append(servers, a.Tools[i])
		}
	}
	return servers
}

// compareServers compares servers in their order, from which they have their
// names. Which of their tools are used, the model is told.
func (o *others) compareServers(target, recorded []spec.Tool) {
	if len(target) != len(recorded) {
		o.servers = "the servers of tools differ, and one is called"
		return
	}
	for i := range target {
		t, r := target[i], recorded[i]
		for _, d := range spec.Differences(&t, &r) {
			if d.Class != spec.ChangesRequests {
				o.servers = fmt.Sprintf("%s of a server of tools differs, and it is called", d.Path)
			}
		}
	}
}

func (o *others) compareDelegate(d *spec.Delegate, recorded []spec.Delegate) {
	i := slices.IndexFunc(recorded, func(r spec.Delegate) bool { return r.Name == d.Name })
	if i < 0 {
		return
	}
	r := &recorded[i]
	for _, differs := range spec.Differences(d, r) {
		if differs.Class == spec.ChangesPath && (differs.Path != "loop" || d.Resolved == nil || r.Resolved == nil) {
			o.tools[d.Name] = fmt.Sprintf("%s of the delegate %q differs, and it is handed a task", differs.Path, d.Name)
		}
	}
	if d.Resolved != nil && r.Resolved != nil && d.Resolved.Hash() != r.Resolved.Hash() {
		o.tools[d.Name] = fmt.Sprintf("its loop of the delegate %q differs, and it is handed a task", d.Name)
	}
}

// userReads are the variables that a user's turns depend on.
func userReads(u *spec.User) []string {
	reads := append(readsOf(u.Script), readsOf(u.Until)...)
	if u.System != nil && u.System.Template != nil {
		reads = append(reads, u.System.Reads()...)
	}
	return reads
}

// looksAtSteps says which guard decides by the steps of an iteration, and so may
// cut it; "": none.
func looksAtSteps(l *spec.Loop) string {
	g := &l.Guards
	switch makesSteps := slices.ContainsFunc(l.Stages(), func(s spec.Stage) bool { return l.MakesSteps(s.Agent) }); {
	case g.Stagnation != nil && g.Stagnation.Scope == spec.ScopeStep && !g.Stagnation.Window.Off && !g.Stagnation.Times.Off:
		return "guards.stagnation looks at steps"
	case slices.ContainsFunc(g.Repeated, func(r spec.NamedRepeated) bool { return r.Scope == spec.ScopeStep && !r.Times.Off }):
		return "guards.repeated looks at steps"
	case slices.ContainsFunc(g.Consecutive, func(c spec.NamedConsecutive) bool { return c.Scope == spec.ScopeStep && !c.Times.Off }):
		return "guards.consecutive looks at steps"
	case makesSteps && g.CircuitBreaker != nil && !g.CircuitBreaker.Threshold.Off:
		return "guards.circuit_breaker looks at the errors of tools"
	}
	return ""
}
