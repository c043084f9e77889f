package pass

import (
	"context"
	"maps"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
)

// bisection scores some states of a run, on the assumption that more steps are never worth less: states between two that are worth
// the same are assumed to be worth it, too.
type bisection struct {
	*stepper
	run    *record.Run
	states []keptState
	score  func(state int)
	scored map[int]bool
	order  []int                   // of the states that the steps found one after the other
	as     map[int]record.Snapshot // by state, what it is assumed to be worth
}

// bisect scores the first state of a run, the last one, and as many between as it takes. Where a score falls, the
// assumption does not hold, and all states of the run are scored.
func (m *stepper) bisect(ctx context.Context, run *record.Run, states []keptState, score func(state int)) {
	b := &bisection{stepper: m, run: run, states: states, score: score, scored: map[int]bool{}, order: inOrder(states), as: map[int]record.Snapshot{}}
	last := len(b.order) - 1
	if last < 0 {
		return
	}
	b.make(b.order[0])
	b.make(b.order[last])
	if b.between(0, last) {
		for state, as := range b.as {
			if !b.scored[state] && ctx.Err() == nil {
				m.assume(run, &states[state], &as)
			}
		}
		return
	}
	for state := range states {
		b.make(state)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Falling++
}

// inOrder are the states, by their place, that the steps of a run found one after the other.
func inOrder(states []keptState) (order []int) {
	found := map[int]int{} // by step
	for i := range states {
		for _, step := range states[i].steps {
			found[step] = i
		}
	}
	for _, step := range slices.Sorted(maps.Keys(found)) {
		order = append(order, found[step])
	}
	return slices.Compact(order)
}

func (b *bisection) make(state int) {
	if !b.scored[state] {
		b.scored[state] = true
		b.score(state)
	}
}

// between scores states between two of the order that are scored, and reports whether no score falls.
func (b *bisection) between(low, high int) (rises bool) {
	before, after := b.known(b.order[low]), b.known(b.order[high])
	middle := (low + high) / 2
	switch {
	case b.falls(&before, &after):
		return false
	case b.alike(&before, &after):
		for _, state := range b.order[low:high] {
			there := b.known(state)
			if b.falls(&before, &there) || b.falls(&there, &after) {
				return false
			}
			b.as[state] = before
		}
		return true
	case middle == low:
		return true
	}
	b.make(b.order[middle])
	return b.between(low, middle) && b.between(middle, high)
}

// known is what is known of a state, without what was only assumed.
func (b *bisection) known(state int) record.Snapshot {
	s := &b.states[state]
	known, _ := b.Found.Snapshot(b.run.ID, s.iteration, s.key)
	known.Scores = slices.DeleteFunc(known.Scores, func(s record.Score) bool { return s.Assumed })
	if known.Assumed {
		known.Evaluator, known.Evaluation = "", nil
	}
	return known
}

// falls reports whether a state is worth less than one before it, as far as both are known.
func (b *bisection) falls(before, after *record.Snapshot) bool {
	if e, then := before.Evaluation, after.Evaluation; e != nil && then != nil && (then.Confidence < e.Confidence || e.Passed && !then.Passed) {
		return true
	}
	return slices.ContainsFunc(b.Set.Versions(), func(v scorers.Version) bool {
		s, then := scoreBy(before, v), scoreBy(after, v)
		return s != nil && then != nil && then.Value < s.Value
	})
}

// alike reports whether all that is made of a state is known of both, and the same.
func (b *bisection) alike(one, other *record.Snapshot) bool {
	if one.Evaluator != other.Evaluator || one.Error != nil || other.Error != nil || (one.Evaluation == nil) != (other.Evaluation == nil) {
		return false
	}
	if e, o := one.Evaluation, other.Evaluation; e != nil && (e.Passed != o.Passed || e.Confidence != o.Confidence || record.Share(e.Checks) != record.Share(o.Checks)) {
		return false
	}
	return !slices.ContainsFunc(b.Set.Versions(), func(v scorers.Version) bool {
		s, o := scoreBy(one, v), scoreBy(other, v)
		return s == nil || o == nil || s.Value != o.Value
	})
}

// assume gives a state what another one is worth, as far as it has nothing of its own.
func (m *stepper) assume(run *record.Run, state *keptState, as *record.Snapshot) {
	found, _ := m.Found.Snapshot(run.ID, state.iteration, state.key)
	found.Run, found.Iteration, found.Key, found.Steps = run.ID, state.iteration, state.key, state.steps
	fresh := false
	if found.Evaluator != as.Evaluator {
		found.Evaluator, found.Error, found.Took, found.Assumed, fresh = as.Evaluator, nil, as.Took, true, true
		if as.Evaluation != nil {
			e := *as.Evaluation
			e.Feedback = "" // it tells of other files
			found.Evaluation = &e
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.counts.Scorers {
		c := &m.counts.Scorers[i]
		if scoreBy(&found, c.Version) != nil {
			c.Kept++
			continue
		}
		c.Assumed, fresh = c.Assumed+1, true
		found.Scores = slices.DeleteFunc(found.Scores, func(s record.Score) bool { return s.Name == c.Name })
		found.Scores = append(found.Scores, record.Score{Run: run.ID, Name: c.Name, Value: as.Score(c.Name).Value, Scorer: c.Hash, Assumed: true})
	}
	if fresh && !m.Dry {
		m.Found.Find(found)
	}
}
