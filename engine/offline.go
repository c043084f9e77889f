package engine

import (
	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/agent/a2a"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Offline is a loop that can tell what it would send, but has nothing that could
// send it: it needs no model and no key. It must not be run.
func Offline(l *spec.Loop) *loop.Loop {
	built, nobody := &loop.Loop{Rules: stop.Compile(l), Param: l.Param}, nobody()
	for _, s := range l.Stages() {
		var tells agent.Agent = &agent.Chat{ModelName: s.Agent.Model, Spec: s.Agent}
		switch {
		case l.Converses(s.Agent):
			tells = nobody.toldConversation(l, s.Agent)
		case s.Agent.HTTP != "":
			tells = &agent.Endpoint{Endpoint: external.Endpoint{URL: s.Agent.HTTP}, Spec: s.Agent}
		case s.Agent.A2A != "":
			tells = &a2a.Agent{Client: a2a.Told(s.Agent.A2A), Spec: s.Agent}
		case s.Agent.Model == "":
			tells = &agent.Program{Program: external.Program{Argv: s.Agent.Command}, Spec: s.Agent}
		}
		built.Stages = append(built.Stages, loop.Stage{Agent: tells, System: s.Agent.System, Prompt: s.Prompt})
	}
	return built
}

// Replay holds a configuration against runs that were recorded under another,
// with requests rendered and outputs judged again. Announced are the paths of
// parameters that the recorded agent was told other than in its requests.
func Replay(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	return replay.New(recorded, target, replay.Options{Renderer: Offline(target), Judge: judge(target), Announced: announced})
}

// ReplayDeclared is Replay where nobody knows the tasks: requests are compared as
// they are declared, and outputs judged again only by what does not read the
// task.
func ReplayDeclared(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	o := replay.Options{Announced: announced}
	if !replay.JudgesByTask(target) {
		o.Judge = judge(target)
	}
	return replay.New(recorded, target, o)
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
