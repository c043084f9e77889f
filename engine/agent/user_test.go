package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

var must = propertytest.Must

func compiled(t testing.TB, env *expr.Env, text string, want expr.Want) *spec.Expr {
	t.Helper()
	program, faults := env.Compile(text, want)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return &spec.Expr{Text: text, Program: program}
}

// condition is a compiled condition over an output.
func condition(t testing.TB, text string) *spec.Expr {
	return compiled(t, expr.Loop(expr.Any), text, expr.WantBool)
}

func scripted(t testing.TB, script string) *spec.User {
	return &spec.User{Script: compiled(t, expr.Loop(expr.Any), script, expr.WantList)}
}

// converses is the tool that says something to the user.
func converses() tool.Tool {
	d := echo()
	d.Name, d.Converses = "converse", true
	return d
}

// The user's turn follows a step that calls nothing, until there is none.
func TestTheUserAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		script, until string
		max, steps    int
		want          []string // what the user says, "" where it does not
		output        string
	}{
		"to the end of the script":   {script: `["a", "b"]`, want: []string{"", "a", "b", ""}, output: `"three"`},
		"until it says stop":         {script: `["a ###STOP###", "b"]`, want: []string{"", "a ###STOP###"}, output: `"one"`},
		"until something holds":      {script: `["a", "bye", "c"]`, until: `message == "bye" && turn == 2`, want: []string{"", "a", "bye"}, output: `"two"`},
		"as often as it may":         {script: `["a", "b", "c"]`, max: 1, want: []string{"", "a", ""}, output: `"two"`},
		"as long as there are steps": {script: `["a", "b"]`, steps: 3, want: []string{"", "a", ""}, output: `"two"`},
		"never":                      {script: `[]`, want: []string{"", ""}, output: `"one"`},
	} {
		of := scripted(t, c.script)
		of.MaxTurns = c.max
		if c.until != "" {
			of.Until = compiled(t, expr.UserUntil(), c.until, expr.WantBool)
		}
		talk, _ := stage(t, spec.Agent{MaxSteps: c.steps}, []tool.Tool{echo()}, calls("echo", `{"text":"x"}`), says("one"), says("two"), says("three"), says("four"))
		talk.User = &agent.User{Spec: of}
		result := converse(t, talk, turn())
		var said []string
		for _, step := range result.Steps {
			said = append(said, step.User)
		}
		if !slices.Equal(said, c.want) || string(result.Output) != c.output || result.Ended != nil {
			t.Errorf("%s: the user said %q, the output is %s, ended %+v", name, said, result.Output, result.Ended)
		}
	}
}

// A model that plays the user sees the conversation from the other side, without
// tools; its calls are a ledger of their own.
func TestAModelPlaysTheUser(t *testing.T) {
	system, faults := expr.Loop(expr.Any).Template("You want {{ task.input }}.")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	plays := &actor{replies: []model.Reply{says(" go on "), says("thanks ###STOP###")}}
	c, m := stage(t, spec.Agent{}, []tool.Tool{echo(), converses()},
		says("one"), calls("echo", `{"text":"x"}`), calls("converse", `{"text":"two"}`), says("never"))
	c.User = &agent.User{Spec: &spec.User{Model: "u", System: &spec.Prompt{Template: system}}, Model: plays}
	of := turn()
	result := converse(t, c, of)
	want := []string{"system: You want hello.", "assistant: hello", "user: one", "assistant: go on", "user: two"}
	if got := plays.texts(); !slices.Equal(got, want) {
		t.Errorf("the user was sent %q\nwant %q", got, want)
	}
	if len(m.sent) != 3 || string(result.Output) != `"two"` || result.Steps[2].User != "thanks ###STOP###" {
		t.Errorf("output %s, steps %+v", result.Output, result.Steps)
	}
	var roles []record.Role
	for _, call := range result.Calls {
		roles = append(roles, call.Role)
	}
	if !slices.Equal(roles, []record.Role{"agent", "user", "agent", "agent", "user"}) || result.Took != 5*time.Second {
		t.Errorf("roles %v, took %v", roles, result.Took)
	}
	it := record.Iteration{Calls: result.Calls, ToolCalls: result.ToolCalls}
	if used, _ := it.Spent(); used.Calls != 3 || it.SpentByUser().Calls != 2 || of.Calls["u"] != 2 || plays.sent[1].Draw.Call != 1 {
		t.Errorf("the agent used %+v, the user %+v; counted %v", used, it.SpentByUser(), of.Calls)
	}
	c.User = &agent.User{Spec: &spec.User{Model: "u"}}
	if trace, err := c.Retrace(t.Context(), turn(), iterationOf(1, &result, nil)); err != nil || trace.Why != "at step 1 the user would be asked something else" {
		t.Errorf("with another system prompt: %+v, %v", trace, err)
	}
}

