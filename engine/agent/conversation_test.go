package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

func TestACallIsMadeAndItsResultIsSent(t *testing.T) {
	c, m := stage(t, spec.Agent{}, []tool.Tool{echo()}, calls("echo", `{"text": "hi"}`), says("It said hi."))
	result := converse(t, c, turn())
	want := []string{"system: be brief", "user: hello", `assistant:  echo{"text":"hi"}`, "tool: hi"}
	if got := m.texts(); !slices.Equal(got, want) {
		t.Errorf("sent %q\nwant %q", got, want)
	}
	if string(result.Output) != `"It said hi."` || result.Ended != nil || result.Prompt != "hello" {
		t.Errorf("output %s, ended %+v, prompt %q", result.Output, result.Ended, result.Prompt)
	}
	steps := []record.Step{{Call: 1, Tools: 1}, {Text: "It said hi.", Call: 2}}
	if !reflect.DeepEqual(result.Steps, steps) {
		t.Errorf("steps %+v", result.Steps)
	}
	call := record.ToolCall{Tool: "echo", ID: "idecho", Arguments: json.RawMessage(`{"text":"hi"}`), Result: json.RawMessage(`"hi"`), Start: time.Second}
	if !reflect.DeepEqual(result.ToolCalls, []record.ToolCall{call}) {
		t.Errorf("tool calls %+v", result.ToolCalls)
	}
	if result.Took != 2*time.Second || result.Calls[1].Start != time.Second || result.Request != result.Calls[0].Request {
		t.Errorf("took %v, calls %+v", result.Took, result.Calls)
	}
	for i, request := range m.sent {
		if result.Calls[i].Request != request.Hash("m") {
			t.Errorf("call %d has another hash than its request", i+1)
		}
	}
}

// S2.1: the system prompt has the instructions, the tools, how to call them, and
// near the end of the steps a warning.
func TestS2_1_TheSystemPromptIsAssembled(t *testing.T) {
	declared := spec.Agent{ToolCalls: "fenced", WarnRemaining: 2, Tools: []spec.Tool{{Name: "echo"}}}
	again := says("```tool_call\n{\"tool\": \"echo\", \"arguments\": {\"text\": \"hi\"}}\n```")
	c, m := stage(t, declared, []tool.Tool{echo()}, again, again, says("ok"))
	c.MaxSteps = 3
	of := turn()
	of.Remaining = 1 // the only iteration is not what is to be told of
	converse(t, c, of)
	for i, warning := range []string{"", "You have 2 steps left, this one included.", "This is your last step: give your final answer in it."} {
		system := m.sent[i].Messages[0].Text
		for _, part := range []string{"be brief", "Says it again.", `"required":["text"]`, "```tool_call"} {
			if !strings.Contains(system, part) {
				t.Errorf("step %d: the system prompt has no %q: %s", i+1, part, system)
			}
		}
		if warned := strings.Contains(system, " step"); warned != (warning != "") || !strings.HasSuffix(system, warning) {
			t.Errorf("step %d: %s\nwant at its end: %q", i+1, system, warning)
		}
	}
}

// Where each iteration is one step, those of the run are told of.
func TestS2_1_StepsThatAreIterations(t *testing.T) {
	for remaining, warning := range map[int]string{0: "", 1: "This is your last step: give your final answer in it.", 2: "You have 2 steps left, this one included.", 3: ""} {
		c, m := stage(t, spec.Agent{Memory: &spec.Memory{}, WarnRemaining: 2}, nil, says("ok"))
		of := turn()
		of.Remaining = remaining
		converse(t, c, of)
		want := "be brief"
		if warning != "" {
			want += "\n\n" + warning
		}
		if system := m.sent[0].Messages[0].Text; system != want {
			t.Errorf("with %d iterations left: %q, want %q", remaining, system, want)
		}
	}
}

