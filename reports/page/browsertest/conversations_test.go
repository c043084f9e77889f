package browsertest

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// conversations records runs of two configurations on two tasks, with two trials each: an agent
// that uses tools, whose second call and output differ by configuration, and a panel that
// disagrees about the first task. The task "repair" is done by a program in a workspace.
func conversations(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "conversations")
	m := record.Manifest{
		Suite: "conversations", Tasks: 2, Trials: 2, Scorers: []string{"helpful"}, Baseline: "base", Totals: record.Totals{Planned: 8},
		Configurations: []record.ConfigurationHead{{Name: "base", MaxIterations: 3, EffectiveMax: 3}, {Name: "new", MaxIterations: 3, EffectiveMax: 3}},
	}
	m.Specs = madeOf(t, dir, `tasks: [{id: filings, input: "What did they earn?"}, {id: repair, input: Mend it.}], scorers: [{name: helpful, type: judge, model: m, rubric: r, range: [1, 5]}]`, []string{"base", "new"}, "helpful")
	journal, err := record.Create(dir, m, record.Options{Delay: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, configuration := range []string{"base", "new"} {
		for _, task := range []string{"filings", "repair"} {
			for trial := 1; trial <= 2; trial++ {
				run := conversation(configuration, task, trial)
				err = errors.Join(err, journal.Append(run, []record.Score{judged(run)}, nil))
			}
		}
	}
	if err := errors.Join(err, journal.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func judged(run *record.Run) record.Score {
	strict := 1.0
	if run.Task == "filings" && run.Configuration == "new" {
		strict = 0.25
	}
	votes := []record.Vote{{Judge: "kind", Value: 1, Explanation: "it is right"}, {Judge: "strict", Value: strict, Explanation: "says the strict one"}}
	return record.Score{Name: "helpful", Value: (1 + strict) / 2, Votes: votes}
}

func conversation(configuration, task string, trial int) *record.Run {
	run := &record.Run{
		Version: record.Version, ID: record.RunID(configuration, task, trial), Configuration: configuration, Task: task, Trial: trial, Elapsed: 3 * time.Second,
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Success: true, Returned: 1, Limit: 3, Used: 3},
	}
	it := talk(configuration)
	if task == "repair" {
		it = repair(configuration)
	}
	for _, call := range it.Calls {
		run.Usage = run.Usage.Plus(call.Usage)
	}
	run.Iterations = []record.Iteration{it}
	return run
}

// modelCall is the n-th call of an iteration.
func modelCall(n int) record.Call {
	return record.Call{Role: record.RoleAgent, Model: "m", Usage: record.Usage{Calls: 1, InputTokens: int64(100 * n), OutputTokens: 20, Cost: record.Money(n) * 1e9}, Start: time.Duration(n-1) * time.Second, Duration: time.Second}
}

func talk(configuration string) record.Iteration {
	year, earned := 2024, "They earned 12 million in 2024."
	if configuration == "new" {
		year, earned = 2023, "They earned 11 million in 2023."
	}
	return record.Iteration{
		N: 1, Phase: "execution", End: 3 * time.Second, Prompt: "What did they earn?", Output: quoted(earned),
		Calls: []record.Call{modelCall(1), modelCall(2), modelCall(3)},
		Steps: []record.Step{{Text: "Let me see.", Thinking: "I need the filings.", Call: 1, Tools: 1}, {Text: "Now the year.", Call: 2, Tools: 1, Pruned: 1}, {Text: earned, Call: 3}},
		ToolCalls: []record.ToolCall{
			{Tool: "search", Arguments: []byte(`{"for": "filings"}`), Result: quoted("two filings")},
			{Tool: "open", Arguments: fmt.Appendf(nil, `{"file": "filing", "year": %d}`, year), Result: quoted("twelve pages")},
		},
		Evaluation: &record.Evaluation{Confidence: 0.9, Passed: true, Checks: []record.Check{{Name: "has a number", Passed: true}}},
	}
}

func repair(configuration string) record.Iteration {
	diff := "diff --git a/sum.go b/sum.go\n--- a/sum.go\n+++ b/sum.go\n@@ -1,3 +1,3 @@\n func sum(a, b int) int {\n-\treturn a - b\n+\treturn a + b\n }\n"
	it := record.Iteration{
		N: 1, End: 2 * time.Second, Output: quoted("mended"), Calls: []record.Call{modelCall(1), modelCall(2)},
		Workspace: &record.Workspace{Tree: "0123456789abcdef0123", Changed: []string{"sum.go"}, Insertions: 1, Deletions: 1, Diff: diff}, Cut: "timeout",
	}
	it.Calls[0].Conversation, it.Calls[0].Kind, it.Calls[0].Step = "main", record.MainCall, 1
	it.Calls[1].Conversation, it.Calls[1].Kind, it.Calls[1].Step = "sub1", record.AgentCall, 2
	if configuration == "new" {
		title := modelCall(3)
		title.Conversation, title.Kind = "main", record.SideCall
		it.Calls = append(it.Calls, title)
	}
	return it
}
