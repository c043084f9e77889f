// Package stop decides whether a loop goes on. It folds the iterations so far
// into a State and answers with the next Step, or with the Outcome of the run.
// It has no clock, no I/O and no randomness: elapsed time and usage are data on
// the iterations, so the live loop and replay decide alike.
//
// The stages, in order: Compile turns a declared loop into Rules, Start begins
// a history, Append adds an executed iteration (so that it can be evaluated),
// Decide judges every leaf of the rules on it and answers by the order of
// decision.
package stop

import (
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Rules are the decisions of one configuration of a loop. They are read-only
// and serve any number of histories at once.
type Rules struct {
	pattern  spec.Pattern
	evaluate *spec.Evaluate
	text     bool // outputs are texts
	first    int  // the first phase that is evaluated

	leaves []leaf   // conditions, then guards; a history keeps one tracker for each
	names  []string // of the leaves
	tree   []node   // the terminate tree: any of these, in the order of reasons
	maxima []int    // leaves: max_iterations at the top of the tree
	guards []int    // leaves, in the order of reasons
	// decisive is how many leaves decide; the others are only watched.
	decisive int
	// watching are the places of what is watched: among the leaves, or, below 0, the
	// complement of the place among those that are judged when they are asked for.
	watching []int
	asked    []leaf
	stepping []int // leaves that look at steps

	limit      int // of iterations, that ends every run; unlimited: there is none
	phases     []spec.Phase
	strategies []spec.Strategy

	// completing are the tools by which an agent ends the run as a success, by the
	// name of the stage; nil: there are none.
	completing map[string][]string
	threshold  float64 // at which the best confidence means success; +Inf: never
	minDelta   float64 // of since_improvement
	continueIf *spec.Expr
	budget     *spec.RunBudget // nil: none
	cancelAt   time.Duration   // as-if; 0: no timeout cancels
	working    bool            // cancelAt counts working time only
}

// leaf is one condition or guard. Judge is called once for every iteration of
// a history, in order, and says whether the leaf holds after it; step, for every
// step of it before. A leaf has one of them, or both.
type leaf struct {
	name   string
	reason record.Reason
	class  record.Class
	// anew says that the leaf forgets what it saw when the strategy changes.
	anew bool
	// limit is that of a guard or of a maximum, of which trackers note what is
	// used: times, iterations, tokens, calls or USD.
	limit float64
	// newest says that judge looks at the newest iteration and the sums so far alone, so
	// that it need not be called for every iteration.
	newest bool
	judge  func(*State, *tracker) (bool, error)
	step   func(*stepScope, *tracker) (bool, error)
}

// node is a place in the terminate tree: a leaf, or any or all of its children.
type node struct {
	name     string
	leaf     int // -1 for any and all
	all      bool
	children []node
}

// never is the node of a condition that is off.
var never = node{leaf: -1}

// defaultSuccess is the confidence that means success where the terminate tree
// has no threshold.
const defaultSuccess = 0.8

// Compile turns a loop, presets applied, into its rules.
func Compile(l *spec.Loop) *Rules {
	r := &Rules{
		pattern:    l.Pattern,
		evaluate:   l.Evaluate,
		text:       l.RepliesText(),
		phases:     l.Phases,
		strategies: l.Strategies,
		limit:      limitOf(l),
		threshold:  successThreshold(l),
		minDelta:   firstMinDelta(l.Terminate.Any),
	}
	for _, s := range l.Stages() {
		if names := s.Agent.Completing(); len(names) > 0 {
			if r.completing == nil {
				r.completing = map[string][]string{}
			}
			r.completing[s.Name] = names
		}
	}
	if l.OnError != nil {
		r.continueIf = l.OnError.ContinueIf
	}
	if l.Evaluate != nil && l.Evaluate.FromPhase != "" {
		r.first = phaseIndex(l.Phases, l.Evaluate.FromPhase)
	}
	r.compileTree(l)
	r.compileGuards(l)
	r.decisive = len(r.leaves)
	return r
}

func phaseIndex(phases []spec.Phase, name string) int {
	for i := range phases {
		if phases[i].Name == name {
			return i
		}
	}
	return 0
}

// CancelAt is the time since the start of the run at which a timeout cancels
// the iteration in flight; ok is false where none does. Working says that only
// working time counts.
func (r *Rules) CancelAt() (at time.Duration, working, ok bool) {
	return r.cancelAt, r.working, r.cancelAt > 0
}

// MinDelta is by how much an iteration has to improve so that
// `since_improvement` begins anew.
func (r *Rules) MinDelta() float64 { return r.minDelta }

// SuccessThreshold is the confidence of the best iteration at which the loop
// believes in a run; +Inf where only what passed is a success.
func (r *Rules) SuccessThreshold() float64 { return r.threshold }

// add appends a leaf and gives its index.
func (r *Rules) add(l leaf) int {
	r.leaves, r.names = append(r.leaves, l), append(r.names, l.name)
	if l.step != nil {
		r.stepping = append(r.stepping, len(r.leaves)-1)
	}
	return len(r.leaves) - 1
}
