package stop

import (
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

func TestS1_1_ConfidenceLoop(t *testing.T) {
	decide(t, []decision{
		{"0.85 is preset", "pattern: confidence", "0.84 0.85", 2, record.ReasonConfidence, "confidence", true, 2},
		{"a written threshold takes its place", "pattern: confidence\nterminate: {confidence: {threshold: 0.5}}", "0.5", 1, record.ReasonConfidence, "", true, 1},
		{"so does off", "pattern: confidence\nterminate: {confidence: off}", "0.99", 0, "", "", false, 0},
		{"the one that passed is returned", "pattern: confidence", "0.5 0.4p", 2, record.ReasonPassed, "passed", true, 2},
	})
}

func TestS1_2_ImprovementLoop(t *testing.T) {
	decide(t, []decision{
		{"patience 1 is preset, the best is returned", "pattern: improvement", "0.5 0.7 0.6", 3, record.ReasonNoImprovement, "no_improvement", false, 2},
		{"the earliest of equals", "pattern: improvement\nterminate: {no_improvement: {patience: 2}}", "0.7 0.7 0.7", 3, record.ReasonNoImprovement, "", false, 1},
		{"also where another one passed", "pattern: improvement", "0.8 0.9 0.85p", 3, record.ReasonPassed, "", true, 2},
	})
}

// checked is an iteration of a checklist: a letter for each check, upper case
// where it passed.
func checked(marks string, weights ...float64) *record.Iteration {
	v := &record.Evaluation{Passed: true}
	for i, mark := range marks {
		check := record.Check{Name: string(mark), Passed: mark < 'a'}
		if i < len(weights) {
			check.Weight = weights[i]
		}
		v.Checks = append(v.Checks, check)
		v.Passed = v.Passed && check.Passed
	}
	return &record.Iteration{Output: []byte(`"` + marks + `"`), Evaluation: v}
}

func TestS1_3_ChecklistLoop(t *testing.T) {
	rules := load(t, "pattern: checklist\nevaluate: {checks: [{name: a, expr: 'true'}, {name: b, expr: 'true'}]}\nterminate: {max_iterations: 3}")
	n, outcome, _ := play(rules, []*record.Iteration{checked("Ab"), checked("AB")})
	if n != 2 || outcome.Reason != record.ReasonChecklistComplete || !outcome.Success {
		t.Errorf("stopped after %d for %s, success %v; want after 2 for checklist_complete", n, outcome.Reason, outcome.Success)
	}
	_, outcome, _ = play(rules, []*record.Iteration{checked("Ab"), checked("aB"), checked("ab")})
	if outcome.Returned != 2 {
		t.Errorf("returned iteration %d, want 2: the latest of those with the largest share", outcome.Returned)
	}
	_, outcome, _ = play(rules, []*record.Iteration{checked("Ab", 3, 1), checked("aB", 3, 1), checked("ab", 3, 1)})
	if outcome.Returned != 1 {
		t.Errorf("returned iteration %d, want 1: the largest weighted share", outcome.Returned)
	}
}

func TestChecksToFix(t *testing.T) {
	for fix, want := range map[string]int{"all": 2, "one": 1} {
		rules := load(t, "evaluate: {fix: "+fix+", checks: [{name: a, expr: 'true'}, {name: b, expr: 'true'}]}")
		s := rules.Start(&spec.Task{}, nil)
		s.Fold(checked("ab"))
		failing, _ := s.Lookup("failing")
		if got := len(failing.([]any)); got != want {
			t.Errorf("fix: %s tells %d of 2 failing checks, want %d", fix, got, want)
		}
	}
}

func TestS1_8_FailedIteration(t *testing.T) {
	decide(t, []decision{
		{"without a best above 0.5 it ends the run", "", "0.5 x", 2, record.ReasonError, "program", false, 1},
		{"with one the loop goes on", "", "0.51 x", 0, "", "", false, 0},
		{"continue_if decides otherwise", "on_error: {continue_if: iteration < 2}", "0.9 x", 2, record.ReasonError, "", false, 1},
		{"an error in continue_if is false", "on_error: {continue_if: output.a.b == 1.0}", "0.9 x", 2, record.ReasonError, "", false, 1},
		{"a failed first iteration is never the best", "on_error: {continue_if: true}\nterminate: {max_iterations: 2}", "x 0.0", 2, record.ReasonMaxIterations, "", false, 2},
	})
}

func TestFaultsAreNotFailures(t *testing.T) {
	for history1, want := range map[string]record.Status{"x": record.Failed, "!": record.Faulted, "0.9p": record.Completed} {
		if _, outcome, _ := play(load(t, ""), history(history1)); outcome.Status != want {
			t.Errorf("%s gives status %s, want %s", history1, outcome.Status, want)
		}
	}
}

// TestAFaultEndsARunUnlessTheLoopGoesOn: a run that lost its server is excluded
// however good it was, unless on_error or another strategy is there to go on.
func TestAFaultEndsARunUnlessTheLoopGoesOn(t *testing.T) {
	n, outcome, ok := play(load(t, ""), history("0.9 ! 0.9p"))
	if !ok || n != 2 || outcome.Reason != record.ReasonError || outcome.Status != record.Faulted || outcome.Counts() {
		t.Errorf("stopped %v after %d with %+v, want a fault after 2", ok, n, outcome)
	}
	for _, loop := range []string{threeStrategies, "on_error: {continue_if: true}"} {
		n, outcome, ok := play(load(t, loop), history("0.9 ! 0.9p"))
		if !ok || n != 3 || outcome.Status != record.Completed {
			t.Errorf("%q: stopped %v after %d with %+v, want it to go on to 3", loop, ok, n, outcome)
		}
	}
	// threeStrategies allow four iterations: nothing follows the fourth.
	for words, want := range map[string]record.Status{"! ! ! !": record.Faulted, "0.9 0.9 0.9 !": record.Faulted, "! ! ! 0.1": record.Completed, "0.1 0.1 0.1 x": record.Completed} {
		if n, outcome, _ := play(load(t, threeStrategies), history(words)); n != 4 || outcome.Status != want {
			t.Errorf("%s: %s after %d (%s), want %s after 4", words, outcome.Status, n, outcome.Reason, want)
		}
	}
	prompt := history("0.9 x 0.9p")
	prompt[1].Error.Class = record.Expression
	if n, outcome, _ := play(load(t, ""), prompt); n != 3 || outcome.Status != record.Completed {
		t.Errorf("an expression in a prompt ends the run after %d: %+v", n, outcome)
	}
}

func TestS1_9_Success(t *testing.T) {
	decide(t, []decision{
		{"0.8 where there is no threshold", "max_iterations: 1", "0.8", 1, record.ReasonMaxIterations, "", true, 1},
		{"and not below", "max_iterations: 1", "0.79", 1, record.ReasonMaxIterations, "", false, 1},
		{"the largest threshold of the tree, nested ones included", "terminate: {any: [{max_iterations: 1}, {confidence: {threshold: 0.99, min_iterations: 5}}, {all: [{confidence: {threshold: 0.9}}, {max_iterations: 9}]}]}", "0.95", 1, record.ReasonMaxIterations, "", false, 1},
		{"no floor at 0.8", "terminate: {confidence: {threshold: 0.3}}", "0.3", 1, record.ReasonConfidence, "", true, 1},
		{"one that is off does not count", "terminate: {confidence: {threshold: off}, max_iterations: 1}", "0.8", 1, record.ReasonMaxIterations, "", true, 1},
		{"the best counts, not the last", "max_iterations: 2", "0.9 0.1", 2, record.ReasonMaxIterations, "", true, 1},
	})
}
