package spec

import "slices"

// maxParts is how many parts the sets of a suite may have together, so that any suite is checked within seconds.
const maxParts = 1000

// checkSets finds parts of sets that cannot be, and keys that mean something only within sets.
func (l *loader) checkSets(s *Suite) {
	parts := 0
	for scorer := range s.AllScorers() {
		if parts += len(scorer.Parts); parts > maxParts {
			l.fault(scorer.Node, "", "the sets of a suite may have %d parts together", maxParts)
			return
		}
	}
	within := setWalk{loader: l, suite: s, done: map[*Scorer]bool{}}
	for scorer := range s.AllScorers() {
		for i := range scorer.Parts {
			l.checkPart(s, scorer, i)
		}
		within.walk(scorer)
	}
	weighed := s.weighed()
	for scorer := range s.AllScorers() {
		if scorer.Weight != nil && !slices.Contains(weighed, scorer) {
			f := scorer.Node.KeyFault("weight", "it counts among the scorers of an all_of", "nothing reads the weight of the scorer %q", shorten(scorer.Name))
			f.Warning = true
			l.add(f)
		}
		l.checkScore(s, scorer)
	}
}

// checkPart wants a scorer that there is, that can be a part, and that is not one already.
func (l *loader) checkPart(s *Suite, set *Scorer, i int) {
	part := &set.Parts[i]
	if part.Node == nil {
		return
	}
	scorer := part.of(s.Scorers)
	switch {
	case scorer == nil:
		l.fault(part.Node, s.partHint(part.Named), "there is no scorer %q", shorten(part.Named))
	case scorer.Type == "pairwise":
		l.fault(part.Node, "it needs two runs, and is scored when all are there", "a scorer of type pairwise cannot be a part of a set")
	case part.Named != "" && slices.ContainsFunc(set.Parts[:i], func(p ScorerPart) bool { return p.Named == part.Named }):
		l.fault(part.Node, "weight says how much it counts", "the scorer %q stands twice in this set", shorten(part.Named))
	}
}

// partHint is a name that could be meant.
func (s *Suite) partHint(name string) string {
	var names []string
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
	}
	for scorer := range s.AllScorers() {
		if scorer.Name == name {
			return "it stands within a set; what several sets name stands under scorers of the suite"
		}
	}
	return didYouMean(name, names)
}

// setWalk finds sets that are parts of themselves.
type setWalk struct {
	*loader
	suite *Suite
	open  []*Scorer // those that we are in
	done  map[*Scorer]bool
}

func (w *setWalk) walk(scorer *Scorer) {
	if w.done[scorer] {
		return
	}
	w.open = append(w.open, scorer)
	for i := range scorer.Parts {
		part := scorer.Parts[i].of(w.suite.Scorers)
		switch {
		case part == nil:
		case slices.Contains(w.open, part):
			w.fault(scorer.Parts[i].Node, "", "the scorer %q is a part of itself", shorten(part.Name))
		default:
			w.walk(part)
		}
	}
	w.open = w.open[:len(w.open)-1]
	w.done[scorer] = true
}

// weighed are the scorers that are parts of an all_of.
func (s *Suite) weighed() (found []*Scorer) {
	for scorer := range s.AllScorers() {
		for i := range scorer.Parts {
			if part := scorer.Parts[i].of(s.Scorers); part != nil && scorer.Type == "all_of" {
				found = append(found, part)
			}
		}
	}
	return found
}

// checkScore wants outputs to be judged that can be, and by parts as by their sets.
func (l *loader) checkScore(s *Suite, scorer *Scorer) {
	if scorer.Score == ScoreWhenAsked && !scorer.Asks(s.Scorers) {
		l.add(scorer.Node.KeyFault("score", "it costs nothing: leave score out", "the scorer %q asks nobody, so that it need not wait to be asked", shorten(scorer.Name)))
	}
	for i := range scorer.Parts {
		part := scorer.Parts[i].of(s.Scorers)
		switch own := scorer.Parts[i].Scorer; {
		case part == nil || part.Node == nil:
		case own != nil && own.Score != "":
			l.add(own.Node.KeyFault("score", "write it for the set", "a scorer within a set judges what the set judges"))
		case scorer.Score != "" && own == nil && part.Asks(s.Scorers) && fewerOutputs(part.Judges(s.Scorers), scorer.Score) != scorer.Score:
			l.fault(scorer.Parts[i].Node, "write score: "+scorer.Score+" there, too", "the scorer %q is not asked about all that this set judges", shorten(part.Name))
		}
	}
}
