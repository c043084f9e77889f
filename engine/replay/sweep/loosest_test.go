package sweep_test

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec/spectest"
)

// A loop is recorded under the loosest of all values, its own among them.
func TestLoosest(t *testing.T) {
	loop := spectest.Loop(t, `agent: {model: m, temperature: 0.5}
prompt: x
evaluate: {confidence: "0.5"}
terminate: {confidence: {threshold: 0.8}, max_iterations: 4, no_improvement: {patience: 2, min_delta: 0.1}, timeout: 60s}
guards: {budget: {tokens: 100}}
`)
	for flag, want := range map[string]string{
		"max_iterations=1,9,3":                     "9",
		"terminate.max_iterations=1..7":            "7",
		"terminate.max_iterations=1,2,3":           "", // the loop's own is looser
		"terminate.max_iterations=2,off,20":        "off",
		"terminate.confidence.threshold=0.7,0.9":   "0.9",
		"terminate.confidence.threshold=0.5..1":    "1",
		"terminate.no_improvement.patience=1..3":   "3",
		"terminate.no_improvement.min_delta=0,1":   "0",
		"terminate.no_improvement.patience=1..3,9": "9",
		"terminate.max_iterations=1..7,off":        "off",
		"terminate.timeout=30s,2m":                 "2m",
		"terminate.timeout=1..90":                  "1m30s",
		"guards.budget.tokens=50,200":              "200",
		"guards.budget.calls=5,7":                  "", // without one there is no limit
		"agent.temperature=0,1":                    "",
		"terminate.when=passed":                    "",
		"guards.absolute_max_iterations=5..50":     "50",
	} {
		axis, faults := sweep.AxisFrom("--parameter", flag)
		spectest.Must(t, faults.Err())
		var texts []string
		for _, a := range axis.Loosest(loop) {
			texts = append(texts, a.Value.Text)
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("%s: %q, want %q", flag, got, want)
		}
	}
}

func TestWholeValues(t *testing.T) {
	for flag, want := range map[string]int{"a=1..4": 4, "a=1,5": 2, "a=1..3,off": 4, "a=1..3,3,0.1..0.5": -1, "a=0.1..0.5": -1, "a=1..1000": -1} {
		axis, faults := sweep.AxisFrom("--parameter", flag)
		spectest.Must(t, faults.Err())
		if ok := axis.Whole(); ok != (want > 0) || ok && len(axis.Values) != want {
			t.Errorf("%s: %d values, %v", flag, len(axis.Values), ok)
		}
	}
}
