package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/expect"
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
		expect.Equal(t, c.text, inShort(loopOf(t, c.text).Terminate.Any), c.want)
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
		expect.Equal(t, role, limits(loopOf(t, "preset: "+role)), want)
	}
	written := loopOf(t, "preset: qa_specialist\nphases: [{name: refinement}, {name: execution, max_iterations: 4}, {name: other}]")
	expect.Equal(t, "written phases got the limits", limits(written), "2/4/0")
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

// assigned reads settings as the command line has them.
func assigned(t testing.TB, settings ...string) []Assignment {
	t.Helper()
	var all []Assignment
	for _, text := range settings {
		path, value, _ := strings.Cut(text, "=")
		a, faults := Setting{path, value}.Assign("--set")
		must(t, faults.Err())
		all = append(all, a)
	}
	return all
}

const withLoop = parameterLoop + `pattern: improvement
terminate: {timeout: 60s, repeated: {of: output, times: off}, when: "iteration > param.terminate.max_iterations"}
max_iterations: 9
`

// TestWithIsSet: what is set on a loaded loop is what a suite sets.
func TestWithIsSet(t *testing.T) {
	for _, settings := range [][]string{
		{"max_iterations=4"},
		{"terminate.any.max_iterations=4"},
		{"terminate.no_improvement.patience=off"},
		{"terminate.no_improvement.min_delta=0.1"},
		{"terminate.confidence={threshold: 0.7, min_iterations: 2}"},
		{"terminate.repeated.times=3", "terminate.timeout.cancel=false"},
		{"preset=qa_specialist"},
		{"phases.execution.max_iterations=7", "preset=qa_specialist"},
		{"guards.absolute_max_iterations=20", "max_iterations=12"},
		{"agent.temperature=0.5"},
		{"evaluate.checks.v1.2.weight=3"},
	} {
		var set []string
		for _, s := range settings {
			path, value, _ := strings.Cut(s, "=")
			set = append(set, fmt.Sprintf("%q: %s", path, value))
		}
		want := withSet(t, withLoop, strings.Join(set, ", "))
		got, faults := withSet(t, withLoop, "").With(assigned(t, settings...)...)
		if got == nil {
			t.Errorf("%v: %v", settings, faults)
			continue
		}
		if !reflect.DeepEqual(got.Values(), want.Values()) || got.Hash() != want.Hash() {
			t.Errorf("%v: got %v, want %v", settings, got.Values(), want.Values())
		}
	}
}

// TestWithLeavesTheLoopAlone: a loop that parameters are set on stays what it was, and takes others afterwards.
func TestWithLeavesTheLoopAlone(t *testing.T) {
	base := withSet(t, withLoop, "max_iterations: 8")
	before := base.Values()
	one, _ := base.With(assigned(t, "max_iterations=2")...)
	two, _ := one.With(assigned(t, "terminate.timeout=30s")...)
	back, _ := two.With(assigned(t, "max_iterations=8", "terminate.timeout=60s")...)
	if !reflect.DeepEqual(base.Values(), before) || one.Hash() == base.Hash() || two.Hash() == one.Hash() || back.Hash() != base.Hash() {
		t.Error("the loops are", base.Hash(), one.Hash(), two.Hash(), back.Hash())
	}
	if limit, _, _ := two.EffectiveMax(); limit != 2 {
		t.Error("a second setting forgets the first: the limit is", limit)
	}
}

