package spec

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

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
		"different expressions": {checksOf(3000, "iteration > %d"), "too many expressions: a suite may have 64 KiB of different ones"},
		"one expression often":  {checksOf(3000, "iteration > 1"), ""},
		"many, as is usual":     {checksOf(500, "iteration > %d"), ""},
		"a long prompt":         {"loop: l\nagent: {model: m}\nprompt: \"" + strings.Repeat("prose {{ iteration }} {{{{ ", 1000) + "\"\n", ""},
		"a prompt of places":    {"loop: l\nagent: {model: m}\nprompt: \"" + strings.Repeat("{{ iteration }}", 3000) + "\"\n", "too many expressions: a suite may have 64 KiB of different ones"},
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