// Where nobody answers, what is said to the user is the output, and the run goes on.
func TestConversingWithoutAUser(t *testing.T) {
	c, m := stage(t, spec.Agent{}, []tool.Tool{converses()}, calls("converse", `{"text":"hi"}`), says("never"))
	result := converse(t, c, turn())
	if string(result.Output) != `"hi"` || result.Ended != nil || len(m.sent) != 1 {
		t.Errorf("output %s after %d calls, ended %+v", result.Output, len(m.sent), result.Ended)
	}
}

// With memory the conversation goes on: what the user heard and said before is
// part of it.
func TestTheUserRemembers(t *testing.T) {
	earlier := []record.Iteration{{
		N: 1, Prompt: "hi", ToolCalls: []record.ToolCall{{Tool: "converse", Result: tool.Text("yes?")}},
		Steps: []record.Step{{Call: 1, Tools: 1, User: "first"}, {Text: "done", Call: 2}},
	}}
	heard := []model.Message{
		{Role: "assistant", Text: "hi"}, {Role: "user", Text: "yes?"}, {Role: "assistant", Text: "first"}, {Role: "user", Text: "done"},
		{Role: "assistant", Text: "hello"}, {Role: "user", Text: "one"},
	}
	for _, memory := range []*spec.Memory{nil, {}} {
		of := turn()
		of.Earlier = earlier
		c, _ := stage(t, spec.Agent{Memory: memory}, []tool.Tool{converses()}, says("one"))
		user := &actor{replies: []model.Reply{says("###STOP###")}}
		c.User = &agent.User{Spec: &spec.User{Model: "u"}, Model: user}
		converse(t, c, of)
		want, next := heard, "b"
		if memory == nil {
			want, next = heard[4:], "a"
		}
		if got := user.sent[0].Messages; !reflect.DeepEqual(got, want) {
			t.Errorf("memory %v: heard %+v", memory, got)
		}
		// A script continues behind the turns of earlier iterations, which count for no limit of this one.
		for steps, limited := range map[int]*spec.User{2: {MaxTurns: 1}, 1: {Until: compiled(t, expr.UserUntil(), `turn == 1`, expr.WantBool)}} {
			c, _ = stage(t, spec.Agent{Memory: memory}, []tool.Tool{converses()}, says("one"), says("two"), says("three"))
			limited.Script = scripted(t, `["a", "b", "c"]`).Script
			c.User = &agent.User{Spec: limited}
			if result := converse(t, c, of); result.Steps[0].User != next || len(result.Steps) != steps {
				t.Errorf("memory %v: the user says %q, want %q; %d steps, want %d", memory, result.Steps[0].User, next, len(result.Steps), steps)
			}
		}
	}
}

// What goes wrong with the user goes wrong with the iteration.
func TestAUserWhoCannotAnswer(t *testing.T) {
	gone := model.Fail(record.Server, "gone", time.Second)
	for name, c := range map[string]struct {
		user  *agent.User
		class record.ErrorClass
		calls int
	}{
		"a script that is none":  {&agent.User{Spec: scripted(t, `task.vars.missing`)}, record.Expression, 1},
		"a turn that is no text": {&agent.User{Spec: scripted(t, `[1]`)}, record.Expression, 1},
		"a model that fails":     {&agent.User{Spec: &spec.User{Model: "u"}, Model: broken{gone}}, record.Server, 2},
		"an until that fails": {&agent.User{Spec: &spec.User{
			Script: scripted(t, `["a"]`).Script, Until: compiled(t, expr.UserUntil(), `task.vars.missing == 1`, expr.WantBool)}}, record.Expression, 1},
	} {
		talk, _ := stage(t, spec.Agent{}, nil, says("one"), says("two"))
		talk.User = c.user
		result, err := talk.Execute(t.Context(), turn())
		if failed, ok := errors.AsType[*record.Error](err); !ok || failed.Class != c.class || len(result.Calls) != c.calls || result.Output != nil {
			t.Errorf("%s: error %v, %d calls, output %s", name, err, len(result.Calls), result.Output)
		}
	}
}

// broken is a model that fails.
type broken struct{ err error }

func (b broken) Call(context.Context, *model.Request) (*model.Reply, error) { return nil, b.err }

// A model that plays the user and has nothing more to say ends the conversation.
func TestAUserWhoHasNothingMoreToSay(t *testing.T) {
	c, m := stage(t, spec.Agent{}, nil, says("one"), says("never"))
	c.User = &agent.User{Spec: &spec.User{Model: "u"}, Model: broken{model.ErrEnded}}
	if result := converse(t, c, turn()); string(result.Output) != `"one"` || len(m.sent) != 1 || len(result.Calls) != 1 {
		t.Errorf("%+v", result)
	} else {
		for name, why := range map[string]string{"u": "", "another": "at step 1 the user would be asked something else"} {
			c.User = &agent.User{Spec: &spec.User{Model: name}}
			trace, err := c.Retrace(t.Context(), turn(), iterationOf(1, &result, nil))
			if err != nil || trace.Over != (why == "") || trace.Why != why {
				t.Errorf("%s: %+v, %v", name, trace, err)
			}
		}
	}
}

