package stop

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// CallLimits are limits of a run, or of one iteration, that decide about each call that a program makes, at the moment when it arrives. Zero means no
// limit.
type CallLimits struct {
	Limits
	Steps     int // over all conversations
	MainSteps int // of the main conversation
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
		if c.Kind.IsStep() {
			steps++
		}
		if c.Kind == record.MainCall {
			mainSteps++
		}
	}
	used := NeededFor(before, next)
	switch {
	case next.Kind.IsStep() && l.Steps > 0 && steps > l.Steps,
		next.Kind == record.MainCall && l.MainSteps > 0 && mainSteps > l.MainSteps:
		return record.ReasonBudgetSteps
	case l.Cost > 0 && used.Unpriced > 0: // it may cost anything
		return record.ReasonBudgetCost
	}
	return l.Short(used)
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
