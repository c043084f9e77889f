package sweep

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// ofIterations are the names of parameters that count iterations, or steps where
// a guard looks at these.
var ofIterations = []string{"max_iterations", "absolute_max_iterations", "min_iterations", "patience", "times", "window", "threshold"}

// counts says that a parameter is a number of iterations, of steps or of turns.
func counts(l *spec.Loop, path string) bool {
	name := lastOf(path)
	if !slices.Contains(ofIterations, name) && !isMaximum(l, path) && !limitsSteps(l, path) && path != "user.max_turns" {
		return false
	}
	return slices.ContainsFunc(l.Values(), func(v spec.Value) bool {
		_, whole := v.Value.(int64)
		return v.Path == path && whole
	})
}

func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// limitsSteps knows how many steps an agent makes at most: that of the loop, of a
// phase or of a strategy.
func limitsSteps(l *spec.Loop, path string) bool {
	return lastOf(path) == "max_steps" && (path == "agent.max_steps" || strings.HasSuffix(path, ".agent.max_steps")) && converses(l)
}

func converses(l *spec.Loop) bool {
	return slices.ContainsFunc(l.Stages(), func(s spec.Stage) bool { return l.Converses(s.Agent) })
}

// counted is what a parameter counts of a run.
func counted(l *spec.Loop, path string) func(*record.Run) int {
	switch {
	case limitsSteps(l, path):
		return mostSteps
	case path == "user.max_turns":
		return mostTurns
	case looksAtSteps(l, path):
		return allSteps
	}
	return func(run *record.Run) int { return len(run.Iterations) }
}

// looksAtSteps says that a parameter is of a guard that looks at the steps of a
// run. Iterations without any count, too: as failures, of circuit_breaker.
func looksAtSteps(l *spec.Loop, path string) bool {
	guard, inside := strings.CutPrefix(path, "guards.")
	if !inside {
		return false
	}
	if guard == "circuit_breaker.threshold" {
		return converses(l)
	}
	scope := "guards." + strings.TrimSuffix(guard, "."+lastOf(guard)) + ".scope"
	return slices.ContainsFunc(l.Values(), func(v spec.Value) bool { return v.Path == scope && v.Value == spec.ScopeStep })
}

func mostSteps(run *record.Run) (most int) {
	for i := range run.Iterations {
		most = max(most, len(run.Iterations[i].Steps))
	}
	return most
}

// mostTurns are those of a user.
func mostTurns(run *record.Run) (most int) {
	for i := range run.Iterations {
		turns := 0
		for _, step := range run.Iterations[i].Steps {
			if step.User != "" {
				turns++
			}
		}
		most = max(most, turns)
	}
	return most
}

func allSteps(run *record.Run) (all int) {
	for i := range run.Iterations {
		all += max(1, len(run.Iterations[i].Steps))
	}
	return all
}

// upTo are the whole numbers up to the most that a run has of something.
func upTo(recordings []Recording, of func(*record.Run) int) []float64 {
	most := 0
	for i := range recordings {
		for k := range recordings[i].Runs {
			most = max(most, of(recordings[i].Runs[k].Run))
		}
	}
	values := make([]float64, most)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}
