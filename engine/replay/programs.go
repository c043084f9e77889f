package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// refusedCall is the first call that a program made in the iteration and that the configuration refuses, by its place among the
// calls: for the limits of the iteration, those of the run, or a guard that looks at steps; the reason is "" where there is none, and an
// error where the limits cannot be counted.
func (w *walk) refusedCall(recorded *record.Iteration, judged int) (at int, reason record.Reason) {
	limits, any := w.rules.CallLimits()
	within := w.differ.stages[w.state.Next().StageIndex()].within
	watch := w.state.StepGuards()
	for i := 0; (any || watch != nil || within != stop.CallLimits{}) && i < judged; i++ {
		c := &recorded.Calls[i]
		if c.Conversation == "" {
			continue
		}
		if within.MainUnknown(recorded.Calls[:i], c) != "" {
			return i, record.ReasonError
		}
		if reason = within.EndsIteration(recorded.Calls[:i], c); reason != "" {
			return i, reason
		}
		if any {
			reason = limits.Refuses(w.callsBefore(recorded, i), c)
		}
		if reason == "" && watch != nil {
			sofar := *recorded
			sofar.Steps = recorded.Steps[:stop.WholeSteps(recorded, i)]
			reason = watch.Step(&sofar)
		}
		if reason != "" {
			return i, reason
		}
	}
	return 0, ""
}

// stepless says why guards that look at steps cannot be asked about an iteration: its record does not have what the program's
// calls were answered; "" where they can.
func (w *walk) stepless(recorded *record.Iteration) string {
	if w.state.StepGuards() == nil || !recorded.ToolsUnknown() {
		return ""
	}
	return "the recording does not have the tools that its program used"
}

// callsBefore are the calls of the run that its limits count when one arrives: those of
// programs stand in the order in which they arrived.
func (w *walk) callsBefore(recorded *record.Iteration, at int) (before []record.Call) {
	for _, it := range w.made {
		before = append(before, it.Calls...)
	}
	before = append(before, recorded.Calls[:at]...)
	return slices.DeleteFunc(before, func(c record.Call) bool { return c.Conversation == "" })
}

// refusedNextStep is the guard that looks at steps and refuses the call of a program that was refused when the run was recorded;
// "": none does.
func (w *walk) refusedNextStep(recorded *record.Iteration) record.Reason {
	next, watch := w.run.Next, w.state.StepGuards()
	if watch == nil || next == nil || next.Kind == "" {
		return ""
	}
	sofar := *recorded
	sofar.Calls = append(slices.Clip(sofar.Calls), record.Call{Conversation: next.Conversation, Kind: next.Kind, Arrived: next.Arrived})
	sofar.Steps = recorded.Steps[:stop.WholeSteps(&sofar, len(recorded.Calls))]
	return watch.Step(&sofar)
}

// endProgram ends the program of an iteration at one of its calls, which is not made. What it
// left is the state that was kept when the call arrived.
func (w *walk) endProgram(p *pass, recorded *record.Iteration, at int, reason record.Reason) {
	refused := &recorded.Calls[at]
	p.ended = true
	w.halt(p, recorded.Calls[:at], refused.Arrived)
	p.Steps, p.ToolCalls = stop.StepsBy(recorded, at, refused.Arrived)
	p.cut(reason)
	w.unsaid(p)
	stage := &w.differ.stages[w.state.Next().StageIndex()]
	switch {
	case reason == record.ReasonError:
		p.unknown = stage.within.MainUnknown(recorded.Calls[:at], refused)
	case stage.refuses:
		p.unknown = "with on_limit: refuse the program continues after the call that a limit refuses"
	case recorded.Workspace == nil:
	case refused.Tree == "":
		p.unknown = fmt.Sprintf("the state of the workspace when call %d of the program arrived was not kept: record with workspace: {snapshot: step}", at)
	default:
		p.Workspace = &record.Workspace{Tree: refused.Tree}
	}
}

// endedBySteps is an iteration that agent.max_steps of the recording ended. The configuration ends it too if it refuses the same
// call: one of the main conversation, if these alone counted, else one that may be of any.
func (w *walk) endedBySteps(p *pass, recorded *record.Iteration) {
	pair, _ := w.differ.pair(w.state.Next().StageIndex(), recorded)
	next := record.Call{Kind: record.AgentCall, Arrived: recorded.End}
	if pair.recordedWithin.MainSteps > 0 {
		next.Kind = record.MainCall
	}
	if pair.within == pair.recordedWithin || pair.within.EndsIteration(recorded.Calls, &next) != "" {
		p.cut(record.ReasonMaxSteps)
		return
	}
	p.unknown = "it would make a call that agent.max_steps of the recording refused"
}

// halt ends the program of an iteration at a time, by which it had made some of its calls.
func (w *walk) halt(p *pass, calls []record.Call, at time.Duration) {
	p.late, p.End = true, at
	if recorded := &w.run.Iterations[len(w.made)]; recorded.OfProgram() {
		p.Steps, p.ToolCalls = stop.StepsBy(recorded, len(calls)-1, at)
	}
	p.Calls = slices.Clone(calls)
	for i := range p.Calls {
		c := &p.Calls[i]
		p.cancel(c)
		w.charge(c)
		if c.Conversation == "" { // the program
			c.Duration, c.Stdout, c.Stderr, c.Exit, c.Error = p.End-c.Start, "", "", 0, nil
		}
	}
	p.Working = p.End - p.Start
}

// cancel cuts a call of a program that is in flight when the iteration ends.
func (p *pass) cancel(c *record.Call) {
	if c.Conversation != "" && (c.Ended == 0 || c.Ended > p.End) {
		*c = c.CutAt(p.End)
	}
}

