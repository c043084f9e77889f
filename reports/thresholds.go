package reports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec/expr"
)

// Verdict is what became of one threshold.
type Verdict struct {
	Text string
	// Configuration is the one that was compared with the baseline; "" for a
	// threshold that does not read diff.
	Configuration string
	OK            bool
	// Holding says whether the intervals of what was read bear the answer out.
	Holding Holding
	// Err says why the threshold could not be judged. It is then not OK.
	Err error
	// Detail lists the metrics that were read, with their intervals, and says what
	// Holding does: `configurations["default"].scores["close"].mean is 0.72 [0.65,
	// 0.79]: holds over the whole interval`.
	Detail string
}

// ThresholdOptions say what thresholds are judged by, beside a report.
type ThresholdOptions struct {
	// Comparison is that with the baseline, which `diff` reads. A threshold that
	// does so is judged for each of its pairs. Nil: there is none.
	Comparison *Comparison
	// MinCoverage is the least share of the runs of a configuration that count.
	// Below it nothing that is read of the configuration holds.
	MinCoverage float64
	// OfMade says that runs which were not made were left out on purpose: the
	// share is of the others, in which faults are what does not count.
	OfMade bool
}

// Thresholds judges thresholds. None holds where nothing was measured: a metric
// that is missing, a configuration without runs or with less than the least
// coverage, and a report without any run are errors. Where a comparison is all
// there is, the report is nil.
func Thresholds(ctx context.Context, r *Report, options ThresholdOptions, texts []string) []Verdict {
	j := judge{report: r, options: options}
	verdicts := []Verdict{}
	for _, text := range texts {
		verdicts = append(verdicts, j.all(ctx, text)...)
	}
	return verdicts
}

// CheckThreshold says what is wrong with the text of a threshold.
func CheckThreshold(text string) error {
	program, faults := expr.Threshold().Compile(text, expr.WantBool)
	if program == nil {
		return faultError(faults)
	}
	return nil
}

// ReadsDiff says whether a threshold reads what differs from the baseline.
func ReadsDiff(text string) bool {
	program, _ := expr.Threshold().Compile(text, expr.WantBool)
	return program != nil && readsDiff(program)
}

func readsDiff(program *expr.Program) bool {
	return slices.ContainsFunc(program.Reads(), func(path string) bool { return path == "diff" || strings.HasPrefix(path, "diff.") })
}

// judge judges thresholds.
type judge struct {
	report  *Report
	options ThresholdOptions
}

// errNoBaseline is about thresholds that read diff.
var errNoBaseline = errors.New("there is no baseline to compare with")

// all are the verdicts on one threshold: one, or one for each pair.
func (j *judge) all(ctx context.Context, text string) []Verdict {
	program, faults := expr.Threshold().Compile(text, expr.WantBool)
	if program == nil {
		return []Verdict{{Text: text, Err: fmt.Errorf("compiling the threshold: %w", faultError(faults))}}
	}
	if !readsDiff(program) {
		return []Verdict{j.one(ctx, text, program, nil)}
	}
	if c := j.options.Comparison; c == nil || len(c.Pairs) == 0 {
		return []Verdict{{Text: text, Err: errNoBaseline}}
	}
	var verdicts []Verdict
	for i := range j.options.Comparison.Pairs {
		verdicts = append(verdicts, j.one(ctx, text, program, &j.options.Comparison.Pairs[i]))
	}
	return verdicts
}

func (j *judge) one(ctx context.Context, text string, program *expr.Program, pair *Pair) Verdict {
	v := Verdict{Text: text}
	var seen readings
	if pair != nil {
		v.Configuration = pair.Name
	}
	if v.Err = j.measured(program.Reads(), pair); v.Err != nil {
		return v
	}
	ok, err := j.holds(ctx, program, pair, &seen)
	v.Err = seen.explain(err)
	v.OK = ok && v.Err == nil
	if v.Err == nil {
		v.Holding = j.holding(ctx, program, pair, &seen, v.OK)
	}
	v.Detail = v.Holding.after(seen.detail())
	return v
}

func (j *judge) holds(ctx context.Context, program *expr.Program, pair *Pair, seen *readings) (bool, error) {
	r := j.report
	if r == nil {
		r = &Report{}
	}
	ok, err := program.Bool(ctx, r.metrics(pair, seen))
	if err != nil {
		return false, fmt.Errorf("evaluating the threshold: %w", err)
	}
	return ok, nil
}

// measured refuses what an expression reads of configurations of which too
// little was measured. One that reads all configurations needs runs of each.
func (j *judge) measured(reads []string, pair *Pair) error {
	if pair != nil {
		for _, side := range []*PairSide{&pair.Base, &pair.New} {
			if err := j.covered(side.Configuration, side.Runs, j.expected(side.Configuration, side.Expected)); err != nil {
				return err
			}
		}
	}
	if j.report == nil {
		return nil
	}
	if pair == nil && j.report.runCount() == 0 {
		return errors.New("there is no run that counts")
	}
	for c := range j.report.each() {
		if !c.readBy(reads) {
			continue
		}
		if err := j.covered(c.Name, c.Runs, j.expected(c.Name, c.Expected)); err != nil {
			return err
		}
	}
	return nil
}

