package stop

import (
	"fmt"
	"math"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// compileTree builds the terminate tree. A max_iterations at its top is told
// apart, because it comes later in the order of decision.
func (r *Rules) compileTree(l *spec.Loop) {
	for i := range l.Terminate.Any {
		c := &l.Terminate.Any[i]
		if c.Kind == spec.KindMaxIterations && !c.Off {
			r.maxima = append(r.maxima, r.add(maxIterations(c.Name, c.MaxIterations)))
			continue
		}
		r.tree = append(r.tree, r.compileNode(c, true))
	}
	if limit, derived, _ := l.EffectiveMax(); derived {
		r.maxima = append(r.maxima, r.add(maxIterations(string(spec.KindMaxIterations), limit)))
	}
}

// compileNode builds a condition; root says that it holding ends the run.
func (r *Rules) compileNode(c *spec.Condition, root bool) node {
	switch {
	case c.Off:
		return never
	case c.Kind == spec.KindAny, c.Kind == spec.KindAll:
		n := node{name: c.Name, leaf: -1, all: c.Kind == spec.KindAll}
		for i := range c.Nested {
			n.children = append(n.children, r.compileNode(&c.Nested[i], root && !n.all))
		}
		return n
	}
	if c.Kind == spec.KindTimeout && root {
		r.noteCancel(&c.Timeout)
	}
	return node{name: c.Name, leaf: r.add(condition(c))}
}

// noteCancel keeps the earliest timeout that cancels.
func (r *Rules) noteCancel(t *spec.Timeout) {
	if t.Cancel != nil && !*t.Cancel {
		return
	}
	if r.cancelAt == 0 || t.After.Value < r.cancelAt {
		r.cancelAt, r.working = t.After.Value, t.Working
	}
}

// condition makes the leaf of a condition that is not off.
func condition(c *spec.Condition) leaf {
	l := leaf{name: c.Name, reason: record.Reason(c.Kind), class: record.ByCondition}
	switch c.Kind {
	case spec.KindConfidence:
		l.identity = identity{fmt.Sprint("confidence from ", c.Confidence.MinIterations), c.Confidence.Threshold.Value}
		l.newest, l.judge = true, reaches(c.Confidence.Threshold.Value, c.Confidence.MinIterations)
	case spec.KindWhen:
		l.reason = record.ReasonWhen(c.Name)
		l.identity.what, l.judge = "when "+c.When.Text, when(c.When)
	case spec.KindRepeated:
		l.identity.what = fmt.Sprint("repeated ", c.Repeated.Times.Value, " 0 ", c.Repeated.Of.Text)
		l.judge = repeated(c.Repeated.Of, c.Repeated.Times.Value, 0)
	case spec.KindConsecutive:
		l.identity.what = fmt.Sprint("consecutive ", c.Consecutive.Times.Value, " ", c.Consecutive.When.Text)
		l.judge = consecutive(c.Consecutive.When, c.Consecutive.Times.Value)
	case spec.KindNoImprovement:
		l.identity.what = fmt.Sprint("no_improvement ", c.NoImprovement.Patience.Value, " ", c.NoImprovement.MinDelta)
		l.anew = true
		l.judge = noImprovement(c.NoImprovement.Patience.Value, c.NoImprovement.MinDelta)
	case spec.KindTimeout:
		l.identity.what = fmt.Sprint("timeout ", c.Timeout.After.Value, c.Timeout.Working)
		l.judge = timeout(c.Timeout.After.Value, c.Timeout.Working)
	case spec.KindMaxIterations:
		return maxIterations(c.Name, c.MaxIterations)
	}
	return l
}

func maxIterations(name string, limit int) leaf {
	return leaf{identity: identity{"iterations", float64(limit)}, name: name, reason: record.ReasonMaxIterations, class: record.ByCondition, limit: float64(limit), newest: true, judge: atLeast(limit)}
}

// holds evaluates the tree over the leaves that hold, and gives the leaf that
// is the reason: of an any its first child that holds, of an all its first.
func (n *node) holds(held []bool) (reason int, ok bool) {
	if n.leaf >= 0 {
		return n.leaf, held[n.leaf]
	}
	reason = -1
	for i := range n.children {
		leaf, ok := n.children[i].holds(held)
		if ok && !n.all {
			return leaf, true
		}
		if !ok && n.all {
			return -1, false
		}
		if reason < 0 {
			reason = leaf
		}
	}
	return reason, n.all && len(n.children) > 0
}

// successThreshold is the largest threshold in the terminate tree, 0.8 where
// there is none. Under multi_strategy only `passed` is a success.
func successThreshold(l *spec.Loop) float64 {
	if l.Pattern == spec.PatternMultiStrategy {
		return math.Inf(1)
	}
	if largest := largestThreshold(l.Terminate.Any); !math.IsInf(largest, -1) {
		return largest
	}
	return defaultSuccess
}

func largestThreshold(conditions []spec.Condition) float64 {
	largest := math.Inf(-1)
	for i := range conditions {
		c := &conditions[i]
		switch {
		case c.Off:
		case c.Kind == spec.KindConfidence:
			largest = max(largest, c.Confidence.Threshold.Value)
		default:
			largest = max(largest, largestThreshold(c.Nested))
		}
	}
	return largest
}

// firstMinDelta is the min_delta of the first no_improvement in the tree, else 0.
func firstMinDelta(conditions []spec.Condition) float64 {
	delta, _ := findMinDelta(conditions)
	return delta
}

func findMinDelta(conditions []spec.Condition) (float64, bool) {
	for i := range conditions {
		c := &conditions[i]
		if c.Off {
			continue
		}
		if c.Kind == spec.KindNoImprovement {
			return c.NoImprovement.MinDelta, true
		}
		if delta, ok := findMinDelta(c.Nested); ok {
			return delta, true
		}
	}
	return 0, false
}

// reached says whether so much as-if time has passed.
func reached(s *State, after time.Duration, working bool) bool {
	if working {
		return s.working >= after
	}
	return s.last().End >= after
}
