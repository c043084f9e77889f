package reports

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// What gated differences fail on.
const (
	FailOnWorse      = "worse"
	FailOnCannotTell = "cannot-tell" // or worse
	FailOnNothing    = "none"
)

// fails reports whether a gated difference makes the comparison fail.
func (c *Comparison) fails(d *compare.Difference) bool {
	switch c.FailOn {
	case FailOnWorse:
		return d.Gated && d.Verdict == compare.Worse
	case FailOnCannotTell:
		return d.Gated && (d.Verdict == compare.Worse || d.Verdict == compare.CannotTell)
	}
	return false
}

// Checks are those of the thresholds, and the differences of each pair, after why
// there is no answer.
func (c *Comparison) Checks() iter.Seq[page.Check] {
	all := suiteChecks(c.Thresholds, "", c.Suite, c.Unanswered)
	for row := range c.differences() {
		all = append(all, c.check(&row))
	}
	return slices.Values(all)
}

// suiteChecks are those of the thresholds, then that there was nothing to run, or that the suite has no answer.
func suiteChecks(thresholds []Verdict, nothingToRun, suite, unanswered string) (all []page.Check) {
	for v := range page.EachOf(thresholds) {
		all = append(all, v.check())
	}
	if nothingToRun != "" {
		all = append(all, page.Check{Group: "suite", Name: nothingToRun, State: page.Passed, Loud: true})
	}
	if unanswered != "" {
		all = append(all, page.Check{Group: "suite", Name: suite, State: page.Errored, Message: unanswered, Loud: true})
	}
	return all
}

// check is that of a difference. One that is worse and not gated is none of the
// failures: it passes, and its message says what it is.
func (c *Comparison) check(row *differenceRow) page.Check {
	k := page.Check{Group: row.pair.Name, Name: row.Name, State: page.Passed, Message: row.message(), Loud: row.Gated, Score: !row.Gated}
	change := row.Value(row.Change)
	switch {
	case c.fails(row.Difference):
		k.State = page.Failed
	case !change.Known() && row.Gated:
		k.State, k.Message = page.Errored, "not compared: "+change.Missing
	case !change.Known():
		k.State, k.Message = page.Skipped, "not compared: "+change.Missing
	case row.Verdict == compare.CannotTell:
		k.State = page.Skipped
	}
	return k
}

func (row *differenceRow) message() string {
	text := fmt.Sprintf("%s: %s -> %s, change %s", words(row.Verdict), row.Value(row.Base).Exact(), row.Value(row.New).Exact(), row.Value(row.Change).Exact())
	if r := row.Interval(); r.Low.Known() {
		text += fmt.Sprintf(" [%s, %s]", r.Low.Exact(), r.High.Exact())
	}
	if row.Relative {
		text += " of the base"
	}
	return text
}

// Answer is why there is none, or what fails, or what the primary score says.
func (c *Comparison) Answer() page.Answer {
	if c.Unanswered != "" {
		return page.Answer{State: page.Errored, Text: page.Words(sentence(c.Unanswered))}
	}
	thresholds := answerOf(c.Thresholds)
	if thresholds.State == page.Errored {
		return thresholds
	}
	if a, fails := c.failing(); fails {
		return a
	}
	if thresholds.State == page.Failed {
		return thresholds
	}
	return c.primary()
}

// failing names the gated differences that fail.
func (c *Comparison) failing() (a page.Answer, fails bool) {
	var names []string
	for row := range c.differences() {
		if !c.fails(row.Difference) {
			continue
		}
		name := page.Foreign(row.Name)
		if len(c.Pairs) > 1 {
			name += " of " + page.Foreign(row.pair.Name)
		}
		names = append(names, fmt.Sprintf("%s is %s", name, words(row.Verdict)))
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return page.Answer{State: page.Failed, Text: page.Words(strings.Join(names, ", "))}, len(names) > 0
}

// primary is what the primary score says of the pairs.
func (c *Comparison) primary() page.Answer {
	verdicts := map[compare.Verdict]int{}
	for row := range c.differences() {
		if row.Name == c.Primary && row.Score {
			verdicts[row.Verdict]++
		}
	}
	var parts []string
	for _, v := range []compare.Verdict{compare.Worse, compare.Better, compare.Same, compare.CannotTell} {
		switch n := verdicts[v]; {
		case n > 0 && len(c.Pairs) == 1:
			parts = append(parts, words(v))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%s (%d)", words(v), n))
		}
	}
	switch {
	case len(parts) == 0:
		return page.Answer{State: page.Undecided, Text: "no score is compared"}
	case verdicts[compare.Worse]+verdicts[compare.CannotTell] > 0:
		return page.Answer{State: page.Undecided, Text: page.Words(page.Foreign(c.Primary) + ": " + strings.Join(parts, ", "))}
	}
	return page.Answer{State: page.Passed, Text: page.Words(page.Foreign(c.Primary) + ": " + strings.Join(parts, ", "))}
}

// words are a verdict as people read it.
func words(v compare.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// Facts are how a pair was compared.
func (c *Comparison) Facts(group string) []page.Fact {
	at := slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.Name == group })
	if at < 0 {
		return nil
	}
	p := &c.Pairs[at]
	return []page.Fact{
		{Name: "base", Value: p.Base.named()}, {Name: "new", Value: p.New.named()},
		{Name: "paired", Value: fmt.Sprint(p.How.Paired)}, {Name: "tasks", Value: fmt.Sprint(p.How.Common)},
		{Name: "runs", Value: fmt.Sprintf("%d -> %d", p.Base.Runs, p.New.Runs)},
	}
}

