package loop

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Again judges recorded outputs by another configuration's evaluation, for
// replay. It makes no calls.
type Again struct {
	Evaluator *DeclaredEvaluator
	// Programs says that programs execute iterations. What one says of its own
	// confidence is not in the record.
	Programs bool
}

// Judge judges the last iteration of a history, of which the recorded one is
// given. Ok is false where the evaluation asks a judge or a program, or where the
// record does not tell enough.
func (a Again) Judge(ctx context.Context, task *spec.Task, it *record.Iteration, state *stop.State) (v *record.Evaluation, failure *record.Error, ok bool) {
	if !a.can(it) {
		return nil, nil, false
	}
	trial := &Trial{Scope: state, Task: task, Iteration: it.N}
	trial.Output, _ = state.Lookup("output")
	if it.Evaluation != nil {
		trial.Fault = it.Evaluation.Fault
	}
	v, _, err := a.Evaluator.Evaluate(ctx, trial)
	if err == nil || errors.As(err, &failure) {
		return v, failure, true
	}
	return nil, nil, false
}

// can says whether the output alone decides. Whether a reply was the JSON that it
// was to be only an evaluation tells.
func (a Again) can(it *record.Iteration) bool {
	e := a.Evaluator.Spec
	judged := it.Evaluation != nil || it.Error != nil && it.Error.Class == record.Unjudged
	own := a.Programs && e.Confidence == nil && len(e.Checks) == 0
	unreadable := it.Evaluation != nil && it.Evaluation.Fault != "" // nobody is asked about that
	return judged && (unreadable || e.Judge == nil && e.Command == nil && !own)
}
