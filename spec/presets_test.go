package spec

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// loaded loads a suite or loop out of files given as name and text in turn; the first is the one to load.
func loaded(t testing.TB, files ...string) *Document {
	t.Helper()
	return loadedWith(t, Options{Env: onlyPath}, files...)
}

// onlyPath is an environment in which programs are found and nothing else.
func onlyPath(name string) string {
	if name == "PATH" {
		return os.Getenv(name)
	}
	return ""
}

func loadedWith(t testing.TB, opt Options, files ...string) *Document {
	t.Helper()
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	d, faults := LoadFS(fsys, files[0], opt)
	if d == nil {
		t.Fatalf("loading %s:\n%s", files[0], printed(faults))
	}
	return d
}

// loopOf loads a loop of which only what follows agent, prompt and evaluate is given.
func loopOf(t testing.TB, text string) *Loop {
	t.Helper()
	return loaded(t, "l.yaml", "loop: l\nagent: {model: m}\nprompt: p\nevaluate: {checks: [{name: c, expr: output != \"\"}, {name: d, expr: \"true\"}]}\n"+text).Loop
}

// inShort describes a tree as kind:name, nested ones in brackets, off ones with a dash.
func inShort(conditions []Condition) string {
	var parts []string
	for _, c := range conditions {
		part := string(c.Kind)
		if c.Name != part {
			part += ":" + c.Name
		}
		if c.Nested != nil {
			part += "(" + inShort(c.Nested) + ")"
		}
		if c.Off {
			part = "-" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func TestPatternPresets(t *testing.T) {
	cases := []struct{ text, want string }{
		{"", ""},
		{"pattern: confidence", "confidence"},
		{"pattern: improvement", "no_improvement"},
		{"pattern: checklist", ""},
		{"pattern: multi_strategy\nstrategies: [{name: one}]", ""},
		{"pattern: confidence\nterminate: {max_iterations: 3}", "confidence max_iterations"},
		{"pattern: improvement\nterminate: {timeout: 5s, confidence: {threshold: 0.9}}", "confidence no_improvement timeout"},
		{"pattern: confidence\nterminate: {confidence: off}", "-confidence"},
		{"pattern: confidence\nterminate: {confidence: {threshold: off}}", "-confidence"},
		{"pattern: confidence\nterminate: {all: [{confidence: {threshold: 0.5}}, {when: iteration > 2}]}", "all(confidence when)"},
		{"pattern: confidence\nterminate: {any: [{all: [{confidence: off}, {max_iterations: 2}]}]}", "all(-confidence max_iterations)"},
		{"pattern: improvement\nterminate: {all: [{confidence: {threshold: 0.5}}]}", "no_improvement all(confidence)"},
		{"pattern: improvement\nterminate: {any: [{max_iterations: 3}, {when: iteration > 2}]}", "max_iterations when no_improvement"},
		{"pattern: confidence\nterminate: {any: [{name: confidence, max_iterations: 3}]}", "max_iterations:confidence confidence:confidence-2"},
		{"terminate: {max_iterations: 4, timeout: 1s, no_improvement: {patience: 1}, consecutive: {when: passed, times: 2}, repeated: {of: output, times: 2}, when: passed, confidence: {threshold: 1}}",
			"confidence when repeated consecutive no_improvement timeout max_iterations"},
		{"terminate: {any: [{when: passed}, {when: iteration > 1}, {name: w, when: iteration > 2}, {when: iteration > 3}]}", "when when:when-2 when:w when:when-3"},
		{"max_iterations: 4", "max_iterations"},
		{"max_iterations: 4\nterminate: {any: [{when: passed}]}", "when max_iterations"},
		{"max_iterations: 4\nterminate: {all: [{when: passed}]}", "all(when) max_iterations"},
		{"terminate: {any: [{when: passed}], max_iterations: 3}", "when max_iterations"},
	}
	for _, c := range cases {
		if got := inShort(loopOf(t, c.text).Terminate.Any); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestPresetValues(t *testing.T) {
	if c := loopOf(t, "pattern: confidence").Terminate.Any[0].Confidence; c.Threshold.Value != 0.85 || c.MinIterations != 0 {
		t.Errorf("confidence presets %+v", c)
	}
	if c := loopOf(t, "pattern: improvement").Terminate.Any[0].NoImprovement; c.Patience.Value != 1 || c.MinDelta != 0 {
		t.Errorf("improvement presets %+v", c)
	}
	l := loopOf(t, "guards: {degradation: {}, stagnation: {}, circuit_breaker: {}, repeated: {of: output, times: 2}, consecutive: [{when: passed, times: 2}, {when: passed, times: 3}]}")
	g := l.Guards
	got := fmt.Sprintln(g.AbsoluteMaxIterations.Value, g.Degradation.Window.Value, g.Stagnation.Window.Value, g.Stagnation.Signature,
		g.CircuitBreaker.Threshold.Value, g.Repeated[0].Name, g.Consecutive[0].Name, g.Consecutive[1].Name, *l.Evaluate.Checks[0].Weight, l.Evaluate.Fix)
	if want := "10 3 3 calls 3 repeated consecutive consecutive-2 1 all\n"; got != want {
		t.Errorf("guards: got %s, want %s", got, want)
	}
}

func TestTimeoutsCancelUnlessUnderAll(t *testing.T) {
	l := loopOf(t, "terminate: {any: [{timeout: 1m}, {timeout: {after: 2m, cancel: false}}, {all: [{timeout: 3m}, {any: [{timeout: 4m}]}]}]}")
	top := l.Terminate.Any
	got := []bool{*top[0].Timeout.Cancel, *top[1].Timeout.Cancel, *top[2].Nested[0].Timeout.Cancel, *top[2].Nested[1].Nested[0].Timeout.Cancel}
	if want := []bool{true, false, false, false}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("cancel is %v, want %v", got, want)
	}
}

// The effective maximum of the source document: explicit, else the sum + max(1, 10 %).
func TestS0_2_EffectiveMaximum(t *testing.T) {
	cases := []struct {
		text    string
		limit   int
		derived bool
		sum     int
	}{
		{"", 0, false, 0},
		{"max_iterations: 5", 5, false, 0},
		{"phases: [{name: a, max_iterations: 1}, {name: b, max_iterations: 5}, {name: c, max_iterations: 2}]", 9, true, 8},
		{"phases: [{name: a, max_iterations: 6}, {name: b, max_iterations: 14}]\nguards: {absolute_max_iterations: 30}", 22, true, 20},
		{"phases: [{name: a, max_iterations: 2}, {name: b}]", 3, true, 2},
		{"phases: [{name: a}, {name: b}]", 0, false, 0},
		{"max_iterations: 4\nphases: [{name: a, max_iterations: 1}]", 4, false, 1},
		{"terminate: {max_iterations: off}\nphases: [{name: a, max_iterations: 1}]", 2, true, 1},
		{"terminate: {any: [{max_iterations: 7}, {name: less, max_iterations: 4}]}", 4, false, 0},
		{"pattern: multi_strategy\nstrategies: [{name: a}, {name: b, max_iterations: 2}]", 3, true, 3},
	}
	for _, c := range cases {
		limit, derived, sum := loopOf(t, c.text).EffectiveMax()
		if limit != c.limit || derived != c.derived || sum != c.sum {
			t.Errorf("%s\ngot %d %v %d, want %d %v %d", c.text, limit, derived, sum, c.limit, c.derived, c.sum)
		}
	}
}

func TestS0_3_RolePresets(t *testing.T) {
	roles := map[string]string{"base": "2/3/1", "qa_specialist": "1/5/2", "coordinator": "2/3/1", "financial_analyst": "2/3/1", "risk_analyst": "2/3/1"}
	limits := func(l *Loop) string {
		var parts []string
		for _, p := range l.Phases {
			parts = append(parts, fmt.Sprint(p.MaxIterations))
		}
		return strings.Join(parts, "/")
	}
	for role, want := range roles {
		if got := limits(loopOf(t, "preset: "+role)); got != want {
			t.Errorf("%s: got %s, want %s", role, got, want)
		}
	}
	written := loopOf(t, "preset: qa_specialist\nphases: [{name: refinement}, {name: execution, max_iterations: 4}, {name: other}]")
	if got := limits(written); got != "2/4/0" {
		t.Errorf("written phases got the limits %s, want 2/4/0", got)
	}
}

func TestS0_7_Hints(t *testing.T) {
	usual := loopOf(t, "phases: [{name: planning, max_iterations: 2}, {name: execution, max_iterations: 5}, {name: refinement, max_iterations: 1}, {name: other, max_iterations: 1}]")
	if hints := usual.Hints(); len(hints) > 0 {
		t.Errorf("a usual loop gets hints: %v", hints)
	}
	odd := loopOf(t, "guards: {absolute_max_iterations: 30}\nphases: [{name: planning, max_iterations: 6}, {name: execution, max_iterations: 1}]")
	hints := odd.Hints()
	if len(hints) != 2 || hints.Err() != nil || hints[0].Hint != "recommended: 1-2 for most tasks, 2-3 for complex planning" {
		t.Errorf("an odd loop gets %v", hints)
	}
}

// The guidelines of the source document on max_steps begin at 2.
func TestS4_3_HintsOfSteps(t *testing.T) {
	for agent, want := range map[string]int{
		"max_steps: 1, tools: [{builtin: converse}]": 1,
		"max_steps: 2, tools: [{builtin: converse}]": 0,
		"tools: [{builtin: converse}]":               0,
		"max_steps: 1":                               0,
	} {
		loop := loaded(t, "l.yaml", "loop: l\nagent: {model: m, "+agent+"}\nprompt: p\n").Loop
		hints := loop.Hints()
		if len(hints) != want {
			t.Errorf("%s gets %v", agent, hints)
		}
		if want > 0 && (hints.Err() != nil || !strings.HasPrefix(hints[0].Hint, "recommended: 2-3 for simple queries, 5 for tasks with tools")) {
			t.Errorf("%s gets %v", agent, hints)
		}
	}
}

// The warning of the source document's section on balancing.
func TestS0_8_PhaseSumAboveMaximum(t *testing.T) {
	d := loaded(t, "l.yaml", "loop: l\nagent: {model: m}\nprompt: p\npreset: base\nmax_iterations: 5\n")
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0].What, "the limits of the phases are 6 together, above max_iterations: 5") {
		t.Errorf("warnings: %v", d.Warnings)
	}
	if d := loaded(t, "l.yaml", "loop: l\nagent: {model: m}\nprompt: p\npreset: base\nmax_iterations: 6\n"); len(d.Warnings) > 0 {
		t.Errorf("warnings without a reason: %v", d.Warnings)
	}
}

func TestS3_5_FinalResponseIsDeclared(t *testing.T) {
	l := loaded(t, "l.yaml", "loop: l\nagent: {model: m, reply: json, final_response: has(output.answer)}\nprompt: p\nphases: [{name: a, agent: {temperature: 0}}]\n").Loop
	if l.Stages()[0].Agent.FinalResponse.Program == nil {
		t.Error("final_response is not compiled, or not inherited by the phase")
	}
}
