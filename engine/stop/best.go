package stop

import (
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// foldBest keeps the best iteration: the highest confidence, the earliest among
// equals; under checklist the largest weighted share of checks, the latest
// among equals.
func (s *State) foldBest(e *entry) {
	if !e.Evaluated() {
		return
	}
	first := s.best < 0
	if first || e.Evaluation.Confidence > s.highest {
		s.highest = e.Evaluation.Confidence
		if s.rules.pattern != spec.PatternChecklist {
			s.best = s.Len() - 1
		}
	}
	if s.rules.pattern != spec.PatternChecklist {
		return
	}
	if share := record.Share(e.Evaluation.Checks); first || share >= s.bestShare {
		s.best, s.bestShare = s.Len()-1, share
	}
}

// returned is the iteration whose output the run returns, from 1; 0: none.
func (s *State) returned(reason record.Reason) int {
	if s.Len() > 0 {
		e := s.last()
		if e.Ended != nil && e.Ended.Reason == string(reason) && reason != record.ReasonGaveUp {
			return s.Len()
		}
		passed := e.Evaluated() && e.Evaluation.Passed
		if passed && s.rules.pattern != spec.PatternImprovement {
			return s.Len()
		}
	}
	switch {
	case s.rules.evaluate == nil:
		return s.lastOf(func(e *entry) bool { return e.Error == nil && e.Cut == "" })
	case s.best < 0: // a log may have no evaluations
		return s.lastOf((*entry).judged)
	}
	return s.best + 1
}

func (s *State) lastOf(is func(*entry) bool) int {
	for i := s.Len() - 1; i >= 0; i-- {
		if is(&s.history[i]) {
			return i + 1
		}
	}
	return 0
}

// success is what the loop believes of a run that ran to its end: its last
// evaluation passed, its agent completed the task, or the best confidence reached
// the success threshold.
func (s *State) success() bool {
	return s.succeeded() || s.best >= 0 && s.highest >= s.rules.threshold
}

// succeeded says that the last iteration is a success whatever its confidence.
func (s *State) succeeded() bool {
	if s.Len() == 0 {
		return false
	}
	e := s.last()
	passed := e.Evaluated() && e.Evaluation.Passed
	completed := e.Ended != nil && slices.Contains(s.rules.completing[e.Phase+e.Strategy], e.Ended.Tool)
	return passed || completed
}