// S2.2: calls in XML are made, and the text around them is kept as thinking.
func TestS2_2_CallsInXML(t *testing.T) {
	written := "Let me see.\n<tool>{\"server_name\": \"local\", \"tool_name\": \"echo\", \"arguments\": {\"text\": \"hi\"}}</tool>\nThat is it."
	c, m := stage(t, spec.Agent{ToolCalls: "xml"}, []tool.Tool{echo()}, says(written), says("done"))
	result := converse(t, c, turn())
	if len(result.ToolCalls) != 1 || string(result.ToolCalls[0].Result) != `"hi"` {
		t.Fatalf("tool calls %+v", result.ToolCalls)
	}
	if s := result.Steps[0]; !strings.Contains(s.Thinking, "Let me see.") || !strings.Contains(s.Thinking, "That is it.") || s.Text != written {
		t.Errorf("step %+v", s)
	}
	if len(m.sent[1].Tools) != 0 || len(m.texts()) != 4 {
		t.Errorf("sent %q", m.texts())
	}
}

// S2.3: what cannot be called becomes an error in the conversation.
func TestS2_3_WrongCallsAreTold(t *testing.T) {
	for name, call := range map[string]model.Reply{
		"an unknown tool":      calls("eco", `{}`),
		"wrong arguments":      calls("echo", `{"text": 1}`),
		"unreadable arguments": calls("echo", `{"text": `),
	} {
		c, m := stage(t, spec.Agent{}, []tool.Tool{echo()}, call, says("sorry"))
		result := converse(t, c, turn())
		if got := result.ToolCalls; len(got) != 1 || got[0].Error == nil || got[0].Error.Class != record.BadCall || !json.Valid(got[0].Arguments) {
			t.Fatalf("%s: %+v", name, got)
		}
		if told := m.texts()[3]; !strings.HasPrefix(told, "tool: Error: "+result.ToolCalls[0].Error.Message) {
			t.Errorf("%s: told %q", name, told)
		}
		if string(result.Output) != `"sorry"` {
			t.Errorf("%s: output %s", name, result.Output)
		}
	}
}

// S2.4: a tool that breaks the loop ends the run with its result; one of its
// calls that fails does not.
func TestS2_4_ABreakingToolEndsTheRun(t *testing.T) {
	done := gives("done", `{"answer": 42}`, 0)
	done.Breaks = record.ReasonToolEnded
	done.Parameters = json.RawMessage(`{"type":"object","required":["sure"]}`)
	c, m := stage(t, spec.Agent{}, []tool.Tool{done, echo()}, calls("done", `{}`), calls("done", `{"sure":1}`, "echo", `{"text":"also"}`), says("never"))
	result := converse(t, c, turn())
	if len(m.sent) != 2 || result.Ended == nil || result.Ended.Reason != "tool_ended" || result.Ended.Tool != "done" || string(result.Output) != `{"answer": 42}` {
		t.Errorf("%d calls, ended %+v with %s", len(m.sent), result.Ended, result.Output)
	}
	if len(result.ToolCalls) != 3 || string(result.ToolCalls[2].Result) != `"also"` {
		t.Errorf("tool calls %+v", result.ToolCalls)
	}
}

// A tool may end the run in another way, and a text that it gives is a reply like
// the model's.
func TestAToolMayEndTheRun(t *testing.T) {
	ends := tool.Tool{Definition: tool.Definition{Name: "ends"}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{Ended: &record.Ended{Reason: "capability", Output: json.RawMessage(`"{\"a\":1}"`)}}, nil
	}}
	c, _ := stage(t, spec.Agent{Reply: spec.ReplyJSON}, []tool.Tool{ends}, calls("ends", ""))
	result := converse(t, c, turn())
	if result.Ended == nil || result.Ended.Reason != "capability" || string(result.Output) != `{"a":1}` || result.Fault != "" {
		t.Errorf("ended %+v with %s %s", result.Ended, result.Output, result.Fault)
	}
}

