package replay

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// end is where the record ends and the configuration goes on.
func (w *walk) end(step stop.Step) Result {
	next := w.run.Next
	if next == nil || next.Role == record.RoleJudge {
		next = &record.Next{} // nothing is known of what the agent would have been sent
	}
	waiting := &record.Iteration{Phase: next.Phase, Strategy: next.Strategy, Request: next.Request}
	if w.ranDry() {
		return w.dry(step, waiting, next)
	}
	if next.Reserved != nil {
		if refused, unknown := w.reserve(next.Reserved, true); unknown == "" && refused != "" {
			return w.stopsBefore(step, waiting, refused)
		}
	}
	if w.run.Outcome.Reason == record.ReasonUnknown {
		return w.censored(step.Iteration, "the recording ended here, and the log does not say why")
	}
	return w.censored(step.Iteration, fmt.Sprintf("the recording ended here: %s", w.run.Outcome.Reason))
}

// ranDry says that the agent had nothing more to give, which it says before an
// iteration.
func (w *walk) ranDry() bool {
	if w.run.Outcome.Reason != record.ReasonAgentEnded {
		return false
	}
	n := len(w.run.Iterations)
	return n == 0 || w.run.Iterations[n-1].Ended == nil
}

// dry asks the agent once more. A budget comes before it.
func (w *walk) dry(step stop.Step, waiting *record.Iteration, next *record.Next) Result {
	model := w.differ.stages[step.StageIndex()].model
	refused, unknown := w.reserve(next.Reserved, model)
	switch {
	case unknown != "":
		return w.branches(step.Iteration, unknown)
	case refused != "":
		return w.stopsBefore(step, waiting, refused)
	}
	return w.stopsBefore(step, waiting, record.ReasonAgentEnded)
}

// stopsBefore ends the run before an iteration, if the request is the one that
// was not answered.
func (w *walk) stopsBefore(step stop.Step, waiting *record.Iteration, reason record.Reason) Result {
	if why := w.sendsOther(step, waiting); why != "" {
		return w.branches(step.Iteration, why)
	}
	return w.exact(w.state.StopBefore(reason))
}
