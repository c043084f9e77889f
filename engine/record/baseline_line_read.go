package record

import "fmt"

func (r *reader) baselineRun(b *baselineRun, head *baselineHead) {
	other := map[string]string(nil)
	ownLoop := false
	for key := range r.object() {
		switch string(key) {
		case "configuration":
			b.Configuration = r.name()
		case "task":
			b.Task = r.string()
		case "trial":
			b.Trial = int(r.integer())
		case "cluster":
			b.Cluster = r.name()
		case "loop":
			b.Loop, ownLoop = r.name(), true
		case "elapsed_ns":
			b.Elapsed = r.duration()
		case "usage":
			r.usage(&b.Usage)
		case "judging":
			r.usage(&b.Judging)
		case "simulated":
			b.Simulated = r.boolean()
		case "scores":
			b.scores = r.baselineScores(b.scores)
		case "scorers":
			other = r.hashes()
		default:
			r.baselineOutcome(string(key), b)
		}
	}
	if !ownLoop {
		b.Loop = head.loop(b.Configuration)
	}
	for i := range b.scores {
		s := &b.scores[i]
		s.Scorer = head.Scorers[s.Name]
		if hash, ok := other[s.Name]; ok {
			s.Scorer = hash
		}
	}
}

func (r *reader) baselineOutcome(key string, b *baselineRun) {
	switch o := &b.Outcome; key {
	case "status":
		o.Status = Status(r.name())
	case "reason":
		o.Reason = Reason(r.name())
	case "class":
		o.Class = Class(r.name())
	case "fired":
		o.Fired = r.name()
	case "error":
		o.Error = &Error{Class: ErrorClass(r.name())}
	case "success":
		o.Success = r.boolean()
	case "iterations":
		b.iterations = int(r.integer())
	case "returned":
		o.Returned = int(r.integer())
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
