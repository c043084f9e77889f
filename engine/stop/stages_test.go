package stop

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/spec/spectest"
)

const threePhases = "phases: [{name: planning, prompt: p, max_iterations: 1}, {name: execution, prompt: e, max_iterations: 2, until: confidence > 0.9}, {name: refinement, prompt: r, max_iterations: 1}]\n"

// Phases count at the end of their iterations; until ends one early.
func TestS0_1_S1_4_StagesOfARun(t *testing.T) {
	for _, c := range []struct {
		loop, history, want string
		reason              record.Reason
	}{
		{threePhases, "0.1 0.2 0.3 0.4 0.5", "planning execution execution refinement", record.ReasonPhasesComplete},
		{threePhases, "0.1 0.95 0.3", "planning execution refinement", record.ReasonPhasesComplete},
		{threeStrategies, "0.1 0.2 0.3 0.4 0.5", "a b b c", record.ReasonStrategiesExhausted},
	} {
		iterations := history(c.history)
		n, outcome, _ := play(load(t, c.loop), iterations)
		var stages []string
		for _, it := range iterations[:n] {
			stages = append(stages, it.Phase+it.Strategy)
		}
		if got := strings.Join(stages, " "); got != c.want || outcome.Reason != c.reason {
			t.Errorf("went through %s and stopped for %s, want %s and %s", got, outcome.Reason, c.want, c.reason)
		}
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
	decide(t, []decision{
		{"until one passes", threeStrategies, "0.1 0.9p", 2, record.ReasonStrategySucceeded, "strategy_succeeded", true, 2},
		{"a confidence is no success", threeStrategies, "0.99 0.99 0.99 0.99", 4, record.ReasonStrategiesExhausted, "", false, 1},
		{"a failed iteration uses up its strategy's limit", threeStrategies, "x x x 0.4", 4, record.ReasonStrategiesExhausted, "", false, 4},
		{"improvement starts anew", threeStrategies + "terminate: {no_improvement: {patience: 1}}", "0.9 0.1 0.05", 3, record.ReasonNoImprovement, "", false, 1},
		{"degradation starts anew", threeStrategies + "guards: {degradation: {window: 2}}", "0.9 0.8 0.7", 3, record.ReasonDegradation, "", false, 1},
		{"repeated output starts anew", threeStrategies + "guards: {repeated_output: true}", "0.1=a 0.1=a 0.1=a", 3, record.ReasonRepeatedOutput, "", false, 1},
	})
}

func ofStep(t spectest.T, text string, want expr.Want) *spec.Expr {
	return spectest.Expr(t, expr.Step(expr.Any), text, want)
}

// guarded are the rules of guards alone, with nothing else that could end a run.
func guarded(t spectest.T, g spec.Guards) *Rules {
	g.AbsoluteMaxIterations = source.Maybe[int]{Set: true, Off: true}
	return Compile(&spec.Loop{
		Agent: &spec.Agent{Model: "m", Reply: spec.ReplyJSON}, Guards: g,
		OnError: &spec.OnError{ContinueIf: compiled(t, "true", expr.WantBool)},
	})
}

// drawGuard draws a guard that looks at steps.
func drawGuard(t *rapid.T) (g spec.Guards) {
	window := rapid.IntRange(2, 5).Draw(t, "window")
	times := rapid.IntRange(2, window).Draw(t, "times")
	switch rapid.IntRange(0, 4).Draw(t, "guard") {
	case 0:
		g.CircuitBreaker = &spec.CircuitBreaker{Threshold: set(times)}
	case 1:
		g.Stagnation = &spec.Stagnation{Window: set(window), Times: set(times), Scope: stepScoped}
	case 2:
		g.Stagnation = &spec.Stagnation{Window: set(window), Scope: stepScoped, Signature: "normalized"}
	case 3:
		g.Repeated = []spec.NamedRepeated{{Scope: stepScoped, Window: window, Repeated: spec.Repeated{Of: ofStep(t, "step.text", expr.WantAny), Times: set(times)}}}
	case 4:
		g.Consecutive = []spec.NamedConsecutive{{Scope: stepScoped, Consecutive: spec.Consecutive{
			When: ofStep(t, "step.calls.exists(c, c.error != '' && c.step == step.number)", expr.WantBool), Times: set(times),
		}}}
	}
	return g
}

// drawSteps draws a history of iterations with steps.
func drawSteps(t *rapid.T) []*record.Iteration {
	var words []string
	for range rapid.IntRange(1, 5).Draw(t, "iterations") {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a!no", "b!no", "a+b", "b!off+a!no", "."}), 1, 6).Draw(t, "steps")
		kind := rapid.SampledFrom([]string{"0.5", "0.5", "0.5", "x:no"}).Draw(t, "kind")
		words = append(words, kind+"/"+strings.Join(steps, ">"))
	}
	return history(strings.Join(words, " "))
}

// made is how many steps a run makes, over all iterations.
func made(r *Rules, iterations []*record.Iteration) (steps int) {
	s := r.Start(nil, nil)
	for _, it := range iterations {
		it = lived(s, it)
		steps += len(it.Steps)
		if s.Fold(it).Stop {
			break
		}
	}
	return steps
}

// A run that is cut after a step is one that decides to stop when it has that
// step as its last, and at no step before.
func TestWatchesAgreeWithTheFold(t *testing.T) {
	cuts := 0
	propertytest.Check(t, func(t *rapid.T) {
		rules, iterations := guarded(t, drawGuard(t)), drawSteps(t)
		s := rules.Start(nil, nil)
		for i, it := range iterations {
			watch := s.StepGuards()
			for n := 1; n <= len(it.Steps); n++ {
				cut := watch.Step(upTo(it, n))
				again := rules.Start(nil, nil)
				for _, earlier := range iterations[:i] {
					again.Fold(earlier)
				}
				d := again.Fold(upTo(it, n))
				if (cut != "") != d.Stop || d.Stop && cut != d.Outcome.Reason {
					t.Fatalf("iteration %d, step %d: cut for %q, the fold says %+v", i+1, n, cut, d.Outcome)
				}
				if cut != "" {
					cuts++
					return
				}
			}
			if s.Fold(it).Stop {
				return // a row of failed iterations
			}
		}
	})
	if cuts == 0 {
		t.Error("nothing was cut: the property says little")
	}
}

// A watch that is given up leaves no trace.
func TestAWatchChangesNothing(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		rules, iterations := guarded(t, drawGuard(t)), drawSteps(t)
		watched, alone := rules.Start(nil, nil), rules.Start(nil, nil)
		for i, it := range iterations {
			watched.StepGuards().Step(it)
			a, b := watched.Fold(it), alone.Fold(it)
			if a.Stop != b.Stop || a.Outcome.Reason != b.Outcome.Reason {
				t.Fatalf("iteration %d: %+v when it was watched, else %+v", i+1, a.Outcome, b.Outcome)
			}
			if a.Stop {
				return
			}
		}
	})
}

