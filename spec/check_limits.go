package spec

import (
	"fmt"

	"github.com/agentbench/agentbench/spec/source"
)

// checkLimits compares the limits with one another, and with what they limit.
func (l *loader) checkLimits(loop *Loop) {
	l.checkThresholds(loop.Terminate.Any)
	limit, derived, sum := loop.EffectiveMax()
	at := loop.limitNode()
	absolute := loop.Guards.AbsoluteMaxIterations
	total := limit
	if derived && loop.allPhasesLimited() {
		total = sum // the derived limit cannot bind
	}
	switch {
	case !absolute.Off && total > absolute.Value:
		l.fault(at, fmt.Sprintf("raise the guard: guards: {absolute_max_iterations: %d}", total),
			"%d iterations are above the absolute limit of %d", total, absolute.Value)
	case absolute.Off && total == 0:
		l.warn(loop.Tree.Get("guards"), "write max_iterations, or delete absolute_max_iterations: off", "nothing limits the iterations of this loop")
	}
	if !derived && len(loop.Phases) > 0 && sum > limit && limit > 0 {
		l.warn(at, "raise max_iterations or lower the phases, else the last phases may never run",
			"the limits of the phases are %d together, above max_iterations: %d", sum, limit)
	}
}

// checkThresholds warns of confidences that an evaluation gives only if its own expression does.
func (l *loader) checkThresholds(conditions []Condition) {
	for i := range conditions {
		c := &conditions[i]
		if threshold := c.Confidence.Threshold; c.Kind == KindConfidence && !c.Off && threshold.Value > 1 && c.Node != nil {
			at := c.Node
			if n := c.Node.Get("threshold"); n != nil {
				at = n
			}
			l.warn(at, "confidence goes from 0 to 1; off lets the condition never hold",
				"the threshold %v is above 1: few confidences ever reach it", threshold.Value)
		}
		l.checkThresholds(c.Nested)
	}
}

func (l *Loop) allPhasesLimited() bool {
	for i := range l.Phases {
		if l.Phases[i].MaxIterations == 0 {
			return false
		}
	}
	return true
}

// limitNode is where the total limit comes from.
func (l *Loop) limitNode() *source.Node {
	var smallest *Condition
	for i := range l.Terminate.Any {
		c := &l.Terminate.Any[i]
		if c.Kind == KindMaxIterations && !c.Off && (smallest == nil || c.MaxIterations < smallest.MaxIterations) {
			smallest = c
		}
	}
	if smallest != nil {
		return smallest.Node
	}
	for i := range l.Phases { // one that is set from outside stands where it was written
		if n := l.Phases[i].Node.Get("max_iterations"); n != nil && n.File != l.Tree.File {
			return n
		}
	}
	for _, key := range []string{"phases", "strategies", "loop"} {
		if n := l.Tree.Get(key); n != nil {
			return n
		}
	}
	return l.Tree
}
