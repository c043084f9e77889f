package scorers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/record"
)

// course is a run of so many iterations, each with its tool calls as `name{arguments}`: one that ends in ! could not be
// made, one that ends in ? failed. Each call is a step of its own. What stands in [] is what a delegate called.
func course(iterations ...string) *record.Run {
	outputs := make([]string, len(iterations))
	for i := range outputs {
		outputs[i] = `"x"`
	}
	r := run(outputs...)
	for i, written := range iterations {
		it := &r.Iterations[i]
		for word := range strings.FieldsSeq(written) {
			name, inner, handed := strings.Cut(strings.TrimSuffix(word, "]"), "[")
			call := callOf(name)
			if handed {
				call.Delegate = call.Tool
				call.Delegated = course(strings.ReplaceAll(inner, ",", " "))
			}
			it.ToolCalls = append(it.ToolCalls, call)
			it.Steps = append(it.Steps, record.Step{Tools: 1})
		}
		it.Steps = append(it.Steps, record.Step{Text: "x"})
	}
	return r
}

func callOf(word string) record.ToolCall {
	name := strings.TrimRight(word, "!?")
	call := record.ToolCall{Tool: name, Arguments: json.RawMessage("{}")}
	if at := strings.IndexByte(name, '{'); at >= 0 {
		call.Tool, call.Arguments = name[:at], json.RawMessage(name[at:])
	}
	switch {
	case strings.HasSuffix(word, "!"):
		call.Error = &record.Error{Class: record.BadCall, Message: "no such thing"}
	case strings.HasSuffix(word, "?"):
		call.Error = &record.Error{Class: record.Tool, Message: "timed out after 1s"}
	}
	return call
}

// courseVerdicts are what the scorers of tool calls and steps say of a run of one iteration.
var courseVerdicts = []struct{ scorer, target, calls, want string }{
	{`type: tools_called, tools: [a, b, c]`, ``, `a x b a`, `0.6667 (a, x, b): not called: c`},
	{`type: tools_called, tools: [a, b]`, ``, `b{"n":1} a`, `1 (b, a)`},
	{`type: tools_called, tools: [a]`, ``, ``, `0 (no calls): not called: a`},
	{`type: tools_called, tools: [a]`, ``, `a!`, `0 (no calls): not called: a`},
	{`type: tools_called, tools: [a]`, ``, `a?`, `1 (a)`},
	{`type: tools_called`, `["a", "b"]`, `a b`, `1 (a, b)`},
	{`type: tools_called`, `"a"`, `a b`, `1 (a, b)`},
	{`type: tools_called`, `[]`, ``, `1 (no calls)`},
	{`type: tools_called`, ``, `a`, `unscored: the target is missing`},
	{`type: tools_called, target: target.tools`, `{"tools": ["a"]}`, `b`, `0 (b): not called: a`},
	{`type: tools_called, tools: [a], not: true`, ``, ``, `1 (no calls)`},
	{`type: tools_called, tools: [b]`, ``, `helper[a,b]`, `0 (helper): not called: b`},
	{`type: tools_called, tools: [b, helper], delegates: true`, ``, `helper[a,b]`, `1 (helper, a, b)`},

	{`type: tools_not_called, tools: [drop]`, ``, `a b`, `1 (a, b)`},
	{`type: tools_not_called, tools: [drop]`, ``, ``, `1 (no calls)`},
	{`type: tools_not_called, tools: [drop, a]`, ``, `b a`, `0 (b, a): a was called in iteration 1`},
	{`type: tools_not_called, tools: [drop]`, ``, `drop!`, `0 (drop): drop was called in iteration 1`},
	{`type: tools_not_called, tools: [a]`, ``, `helper[a]`, `1 (helper)`},
	{`type: tools_not_called, tools: [a], delegates: true`, ``, `helper[a]`, `0 (helper, a): a was called in iteration 1`},

	{`type: tool_order, tools: [a, b, c]`, ``, `a x b x c`, `1 (a, x, b, x, c)`},
	{`type: tool_order, tools: [a, b, c]`, ``, `c a b`, `0.6667 (c, a, b): want a, b, c, got c, a, b`},
	{`type: tool_order, tools: [a, b]`, ``, `b a`, `0.5 (b, a): want a, b, got b, a`},
	{`type: tool_order, tools: [a, a]`, ``, `a`, `0.5 (a): want a, a, got a`},
	{`type: tool_order, tools: [a]`, ``, ``, `0 (no calls): want a, got no calls`},
	{`type: tool_order, tools: [a, b], exactly: true`, ``, `a b`, `1 (a, b)`},
	{`type: tool_order, tools: [a, b], exactly: true`, ``, `a! a b`, `1 (a, b)`},
	{`type: tool_order, tools: [a, b], exactly: true`, ``, `a x b`, `0 (a, x, b): want a, b, got a, x, b`},
	{`type: tool_order, exactly: true`, `[]`, ``, `1 (no calls)`},
	{`type: tool_order, exactly: true`, `[]`, `a`, `0 (a): want no calls, got a`},

	{`type: tool_args, tools: [a], expr: call.arguments.n == 2.0`, ``, `a{"n":1} a{"n":2} b{"n":2}`, `1 (1 of 2)`},
	{`type: tool_args, tools: [a], expr: call.arguments.n == 2.0, every: true`, ``, `a{"n":1} a{"n":2}`, `0.5 (1 of 2): call 1, a({"n":1})`},
	{`type: tool_args, expr: call.tool == "a" && call.step == 2 && call.iteration == 1`, ``, `b a`, `1 (1 of 2)`},
	{`type: tool_args, expr: call.error == "", every: true`, ``, `a b? c!`, `0.3333 (1 of 3): call 2, b({})`},
	{`type: tool_args, tools: [a], expr: call.arguments.n > 1.0`, ``, `a a{"n":"x"}`, `0 (0 of 2): call 1, a({}): key "n" not found`},
	{`type: tool_args, tools: [a], expr: call.arguments.q == target`, `"x"`, `a{"q":"x"}`, `1 (1 of 1)`},
	{`type: tool_args, tools: [a], expr: 'true'`, ``, ``, `0 (0 of 0): it was not called`},
	{`type: tool_args, tools: [a], expr: 'false', every: true`, ``, `b`, `1 (0 of 0)`},
	{`type: tool_args, expr: call.tool == "b", delegates: true`, ``, `helper[a,b]`, `1 (1 of 3)`},

	{`type: tool_call_count, max: 2`, ``, `a b`, `1 (2)`},
	{`type: tool_call_count, max: 2`, ``, `a b c!`, `0 (3): want at most 2, got 3`},
	{`type: tool_call_count, min: 1`, ``, ``, `0 (0): want at least 1, got 0`},
	{`type: tool_call_count, equals: 0`, ``, ``, `1 (0)`},
	{`type: tool_call_count, equals: 1, tools: [a]`, ``, `a b b`, `1 (1)`},
	{`type: tool_call_count, equals: 1`, ``, `a b`, `0 (2): want 1, got 2`},
	{`type: tool_call_count, min: 1, max: 2`, ``, `helper[a,b]`, `1 (1)`},
	{`type: tool_call_count, min: 1, max: 2, delegates: true`, ``, `helper[a,b]`, `0 (3): want at most 2, got 3`},

	{`type: steps, max: 3`, ``, `a b`, `1 (3)`},
	{`type: steps, max: 2`, ``, `a b`, `0 (3): want at most 2, got 3`},
	{`type: steps, equals: 5, delegates: true`, ``, `helper[a,b]`, `1 (5)`},

	{`type: no_repeated_calls`, ``, `a{"x":1,"y":2} a{"x":1} b{"x":1}`, `1 (3)`},
	{`type: no_repeated_calls`, ``, ``, `1 (0)`},
	{`type: no_repeated_calls`, ``, `a{"x":1,"y":2} b a{"y":2,"x":1}`, `0 (3): a({"y":2,"x":1}) is repeated in iteration 1`},
	{`type: no_repeated_calls, tools: [b]`, ``, `a a b`, `1 (1)`},
	{`type: no_repeated_calls`, ``, `a? a`, `0 (2): a({}) is repeated in iteration 1`},
}

