package spec

// EffectiveMax is the most iterations that conditions allow: an explicit
// max_iterations at the top of the terminate tree, else, where phases or
// strategies have limits, the sum of those (for phases plus max(1, a tenth)).
// 0 means none. Sum is the bare sum of the limits.
func (l *Loop) EffectiveMax() (limit int, derived bool, sum int) {
	for _, s := range l.Stages() {
		sum += s.Limit
	}
	for i := range l.Terminate.Any {
		c := &l.Terminate.Any[i]
		if c.Kind == KindMaxIterations && !c.Off && (limit == 0 || c.MaxIterations < limit) {
			limit = c.MaxIterations
		}
	}
	switch {
	case limit > 0:
		return limit, false, sum
	case len(l.Strategies) > 0:
		return sum, true, sum
	case sum > 0:
		return sum + max(1, sum/10), true, sum
	}
	return 0, false, 0
}
