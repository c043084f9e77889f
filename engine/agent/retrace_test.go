package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// babbler is a model that says anything, by the draws of a test.
type babbler struct {
	t      *rapid.T
	format string
	name   string
	fails  bool
}

func (b *babbler) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	duration := time.Duration(rapid.IntRange(0, 3).Draw(b.t, "seconds")) * time.Second
	if b.fails && rapid.IntRange(0, 15).Draw(b.t, "failing") == 0 {
		return nil, model.Fail(record.ContextLength, "too long", duration)
	}
	if rapid.IntRange(0, 30).Draw(b.t, "ending") == 0 {
		return nil, model.ErrEnded
	}
	reply := &model.Reply{Text: text().Draw(b.t, "text"), Finish: "stop", Duration: duration, Usage: record.Usage{Calls: 1}}
	if b.name == "u" {
		return reply, nil
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(b.t, "calls") {
		b.call(reply)
	}
	return reply, nil
}

func text() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "ok", "so be it", "###STOP###", "```", "<tool>", `{"final": true}`, "a longer text, of which a memory has only so much"})
}

var (
	names     = []string{"echo", "echo", "luck", "done", "late", "converse", "helper", "far", "nope"}
	arguments = []string{`{"text":"x"}`, `{"text":"y"}`, `{ "text" : "x" }`, `{"task":"dig"}`, `{}`, `{"text":1}`, `{"text":`, ``, `[]`}
)

// call adds a call of any tool.
func (b *babbler) call(reply *model.Reply) {
	name, given := rapid.SampledFrom(names).Draw(b.t, "tool"), rapid.SampledFrom(arguments).Draw(b.t, "arguments")
	b.write(reply, name, given, rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(b.t, "id"))
}

// write adds a call in the format that is spoken.
func (b *babbler) write(reply *model.Reply, name, given, id string) {
	switch b.format {
	case "fenced":
		reply.Text += fmt.Sprintf("\n```tool_call\n{\"tool\":%q,\"arguments\":%s}\n```\n", name, given)
	case "xml":
		reply.Text += fmt.Sprintf("\n<tool>{\"tool_name\":%q,\"arguments\":%s}</tool>\n", name, given)
	default:
		reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: id, Name: name, Arguments: given})
	}
}

// bench are tools of all kinds.
func bench(ends bool) []tool.Tool {
	done, late, helper := gives("done", `{"a":1}`, time.Second), gives("late", `[1,"two"]`, 2*time.Second), researcher()
	if ends {
		done.Breaks = record.ReasonToolEnded
	}
	late.Serial = true
	helper.Name = "helper"
	return []tool.Tool{echo(), fails("luck", record.Tool), done, late, converses(), helper}
}

// remote is a server with one tool.
type remote struct{}

func (remote) Name() string { return "s" }

func (remote) Server(context.Context) (record.ToolServer, error) {
	return record.ToolServer{Name: "s", Tools: []record.ServerTool{{Name: "far", Description: "Far away."}, {Name: "echo"}}}, nil
}

func (remote) Tools(told record.ToolServer) (tools []tool.Tool, err error) {
	for _, t := range told.Tools {
		far := gives(t.Name, `"far"`, time.Second)
		far.Server, far.Description = told.Name, t.Description
		tools = append(tools, far)
	}
	return tools, nil
}

// drawn is an agent of any kind. Its twin can only tell what it would send.
func drawn(t *rapid.T, tt *testing.T) (live, twin *agent.Conversation) {
	a := &spec.Agent{
		ToolCalls:     rapid.SampledFrom([]string{"", "native", "fenced", "xml"}).Draw(t, "format"),
		Reply:         rapid.SampledFrom([]spec.Reply{spec.ReplyText, spec.ReplyJSON}).Draw(t, "reply"),
		WarnRemaining: rapid.IntRange(0, 2).Draw(t, "warn"),
	}
	if rapid.Bool().Draw(t, "declares tools") {
		a.Tools = []spec.Tool{{Name: "echo"}} // its steps are not its iterations
	}
	if rapid.Bool().Draw(t, "remembers") {
		a.Memory = &spec.Memory{MaxTokens: rapid.SampledFrom([]int{0, 10, 60, 200}).Draw(t, "memory")}
	}
	if rapid.IntRange(0, 3).Draw(t, "finals") == 0 {
		a.FinalResponse = condition(tt, "output.final == true")
	}
	tools, servers := bench(rapid.Bool().Draw(t, "ends")), []tool.Source{}
	if rapid.Bool().Draw(t, "server") {
		servers = append(servers, remote{})
	}
	box, err := agent.NewToolbox(tools, servers, tool.Options{})
	must(tt, err)
	live = &agent.Conversation{
		Model: &babbler{t, a.ToolCalls, "m", true}, ModelName: "m", Spec: a, Tools: box,
		MaxSteps: rapid.IntRange(0, 6).Draw(t, "steps"),
	}
	other := *live
	other.Model, other.Tools = nil, agent.OfflineToolbox(tools, servers)
	live.User, other.User = answering(t, tt)
	return live, &other
}

