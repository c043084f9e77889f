package reports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
