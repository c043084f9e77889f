package record

import "fmt"

// A line of scores.jsonl holds all scores that were made of a run at one time,
// so that a crash leaves all of them or none:
//
//	{"crc":"…","run":"default/backend-1/1","scores":[{"name":"close","value":1}, …]}

// appendScores appends the scores of one run as a line; their Run is not read.
func appendScores(dst []byte, run string, scores []Score) ([]byte, error) {
	w := writer{to: append(dst, lineHead...)}
	w.open()
	w.string("run", run)
	w.list("scores", len(scores), func(i int) { w.score(&scores[i]) })
	w.close()
	if w.err != nil {
		return nil, fmt.Errorf("the scores of run %s cannot be written: %w", run, w.err)
	}
	line, err := seal(w.to, len(dst))
	if err != nil {
		return nil, fmt.Errorf("the scores of run %s cannot be written: %w", run, err)
	}
	return line, nil
}

func (w *writer) score(s *Score) {
	w.open()
	w.string("name", s.Name)
	w.maybeInteger("iteration", int64(s.Iteration))
	w.number("value", s.Value)
	w.maybeString("answer", s.Answer)
	w.maybeString("explanation", s.Explanation)
	w.maybeString("unscored", s.Unscored)
	w.maybeString("scorer", s.Scorer)
	if len(s.Votes) > 0 {
		w.list("votes", len(s.Votes), func(i int) { w.vote(&s.Votes[i]) })
	}
	if s.Usage != (Usage{}) {
		w.key("usage")
		w.usage(&s.Usage)
	}
	w.maybeTrue("removed", s.Removed)
	w.close()
}

func (w *writer) vote(v *Vote) {
	w.open()
	w.maybeString("judge", v.Judge)
	w.maybeString("criterion", v.Criterion)
	w.maybeTrue("swapped", v.Swapped)
	w.number("value", v.Value)
	w.maybeString("answer", v.Answer)
	w.maybeString("explanation", v.Explanation)
	w.maybeString("unscored", v.Unscored)
	w.maybeTrue("repaired", v.Repaired)
	w.maybeTrue("cached", v.Cached)
	w.close()
}

// readScores reads the object of a line.
func (r *reader) readScores(object []byte) (run string, scores []Score, err error) {
	r.begin(object)
	for key := range r.object() {
		switch string(key) {
		case "run":
			run = r.string()
		case "scores":
			for range r.list() {
				scores = append(scores, r.score())
			}
		default:
			r.pass()
		}
	}
	for i := range scores {
		scores[i].Run = run
	}
	return run, scores, r.end()
}

func (r *reader) score() Score {
	var s Score
	for key := range r.object() {
		switch string(key) {
		case "name":
			s.Name = r.name()
		case "iteration":
			s.Iteration = int(r.integer())
		case "value":
			s.Value = r.number()
		case "answer":
			s.Answer = r.string()
		case "explanation":
			s.Explanation = r.name()
		case "unscored":
			s.Unscored = r.name()
		case "scorer":
			s.Scorer = r.name()
		case "votes":
			for range r.list() {
				s.Votes = append(s.Votes, r.vote())
			}
		case "usage":
			r.usage(&s.Usage)
		case "removed":
			s.Removed = r.boolean()
		default:
			r.pass()
		}
	}
	return s
}

func (r *reader) vote() Vote {
	var v Vote
	for key := range r.object() {
		switch string(key) {
		case "judge":
			v.Judge = r.name()
		case "criterion":
			v.Criterion = r.name()
		case "swapped":
			v.Swapped = r.boolean()
		case "value":
			v.Value = r.number()
		case "answer":
			v.Answer = r.string()
		case "explanation":
			v.Explanation = r.string()
		case "unscored":
			v.Unscored = r.name()
		case "repaired":
			v.Repaired = r.boolean()
		case "cached":
			v.Cached = r.boolean()
		default:
			r.pass()
		}
	}
	return v
}
