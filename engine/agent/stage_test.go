package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

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

// does is a tool made of a function.
type does struct {
	defined tool.Definition
	use     func(ctx context.Context, use *tool.Use) (tool.Result, error)
}

func (d *does) Definition() tool.Definition { return d.defined }

func (d *does) Use(ctx context.Context, use *tool.Use) (tool.Result, error) { return d.use(ctx, use) }

// gives is a tool that gives the same after so long.
func gives(name, content string, after time.Duration) *does {
	return &does{tool.Definition{Name: name}, func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{Content: json.RawMessage(content), Duration: after}, nil
	}}
}

// fails is a tool that always fails.
func fails(name string, class record.ErrorClass) *does {
	return &does{tool.Definition{Name: name}, func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{Duration: time.Second}, &record.Error{Class: class, Message: "no such luck"}
	}}
}

// echo gives its argument `text`, which it needs.
func echo() *does {
	return &does{
		tool.Definition{Name: "echo", Description: "Says it again.", Parameters: json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`)},
		func(_ context.Context, use *tool.Use) (tool.Result, error) {
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

// condition is a compiled condition over an output.
func condition(t *testing.T, text string) *spec.Expr {
	t.Helper()
	program, faults := expr.Loop(expr.Any).Compile(text, expr.WantBool)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return &spec.Expr{Text: text, Program: program}
}