// answerOf says whether all thresholds hold.
func answerOf(verdicts []Verdict) page.Answer {
	count := map[page.State]int{}
	for i := range verdicts {
		count[verdicts[i].check().State]++
	}
	all := page.Plural(len(verdicts), "threshold", "thresholds")
	switch {
	case len(verdicts) == 0:
		return page.Answer{State: page.Skipped, Text: "there are no thresholds"}
	case count[page.Errored] > 0:
		return page.Answer{State: page.Errored, Text: page.Words(fmt.Sprintf("%d of %s cannot be judged", count[page.Errored], all))}
	case count[page.Failed] == 1:
		return page.Answer{State: page.Failed, Text: page.Words(fmt.Sprintf("1 of %s does not hold", all))}
	case count[page.Failed] > 0:
		return page.Answer{State: page.Failed, Text: page.Words(fmt.Sprintf("%d of %s do not hold", count[page.Failed], all))}
	}
	if len(verdicts) == 1 {
		return page.Answer{State: page.Passed, Text: "the threshold holds"}
	}
	return page.Answer{State: page.Passed, Text: page.Words("all " + all + " hold")}
}

// Answer is whether the thresholds hold, if that can be told.
func (r *Report) Answer() page.Answer {
	switch {
	case r.NothingToRun != "":
		return page.Answer{State: page.Passed, Text: page.Words(page.Foreign(r.NothingToRun))}
	case r.Unanswered != "":
		return page.Answer{State: page.Errored, Text: page.Words(sentence(r.Unanswered))}
	case r.runCount() == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	}
	return answerOf(r.Thresholds)
}

// Checks are those of the thresholds, and one for each task of each configuration:
// whether all its trials have success. Tasks of which no run is recorded have one
// together. Before them stands that of the suite where it has no answer.
func (r *Report) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		for _, c := range suiteChecks(r.Thresholds, r.NothingToRun, r.Suite, r.Unanswered) {
			if !yield(c) {
				return
			}
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
		check := func(task string, group []int32) bool {
			n := 0
			for n < len(rest) && rest[n].task == task {
				n++
			}
			missed := rest[:n]
			rest = rest[n:]
			return yield(r.check(i, task, group, missed))
		}
		for group := range r.runs.byTask(i) {
			task := r.runs.tasks.all[r.runs.all[group[0]].task]
			for len(rest) > 0 && naturally(rest[0].task, task) < 0 {
				if !check(rest[0].task, nil) {
					return
				}
			}
			if !check(task, group) {
				return
			}
		}
		for len(rest) > 0 {
			if !check(rest[0].task, nil) {
				return
			}
		}
		if missing, ok := r.notRun(i); ok {
			yield(missing)
		}
	}
}

// RestNotRun is the name of the check of runs that left no record, which stands for no task.
const RestNotRun = "(not run)"

// notRun is the check of the runs that left no record.
func (r *Report) notRun(i int) (page.Check, bool) {
	c := &r.Configurations[i]
	n := c.Expected - c.Runs - len(r.runs.absent[i])
	return page.Check{
		Group: c.Name, Name: RestNotRun, State: page.Errored, Score: true, Message: fmt.Sprintf("%d of %s were not run", n, page.Plural(c.Expected, "run", "runs")),
	}, n > 0
}

// check is that of a task: its runs that count, and those that do not. That a
// run failed says no whatever became of the others; else one that could not be
// measured leaves the answer open.
func (r *Report) check(configuration int, task string, group []int32, missed []absent) page.Check {
	t := r.tally(group)
	c := page.Check{Group: r.Configurations[configuration].Name, Name: task, Score: true, Seconds: t.seconds, Untimed: t.untimed, Message: r.taskMessage(&t, missed)}
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
		t.untimed = t.untimed || r.runs.all[at].lacks(untimed)
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

func (r *Report) taskMessage(t *taskTally, missed []absent) string {
	by := cmp.Or(r.Primary(), "the loop")
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
	add(t.unscored, fmt.Sprintf("%s could not score %s", by, page.Plural(t.unscored, "run", "runs")))
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
		add(c.Scores[i].Name, c.Scores[i].Mean.Value)
	}
	add("success", c.Success.Value)
	add("cost_usd_per_run", c.Cost.Mean.Value)
	add("iterations_mean", c.Iterations.Mean.Value)
	add("latency_s_p50", c.Latency.P50.Value)
	return facts
}

// sentence is a message in parts of bearable length: pages leave out the middle of a
// longer text from outside, and there a message has its cause.
func sentence(text string) string {
	const most = 100
	var parts []string
	part := ""
	for _, word := range strings.Fields(text) {
		if part != "" && len(part)+len(word) >= most {
			parts, part = append(parts, page.Foreign(part)), ""
		}
		part = strings.TrimSpace(part + " " + word)
	}
	return strings.Join(append(parts, page.Foreign(part)), " ")
}
