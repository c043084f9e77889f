package replay

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// evaluate gives the iteration its evaluation: the recorded one, or that of a
// Judge. Why says why nobody knows it.
func (w *walk) evaluate(step stop.Step, recorded, it *record.Iteration) (why string) {
	why = w.judgesOther(step, recorded)
	if w.usedUp && why == "" {
		why = reached
	}
	if why == "" {
		it.Evaluation = recorded.Evaluation
		it.Fail(recorded.Error)
		return ""
	}
	if w.Judge == nil {
		return why
	}
	it.Fail(nil)
	evaluation, failure, ok := w.Judge.Judge(w.ctx, w.task, recorded, w.state)
	if !ok {
		return why
	}
	it.Evaluation = evaluation
	it.Fail(failure)
	return ""
}

// judgesOther says why the configuration's evaluation of a recorded iteration may
// not be the recorded one.
func (w *walk) judgesOther(step stop.Step, recorded *record.Iteration) string {
	e := &w.differ.evaluation
	moved := w.restaged || step.Phase != recorded.Phase || step.Strategy != recorded.Strategy
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
