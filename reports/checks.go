package reports

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Checks are those of the thresholds, and one for each task of each configuration:
// whether all its trials have success. Tasks of which no run is recorded have one
// together. Before them stands that of the suite where it has no answer.
func (r *Report) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		if !eachCheck(r.Thresholds, yield) {
			return
		}
		if r.Unanswered != "" && !yield(page.Check{Group: "suite", Name: r.Suite, State: page.Errored, Message: r.Unanswered, Loud: true}) {
			return
		}
		for i := range r.Configurations {
			for c := range r.checksOf(i) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// checksOf are those of the i-th configuration, in natural order of the tasks.
func (r *Report) checksOf(i int) iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		rest := r.runs.absent[i]
		for group := range r.runs.byTask(i) {
			task := r.runs.tasks.all[r.runs.all[group[0]].task]
			for len(rest) > 0 && naturally(rest[0].task, task) < 0 {
				n := sameTask(rest)
				if !yield(r.check(i, rest[0].task, nil, rest[:n])) {
					return
				}
				rest = rest[n:]
			}
			n := 0
			if len(rest) > 0 && rest[0].task == task {
				n = sameTask(rest)
			}
			if !yield(r.check(i, task, group, rest[:n])) {
				return
			}
			rest = rest[n:]
		}
		for n := 0; len(rest) > 0; rest = rest[n:] {
			n = sameTask(rest)
			if !yield(r.check(i, rest[0].task, nil, rest[:n])) {
				return
			}
		}
		if missing, ok := r.notRun(i); ok {
			yield(missing)
		}
	}
}

// sameTask is how many of the first absent runs are of one task.
func sameTask(all []absent) (n int) {
	for n < len(all) && all[n].task == all[0].task {
		n++
	}
	return n
}

// notRun is the check of the runs that left no record.
func (r *Report) notRun(i int) (page.Check, bool) {
	c := &r.Configurations[i]
	n := c.Expected - c.Runs - len(r.runs.absent[i])
	return page.Check{
		Group: c.Name, Name: "(not run)", State: page.Errored, Message: fmt.Sprintf("%d of %s were not made", n, page.Plural(c.Expected, "run", "runs")),
	}, n > 0
}

// check is that of a task: its runs that count, and those that do not. That a
// run failed says no whatever became of the others; else one that could not be
// measured leaves the answer open.
func (r *Report) check(configuration int, task string, group []int32, missed []absent) page.Check {
	t := r.tally(group)
	c := page.Check{Group: r.Configurations[configuration].Name, Name: task, Seconds: t.seconds, Untimed: t.untimed, Message: r.told(&t, missed)}
	switch {
	case t.successes < t.judged:
		c.State = page.Failed
	case len(missed) > 0:
		c.State = page.Errored
	case t.judged < len(group):
		c.State = page.Skipped
	default:
		c.State = page.Passed
	}
	return c
}

// taskTally counts the runs of a task.
type taskTally struct {
	successes, judged, unscored, pending int
	sum                                  float64 // of the scores
	seconds                              float64
	untimed                              bool
}

func (r *Report) tally(group []int32) (t taskTally) {
	for _, at := range group {
		t.seconds += r.runs.all[at].elapsed.Seconds()
		t.untimed = t.untimed || r.runs.all[at].untimed
		succeeded, known := r.runs.succeeded(at)
		score, _ := r.runs.primary(at)
		switch {
		case known:
			t.judged++
			t.sum += score
		case int(at) < len(r.runs.scores[0].unscored) && r.runs.scores[0].unscored[at]:
			t.unscored++
		default:
			t.pending++
		}
		if known && succeeded {
			t.successes++
		}
	}
	return t
}

// told are the numbers of a task in words.
func (r *Report) told(t *taskTally, missed []absent) string {
	by := "the loop"
	if r.Primary() != "" {
		by = r.Primary()
	}
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(t.judged, fmt.Sprintf("%s: %d of %s with success", by, t.successes, page.Plural(t.judged, "run", "runs")))
	if mean := t.sum / float64(max(1, t.judged)); r.Primary() != "" && t.sum != float64(t.successes) {
		add(t.judged, "mean "+page.Known(mean).Exact())
	}
	add(t.unscored, fmt.Sprintf("%s could not judge %s", by, page.Plural(t.unscored, "run", "runs")))
	add(t.pending, fmt.Sprintf("%s has not judged %s yet", by, page.Plural(t.pending, "run", "runs")))
	faults := map[record.ErrorClass]int{}
	cancelled := 0
	for _, a := range missed {
		if a.fault == "" {
			cancelled++
		} else {
			faults[a.fault]++
		}
	}
	add(len(faults), "with a fault: "+countText(counted(faults)))
	add(cancelled, fmt.Sprintf("cancelled: %d", cancelled))
	return strings.Join(parts, ", ")
}

// orderedAbsent parts the runs that do not count by configuration, each by task.
func orderedAbsent(all map[string]absent, configurations int) [][]absent {
	ordered := make([][]absent, configurations)
	for _, a := range all {
		ordered[a.configuration] = append(ordered[a.configuration], a)
	}
	for _, absents := range ordered {
		slices.SortFunc(absents, func(a, b absent) int {
			return cmp.Or(naturally(a.task, b.task), cmp.Compare(a.fault, b.fault))
		})
	}
	return ordered
}

// Facts are the numbers of a configuration.
func (r *Report) Facts(group string) []page.Fact {
	at := slices.IndexFunc(r.Configurations, func(c Configuration) bool { return c.Name == group })
	if at < 0 {
		return nil
	}
	c := &r.Configurations[at]
	facts := []page.Fact{{Name: "runs", Value: fmt.Sprintf("%d/%d", c.Runs, c.Expected)}}
	add := func(name string, v page.Value) {
		if v.Known() {
			facts = append(facts, page.Fact{Name: name, Value: v.Exact()})
		}
	}
	for i := range c.Scores {
		add(c.Scores[i].Name, c.Scores[i].Mean)
	}
	add("success", c.Success)
	add("cost_usd_per_run", c.Cost.Mean)
	add("iterations_mean", c.Iterations.Mean)
	add("latency_s_p50", c.Latency.P50)
	return facts
}
