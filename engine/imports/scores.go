package imports

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

const noScore = "the log has no score"

// scores evaluates the scores of a run or of an iteration, in their order.
func scores(m *spec.ImportedScores, s *scope) ([]record.Score, error) {
	if m == nil {
		return nil, nil
	}
	if m.Object != nil {
		return objectScores(m.Object, s)
	}
	all := make([]record.Score, 0, len(m.Named))
	for i := range m.Named {
		e := &m.Named[i].Value
		v, err := value(e, s)
		if err != nil {
			return nil, err
		}
		score, err := scoreOf(e, m.Named[i].Key, v)
		if err != nil {
			return nil, err
		}
		all = append(all, score)
	}
	return all, nil
}

// objectScores are those of an object; null has none.
func objectScores(e *spec.Expr, s *scope) ([]record.Score, error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return nil, err
	}
	object, ok := v.(*expr.Object)
	if !ok {
		return nil, wrong(e, "want an object of scores, got %s", describe(v))
	}
	var all []record.Score
	for i := range object.Len() {
		key, v := object.At(i)
		score, err := scoreOf(e, key, v)
		if err != nil {
			return nil, err
		}
		all = append(all, score)
	}
	return all, nil
}

// scoreOf takes a number or a truth; null is unscored.
func scoreOf(e *spec.Expr, name string, v any) (record.Score, error) {
	score := record.Score{Name: name}
	switch x := v.(type) {
	case nil:
		score.Unscored = noScore
	case bool:
		if x {
			score.Value = 1
		}
	default:
		n, ok := asNumber(v)
		if !ok {
			return score, wrong(e, "the score %q: want a number or a truth, got %s", name, describe(v))
		}
		score.Value = n
	}
	return score, nil
}

// judged are the scores of a run together with those of its iterations.
type judged struct {
	run        []record.Score
	iterations [][]record.Score // by iteration
}

// all are the scores as they are written. What a run is worth that is cut is told
// by the scores of its iterations.
func (j *judged) all(run *record.Run, when *spec.WhenCut) []record.Score {
	whole := j.run
	for _, name := range j.names() {
		if !holds(whole, name) {
			whole = append(whole, j.returned(run, name))
		}
	}
	for i := range whole {
		whole[i].Run = run.ID
	}
	written := whole
	for i := range run.Iterations {
		for _, s := range j.cut(i, len(run.Iterations), whole, when) {
			s.Run, s.Iteration = run.ID, i+1
			written = append(written, s)
		}
	}
	return written
}

// cut are the scores of a run that stops at the iteration with that index, of so
// many.
func (j *judged) cut(i, n int, whole []record.Score, when *spec.WhenCut) []record.Score {
	switch {
	case when == nil || !when.Zero:
		if i < len(j.iterations) {
			return j.iterations[i]
		}
		return nil
	case i == n-1:
		return append([]record.Score(nil), whole...)
	}
	nothing := make([]record.Score, len(whole))
	for k := range whole {
		nothing[k] = record.Score{Name: whole[k].Name, Explanation: "cut before its end"}
	}
	return nothing
}

// names are those of the scores of iterations, in the order in which they occur.
func (j *judged) names() []string {
	var names []string
	for _, scores := range j.iterations {
		for i := range scores {
			if !contains(names, scores[i].Name) {
				names = append(names, scores[i].Name)
			}
		}
	}
	return names
}

// returned is the score of the iteration that the run returns.
func (j *judged) returned(run *record.Run, name string) record.Score {
	if at := run.Outcome.Returned; at > 0 && at <= len(j.iterations) {
		for _, s := range j.iterations[at-1] {
			if s.Name == name {
				return s
			}
		}
		return record.Score{Name: name, Unscored: noScore}
	}
	return record.Score{Name: name, Answer: "none"}
}

func holds(scores []record.Score, name string) bool {
	for i := range scores {
		if scores[i].Name == name {
			return true
		}
	}
	return false
}

func contains(names []string, name string) bool {
	for i := range names {
		if names[i] == name {
			return true
		}
	}
	return false
}
