package stop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/spec/spectest"
)

func set[T any](value T) source.Maybe[T] { return source.Maybe[T]{Value: value, Set: true} }

func compiled(t spectest.T, text string, want expr.Want) *spec.Expr {
	return spectest.Expr(t, expr.Loop(expr.Any), text, want)
}

// drawCondition draws a condition; depth limits the nesting of any and all.
func drawCondition(t *rapid.T, depth int) spec.Condition {
	kinds := []spec.Kind{spec.KindConfidence, spec.KindMaxIterations, spec.KindNoImprovement, spec.KindTimeout, spec.KindRepeated, spec.KindConsecutive, spec.KindWhen}
	if depth > 0 {
		kinds = append(kinds, spec.KindAny, spec.KindAll, spec.KindAll)
	}
	c := spec.Condition{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Off: rapid.IntRange(0, 9).Draw(t, "off") == 0}
	c.Name = string(c.Kind)
	n := rapid.IntRange(1, 5).Draw(t, "n")
	switch c.Kind {
	case spec.KindConfidence:
		c.Confidence = spec.Confidence{Threshold: set(float64(n) / 5), MinIterations: rapid.IntRange(0, 4).Draw(t, "min")}
	case spec.KindMaxIterations:
		c.MaxIterations = n + 2
	case spec.KindNoImprovement:
		c.NoImprovement = spec.NoImprovement{Patience: set(n), MinDelta: rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "delta")}
	case spec.KindTimeout:
		cancel := false
		c.Timeout = spec.Timeout{After: set(time.Duration(n+1) * time.Second), Cancel: &cancel}
	case spec.KindRepeated:
		c.Repeated = spec.Repeated{Of: compiled(t, "output", expr.WantAny), Times: set(n + 1)}
	case spec.KindConsecutive:
		c.Consecutive = spec.Consecutive{When: compiled(t, "confidence < 0.5", expr.WantBool), Times: set(n)}
	case spec.KindWhen:
		c.When = compiled(t, fmt.Sprintf("since_improvement >= %d", n), expr.WantBool)
	default:
		for range rapid.IntRange(1, 3).Draw(t, "children") {
			c.Nested = append(c.Nested, drawCondition(t, depth-1))
		}
	}
	return c
}

func drawHistory(t *rapid.T) []*record.Iteration {
	words := ""
	for range rapid.IntRange(1, 12).Draw(t, "length") {
		word := rapid.SampledFrom([]string{"0", "0.2", "0.4", "0.6", "0.8", "1", "x:a", "x:b"}).Draw(t, "word")
		if word[0] != 'x' {
			word += "=" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "output")
		}
		words += word + " "
	}
	return history(words)
}

// naive says whether a condition holds after the whole of a history, computed
// from the definitions and from nothing that was kept.
func naive(c *spec.Condition, h []*record.Iteration) bool {
	last := h[len(h)-1]
	switch {
	case c.Off:
		return false
	case c.Kind == spec.KindConfidence:
		return last.Error == nil && len(h) >= c.Confidence.MinIterations && last.Evaluation.Confidence >= c.Confidence.Threshold.Value
	case c.Kind == spec.KindMaxIterations:
		return len(h) >= c.MaxIterations
	case c.Kind == spec.KindNoImprovement:
		return naiveStall(h, c.NoImprovement.MinDelta) >= c.NoImprovement.Patience.Value
	case c.Kind == spec.KindTimeout:
		return time.Duration(len(h))*time.Second >= c.Timeout.After.Value
	case c.Kind == spec.KindRepeated:
		return naiveRow(h, func(it *record.Iteration) bool { return it.Error == nil && string(it.Output) == string(last.Output) }) >= c.Repeated.Times.Value
	case c.Kind == spec.KindConsecutive:
		return naiveRow(h, func(it *record.Iteration) bool { return it.Error == nil && it.Evaluation.Confidence < 0.5 }) >= c.Consecutive.Times.Value
	case c.Kind == spec.KindWhen:
		var n int
		fmt.Sscanf(c.When.Text, "since_improvement >= %d", &n)
		return last.Error == nil && naiveStall(h, 0) >= n
	case c.Kind == spec.KindAll:
		return len(c.Nested) > 0 && !slices.ContainsFunc(c.Nested, func(n spec.Condition) bool { return !naive(&n, h) })
	}
	return slices.ContainsFunc(c.Nested, func(n spec.Condition) bool { return naive(&n, h) })
}

