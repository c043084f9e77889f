package stop

import (
	"context"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// State is a history of iterations and what follows from it. Expressions inside
// the loop see it: it is an expr.Scope. It is not safe for concurrent use.
type State struct {
	rules *Rules
	task  *spec.Task
	param any

	history  []entry
	trackers []tracker
	held     []bool
	steps    stepping
	watched  []error // of the leaves that are only watched
	unkept   tracker // of leaves that are judged when they are asked for

	usage   record.Usage // of so many iterations as are counted; see Usage
	counted int
	folded  int
	working time.Duration

	best             int // index, -1: none
	bestShare        float64
	highest          float64 // the highest confidence, where best >= 0
	improvement      tracker
	evaluation       int // index of the last evaluated iteration, -1: none
	sinceImprovement int

	phase, inPhase       int
	strategy, inStrategy int
	strategyStart        int  // index of the strategy's first iteration
	phaseEnds            bool // with the newest iteration
	strategyEnds         bool

	failure error // of an expression, at the newest iteration
	// answers are those of the expressions of leaves at the newest iteration, where
	// many are watched; nil: each leaf evaluates its own.
	answers map[question]answer
}

// Step is what comes next.
type Step struct {
	Iteration     int // from 1
	PhaseIndex    int
	Phase         string // "" in a loop without phases
	StrategyIndex int
	Strategy      string // "" in a loop without strategies
	// Evaluate says that the iteration is to be evaluated.
	Evaluate bool
}

// StageIndex is the place of the step among the loop's stages: a loop has
// phases or strategies, not both.
func (s Step) StageIndex() int { return s.PhaseIndex + s.StrategyIndex }

// Start begins a history. Param is what expressions see as `param`; it may be nil.
func (r *Rules) Start(task *spec.Task, param any) *State {
	s := &State{
		rules:      r,
		task:       task,
		param:      param,
		trackers:   make([]tracker, len(r.leaves)),
		held:       make([]bool, len(r.leaves)),
		steps:      newStepping(len(r.stepping)),
		watched:    make([]error, len(r.leaves)-r.decisive),
		best:       -1,
		evaluation: -1,
	}
	if r.decisive < len(r.leaves) {
		s.answers = map[question]answer{}
	}
	return s
}

// Restart begins another history under the same rules, in the memory of this one.
func (s *State) Restart(task *spec.Task, param any) {
	clear(s.trackers)
	clear(s.held)
	s.steps.clear()
	clear(s.watched)
	clear(s.answers)
	*s = State{
		rules: s.rules, task: task, param: param, history: s.history[:0],
		trackers: s.trackers, held: s.held, steps: s.steps, watched: s.watched, answers: s.answers,
		best: -1, evaluation: -1,
	}
}

// Len is the number of iterations so far.
func (s *State) Len() int { return len(s.history) }

// Usage is what the iterations used, evaluations and users included. It is added up when it
// is asked for: most rules never do.
func (s *State) Usage() record.Usage {
	for ; s.counted < s.folded; s.counted++ {
		s.usage = s.usage.Plus(s.history[s.counted].Total())
	}
	return s.usage
}

func (s *State) last() *entry { return &s.history[len(s.history)-1] }

// Next tells what the next iteration is.
func (s *State) Next() Step {
	step := Step{Iteration: s.Len() + 1, PhaseIndex: s.phase, StrategyIndex: s.strategy}
	if s.phase < len(s.rules.phases) {
		step.Phase = s.rules.phases[s.phase].Name
	}
	if s.strategy < len(s.rules.strategies) {
		step.Strategy = s.rules.strategies[s.strategy].Name
	}
	step.Evaluate = s.rules.evaluate != nil && s.phase >= s.rules.first
	return step
}

// Append adds an executed iteration. Until Decide, what it says of best, phase
// and usage stands before it, while output and the like are its own: that is
// what its evaluation sees. Output is the parsed output, nil to parse it when
// an expression asks for it.
func (s *State) Append(it *record.Iteration, output any) {
	s.foldSteps(it)
	s.history = append(s.history, entry{Iteration: it, value: output, parsed: output != nil})
}

// Fold adds a recorded iteration and decides on it.
func (s *State) Fold(it *record.Iteration) Decision {
	s.Append(it, nil)
	return s.Decide()
}

// fold takes the newest iteration into everything but the leaves. Its error is
// that of a phase's `until`.
func (s *State) fold() error {
	e := s.last()
	s.folded = s.Len()
	s.working += e.Working
	if e.Evaluated() {
		s.evaluation = s.Len() - 1
	}
	s.foldBest(e)
	if e.counted() {
		s.sinceImprovement = s.improvement.improve(e, s.rules.minDelta)
	}
	s.inPhase++
	s.inStrategy++
	s.strategyEnds = s.strategyDone()
	var err error
	s.phaseEnds, err = s.phaseDone()
	return err
}

func (s *State) phaseDone() (bool, error) {
	if s.phase >= len(s.rules.phases) {
		return false, nil
	}
	p := &s.rules.phases[s.phase]
	if p.MaxIterations > 0 && s.inPhase >= p.MaxIterations {
		return true, nil
	}
	if e := s.last(); p.Until == nil || e.Error != nil || e.Cut != "" {
		return false, nil
	}
	return p.Until.Bool(context.Background(), s)
}

func (s *State) strategyDone() bool {
	if s.strategy >= len(s.rules.strategies) {
		return false
	}
	return s.inStrategy >= max(1, s.rules.strategies[s.strategy].MaxIterations)
}

// advance moves on from a phase or strategy that ended.
func (s *State) advance() {
	if s.phaseEnds {
		s.phase, s.inPhase = s.phase+1, 0
	}
	if s.strategyEnds {
		s.strategy, s.inStrategy, s.strategyStart = s.strategy+1, 0, s.Len()
		s.forget()
	}
}

// forget begins anew what a strategy does not inherit.
func (s *State) forget() {
	s.improvement, s.sinceImprovement = tracker{}, 0
	for i := range s.rules.leaves {
		if s.rules.leaves[i].anew {
			s.trackers[i] = tracker{}
		}
	}
}
