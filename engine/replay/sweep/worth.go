package sweep

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
)

// Why says why a score is not known of a run; "" where it is.
type Why string

// The reasons.
const (
	// NotJudged: the iteration that would tell it has no score.
	NotJudged Why = "not judged"
	// ReturnsEarlier: the scorer reads what is returned and what was done until the
	// run stops, and no score is of an earlier iteration seen from there.
	ReturnsEarlier Why = "returns earlier"
	// StopsOtherwise: the scorer reads why the run stops.
	StopsOtherwise Why = "stops otherwise"
	// UsesUpSteps: the agent reaches its maximum of steps in the iteration that is
	// returned, and that output nobody judged.
	UsesUpSteps Why = "uses up its steps"
	// GoesOtherwise: an iteration is judged or cut otherwise than recorded, and the
	// scorer goes by that.
	GoesOtherwise Why = "goes otherwise"
)

// worth are the scores of a run as a candidate makes it, and leaves it behind.
func (r *Recording) worth(run int, result *replay.Result, asIf func() *record.Run) []Range {
	scores, _ := r.value(make([]Range, len(r.Scores)), run, result, asIf)
	return scores
}

// value puts them into scores. Of those that are not known though the run as
// recorded has them it says why.
func (r *Recording) value(scores []Range, run int, result *replay.Result, asIf func() *record.Run) (all []Range, whys []Why) {
	recorded := &r.Runs[run]
	by := endingOf(result)
	for s := range scores {
		switch {
		case result.Verdict != replay.Exact:
			scores[s] = r.Bounds[s]
		case !result.Outcome.Counts():
			scores[s] = unknown // a live run would be made again
		default:
			v, why := r.worthOf(recorded, s, &by)
			if why != "" && why != NotJudged {
				if v = r.judge(run, s, &by, asIf); !math.IsNaN(v) {
					why = ""
				}
			}
			scores[s] = point(v)
			if why != "" && !math.IsNaN(at(recorded.Scores[s], 0)) {
				if whys == nil {
					whys = make([]Why, len(scores))
				}
				whys[s] = why
			}
		}
	}
	return scores, whys
}

// ending is how a run ends, as far as scores go by it.
type ending struct {
	made, returned int // iterations, and the one that is returned, from 1; 0: none
	changed        int // see replay.Result
	usedUp         bool
	outcome        *record.Outcome
}

func endingOf(r *replay.Result) ending {
	return ending{r.Iterations, r.Outcome.Returned, r.Changed, r.UsedUp, &r.Outcome}
}

// asRecorded reports whether a run makes and returns what the recorded one did.
func (e *ending) asRecorded(run *record.Run) bool {
	return e.made == len(run.Iterations) && e.returned == run.Outcome.Returned
}

// changes reports whether a score goes by an iteration that is judged or cut
// otherwise than recorded.
func (e *ending) changes(reads Reads) bool {
	switch reads {
	case ReadsOutput:
		return false
	case ReadsUnknown:
		return e.changed > 0 && e.changed <= e.returned
	}
	return e.changed > 0 && e.changed <= e.made
}

// sameStop reports whether scorers see the same stop.
func sameStop(a, b *record.Outcome) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Class == b.Class && a.Fired == b.Fired && a.Success == b.Success
}

// worthOf is a score of a run that ends so; NaN where nobody knows it, and why. One
// that ends as recorded is worth what was recorded.
func (r *Recording) worthOf(run *Run, s int, by *ending) (float64, Why) {
	values, reads := run.Scores[s], r.Reads[s]
	asRecorded := by.asRecorded(run.Run)
	switch {
	case by.usedUp && by.returned == by.made && reads != ReadsCourse:
		return math.NaN(), UsesUpSteps
	case by.changes(reads):
		return math.NaN(), GoesOtherwise
	case reads == ReadsStop && !(asRecorded && sameStop(by.outcome, &run.Run.Outcome)):
		return math.NaN(), StopsOtherwise
	case asRecorded:
		return known(at(values, 0))
	case reads == ReadsCourse && by.made == 0:
		return math.NaN(), NotJudged
	case reads == ReadsCourse:
		return known(at(values, by.made))
	case reads == ReadsAround && by.returned != by.made:
		return math.NaN(), ReturnsEarlier
	case by.returned == 0 && (reads == ReadsOutput || len(values) > 1):
		return 0, "" // a run that returns nothing cannot be right
	case by.returned == 0:
		return math.NaN(), NotJudged
	}
	v := at(values, by.returned)
	if math.IsNaN(v) && reads == ReadsOutput && by.returned == run.Run.Outcome.Returned {
		v = at(values, 0)
	}
	return known(v)
}

func known(v float64) (float64, Why) {
	if math.IsNaN(v) {
		return v, NotJudged
	}
	return v, ""
}

func at(values []float64, i int) float64 {
	if i >= len(values) {
		return math.NaN()
	}
	return values[i]
}

// recordedHit says that the run as it was recorded scored 1 or more.
func (r *Run) recordedHit(s int) bool { return at(r.Scores[s], 0) >= 1 }
