package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// sharedCalls are the calls of one task and trial at worst, and those that differ,
// of a loop under several settings.
func sharedCalls(t *testing.T, loop string, variants ...string) (all, different int64) {
	t.Helper()
	models := map[string]*spec.Model{"m": {Provider: "openai"}, "toy": {Provider: "simulate"}}
	var configurations []spec.Resolved
	for i, variant := range variants {
		text := "agent: {model: m}\n" + loop
		for set := range strings.SplitSeq(variant, ";") {
			old, now, _ := strings.Cut(set, "=>")
			text = strings.Replace(text, old, now, 1)
		}
		l := spectest.Loop(t, text)
		configurations = append(configurations, spec.Resolved{Name: fmt.Sprint(i), Loop: l})
		all += WorstOfRun(l, models, 10).Calls
	}
	return all, SharedBy(configurations, models).WorstOfTask(models, 10).Calls
}

func TestSharedCalls(t *testing.T) {
	const (
		plain  = "prompt: 'x'\nmax_iterations: 3\nterminate: {confidence: {threshold: 0.8}}\nevaluate: {confidence: '0.5'}"
		phases = "phases: [{name: a, max_iterations: 2, prompt: 'x', until: 'iteration > 1'}, {name: b, max_iterations: 3, prompt: 'y'}]"
		short  = "phases: [{name: a, max_iterations: 4, prompt: 'x', until: 'iteration > 1'}, {name: b, max_iterations: 3, prompt: 'y'}]\nmax_iterations: 4"
	)
	for _, c := range []struct {
		name, loop     string
		variants       []string
		all, different int64
	}{
		{"one alone", plain, []string{""}, 3, 3},
		{"limits: the longest run is that of all", plain, []string{"", "3=>5", "3=>1", "0.8=>0.9"}, 3 + 5 + 1 + 3, 5},
		{"another prompt shares nothing", plain, []string{"", "'x'=>'y'"}, 6, 6},
		{"nor do other settings of the model", plain, []string{"", "{model: m}=>{model: m, temperature: 0.5}"}, 6, 6},
		{"nor those who judge otherwise", plain, []string{"", "'0.5'=>'0.6'"}, 6, 6},
		{"a judge is called with its agent", plain + "\n", []string{"confidence: '0.5'=>judge: {model: m, rubric: x}, confidence: '0.5'", "3=>4;confidence: '0.5'=>judge: {model: m, rubric: x}, confidence: '0.5'"}, 14, 8},
		{"phases: a tree", phases, []string{"", "2=>1", "3=>1"}, 5 + 4 + 3, 2 + 3 + 3},
		{"phases that are left at other moments", phases, []string{"", "iteration > 1=>iteration > 0"}, 10, 2 + 3 + 3},
		{"the last phase sends something else", phases, []string{"", "'y'=>'z'"}, 10, 2 + 3 + 3},
		{"a short run may leave its first phase early", short, []string{"", "3=>2"}, 8, 4 + 3},
		{"the run's limit cuts a single one short", short, []string{""}, 4, 4},
		{"prompts that read a limit", strings.Replace(plain, "'x'", "'{{ param.max_iterations }}'", 1), []string{"", "3=>4"}, 7, 7},
		{"a phase that ends by a parameter", strings.Replace(phases, "iteration > 1", "iteration >= param.b.max_iterations", 1), []string{"", "3=>1"}, 5 + 3, 2 + 3 + 1},
		{"agents that are warned", strings.Replace(plain, "prompt", "guards: {absolute_max_iterations: 9}\nprompt", 1), []string{"{model: m}=>{model: m, warn_remaining: 1}", "{model: m}=>{model: m, warn_remaining: 1};3=>4"}, 7, 7},
		{"models that are not cached", plain, []string{"model: m=>model: toy", "model: m=>model: toy;3=>4"}, 7, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			if all, different := sharedCalls(t, c.loop, c.variants...); all != c.all || different != c.different {
				t.Errorf("%d of %d calls differ, want %d of %d", different, all, c.different, c.all)
			}
		})
	}
}
