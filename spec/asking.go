package spec

import (
	"cmp"
	"iter"
	"slices"
)

// asking are the types of scorers that ask others: models, programs, endpoints.
var asking = []string{"command", "http", "judge", "pairwise"}

// Asks says that the scorer, or something that its score is made of, asks others. All are the scorers of the suite.
func (s *Scorer) Asks(all []Scorer) bool {
	for part := range s.MadeOf(all) {
		if slices.Contains(asking, part.Type) {
			return true
		}
	}
	return false
}

// outputs are the words for which outputs a scorer judges, from the fewest on.
var outputs = []string{ScoreReturned, ScoreWhenAsked, ScoreEveryIteration}

// Judges is which outputs the scorer judges, as it declares, or by default: those of every iteration; where it asks
// others, or reads how the run stopped, the one that is returned; a set those that all of its parts judge.
func (s *Scorer) Judges(all []Scorer) string {
	fewest := cmp.Or(s.Score, ScoreEveryIteration)
	if s.Score == "" {
		for part := range s.MadeOf(all) {
			fewest = fewerOutputs(fewest, part.judgesItself())
		}
	}
	return fewest
}

func (s *Scorer) judgesItself() string {
	switch {
	case s.readsStop():
		return ScoreReturned
	case s.Score != "":
		return s.Score
	case slices.Contains(asking, s.Type):
		return ScoreReturned
	}
	return ScoreEveryIteration
}

func fewerOutputs(a, b string) string {
	return outputs[max(0, min(slices.Index(outputs, a), slices.Index(outputs, b)))]
}

// readsStop says that the scorer reads how the run stopped, which iterations do not know.
func (s *Scorer) readsStop() bool {
	reads := s.Value.reads("stop") || s.Target.reads("stop") || s.Expr.reads("stop")
	return reads || s.Extract != nil && s.Extract.Expr.reads("stop")
}

// MadeOf are the scorer, its parts and theirs, each once. What is named and not there is left out.
func (s *Scorer) MadeOf(all []Scorer) iter.Seq[*Scorer] {
	return func(yield func(*Scorer) bool) {
		found := []*Scorer{s}
		for i := 0; i < len(found); i++ {
			if !yield(found[i]) {
				return
			}
			for j := range found[i].Parts {
				if part := found[i].Parts[j].of(all); part != nil && !slices.Contains(found, part) {
					found = append(found, part)
				}
			}
		}
	}
}

// of is the scorer that the part is; nil: there is none of that name.
func (p *ScorerPart) of(all []Scorer) *Scorer {
	if p.Scorer != nil {
		return p.Scorer
	}
	for i := range all {
		if all[i].Name == p.Named {
			return &all[i]
		}
	}
	return nil
}