// S2.5: one conversation over all iterations; what is too much is left out, and
// the record says how much.
func TestS2_5_MemoryIsSentAndPruned(t *testing.T) {
	long := strings.Repeat("word ", 40)
	earlier := []record.Iteration{
		{N: 1, Prompt: "first", Steps: []record.Step{{Call: 1, Tools: 1}, {Text: long, Call: 2}}, ToolCalls: []record.ToolCall{{Tool: "echo", ID: "1", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(`"x"`)}}},
		{N: 2, Calls: []record.Call{{Role: record.RoleAgent, Conversation: "main"}}, Steps: []record.Step{{Text: "a program's", Call: 1}}}, // of another phase
		{N: 2, Prompt: "nobody replied", Error: &record.Error{Class: record.NoAnswer}},
		{N: 3, Prompt: "third", Steps: []record.Step{{Text: "short", Call: 1}}},
	}
	for most, want := range map[int][]string{
		0:  nil, // no memory
		40: {"user: third", "assistant: short"},
		1e6: {"user: first", "assistant:  echo{}", "tool: x", "assistant: " + strings.TrimSpace(long), "user: third",
			"assistant: short"},
	} {
		a := spec.Agent{}
		if most > 0 {
			a.Memory = &spec.Memory{MaxTokens: most}
		}
		c, m := stage(t, a, nil, says("ok"))
		of := turn()
		of.Iteration, of.Earlier = 4, earlier
		result := converse(t, c, of)
		got := m.texts()
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		whole := append(append([]string{"system: be brief"}, want...), "user: hello")
		if !slices.Equal(got, whole) {
			t.Errorf("at most %d tokens: sent %q\nwant %q", most, got, whole)
		}
		if pruned := result.Steps[0].Pruned; most == 40 && pruned != 4 || most != 40 && pruned != 0 {
			t.Errorf("at most %d tokens: %d messages were left out", most, pruned)
		}
	}
}

// S3.4: the calls of a step run beside each other; their results are in the order
// of the calls.
func TestS3_4_CallsOfAStepRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string, takes time.Duration) tool.Tool {
			return tool.Tool{Definition: tool.Definition{Name: name}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
				time.Sleep(takes)
				return tool.Result{Content: tool.Text(name), Duration: takes}, nil
			}}
		}
		c, m := stage(t, spec.Agent{}, []tool.Tool{slow("slow", 3*time.Second), slow("quick", time.Second)},
			calls("slow", `{}`, "quick", `{}`, "slow", `{}`), says("ok"))
		began := time.Now()
		result := converse(t, c, turn())
		if real := time.Since(began); real != 3*time.Second {
			t.Errorf("it really took %v", real)
		}
		if result.Took != 5*time.Second || result.Calls[1].Start != 4*time.Second {
			t.Errorf("it took %v, calls %+v", result.Took, result.Calls)
		}
		for i, name := range []string{"slow", "quick", "slow"} {
			call := result.ToolCalls[i]
			if call.Tool != name || string(call.Result) != `"`+name+`"` || call.Start != time.Second {
				t.Errorf("call %d is %+v", i+1, call)
			}
		}
		if got, want := m.texts()[3:], []string{"tool: slow", "tool: quick", "tool: slow"}; !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
	})
}

// S3.4: all that is wrong with the calls of a step is told at once, in one
// structured error; those that are right are made.
func TestS3_4_ErrorsOfAStepAreCollected(t *testing.T) {
	c, m := stage(t, spec.Agent{}, []tool.Tool{echo()}, calls("echo", `{}`, "echo", `{"text":"hi"}`, "nope", `{}`), says("ok"))
	result := converse(t, c, turn())
	told := m.texts()[3:]
	var wrong struct{ Calls []struct{ Tool string } }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(told[0], "tool: ")), &wrong); err != nil || len(wrong.Calls) != 2 || told[1] != "tool: hi" {
		t.Errorf("told %q: %v", told, err)
	}
	if errs := []*record.Error{result.ToolCalls[0].Error, result.ToolCalls[1].Error, result.ToolCalls[2].Error}; errs[0] == nil || errs[1] != nil || errs[2] == nil {
		t.Errorf("errors %v", errs)
	}
}

// S3.5: a structured final response ends the run at once, also where it calls
// tools or a user would answer.
func TestS3_5_AFinalResponseEndsTheConversation(t *testing.T) {
	a := spec.Agent{Reply: spec.ReplyJSON, FinalResponse: condition(t, "output.final == true")}
	final := calls("echo", `{"text":"hi"}`)
	final.Text = `{"final": true, "rest": [1]}`
	c, m := stage(t, a, []tool.Tool{echo()}, says(`{"final": false}`), final, says("never"))
	c.User = patient(t)
	result := converse(t, c, turn())
	if result.Ended == nil || result.Ended.Reason != "final_response" || string(result.Output) != final.Text || string(result.Ended.Output) != final.Text {
		t.Errorf("ended %+v with %s", result.Ended, result.Output)
	}
	if len(m.sent) != 2 || len(result.ToolCalls) != 0 {
		t.Errorf("%d calls, tool calls %+v", len(m.sent), result.ToolCalls)
	}
}