func TestTighterGuardsNeverLengthen(t *testing.T) {
	shorter := 0
	propertytest.Check(t, func(t *rapid.T) {
		loose, iterations := drawGuard(t), drawSteps(t)
		before, after := made(guarded(t, loose), iterations), made(guarded(t, tighter(t, loose)), iterations)
		if after > before {
			t.Fatalf("a tighter guard lengthens the run from %d steps to %d", before, after)
		}
		if after < before {
			shorter++
		}
	})
	if shorter == 0 {
		t.Error("no run was shorter: the property says little")
	}
}

// tighter is a guard that holds wherever another one does: fewer times, or as many
// among more.
func tighter(t *rapid.T, g spec.Guards) spec.Guards {
	wider := rapid.IntRange(0, 2).Draw(t, "wider")
	fewer := func(times source.Maybe[int]) source.Maybe[int] {
		times.Value = max(2, times.Value-rapid.IntRange(0, 2).Draw(t, "fewer"))
		return times
	}
	switch {
	case g.CircuitBreaker != nil:
		g.CircuitBreaker = &spec.CircuitBreaker{Threshold: fewer(g.CircuitBreaker.Threshold)}
	case g.Stagnation != nil:
		s := *g.Stagnation
		if !s.Times.Set {
			s.Times = set(s.Window.Value)
		}
		s.Times, s.Window.Value = fewer(s.Times), s.Window.Value+wider
		g.Stagnation = &s
	case len(g.Repeated) > 0:
		g.Repeated = slices.Clone(g.Repeated)
		g.Repeated[0].Times, g.Repeated[0].Window = fewer(g.Repeated[0].Times), g.Repeated[0].Window+wider
	default:
		g.Consecutive = slices.Clone(g.Consecutive)
		g.Consecutive[0].Times = fewer(g.Consecutive[0].Times)
	}
	return g
}

