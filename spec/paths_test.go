package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/spec/expr"
)

// withSet loads a suite that sets parameters in a loop, and returns the loop.
func withSet(t testing.TB, loop, set string) *Loop {
	t.Helper()
	d := loaded(t, "s.yaml", "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml, set: {"+set+"}}]\n", "l.yaml", loop)
	return d.Suite.Resolved[0].Loop
}

const parameterLoop = `loop: l
agent: {model: m}
prompt: p
preset: base
evaluate:
  checks: [{name: length, expr: output != ""}, {name: v1.2, expr: "true"}]
  command: [cat]
`

func TestSetPaths(t *testing.T) {
	cases := []struct{ terminate, set, read, want string }{
		{"", "terminate.max_iterations: 4", "terminate.max_iterations", "4"},
		{"", "max_iterations: 4", "terminate.max_iterations", "4"},
		{"", "terminate.any.max_iterations: 4", "terminate.max_iterations", "4"},
		{"max_iterations: 9", "terminate.max_iterations: 4", "terminate.max_iterations", "4"},
		{"terminate: {max_iterations: 9}", "max_iterations: 4", "terminate.max_iterations", "4"},
		{"terminate: {any: [{max_iterations: 9}]}", "max_iterations: 4", "terminate.max_iterations", "4"},
		{"terminate: {any: [{when: passed}]}", "terminate.max_iterations: 4", "terminate.max_iterations", "4"},
		{"terminate: {all: [{when: passed}]}", "terminate.max_iterations: 4", "terminate.max_iterations", "4"},
		{"terminate: {no_improvement: off}", "terminate.no_improvement.patience: 4", "terminate.no_improvement.patience", "4"},
		{"terminate: {no_improvement: {patience: off, min_delta: 0.5}}", "terminate.no_improvement.patience: 4", "terminate.no_improvement.min_delta", "0.5"},
		{"terminate: {no_improvement: {patience: 2}}", "terminate.no_improvement: off", "terminate.no_improvement.patience", "<nil>"},
		{"terminate: {confidence: {threshold: 0.5}}", "terminate.confidence: {threshold: 0.7, min_iterations: 2}", "min_iterations", "2"},
		{"terminate: {timeout: 60s}", "terminate.timeout.cancel: false", "terminate.timeout.after", "1m0s"},
		{"terminate: {timeout: 60s}", "terminate.timeout: 30s", "terminate.timeout.after", "30s"},
		{"terminate: {timeout: 60s}", "terminate.timeout.after: 30s", "timeout.after", "30s"},
		{"terminate: {any: [{name: good, confidence: {threshold: 0.5}}]}", "terminate.good.threshold: 0.7", "terminate.good.threshold", "0.7"},
		{"terminate: {any: [{name: good, confidence: {threshold: 0.5}}]}", "terminate.good.confidence.threshold: 0.7", "terminate.good.threshold", "0.7"},
		{"terminate: {any: [{name: good, all: [{confidence: {threshold: 0.5}}, {when: passed}]}]}", "terminate.good.confidence.threshold: 0.7", "terminate.good.confidence.threshold", "0.7"},
		{"terminate: {any: [{name: good, all: [{when: passed}]}]}", "terminate.good.all.confidence.threshold: 0.7", "terminate.good.confidence.threshold", "0.7"},
		{"terminate: {all: [{confidence: {threshold: 0.5}}]}", "terminate.all.confidence.threshold: 0.7", "terminate.all.confidence.threshold", "0.7"},
		{"terminate: {any: [{when: passed}, {when: iteration > 3}]}", "terminate.when-2: iteration > 4", "terminate.max_iterations", "absent"},
		{"terminate: {repeated: {of: output, times: off}}", "terminate.repeated.times: 3", "terminate.repeated.times", "3"},
		{"pattern: improvement", "terminate.no_improvement.min_delta: 0.1", "terminate.no_improvement.patience", "1"},
		{"pattern: confidence", "terminate.confidence.min_iterations: 3", "terminate.confidence.threshold", "0.85"},
		{"pattern: confidence", "terminate.confidence.threshold: off", "terminate.confidence.threshold", "<nil>"},
		{"pattern: confidence\nterminate: {any: [{when: passed}]}", "terminate.confidence.min_iterations: 3", "terminate.confidence.threshold", "0.85"},
		{"", "phases.execution.max_iterations: 5", "execution.max_iterations", "5"},
		{"", "preset: qa_specialist", "phases.execution.max_iterations", "5"},
		{"", "phases.execution.max_iterations: 4, preset: qa_specialist", "phases.refinement.max_iterations", "2"},
		{"", "phases.execution.agent.temperature: 1", "phases.execution.agent.temperature", "1"},
		{"", "evaluate.checks.length.weight: 3", "length.weight", "3"},
		{"", "evaluate.checks.v1.2.weight: 3", "evaluate.checks.v1.2.weight", "3"},
		{"", "evaluate.command.timeout: 5s", "evaluate.command.timeout", "5s"},
		{"", "agent.temperature: 0", "agent.temperature", "0"},
		{"", "guards.stagnation.window: 4", "guards.stagnation.window", "4"},
		{"guards: {stagnation: off}", "guards.stagnation.window: 4", "guards.stagnation.window", "4"},
		{"guards: {stagnation: {window: 4}}", "guards.stagnation: off", "guards.stagnation.window", "<nil>"},
		{"guards: {repeated: {of: output, times: 2}}", "guards.repeated.times: 4", "guards.repeated.repeated.times", "4"},
		{"guards: {repeated: [{name: r, of: output, times: 2}]}", "guards.repeated.r.times: 4", "guards.repeated.r.times", "4"},
		{"guards: {repeated: {name: r, of: output, times: 2}}", "guards.repeated.r.times: 4", "guards.repeated.r.times", "4"},
		{"guards: {repeated: [{of: output, times: 2}, {of: feedback, times: 2}]}", "guards.repeated.repeated-2.times: 4", "guards.repeated.repeated-2.times", "4"},
		{"", "guards.budget.tokens: 100", "budget.tokens", "100"},
		{"", "guards.absolute_max_iterations: off", "guards.absolute_max_iterations", "<nil>"},
	}
	for _, c := range cases {
		l := withSet(t, parameterLoop+c.terminate+"\n", c.set)
		got := "absent"
		if value, ok := l.Param.Get(c.read); ok {
			got = fmt.Sprint(value)
		}
		if got != c.want {
			t.Errorf("%s, set %s: %s is %s, want %s", c.terminate, c.set, c.read, got, c.want)
		}
	}
}

