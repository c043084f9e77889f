package stop

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// TestOrderOfDecision takes away, one after the other, whatever gives the
// reason of a run at whose second iteration everything holds at once.
func TestOrderOfDecision(t *testing.T) {
	const loop = `guards: {circuit_breaker: {threshold: 1}, stagnation: {window: 2}, repeated_output: true, degradation: {window: 2},
  repeated: {of: output, times: 2}, consecutive: {when: 'true', times: 2}, budget: {tokens: 200, calls: 2, cost_usd: 0.02}, absolute_max_iterations: 2}
evaluate: {confidence: 0.5, passed: 'false'}
phases: [{name: only, prompt: p, max_iterations: 2}]
terminate: {max_iterations: 2, timeout: 2s, no_improvement: {patience: 1}, consecutive: {when: 'true', times: 2}, repeated: {of: output, times: 2}, when: iteration == 2, confidence: {threshold: 0.1, min_iterations: 2}}
`
	rules := load(t, loop)
	iterations := history("0.5/a=x 0.4p/a=x")
	last := iterations[1]
	last.Ended = &record.Ended{Reason: string(record.ReasonFinalResponse)}
	last.Cut = string(record.ReasonSuiteBudget)

	expect := func(want record.Reason) {
		t.Helper()
		if _, outcome, _ := play(rules, iterations); outcome.Reason != want {
			t.Errorf("the reason is %s, want %s", outcome.Reason, want)
		}
	}
	expect(record.ReasonSuiteBudget)
	last.Cut = string(record.ReasonCancelled)
	expect(record.ReasonCancelled)
	last.Cut = ""
	last.Error = &record.Error{Class: record.Program, Message: "x"}
	rules.continueIf = compiled(t, "false", expr.WantBool)
	expect(record.ReasonError)
	last.Error = nil
	expect(record.ReasonPassed)
	last.Evaluation.Passed = false
	expect(record.ReasonFinalResponse)
	last.Ended = nil
	for _, want := range []record.Reason{
		record.ReasonConfidence, "when:when", record.ReasonRepeated, record.ReasonConsecutive, record.ReasonNoImprovement, record.ReasonTimeout,
	} {
		expect(want)
		rules.tree = rules.tree[1:]
	}
	expect(record.ReasonPhasesComplete)
	rules.phases = []spec.Phase{{Name: "only"}}
	expect(record.ReasonMaxIterations)
	rules.maxima = nil
	for _, want := range []record.Reason{
		record.ReasonStagnation, record.ReasonRepeatedOutput, record.ReasonDegradation, record.ReasonRepeated, record.ReasonConsecutive,
		record.ReasonBudgetTokens, record.ReasonBudgetCalls, record.ReasonBudgetCost, record.ReasonAbsolute,
	} {
		rules.guards = slices.DeleteFunc(rules.guards, func(i int) bool { return rules.leaves[i].reason == record.ReasonCircuitBreaker })
		expect(want)
		rules.guards = rules.guards[1:]
	}
}

// TestTheReasonDoesNotMoveTheStop: what holds earlier stops earlier, whatever
// its place in the order.
func TestTheReasonDoesNotMoveTheStop(t *testing.T) {
	decide(t, []decision{
		{"the last of the guards before the first of the conditions", "guards: {absolute_max_iterations: 1}\nterminate: {confidence: {threshold: 0.5}}", "0.1 0.9", 1, record.ReasonAbsolute, "", false, 1},
	})
}

func TestAllLeavesThatHeldAreRecorded(t *testing.T) {
	_, outcome, _ := play(load(t, "terminate: {confidence: {threshold: 0.5}, max_iterations: 1, timeout: 1s}"), history("0.6"))
	if want := []string{"confidence", "timeout", "max_iterations"}; !slices.Equal(outcome.Held, want) {
		t.Errorf("held %v, want %v", outcome.Held, want)
	}
}

func TestAnExpressionThatFailsStopsTheRun(t *testing.T) {
	for _, loop := range []string{
		"terminate: {when: output.missing > 1.0}",
		"terminate: {repeated: {of: output.missing, times: 2}}",
		"phases: [{name: a, prompt: p, until: output.missing == 1.0}, {name: b, prompt: p}]",
		"guards: {consecutive: {when: output.missing == 1.0, times: 2}}",
	} {
		n, outcome, ok := play(load(t, loop), history("0.5"))
		if !ok || n != 1 || outcome.Reason != record.ReasonError || outcome.Status != record.Faulted || outcome.Error.Class != record.Expression {
			t.Errorf("%s: stopped %v with %+v, want a fault of the expression", loop, ok, outcome)
		}
	}
	_, outcome, _ := play(load(t, "terminate: {when: output.missing > 1.0}"), history("0.5p"))
	if outcome.Reason != record.ReasonPassed {
		t.Errorf("a run that passed stops for %s", outcome.Reason)
	}
}

func TestStopBefore(t *testing.T) {
	for reason, want := range map[record.Reason]record.Status{
		record.ReasonAgentEnded: record.Completed, record.ReasonCancelled: record.Cancelled,
		record.ReasonSuiteBudget: record.Cancelled, record.ReasonBudgetCalls: record.Completed,
	} {
		s := load(t, "").Start(&spec.Task{}, nil)
		s.Fold(history("0.9")[0])
		outcome := s.StopBefore(reason)
		if outcome.Status != want || outcome.Reason != reason || outcome.Returned != 1 || outcome.Success != (want == record.Completed) {
			t.Errorf("%s: %+v, want status %s and the best output", reason, outcome, want)
		}
	}
}