// patient is a user who always says go on.
func patient(t *testing.T) *agent.User {
	return &agent.User{Spec: scripted(t, `["go on", "go on", "go on"]`)}
}

// S4.1: calls in fenced blocks are made, several of one reply as well.
func TestS4_1_FencedCalls(t *testing.T) {
	written := "I will.\n\n```tool_call\n{\"tool\": \"echo\", \"arguments\": {\"text\": \"one\"}}\n```\nand\n```tool_call\n{\"tool\": \"echo\", \"arguments\": {\"text\": \"two\"}}\n```"
	c, m := stage(t, spec.Agent{ToolCalls: "fenced"}, []tool.Tool{echo()}, says(written), says("ok"))
	result := converse(t, c, turn())
	if len(result.ToolCalls) != 2 || string(result.ToolCalls[1].Result) != `"two"` {
		t.Fatalf("tool calls %+v", result.ToolCalls)
	}
	if got := m.texts(); len(got) != 4 || !strings.Contains(got[3], "one") || !strings.Contains(got[3], "two") {
		t.Errorf("sent %q", got)
	}
}

// researcher is a delegate whose run makes two calls.
func researcher() tool.Tool {
	return tool.Tool{Definition: tool.Delegation("researcher", "Looks things up."), Use: func(_ context.Context, use *tool.Use) (tool.Result, error) {
		use.Calls["m"] += 2
		return tool.Result{
			Content: tool.Text("found " + use.Handed()), Duration: 3 * time.Second, Run: &record.Run{ID: "r"},
			Calls: []record.Call{
				{Role: record.RoleDelegate, Delegate: "researcher", Duration: time.Second},
				{Role: record.RoleDelegate, Delegate: "researcher", Start: time.Second, Duration: 2 * time.Second},
			},
		}, nil
	}}
}

// S4.2, S4.4: the prompt tells of the other agents, and a block hands one a task.
// What that calls is counted here.
func TestS4_2_FencedDelegation(t *testing.T) {
	written := "Over to you.\n```delegate\n{\"agent\": \"researcher\", \"task\": \"the moon\"}\n```"
	c, m := stage(t, spec.Agent{ToolCalls: "fenced"}, []tool.Tool{researcher()}, says(written), says("ok"))
	of := turn()
	result := converse(t, c, of)
	call := result.ToolCalls[0]
	if call.Delegate != "researcher" || call.Delegated == nil || string(call.Result) != `"found the moon"` || call.Start != time.Second {
		t.Errorf("the call is %+v", call)
	}
	starts := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}
	for i, c := range result.Calls {
		if c.Start != starts[i] {
			t.Errorf("call %d begins at %v, want %v", i+1, c.Start, starts[i])
		}
	}
	if result.Steps[1].Call != 4 || of.Calls["m"] != 4 || m.sent[1].Draw.Call != 3 {
		t.Errorf("steps %+v, %d calls, the second is draw %d", result.Steps, of.Calls["m"], m.sent[1].Draw.Call)
	}
}

// S4.4: the system prompt has the tools and the agents that are there.
func TestS4_4_TheSystemPromptTellsOfAgents(t *testing.T) {
	for _, format := range []string{"fenced", "xml", "native"} {
		c, m := stage(t, spec.Agent{ToolCalls: format}, []tool.Tool{echo(), researcher()}, says("ok"))
		converse(t, c, turn())
		system := m.sent[0].Messages[0].Text
		if !strings.Contains(system, "researcher") || !strings.Contains(system, "Looks things up.") || strings.Contains(system, "- echo") == (format == "native") {
			t.Errorf("%s: %s", format, system)
		}
		if native := len(m.sent[0].Tools) == 2; native != (format == "native") {
			t.Errorf("%s: tools %+v", format, m.sent[0].Tools)
		}
	}
}

