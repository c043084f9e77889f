package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// delegating runs a loop that hands tasks to another, with the models and the rest
// of its agent and of itself as given.
func delegating(t *testing.T, models, agent, rest string) *record.Run {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml":        {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels:\n" + models + "\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml":        {Data: []byte("loop: l\nagent: {model: m, " + agent + "delegates: [{name: research, loop: research.yaml}]}\nprompt: go\n" + rest)},
		"research.yaml": {Data: []byte("loop: research\nagent: {model: reader}\nprompt: 'look for {{ task.input }}'\nterminate: {max_iterations: 2}\n")},
	}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return loops[0].Run(t.Context(), "r", &spec.Task{ID: "t", Input: "x"}, 1, nil)
}

const (
	once    = "terminate: {max_iterations: 1}\n"
	reading = "  reader: {provider: script, price: free, latency: {median: 1s}, after_last: repeat, responses: [one, two, three]}"
)

func asking(replies string) string {
	return "  m: {provider: script, price: free, latency: {median: 1s}, after_last: repeat, responses: [" + replies + "]}\n"
}

// In every format of calls a task is handed over, and its result is told; the
// calls and the time of whoever took it are the run's.
func TestS4_6_TasksAreHandedOver(t *testing.T) {
	for format, call := range map[string]string{
		"native": `{tool_calls: [{name: research, arguments: {task: numbers}}]}`,
		"fenced": `"so:\n` + "```delegate\\n" + `{\"agent\": \"research\", \"task\": \"numbers\"}\n` + "```" + `"`,
		"xml":    `'<tool>{"server_name": "agents", "tool_name": "research", "arguments": {"task": "numbers"}}</tool>'`,
	} {
		run := delegating(t, asking(call+", done")+reading, "tool_calls: "+format+", ", once)
		it := run.Iterations[0]
		if string(run.Output()) != `"done"` || len(it.ToolCalls) != 1 || string(it.ToolCalls[0].Result) != `"two"` || it.ToolCalls[0].Delegate != "research" {
			t.Fatalf("%s: %s, %+v", format, run.Output(), it.ToolCalls)
		}
		var roles []string
		for _, c := range it.Calls {
			roles = append(roles, fmt.Sprintf("%s %v", c.Role, c.Start))
		}
		if got, want := strings.Join(roles, ", "), "agent 0s, delegate 1s, delegate 2s, agent 3s"; got != want {
			t.Errorf("%s: calls %s, want %s", format, got, want)
		}
		if run.Usage.Calls != 4 || run.Elapsed.Seconds() != 4 || run.Usage.ToolCalls != 1 {
			t.Errorf("%s: used %+v in %v", format, run.Usage, run.Elapsed)
		}
	}
}

// What delegates use is of the run's budget: it ends the run after the iteration,
// and a hard one before a call that it has no room for.
func TestS4_6_TheBudgetOfARunIsThatOfItsDelegates(t *testing.T) {
	const call = `{tool_calls: [{name: research, arguments: {task: a}}, {name: research, arguments: {task: b}}]}`
	for name, c := range map[string]struct {
		budget string
		calls  int64
	}{
		"soft": {"{calls: 4}", 6}, // one step more, to an end of the iteration
		"hard": {"{calls: 4, hard: true}", 4},
	} {
		run := delegating(t, asking(call+", done")+reading, "", "guards: {budget: "+c.budget+"}\n")
		if run.Outcome.Reason != record.ReasonBudgetCalls || run.Usage.Calls != c.calls {
			t.Errorf("%s: %s after %d calls", name, run.Outcome.Reason, run.Usage.Calls)
		}
	}
}

// A fault of the infrastructure under a delegate is one of the run, which is told
// to be simulated where a delegate is.
func TestFaultsUnderADelegate(t *testing.T) {
	call := `{tool_calls: [{name: research, arguments: {task: a}}]}`
	run := delegating(t, asking(call+", done")+"  reader: {provider: simulate, price: free, errors: 1.0, tokens: {input: 1, output: 1}}", "", once)
	if run.Outcome.Status != record.Faulted || run.Outcome.Error == nil || run.Outcome.Error.Class != record.Server || !run.Simulated {
		t.Errorf("%+v, simulated %v", run.Outcome, run.Simulated)
	}
	if calls := run.Iterations[0].Calls; len(calls) != 2 || calls[1].Error == nil || calls[1].Role != record.RoleDelegate {
		t.Errorf("calls %+v", calls)
	}
	run = delegating(t, asking(call+", done")+"  reader: {provider: script, price: free, after_last: repeat, responses: ['']}", "", once)
	if run.Outcome.Status != record.Completed || string(run.Output()) != `"done"` || run.Iterations[0].ToolCalls[0].Error == nil {
		t.Errorf("a failure is told: %+v, %s", run.Outcome, run.Output())
	}
}

// A name that is none is told with those that there are, and arguments that are
// wrong with what they should be.
func TestTasksThatCannotBeHandedOver(t *testing.T) {
	for call, told := range map[string]string{
		`{tool_calls: [{name: reserch, arguments: {task: a}}]}`:    `did you mean "research"?`,
		`{tool_calls: [{name: research, arguments: {tusk: a}}]}`:   "task",
		`{tool_calls: [{name: research, arguments: {task: [1]}}]}`: "task",
	} {
		run := delegating(t, asking(call+", done")+reading, "", once)
		failed := run.Iterations[0].ToolCalls[0].Error
		if string(run.Output()) != `"done"` || failed == nil || failed.Class != record.BadCall || !strings.Contains(failed.Message, told) || run.Usage.Calls != 2 {
			t.Errorf("%s: %v, %d calls", call, failed, run.Usage.Calls)
		}
	}
}
