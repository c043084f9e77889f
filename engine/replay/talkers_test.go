package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"pgregory.net/rapid"
)

// What agents of the world may use.
const (
	search   = "search"
	read     = "read"
	finish   = "finish"    // ends the run
	converse = "converse"  // says something
	helper   = "helper"    // is a delegate
	nothing  = "no_such"   // does not exist
	question = `{"q": 1}`  // arguments
	other    = `{"q": 22}` // arguments
	wrong    = `{"q": "x"}`
)

var schema = []byte(`{"type": "object", "properties": {"q": {"type": "integer"}}}`)

// drawTalk makes the agent one that converses.
func drawTalk(t *rapid.T, l *spec.Loop, tells bool) {
	a := l.Agent
	a.ToolCalls = draw(t, "dialect", "native", "native", "fenced", "xml")
	a.MaxSteps = number(t, "steps", 1, 5)
	a.Tools = []spec.Tool{
		{Name: search, Description: "finds", Parameters: schema, Command: []string{"find"}},
		{Name: read, Parameters: schema, Command: []string{"cat"}},
	}
	if often(t, "finish", 20) {
		a.Tools = append(a.Tools, spec.Tool{Name: finish, Parameters: schema, Command: []string{"end"}, BreaksLoop: true, Success: drawSuccess(t)})
	}
	if often(t, "converse", 20) {
		a.Tools = append(a.Tools, spec.Tool{Builtin: converse})
	}
	if often(t, "delegates", 20) {
		a.Delegates = []spec.Delegate{{Name: helper, Description: "helps"}}
	}
	if often(t, "memory", 40) {
		a.Memory = &spec.Memory{MaxTokens: draw(t, "tokens", 60, 120, 250, 1000)}
	}
	if tells && often(t, "warned", 30) {
		a.WarnRemaining = number(t, "warned from", 1, 3)
	}
	if often(t, "user", 30) {
		l.User = drawUser(t)
	}
}

func drawSuccess(t *rapid.T) *bool {
	success := rapid.Bool().Draw(t, "success")
	return &success
}

func drawUser(t *rapid.T) *spec.User {
	u := &spec.User{MaxTurns: number(t, "turns", 0, 2)}
	if often(t, "model user", 50) {
		u.Model, u.System = "user", prompt("ask {{ task.input }}")
		return u
	}
	u.Script = cel(draw(t, "script", "['why?', 'go on', 'enough ###STOP###']", "['go on']", "iteration > 1 ? [] : ['why?', 'more']"), expr.WantAny)
	if often(t, "until", 30) {
		u.Until = compile("until", expr.UserUntil(), "turn == 1 || message == 'go on'", expr.WantBool)
	}
	return u
}

// ofStep is an expression that sees steps.
func ofStep(text string, want expr.Want) *spec.Expr {
	return compile("step", expr.Step(expr.Any), text, want)
}

// drawStepGuards draws guards that look at steps.
func drawStepGuards(t *rapid.T, g *spec.Guards) {
	if often(t, "stagnant steps", 30) {
		window := number(t, "window", 2, 4)
		g.Stagnation = &spec.Stagnation{Window: set(window), Times: set(number(t, "times", 2, window)), Signature: draw(t, "signature", "calls", "observations"), Scope: spec.ScopeStep}
	}
	if often(t, "repeated steps", 15) {
		g.Repeated = append(g.Repeated, spec.NamedRepeated{Name: "steps", Scope: spec.ScopeStep, Window: 3, Repeated: spec.Repeated{
			Of: ofStep(draw(t, "of", "step.text", "step.calls.map(c, c.tool)", "size(step.calls) + iteration"), expr.WantAny), Times: set(2),
		}})
	}
	if often(t, "consecutive steps", 15) {
		g.Consecutive = append(g.Consecutive, spec.NamedConsecutive{Name: "failing", Scope: spec.ScopeStep, Consecutive: spec.Consecutive{
			When: ofStep("step.calls.exists(c, c.error != '')", expr.WantBool), Times: set(number(t, "times", 1, 2)),
		}})
	}
}