// Delegates beside each other count their calls together; those that follow one
// another go on from the one before.
func TestDelegatesCountOn(t *testing.T) {
	for _, serial := range []bool{false, true} {
		d := researcher()
		d.Serial = serial
		both := calls("researcher", `{"task":"a"}`, "researcher", `{"task":"b"}`)
		c, _ := stage(t, spec.Agent{}, []tool.Tool{d}, both, says("ok"))
		of := turn()
		result := converse(t, c, of)
		second, took := time.Second, 5*time.Second
		if serial {
			second, took = 4*time.Second, 8*time.Second
		}
		if of.Calls["m"] != 6 || result.ToolCalls[1].Start != second || result.Took != took || result.Calls[3].Start != second {
			t.Errorf("serial %v: %d calls, %+v, took %v", serial, of.Calls["m"], result.ToolCalls[1], result.Took)
		}
	}
}

// What a call that follows another one was waited for is read from the record as
// it was counted, also where two calls before it were over at the same time.
func TestWhatWasWaitedIsThatOfTheRecord(t *testing.T) {
	one := gives("one", "ok", time.Second)
	one.Serial = true
	one.Use = func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{Content: tool.Text("ok"), Duration: time.Second, Waited: time.Second / 4}, nil
	}
	c, _ := stage(t, spec.Agent{}, []tool.Tool{one, gives("beside", "ok", time.Second)}, calls("one", "{}", "beside", "{}", "one", "{}"), says("ok"))
	result := converse(t, c, turn())
	stretches := stop.Timeline(&record.Iteration{Calls: result.Calls, Steps: result.Steps, ToolCalls: result.ToolCalls})
	if len(stretches) != 3 || stretches[1].Waited != result.Waited || stretches[2].End != result.Took {
		t.Errorf("waited %v of %v, the record has %+v", result.Waited, result.Took, stretches)
	}
}

// Calls of models that are made beside others are told apart by their place.
func TestDelegatesBesideEachOtherHaveTheirPlaces(t *testing.T) {
	places := make([]string, 4)
	d := researcher()
	d.Use = func(ctx context.Context, use *tool.Use) (tool.Result, error) {
		places[use.Number] = model.Place(ctx)
		return tool.Result{Content: tool.Text("ok")}, nil
	}
	both := calls("researcher", `{"task":"a"}`, "researcher", `{}`, "researcher", `{"task":"a"}`)
	c, _ := stage(t, spec.Agent{}, []tool.Tool{d}, both, calls("researcher", `{"task":"a"}`), says("ok"))
	converse(t, c, turn())
	if want := []string{"/1", "", "/3", ""}; !slices.Equal(places, want) {
		t.Errorf("their places are %q", places)
	}
}

// S4.3: an agent that used up its steps says so; the tools of its last step were
// used.
func TestS4_3_MaxSteps(t *testing.T) {
	for declared, steps := range map[int]int{0: 5, 2: 2} {
		for _, reply := range []spec.Reply{spec.ReplyText, spec.ReplyJSON} {
			c, m := stage(t, spec.Agent{MaxSteps: declared, Reply: reply}, []tool.Tool{echo()}, slices.Repeat([]model.Reply{calls("echo", `{"text":"x"}`)}, 9)...)
			result := converse(t, c, turn())
			want := map[int]string{5: `"Reached maximum reasoning steps (5)"`, 2: `"Reached maximum reasoning steps (2)"`}[steps]
			if string(result.Output) != want || len(m.sent) != steps || len(result.ToolCalls) != steps || result.Ended != nil {
				t.Errorf("max_steps %d: %d steps, output %s", declared, len(m.sent), result.Output)
			}
			if (result.Fault != "") != (reply == spec.ReplyJSON) {
				t.Errorf("reply %s: fault %q", reply, result.Fault)
			}
		}
	}
}

// S4.9: that a tool failed is told to the model, which goes on.
func TestS4_9_ToolFailuresAreTold(t *testing.T) {
	c, m := stage(t, spec.Agent{}, []tool.Tool{fails("luck", record.Tool)}, calls("luck", `{}`), says("I tried."))
	result := converse(t, c, turn())
	if got := m.texts()[3]; got != "tool: Error: no such luck" {
		t.Errorf("told %q", got)
	}
	if e := result.ToolCalls[0].Error; e == nil || e.Class != record.Tool || string(result.Output) != `"I tried."` {
		t.Errorf("error %v, output %s", e, result.Output)
	}
}

