package replay

import (
	"fmt"
	"time"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"pgregory.net/rapid"
)

func set[T any](value T) source.Maybe[T] { return source.Maybe[T]{Value: value, Set: true} }

func off[T any]() source.Maybe[T] { return source.Maybe[T]{Set: true, Off: true} }

// evenly draws from 0 to below n. The whole numbers of rapid are mostly small ones,
// which would put every guard into most of the loops.
func evenly(t *rapid.T, label string, n int) int {
	const digits = 10
	value := 0
	for range digits {
		value *= 2
		if rapid.Bool().Draw(t, label) {
			value++
		}
	}
	return value * n >> digits
}

func draw[T any](t *rapid.T, label string, values ...T) T {
	return values[evenly(t, label, len(values))]
}

func number(t *rapid.T, label string, from, to int) int {
	return from + evenly(t, label, to-from+1)
}

func often(t *rapid.T, label string, percent int) bool {
	return evenly(t, label, 100) >= 100-percent
}

func drawWorld(t *rapid.T) *world {
	return &world{
		seed: rapid.Uint64().Draw(t, "seed"), fails: draw(t, "fails", 0, 5, 20), dries: draw(t, "dries", 0, 0, 5),
		finals: draw(t, "finals", 0, 0, 8), busy: draw(t, "busy", 0, 40),
	}
}

// blind prompts depend on nothing but the path.
var blind = []string{
	"hello", "{{ task.input }} {{ feedback }}", "{{ best == null ? 0 : best.iteration }}", "{{ iteration }} {{ error }}",
	"{{ phase }}{{ strategy }} {{ size(failing) }}", "{{ size(outputs) }} {{ previous == null ? 'none' : previous.phase }}", "{{ output == null ? 'none' : string(output.s) }}", "{{ usage.tokens }} {{ string(elapsed) }}",
	"{{ history.map(h, string(h.duration) + h.adaptation).join(' ') }}",
}

// telling prompts read what the configuration says.
var telling = []string{"{{ param.limit }} left", "{{ since_improvement }}", "{{ since_improvement }} {{ feedback }}", "{{ param.limit - iteration }}"}

// drawLoop draws a whole loop. Tells says that its prompts may tell limits.
func drawLoop(t *rapid.T, tells bool) *spec.Loop {
	prompts := blind
	if tells {
		prompts = append(append([]string{}, blind...), telling...)
	}
	l := &spec.Loop{
		Name: "l", Pattern: draw(t, "pattern", spec.PatternNone, spec.PatternConfidence, spec.PatternImprovement, spec.PatternChecklist, spec.PatternMultiStrategy),
		Agent: &spec.Agent{Model: "m", Reply: spec.ReplyJSON}, Prompt: prompt(draw(t, "prompt", prompts...)),
	}
	if often(t, "final", 30) {
		l.Agent.FinalResponse = cel("output.f == true", expr.WantBool)
	}
	if often(t, "call timeout", 20) {
		l.Agent.Timeout = time.Duration(number(t, "call timeout", 2, 5)) * 30 * time.Second
	}
	if often(t, "talks", 50) {
		drawTalk(t, l, tells)
	}
	drawStages(t, l, prompts)
	drawEvaluate(t, l, tells)
	drawLimits(t, l)
	return l
}

func drawStages(t *rapid.T, l *spec.Loop, prompts []string) {
	n := number(t, "stages", 1, 3)
	switch {
	case l.Pattern == spec.PatternMultiStrategy:
		for i := range n {
			l.Strategies = append(l.Strategies, spec.Strategy{Name: fmt.Sprint("s", i), Prompt: prompt(draw(t, "prompt", prompts...)), MaxIterations: number(t, "limit", 1, 3), Agent: drawOverrides(t)})
		}
	case often(t, "phases", 40):
		for i := range n {
			p := spec.Phase{Name: fmt.Sprint("p", i), MaxIterations: number(t, "limit", 0, 3)}
			if often(t, "own", 60) {
				p.Prompt = prompt(draw(t, "prompt", prompts...))
			}
			if often(t, "until", 30) {
				p.Until = cel(draw(t, "until", "output.c > 0.5", "confidence >= 0.6", "iteration >= 3"), expr.WantBool)
			}
			p.Agent = drawOverrides(t)
			l.Phases = append(l.Phases, p)
		}
	}
}

// drawOverrides draws what a stage says of the agent for itself.
func drawOverrides(t *rapid.T) *spec.Agent {
	if !often(t, "overrides", 20) {
		return nil
	}
	over := &spec.Agent{}
	if often(t, "own system", 50) {
		over.System = prompt(draw(t, "system", "be brief", "{{ iteration }} {{ phase }}"))
	}
	if often(t, "own timeout", 50) {
		over.Timeout = time.Duration(number(t, "call timeout", 2, 5)) * 30 * time.Second
	}
	return over
}

