package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// conversation is an iteration with parallel tools, a delegation, a user's answer
// and a step that was not sent whole.
func conversation() *Run {
	second := time.Second
	delegated := &Run{Usage: Usage{Calls: 2, InputTokens: 9}, Judging: Usage{Calls: 1}}
	return &Run{ID: "default/task-1/1", Iterations: []Iteration{{
		N: 1, Phase: "execution", Prompt: "How much?", Start: second, End: 20 * second, Thinking: "at last",
		Output: json.RawMessage(`"It is 345."`),
		Calls: []Call{
			{Role: RoleAgent, Start: second, Duration: second, Usage: Usage{Calls: 1, InputTokens: 10}},
			{Role: RoleDelegate, Delegate: "researcher", Start: 3 * second, Duration: second, Usage: Usage{Calls: 1}},
			{Role: RoleAgent, Start: 8 * second, Duration: second, Usage: Usage{Calls: 1, InputTokens: 20}},
			{Role: RoleUser, Start: 9 * second, Duration: second, Usage: Usage{Calls: 1, InputTokens: 5}},
			{Role: RoleAgent, Start: 10 * second, Duration: 2 * second, Usage: Usage{Calls: 1, InputTokens: 30}},
		},
		Steps: []Step{
			{Text: "Let me see.", Thinking: "hm", Call: 1, Tools: 3},
			{Text: "Which year?", Call: 3, User: "2024"},
			{Text: "It is 345.", Call: 5, Pruned: 4},
		},
		ToolCalls: []ToolCall{
			{Tool: "search", Server: "filings", Arguments: json.RawMessage(`{"for":"it"}`), Result: json.RawMessage(`"found"`), Start: 2 * second, Duration: 3 * second},
			{Tool: "clock", Arguments: json.RawMessage(`{}`), Start: 2 * second, Duration: second, Error: &Error{Class: Tool, Message: "exit 1"}},
			{Tool: "researcher", Delegate: "researcher", Arguments: json.RawMessage(`{"task":"find"}`), Result: json.RawMessage(`"345"`), Start: 2 * second, Duration: 4 * second, Delegated: delegated},
		},
	}}}
}

func lines(t *testing.T, events []Event) string {
	t.Helper()
	var all []string
	for _, e := range events {
		line, err := json.Marshal(e)
		must(t, err)
		all = append(all, strings.Replace(string(line), `"run":"default/task-1/1","iteration":1,`, "", 1))
	}
	return strings.ReplaceAll(strings.Join(all, "\n"), `"phase":"execution",`, "")
}

func TestS3_4_S4_7_AConversationIsEventsInTheirOrder(t *testing.T) {
	const want = `{"event":"iteration_started","at_ns":1000000000,"phase":"execution"}
{"event":"user_message","at_ns":1000000000,"text":"How much?"}
{"event":"agent_response","at_ns":2000000000,"step":1,"text":"Let me see.","thinking":"hm","usage":{"calls":1,"input_tokens":10}}
{"event":"tool_called","at_ns":2000000000,"step":1,"call":1,"server":"filings","tool":"search","arguments":{"for":"it"}}
{"event":"tool_called","at_ns":2000000000,"step":1,"call":2,"tool":"clock","arguments":{}}
{"event":"delegation_requested","at_ns":2000000000,"step":1,"call":3,"delegate":"researcher","arguments":{"task":"find"}}
{"event":"tool_returned","at_ns":3000000000,"step":1,"call":2,"tool":"clock","error":{"class":"tool","message":"exit 1"}}
{"event":"tool_returned","at_ns":5000000000,"step":1,"call":1,"server":"filings","tool":"search","result":"found"}
{"event":"delegation_returned","at_ns":6000000000,"step":1,"call":3,"delegate":"researcher","result":"345","usage":{"calls":3,"input_tokens":9}}
{"event":"agent_response","at_ns":9000000000,"step":2,"text":"Which year?","usage":{"calls":1,"input_tokens":20}}
{"event":"user_message","at_ns":10000000000,"step":2,"text":"2024"}
{"event":"agent_response","at_ns":12000000000,"step":3,"text":"It is 345.","pruned":4,"usage":{"calls":1,"input_tokens":30}}
{"event":"message","at_ns":12000000000,"output":"It is 345."}
{"event":"iteration_completed","at_ns":20000000000,"usage":{"calls":4,"input_tokens":60,"tool_calls":3},"user":{"calls":1,"input_tokens":5},"latency_ns":19000000000}`
	got := lines(t, IterationEvents(conversation(), 0))
	if got != want {
		t.Errorf("%s", got)
	}
}

func TestS2_7_ACallOfAStepThatWasCutIsTold(t *testing.T) {
	run := conversation()
	run.Iterations[0].Steps, run.Iterations[0].Cut = run.Iterations[0].Steps[:1], "timeout"
	run.Iterations[0].Steps[0].Tools = 2
	if got := names(IterationEvents(run, 0)); !strings.Contains(got, "tool_returned search, delegation_requested, delegation_returned, message, failed") {
		t.Errorf("%s", got)
	}
	run.Iterations[0].ToolCalls[2].Result = nil // it was in flight
	if got := names(IterationEvents(run, 0)); !strings.Contains(got, "tool_returned search, delegation_requested, message, failed") {
		t.Errorf("%s", got)
	}
	run.Iterations[0] = Iteration{N: 1, Prompt: "How much?", Error: &Error{Class: ContextLength, Message: "too long"}}
	if got := names(IterationEvents(run, 0)); got != "iteration_started, user_message, failed, iteration_completed" {
		t.Errorf("%s", got)
	}
}

