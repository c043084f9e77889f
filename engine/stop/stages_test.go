package stop

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

const threePhases = "phases: [{name: planning, prompt: p, max_iterations: 1}, {name: execution, prompt: e, max_iterations: 2, until: confidence > 0.9}, {name: refinement, prompt: r, max_iterations: 1}]\n"

// path plays a history and gives the stage of each iteration.
func path(t *testing.T, loop, words string) (stages []string, outcome record.Outcome) {
	t.Helper()
	iterations := history(words)
	n, outcome, _ := play(load(t, loop), iterations)
	for _, it := range iterations[:n] {
		stages = append(stages, it.Phase+it.Strategy)
	}
	return stages, outcome
}

func TestS0_1_PhasesCountAtTheEndOfTheirIterations(t *testing.T) {
	got, outcome := path(t, threePhases, "0.1 0.2 0.3 0.4 0.5")
	want := []string{"planning", "execution", "execution", "refinement"}
	if !slices.Equal(got, want) || outcome.Reason != record.ReasonPhasesComplete {
		t.Errorf("went through %v and stopped for %s, want %v and phases_complete", got, outcome.Reason, want)
	}
}

func TestUntilEndsAPhaseEarly(t *testing.T) {
	got, outcome := path(t, threePhases, "0.1 0.95 0.3")
	want := []string{"planning", "execution", "refinement"}
	if !slices.Equal(got, want) || outcome.Reason != record.ReasonPhasesComplete {
		t.Errorf("went through %v and stopped for %s, want %v and phases_complete", got, outcome.Reason, want)
	}
}

func TestS0_2_EffectiveMaximum(t *testing.T) {
	const open = "phases: [{name: a, prompt: p, max_iterations: 2}, {name: b, prompt: p}]\n"
	const all = "phases: [{name: a, prompt: p, max_iterations: 2}, {name: b, prompt: p, max_iterations: 8}]\nguards: {absolute_max_iterations: 20}\n"
	decide(t, []decision{
		{"an explicit one ends the run in any phase", threePhases + "max_iterations: 2", "0 0 0 0", 2, record.ReasonMaxIterations, "max_iterations", false, 1},
		{"the derived one binds where a phase has no limit", open, "0 0 0 0", 3, record.ReasonMaxIterations, "max_iterations", false, 1},
		{"the derived one cannot bind where all have", all, "0 0 0 0 0 0 0 0 0 0", 10, record.ReasonPhasesComplete, "phases_complete", false, 1},
	})
}

func TestS0_5_Termination(t *testing.T) {
	const confident = threePhases + "terminate: {confidence: {threshold: 0.8}, timeout: 3s}"
	decide(t, []decision{
		{"high confidence before the phases are complete", confident, "0.1 0.85", 2, record.ReasonConfidence, "", true, 2},
		{"the longest duration", confident, "0.1 0.2 0.3", 3, record.ReasonTimeout, "", false, 3},
		{"completed phases", threePhases, "0.1 0.2 0.3 0.4", 4, record.ReasonPhasesComplete, "", false, 4},
		{"max iterations", threePhases + "max_iterations: 3", "0.1 0.2 0.3", 3, record.ReasonMaxIterations, "", false, 3},
	})
	iterations := history("0.1")
	iterations[0].Ended = &record.Ended{Reason: string(record.ReasonCapability)}
	if _, outcome, _ := play(load(t, threePhases), iterations); outcome.Reason != record.ReasonCapability || outcome.Class != record.ByAgent {
		t.Errorf("a capability that ends the run gives %s of class %s", outcome.Reason, outcome.Class)
	}
}

func TestFromPhase(t *testing.T) {
	const late = "phases: [{name: plan, prompt: p, max_iterations: 3}, {name: act, prompt: p, max_iterations: 3}]\n" +
		"evaluate: {confidence: double(output.c), from_phase: act}\n"
	decide(t, []decision{
		{"earlier iterations are neither best nor without improvement", late + "terminate: {no_improvement: {patience: 2}}", "_ _ _ 0.1 0.1 0.1", 6, record.ReasonNoImprovement, "", false, 4},
		{"nor repeat an output", late + "guards: {repeated_output: true}", "_=a _=a _=a 0.1=b 0.1=b", 5, record.ReasonRepeatedOutput, "", false, 4},
		{"but stagnate", late + "guards: {stagnation: {window: 2}}", "_/a _/a", 2, record.ReasonStagnation, "", false, 0},
	})
	if step := load(t, late).Start(&spec.Task{}, nil).Next(); step.Evaluate {
		t.Error("the first phase is to be evaluated")
	}
}

const threeStrategies = "pattern: multi_strategy\nstrategies: [{name: a}, {name: b, max_iterations: 2}, {name: c}]\n"

func TestS1_4_MultiStrategy(t *testing.T) {
	got, outcome := path(t, threeStrategies, "0.1 0.2 0.3 0.4 0.5")
	if want := []string{"a", "b", "b", "c"}; !slices.Equal(got, want) || outcome.Reason != record.ReasonStrategiesExhausted {
		t.Errorf("tried %v and stopped for %s, want %v and strategies_exhausted", got, outcome.Reason, want)
	}
	decide(t, []decision{
		{"until one passes", threeStrategies, "0.1 0.9p", 2, record.ReasonStrategySucceeded, "strategy_succeeded", true, 2},
		{"a confidence is no success", threeStrategies, "0.99 0.99 0.99 0.99", 4, record.ReasonStrategiesExhausted, "", false, 1},
		{"a failed iteration uses up its strategy's limit", threeStrategies, "x x x 0.4", 4, record.ReasonStrategiesExhausted, "", false, 4},
		{"improvement starts anew", threeStrategies + "terminate: {no_improvement: {patience: 1}}", "0.9 0.1 0.05", 3, record.ReasonNoImprovement, "", false, 1},
		{"degradation starts anew", threeStrategies + "guards: {degradation: {window: 2}}", "0.9 0.8 0.7", 3, record.ReasonDegradation, "", false, 1},
		{"repeated output starts anew", threeStrategies + "guards: {repeated_output: true}", "0.1=a 0.1=a 0.1=a", 3, record.ReasonRepeatedOutput, "", false, 1},
	})
}