// schemas are those of all gadgets, compiled once.
var schemas tool.Schemas

// talker is an agent of the world that converses.
func (w *world) talker(l *spec.Loop, a *spec.Agent, named func(string) model.Model) agent.Agent {
	var tools []tool.Tool
	for i := range a.Tools {
		tools = append(tools, (&gadget{world: w, declared: &a.Tools[i]}).tool())
	}
	for i := range a.Delegates {
		tools = append(tools, (&colleague{w, named("d"), &a.Delegates[i]}).tool())
	}
	box, err := agent.NewToolbox(tools, nil, tool.Options{Schemas: &schemas})
	if err != nil {
		panic(err)
	}
	c := &agent.Conversation{Model: named("m"), ModelName: "m", Spec: a, MaxSteps: l.Steps(a), Tools: box}
	if l.User != nil {
		c.User = &agent.User{Spec: l.User, Model: named("user")}
	}
	return c
}

// gadget is a tool of the world: what it gives follows from its declaration, from
// what it is asked and when.
type gadget struct {
	world    *world
	declared *spec.Tool
}

// tool is as declared.
func (g *gadget) tool() tool.Tool {
	d := tool.Definition{Name: nameOf(g.declared), Description: g.declared.Description, Parameters: []byte(g.declared.Parameters), Serial: nameOf(g.declared) == read}
	if g.declared.BreaksLoop {
		d.Breaks = record.ReasonToolEnded
	}
	d.Converses = g.declared.Builtin == converse
	return tool.Tool{Definition: d, Use: g.use}
}

// use takes time, and may fail.
func (g *gadget) use(_ context.Context, use *tool.Use) (tool.Result, error) {
	dice := g.world.dice("tool", &model.Request{
		Messages: []model.Message{{Text: fmt.Sprint(g.declared.Command, nameOf(g.declared), string(use.Arguments))}}, Draw: model.Draw{Call: use.Number},
	})
	result := tool.Result{Duration: time.Duration(dice.IntN(3)) * 30 * time.Second, Content: []byte(of(dice, `"found"`, `"nothing"`, `{"n": 1}`))}
	if chance(dice, 20) {
		result.Waited = result.Duration / 2
	}
	if limit := g.declared.Timeout; limit > 0 && result.Duration >= limit {
		return tool.Result{Duration: limit}, &record.Error{Class: record.Tool, Message: "it took too long"}
	}
	switch {
	case chance(dice, g.world.fails/4):
		return result, &record.Error{Class: record.Server, Message: "down"}
	case chance(dice, 25):
		return tool.Result{Duration: result.Duration}, &record.Error{Class: record.Tool, Message: of(dice, "broken", "missing")}
	case chance(dice, g.world.finals):
		result.Ended = &record.Ended{Reason: string(record.ReasonCapability), Output: []byte(`{"c": 0.5, "o": "b", "s": "x"}`)}
	}
	return result, nil
}

// colleague is a delegate of the world: it makes some calls of a model.
type colleague struct {
	world    *world
	model    model.Model
	declared *spec.Delegate
}

// tool is as declared.
func (c *colleague) tool() tool.Tool {
	d := tool.Delegation(c.declared.Name, c.declared.Description)
	d.Serial = true
	return tool.Tool{Definition: d, Use: c.use}
}

// use makes calls.
func (c *colleague) use(ctx context.Context, use *tool.Use) (result tool.Result, err error) {
	for n := range 2 {
		request := &model.Request{
			Messages: []model.Message{{Role: "user", Text: fmt.Sprint(use.Handed(), c.declared.Timeout, n)}}, MaxOutputTokens: 40,
			Draw: model.Draw{Call: use.Calls["d"]},
		}
		reply, call, err := trace.Ask(ctx, model.Asked{Model: c.model, Name: "d", Role: record.RoleDelegate, Hash: request.Hash("d"), Request: request, Calls: use.Calls})
		if call != nil {
			call.Delegate, call.Start = c.declared.Name, result.Duration
			result.Duration += call.Duration + call.Waited
			result.Waited += call.Waited
			result.Calls = append(result.Calls, *call)
		}
		if err != nil {
			return result, err
		}
		result.Content = fmt.Appendf(nil, "%q", reply.Text)
	}
	return result, nil
}

