package spec

import (
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// checkLoop finds what is missing or does not go together in a loop whose keys and values are all allowed.
func (l *loader) checkLoop(loop *Loop) {
	l.checkStages(loop)
	l.checkPattern(loop)
	l.checkEvaluate(loop)
	l.checkConfidence(loop)
	l.checkLimits(loop)
	l.checkAgents(loop)
}

// unique refuses a second item of the same name.
func (l *loader) unique(what string, n int, item func(int) (name string, node *source.Node)) {
	first := map[string]*source.Node{}
	for i := range n {
		name, node := item(i)
		if name == "" || node == nil {
			continue
		}
		at := node
		if named := node.Get("name"); named != nil {
			at = named
		}
		if other, taken := first[name]; taken {
			l.fault(at, "give one of them another name", "the %s %q stands twice; first at line %d", what, name, other.Pos.Line)
			continue
		}
		first[name] = at
	}
}

func (l *loader) checkNames(loop *Loop) {
	l.unique("phase", len(loop.Phases), func(i int) (string, *source.Node) { return loop.Phases[i].Name, loop.Phases[i].Node })
	l.unique("strategy", len(loop.Strategies), func(i int) (string, *source.Node) { return loop.Strategies[i].Name, loop.Strategies[i].Node })
	guards := &loop.Guards
	l.unique("guard", len(guards.Repeated), func(i int) (string, *source.Node) { return guards.Repeated[i].Name, guards.Repeated[i].Node })
	l.unique("guard", len(guards.Consecutive), func(i int) (string, *source.Node) { return guards.Consecutive[i].Name, guards.Consecutive[i].Node })
	if e := loop.Evaluate; e != nil {
		l.unique("check", len(e.Checks), func(i int) (string, *source.Node) { return e.Checks[i].Name, e.Checks[i].Node })
	}
	for _, tools := range loop.toolLists() {
		l.unique("tool", len(tools), func(i int) (string, *source.Node) { return tools[i].called(), tools[i].Node })
		l.unique("server", len(tools), func(i int) (string, *source.Node) { return tools[i].server(), tools[i].Node })
	}
	for _, agent := range loop.agents() {
		l.unique("delegate", len(agent.Delegates), func(i int) (string, *source.Node) { return agent.Delegates[i].Name, agent.Delegates[i].Node })
	}
}

// executors are the keys of what executes an iteration.
func (a *Agent) executors() []string {
	var keys []string
	for key, given := range map[string]bool{"model": a.Model != "", "command": a.Command != nil, "http": a.HTTP != "", "a2a": a.A2A != ""} {
		if given {
			keys = append(keys, key)
		}
	}
	return keys
}

const executorHint = "an agent is one of model, command, http, a2a"

// checkStages wants one executor, and a prompt for a model, in every phase or strategy.
func (l *loader) checkStages(loop *Loop) {
	for _, agent := range loop.agents() {
		if len(agent.executors()) > 1 {
			l.fault(agent.Node, executorHint, "this agent is several things at once")
			return
		}
	}
	for i, stage := range loop.Stages() {
		at := loop.stageNode(i)
		switch {
		case len(stage.Agent.executors()) == 0:
			l.fault(at, executorHint, "%s has no agent", stage.called())
		case stage.Agent.Model != "" && stage.Prompt == nil:
			l.fault(at, `write prompt: "{{ task.input }}"`, "%s has no prompt", stage.called())
		}
	}
}

func (s *Stage) called() string {
	if s.Name == "" {
		return "the loop"
	}
	return "\"" + s.Name + "\""
}

// stageNode is where stage i is declared.
func (l *Loop) stageNode(i int) *source.Node {
	switch {
	case i < len(l.Phases):
		return l.Phases[i].Node
	case i-len(l.Phases) < len(l.Strategies):
		return l.Strategies[i-len(l.Phases)].Node
	}
	return l.Tree.Get("loop")
}

// checkPattern wants what a pattern cannot do without.
func (l *loader) checkPattern(loop *Loop) {
	pattern := loop.Tree.Get("pattern")
	switch {
	case len(loop.Strategies) > 0 && len(loop.Phases) > 0:
		l.fault(loop.Tree.Get("strategies"), "a loop has one of both", "this loop has phases and strategies")
	case len(loop.Strategies) > 0 && loop.Pattern != PatternMultiStrategy:
		l.fault(loop.Tree.Get("strategies"), "write pattern: multi_strategy", "strategies need the pattern multi_strategy")
	case loop.Pattern == PatternMultiStrategy && len(loop.Strategies) == 0:
		l.fault(pattern, "write strategies: [{name: first, prompt: ...}, ...]", "the pattern multi_strategy needs strategies")
	case loop.Pattern != PatternNone && loop.Evaluate == nil:
		l.fault(pattern, "write evaluate: with checks, confidence, a judge or a command", "the pattern %s needs evaluate", loop.Pattern)
	case loop.Pattern == PatternChecklist && len(loop.Evaluate.Checks) == 0:
		l.fault(pattern, "write evaluate: {checks: [{name: ..., expr: ...}]}", "the pattern checklist needs checks")
	}
}

// checkEvaluate wants something that judges, and a phase that exists.
func (l *loader) checkEvaluate(loop *Loop) {
	e := loop.Evaluate
	if e == nil {
		return
	}
	if len(e.Checks) == 0 && e.Confidence == nil && e.Passed == nil && e.Judge == nil && e.Command == nil {
		l.fault(e.Node, "give checks, confidence, passed, a judge or a command", "nothing here judges an iteration")
	}
	if e.FromPhase == "" {
		return
	}
	var phases []string
	for i := range loop.Phases {
		phases = append(phases, loop.Phases[i].Name)
	}
	if !slices.Contains(phases, e.FromPhase) {
		l.fault(e.Node.Get("from_phase"), didYouMean(e.FromPhase, phases), "there is no phase %q", e.FromPhase)
	}
}

const noConfidence = "write evaluate: with checks, confidence, a judge or a command"

// checkConfidence refuses what needs a confidence in a loop that evaluates nothing.
func (l *loader) checkConfidence(loop *Loop) {
	if loop.Evaluate != nil || loop.Pattern != PatternNone { // of a pattern checkPattern has told
		return
	}
	l.confidenceOf(loop.Terminate.Any)
	if d := loop.Guards.Degradation; d != nil && !d.Window.Off {
		l.fault(loop.Tree.Get("guards").Get("degradation"), noConfidence, "the guard degradation needs evaluate: without it there is no confidence")
	}
}

func (l *loader) confidenceOf(conditions []Condition) {
	for i := range conditions {
		c := &conditions[i]
		if !c.Off && (c.Kind == KindConfidence || c.Kind == KindNoImprovement) && c.Node != nil {
			l.fault(c.Node, noConfidence, "the condition %s needs evaluate: without it there is no confidence", c.Kind)
		}
		l.confidenceOf(c.Nested)
	}
}