// Whoever follows a run is told step by step what its record tells at once.
func TestS2_7_StepsAreStreamedAsTheyAreRecorded(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		whole := rapid.Custom(drawConversation).Draw(t, "iteration")
		run := &Run{ID: "default/task-1/1", Iterations: []Iteration{whole}}
		var streamed []Event
		for step := range whole.Steps {
			// In progress, there is nothing yet of what follows.
			streamed = append(streamed, StepEvents(inProgress(run, step), 0, step)...)
		}
		all := IterationEvents(run, 0)
		if len(streamed) > 0 && !reflect.DeepEqual(all[:len(streamed)], streamed) {
			t.Fatalf("%s\nwere streamed before\n%s", names(streamed), names(all))
		}
		counts := map[EventType]int{}
		for _, e := range all {
			counts[e.Type]++
		}
		if counts[AgentResponse] != len(whole.Steps) || counts[ToolCalled]+counts[DelegationRequested] != len(whole.ToolCalls) ||
			counts[ToolReturned]+counts[DelegationReturned] != len(whole.ToolCalls) || counts[UserMessage] < 1 {
			t.Fatalf("%v of %+v", counts, whole)
		}
	})
}

func drawConversation(t *rapid.T) Iteration {
	at := func() time.Duration { return time.Duration(rapid.IntRange(0, 9).Draw(t, "at")) }
	it := Iteration{N: 1, Prompt: "go", End: 99}
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		it.Calls = append(it.Calls, Call{Role: RoleAgent, Start: at(), Duration: at()})
		step := Step{Text: "x", Call: len(it.Calls), Tools: rapid.IntRange(0, 3).Draw(t, "tools")}
		for range step.Tools {
			c := ToolCall{Tool: "a", Start: at(), Duration: at()}
			if rapid.Bool().Draw(t, "delegate") {
				c.Delegate = "a"
				it.Calls = append(it.Calls, Call{Role: RoleDelegate, Start: c.Start, Duration: at()})
			}
			it.ToolCalls = append(it.ToolCalls, c)
		}
		if rapid.Bool().Draw(t, "user") {
			step.User = "y"
			it.Calls = append(it.Calls, Call{Role: RoleUser, Start: at(), Duration: at()})
		}
		it.Steps = append(it.Steps, step)
	}
	return it
}

// inProgress is a run of whose iteration only the steps so far are there.
func inProgress(run *Run, step int) *Run {
	it := run.Iterations[0]
	if step+1 < len(it.Steps) {
		it.Calls = it.Calls[:it.Steps[step+1].Call-1]
	}
	tools := 0
	it.Steps = slices.Clone(it.Steps[:step+1])
	for i := range it.Steps {
		tools += it.Steps[i].Tools
	}
	it.ToolCalls, it.End, it.Output = it.ToolCalls[:tools], 0, nil
	return &Run{ID: run.ID, Iterations: []Iteration{it}}
}

// programRun is a run of a program whose sub-agent called a model while its own call was in flight, and that was
// ended during a third one.
func programRun() *Run {
	call := func(step int, conversation string, kind CallKind, arrived, ended time.Duration) Call {
		return Call{Role: RoleAgent, Conversation: conversation, Kind: kind, Step: step, Arrived: arrived, Start: arrived, Ended: ended, Usage: Usage{Calls: int64(step)}}
	}
	return &Run{ID: "c/a/1", Iterations: []Iteration{{N: 1, End: 9, Cut: "budget_steps", Calls: []Call{
		{Role: RoleProgram, Duration: 9},
		call(1, "main", MainCall, 1, 5), call(2, "sub1", AgentCall, 2, 4), call(3, "main", MainCall, 7, 0), call(0, "side1", SideCall, 8, 9),
	}}}}
}

// The calls of a program are told in the order of time; one that was in flight has no end.
func TestCallsOfProgramsAreEvents(t *testing.T) {
	var told []string
	for e := range Events(programRun()) {
		switch {
		case e.Type == CallArrived || e.Type == CallEnded:
			told = append(told, fmt.Sprintf("%s %d: %s %s %d", e.Type, e.At, e.Conversation, e.Kind, e.Step))
		case e.Type == TurnCompleted && e.Steps != 3:
			t.Errorf("%d steps, want 3", e.Steps)
		}
	}
	want := []string{
		"call_arrived 1: main main 1", "call_arrived 2: sub1 agent 2", "call_ended 4: sub1 agent 2", "call_ended 5: main main 1",
		"call_arrived 7: main main 3", "call_arrived 8: side1 side 0", "call_ended 9: side1 side 0",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}

func TestEventTypesAreAllThatThereAre(t *testing.T) {
	seen := map[EventType]bool{}
	for _, run := range []*Run{eventfulRun(), conversation(), programRun()} {
		for e := range Events(run) {
			seen[e.Type] = true
			if !slices.Contains(EventTypes(), e.Type) {
				t.Errorf("%s is not among them", e.Type)
			}
		}
	}
	if len(seen) != len(EventTypes()) {
		t.Errorf("%d of %d come in these runs", len(seen), len(EventTypes()))
	}
}