// A value that is set makes the loop that would have been written.
func TestSettingIsWriting(t *testing.T) {
	cases := []struct{ written, base, set string }{
		{"max_iterations: 4", "", "max_iterations: 4"},
		{"terminate: {max_iterations: 4}", "max_iterations: 3", "terminate.max_iterations: 4"},
		{"terminate: {no_improvement: {patience: 4}}", "terminate: {no_improvement: off}", "terminate.no_improvement.patience: 4"},
		{"", "terminate: {no_improvement: {patience: 4}}", "terminate.no_improvement: off"},
		{"guards: {repeated_output: true}", "", "guards.repeated_output: true"},
		{"on_error: {continue_if: \"true\"}", "", `on_error.continue_if: "true"`},
	}
	for _, c := range cases {
		written := withSet(t, parameterLoop+c.written+"\n", "")
		set := withSet(t, parameterLoop+c.base+"\n", c.set)
		if written.hash != set.hash {
			t.Errorf("%q with %q set is not %q", c.base, c.set, c.written)
		}
	}
}

// Setting a path never changes the tree of the file, which other configurations share.
func TestSettingSharesNothing(t *testing.T) {
	d := loaded(t, "s.yaml", `suite: s
tasks: [{input: x}]
models: {m: {provider: script, responses: [a]}}
configurations:
  - {name: a, loop: l.yaml, set: {terminate.good.confidence.threshold: 0.7, phases.execution.max_iterations: 7, evaluate.checks.length.weight: 3}}
  - {name: b, loop: l.yaml}
`, "l.yaml", parameterLoop+"guards: {absolute_max_iterations: 20}\nterminate: {any: [{name: good, all: [{confidence: {threshold: 0.5}}, {when: passed}]}]}\n")
	b := d.Suite.Configuration("b").Loop
	got := fmt.Sprint(b.Terminate.Any[0].Nested[0].Confidence.Threshold.Value, b.Phases[1].MaxIterations, *b.Evaluate.Checks[0].Weight)
	expect.Equal(t, "the loop of the other configuration changed", got, "0.5 3 1")
}