// TestWithRefuses: faults are those of a suite, and point into the flag.
func TestWithRefuses(t *testing.T) {
	base := withSet(t, withLoop, "max_iterations: 8")
	for setting, want := range map[string]string{
		"max_iterationz=4":                    `--set:1:1: unknown key "max_iterationz"`,
		"terminate.no_improvment.patience=4":  `--set:1:11: unknown condition "no_improvment"`,
		"terminate.max_iterations=2.5":        "--set:1:26: want a whole number of at least 1 or off, got 2.5",
		"terminate.max_iterations=0":          "--set:1:26: want a whole number of at least 1 or off, got 0",
		"phases.refining.max_iterations=1":    `--set:1:8: nothing in phases is named "refining"`,
		"terminate.confidence.threshold=high": "--set:1:32: want",
	} {
		loop, faults := base.With(assigned(t, setting)...)
		if loop != nil || len(faults) == 0 || !strings.HasPrefix(faults.Error(), want) {
			t.Errorf("%s: %v, want %s", setting, faults, want)
		}
	}
	_, faults := Setting{"max_iterations", "[1"}.Assign("--parameter")
	if faults.Err() == nil || !strings.HasPrefix(faults.Error(), "--parameter:1:") {
		t.Error("what is no YAML:", faults)
	}
}

// TestWithAtOnce: several may set parameters on one loop at the same time.
func TestWithAtOnce(t *testing.T) {
	base := withSet(t, withLoop, "max_iterations: 8")
	var all sync.WaitGroup
	hashes := make([]string, 8)
	for i := range hashes {
		value, _ := Setting{"max_iterations", "3"}.Assign("--set")
		all.Go(func() {
			loop, _ := base.With(value)
			hashes[i] = loop.Hash()
		})
	}
	all.Wait()
	for _, hash := range hashes {
		if hash != hashes[0] || hash == base.Hash() {
			t.Error("equal settings give", hashes)
		}
	}
}

const manyChecks = "loop: l\nagent: {model: m}\nprompt: p\nevaluate:\n  checks:\n"

func checksOf(n int, check string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - {name: c%d, expr: \"%s\"}\n", i, strings.ReplaceAll(check, "%d", fmt.Sprint(i)))
	}
	return manyChecks + b.String()
}

// P13: there is an end to what one load does, and the first thing that is too much is told once.
func TestP13_EffortIsLimited(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"different expressions": {checksOf(3000, "iteration > %d"), "too many expressions: a suite may have 32 KiB of different ones"},
		"one expression often":  {checksOf(3000, "iteration > 1"), ""},
		"many, as is usual":     {checksOf(500, "iteration > %d"), ""},
		"a long prompt":         {"loop: l\nagent: {model: m}\nprompt: \"" + strings.Repeat("prose {{ iteration }} {{{{ ", 1000) + "\"\n", ""},
		"a prompt of places":    {"loop: l\nagent: {model: m}\nprompt: \"" + strings.Repeat("{{ iteration }}", 3000) + "\"\n", "too many expressions: a suite may have 32 KiB of different ones"},
	} {
		_, faults := loadText(c.text)
		if len(faults) != min(1, len(c.want)) || len(faults) == 1 && faults[0].What != c.want {
			t.Errorf("%s: got %.300v, want %s", name, faults, c.want)
		}
	}
}

func TestP13_ConfigurationsAreLimited(t *testing.T) {
	const suite = "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations:\n"
	var many strings.Builder
	for i := range maxCombinations + 5 {
		fmt.Fprintf(&many, "- {name: c%d, loop: small.yaml}\n", i)
	}
	seeds := strings.TrimSuffix(strings.Repeat("1, ", 600), ", ")
	for name, c := range map[string]struct{ text, want string }{
		"configurations": {suite + many.String(), "a suite may have 10,000 configurations"},
		"a large loop":   {suite + "- {name: c, loop: large.yaml, sweep: {agent.seed: [" + seeds + "]}}\n", "the loops of all configurations have more than 500,000 values together"},
	} {
		_, faults := LoadFS(fstest.MapFS{
			"suite.yaml": {Data: []byte(c.text)},
			"small.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
			"large.yaml": {Data: []byte(checksOf(300, "iteration > 1"))},
		}, "suite.yaml", Options{Env: onlyPath})
		if len(faults) != 1 || faults[0].What != c.want {
			t.Errorf("%s: got %.300v, want %s", name, faults, c.want)
		}
	}
}

