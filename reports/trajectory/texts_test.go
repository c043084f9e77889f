package trajectory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
)

// A page has every text that Tell has, and counts steps over the whole run.
func TestTextsHaveWhatTellHas(t *testing.T) {
	run := recordingtest.Conversation()
	scores := []record.Score{{Run: run.ID, Name: "close", Value: 0.5, Explanation: "half", Votes: []record.Vote{{Judge: "one", Value: 0}, {Judge: "two", Value: 1}}}}
	texts := TextsOf(run, scores, nil)
	said, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"How much did they earn", "Let me see.", "Which year?", "It is 345.", "search of filings", "exit 1", "(half)", "one: 0.00", "final_response"} {
		if !strings.Contains(string(said), text) {
			t.Errorf("%q is missing in %s", text, said)
		}
	}
	if strings.Contains(string(said), "more; --full") {
		t.Error("a text is shortened")
	}
	var steps []int
	for _, part := range texts.Iterations[0].Parts {
		if part.Step > 0 {
			steps = append(steps, part.Step)
		}
	}
	if len(steps) != 3 || steps[0] != 1 || steps[2] != 3 {
		t.Errorf("the steps are %v, want 1 2 3", steps)
	}
}

func TestStepsAreCountedOverTheRun(t *testing.T) {
	made := 0
	call := func(kind record.CallKind) record.Call {
		c := record.Call{Role: record.RoleAgent, Kind: kind, Conversation: "main"}
		if kind.IsStep() {
			made++
			c.Step = made
		}
		return c
	}
	run := &record.Run{ID: "default/a/1", Iterations: []record.Iteration{
		{N: 1, Output: json.RawMessage(`"x"`)},
		{N: 2, Calls: []record.Call{call(record.MainCall), call(record.SideCall), call(record.AgentCall)}},
		{N: 3, Output: json.RawMessage(`"` + strings.Repeat("é", mostText) + `"`)},
	}}
	run.Iterations[0].ToolCalls = []record.ToolCall{{Tool: "search", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(`"found"`)}}
	run.Iterations[1].Calls = append(run.Iterations[1].Calls, call(record.RetryCall))
	texts := TextsOf(run, nil, nil)
	if used := texts.Iterations[0].Parts; len(used) != 3 || used[0].Is != "calls" || used[1].Is != "gave" || used[1].Text != "found" {
		t.Errorf("the use of a tool is %+v", used)
	}
	if other := texts.Iterations[1].Parts; len(other) != 4 || other[1].Is != "call" || other[1].Step != 0 || other[2].Is != "step 2" || !strings.HasPrefix(other[3].Text, "main · retry · ") {
		t.Errorf("the calls of a program are %+v", other)
	}
	if is := [3]int{texts.Iterations[0].Step, texts.Iterations[1].Step, texts.Iterations[2].Step}; is != [3]int{1, 2, 4} {
		t.Errorf("iterations begin at the steps %v, want 1 2 4", is)
	}
	long := texts.Iterations[2].Parts[0]
	if long.Is != "output" || long.Text != strings.Repeat("é", mostText/2) || long.Left != mostText {
		t.Errorf("of a long %s are %d bytes here and %d left out", long.Is, len(long.Text), long.Left)
	}
}

// A page has what each iteration changed, or where that is not known the diff since the seed, under another name.
func TestTextsHaveTheDiffOfEachIteration(t *testing.T) {
	run := &record.Run{ID: "default/a/1", Seed: "s", Iterations: []record.Iteration{
		{N: 1, Workspace: &record.Workspace{Tree: "1", Added: []string{"a"}, Diff: "+one\n"}},
		{N: 2, Workspace: &record.Workspace{Tree: "2", Added: []string{"a"}, Diff: "+one\n+two\n", Truncated: true}},
		{N: 3},
		{N: 4, Workspace: &record.Workspace{Tree: "2", Added: []string{"a"}, Diff: "+one\n+two\n"}},
	}}
	diffs := func(made []*record.Workspace) (all []string) {
		for i, it := range TextsOf(run, nil, made).Iterations {
			for _, part := range it.Parts {
				if strings.HasPrefix(part.Is, "diff") {
					all = append(all, fmt.Sprint(i+1, " ", part.Is, ": ", part.Text))
				}
			}
		}
		return all
	}
	made := []*record.Workspace{{Diff: "+one\n"}, {Diff: "+two\n"}, nil, {}}
	if is, want := diffs(made), []string{"1 diff: +one\n", "2 diff: +two\n", "4 diff: no file changed"}; !slices.Equal(is, want) {
		t.Errorf("the diffs are %q, want %q", is, want)
	}
	want := []string{"1 diff since the seed: +one\n", "2 diff since the seed: +one\n+two\n… the diff is longer\n", "4 diff since the seed: +one\n+two\n"}
	if is := diffs(nil); !slices.Equal(is, want) {
		t.Errorf("the diffs are %q, want %q", is, want)
	}
}
