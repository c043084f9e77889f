package sweep

import (
	"math"

	"github.com/agentbench/agentbench/engine/replay"
)

// worth are the scores of a run as a candidate makes it.
func (r *Recording) worth(run int, result *replay.Result) []Range {
	return r.value(make([]Range, len(r.Scores)), run, result)
}

// value puts them into scores.
func (r *Recording) value(scores []Range, run int, result *replay.Result) []Range {
	for s := range scores {
		switch {
		case result.Verdict != replay.Exact:
			scores[s] = r.Bounds[s]
		case !result.Outcome.Counts():
			scores[s] = unknown // a live run would be made again
		default:
			scores[s] = point(r.worthOf(&r.Runs[run], s, result.Iterations, result.Outcome.Returned))
		}
	}
	return scores
}

// worthOf is a score of a run that makes so many iterations and returns one of
// them; NaN where nobody knows it. One that stops as recorded is worth what was
// recorded.
func (r *Recording) worthOf(run *Run, s, made, returned int) float64 {
	values := run.Scores[s]
	recorded := &run.Run.Outcome
	switch {
	case made == len(run.Run.Iterations) && returned == recorded.Returned:
		return at(values, 0)
	case r.Reads[s] == ReadsAround && returned != made:
		return math.NaN()
	case returned == 0 && (r.Reads[s] == ReadsOutput || len(values) > 1):
		return 0 // a run that returns nothing cannot be right
	case returned == 0:
		return math.NaN()
	}
	v := at(values, returned)
	if math.IsNaN(v) && r.Reads[s] == ReadsOutput && returned == recorded.Returned {
		return at(values, 0)
	}
	return v
}

func at(values []float64, i int) float64 {
	if i >= len(values) {
		return math.NaN()
	}
	return values[i]
}

// recordedHit says that the run as it was recorded scored 1 or more.
func (r *Run) recordedHit(s int) bool { return at(r.Scores[s], 0) >= 1 }