// naiveRow is how many iterations at the end are alike.
func naiveRow(h []*record.Iteration, like func(*record.Iteration) bool) (n int) {
	for n < len(h) && like(h[len(h)-1-n]) {
		n++
	}
	return n
}

// naiveStall is how many iterations at the end did not improve.
func naiveStall(h []*record.Iteration, delta float64) int {
	stall, reference, any := 0, 0.0, false
	for _, it := range h {
		stall++
		if it.Error == nil && (!any || it.Evaluation.Confidence-reference > delta) {
			stall, reference, any = 0, it.Evaluation.Confidence, true
		}
	}
	return stall
}

// rulesOf are the rules of a tree, with nothing else that could end a run.
func rulesOf(t *rapid.T, conditions ...spec.Condition) *Rules {
	return Compile(&spec.Loop{
		Agent:     &spec.Agent{Model: "m", Reply: spec.ReplyJSON},
		Evaluate:  &spec.Evaluate{},
		Terminate: spec.Tree{Any: conditions},
		Guards:    spec.Guards{AbsoluteMaxIterations: source.Maybe[int]{Set: true, Off: true}},
		OnError:   &spec.OnError{ContinueIf: compiled(t, "true", expr.WantBool)},
	})
}

func drawTree(t *rapid.T) []spec.Condition {
	var tree []spec.Condition
	for range rapid.IntRange(1, 3).Draw(t, "entries") {
		c := drawCondition(t, 2)
		if c.Kind == spec.KindNoImprovement && len(tree) == 0 {
			c.NoImprovement.MinDelta = 0 // since_improvement uses the first one's
		}
		tree = append(tree, c)
	}
	return tree
}

func TestTreesAgreeWithANaiveEvaluator(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		tree, iterations := drawTree(t), drawHistory(t)
		if firstMinDelta(tree) != 0 {
			return
		}
		n, _, stopped := play(rulesOf(t, tree...), iterations)
		root := spec.Condition{Kind: spec.KindAny, Nested: tree}
		for i := range iterations {
			if naive(&root, iterations[:i+1]) {
				if !stopped || n != i+1 {
					t.Fatalf("stopped %v after %d, want after %d", stopped, n, i+1)
				}
				return
			}
		}
		if stopped {
			t.Fatalf("stopped after %d, want it to go on", n)
		}
	})
}

func TestTighterNeverLengthens(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		tree, iterations := drawTree(t), drawHistory(t)
		before, _, stoppedBefore := play(rulesOf(t, tree...), iterations)
		after, _, stoppedAfter := play(rulesOf(t, append(slices.Clone(tree), drawCondition(t, 1))...), iterations)
		if after > before || stoppedBefore && !stoppedAfter {
			t.Fatalf("one more condition lengthens the run from %d to %d", before, after)
		}
	})
}

func TestTighterLimitsNeverLengthen(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		iterations := drawHistory(t)
		loose := drawCondition(t, 0)
		tight := loose
		switch tight.Kind {
		case spec.KindConfidence:
			tight.Confidence.Threshold.Value -= 0.2
		case spec.KindMaxIterations:
			tight.MaxIterations--
		case spec.KindNoImprovement:
			tight.NoImprovement.Patience.Value = max(1, tight.NoImprovement.Patience.Value-1)
		case spec.KindTimeout:
			tight.Timeout.After.Value -= time.Second
		case spec.KindRepeated:
			tight.Repeated.Times.Value = max(2, tight.Repeated.Times.Value-1)
		case spec.KindConsecutive:
			tight.Consecutive.Times.Value = max(1, tight.Consecutive.Times.Value-1)
		}
		before, _, _ := play(rulesOf(t, loose), iterations)
		after, _, _ := play(rulesOf(t, tight), iterations)
		if after > before {
			t.Fatalf("a tighter %s lengthens the run from %d to %d", loose.Kind, before, after)
		}
	})
}

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
