package stop

import (
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

const goOn = "\non_error: {continue_if: true}\n"

func TestS1_10_AbsoluteLimit(t *testing.T) {
	decide(t, []decision{
		{"10 is the default", "", "0 0 0 0 0 0 0 0 0 0", 10, record.ReasonAbsolute, "absolute_max_iterations", false, 1},
		{"another limit", "guards: {absolute_max_iterations: 2}", "0 0 0", 2, record.ReasonAbsolute, "", false, 1},
		{"off", "guards: {absolute_max_iterations: off}", "0 0 0 0 0 0 0 0 0 0 0 0", 0, "", "", false, 0},
	})
}

func TestS1_11_RunBudget(t *testing.T) {
	decide(t, []decision{
		{"tokens at the limit", "guards: {budget: {tokens: 200}}", "0.1 0.2 0.3", 2, record.ReasonBudgetTokens, "", false, 2},
		{"tokens below the limit", "guards: {budget: {tokens: 201}}", "0.1 0.2", 0, "", "", false, 0},
		{"calls", "guards: {budget: {calls: 3}}", "0.1 0.2 0.3", 3, record.ReasonBudgetCalls, "", false, 3},
		{"cost", "guards: {budget: {cost_usd: 0.02}}", "0.1 0.2 0.3", 2, record.ReasonBudgetCost, "", false, 2},
	})
}

func TestS1_12_RepeatedOutput(t *testing.T) {
	decide(t, []decision{
		{"equal to any earlier one; the best is returned", "guards: {repeated_output: true}", "0.5=a 0.7=b 0.5=a", 3, record.ReasonRepeatedOutput, "", false, 2},
		{"off unless asked for", "", "0.5=a 0.7=b 0.5=a", 0, "", "", false, 0},
		{"a failed iteration has no output to repeat", "guards: {repeated_output: true}" + goOn, "x x 0.5=a", 0, "", "", false, 0},
	})
}

func TestS1_13_Degradation(t *testing.T) {
	decide(t, []decision{
		{"two falls are a window of 3", "guards: {degradation: {window: 3}}", "0.9 0.8 0.7", 3, record.ReasonDegradation, "", true, 1},
		{"equal is no fall", "guards: {degradation: {window: 3}}", "0.9 0.8 0.8 0.7", 0, "", "", false, 0},
		{"3 is the default", "guards: {degradation: {}}", "0.5 0.4 0.3", 3, record.ReasonDegradation, "", false, 1},
		{"a window of 2", "guards: {degradation: {window: 2}}", "0.5 0.6 0.5", 3, record.ReasonDegradation, "", false, 2},
		{"failed iterations are passed over", "guards: {degradation: {window: 3}}" + goOn, "0.5 x 0.4 x 0.3", 5, record.ReasonDegradation, "", false, 1},
	})
}

// F31, F38: the same error, exactly as often as the threshold says.
func TestS2_6_CircuitBreaker(t *testing.T) {
	decide(t, []decision{
		{"the same error three times in a row", "guards: {circuit_breaker: {threshold: 3}}" + goOn, "x:a x:a x:a", 3, record.ReasonCircuitBreaker, "circuit_breaker", false, 0},
		{"another error begins a new row", "guards: {circuit_breaker: {threshold: 3}}" + goOn, "x:a x:a x:b x:a", 0, "", "", false, 0},
		{"a success resets the row", "guards: {circuit_breaker: {threshold: 2}}" + goOn, "x:a 0.1 x:a 0.1", 0, "", "", false, 0},
		{"it is the first of the guards", "guards: {circuit_breaker: {threshold: 2}, stagnation: {window: 2}, absolute_max_iterations: 2}" + goOn, "x:a/t x:a/t", 2, record.ReasonCircuitBreaker, "", false, 0},
	})
	_, outcome, _ := play(load(t, "guards: {circuit_breaker: {threshold: 2}}"+goOn), history("x:a x:a"))
	if outcome.Error == nil || outcome.Error.Message != "a" || !outcome.Counts() {
		t.Errorf("stopped with the error %v, want that of the row; the run counts", outcome.Error)
	}
}

// F38: the same calls, exactly as often as the window says.
func TestS3_2_Stagnation(t *testing.T) {
	decide(t, []decision{
		{"the same set of calls, in any order", "guards: {stagnation: {window: 3}}", "0.1/a:1+b:2 0.1/b:2+a:1 0.1/a:1+b:2", 3, record.ReasonStagnation, "stagnation", false, 1},
		{"3 is the default window", "guards: {stagnation: {}}", "0/a 0/a 0/a", 3, record.ReasonStagnation, "", false, 1},
		{"other arguments", "guards: {stagnation: {window: 2}}", "0.1/a:1 0.1/a:2 0.1/a:1", 0, "", "", false, 0},
		{"a call more", "guards: {stagnation: {window: 2}}", "0.1/a:1 0.1/a:1+a:1", 0, "", "", false, 0},
		{"an iteration without calls breaks the row", "guards: {stagnation: {window: 2}}", "0.1/a 0.1 0.1/a", 0, "", "", false, 0},
		{"arguments are equal as JSON", "guards: {stagnation: {window: 2}}", `0/a:{"x":1,"y":2} 0/a:{"y":2,"x":1}`, 2, record.ReasonStagnation, "", false, 1},
		{"letter case counts", "guards: {stagnation: {window: 2}}", `0/a:"X" 0/a:"x"`, 0, "", "", false, 0},
		{"unless it is normalized", "guards: {stagnation: {window: 2, signature: normalized}}", `0/a:"X" 0/a:"x"`, 2, record.ReasonStagnation, "", false, 1},
	})
}

func TestRepeatedAndConsecutiveAsGuards(t *testing.T) {
	decide(t, []decision{
		{"repeated", "guards: {repeated: {of: output, times: 2}}\nevaluate: {confidence: 0.5}", "0.5=a 0.5=b 0.5=b", 3, record.ReasonRepeated, "repeated", false, 1},
		{"consecutive", "guards: {consecutive: {when: confidence < 0.2, times: 2}}", "0.1 0.3 0.1 0.1", 4, record.ReasonConsecutive, "consecutive", false, 2},
		{"by name", "guards: {repeated: [{name: stuck, of: output, times: 2}]}\nevaluate: {confidence: 0.5}", "0.5=b 0.5=b", 2, record.ReasonRepeated, "stuck", false, 1},
	})
}

func TestRepeatedAndConsecutive(t *testing.T) {
	const twice = "terminate: {repeated: {of: 'iteration == 2 ? null : output', times: 2}}\nevaluate: {confidence: 0.5}"
	decide(t, []decision{
		{"equal values in a row", "terminate: {repeated: {of: output, times: 3}}\nevaluate: {confidence: 0.5}", "0.5=a 0.5=b 0.5=b 0.5=b", 4, record.ReasonRepeated, "repeated", false, 1},
		{"null equals nothing", twice, "0.5=a 0.5=a 0.5=a 0.5=a", 4, record.ReasonRepeated, "", false, 1},
		{"a failure breaks a row of values", "terminate: {repeated: {of: output, times: 2}}\nevaluate: {confidence: 0.5}" + goOn, "0.5=a x 0.5=a", 0, "", "", false, 0},
		{"consecutive", "terminate: {consecutive: {when: confidence == 0.0, times: 2}}", "0 0.1 0 0", 4, record.ReasonConsecutive, "consecutive", false, 2},
		{"a failure breaks a row of truths", "terminate: {consecutive: {when: confidence == 0.0, times: 2}}" + goOn, "0 x 0", 0, "", "", false, 0},
	})
}
