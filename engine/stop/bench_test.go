package stop

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/spec"
)

const benchRules = `terminate: {confidence: {threshold: 0.95}, no_improvement: {patience: 9}, max_iterations: 20, timeout: 60s}
guards: {absolute_max_iterations: 30, degradation: {window: 5}, repeated_output: true, budget: {tokens: 100000}}
`

// BenchmarkDecision is one decision: the eleventh iteration joins a history of ten.
func BenchmarkDecision(b *testing.B) {
	b.Run("built-in", func(b *testing.B) { decideEleventh(b, benchRules) })
	b.Run("when", func(b *testing.B) {
		decideEleventh(b, "guards: {absolute_max_iterations: 30}\nterminate: {max_iterations: 20, when: confidence >= 0.9 && iteration >= 2}")
	})
}

func decideEleventh(b *testing.B, loop string) {
	rules := load(b, loop)
	iterations := history("0.10 0.20 0.15 0.30 0.35 0.34 0.40 0.41 0.42 0.43 0.44")
	tenth := rules.Start(&spec.Task{}, nil)
	for _, it := range iterations[:10] {
		if tenth.Fold(it).Stop {
			b.Fatal("the history ends early")
		}
	}
	trackers := slices.Clone(tenth.trackers)
	s := *tenth
	s.history = slices.Grow(s.history, 1)
	b.ReportAllocs()
	for b.Loop() {
		history := s.history[:10]
		s = *tenth
		s.history = history
		copy(s.trackers, trackers)
		if s.Fold(iterations[10]).Stop {
			b.Fatal("stopped")
		}
	}
}

// BenchmarkHistory folds a whole history of ten iterations from its start.
func BenchmarkHistory(b *testing.B) {
	rules := load(b, benchRules)
	iterations := history("0.10 0.20 0.15 0.30 0.35 0.34 0.40 0.41 0.42 0.43")
	b.ReportAllocs()
	for b.Loop() {
		s := rules.Start(&spec.Task{}, nil)
		for _, it := range iterations {
			s.Fold(it)
		}
	}
}