// callsTools makes a reply call tools, sometimes, where the request tells of any.
func callsTools(dice interface{ IntN(int) int }, request *model.Request, reply *model.Reply) bool {
	var names []string
	dialect, system := "", request.Messages[0].Text
	for _, t := range request.Tools {
		names, dialect = append(names, t.Name), "native"
	}
	if dialect == "" && strings.Contains(system, "```tool_call") {
		dialect = "fenced"
	} else if dialect == "" && strings.Contains(system, "<tool>") {
		dialect = "xml"
	}
	if dialect == "" || dice.IntN(100) < 45 {
		return false
	}
	for _, name := range []string{search, read, finish, converse, helper} {
		if dialect != "native" && strings.Contains(system, name) {
			names = append(names, name)
		}
	}
	names = append(names, search, read)
	if dice.IntN(10) == 0 {
		names = append(names, nothing)
	}
	for n := range 1 + dice.IntN(3) {
		name := names[dice.IntN(len(names))]
		if name == finish && dice.IntN(3) > 0 {
			name = search
		}
		writeCall(reply, dialect, name, n, dice)
	}
	return true
}

func writeCall(reply *model.Reply, dialect, name string, n int, dice interface{ IntN(int) int }) {
	arguments := []string{question, question, other, wrong, `{"q":`}[dice.IntN(5)]
	switch name {
	case helper:
		arguments = `{"task": "help"}`
	case converse:
		arguments = `{"message": "{\"c\": 0.4, \"o\": \"a\", \"s\": \"x\"}"}`
	}
	switch {
	case dialect == "native":
		reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: fmt.Sprint("c", n), Name: name, Arguments: arguments})
	case dialect == "fenced" && name == helper:
		reply.Text += "so\n```delegate\n" + `{"agent": "helper", "task": "help"}` + "\n```\n"
	case dialect == "fenced":
		reply.Text += "so\n```tool_call\n" + fmt.Sprintf(`{"tool": %q, "arguments": %s}`, name, arguments) + "\n```\n"
	default:
		reply.Text += "so\n<tool>" + fmt.Sprintf(`{"server_name": "s", "tool_name": %q, "arguments": %s}`, name, arguments) + "</tool>\n"
	}
}

// changeTalk changes how the agent of a loop converses.
func changeTalk(t *rapid.T, l *spec.Loop) {
	a := *l.Agent
	l.Agent = &a
	switch draw(t, "changed", "steps", "memory", "tool", "breaks", "success", "delegate", "user", "warned", "choice") {
	case "steps":
		a.MaxSteps = number(t, "steps", 1, 6)
	case "memory":
		a.Memory = &spec.Memory{MaxTokens: draw(t, "tokens", 60, 120, 250, 1000)}
	case "tool":
		a.Tools = slices.Clone(a.Tools)
		a.Tools[number(t, "tool", 0, 1)].Command = []string{"other"}
	case "breaks":
		a.Tools = slices.Clone(a.Tools)
		a.Tools[0].BreaksLoop = true
	case "success":
		a.Tools = slices.Clone(a.Tools)
		for i := range a.Tools {
			if a.Tools[i].BreaksLoop {
				a.Tools[i].Success = drawSuccess(t)
			}
		}
	case "delegate":
		if len(a.Delegates) > 0 {
			a.Delegates = []spec.Delegate{{Name: helper, Description: "helps", Timeout: time.Hour}}
		}
	case "user":
		l.User = drawUser(t)
	case "warned":
		a.WarnRemaining = number(t, "warned from", 1, 4)
	case "choice":
		a.ToolChoice = "auto"
	}
}
