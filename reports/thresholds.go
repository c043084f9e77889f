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
	OK   bool
	// Err says why the threshold could not be judged. It is then not OK.
	Err error
	// Detail lists the metrics that were read, for example
	// `configurations["default"].scores["close"].mean is 0.72`.
	Detail string
}

// Thresholds judges the thresholds of a suite. None holds where nothing was
// measured: a metric that is missing, a configuration without runs, and a
// report without any are errors.
func Thresholds(ctx context.Context, r *Report, texts []string) []Verdict {
	verdicts := make([]Verdict, len(texts))
	for i, text := range texts {
		verdicts[i] = Verdict{Text: text}
		var seen readings
		ok, err := r.holds(ctx, text, &seen)
		verdicts[i].OK, verdicts[i].Err = ok && err == nil, seen.explain(err)
		verdicts[i].Detail = seen.detail()
	}
	return verdicts
}

func (r *Report) holds(ctx context.Context, text string, seen *readings) (bool, error) {
	program, faults := expr.Threshold().Compile(text, expr.WantBool)
	if program == nil {
		return false, fmt.Errorf("compiling the threshold: %w", faultError(faults))
	}
	if err := r.measured(program.Reads()); err != nil {
		return false, err
	}
	ok, err := program.Bool(ctx, r.metrics(seen))
	if err != nil {
		return false, fmt.Errorf("evaluating the threshold: %w", err)
	}
	return ok, nil
}

// measured refuses what an expression reads of configurations without a run
// that counts. One that reads all configurations needs runs of each.
func (r *Report) measured(reads []string) error {
	if r.runCount() == 0 {
		return errors.New("there is no run that counts")
	}
	for c := range r.each() {
		if c.Runs == 0 && c.readBy(reads) {
			return fmt.Errorf("configuration %q has no run that counts", c.Name)
		}
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

// explain adds to an error what was missing.
func (r readings) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, one := range r {
		if !one.value.Known() {
			return fmt.Errorf("%w (%s is missing: %s)", err, one.path, one.value.why())
		}
	}
	return err
}

func (v Value) why() string {
	switch v.Missing {
	case nothing:
		return "nothing was measured"
	case none:
		return "no success"
	}
	return v.Missing
}

func (r readings) detail() string {
	parts := make([]string, len(r))
	for i, one := range r {
		parts[i] = one.path + " is " + one.value.exact()
	}
	return strings.Join(parts, ", ")
}

// exact shows the number with enough digits to see on which side of a bound it
// lies.
func (v Value) exact() string {
	if !v.Known() {
		return "missing"
	}
	return fmt.Sprintf("%.6g", v.Number)
}