// What expressions after a step see: the step, and of everything else what stood
// before the iteration.
func TestStepsInExpressions(t *testing.T) {
	for text, want := range map[string]int{
		"step.number == 2":       2,
		"step.text == 'b:1!no'":  2,
		"step.calls.size() == 2": 3,
		"step.calls.exists(c, c.tool == 'b' && c.arguments == 1.0 && c.error == 'no')": 2,
		"step.calls.exists(c, c.result == 'found')":                                    3,
		"step.calls.all(c, c.iteration == iteration + 1) && step.number == 3":          3,
		"tool_calls.size() == 1 && steps == 1 && step.number == 1":                     1,
	} {
		rules := guarded(t, spec.Guards{Consecutive: []spec.NamedConsecutive{{
			Scope: stepScoped, Consecutive: spec.Consecutive{When: ofStep(t, text, expr.WantBool), Times: set(1)},
		}}})
		iterations := history("0.1/z 0.1/a:1>b:1!no>c+d>.")
		iterations[1].ToolCalls[3].Result = []byte(`"found"`)
		s := rules.Start(nil, nil)
		s.Append(iterations[0], nil) // which meets some of them itself
		s.Decide()
		if got := len(lived(s, iterations[1]).Steps); got != want {
			t.Errorf("%s: cut after step %d, want %d", text, got, want)
		}
	}
}

// An expression that cannot be evaluated after a step ends the run after the
// iteration, as others do.
func TestAStepThatCannotBeJudged(t *testing.T) {
	rules := guarded(t, spec.Guards{Consecutive: []spec.NamedConsecutive{{
		Scope: stepScoped, Consecutive: spec.Consecutive{When: ofStep(t, "step.calls[0].arguments.deep == 1.0", expr.WantBool), Times: set(1)},
	}}})
	n, outcome, stopped := play(rules, history("0.1/a:{}>a:{} 0.1/a"))
	if !stopped || n != 1 || outcome.Status != record.Faulted || outcome.Error.Class != record.Expression {
		t.Errorf("stopped %v after %d: %+v", stopped, n, outcome)
	}
}

// What the loop, and scorers after it, see of tool calls.
func TestToolCallsInExpressions(t *testing.T) {
	s := guarded(t, spec.Guards{}).Start(nil, nil)
	for _, it := range history("0.1/a>.>b!no+c 0.1") {
		s.Fold(it)
	}
	for _, text := range []string{
		"history[0].tool_calls.map(c, c.tool) == ['a', 'b', 'c'] && history[0].steps == 3",
		"history[0].tool_calls.map(c, c.step) == [1, 3, 3]",
		"history[0].tool_calls[1].error == 'no' && history[0].tool_calls[0].result == null",
		"tool_calls.size() == 0 && steps == 0 && previous.steps == 3",
	} {
		if holds, err := compiled(t, text, expr.WantBool).Bool(t.Context(), s); !holds || err != nil {
			t.Errorf("%s: %v, %v", text, holds, err)
		}
	}
}
