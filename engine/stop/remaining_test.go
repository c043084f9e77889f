package stop

import "testing"

// TestS2_1_RemainingIterations: what warnings near the limit go by.
func TestS2_1_RemainingIterations(t *testing.T) {
	const unlimited = "guards: {absolute_max_iterations: off}\n"
	const phases = "phases: [{name: a, prompt: x, max_iterations: 2}, {name: b, prompt: x, max_iterations: 1}]\n"
	for _, c := range []struct {
		loop, history string
		want          int
	}{
		{"", "", 10},
		{"", "0 0", 8},
		{"guards: {absolute_max_iterations: 3}", "0 0", 1},
		{"max_iterations: 5", "0", 4},
		{"terminate: {any: [{max_iterations: 5}, {any: [{max_iterations: 4}]}]}", "0", 3},
		{unlimited + "terminate: {all: [{max_iterations: 5}, {confidence: {threshold: 0.5}}]}", "0", 0},
		{unlimited, "0", 0},
		{phases, "", 3},
		{phases, "0 0", 1},
		{unlimited + "phases: [{name: a, prompt: x, until: passed}, {name: b, prompt: x, max_iterations: 1}]", "", 2}, // the derived limit
		{unlimited + "phases: [{name: a, prompt: x, until: confidence > 0.5}, {name: b, prompt: x, max_iterations: 2}]", "0 0.6", 1},
		{phases + "terminate: {max_iterations: 8}", "0 0", 1},
		{"pattern: multi_strategy\nstrategies: [{name: a, max_iterations: 2}, {name: b}]", "0", 2},
	} {
		s := load(t, c.loop).Start(nil, nil)
		for _, it := range history(c.history) {
			if s.Fold(it).Stop {
				t.Fatalf("%s: %s stops", c.loop, c.history)
			}
		}
		if got := s.Remaining(); got != c.want {
			t.Errorf("%s after %q: %d remain, want %d", c.loop, c.history, got, c.want)
		}
	}
}
