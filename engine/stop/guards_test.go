package stop

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/spec/spectest"
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
		{"equal as JSON: keys in another order, numbers as other literals", "guards: {repeated_output: true}", `0.1={"a":1,"b":[2,3]} 0.2={"b":[2.0,3],"a":1e0}`, 2, record.ReasonRepeatedOutput, "", false, 2},
		{"a list in another order is another value", "guards: {repeated_output: true}", "0.1=[2,3] 0.2=[3,2]", 0, "", "", false, 0},
		{"a number is not its text", "guards: {repeated_output: true}", `0.1=1 0.2="1"`, 0, "", "", false, 0},
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

// The same error, exactly as often as the threshold says.
func TestS2_6_CircuitBreaker(t *testing.T) {
	decide(t, []decision{
		{"the same error three times in a row", "guards: {circuit_breaker: {threshold: 3}}" + goOn, "x:a x:a x:a", 3, record.ReasonCircuitBreaker, "circuit_breaker", false, 0},
		{"another error begins a new row", "guards: {circuit_breaker: {threshold: 3}}" + goOn, "x:a x:a x:b x:a", 0, "", "", false, 0},
		{"a success resets the row", "guards: {circuit_breaker: {threshold: 2}}" + goOn, "x:a 0.1 x:a 0.1", 0, "", "", false, 0},
		{"steps of which every call failed alike, over iterations", "guards: {circuit_breaker: {threshold: 3}}", "0.1/a!no>b!no 0.2/c!no>d", 2, record.ReasonCircuitBreaker, "", false, 1},
		{"the set of errors counts, not the calls", "guards: {circuit_breaker: {threshold: 2}}", "0.1/a!no+b!off>b!off+c!no+d!no>a", 1, record.ReasonCircuitBreaker, "", false, 0},
		{"one call of the step that succeeds is a success", "guards: {circuit_breaker: {threshold: 2}}", "0.1/a!no>a!no+b>a!no>b", 0, "", "", false, 0},
		{"a step without a call resets the row", "guards: {circuit_breaker: {threshold: 2}}", "0.1/a!no>.>a!no>b", 0, "", "", false, 0},
		{"failed iterations are a row of their own", "guards: {circuit_breaker: {threshold: 2}}" + goOn, "x:a/b!no x:a/b", 2, record.ReasonCircuitBreaker, "", false, 0},
		{"it is the first of the guards", "guards: {circuit_breaker: {threshold: 2}, stagnation: {window: 2}, absolute_max_iterations: 2}" + goOn, "x:a/t x:a/t", 2, record.ReasonCircuitBreaker, "", false, 0},
	})
	for words, want := range map[string]string{"x:a x:a": "a", "0.1/a!no>b!no>c": "no"} {
		_, outcome, _ := play(load(t, "guards: {circuit_breaker: {threshold: 2}}"+goOn), history(words))
		if outcome.Error == nil || outcome.Error.Message != want || outcome.Status != record.Completed {
			t.Errorf("%s: %s with the error %v, want that of the row; the run counts", words, outcome.Status, outcome.Error)
		}
	}
}

// The same calls, exactly as often as the window says.
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

// TestS3_3_StagnationIsTuned: how many among how many, of steps or of iterations,
// and what is compared.
func TestS3_3_StagnationIsTuned(t *testing.T) {
	const ofFour, ofFourSteps = "guards: {stagnation: {window: 4, times: 2}}", "guards: {stagnation: {window: 4, times: 2, scope: step}}"
	decide(t, []decision{
		{"twice among four", ofFour, "0.1/a 0.2/b 0.3/c 0.4/a", 4, record.ReasonStagnation, "", false, 4},
		{"five apart", ofFour, "0.1/a 0.2/b 0.3/c 0.4/d 0.5/a", 0, "", "", false, 0},
		{"an iteration without calls takes a place", ofFour, "0.1/a 0.2 0.3 0.4 0.5/a", 0, "", "", false, 0},
		{"and equals no other", ofFour, "0.1 0.2 0.3 0.4", 0, "", "", false, 0},
		{"steps, within an iteration", ofFourSteps, "0.1/a>b>a>b", 1, record.ReasonStagnation, "", false, 0},
		{"steps, over iterations; the cut one is not returned", ofFourSteps, "0.3/a>b 0.4/c>a>d", 2, record.ReasonStagnation, "", false, 1},
		{"steps at which the iteration ends anyway", ofFourSteps, "0.3/a>b 0.4/c>a", 2, record.ReasonStagnation, "", false, 2},
		{"steps do not count as iterations", ofFour, "0.1/a>b>a", 0, "", "", false, 0},
		{"iterations do not count as steps", ofFourSteps, "0.1/a+b 0.2/a+c", 0, "", "", false, 0},
		{"normalized steps", "guards: {stagnation: {window: 2, scope: step, signature: normalized}}", `0.1/a:"X">a:"x">a:"y"`, 1, record.ReasonStagnation, "", false, 0},
		{"times off", "guards: {stagnation: {window: 2, times: off}}", "0.1/a 0.1/a 0.1/a", 0, "", "", false, 0},
	})
	rules := load(t, "guards: {stagnation: {window: 2, scope: step, signature: observations}}")
	for result, want := range map[string]bool{`"same"`: true, `"other"`: false} {
		iterations := history("0.1/a>a>b")
		iterations[0].ToolCalls[0].Result, iterations[0].ToolCalls[1].Result = []byte(`"same"`), []byte(result)
		if _, _, stopped := play(rules, iterations); stopped != want {
			t.Errorf("with the result %s after \"same\": stopped %v", result, stopped)
		}
	}
}

