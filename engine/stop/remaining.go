package stop

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/spec"
)

// Remaining is how many iterations the limits leave at most, the next one
// included; 0: there is no limit. Conditions that may end the run sooner do not
// count, nor does a limit that ends it only together with others.
func (s *State) Remaining() int {
	left := min(s.rules.limit-s.Len(), s.leftInPhases(), s.leftInStrategies())
	if left > unlimited/2 {
		return 0
	}
	return max(1, left)
}

// SameRemaining says that as much remains under both rules after any history that
// neither ends.
func SameRemaining(a, b *Rules) bool {
	return a.limit == b.limit && slices.Equal(a.stageLimits(), b.stageLimits())
}

func (r *Rules) stageLimits() (limits []int) {
	for i := range r.phases {
		limits = append(limits, r.phases[i].MaxIterations)
	}
	for i := range r.strategies {
		limits = append(limits, r.strategies[i].MaxIterations)
	}
	return limits
}

// unlimited is as many iterations as nothing reaches.
const unlimited = math.MaxInt / 2

// limitOf is the least number of iterations that ends every run.
func limitOf(l *spec.Loop) int {
	limit := smallestLimit(l.Terminate.Any)
	if most, derived, _ := l.EffectiveMax(); derived {
		limit = min(limit, most)
	}
	if absolute := l.Guards.AbsoluteMaxIterations; !absolute.Off && absolute.Value > 0 {
		limit = min(limit, absolute.Value)
	}
	return limit
}

// smallestLimit is the least max_iterations of which each ends the run alone.
func smallestLimit(conditions []spec.Condition) int {
	limit := unlimited
	for i := range conditions {
		switch c := &conditions[i]; {
		case c.Off:
		case c.Kind == spec.KindMaxIterations:
			limit = min(limit, c.MaxIterations)
		case c.Kind == spec.KindAny:
			limit = min(limit, smallestLimit(c.Nested))
		}
	}
	return limit
}

// leftInPhases are the iterations up to the end of the last phase.
func (s *State) leftInPhases() int {
	if s.phase >= len(s.rules.phases) {
		return unlimited
	}
	left := -s.inPhase
	for i := range s.rules.phases[s.phase:] {
		most := s.rules.phases[s.phase+i].MaxIterations
		if most == 0 {
			return unlimited
		}
		left += most
	}
	return left
}

// leftInStrategies are the iterations up to the end of the last strategy.
func (s *State) leftInStrategies() int {
	if s.strategy >= len(s.rules.strategies) {
		return unlimited
	}
	left := -s.inStrategy
	for i := range s.rules.strategies[s.strategy:] {
		left += max(1, s.rules.strategies[s.strategy+i].MaxIterations)
	}
	return left
}
