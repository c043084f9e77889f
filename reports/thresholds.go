package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// CheckThreshold says what is wrong with the text of a threshold, and what to write instead; nil where nothing is.
func CheckThreshold(text string) (hint string, wrong error) {
	_, faults := expr.Threshold().Compile(text, expr.WantBool)
	for _, f := range faults {
		if !f.Warning {
			return f.Hint, errors.New(f.What)
		}
	}
	return "", nil
}

// ReadsDiff reports whether a threshold reads what differs from the baseline.
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
var errNoBaseline = errors.New("no baseline to compare with")

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
		return errors.New("no run was measured")
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

// MarshalJSON writes the threshold, the configuration that it was judged of where
// it reads diff, its state (passed, failed or error), whether it holds over the
// intervals (throughout, in_part, possibly, nowhere), and what was read.
func (v Verdict) MarshalJSON() ([]byte, error) { return json.Marshal(v.Writes()) }

// Writes is what MarshalJSON writes.
func (v Verdict) Writes() any {
	return writtenVerdict{v.Text, v.Configuration, v.check().State, v.Holding, v.numbers()}
}

// writtenVerdict is a verdict as JSON.
type writtenVerdict struct {
	Threshold     string     `json:"threshold"`
	Configuration string     `json:"configuration,omitempty"`
	State         page.State `json:"state"`
	Interval      Holding    `json:"interval,omitempty"`
	Numbers       string     `json:"numbers,omitempty"`
}

// Holding says what becomes of a threshold within the intervals of the metrics
// that it reads. It is "" where it reads none that has an interval.
type Holding string

// The Holdings.
const (
	Throughout Holding = "throughout" // it holds over the whole interval
	InPart     Holding = "in_part"    // it holds, but not over the whole interval
	Possibly   Holding = "possibly"   // it does not hold, but would in a part of the interval
	Nowhere    Holding = "nowhere"    // it does not hold anywhere in the interval
)

// after adds to numbers what the Holding means.
func (h Holding) after(numbers string) string {
	switch h {
	case Throughout:
		return numbers + ": holds over the whole interval"
	case InPart:
		return numbers + ": holds, but not over the whole interval"
	case Possibly:
		return numbers + ": does not hold, though a part of the interval would"
	case Nowhere:
		return numbers + ": does not hold anywhere in the interval"
	}
	return numbers
}

// mostCorners bounds the metrics whose ends are tried in all combinations. Of
// more, all are at their low ends together, then all at their high ones.
const mostCorners = 3

// holding evaluates a threshold again with the ends of the intervals that it
// read in the place of the numbers.
func (j *judge) holding(ctx context.Context, program *expr.Program, pair *Pair, seen *readings, ok bool) Holding {
	wide := seen.wide()
	alike := true
	for {
		alike = j.alike(ctx, program, pair, seen, wide, ok)
		more := seen.wide()
		if len(more) == len(wide) {
			break
		}
		wide = more // at the ends it read more than before
	}
	switch {
	case len(wide) == 0:
		return ""
	case ok && alike:
		return Throughout
	case ok:
		return InPart
	case alike:
		return Nowhere
	}
	return Possibly
}

// alike reports whether the threshold gives the same at all ends.
func (j *judge) alike(ctx context.Context, program *expr.Program, pair *Pair, seen *readings, wide []reading, ok bool) bool {
	alike := true
	for _, corner := range corners(wide) {
		there := readings{at: corner}
		holds, err := j.holds(ctx, program, pair, &there)
		alike = alike && (holds && err == nil) == ok
		for _, one := range there.all {
			seen.add(one)
		}
	}
	return alike
}

// corners are the combinations of ends that are tried, by the paths of the
// metrics.
func corners(wide []reading) []map[string]float64 {
	if len(wide) == 0 {
		return nil
	}
	all := []map[string]float64{}
	if len(wide) > mostCorners {
		low, high := map[string]float64{}, map[string]float64{}
		for _, one := range wide {
			low[one.path], high[one.path] = one.Low.Number, one.High.Number
		}
		return append(all, low, high)
	}
	for bits := range 1 << len(wide) {
		corner := map[string]float64{}
		for i, one := range wide {
			corner[one.path] = one.Low.Number
			if bits>>i&1 == 1 {
				corner[one.path] = one.High.Number
			}
		}
		all = append(all, corner)
	}
	return all
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