// TestF38_GuardsFireAtExactlyThree: the same error, the same calls, and calls that
// alternate; what is in between begins the row anew.
func TestF38_GuardsFireAtExactlyThree(t *testing.T) {
	const breaker, stagnant = "guards: {circuit_breaker: {}}", "guards: {stagnation: {scope: step}}"
	const oscillates = "guards: {stagnation: {scope: step, window: 5, times: 3}}"
	decide(t, []decision{
		{"two errors", breaker, "0.1/a!no>b!no>c", 0, "", "", false, 0},
		{"three errors", breaker, "0.1/a!no>b!no>c!no>d", 1, record.ReasonCircuitBreaker, "", false, 0},
		{"a success between them", breaker, "0.1/a!no>b!no>c>d!no>e!no>f", 0, "", "", false, 0},
		{"the same call twice", stagnant, "0.1/a:1>a:1>b", 0, "", "", false, 0},
		{"the same call three times", stagnant, "0.1/a:1>a:1>a:1>b", 1, record.ReasonStagnation, "", false, 0},
		{"another call between them", stagnant, "0.1/a:1>a:1>b>a:1>a:1>c", 0, "", "", false, 0},
		{"oscillation is no row", stagnant, "0.1/a>b>a>b>a>b", 0, "", "", false, 0},
		{"oscillation, twice each", oscillates, "0.1/a>b>a>b>.", 0, "", "", false, 0},
		{"oscillation, the third time", oscillates, "0.1/a>b>a>b>a>b", 1, record.ReasonStagnation, "", false, 0},
	})
	for words, want := range map[string]int{"0.1/a>b>a>b>a>b": 5, "0.1/a>a>a>b": 3, "0.1/a>b>c>a>a>d": 5} {
		s := load(t, oscillates).Start(nil, nil)
		if got := len(lived(s, history(words)[0]).Steps); got != want {
			t.Errorf("%s: cut after step %d, want %d", words, got, want)
		}
	}
}

