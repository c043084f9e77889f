package engine

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

const replaySuite = `suite: s
tasks: [{id: t, input: x}]
models: {m: {provider: script, price: {input: 1000, output: 1000}, after_last: end, responses: ["a", "bb", "a", "dddd", "ccc", "ccccc"]}}
configurations:
- {name: recorded, loop: l.yaml, set: {SET}}
- {name: target, loop: l.yaml, set: {CHANGE}}
`

// pair records a run under one configuration of a loop, and gives what another one
// makes of it, by replay and live.
func pair(t *testing.T, loop, set, change string) (replay.Result, *record.Run) {
	t.Helper()
	text := replaySuite
	for old, with := range map[string]string{"SET": set, "CHANGE": change} {
		text = replaced(text, old, with)
	}
	files := fstest.MapFS{"s.yaml": {Data: []byte(text)}, "l.yaml": {Data: []byte("loop: l\n" + loop)}}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	task := &spec.Task{ID: "t", Input: "x"}
	recorded := loops[0].Run(t.Context(), "r", task, 1, nil)
	live := loops[len(loops)-1].Run(t.Context(), "r", task, 1, nil)
	r := Replay(doc.Suite.Resolved[0].Loop, doc.Suite.Resolved[len(loops)-1].Loop)
	return r.Run(t.Context(), recorded, task), live
}

func replaced(text, old, with string) string { return strings.Replace(text, old, with, 1) }

const scored = "agent: {model: m}\nprompt: 'go {{ feedback }}'\nevaluate: {checks: [{name: long, expr: size(output) > 3, feedback: longer}, {name: c, expr: output.contains('c'), weight: 1.0}]}\nguards: {absolute_max_iterations: 20}\n"

const phased = "agent: {model: m}\nphases: [{name: plan, prompt: plan, max_iterations: 3, until: output == 'bb'}, {name: act, prompt: 'act on {{ outputs.plan }}', max_iterations: 2}]\n"

// Loops as they are declared and run: what replay says is what happens, and
// where the agent is told it says so.
func TestReplayOfDeclaredLoops(t *testing.T) {
	for _, c := range []struct {
		name, loop, set, change string
		label                   replay.Label
		iterations              int
	}{
		{"a tighter limit", scored, "terminate.max_iterations: 6", "terminate.max_iterations: 2", replay.PointExact, 2},
		{"a threshold", scored, "terminate.max_iterations: 6", "terminate.confidence.threshold: 0.5", replay.PointExact, 4},
		{"a budget", scored, "terminate.max_iterations: 6", "guards.budget.calls: 3", replay.PointExact, 3},
		{"beyond the record", scored, "terminate.max_iterations: 2", "terminate.max_iterations: 4", replay.Bounded, 2},
		{"the agent's own end", scored, "terminate.max_iterations: 9", "terminate.max_iterations: 8", replay.PointExact, 6},
		{"a weight", scored, "terminate.max_iterations: 6", "evaluate.checks.c.weight: 3.0, terminate.confidence.threshold: 0.7", replay.PointExact, 5},
		{"another prompt", scored, "terminate.max_iterations: 6", "prompt: other", replay.NeedsCalls, 0},
		{"a prompt that names the limit", replaced(scored, "go", "{{ param.max_iterations }}"), "terminate.max_iterations: 6", "terminate.max_iterations: 2", replay.NeedsCalls, 0},
		{"a prompt that names the limit late", replaced(scored, "go", "{{ iteration < 2 ? 0 : param.max_iterations }}"), "terminate.max_iterations: 6", "terminate.max_iterations: 2", replay.PointExact, 2},
		{"a phase that had ended before its new limit", phased, "phases.plan.max_iterations: 3", "phases.plan.max_iterations: 2", replay.PointExact, 4},
		{"a phase that is cut", phased, "phases.plan.max_iterations: 3", "phases.plan.max_iterations: 1", replay.NeedsCalls, 1},
		{"the last phase", phased, "phases.act.max_iterations: 2", "phases.act.max_iterations: 1", replay.PointExact, 3},
	} {
		r, live := pair(t, c.loop, c.set, c.change)
		if r.Label() != c.label || r.Iterations != c.iterations {
			t.Errorf("%s: %s after %d (%s), want %s after %d", c.name, r.Label(), r.Iterations, r.Why, c.label, c.iterations)
		}
		if r.Verdict == replay.Exact && (!reflect.DeepEqual(r.Outcome, live.Outcome) || r.Iterations != len(live.Iterations) || r.Usage.Most != live.Usage || !r.Usage.Point() || r.Elapsed != live.Elapsed) {
			t.Errorf("%s: replay %+v, live %+v", c.name, r, live.Outcome)
		}
	}
}

// What programs are given is rendered again, too.
func TestReplayOfPrograms(t *testing.T) {
	loop := "agent: {command: [sh, -c, 'cat > /dev/null; echo a']}\nprompt: 'go {{ param.max_iterations > 4 ? iteration : 7 }}'\n"
	r, live := pair(t, loop, "terminate.max_iterations: 4", "terminate.max_iterations: 2")
	if r.Verdict != replay.Exact || r.Iterations != 2 || r.Outcome.Reason != live.Outcome.Reason {
		t.Errorf("%+v, live %+v", r, live.Outcome)
	}
	if r, _ := pair(t, loop, "terminate.max_iterations: 5", "terminate.max_iterations: 2"); r.Verdict != replay.Branches || r.At != 1 {
		t.Errorf("another prompt: %+v", r)
	}
}