// timeOut ends the program of an iteration at a time at which the loop's timeout cancels it. What it left counts.
func (w *walk) timeOut(p *pass, at time.Duration) {
	tree, known := w.stateAt(p, at)
	p.ended = true
	w.halt(p, begunBy(p.Calls, at), at)
	if !known {
		p.censored = "a timeout ends the program, and what it had left in its workspace by then is not known"
		return
	}
	p.cut(record.ReasonTimeout)
	w.unsaid(p)
	p.Workspace = &record.Workspace{Tree: tree}
}

// overtime is when agent.timeout kills the program of an iteration; ok is false where the program ends
// before that.
func (w *walk) overtime(p *pass, recorded *record.Iteration) (at time.Duration, ok bool) {
	if len(recorded.Calls) == 0 || recorded.Calls[0].Role != record.RoleProgram {
		return 0, false
	}
	pair, _ := w.differ.pair(w.state.Next().StageIndex(), recorded)
	limit, c := cmp.Or(pair.timeout, spec.DefaultProgramTimeout), &recorded.Calls[0]
	return c.Start + limit, limit != cmp.Or(pair.recordedTimeout, spec.DefaultProgramTimeout) && c.Duration >= limit
}

// killProgram kills the program of an iteration that takes longer than it may. The iteration fails; what
// it left is where the next one would begin.
func (w *walk) killProgram(p *pass, recorded *record.Iteration, at time.Duration) {
	program := &recorded.Calls[0]
	tree, known := w.stateAt(p, at)
	w.halt(p, begunBy(recorded.Calls, at), at)
	failed := record.Errorf(record.Program, "the program %q took longer than %v and was killed", program.Model, at-program.Start)
	p.Calls[0].Error = failed
	w.unsaid(p)
	p.Fail(failed)
	p.killed = true
	if p.Workspace == nil {
		return
	}
	p.Workspace = &record.Workspace{Tree: tree}
	if !known && slices.ContainsFunc(Reads(w.target), func(path string) bool { return strings.HasPrefix(path, "workspace") }) {
		p.censored = "agent.timeout ends the program, and what it had left in its workspace by then is not known"
	}
}

// begunBy are the calls that had begun before a time: those of a program stand in the order in which they
// arrived.
func begunBy(calls []record.Call, at time.Duration) []record.Call {
	end := slices.IndexFunc(calls, func(c record.Call) bool { return begun(&c) >= at })
	if end < 0 {
		end = len(calls)
	}
	return calls[:end]
}

func begun(c *record.Call) time.Duration {
	if c.Conversation != "" {
		return c.Arrived
	}
	return c.Start
}

// stateAt is the state of the workspace at a time within an iteration: that which the latest call found, if its
// answer had not begun and nothing else ran, or if the next state that was kept is the same.
func (w *walk) stateAt(p *pass, at time.Duration) (tree string, known bool) {
	recorded := &w.run.Iterations[len(w.made)]
	before, waiting, after := w.treeBefore(recorded), false, ""
	var in []string // the conversations so far
	for i := range recorded.Calls {
		c := &recorded.Calls[i]
		switch {
		case c.Conversation == "":
			continue
		case c.Arrived > at:
			after = c.Tree
		default:
			if !slices.Contains(in, c.Conversation) {
				in = append(in, c.Conversation)
			}
			before, waiting = c.Tree, len(in) == 1 && at < c.FirstByte
			continue
		}
		break
	}
	if after == "" && recorded.Workspace != nil && !slices.ContainsFunc(recorded.Calls, func(c record.Call) bool { return c.Arrived > at && c.Conversation != "" }) {
		after = recorded.Workspace.Tree
	}
	return before, before != "" && (waiting || before == after)
}

// treeBefore is the state in which an iteration finds its workspace, "" where that is not known.
func (w *walk) treeBefore(recorded *record.Iteration) string {
	if len(w.made) == 0 || recorded.Workspace != nil && recorded.Workspace.Reset {
		return w.run.Seed
	}
	if last := w.run.Iterations[len(w.made)-1].Workspace; last != nil {
		return last.Tree
	}
	return ""
}

// leave gives an iteration whose program a limit ended the output that its agent declares of the workspace.
func (w *walk) leave(step stop.Step, p *pass) (why string) {
	if !p.ended || p.Workspace == nil {
		return ""
	}
	a := w.target.Stages()[step.StageIndex()].Agent
	switch {
	case a.Output == nil:
		return ""
	case w.Left == nil:
		return "agent.output of what it had left by then is not known"
	}
	var err error
	if p.Output, err = w.Left(w.ctx, w.run, w.task, a, p.Workspace.Tree); err != nil {
		return "agent.output of what it had left by then is not known: " + err.Error()
	}
	return ""
}

// evaluateState judges what a program left that a limit ended where the recording's went on.
func (w *walk) evaluateState(_ stop.Step, _, it *record.Iteration) (why string) {
	why = "what it had left by then was not evaluated: it is, with --evaluate --suite SUITE"
	switch e := w.target.Evaluate; {
	case e.Judge != nil:
		why = "what it had left by then was not shown to the judge"
	case e.Elsewhere() != "":
		why = "what it had left by then was not evaluated, and cannot be: " + e.Elsewhere()
	}
	if w.States == nil {
		return why
	}
	evaluation, failure, took, ok := w.States.Evaluate(w.ctx, w.run, w.task, it, w.state)
	if !ok {
		return why
	}
	it.Evaluation, it.End, it.Working = evaluation, it.End+took, it.Working+took
	it.Fail(failure)
	return ""
}
