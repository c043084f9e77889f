// Package recordingtest has real agents' recorded runs for tests: Read and Decode read a file of them, Expected
// what is known of them. They are not part of the product: a test that needs them
// is skipped where they are not.
//
// It is no stable API.
package recordingtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Variable names the folder of the recordings; without it they are in
// ../shared/data beside the module.
const Variable = "AGENTBENCH_DATA"

// Folder is the absolute path of the recordings.
func Folder(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(Variable)
	if folder == "" {
		folder = filepath.Join(filepath.Dir(module(t)), "shared", "data")
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "expected.json"))
	}
	if err != nil {
		t.Skipf("no recordings: %v (%s names their folder)", err, Variable)
	}
	return folder
}

// module is the folder of go.mod above the test's.
func module(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		above := filepath.Dir(at)
		if above == at {
			t.Fatal("no go.mod above the test")
		}
		at = above
	}
}

// File is the path of a recording, as the folder's description names it.
func File(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(Folder(t), filepath.FromSlash(name))
}

// Read is the text of a recording.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Decode reads a recording that is one JSON value.
func Decode(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Expected is a part of the numbers that a correct product computes of the
// recordings.
func Expected(t testing.TB, key string, into any) {
	t.Helper()
	var parts map[string]json.RawMessage
	Decode(t, "expected.json", &parts)
	if parts[key] == nil {
		t.Fatalf("expected.json has no %q", key)
	}
	if err := json.Unmarshal(parts[key], into); err != nil {
		t.Fatalf("expected.json, %s: %v", key, err)
	}
}

// Conversation is a run with what a conversation can hold.
func Conversation() *record.Run {
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
