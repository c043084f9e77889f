package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Offline is a loop that can tell what it would send, but has nothing that could
// send it: it needs no model and no key. It must not be run.
func Offline(l *spec.Loop) *loop.Loop {
	nobody := &Parts{offline: true, options: BuildOptions{Getenv: func(string) string { return "" }}, servers: map[*spec.Loop]*serverNames{}}
	stages, _ := nobody.stages(l)
	return &loop.Loop{Rules: stop.Compile(l), Param: l.Param, Stages: stages}
}

// Replay holds a configuration against runs that were recorded under another,
// with requests rendered and outputs judged again. Announced are the paths of
// parameters that the recorded agent was told other than in its requests.
func Replay(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	return replay.New(recorded, target, replay.Options{Renderer: Offline(target), Judge: judge(target), Announced: announced})
}

// Replaying makes replays as Replay does, which know states of workspaces that were found before. With evaluate they run the tests of the loop in states that the
// recording kept and did not evaluate, and find them. They call no model.
func (p *Parts) Replaying(found loop.Found, evaluate bool) func(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	return p.replaying(found, evaluate, false)
}

// replaying is Replaying, or, where it leaves states, without an evaluation of those that cannot be evaluated.
func (p *Parts) replaying(found loop.Found, evaluate, leaves bool) func(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	return func(recorded, target *spec.Loop, announced ...string) *replay.Replay {
		o := replay.Options{Renderer: Offline(target), Judge: judge(target), Announced: announced}
		leaves := leaves && target.Evaluate.Elsewhere() != ""
		if target.Workspace != nil {
			o.Left = p.left(target)
		}
		if target.Workspace != nil && target.Evaluate != nil && (leaves || target.Evaluate.Judge == nil) {
			states := &loop.States{Found: found, Leaves: leaves, Anew: !replay.EvaluatesByState(target), By: evaluatorHash(target)}
			var wrong error
			if evaluate {
				states.Evaluator, wrong = p.evaluator(target)
			}
			var err error
			if states.Workspaces, err = p.Workspaces(target); cmp.Or(err, wrong) == nil {
				o.States = states
			}
		}
		return replay.New(recorded, target, o)
	}
}

// left reads agent.output of states of a loop's workspaces.
func (p *Parts) left(l *spec.Loop) func(context.Context, *record.Run, *spec.Task, *spec.Agent, string) (json.RawMessage, error) {
	return func(ctx context.Context, run *record.Run, task *spec.Task, a *spec.Agent, tree string) (json.RawMessage, error) {
		workspaces, err := p.Workspaces(l)
		if err != nil {
			return nil, err
		}
		state, err := workspaces.State(ctx, run.Seed, tree)
		if err != nil {
			return nil, err
		}
		output, _ := agent.Left(ctx, a, task, state)
		return output, nil
	}
}

// evaluatorHash is the same of loops that evaluate alike.
func evaluatorHash(l *spec.Loop) string {
	h := sha256.New()
	fmt.Fprintf(h, "pattern %v\n", l.Pattern)
	for _, v := range l.Values() {
		if strings.HasPrefix(v.Path, "evaluate") || strings.HasSuffix(v.Path, "agent.output") || strings.HasPrefix(v.Path, "workspace") && v.Class == spec.ChangesPath {
			fmt.Fprintf(h, "%s %v\n", v.Path, v.Value)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Cutting ends recorded runs of programs at limits of steps: what is left in their workspaces by then is
// evaluated, and found, unless that takes more than the state. A run is nil where it is not known how it would end, and why.
func (p *Parts) Cutting(found loop.Found) func(ctx context.Context, l *spec.Loop, run *record.Run, task *spec.Task, limit int) (made *record.Run, why string) {
	type limited struct {
		loop  *spec.Loop
		limit int
	}
	var mu sync.Mutex
	replays, replaying := map[limited]*replay.Replay{}, p.replaying(found, true, true)
	under := func(l *spec.Loop, limit int) (*replay.Replay, error) {
		mu.Lock()
		defer mu.Unlock()
		key := limited{l, limit}
		if replays[key] == nil {
			target, faults := l.With(spec.Assignment{Path: "guards.budget.steps", Value: source.New(l.Tree, limit)})
			if target == nil {
				return nil, faults
			}
			replays[key] = replaying(l, target)
		}
		return replays[key], nil
	}
	return func(ctx context.Context, l *spec.Loop, run *record.Run, task *spec.Task, limit int) (*record.Run, string) {
		r, err := under(l, limit)
		if err != nil {
			return nil, err.Error()
		}
		result, made := r.AsIf(ctx, run, task)
		return made, result.Why
	}
}

// judge judges as a loop does; nil where the loop judges nothing.
func judge(l *spec.Loop) replay.Judge {
	if l.Evaluate == nil {
		return nil
	}
	return loop.Again{Evaluator: &loop.DeclaredEvaluator{Spec: l.Evaluate, Pattern: l.Pattern}, Programs: hasPrograms(l)}
}

func hasPrograms(l *spec.Loop) bool {
	for _, s := range l.Stages() {
		if s.Agent.Model == "" {
			return true
		}
	}
	return false
}