// A fault of the infrastructure under a delegate is one of the iteration.
func TestAFaultUnderADelegateFailsTheIteration(t *testing.T) {
	c, m := stage(t, spec.Agent{}, []tool.Tool{fails("luck", record.Server), echo()}, calls("echo", `{"text":"x"}`, "luck", `{}`), says("never"))
	result, err := c.Execute(t.Context(), turn())
	if failed, ok := errors.AsType[*record.Error](err); !ok || failed.Class != record.Server || len(m.sent) != 1 {
		t.Errorf("error %v after %d calls", err, len(m.sent))
	}
	if len(result.ToolCalls) != 2 || result.Steps[0].Tools != 2 || result.Output != nil {
		t.Errorf("%+v", result)
	}
}

// An agent that has nothing more to give ends the run: before the iteration where
// it said nothing in it, else with what it said last.
func TestAnAgentThatEndsWithinAConversation(t *testing.T) {
	c, _ := stage(t, spec.Agent{}, []tool.Tool{echo()})
	if _, err := c.Execute(t.Context(), turn()); !errors.Is(err, model.ErrEnded) {
		t.Errorf("at once: %v", err)
	}
	last := calls("echo", `{"text":"x"}`)
	last.Text = "looking"
	c, _ = stage(t, spec.Agent{}, []tool.Tool{echo()}, last)
	result := converse(t, c, turn())
	if result.Ended == nil || result.Ended.Reason != "agent_ended" || string(result.Output) != `"looking"` {
		t.Errorf("ended %+v with %s", result.Ended, result.Output)
	}
}

// JSON is asked for where no call stands in a text.
func TestJSONIsAskedForWhereNoBlockIsExpected(t *testing.T) {
	for _, format := range []string{"native", "fenced", "xml"} {
		for _, tools := range [][]tool.Tool{nil, {echo()}} {
			c, m := stage(t, spec.Agent{ToolCalls: format, Reply: spec.ReplyJSON}, tools, says(`{}`))
			converse(t, c, turn())
			if want := format == "native" || len(tools) == 0; m.sent[0].JSON != want {
				t.Errorf("%s with %d tools: %v", format, len(tools), m.sent[0].JSON)
			}
		}
	}
}

// A choice of tool is sent where there are tools to choose from.
func TestToolChoice(t *testing.T) {
	for want, tools := range map[string][]tool.Tool{"echo": {echo()}, "": nil} {
		c, m := stage(t, spec.Agent{ToolChoice: "echo"}, tools, says("ok"))
		converse(t, c, turn())
		if got := m.sent[0].ToolChoice; got != want {
			t.Errorf("%d tools: %q", len(tools), got)
		}
	}
}

// What a tool is told of the run.
func TestWhatAToolIsTold(t *testing.T) {
	var numbers []int
	asks := tool.Tool{Definition: tool.Definition{Name: "asks", Serial: true}, Use: func(_ context.Context, use *tool.Use) (tool.Result, error) {
		numbers = append(numbers, use.Number)
		if use.Trial != 1 || use.Task.ID != "t" {
			t.Errorf("told %+v", use)
		}
		return tool.Result{}, nil
	}}
	c, m := stage(t, spec.Agent{}, []tool.Tool{asks}, calls("asks", `{}`, "nope", `{}`, "asks", `{}`), calls("asks", `{}`), says("ok"))
	of := turn()
	of.ToolCalls = 7
	result := converse(t, c, of)
	if want := []int{7, 9, 10}; !slices.Equal(numbers, want) {
		t.Errorf("numbers %v, want %v", numbers, want)
	}
	if string(result.ToolCalls[0].Result) != `""` || m.texts()[3] != "tool: (empty)" {
		t.Errorf("nothing is %s, told as %q", result.ToolCalls[0].Result, m.texts()[3])
	}
}

// After every step somebody may cut the iteration, but not where it is over
// anyway.
func TestAfterStep(t *testing.T) {
	for at, want := range map[int]record.Reason{1: "stagnation", 2: ""} {
		c, m := stage(t, spec.Agent{}, []tool.Tool{echo()}, calls("echo", `{"text":"x"}`), says("ok"))
		var told int
		of := turn()
		of.AfterStep = func(sofar *agent.Result) record.Reason {
			if told++; told == at {
				return "stagnation"
			}
			return ""
		}
		result := converse(t, c, of)
		if result.Cut != want || len(m.sent) != at || told != at {
			t.Errorf("after step %d: cut %q after %d calls, told %d times", at, result.Cut, len(m.sent), told)
		}
	}
}

