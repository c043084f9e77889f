package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// conversing is a run with what a conversation can hold.
func conversing() *record.Run {
	second := time.Second
	inner := &record.Run{ID: "research/task-1/1", Task: "task-1", Outcome: record.Outcome{Reason: record.ReasonMaxIterations, Class: record.ByCondition, Returned: 1},
		Usage: record.Usage{Calls: 1, InputTokens: 30, OutputTokens: 3}, Elapsed: 2 * second,
		Iterations: []record.Iteration{{N: 1, Prompt: "Find the year.", Output: json.RawMessage(`"2024"`), End: 2 * second,
			Calls: []record.Call{{Role: record.RoleAgent, Duration: 2 * second, Usage: record.Usage{Calls: 1, InputTokens: 30, OutputTokens: 3}}},
			Steps: []record.Step{{Text: "2024", Call: 1}}}}}
	agent := func(start time.Duration) record.Call {
		return record.Call{Role: record.RoleAgent, Start: start, Duration: second, Usage: record.Usage{Calls: 1, InputTokens: 100, OutputTokens: 10}}
	}
	return &record.Run{ID: "default/task-1/1", Task: "task-1", Elapsed: 12 * second,
		Servers: []record.ToolServer{{Name: "filings", Tools: []record.ServerTool{{Name: "search", Description: "Finds.", Parameters: json.RawMessage(`true`)}}}},
		Outcome: record.Outcome{Reason: record.ReasonFinalResponse, Class: record.ByAgent, Returned: 1},
		Usage:   record.Usage{Calls: 4, InputTokens: 330, OutputTokens: 33, ToolCalls: 4}, User: record.Usage{Calls: 1, InputTokens: 7, OutputTokens: 2},
		Iterations: []record.Iteration{{N: 1, Phase: "execution", Prompt: "How much did they earn, " + strings.Repeat("and why, ", 9) + "and for whom?",
			End: 12 * second, Thinking: "not told twice", Output: json.RawMessage(`"It is 345."`),
			Calls: []record.Call{agent(0), {Role: record.RoleDelegate, Delegate: "researcher", Start: second, Duration: 2 * second, Usage: inner.Usage},
				agent(4 * second), {Role: record.RoleUser, Start: 5 * second, Duration: second, Usage: record.Usage{Calls: 1, InputTokens: 7, OutputTokens: 2}}, agent(6 * second)},
			Steps: []record.Step{{Text: "Let me see.", Thinking: "hm", Call: 1, Tools: 4}, {Text: "Which year?", Call: 3, User: "2024", Pruned: 1}, {Text: "It is 345.", Call: 5, Pruned: 6}},
			ToolCalls: []record.ToolCall{
				{Tool: "search", Server: "filings", Arguments: json.RawMessage(`{"for":"it"}`), Result: json.RawMessage(`"one\n  two"`), Cached: true},
				{Tool: "clock", Arguments: json.RawMessage(`{}`), Error: &record.Error{Class: record.Tool, Message: "exit 1"}},
				{Arguments: json.RawMessage(`"{\"x"`), Error: &record.Error{Class: record.BadCall, Message: "the block is not JSON"}},
				{Tool: "researcher", Delegate: "researcher", Arguments: json.RawMessage(`{"task":"Find the year."}`), Result: json.RawMessage(`"2024"`), Delegated: inner},
			}}}}
}

const toldConversation = `run default/task-1/1
  task        task-1
  used        1 iteration, 5 calls, 4 tool calls, 337 tokens in, 35 out, $0.00, 12 s
              of that the user: 1 call, 7 tokens in, 2 out, $0.00

iteration 1 · execution · 5 calls, 4 tool calls, 337 tokens in, 35 out, $0.00 · 12 s
  prompt      How much did they earn, and why, and why, and why, and why, and
              why, and why, and why, and why, and why, and for whom?

  step 1      2 calls, 130 tokens in, 13 out, $0.00 · 3 s
  thinking    hm
  reply       Let me see.
  calls       search of filings {"for":"it"}
    gave      one
                two (remembered)
  calls       clock {}
    error     tool: exit 1
  calls       (unreadable) {"x
    error     bad_call: the block is not JSON
  delegates   researcher {"task":"Find the year."}
    gave      2024
    took      1 iteration, 1 call, 30 tokens in, 3 out, $0.00, 2 s; stopped by
              max_iterations (--full)

  step 2      2 calls, 107 tokens in, 12 out, $0.00, 1 message pruned · 2 s
  reply       Which year?
  user        2024

  step 3      1 call, 100 tokens in, 10 out, $0.00, 6 messages pruned · 1 s
  output      It is 345.

stopped after 1 iteration: final_response
  why         the agent ended it
  success     no, as the loop believed
  returned    the output of iteration 1
`

func TestShowTellsAConversation(t *testing.T) {
	tell := telling{width: 80, manifest: &record.Manifest{}}
	tell.run(conversing())
	if got := tell.String(); got != toldConversation {
		t.Errorf("%s", got)
	}
	full := telling{width: 80, full: true, manifest: &record.Manifest{}}
	full.run(conversing())
	if want := "    gave      2024\n    run research/task-1/1\n      task        task-1\n"; !strings.Contains(full.String(), want) {
		t.Errorf("a delegate's run is not told whole and indented:\n%s", full.String())
	}
}

func TestFoldedLinesFitAndLoseNothing(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{" ", "  ", "a", "word", `{"json":"without"}`, "日本語", "é", strings.Repeat("x", 50)})).Draw(t, "line"), "")
		width := rapid.IntRange(20, 60).Draw(t, "width")
		lines := folded(line, width)
		for i, l := range lines {
			if page.Width(l) > width {
				t.Fatalf("line %d of %q is wider than %d", i, lines, width)
			}
			if i > 0 && l == "" {
				t.Fatalf("line %d of %q is empty", i, lines)
			}
		}
		if spaceless(strings.Join(lines, "")) != spaceless(line) {
			t.Fatalf("%q became %q", line, lines)
		}
	})
	if got := folded("    indented", 40); len(got) != 1 || got[0] != "    indented" {
		t.Errorf("%q", got)
	}
}

func spaceless(text string) string { return strings.ReplaceAll(text, " ", "") }
