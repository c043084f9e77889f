package record

import "fmt"

// baselineRun reads what writer.baselineRun wrote. What the head tells of all runs
// holds for one that says nothing else.
func (r *reader) baselineRun(b *baselineRun, head *baselineHead) {
	own, ownLoop := map[string]string(nil), false
	for key := range r.object() {
		switch string(key) {
		case "scores":
			b.scores = r.baselineScores(b.scores)
		case "scorers":
			own = r.hashes()
		case "loop":
			b.Loop, ownLoop = r.name(), true
		default:
			if !r.ofRun(key, &b.Signals) && !r.ofOutcome(key, &b.Outcome) {
				r.baselineIterations(key, b)
			}
		}
	}
	if !ownLoop {
		b.Loop = head.loop(b.Configuration)
	}
	for i := range b.scores {
		s := &b.scores[i]
		s.Scorer = head.Scorers[s.Name]
		if hash, ok := own[s.Name]; ok {
			s.Scorer = hash
		}
	}
}

// baselineIterations reads what stands in the place of the iterations.
func (r *reader) baselineIterations(key []byte, b *baselineRun) {
	switch string(key) {
	case "error":
		b.Outcome.Error = &Error{Class: ErrorClass(r.name())}
	case "iterations":
		b.iterations = int(r.integer())
	case "failed":
		b.failed = ErrorClass(r.name())
	case "evaluated":
		b.evaluated = r.boolean()
	case "confidence":
		b.rated, b.confidence = true, r.number()
	default:
		if r.err == nil {
			r.err = fmt.Errorf("there is no %q in the line of a run", key)
		}
	}
}

// unscoredInBaseline stands for why a run is unscored: the reason may quote
// what a model said.
const unscoredInBaseline = "as the baseline tells, which does not say why"

func (r *reader) baselineScores(scores []Score) []Score {
	for key := range r.object() {
		s := Score{Name: r.shared(key)}
		if r.next() == 'n' {
			r.word("null")
			s.Unscored = unscoredInBaseline
		} else {
			s.Value = r.number()
		}
		scores = append(scores, s)
	}
	return scores
}

func (r *reader) hashes() map[string]string {
	hashes := map[string]string{}
	for key := range r.object() {
		name := string(key)
		hashes[name] = r.name()
	}
	return hashes
}
