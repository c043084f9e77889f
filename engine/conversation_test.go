package engine

import (
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

const talking = `suite: s
tasks: [{id: t, input: go, vars: {says: [why, "enough ###STOP###"]}}]
models:
  m:
    provider: script
    responses:
      - {tool_calls: [{name: add, arguments: {a: 1}}]}
      - a plan
      - a better plan
      - {tool_calls: [{name: add, arguments: {a: 1}}, {name: add, arguments: {a: x}}]}
      - "2"
configurations: [{name: c, loop: l.yaml}]
`

const inPhases = `loop: l
agent:
  model: m
  system: be brief
  memory: {max_tokens: 1000}
  max_steps: 4
  warn_remaining: 2
  tools: [{name: add, parameters: {type: object, properties: {a: {type: number}}}, cel: args.a + 1.0}]
prompt: '{{ task.input }} {{ phase }}'
user: {script: task.vars.says}
phases:
  - {name: plan, tools: [], max_iterations: 1}
  - {name: act, max_iterations: 1}
`

// A loop as it is written converses, and its record has the whole of it: phases
// have their own tools, the memory goes on, the user answers, and the last
// steps are warned of. Without network, what was sent is told again.
func TestALoopConverses(t *testing.T) {
	files := fstest.MapFS{"s.yaml": {Data: []byte(talking)}, "l.yaml": {Data: []byte(inPhases)}}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	task := onlyTask(t, doc)
	run := loops[0].Run(t.Context(), "c/t/1", task, 1, nil)
	if run.Outcome.Reason != record.ReasonPhasesComplete || len(run.Iterations) != 2 {
		t.Fatalf("%+v", run.Outcome)
	}
	plan, act := run.Iterations[0], run.Iterations[1]
	if e := plan.ToolCalls[0].Error; e == nil || e.Class != record.BadCall || plan.Steps[1].User != "why" || plan.Steps[2].User != "enough ###STOP###" {
		t.Errorf("in the phase without tools: %+v, steps %+v", plan.ToolCalls, plan.Steps)
	}
	if string(act.ToolCalls[0].Result) != "2" || act.ToolCalls[1].Error == nil || string(run.Output()) != `"2"` {
		t.Errorf("in the phase with tools: %+v, output %s", act.ToolCalls, run.Output())
	}
	told := Offline(doc.Suite.Resolved[0].Loop)
	state := told.Rules.Start(task, told.Param)
	for i := range run.Iterations {
		trace, ok, err := told.Retrace(t.Context(), task, state.Next(), state, run)
		if err != nil || !ok || !trace.Over || len(trace.Requests) != len(run.Iterations[i].Steps) {
			t.Fatalf("iteration %d is told as %+v, %v", i+1, trace, err)
		}
		for k, request := range trace.Requests {
			if call := run.Iterations[i].Calls[run.Iterations[i].Steps[k].Call-1]; call.Request != request {
				t.Errorf("step %d of iteration %d sends another request", k+1, i+1)
			}
		}
		state.Fold(&run.Iterations[i])
	}
}

func onlyTask(t *testing.T, doc *spec.Document) *spec.Task {
	t.Helper()
	for task, err := range doc.Tasks() {
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	return nil
}