const resolveLoop = "loop: l\npattern: confidence\nagent: {model: m}\nprompt: p\nevaluate: {passed: \"true\"}\n"

func resolved(t *testing.T, configurations string, more ...string) *Suite {
	t.Helper()
	files := append([]string{"s.yaml", "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations:\n" + configurations, "l.yaml", resolveLoop}, more...)
	return loaded(t, files...).Suite
}

func namesOf(s *Suite) string {
	var names []string
	for _, r := range s.Resolved {
		name := r.Name
		if len(r.Aliases) > 0 {
			name += "=" + strings.Join(r.Aliases, "=")
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestSweepNames(t *testing.T) {
	cases := []struct{ sweep, want string }{
		{"terminate.confidence.threshold: [0.75, off]", "s@threshold=0.75 s@threshold=off"},
		{"terminate.confidence.threshold: [0.75], max_iterations: [1, 2]", "s@threshold=0.75,max_iterations=1 s@threshold=0.75,max_iterations=2"},
		{"terminate.confidence.threshold: [0.7], guards.circuit_breaker.threshold: [2]", "s@confidence.threshold=0.7,circuit_breaker.threshold=2"},
		{"terminate.confidence: [{threshold: 0.7}, off]", "s@confidence=threshold:0.7 s@confidence=off"},
		{"agent.temperature: [0, 0.50]", "s@temperature=0 s@temperature=0.50"},
		{"max_iterations: [2, 1], terminate.confidence.threshold: [0.5, 0.4]", // in the order of what is written
			"s@max_iterations=2,threshold=0.5 s@max_iterations=2,threshold=0.4 s@max_iterations=1,threshold=0.5 s@max_iterations=1,threshold=0.4"},
	}
	for _, c := range cases {
		expect.Equal(t, c.sweep, namesOf(resolved(t, "  - {name: s, loop: l.yaml, sweep: {"+c.sweep+"}}\n")), c.want)
	}
}

func TestEqualConfigurationsRunOnce(t *testing.T) {
	s := resolved(t, `  - {name: default, loop: l.yaml}
  - {name: written, loop: l.yaml, set: {terminate.confidence.threshold: 0.850}}
  - {name: off, loop: l.yaml, set: {terminate.confidence: off}}
  - {name: also-off, loop: l.yaml, set: {terminate.confidence.threshold: off}}
  - {name: short, loop: l.yaml, set: {max_iterations: 3}}
  - {name: long, loop: l.yaml, set: {terminate.max_iterations: 3}}
  - {name: commented, loop: m.yaml}
  - {name: other, loop: o.yaml}
`, "m.yaml", "# another layout\nloop: \"l\"\nprompt: |-\n  p\nagent:\n  model: m # a model\nevaluate:\n  passed: 'true'\npattern: confidence\n", "o.yaml", strings.Replace(resolveLoop, "prompt: p", "prompt: q", 1))
	if got, want := namesOf(s), "default=written=commented off=also-off short=long other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	alias := s.Configuration("commented")
	if s.Configuration("default") != &s.Resolved[0] || s.Configuration("nothing") != nil || alias == nil || alias.Loop != s.Resolved[0].Loop || alias.Name != "commented" ||
		strings.Join(alias.Aliases, " ") != "default written" {
		t.Errorf("an alias finds %+v", alias)
	}
}

// Contents identifies what programs are given, however large and wherever on disk; not what the system brings. A suite
// that ships reads no disk.
func TestContentsOfProgramFiles(t *testing.T) {
	const large = 16<<20 + 1
	outside := t.TempDir()
	word := func(name string) string { return strconv.Quote(filepath.ToSlash(filepath.Join(outside, name))) }
	contents := func(words, at, text string) string {
		t.Helper()
		dir := folderWith(t, "[{input: x}]", map[string]string{"sub/l.yaml": "loop: l\nagent: {command: [sh, " + words + "]}\n", "sub/in.sh": "1", "up.sh": "1"})
		must(t, os.WriteFile(filepath.Join(outside, "out.sh"), []byte("1"), 0o644))
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		must(t, os.WriteFile(at, []byte(text), 0o644))
		_ = os.Symlink(filepath.Join(outside, "out.sh"), filepath.Join(dir, "sub/link.sh"))
		d := opened(t, filepath.Join(dir, "sub/l.yaml"), Options{})
		return d.Loop.Contents()
	}
	cases := map[string][2]string{
		"beside":   {"in.sh", "sub/in.sh"},
		"above":    {"../up.sh", "up.sh"},
		"absolute": {word("out.sh"), filepath.Join(outside, "out.sh")},
	}
	if runtime.GOOS != "windows" {
		cases["a link"] = [2]string{"link.sh", filepath.Join(outside, "out.sh")}
	}
	for name, c := range cases {
		one, again, two := contents(c[0], c[1], "1"), contents(c[0], c[1], "1"), contents(c[0], c[1], "2")
		if one == "" || one != again || one == two {
			t.Errorf("%s: %q, %q, and of another text %q", name, one, again, two)
		}
		long := strings.Repeat("x", large)
		if one, two := contents(c[0], c[1], long+"1"), contents(c[0], c[1], long+"2"); one == "" || one == two {
			t.Errorf("%s, large: %q and %q", name, one, two)
		}
	}
	for _, words := range []string{"-c", outside, "../nothing.sh", "/usr/bin/env", "/bin/sh"} {
		expect.Equal(t, words, contents(words, "other", ""), "")
	}
	ofDelegate := func(script string) string {
		t.Helper()
		return loaded(t, "l.yaml", "loop: l\nagent: {model: m, delegates: [{name: d, loop: d.yaml}]}\nprompt: p\n",
			"d.yaml", "loop: d\nagent: {command: [sh, a.sh]}\n", "a.sh", script).Loop.Contents()
	}
	if one, two := ofDelegate("1"), ofDelegate("2"); one == "" || one == two {
		t.Errorf("of a delegate: %q and %q", one, two)
	}
	d, faults := LoadFS(fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {command: [sh, " + word("out.sh") + "]}\n")}}, "l.yaml", Options{})
	if d == nil || d.Loop.Contents() != "" {
		t.Errorf("one that ships: %v", faults)
	}
}

// A loop has one hash, however often it is loaded: results are resumed by it.
func TestHashStays(t *testing.T) {
	text := `loop: l
workspace: {from: {git: one, ref: two}, files: '{"a": "b"}', sandbox: {container: {image: busybox}}}
agent: {command: [ls], env: {A: b, C: {env: D}}}
evaluate: {test: [ls]}
terminate: {max_iterations: 2}
guards: {budget: {tokens: 5}}
`
	hashes := map[string]bool{}
	for range 64 {
		hashes[loaded(t, "l.yaml", text).Loop.hash] = true
	}
	if len(hashes) != 1 {
		t.Errorf("a loop has %d hashes", len(hashes))
	}
}

// Every leaf of a loop moves its hash.
func TestHashMoves(t *testing.T) {
	base := withSet(t, parameterLoop, "").hash
	for _, set := range []string{"max_iterations: 5", "agent.temperature: 0", "agent.reply: json", `prompt: "q"`, "evaluate.checks.length.weight: 2",
		"evaluate.fix: one", "terminate.when: iteration > 2", "terminate.timeout: 5s", "terminate.timeout: {after: 5s, cancel: false}",
		"guards.absolute_max_iterations: 11", "guards.absolute_max_iterations: off", "guards.budget.tokens: 5", "guards.repeated_output: true",
		"phases.planning.max_iterations: 1", "phases.planning.until: passed", "evaluate.command: [echo]", "on_error.continue_if: passed"} {
		if withSet(t, parameterLoop, set).hash == base {
			t.Errorf("setting %s leaves the hash", set)
		}
	}
}
