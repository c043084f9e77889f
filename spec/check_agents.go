package spec

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// checkAgents finds what is wrong with the agents of a loop, their tools, delegates and user.
func (l *loader) checkAgents(loop *Loop) {
	for _, agent := range loop.agents() {
		l.checkAgentKeys(loop, agent)
		l.checkAddress(agent.Node.Get("http"), "http: http://localhost:8080/agent")
		l.checkAddress(agent.Node.Get("a2a"), "a2a: http://localhost:9100")
	}
	for _, d := range loop.delegates() {
		l.checkDelegate(d)
	}
	for _, t := range loop.tools() {
		l.checkTool(t)
	}
	for i, stage := range loop.Stages() {
		l.checkPhaseTools(loop, i, &stage)
		l.checkNamesakes(stage.Agent)
		l.checkToolChoice(stage.Agent, loop)
	}
	l.checkIdle(loop)
	l.checkWarning(loop)
	l.checkUser(loop)
	l.checkBehaviour(loop)
}

var executorWords = map[string]string{"command": "a program", "http": "an endpoint", "a2a": "a remote agent", "model": "a model"}

// checkAgentKeys refuses keys that mean nothing for what executes. An override may name another executor than its loop.
func (l *loader) checkAgentKeys(loop *Loop, agent *Agent) {
	executors := agent.executors()
	if len(executors) == 0 && loop.Agent != nil {
		executors = loop.Agent.executors()
	}
	if len(executors) != 1 {
		return
	}
	l.checkOwners(agent.Node, *agent, "an agent that is "+executorWords[executors[0]], "", executors[0])
}

// checkPhaseTools refuses tools of a phase whose agent cannot use any.
func (l *loader) checkPhaseTools(loop *Loop, i int, stage *Stage) {
	if i >= len(loop.Phases) || stage.Agent.Model != "" || loop.Phases[i].Tools == nil || len(*loop.Phases[i].Tools) == 0 {
		return
	}
	if executors := stage.Agent.executors(); len(executors) == 1 {
		l.add(loop.Phases[i].Node.KeyFault("tools", "they go with model", "tools mean nothing for an agent that is %s", executorWords[executors[0]]))
	}
}

// checkNamesakes refuses two things that the model would call by one name.
func (l *loader) checkNamesakes(agent *Agent) {
	for i := range agent.Delegates {
		d := &agent.Delegates[i]
		if slices.ContainsFunc(agent.Tools, func(t Tool) bool { return t.called() == d.Name && d.Name != "" }) {
			l.fault(d.Node.Get("name"), "give one of them another name", "a tool is called %q, too", shorten(d.Name))
		}
	}
}

// checkToolChoice wants a word, or something that the stage has.
func (l *loader) checkToolChoice(agent *Agent, loop *Loop) {
	n := toolChoiceNode(agent, loop)
	if n == nil || agent.Model == "" {
		return
	}
	if agent.ToolCalls != "" && agent.ToolCalls != "native" {
		l.fault(n, "write tool_calls: native, or delete tool_choice", "only native calls can be chosen")
		return
	}
	names, known := agent.callable()
	if known && len(names) > 0 && !slices.Contains(append([]string{"auto", "none", "required"}, names...), agent.ToolChoice) {
		l.fault(n, didYouMean(agent.ToolChoice, append(names, "auto", "none", "required")), "the agent has no tool %q", shorten(agent.ToolChoice))
	}
}

// toolChoiceNode is where what an agent chooses is written: in its stage, or in the loop.
func toolChoiceNode(agent *Agent, loop *Loop) *source.Node {
	for _, declared := range slices.Backward(loop.agents()) {
		if n := declared.Node.Get("tool_choice"); n != nil && n.Text == agent.ToolChoice {
			return n
		}
	}
	return nil
}

