package loop

import (
	"context"
	"errors"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Found is what is known of states that were kept when calls arrived. It is safe for
// concurrent use.
type Found interface {
	// Snapshot is what is known of a state of a run.
	Snapshot(run string, iteration int, key string) (known record.Snapshot, ok bool)
	// Find is told what was found of one, in the place of what was known of it.
	Find(record.Snapshot)
}

// States judges states of workspaces that a recording kept, for replay. It runs tests and
// programs, but asks no judge.
type States struct {
	// Evaluator evaluates; nil: only what was found before is known.
	Evaluator  *DeclaredEvaluator
	Workspaces *agent.Workspaces
	Found      Found
	// Leaves skips the evaluation of states whose evaluation needs more than the state.
	Leaves bool
	// Anew evaluates equal states each time, because the evaluation reads more than the state.
	Anew bool
	// By is the hash of what is evaluated by.
	By string
}

// Evaluate implements replay.States.
func (s *States) Evaluate(ctx context.Context, run *record.Run, task *spec.Task, it *record.Iteration, state *stop.State) (*record.Evaluation, *record.Error, time.Duration, bool) {
	left, err := s.Workspaces.State(ctx, run.Seed, it.Workspace.Tree)
	if err != nil {
		return nil, nil, 0, false
	}
	it.Workspace = left
	if s.Leaves {
		return nil, nil, 0, true
	}
	key, err := s.Workspaces.ScoreKey(left.Tree)
	if err != nil {
		return nil, nil, 0, false
	}
	found, known := s.Found.Snapshot(run.ID, it.N, key)
	if !known || s.Anew || found.Evaluator != s.By {
		if s.Evaluator == nil || s.Evaluator.Spec.Elsewhere() != "" {
			return nil, nil, 0, false
		}
		if found, known = s.evaluate(ctx, run, task, it, state); !known {
			return nil, nil, 0, false
		}
		if found.Key = key; !s.Anew {
			s.Found.Find(found)
		}
	}
	return found.Evaluation, found.Error, found.Took, true
}

// evaluate runs what the loop evaluates by.
func (s *States) evaluate(ctx context.Context, run *record.Run, task *spec.Task, it *record.Iteration, state *stop.State) (record.Snapshot, bool) {
	for _, declared := range []*spec.Command{s.Evaluator.Spec.Test, s.Evaluator.Spec.Command} {
		if declared != nil && s.Workspaces.FileOutside(run, declared.Argv, nil) != "" {
			return record.Snapshot{}, false
		}
	}
	found := record.Snapshot{Run: run.ID, Iteration: it.N, Evaluator: s.By}
	output, _ := state.Lookup("output")
	evaluation, calls, err := s.Evaluator.Evaluate(ctx, &Trial{
		Output: output, Scope: state, Task: task, Trial: run.Trial, Iteration: it.N, Workspace: &agent.Workspace{Workspaces: s.Workspaces}, Seed: run.Seed, State: it.Workspace,
	})
	if err != nil && (ctx.Err() != nil || !errors.As(err, &found.Error) || found.Error.Class.Fault()) {
		return found, false
	}
	found.Evaluation = evaluation
	for i := range calls {
		found.Took += calls[i].Duration
	}
	return found, true
}

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
	return judged && (unreadable || e.Judge == nil && e.Command == nil && e.Test == nil && !own)
}
