package record

import (
	"fmt"
	"math"
	"slices"
)

func (w *writer) baselineRun(r *baselineRun, head *baselineHead) {
	w.open()
	w.string("configuration", r.Configuration)
	w.string("task", r.Task)
	w.integer("trial", int64(r.Trial))
	w.maybeString("cluster", r.Cluster)
	w.maybeString("group", r.Group)
	if head.loop(r.Configuration) != r.Loop {
		w.string("loop", r.Loop)
	}
	w.baselineOutcome(r)
	w.integer("elapsed_ns", int64(r.Elapsed))
	w.maybeTrue("untimed", r.Untimed)
	w.key("usage")
	w.usage(&r.Usage)
	if r.Judging != (Usage{}) {
		w.key("judging")
		w.usage(&r.Judging)
	}
	if r.User != (Usage{}) {
		w.key("user")
		w.usage(&r.User)
	}
	w.maybeTrue("simulated", r.Simulated)
	if len(r.scores) > 0 {
		w.key("scores")
		w.baselineScores(r.scores)
		w.otherScorers(r.scores, head)
	}
	w.close()
}

func (w *writer) baselineOutcome(r *baselineRun) {
	o := &r.Outcome
	w.string("status", string(o.Status))
	w.maybeString("reason", string(o.Reason))
	w.maybeString("class", string(o.Class))
	w.maybeString("fired", o.Fired)
	if o.Error != nil {
		w.string("error", string(o.Error.Class))
	}
	w.maybeTrue("success", o.Success)
	w.integer("iterations", int64(r.iterations))
	w.maybeInteger("returned", int64(o.Returned))
	w.maybeString("failed", string(r.failed))
	w.maybeTrue("evaluated", r.evaluated)
	if r.rated {
		w.number("confidence", r.confidence)
	}
}

// baselineScores are an object of values by the scorers' names; null is
// unscored.
func (w *writer) baselineScores(scores []Score) {
	w.open()
	for i := range scores {
		w.name(scores[i].Name)
		if scores[i].Unscored != "" {
			w.to = append(w.to, "null"...)
		} else if value := scores[i].Value; math.IsNaN(value) || math.IsInf(value, 0) {
			w.err = fmt.Errorf("the score %s is %v", scores[i].Name, value)
		} else {
			w.to = appendNumber(w.to, value)
		}
	}
	w.close()
}

// otherScorers are the hashes of the scorers that are not those of the head.
func (w *writer) otherScorers(scores []Score, head *baselineHead) {
	other := slices.DeleteFunc(slices.Clone(scores), func(s Score) bool { return head.Scorers[s.Name] == s.Scorer })
	if len(other) == 0 {
		return
	}
	w.key("scorers")
	w.open()
	for i := range other {
		w.name(other[i].Name)
		w.to = appendString(w.to, other[i].Scorer)
	}
	w.close()
}

// name begins a member whose key comes from outside.
func (w *writer) name(name string) {
	if last := w.to[len(w.to)-1]; last != '{' {
		w.to = append(w.to, ',')
	}
	w.to = append(appendString(w.to, name), ':')
}

// loop is the hash of a configuration's loop, as the manifest has it.
func (h *baselineHead) loop(configuration string) string {
	for i := range h.Manifest.Configurations {
		if c := &h.Manifest.Configurations[i]; c.Name == configuration {
			return c.Loop
		}
	}
	return ""
}