// answering is a user of any kind, and one who only tells again.
func answering(t *rapid.T, tt *testing.T) (live, again *agent.User) {
	of := &spec.User{MaxTurns: rapid.IntRange(0, 3).Draw(t, "turns")}
	switch rapid.SampledFrom([]string{"nobody", "script", "model"}).Draw(t, "user") {
	case "nobody":
		return nil, nil
	case "script":
		of.Script = scripted(tt, `["why?", "and " + task.id, "bye", "really"]`).Script
	default:
		of.Model = "u"
	}
	return &agent.User{Spec: of, Model: &babbler{t, "", "u", true}}, &agent.User{Spec: of}
}

// What is told again of the record is what was sent: of every step, whatever the
// model, the tools and the user do.
func TestWhatIsRetracedIsWhatWasSent(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		live, twin := drawn(rt, t)
		var run record.Run
		counted := map[string]int{}
		for n := 1; n <= 3; n++ {
			of := turn()
			of.Iteration, of.Earlier, of.Servers, of.Remaining, of.Calls = n, run.Iterations, run.Servers, 4-n, counted
			of.Prompt = fmt.Sprintf("prompt %d", n)
			result, err := live.Execute(t.Context(), of)
			run.Servers = append(run.Servers, result.Servers...)
			it := iterationOf(n, &result, err)
			again := *of
			again.Servers, again.Calls = run.Servers, nil
			trace, failed := twin.Retrace(t.Context(), &again, onDisk(t, it))
			must(t, failed)
			hold(rt, trace, it, err)
			if err != nil || it.Ended != nil {
				return
			}
			run.Iterations = append(run.Iterations, *it)
		}
	})
}