// Where a timeout has passed as-if, tools are not used and users not asked.
func TestWhatComesTooLateIsNotDone(t *testing.T) {
	for name, reply := range map[string]model.Reply{"a call": calls("luck", `{}`), "a question": says("how?")} {
		c, m := stage(t, spec.Agent{}, []tool.Tool{{Definition: tool.Definition{Name: "luck"}}}, reply, says("never"))
		c.User = patient(t)
		of := turn()
		of.Late = func(took, _ time.Duration) bool { return took >= time.Second }
		result := converse(t, c, of)
		if result.Cut != record.ReasonTimeout || len(m.sent) != 1 || len(result.ToolCalls) != 0 || result.Steps[0].User != "" {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

// A run that is over ends its tools, and none is left behind.
func TestTheEndOfTheRunEndsItsTools(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	waits := tool.Tool{Definition: tool.Definition{Name: "waits"}, Use: func(ctx context.Context, _ *tool.Use) (tool.Result, error) {
		cancel(cause)
		<-ctx.Done()
		return tool.Result{}, context.Cause(ctx)
	}}
	c, _ := stage(t, spec.Agent{}, []tool.Tool{waits, echo()}, calls("waits", `{}`, "echo", `{"text":"x"}`, "waits", `{}`), says("never"))
	result, err := c.Execute(ctx, turn())
	if err != cause || len(result.ToolCalls) != 3 {
		t.Fatalf("error %v, %+v", err, result.ToolCalls)
	}
	if first := result.ToolCalls[0]; first.Result != nil || first.Error != nil || string(result.ToolCalls[1].Result) != `"x"` {
		t.Errorf("%+v", result.ToolCalls)
	}
}

// A panic of a tool reaches whoever runs the agent, after all tools are over.
func TestAPanicOfATool(t *testing.T) {
	var over bool
	breaks := tool.Tool{Definition: tool.Definition{Name: "breaks"}, Use: func(context.Context, *tool.Use) (tool.Result, error) { panic("it broke") }}
	takes := tool.Tool{Definition: tool.Definition{Name: "takes"}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
		time.Sleep(time.Second)
		over = true
		return tool.Result{}, nil
	}}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if err, ok := recover().(error); !ok || !strings.HasPrefix(err.Error(), "it broke\n") || !over {
				t.Errorf("recovered %v, the other tool is over: %v", err, over)
			}
		}()
		c, _ := stage(t, spec.Agent{}, []tool.Tool{breaks, takes}, calls("breaks", `{}`, "takes", `{}`))
		_, _ = c.Execute(t.Context(), turn())
		t.Error("nothing broke")
	})
}

// A run that is over makes no further step, whatever its model and tools do.
func TestTheEndOfTheRunEndsTheConversation(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ends := tool.Tool{Definition: tool.Definition{Name: "ends"}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
		cancel(cause)
		return tool.Result{}, nil
	}}
	c, m := stage(t, spec.Agent{}, []tool.Tool{ends}, calls("ends", `{}`), says("never"))
	if result, err := c.Execute(ctx, turn()); err != cause || len(m.sent) != 1 || len(result.ToolCalls) != 1 {
		t.Errorf("%v after %d calls", err, len(m.sent))
	}
}

// F35: a step of any number of calls makes some of them at the same time, and
// takes as long as the longest, as-if.
func TestF35_ManyCallsInOneStep(t *testing.T) {
	var now, most atomic.Int64
	takes := tool.Tool{Definition: tool.Definition{Name: "takes"}, Use: func(context.Context, *tool.Use) (tool.Result, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Second)
		now.Add(-1)
		return tool.Result{Duration: time.Second}, nil
	}}
	reply := calls(slices.Concat(slices.Repeat([]string{"takes", `{}`}, 1000), []string{"takes", `{"x":`, "take", `{}`})...)
	synctest.Test(t, func(t *testing.T) {
		c, _ := stage(t, spec.Agent{}, []tool.Tool{takes}, reply, says("done"))
		result := converse(t, c, turn())
		if n := most.Load(); n > 16 || n < 2 {
			t.Errorf("%d calls at the same time", n)
		}
		if len(result.ToolCalls) != 1002 || result.Took != 3*time.Second {
			t.Errorf("%d calls in %v", len(result.ToolCalls), result.Took)
		}
	})
}