func drawEvaluate(t *rapid.T, l *spec.Loop, tells bool) {
	confidences := []string{"double(output.c)", "output.c > 0.5 ? 0.9 : 0.1", "best == null || best.confidence == null ? 0.5 : output.c * 0.9", "phase == 'p1' || strategy == 's1' ? 0.4 : double(output.c)", "elapsed > duration('3s') || history[iteration].duration > duration('1s') ? 0.8 : double(output.c)"}
	passes := []string{"output.p == true", "confidence >= 0.95", "iteration > 6", "previous != null && previous.confidence == confidence && output.c > 0.7"}
	if tells {
		confidences = append(confidences, "since_improvement > 1 ? 0.2 : double(output.c)")
		passes = append(passes, "param.limit < 3 && output.c > 0.8")
	}
	if l.Pattern == spec.PatternNone && often(t, "unevaluated", 20) {
		return
	}
	e := &spec.Evaluate{Fix: draw(t, "fix", "all", "one")}
	if l.Pattern == spec.PatternChecklist || often(t, "checks", 30) {
		weight := draw(t, "weight", 1.0, 2.0)
		e.Checks = []spec.Check{
			{Name: "large", Expr: cel("output.c >= 0.6", expr.WantBool), Weight: &weight},
			{Name: "a", Expr: cel("output.o == 'a'", expr.WantBool), Feedback: "say a"},
		}
	}
	if often(t, "judge", 30) {
		e.Judge = &spec.Judge{Model: "judge", Rubric: prompt(draw(t, "rubric", "good", "good {{ iteration }}", "{{ output.o }}"))}
	} else if len(e.Checks) == 0 || often(t, "confidence", 50) {
		e.Confidence = cel(draw(t, "confidence", confidences...), expr.WantNumber)
	}
	if l.Pattern != spec.PatternChecklist && often(t, "passed", 50) {
		e.Passed = cel(draw(t, "passed", passes...), expr.WantBool)
	}
	if len(l.Phases) > 1 && often(t, "from", 30) {
		e.FromPhase = l.Phases[1].Name
	}
	l.Evaluate = e
}

// drawLimits draws what replay is for: conditions, guards and what follows an
// error. No expression is one whose time is watched: a busy machine must not
// decide.
func drawLimits(t *rapid.T, l *spec.Loop) {
	l.Terminate = spec.Tree{}
	for i := range number(t, "conditions", 0, 3) {
		c := drawCondition(t, l, 2, true)
		c.Name = fmt.Sprint(c.Kind, "-", i)
		l.Terminate.Any = append(l.Terminate.Any, c)
	}
	drawGuards(t, l)
	l.OnError = nil
	if often(t, "on error", 50) {
		l.OnError = &spec.OnError{ContinueIf: cel(draw(t, "continue", "true", "best != null", "iteration < 3", "error != 'server: a'"), expr.WantBool)}
	}
	l.Param = expr.NewObject(1)
	l.Param.Set("limit", int64(number(t, "limit", 1, 5)))
}

func drawCondition(t *rapid.T, l *spec.Loop, depth int, root bool) spec.Condition {
	kinds := []spec.Kind{spec.KindMaxIterations, spec.KindTimeout, spec.KindTimeout, spec.KindRepeated, spec.KindConsecutive, spec.KindWhen}
	if l.Evaluate != nil {
		kinds = append(kinds, spec.KindConfidence, spec.KindNoImprovement, spec.KindNoImprovement)
	}
	if depth > 0 {
		kinds = append(kinds, spec.KindAny, spec.KindAll)
	}
	c := spec.Condition{Kind: draw(t, "kind", kinds...), Off: often(t, "off", 10)}
	c.Name = string(c.Kind)
	n := number(t, "n", 1, 6)
	switch c.Kind {
	case spec.KindConfidence:
		c.Confidence = spec.Confidence{Threshold: set(float64(n+2) / 8), MinIterations: number(t, "min", 0, 3)}
	case spec.KindMaxIterations:
		c.MaxIterations = n
	case spec.KindNoImprovement:
		c.NoImprovement = spec.NoImprovement{Patience: set(n), MinDelta: draw(t, "delta", 0, 0.1, 0.3)}
	case spec.KindTimeout:
		cancel := root && often(t, "cancel", 70)
		c.Timeout = spec.Timeout{After: set(time.Duration(number(t, "after", 1, 20)) * 30 * time.Second), Cancel: &cancel, Working: often(t, "working", 30)}
	case spec.KindRepeated:
		c.Repeated = spec.Repeated{Of: cel(draw(t, "of", "output", "confidence", "output.o", "iteration_tool_calls"), expr.WantAny), Times: set(max(2, n-2))}
	case spec.KindConsecutive:
		c.Consecutive = spec.Consecutive{When: cel(draw(t, "row", "output.c < 0.5", "output.o == 'a'"), expr.WantBool), Times: set(max(1, n-2))}
	case spec.KindWhen:
		c.When = cel(draw(t, "when", "usage.tokens > 200", "since_improvement >= 2", "size(history) > 3 && history[1].error == ''", "elapsed > duration('250s')", "size(feedback) > 6", "param.limit == iteration"), expr.WantBool)
	default:
		for range number(t, "children", 1, 3) {
			c.Nested = append(c.Nested, drawCondition(t, l, depth-1, root && c.Kind == spec.KindAny))
		}
	}
	return c
}