// callable are the names of what an agent may call; known says that there are no others, as a server may have.
func (a *Agent) callable() (names []string, known bool) {
	known = true
	for i := range a.Tools {
		t := &a.Tools[i]
		switch {
		case t.MCP != nil && t.MCP.Only == nil:
			known = false
		case t.MCP != nil:
			names = append(names, t.MCP.Only...)
		default:
			names = append(names, t.called())
		}
	}
	for i := range a.Delegates {
		names = append(names, a.Delegates[i].Name)
	}
	return names, known
}

// checkIdle warns of keys that say how tools are called where none is.
func (l *loader) checkIdle(loop *Loop) {
	if slices.ContainsFunc(loop.Stages(), func(s Stage) bool { return s.Agent.callsTools() }) {
		return
	}
	for _, agent := range loop.agents() {
		for _, key := range []string{"max_steps", "tool_calls", "tool_choice"} {
			if n := agent.Node.Get(key); n != nil && (key != "max_steps" || loop.User == nil && !loop.runsPrograms()) {
				l.add(agent.Node.KeyFault(key, "give the agent tools or delegates, or delete the key", "no agent here calls tools, so %s changes nothing", key).AsWarning())
			}
		}
	}
}

// checkWarning wants a limit whose nearness can be told: max_steps, which always is one, or that of the iterations where
// each of them is one step.
func (l *loader) checkWarning(loop *Loop) {
	limit, _, _ := loop.EffectiveMax()
	iterations := slices.ContainsFunc(loop.Stages(), func(s Stage) bool {
		return s.Agent.WarnRemaining > 0 && s.Agent.StepsOnce(loop.User != nil)
	})
	if !iterations || limit > 0 || !loop.Guards.AbsoluteMaxIterations.Off {
		return
	}
	for _, agent := range loop.agents() {
		if n := agent.Node.Get("warn_remaining"); n != nil {
			l.fault(n, "write max_iterations", "warn_remaining needs a limit of the iterations")
		}
	}
}

// checkUser wants an agent that can be answered.
func (l *loader) checkUser(loop *Loop) {
	answered := func(s Stage) bool { return s.Agent.Model != "" }
	if u := loop.User; u != nil && !slices.ContainsFunc(loop.Stages(), answered) {
		l.fault(u.Node, "an agent that is a model can talk to a user", "no agent of this loop talks to a user")
	}
}

// checkBehaviour finds guards that look for what the agents cannot do, or that can never hold.
func (l *loader) checkBehaviour(loop *Loop) {
	guards := loop.Tree.Get("guards")
	if s := loop.Guards.Stagnation; s != nil && !s.Window.Off {
		n := guards.Get("stagnation")
		l.checkWindow(n, s.Times.Value, s.Window.Value)
		l.checkScope(loop, n, s.Scope)
		if !slices.ContainsFunc(loop.Stages(), func(s Stage) bool { return s.Agent.callsTools() || len(s.Agent.Models) > 0 }) {
			l.warn(n, "give the agent tools; only recordings of others can hold calls without", "no agent here calls tools, so stagnation never holds")
		}
	}
	for i := range loop.Guards.Repeated {
		g := &loop.Guards.Repeated[i]
		if g.Window > 0 {
			l.checkWindow(g.Node, g.Times.Value, g.Window)
		}
		l.checkScope(loop, g.Node, g.Scope)
	}
	for i := range loop.Guards.Consecutive {
		l.checkScope(loop, loop.Guards.Consecutive[i].Node, loop.Guards.Consecutive[i].Scope)
	}
}

// checkWindow wants a window that so many can stand in.
func (l *loader) checkWindow(n *source.Node, times, window int) {
	if times > window {
		l.fault(cmp.Or(n.Get("times"), n), "raise the window, or lower times", "%d times among the last %d can never be", times, window)
	}
}