// expected is how many runs of a configuration there should be, of planned ones.
func (j *judge) expected(name string, planned int) int {
	if !j.options.OfMade || j.report == nil {
		return planned
	}
	for c := range j.report.each() {
		if c.Name != name {
			continue
		}
		made := c.Runs
		for _, fault := range c.Faults {
			made += fault.N
		}
		return made
	}
	return planned
}

// covered refuses a configuration with no run, or with too few of them.
func (j *judge) covered(name string, runs, expected int) error {
	switch {
	case runs == 0:
		return fmt.Errorf("configuration %q has no run that counts", name)
	case float64(runs) < j.options.MinCoverage*float64(expected):
		return fmt.Errorf("%d of %d runs of configuration %q could be measured; min_coverage is %v", runs, expected, name, j.options.MinCoverage)
	}
	return nil
}

func (c *Configuration) readBy(reads []string) bool {
	return slices.ContainsFunc(reads, func(path string) bool {
		of, named := strings.CutPrefix(path, "configurations.")
		return path == "configurations" || named && slices.ContainsFunc(append([]string{c.Name}, c.Aliases...),
			func(name string) bool { return of == name || strings.HasPrefix(of, name+".") })
	})
}

func faultError(faults []expr.Fault) error {
	all := make([]error, len(faults))
	for i, f := range faults {
		all[i] = errors.New(f.What)
		if f.Hint != "" {
			all[i] = fmt.Errorf("%s (%s)", f.What, f.Hint)
		}
	}
	return errors.Join(all...)
}

// thresholdsTable says which thresholds hold.
func thresholdsTable(verdicts []Verdict) page.Table {
	fields := slices.Concat(page.Named("threshold", "threshold", func(v Verdict) string { return v.Text }),
		page.Named("configuration", "configuration", func(v Verdict) string { return v.Configuration }).Optional(),
		page.Worded("holds", "holds", func(v Verdict) string {
			return map[page.State]string{page.Passed: "yes", page.Failed: "no", page.Errored: "cannot tell"}[v.check().State]
		}),
		page.Of(page.Column{Head: "numbers", Key: "numbers", Prose: true}, func(v Verdict) page.Cell { return page.Name(v.numbers()) }))
	return page.TableOf(page.Thresholds, "Thresholds", fields, slices.Values(verdicts))
}

// numbers are what was read, and what was wrong.
func (v *Verdict) numbers() string {
	if v.Err != nil {
		return v.Err.Error()
	}
	return v.Detail
}

// named is the threshold with the configuration that it was judged of.
func (v *Verdict) named() string {
	if v.Configuration == "" {
		return v.Text
	}
	return v.Text + " of " + v.Configuration
}

// check is the threshold as a check.
func (v *Verdict) check() page.Check {
	c := page.Check{Group: page.Thresholds, Name: v.named(), State: page.Passed, Message: v.numbers(), Loud: true}
	switch {
	case v.Err != nil:
		c.State = page.Errored
	case !v.OK:
		c.State = page.Failed
	}
	return c
}

// eachCheck yields the thresholds as checks, and says whether to go on.
func eachCheck(verdicts []Verdict, yield func(page.Check) bool) bool {
	for i := range verdicts {
		if !yield(verdicts[i].check()) {
			return false
		}
	}
	return true
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
		return page.Answer{State: page.Errored, Text: fmt.Sprintf("%d of %s cannot be judged", count[page.Errored], all)}
	case count[page.Failed] == 1:
		return page.Answer{State: page.Failed, Text: fmt.Sprintf("1 of %s does not hold", all)}
	case count[page.Failed] > 0:
		return page.Answer{State: page.Failed, Text: fmt.Sprintf("%d of %s do not hold", count[page.Failed], all)}
	}
	if len(verdicts) == 1 {
		return page.Answer{State: page.Passed, Text: "the threshold holds"}
	}
	return page.Answer{State: page.Passed, Text: "all " + all + " hold"}
}

// MarshalJSON writes the threshold, the configuration that it was judged of where
// it reads diff, its state (passed, failed or error), whether it holds over the
// intervals (throughout, in_part, possibly, nowhere), and what was read.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(writtenVerdict{v.Text, v.Configuration, v.check().State, v.Holding, v.numbers()})
}

// writtenVerdict is a verdict as JSON.
type writtenVerdict struct {
	Threshold     string     `json:"threshold"`
	Configuration string     `json:"configuration,omitempty"`
	State         page.State `json:"state"`
	Interval      Holding    `json:"interval,omitempty"`
	Numbers       string     `json:"numbers,omitempty"`
}

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

// ThresholdReads are the paths that a threshold reads; nil where it does not compile,
// which judging it says.
func ThresholdReads(text string) []string {
	program, _ := expr.Threshold().Compile(text, expr.WantBool)
	if program == nil {
		return nil
	}
	return program.Reads()
}
