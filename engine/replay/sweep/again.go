package sweep

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
)

// Judge judges a run as a live one would be judged, by a scorer that asks nobody.
// It is NaN where that scorer cannot.
type Judge func(run *Run, as *record.Run, score string) float64

// standing is a run that goes as recorded up to where it stops, and why it does.
type standing struct {
	run, score, made, returned int
	status                     record.Status
	reason                     record.Reason
	class                      record.Class
	fired                      string
	success                    bool
}

// whole stands for the recorded run itself.
const whole = -1

// judge makes a score that no recorded one tells, of a run as it would be left
// behind. It is NaN where the judge would not give the recorded run the score that
// it has, because the scorer was another one.
func (r *Recording) judge(run, s int, by *ending, asIf func() *record.Run) float64 {
	if r.Judge == nil || asIf == nil {
		return math.NaN()
	}
	of, name := &r.Runs[run], r.Scores[s]
	if was := r.once(standing{run: run, score: s, made: whole}, func() float64 { return r.Judge(of, of.Run, name) }); was != at(of.Scores[s], 0) {
		return math.NaN()
	}
	judge := func() float64 { return r.Judge(of, asIf(), name) }
	if by.changed > 0 {
		return judge()
	}
	o := by.outcome
	return r.once(standing{run, s, by.made, by.returned, o.Status, o.Reason, o.Class, o.Fired, o.Success}, judge)
}

// once remembers what many candidates ask for.
func (r *Recording) once(key standing, judge func() float64) float64 {
	if known, ok := r.judged.Load(key); ok {
		return known.(float64)
	}
	v := judge()
	r.judged.Store(key, v)
	return v
}
