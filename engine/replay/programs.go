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
func (w *walk) refusedCall(p *pass) (at int, reason record.Reason) {
	recorded := p.recorded
	limits, any := w.rules.CallLimits()
	within := w.differ.stages[p.step.StageIndex()].within
	for i := 0; (any || w.LooksAtSteps() || within != stop.CallLimits{}) && i < p.judged; i++ {
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
			reason = limits.Refuses(w.callsBefore(p, i), c)
		}
		if reason == "" {
			sofar := *recorded
			sofar.Steps = recorded.Steps[:stop.WholeSteps(recorded, i)]
			reason = w.AfterStep(&sofar)
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
	if !w.LooksAtSteps() || !recorded.ToolsUnknown() {
		return ""
	}
	return "the recording does not have the tools that its program used"
}

// callsBefore are the calls of the run that its limits count when one arrives: those of
// programs stand in the order in which they arrived.
func (w *walk) callsBefore(p *pass, at int) (before []record.Call) {
	for i := range w.made.Iterations[:p.step.Iteration-1] {
		before = append(before, w.made.Iterations[i].Calls...)
	}
	before = append(before, p.recorded.Calls[:at]...)
	return slices.DeleteFunc(before, func(c record.Call) bool { return c.Conversation == "" })
}

// refusedNextStep is the guard that looks at steps and refuses the call of a program that was refused when the run was recorded;
// "": none does.
func (w *walk) refusedNextStep(recorded *record.Iteration) record.Reason {
	next := w.run.Next
	if !w.LooksAtSteps() {
		return ""
	}
	sofar := *recorded
	sofar.Calls = append(slices.Clip(sofar.Calls), record.Call{Conversation: next.Conversation, Kind: next.Kind, Arrived: next.Arrived})
	sofar.Steps = recorded.Steps[:stop.WholeSteps(&sofar, len(recorded.Calls))]
	return w.AfterStep(&sofar)
}

// endProgram ends the program of an iteration at one of its calls, which is not made. What it
// left is the state that was kept when the call arrived.
func (w *walk) endProgram(p *pass, at int, reason record.Reason) record.Reason {
	refused, stage := &p.recorded.Calls[at], &w.differ.stages[p.step.StageIndex()]
	switch {
	case reason == record.ReasonError:
		return w.branches(stage.within.MainUnknown(p.recorded.Calls[:at], refused))
	case stage.refuses:
		return w.branches("with on_limit: refuse the program continues after the call that a limit refuses")
	case p.recorded.Workspace == nil:
	case refused.Tree == "":
		return w.branches(fmt.Sprintf("the state of the workspace when call %d of the program arrived was not kept: record with workspace: {snapshot: step}", at))
	default:
		p.Workspace = &record.Workspace{Tree: refused.Tree}
	}
	w.halt(p, p.recorded.Calls[:at], refused.Arrived)
	p.Steps, p.ToolCalls = stop.StepsBy(p.recorded, at, refused.Arrived)
	p.ended = true
	p.cut(reason)
	w.unsaid(p)
	return ""
}

// endedBySteps is an iteration that agent.max_steps of the recording ended. The configuration ends it too if it refuses the same
// call: one of the main conversation, if these alone counted, else one that may be of any.
func (w *walk) endedBySteps(p *pass) record.Reason {
	pair := p.pair
	next := record.Call{Kind: record.AgentCall, Arrived: p.recorded.End}
	if pair.recordedWithin.MainSteps > 0 {
		next.Kind = record.MainCall
	}
	if pair.within != pair.recordedWithin && pair.within.EndsIteration(p.recorded.Calls, &next) == "" {
		return w.branches("it would make a call that agent.max_steps of the recording refused")
	}
	p.cut(record.ReasonMaxSteps)
	return ""
}

// halt ends the program of an iteration at a time, by which it had made some of its calls.
func (w *walk) halt(p *pass, calls []record.Call, at time.Duration) {
	p.late, p.End = true, at
	if p.recorded.OfProgram() {
		p.Steps, p.ToolCalls = stop.StepsBy(p.recorded, len(calls)-1, at)
	}
	p.Calls = slices.Clone(calls)
	for i := range p.Calls {
		c := &p.Calls[i]
		p.cancel(c)
		w.charged = w.charged.Plus(c.ChargedToRun())
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
func (w *walk) timeOut(p *pass, at time.Duration) record.Reason {
	tree, known := w.stateAt(p, at)
	if !known {
		return w.censored("a timeout ends the program, and what it had left in its workspace by then is not known")
	}
	w.halt(p, begunBy(p.Calls, at), at)
	p.ended = true
	p.cut(record.ReasonTimeout)
	w.unsaid(p)
	p.Workspace = &record.Workspace{Tree: tree}
	return ""
}

// overtime is when agent.timeout kills the program of an iteration; ok is false where the program ends
// before that.
func (w *walk) overtime(p *pass) (at time.Duration, ok bool) {
	recorded := p.recorded
	if len(recorded.Calls) == 0 || recorded.Calls[0].Role != record.RoleProgram {
		return 0, false
	}
	pair := p.pair
	limit, c := cmp.Or(pair.timeout, spec.DefaultProgramTimeout), &recorded.Calls[0]
	return c.Start + limit, limit != cmp.Or(pair.recordedTimeout, spec.DefaultProgramTimeout) && c.Duration >= limit
}

// killProgram kills the program of an iteration that takes longer than it may. The iteration fails; what
// it left is where the next one would begin.
func (w *walk) killProgram(p *pass, at time.Duration) record.Reason {
	program := &p.recorded.Calls[0]
	tree, known := w.stateAt(p, at)
	if !known && p.Workspace != nil && slices.ContainsFunc(Reads(w.target), func(path string) bool { return strings.HasPrefix(path, "workspace") }) {
		return w.censored("agent.timeout ends the program, and what it had left in its workspace by then is not known")
	}
	w.halt(p, begunBy(p.recorded.Calls, at), at)
	failed := record.Errorf(record.Program, "the program %q took longer than %v and was killed", program.Model, at-program.Start)
	p.Calls[0].Error = failed
	w.unsaid(p)
	p.Fail(failed)
	p.killed = true
	if p.Workspace != nil {
		p.Workspace = &record.Workspace{Tree: tree}
	}
	return ""
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
	recorded := p.recorded
	before, waiting, after := w.treeBefore(p), false, ""
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
func (w *walk) treeBefore(p *pass) string {
	if p.step.Iteration == 1 || p.recorded.Workspace != nil && p.recorded.Workspace.Reset {
		return w.run.Seed
	}
	if last := w.run.Iterations[p.step.Iteration-2].Workspace; last != nil {
		return last.Tree
	}
	return ""
}

// leave gives an iteration whose program a limit ended the output that its agent declares of the workspace.
func (w *walk) leave(p *pass) record.Reason {
	a := w.target.Stages()[p.step.StageIndex()].Agent
	if p.Workspace == nil || a.Output == nil {
		return ""
	}
	const unknown = "agent.output of what it had left by then is not known"
	if w.options.Left == nil {
		return w.branches(unknown)
	}
	var err error
	if p.Output, err = w.options.Left(w.ctx, w.run, w.task, a, p.Workspace.Tree); err != nil {
		return w.branches(unknown + ": " + err.Error())
	}
	return ""
}

// evaluateState judges what a program left that a limit ended where the recording's went on.
func (w *walk) evaluateState(p *pass) {
	if w.options.States != nil {
		if evaluation, failure, took, ok := w.options.States.Evaluate(w.ctx, w.run, w.task, p.Iteration, w.State); ok {
			p.Evaluation = evaluation
			p.Fail(failure)
			w.Take(p.Iteration, took, 0)
			return
		}
	}
	switch e := w.target.Evaluate; {
	case e.Judge != nil:
		w.branches("what it had left by then was not shown to the judge")
	case e.Elsewhere() != "":
		w.branches("what it had left by then was not evaluated, and cannot be: " + e.Elsewhere())
	default:
		w.branches("what it had left by then was not evaluated: it is, with --evaluate --suite SUITE")
	}
}