// iterationOf is the record of a result.
func iterationOf(n int, r *agent.Result, err error) *record.Iteration {
	it := &record.Iteration{N: n, Prompt: r.Prompt, Steps: r.Steps, Calls: r.Calls, ToolCalls: r.ToolCalls, Request: r.Request, Output: r.Output, Ended: r.Ended}
	if err != nil {
		it.Error = &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return it
}

// onDisk is what is left of a record that was written and read.
func onDisk(t *testing.T, it *record.Iteration) *record.Iteration {
	t.Helper()
	line, err := json.Marshal(it)
	must(t, err)
	read := &record.Iteration{}
	must(t, json.Unmarshal(line, read))
	return read
}

// hold compares a trace with the iteration that it is of.
func hold(t *rapid.T, trace record.Trace, it *record.Iteration, err error) {
	sent := agentRequests(it)
	if it.Ended != nil && it.Ended.Reason == string(record.ReasonAgentEnded) && len(trace.Requests) == len(sent)+1 {
		trace.Requests = trace.Requests[:len(sent)] // the last one was not answered
	}
	if len(trace.Requests) < len(sent) {
		t.Fatalf("%d requests were sent, %d are told again: %+v", len(sent), len(trace.Requests), trace)
	}
	for i := range sent {
		if trace.Requests[i] != sent[i] {
			t.Fatalf("request %d was %s, and is told as %s", i+1, sent[i], trace.Requests[i])
		}
	}
	if err == nil && (!trace.Over || trace.Why != "" || len(trace.Requests) != len(sent)) {
		t.Fatalf("the conversation is over after %d requests, and is told as %+v", len(sent), trace)
	}
}

func agentRequests(it *record.Iteration) (sent []string) {
	for i := range it.Calls {
		if it.Calls[i].Role == record.RoleAgent {
			sent = append(sent, it.Calls[i].Request)
		}
	}
	return sent
}

// Another limit of steps, another breaking tool, another user: the trace says
// where the record does not tell what would happen.
func TestRetraceUnderAnotherConfiguration(t *testing.T) {
	tools := bench(true)
	live, _ := stage(t, spec.Agent{MaxSteps: 6}, tools, calls("echo", `{"text":"x"}`), calls("echo", `{"text":"y"}`), says("one"), says("two"), says("three"))
	live.User = &agent.User{Spec: scripted(t, `["a", "b"]`)}
	once := scripted(t, `["a", "b"]`)
	once.MaxTurns = 1
	result := converse(t, live, turn())
	it := iterationOf(1, &result, nil)
	breaking := bench(true)
	breaking[0].Breaks = record.ReasonToolEnded
	for name, c := range map[string]struct {
		change   func(c *agent.Conversation)
		requests int
		over     bool
		why      string
	}{
		"none":               {func(*agent.Conversation) {}, 5, true, ""},
		"fewer steps":        {func(c *agent.Conversation) { c.MaxSteps = 2 }, 2, true, ""},
		"as many steps":      {func(c *agent.Conversation) { c.MaxSteps = 5 }, 5, true, ""},
		"a tool that breaks": {func(c *agent.Conversation) { c.Tools = agent.OfflineToolbox(breaking, nil) }, 1, true, ""},
		"nobody answers":     {func(c *agent.Conversation) { c.User = nil }, 3, true, "it would not ask the user after step 3"},
		"no step to answer":  {func(c *agent.Conversation) { c.MaxSteps = 3 }, 3, true, "it would not ask the user after step 3"},
		"another answer":     {func(c *agent.Conversation) { c.User = &agent.User{Spec: scripted(t, `["b"]`)} }, 3, false, "at step 3 the user would say something else"},
		"one turn less":      {func(c *agent.Conversation) { c.User = &agent.User{Spec: scripted(t, `["a"]`)} }, 4, false, "at step 4 the user would say something else"},
		"one turn more":      {func(c *agent.Conversation) { c.User = &agent.User{Spec: scripted(t, `["a", "b", "c"]`)} }, 5, false, "at step 5 the user would say something else"},
		"a turn at most":     {func(c *agent.Conversation) { c.User = &agent.User{Spec: once} }, 4, false, "at step 4 the user would say nothing more"},
		"a model answers":    {func(c *agent.Conversation) { c.User = &agent.User{Spec: &spec.User{Model: "u"}} }, 3, false, "at step 3 the user would be asked for an answer"},
		"a final response":   {func(c *agent.Conversation) { c.Spec = &spec.Agent{FinalResponse: condition(t, `output == "one"`)} }, 3, true, "it would not ask the user after step 3"},
	} {
		other := *live
		other.Tools = agent.OfflineToolbox(tools, nil)
		c.change(&other)
		trace, err := other.Retrace(t.Context(), turn(), it)
		if err != nil || len(trace.Requests) != c.requests || trace.Over != c.over || trace.Why != c.why {
			t.Errorf("%s: %+v, %v", name, trace, err)
		}
	}
}

// What cut a conversation before its user answered does not make another one of it.
func TestRetraceOfAConversationThatWasCutBeforeItsUser(t *testing.T) {
	for name, c := range map[string]struct {
		of    *spec.User
		plays model.Model
		late  func(took, waited time.Duration) bool
	}{
		"a script, too late":   {scripted(t, `["a"]`), nil, func(took, _ time.Duration) bool { return took >= time.Second }},
		"a model, too late":    {&spec.User{Model: "u"}, nil, func(took, _ time.Duration) bool { return took >= time.Second }},
		"a model, and no room": {&spec.User{Model: "u"}, broken{model.ErrRefused}, nil},
	} {
		live, _ := stage(t, spec.Agent{}, nil, says("one"), says("two"))
		live.User = &agent.User{Spec: c.of, Model: c.plays}
		of := turn()
		of.Late = c.late
		result, _ := live.Execute(t.Context(), of)
		it := iterationOf(1, &result, nil)
		it.Cut = string(record.ReasonTimeout)
		trace, err := live.Retrace(t.Context(), turn(), it)
		if err != nil || trace.Why != "" || trace.Over || len(it.Steps) != 1 || trace.Requests[0] != it.Calls[0].Request {
			t.Errorf("%s: %+v, %v", name, trace, err)
		}
	}
}

// An agent that had nothing more to give would be asked again, and have nothing:
// unless it used up its steps before, which is then its output.
func TestRetraceOfAnAgentThatEnded(t *testing.T) {
	live, _ := stage(t, spec.Agent{}, []tool.Tool{echo()}, calls("echo", `{"text":"x"}`))
	result := converse(t, live, turn())
	reached := []byte(`"Reached maximum reasoning steps (1)"`)
	for steps, want := range map[int]record.Trace{2: {Over: true}, 1: {Over: true, Output: reached}} {
		live.MaxSteps = steps
		trace, err := live.Retrace(t.Context(), turn(), iterationOf(1, &result, nil))
		if err != nil || len(trace.Requests) != steps || trace.Over != want.Over || trace.Why != want.Why || string(trace.Output) != string(want.Output) {
			t.Errorf("with %d steps: %+v, %v", steps, trace, err)
		}
	}
}