// What is wrong with what the agent said to its user is not what is wrong with the
// output that it comes to.
func TestAFaultOfWhatWasSaidBefore(t *testing.T) {
	ended := gives("end", `{"a": 1}`, 0)
	ended.Breaks = record.ReasonToolEnded
	final := condition(t, `output.a == 1`)
	for name, c := range map[string]struct {
		final *spec.Expr
		reply model.Reply
	}{
		"a tool ends it":       {nil, calls("end", `{}`)},
		"the final response":   {final, says(`{"a": 1}`)},
		"a reply that is JSON": {nil, says(`{"a": 1}`)},
	} {
		talk, _ := stage(t, spec.Agent{Reply: spec.ReplyJSON, FinalResponse: c.final}, []tool.Tool{ended}, says("What is your name?"), c.reply)
		talk.User = &agent.User{Spec: scripted(t, `["Ann"]`)}
		if result := converse(t, talk, turn()); result.Fault != "" || string(result.Output) != `{"a": 1}` {
			t.Errorf("%s: output %s, fault %q", name, result.Output, result.Fault)
		}
	}
}

// actor is a model that says its replies in turn, each in a second, and keeps
// what it was sent.
type actor struct {
	replies []model.Reply
	sent    []*model.Request
}

func (a *actor) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	n := len(a.sent)
	if n >= len(a.replies) {
		return nil, model.ErrEnded
	}
	a.sent = append(a.sent, request)
	reply := a.replies[n]
	reply.Duration, reply.Usage = time.Second, record.Usage{Calls: 1, OutputTokens: 2}
	if reply.Finish == "" {
		reply.Finish = "stop"
	}
	return &reply, nil
}

func says(text string) model.Reply { return model.Reply{Text: text} }

// calls is a reply that calls tools natively: their names and arguments in turn.
func calls(of ...string) (reply model.Reply) {
	for i := 0; i < len(of); i += 2 {
		reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: "id" + of[i], Name: of[i], Arguments: of[i+1]})
	}
	return reply
}

// gives is a tool that gives the same after so long.
func gives(name, content string, after time.Duration) tool.Tool {
	return tool.Tool{Definition: tool.Definition{Name: name}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{Content: json.RawMessage(content), Duration: after}, nil
	}}
}

// fails is a tool that always fails.
func fails(name string, class record.ErrorClass) tool.Tool {
	return tool.Tool{Definition: tool.Definition{Name: name}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{Duration: time.Second}, &record.Error{Class: class, Message: "no such luck"}
	}}
}

// echo gives its argument `text`, which it needs.
func echo() tool.Tool {
	return tool.Tool{
		Definition: tool.Definition{Name: "echo", Description: "Says it again.", Parameters: json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`)},
		Use: func(_ context.Context, use *tool.Use) (tool.Result, error) {
			var given struct{ Text string }
			err := json.Unmarshal(use.Arguments, &given)
			return tool.Result{Content: tool.Text(given.Text)}, err
		},
	}
}

// toolbox has tools and no servers.
func toolbox(t testing.TB, tools ...tool.Tool) *agent.Toolbox {
	t.Helper()
	box, err := agent.NewToolbox(tools, nil, tool.Options{})
	must(t, err)
	return box
}

// stage is a conversation with an actor.
func stage(t testing.TB, a spec.Agent, tools []tool.Tool, replies ...model.Reply) (*agent.Conversation, *actor) {
	t.Helper()
	m := &actor{replies: replies}
	return &agent.Conversation{Model: m, ModelName: "m", Spec: &a, MaxSteps: a.MaxSteps, Tools: toolbox(t, tools...)}, m
}

// task is a scope that has the task alone.
type task struct{ *spec.Task }

func (s task) Lookup(name string) (any, bool) { return spec.TaskFields{Task: s.Task}, name == "task" }

func turn() *agent.Turn {
	of := &spec.Task{ID: "t", Input: "hello", Target: "secret", Vars: spec.JSON{}}
	return &agent.Turn{Task: of, Trial: 1, Iteration: 1, System: "be brief", Prompt: "hello", Calls: map[string]int{}, Scope: task{of}}
}

// converse executes one iteration that is not to fail.
func converse(t *testing.T, c *agent.Conversation, of *agent.Turn) agent.Result {
	t.Helper()
	result, err := c.Execute(t.Context(), of)
	must(t, err)
	return result
}

// texts are what the last request says, message by message.
func (a *actor) texts() (all []string) {
	for _, m := range a.sent[len(a.sent)-1].Messages {
		text := m.Role + ": " + m.Text
		for _, c := range m.ToolCalls {
			text += " " + c.Name + c.Arguments
		}
		all = append(all, text)
	}
	return all
}
