package spec

import (
	"strings"
	"testing"
)

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
		{"terminate.confidence.threshold: [0.75, off]", "s[threshold=0.75] s[threshold=off]"},
		{"terminate.confidence.threshold: [0.75], max_iterations: [1, 2]", "s[threshold=0.75,max_iterations=1] s[threshold=0.75,max_iterations=2]"},
		{"terminate.confidence.threshold: [0.7], guards.circuit_breaker.threshold: [2]", "s[confidence.threshold=0.7,circuit_breaker.threshold=2]"},
		{"terminate.confidence: [{threshold: 0.7}, off]", `s[confidence={"threshold":0.7}] s[confidence=off]`},
		{"agent.temperature: [0, 0.50]", "s[temperature=0] s[temperature=0.50]"},
	}
	for _, c := range cases {
		if got := namesOf(resolved(t, "  - {name: s, loop: l.yaml, sweep: {"+c.sweep+"}}\n")); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sweep, got, c.want)
		}
	}
}

func TestSweepOrder(t *testing.T) {
	s := resolved(t, "  - {name: s, loop: l.yaml, sweep: {max_iterations: [2, 1], terminate.confidence.threshold: [0.5, 0.4]}}\n")
	want := "s[max_iterations=2,threshold=0.5] s[max_iterations=2,threshold=0.4] s[max_iterations=1,threshold=0.5] s[max_iterations=1,threshold=0.4]"
	if got := namesOf(s); got != want {
		t.Errorf("got %s\nwant %s", got, want)
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
	if s.Configuration("commented") != &s.Resolved[0] || s.Configuration("nothing") != nil {
		t.Error("an alias does not find its configuration")
	}
}

// A program's script is part of the loop: another text, another loop.
func TestHashCoversScripts(t *testing.T) {
	hash := func(script string) string {
		d := loaded(t, "s.yaml", "suite: s\ntasks: [{input: x}]\nconfigurations: [{name: a, loop: sub/l.yaml}]\n",
			"sub/l.yaml", "loop: l\nagent: {command: [sh, agent.sh, /etc/passwd, ../s.yaml]}\n", "sub/agent.sh", script)
		return d.Suite.Resolved[0].Hash
	}
	one, again, two := hash("echo 1"), hash("echo 1"), hash("echo 2")
	if one != again || one == two {
		t.Error("the hash does not follow the script")
	}
}

func TestHashCoversDelegates(t *testing.T) {
	hash := func(prompt string) string {
		d := loaded(t, "s.yaml", "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n",
			"l.yaml", "loop: l\nagent: {model: m, delegates: [{name: d, loop: d.yaml}]}\nprompt: p\n", "d.yaml", "loop: d\nagent: {model: m}\nprompt: "+prompt+"\n")
		return d.Suite.Resolved[0].Hash
	}
	if hash("p") == hash("q") {
		t.Error("the hash does not follow the delegate")
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