func TestScorersOfToolCallsAndSteps(t *testing.T) {
	for _, c := range courseVerdicts {
		t.Run(c.scorer+" "+c.calls, func(t *testing.T) {
			scores := set(t, "- {name: s, "+c.scorer+"}").Score(context.Background(), task(t, c.target), course(c.calls))
			expect.Equal(t, "result", strings.TrimPrefix(shownAll(scores[:1]), "s 0 "), c.want)
		})
	}
}

// An iteration is judged by what was done up to it, the run by everything, also by what came after what it returned.
func TestWhatWasDoneIsJudgedFromTheStart(t *testing.T) {
	r := course("a", "", "b", "a")
	r.Outcome.Returned = 2
	for scorer, want := range map[string]string{
		`type: tools_called, tools: [a, b]`: "s 0 1 (a, b)\ns 1 0.5 (a): not called: b\ns 2 0.5 (a): not called: b\ns 3 1 (a, b)\ns 4 1 (a, b)",
		`type: tool_call_count, max: 2`:     "s 0 0 (3): want at most 2, got 3\ns 1 1 (1)\ns 2 1 (1)\ns 3 1 (2)\ns 4 0 (3): want at most 2, got 3",
		`type: no_repeated_calls`:           "s 0 0 (3): a({}) is repeated in iteration 4\ns 1 1 (1)\ns 2 1 (1)\ns 3 1 (2)\ns 4 0 (3): a({}) is repeated in iteration 4",
	} {
		got := shownAll(set(t, "- {name: s, "+scorer+"}").Score(context.Background(), task(t, ``), r))
		expect.Equal(t, scorer, got, want)
	}
}

// Recordings of programs that were made before their tools were noted have no verdict on them.
func TestToolsThatAreNotKnownAreUnscored(t *testing.T) {
	r := run(`"x"`)
	r.Iterations[0].Calls = []record.Call{{Role: record.RoleProgram}, {Role: record.RoleAgent, Conversation: "main", Kind: record.MainCall, Step: 1, Arrived: 1, Ended: 2}}
	for _, scorer := range []string{`type: tools_called, tools: [a]`, `type: tools_not_called, tools: [a]`, `type: tool_order, tools: [a]`, `type: tool_args, expr: "true"`, `type: tool_call_count, max: 1`, `type: no_repeated_calls`} {
		scores := set(t, "- {name: s, "+scorer+"}").Score(context.Background(), task(t, ``), r)
		expect.Equal(t, scorer, scores[0].Unscored, "the record does not have the tools that the program used")
	}
	if got := set(t, "- {name: s, type: steps, max: 1}").Score(context.Background(), task(t, ``), r)[0]; got.Unscored != "" || got.Value != 1 {
		t.Errorf("steps: %+v", got)
	}
}