// checkScope wants an agent that makes steps.
func (l *loader) checkScope(loop *Loop, n *source.Node, scope string) {
	if scope == ScopeStep && !slices.ContainsFunc(loop.Stages(), func(s Stage) bool { return loop.MakesSteps(s.Agent) }) {
		l.fault(n.Get("scope"), "steps are those of a model with tools, delegates, memory or a user, and of a program with models", "no agent here makes steps")
	}
}

// taskCompletion is the tool by which an agent says that the task is done.
const taskCompletion = "task_completion"

// completes reports whether a run that the tool ends is a success of the loop.
func (t *Tool) completes() bool {
	return *cmp.Or(t.Success, new(t.Builtin == taskCompletion))
}

// called is what the model calls the tool by; "" for the tools of a server.
func (t *Tool) called() string {
	switch {
	case t.MCP != nil:
		return ""
	case t.Builtin != "":
		return t.Builtin
	}
	return t.Name
}

// server is the name of a server that was given one.
func (t *Tool) server() string {
	if t.MCP == nil {
		return ""
	}
	return t.Name
}

// checkTool finds what is wrong with a tool.
func (l *loader) checkTool(t *Tool) {
	if t.Success != nil && t.MCP == nil && !t.BreaksLoop && t.Builtin != taskCompletion {
		l.add(t.Node.KeyFault("success", "it goes with builtin: task_completion, and with breaks_loop: true", "%q means nothing for a tool that does not end the run", "success"))
	}
	l.checkCallable(t.Node, t.Name)
	l.checkAddress(t.Node.Get("http"), "http: http://localhost:8080/tool")
	l.checkVariables(t.Node.Get("env"))
	l.checkParameters(t)
	if t.MCP != nil {
		l.checkMCP(t)
	}
}

// checkMCP finds what is wrong with a server.
func (l *loader) checkMCP(t *Tool) {
	n := t.MCP.Node
	l.checkAddress(n.Get("url"), "url: http://localhost:8080/mcp")
	l.checkVariables(n.Get("env"))
	if pure := n.Get("pure"); pure != nil && t.MCP.Only != nil {
		for _, item := range pure.Items {
			if !slices.Contains(t.MCP.Only, item.Text) {
				l.fault(item, didYouMean(item.Text, t.MCP.Only), "the tool %q is not among those that are used", shorten(item.Text))
			}
		}
	}
}

// checkCallable wants a name that every server of models takes for that of a function.
func (l *loader) checkCallable(n *source.Node, name string) {
	valid := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	}
	if name == "" || len(name) <= 64 && strings.IndexFunc(name, func(c rune) bool { return !valid(c) }) < 0 {
		return
	}
	l.fault(n.Get("name"), "write at most 64 letters, digits, _ and -", "a model cannot call the name %q", shorten(name))
}

var shellVariable = regexp.MustCompile(`\$(\{\w+\}|[A-Za-z_]\w*)`)

// checkAddress wants the address of a server, for instance that.
func (l *loader) checkAddress(n *source.Node, instance string) {
	if n == nil || n.Kind != source.String {
		return
	}
	if name := shellVariable.FindString(n.Text); name != "" {
		l.fault(n, "write the address itself", "%s is not replaced: addresses hold no variables", name)
		return
	}
	at, err := url.Parse(n.Text)
	if err != nil || at.Hostname() == "" || at.Scheme != "http" && at.Scheme != "https" {
		l.fault(n, "write "+instance, "this is not an http or https address")
	}
}

// checkVariables wants names of environment variables, not values.
func (l *loader) checkVariables(n *source.Node) {
	if n == nil {
		return
	}
	for _, item := range n.Items {
		if strings.ContainsAny(item.Text, "= \t\n\x00") || item.Text == "" {
			l.fault(item, "write the name alone; the value is that of the environment", "invalid name of an environment variable")
		}
	}
}

// checkDelegate wants a name and an address that can be called.
func (l *loader) checkDelegate(d *Delegate) {
	l.checkCallable(d.Node, d.Name)
	l.checkAddress(d.Node.Get("a2a"), "a2a: http://localhost:9100")
}
