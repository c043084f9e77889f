package stop

import (
	"context"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Watched is a condition or guard that is looked at, but decides nothing.
type Watched struct {
	Name   string
	Reason record.Reason
}

// Watch gives rules that decide the same and also tell, after each iteration,
// whether other conditions (neither any nor all) and guards hold. All tells of
// them in order: the conditions, then the guards of each set as they give the
// reason.
func (r *Rules) Watch(conditions []spec.Condition, guards []spec.Guards) (watching *Rules, all []Watched) {
	w := *r
	w.leaves, w.names, w.stepping = slices.Clone(r.leaves), slices.Clone(r.names), slices.Clone(r.stepping)
	for i := range conditions {
		w.add(condition(&conditions[i]))
	}
	for i := range guards {
		w.compileGuards(&spec.Loop{Guards: guards[i]})
	}
	w.guards, w.budget = r.guards, r.budget
	watched := w.leaves[w.decisive:]
	w.leaves, w.names, w.stepping = slices.Clone(r.leaves), slices.Clone(r.names), slices.Clone(r.stepping)
	for _, l := range watched {
		all = append(all, Watched{l.name, l.reason})
		if l.newest {
			w.watching, w.asked = append(w.watching, ^len(w.asked)), append(w.asked, l)
		} else {
			w.watching = append(w.watching, w.add(l))
		}
	}
	return &w, all
}

// question is an expression that leaves ask: its text, and whether a truth is
// wanted.
type question struct {
	text  string
	truth bool
}

type answer struct {
	value any
	truth bool
	err   error
}

// value evaluates an expression of a leaf, once for all leaves that watch it.
func (s *State) value(e *spec.Expr) (any, error) {
	a, known := s.answers[question{e.Text, false}]
	if !known {
		a.value, a.err = e.Value(context.Background(), s)
		s.answer(question{e.Text, false}, a)
	}
	return a.value, a.err
}

// truth is value for conditions.
func (s *State) truth(e *spec.Expr) (bool, error) {
	a, known := s.answers[question{e.Text, true}]
	if !known {
		a.truth, a.err = e.Bool(context.Background(), s)
		s.answer(question{e.Text, true}, a)
	}
	return a.truth, a.err
}

func (s *State) answer(q question, a answer) {
	if s.answers != nil {
		s.answers[q] = a
	}
}

// Held says whether a watched condition or guard held after the last iteration
// that was decided on, or that it could not be evaluated.
func (s *State) Held(watched int) (held bool, err error) {
	at := s.rules.watching[watched]
	if at < 0 {
		return s.rules.asked[^at].judge(s, &s.unkept)
	}
	return s.held[at], s.watched[at-s.rules.decisive]
}

// Returned is the iteration that a run returns which stops now, by a condition
// or guard; 0: none.
func (s *State) Returned() int { return s.returned("") }

// Believed is the highest threshold at which the loop believes in a run that
// stops now: the best confidence, +Inf where the last iteration passed or its
// agent completed the task, NaN where it believes at none.
func (s *State) Believed() float64 {
	if s.succeeded() {
		return math.Inf(1)
	}
	if s.best < 0 {
		return math.NaN()
	}
	return s.highest
}