func TestParam(t *testing.T) {
	l := loopOf(t, `preset: base
terminate: {confidence: {threshold: 0.9}, max_iterations: 6, timeout: 30s, no_improvement: off}
guards: {circuit_breaker: {threshold: 3}}
`)
	for key, want := range map[string]any{
		"max_iterations":                    int64(6), // phases have some, too: see below
		"terminate.max_iterations":          int64(6),
		"execution.max_iterations":          int64(3),
		"phases.execution.max_iterations":   int64(3),
		"confidence.threshold":              0.9,
		"circuit_breaker.threshold":         int64(3),
		"no_improvement.patience":           nil,
		"patience":                          nil,
		"absolute_max_iterations":           int64(10),
		"terminate.no_improvement.patience": nil,
	} {
		got, ok := l.Param.Get(key)
		if key == "max_iterations" {
			if ok {
				t.Error("max_iterations means several parameters, but param has one under that name")
			}
			continue
		}
		if !ok || got != want {
			t.Errorf("param[%q] is %v (%v), want %v", key, got, ok, want)
		}
	}
	terminate, _ := l.Param.Get("terminate")
	if threshold, _ := terminate.(*expr.Object).Get("confidence"); threshold == nil {
		t.Error("param.terminate.confidence is missing")
	}
}

func TestParamsOfPromptsAreChecked(t *testing.T) {
	for text, fine := range map[string]bool{
		"{{ param.threshold }}":                         true,
		"{{ param.terminate.confidence.threshold }}":    true,
		`{{ param["terminate.confidence.threshold"] }}`: true,
		"{{ has(param.nothing) ? param.nothing : 1 }}":  true,
		"{{ param.?nothing.orValue(1) }}":               true,
		"{{ param.nothing }}":                           false,
		"{{ param.confidence }}":                        false,
	} {
		loop := "loop: l\nagent: {model: m}\nprompt: '" + text + "'\nevaluate: {passed: \"true\"}\nterminate: {confidence: {threshold: 0.9}}\n"
		_, faults := loadText(loop)
		if (faults.Err() == nil) != fine {
			t.Errorf("%s: %v", text, faults)
		}
	}
}

func TestFlags(t *testing.T) {
	opt := Options{Env: func(string) string { return "" }, Set: []Setting{{"terminate.confidence", "{threshold: 0.7}"}, {"agent.temperature", "0"}, {"max_iterations", "4"}}}
	d := loadedWith(t, opt, "s.yaml", `suite: s
tasks: [{input: x}]
models: {m: {provider: script, responses: [a]}}
configurations: [{name: a, loop: l.yaml, set: {max_iterations: 3}}, {name: b, loop: l.yaml}]
`, "l.yaml", parameterLoop)
	if len(d.Suite.Resolved) != 1 || strings.Join(d.Suite.Resolved[0].Aliases, " ") != "b" {
		t.Errorf("--set does not win over set: %+v", d.Suite.Resolved)
	}
	got := fmt.Sprint(d.Suite.Resolved[0].Params)
	if !strings.HasPrefix(got, "[{terminate.max_iterations 4} {terminate.confidence ") || !strings.HasSuffix(got, " {agent.temperature 0}]") {
		t.Errorf("params: %s", got)
	}
}

// Parameters that are whole numbers are integers: arithmetic with counters needs no double.
func TestWholeParametersAreIntegers(t *testing.T) {
	d := loaded(t, "l.yaml", "loop: l\nagent: {model: m}\nprompt: '{{ param.max_iterations - iteration }} left'\nmax_iterations: 3\n")
	if len(d.Warnings) > 0 {
		t.Error(printed(d.Warnings))
	}
	text, err := d.Loop.Prompt.Render(t.Context(), scopeOf{"param": d.Loop.Param, "iteration": int64(1)})
	if err != nil || text != "2 left" {
		t.Errorf("got %q, %v", text, err)
	}
}

type scopeOf map[string]any

func (s scopeOf) Lookup(name string) (any, bool) { value, ok := s[name]; return value, ok }
