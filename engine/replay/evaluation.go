package replay

import (
	"github.com/agentbench/agentbench/engine/record"
)

// judge evaluates an iteration.
func (w *walk) judge(p *pass) {
	recorded := p.recorded
	switch {
	case p.ended:
		w.evaluateState(p)
	case p.Cut == "" && w.neverEvaluated(recorded):
		if p.judged < len(recorded.Calls) {
			w.branches("the recording evaluated this iteration with calls")
		}
	case w.differ.evaluation.why != "" && (p.Cut != "" || p.judged < len(recorded.Calls) || w.judgeCut(recorded)):
		w.branches(w.differ.evaluation.why)
	case p.Cut != "": // as the recorded one was, at the same moment: it left the same files
		p.Calls, p.Evaluation, p.Error, p.Confidence = recorded.Calls, recorded.Evaluation, recorded.Error, recorded.Confidence
		p.End, p.Working = recorded.End, recorded.Working
		w.clock(p)
	default:
		if w.askJudges(p); p.Cut == "" && w.open.Verdict == "" {
			w.evaluate(p)
		}
	}
}

// judgeCut reports whether the recording was cut inside the evaluation, so that the
// agent came to its end.
func (w *walk) judgeCut(recorded *record.Iteration) bool {
	return recorded.Cut != "" && recorded.Cut != string(record.ReasonMaxSteps) && w.run.Next != nil && w.run.Next.Role == record.RoleJudge
}

// askJudges makes the calls of the evaluation.
func (w *walk) askJudges(p *pass) {
	refused, why := w.calls(p, p.judged, len(p.recorded.Calls))
	if why != "" {
		w.branches(why)
		return
	}
	cut, unknown := w.overdue(p)
	switch {
	case cut || unknown != "":
	case refused != "":
		p.cut(refused)
	case p.recorded.Cut != "":
		w.recordedCut(p)
	}
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

// failedJudging reports whether the evaluation failed, not the agent.
func (p *pass) failedJudging() bool {
	it := p.recorded
	switch {
	case it.Error == nil || p.follows.unfinished:
		return false
	case p.judged < len(it.Calls), it.Error.Class == record.Unjudged:
		return true
	}
	return it.Error.Class == record.Expression && len(it.Calls) > 0 // the prompt's comes before any call
}

// evaluate gives the iteration its evaluation: the recorded one, or that of a
// Judge.
func (w *walk) evaluate(p *pass) {
	why := w.judgesOther(p)
	if p.follows.usedUp != nil && why == "" {
		why = reached
	}
	if why == "" {
		p.Evaluation = p.recorded.Evaluation
		p.Fail(p.recorded.Error)
		return
	}
	if w.options.Judge != nil {
		if evaluation, failure, ok := w.options.Judge.Judge(w.ctx, w.task, p.recorded, w.State); ok {
			p.Evaluation = evaluation
			p.Fail(failure)
			return
		}
	}
	w.branches(why)
}

// judgesOther is the reason why the configuration may evaluate a recorded iteration
// otherwise; "": it does not.
func (w *walk) judgesOther(p *pass) string {
	e, recorded := &w.differ.evaluation, p.recorded
	moved := w.restaged || p.Phase != recorded.Phase || p.Strategy != recorded.Strategy
	switch {
	case e.why != "":
		return e.why
	case recorded.Evaluation == nil && recorded.Error == nil:
		return "the recording does not evaluate this iteration"
	case w.rejudged && e.readsJudging:
		return "the evaluation reads earlier ones, and they differ"
	case moved && e.readsStage:
		return "the evaluation reads where the loop stands, and that differs"
	}
	return ""
}
