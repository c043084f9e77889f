package stop

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// CallLimits are limits of a run, or of one iteration, that decide about each call that a program makes, at the moment when it arrives. Zero means no
// limit.
type CallLimits struct {
	Limits
	Steps     int // over all conversations
	MainSteps int // of the main conversation, see MainUnknown
}

// CallLimits are the limits that decide about calls of programs; ok is false where there are none.
func (r *Rules) CallLimits() (limits CallLimits, ok bool) {
	if r.budget == nil {
		return limits, false
	}
	limits.Steps = int(r.budget.Steps)
	if r.budget.Hard {
		limits.Limits = LimitsOf(r.budget)
	}
	return limits, limits != CallLimits{}
}

// IterationLimits is agent.max_steps of a program that calls models. Unlike the limits of a run it counts the calls of one
// iteration, and ends that iteration only; zero: the agent has no such limit.
func IterationLimits(a *spec.Agent) (limits CallLimits) {
	switch {
	case len(a.Models) == 0:
	case a.StepsOf == spec.StepsOfMain:
		limits.MainSteps = a.MaxSteps
	default:
		limits.Steps = a.MaxSteps
	}
	return limits
}

// MainUnknown is why the main conversation of an iteration, whose steps alone count, is not known when a call arrives; "": it is.
func (l *CallLimits) MainUnknown(before []record.Call, next *record.Call) string {
	if l.MainSteps == 0 || next.Kind != record.MainCall ||
		!slices.ContainsFunc(before, func(c record.Call) bool { return c.Kind == record.MainCall && c.Conversation != next.Conversation }) {
		return ""
	}
	return "agent.steps_of: main cannot be counted: the program began a second conversation, which may be a sub-agent's; write steps_of: all"
}

// EndsIteration is the reason for which the iteration ends, before a call that arrives after others of the iteration; "": it goes
// on.
func (l *CallLimits) EndsIteration(before []record.Call, next *record.Call) record.Reason {
	if *l != (CallLimits{}) && l.Refuses(before, next) != "" {
		return record.ReasonMaxSteps
	}
	return ""
}

// Refuses is the reason for which a call is refused that arrives after others of its run; "": it is admitted. What has ended by then
// counts with what was charged for it, what is in flight with what was reserved. The call itself counts with its reservation.
// A call that is no step is never refused for steps.
func (l *CallLimits) Refuses(before []record.Call, next *record.Call) record.Reason {
	steps, mainSteps := 0, 0
	if next.Kind.IsStep() {
		steps = 1
	}
	if next.Kind == record.MainCall {
		mainSteps = 1
	}
	for i := range before {
		c := &before[i]
		if !isStep(c, next) {
			continue
		}
		steps++
		if c.Kind == record.MainCall {
			mainSteps++
		}
	}
	if next.Kind.IsStep() && l.Steps > 0 && steps > l.Steps || next.Kind == record.MainCall && l.MainSteps > 0 && mainSteps > l.MainSteps {
		return record.ReasonBudgetSteps
	}
	used := NeededFor(before, next)
	return l.Short(used)
}

// isStep reports whether a call counts as a step when another one arrives. That it was too long for its server, and is none, is known
// when it has ended.
func isStep(c, next *record.Call) bool {
	return c.Kind.IsStep() && (c.Step > 0 || c.Ended == 0 || c.Ended > next.Arrived)
}

// NeededFor is how much a budget has to hold so that a call is admitted that arrives after others.
func NeededFor(before []record.Call, next *record.Call) record.Usage {
	used := reservedFor(next)
	for i := range before {
		used = used.Plus(chargedAt(&before[i], next))
	}
	return used
}

// chargedAt is what a call counts with when another one arrives.
func chargedAt(c, next *record.Call) record.Usage {
	ended := c.Conversation == "" || c.Ended > 0 && c.Ended <= next.Arrived // calls that no program makes are made one after the other
	switch {
	case !ended:
		return reservedFor(c)
	case c.Charged != nil:
		return *c.Charged
	}
	return c.Usage
}

func reservedFor(c *record.Call) record.Usage {
	if c.Reserved == nil {
		return record.Usage{Calls: 1}
	}
	return *c.Reserved
}

// WholeSteps is how many steps of a program's iteration are whole when a call of it arrives, whose index is given: the conversation of
// each has gone on, and told what its tools gave. The steps stand in the order in which they became whole.
func WholeSteps(it *record.Iteration, arrives int) int {
	for n := range it.Steps {
		if !followed(it, it.Steps[n].Call-1, arrives) {
			return n
		}
	}
	return len(it.Steps)
}

// followed reports whether the next step of the conversation of a call arrives after that was answered, at the latest with the call of
// an index. Where calls of one conversation overlap, only the latest is followed.
func followed(it *record.Iteration, call, arrives int) bool {
	if call < 0 || call >= len(it.Calls) {
		return false
	}
	in := it.Calls[call].Conversation
	for i := call + 1; i <= arrives && i < len(it.Calls); i++ {
		if c := &it.Calls[i]; c.Conversation == in && c.Kind.IsStep() {
			return it.Calls[call].Ended > 0 && it.Calls[call].Ended <= c.Arrived
		}
	}
	return false
}

// StepsBy are the steps of a program that was ended at a time, when its call of an index arrived or was the next to arrive; and the
// tools that it used. Of those that are not whole nobody knows what their tools gave.
func StepsBy(it *record.Iteration, arrives int, at time.Duration) (steps []record.Step, tools []record.ToolCall) {
	whole, before := WholeSteps(it, arrives), 0
	var open []record.Step
	used := map[int][]record.ToolCall{}
	for n := range it.Steps {
		s := it.Steps[n]
		of := it.ToolCalls[min(before, len(it.ToolCalls)):min(before+s.Tools, len(it.ToolCalls))]
		before += s.Tools
		if n < whole {
			steps, tools = append(steps, s), append(tools, of...)
		} else if s.Call < 1 || s.Call > len(it.Calls) { // a damaged record
			continue
		} else if c := &it.Calls[s.Call-1]; c.Ended > 0 && c.Ended <= at {
			open, used[s.Call] = append(open, s), of
		}
	}
	slices.SortFunc(open, func(a, b record.Step) int { return cmp.Compare(a.Call, b.Call) })
	for _, s := range open {
		steps = append(steps, s)
		for _, c := range used[s.Call] {
			tools = append(tools, record.ToolCall{Tool: c.Tool, ID: c.ID, Arguments: c.Arguments, Start: c.Start})
		}
	}
	return steps, tools
}