func drawGuards(t *rapid.T, l *spec.Loop) {
	g := spec.Guards{AbsoluteMaxIterations: set(number(t, "absolute", 1, 8)), RepeatedOutput: often(t, "repeated output", 20)}
	if l.Evaluate != nil && often(t, "degradation", 20) {
		g.Degradation = &spec.Degradation{Window: set(number(t, "window", 2, 3))}
	}
	if often(t, "stagnation", 20) {
		g.Stagnation = &spec.Stagnation{Window: set(2), Signature: draw(t, "signature", "calls", "calls", "normalized", "observations")}
	}
	if often(t, "breaker", 20) {
		g.CircuitBreaker = &spec.CircuitBreaker{Threshold: set(number(t, "threshold", 1, 3))}
	}
	if often(t, "guard", 10) {
		g.Consecutive = []spec.NamedConsecutive{{Name: "low", Consecutive: spec.Consecutive{When: cel("output.c < 0.7", expr.WantBool), Times: set(2)}}}
	}
	if often(t, "repeated guard", 10) {
		g.Repeated = []spec.NamedRepeated{{Name: "same", Repeated: spec.Repeated{Of: cel(draw(t, "of", "output.o", "confidence"), expr.WantAny), Times: set(number(t, "times", 2, 3))}}}
	}
	if l.Converses(l.Agent) {
		drawStepGuards(t, &g)
	}
	if often(t, "budget", 40) {
		g.Budget = drawBudget(t)
	}
	if often(t, "guards off", 10) {
		g.AbsoluteMaxIterations, g.Stagnation, g.CircuitBreaker = set(12), &spec.Stagnation{Window: off[int]()}, &spec.CircuitBreaker{Threshold: off[int]()}
	}
	l.Guards = g
}

func drawBudget(t *rapid.T) *spec.RunBudget {
	b := &spec.RunBudget{Hard: often(t, "hard", 60)}
	switch draw(t, "resource", "calls", "tokens", "cost", "all") {
	case "calls":
		b.Calls = int64(number(t, "calls", 1, 8))
	case "tokens":
		b.Tokens = int64(number(t, "tokens", 50, 500))
	case "cost":
		b.CostUSD = float64(number(t, "cost", 5, 60)) / 100
	default:
		b.Calls, b.Tokens, b.CostUSD = int64(number(t, "calls", 1, 8)), int64(number(t, "tokens", 50, 500)), float64(number(t, "cost", 5, 60))/100
	}
	return b
}

// widest is the loop with its limits as loose as they go without another path:
// what one would record.
func widest(l *spec.Loop) *spec.Loop {
	w := *l
	w.Terminate = spec.Tree{Any: []spec.Condition{{Kind: spec.KindMaxIterations, Name: "max_iterations", MaxIterations: 12}}}
	w.Guards = spec.Guards{AbsoluteMaxIterations: off[int]()}
	if b := l.Guards.Budget; b != nil && b.Hard {
		w.Guards.Budget = &spec.RunBudget{Hard: true, Calls: 1e6}
	}
	w.OnError = &spec.OnError{ContinueIf: cel("true", expr.WantBool)}
	w.Param = expr.NewObject(1)
	w.Param.Set("limit", int64(12))
	if n := len(w.Phases); n > 0 {
		w.Phases = append([]spec.Phase{}, l.Phases...)
		w.Phases[n-1].MaxIterations, w.Phases[n-1].Until = 0, nil
	}
	if n := len(w.Strategies); n > 0 {
		w.Strategies = append([]spec.Strategy{}, l.Strategies...)
		w.Strategies[n-1].MaxIterations = 12
	}
	return &w
}