func TestRepeatedAndConsecutiveAsGuards(t *testing.T) {
	decide(t, []decision{
		{"repeated", "guards: {repeated: {of: output, times: 2}}\nevaluate: {confidence: 0.5}", "0.5=a 0.5=b 0.5=b", 3, record.ReasonRepeated, "repeated", false, 1},
		{"repeated among a window", "guards: {repeated: {of: output, times: 3, window: 5}}\nevaluate: {confidence: 0.5}", "0.5=a 0.5=b 0.5=a 0.5=b 0.5=a", 5, record.ReasonRepeated, "repeated", false, 1},
		{"repeated outside of the window", "guards: {repeated: {of: output, times: 3, window: 4}}\nevaluate: {confidence: 0.5}", "0.5=a 0.5=b 0.5=a 0.5=b 0.5=a", 0, "", "", false, 0},
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

// A hard budget that had no room for a call within the last iteration ended the
// run; the limit of iterations would have let it go on to its end.
func TestABudgetThatCutsTheLastIterationIsTheReason(t *testing.T) {
	for cut, want := range map[string]record.Reason{"": record.ReasonMaxIterations, "budget_calls": record.ReasonBudgetCalls} {
		iterations := history("0.1 0.2")
		iterations[1].Cut = cut
		n, outcome, stopped := play(load(t, "guards: {budget: {calls: 9, hard: true}}\nterminate: {max_iterations: 2}"), iterations)
		if !stopped || n != 2 || outcome.Reason != want {
			t.Errorf("cut by %q: %s after %d, want %s", cut, outcome.Reason, n, want)
		}
	}
}

// What a guard used of its limit stands in the outcome, in the guard's own unit.
func TestTheOutcomeHoldsWhatTheGuardUsedAndItsLimit(t *testing.T) {
	for _, c := range []struct {
		loop, history string
		reason        record.Reason
		used, limit   float64
	}{
		{"max_iterations: 2", "0.1 0.2", record.ReasonMaxIterations, 2, 2},
		{"guards: {absolute_max_iterations: 3}", "0 0 0", record.ReasonAbsolute, 3, 3},
		{"guards: {budget: {tokens: 250}}", "0.1 0.2 0.3", record.ReasonBudgetTokens, 300, 250},
		{"guards: {budget: {calls: 2}}", "0.1 0.2", record.ReasonBudgetCalls, 2, 2},
		{"guards: {budget: {cost_usd: 0.015}}", "0.1 0.2", record.ReasonBudgetCost, 0.02, 0.015},
		{"guards: {repeated_output: true}", "0.5=a 0.7=b 0.5=a", record.ReasonRepeatedOutput, 2, 2},
		{"guards: {degradation: {window: 3}}", "0.9 0.8 0.7", record.ReasonDegradation, 3, 3},
		{"guards: {stagnation: {window: 4, times: 2}}", "0/a 0/b 0/a", record.ReasonStagnation, 2, 2},
		{"guards: {stagnation: {window: 3, scope: step}}", "0/a>a 0/a>b", record.ReasonStagnation, 3, 3},
		{"guards: {circuit_breaker: {threshold: 2}}" + goOn, "x:a x:a", record.ReasonCircuitBreaker, 2, 2},
		{"guards: {circuit_breaker: {threshold: 3}}", "0.1/a!no>b!no>c!no", record.ReasonCircuitBreaker, 3, 3},
		{"guards: {repeated: {of: output, times: 2, window: 3}}", "0.1=a 0.1=b 0.1=a", record.ReasonRepeated, 2, 2},
		{"guards: {consecutive: {when: confidence < 0.5, times: 3}}", "0.1 0.2 0.3", record.ReasonConsecutive, 3, 3},
		{"terminate: {timeout: 2s}", "0.1 0.2", record.ReasonTimeout, 0, 0},
	} {
		_, o, _ := play(load(t, c.loop), history(c.history))
		if o.Reason != c.reason || o.Used != c.used || o.Limit != c.limit {
			t.Errorf("%s after %s: %s used %v of %v, want %s with %v of %v", c.loop, c.history, o.Reason, o.Used, o.Limit, c.reason, c.used, c.limit)
		}
	}
	s := load(t, "guards: {budget: {tokens: 250, hard: true}}").Start(nil, nil)
	for _, it := range history("0.1 0.2") {
		s.Fold(it)
	}
	if o := s.StopBefore(record.ReasonBudgetTokens); o.Used != 200 || o.Limit != 250 {
		t.Errorf("no room for another call: %v used of %v, want 200 of 250", o.Used, o.Limit)
	}
}

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

// TestAFaultEndsARunUnlessTheLoopGoesOn: a run that lost its server is excluded
// however good it was, unless on_error or another strategy is there to go on.
func TestAFaultEndsARunUnlessTheLoopGoesOn(t *testing.T) {
	for words, want := range map[string]record.Status{"x": record.Failed, "!": record.Faulted, "0.9p": record.Completed} {
		if _, outcome, _ := play(load(t, ""), history(words)); outcome.Status != want {
			t.Errorf("%s gives status %s, want %s", words, outcome.Status, want)
		}
	}
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

// Leaves that watch the same expression share its answer at each iteration, and
// at no other.
func TestWatchersShareAnswers(t *testing.T) {
	program := spectest.Expr(t, expr.Evaluate(expr.Any), "output", expr.WantAny).Program
	var conditions []spec.Condition
	for times := 2; times < 5; times++ {
		of := &spec.Expr{Text: "output", Program: program}
		conditions = append(conditions, spec.Condition{Kind: spec.KindRepeated, Repeated: spec.Repeated{Of: of, Times: source.Maybe[int]{Set: true, Value: times}}})
	}
	leaves := &Leaves{}
	rules := Compile(&spec.Loop{})
	for i := range conditions {
		l := &spec.Loop{Terminate: spec.Tree{Any: conditions[i : i+1]}}
		l.Guards.AbsoluteMaxIterations.Off = true
		leaves.Add(Compile(l))
	}
	watcher := rules.Watch(leaves)
	s := watcher.Start(nil, nil)
	masks := watcher.Masks(5)
	for _, output := range []string{`"a"`, `"b"`, `"b"`, `"b"`, `"c"`} {
		s.Fold(&record.Iteration{Output: json.RawMessage(output)})
		if watcher.Note(s, masks); len(s.answers) != 1 {
			t.Errorf("%d answers to one question", len(s.answers))
		}
	}
	if want := []uint64{0b01100, 0b01000, 0}; !slices.Equal(masks.held, want) {
		t.Errorf("%b, want %b", masks.held, want)
	}
}
