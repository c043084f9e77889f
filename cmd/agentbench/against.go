package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// againstFlags say what a report is compared with, and how.
type againstFlags struct {
	compareFlags
	baseline, baselines string
}

func (f *againstFlags) declare(c *cobra.Command) {
	f.declareMargins(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "compare with the baseline of this name, not with the suite's")
	declareBaselines(c, &f.baselines)
}

// validate finds a baseline that is not there: who pays for runs wants to know
// before.
func (f *againstFlags) validate() error {
	if f.baseline != "" {
		if _, err := openBaselineNamed(f.baseline, f.baselines); err != nil {
			return err
		}
	}
	return f.compareFlags.validate()
}

// differ puts into a report what differs from the baseline that was asked for,
// else from the suite's.
func (p *program) differ(r *reports.Report, path string, m *record.Manifest, f *againstFlags) error {
	options, err := f.options(m)
	if err != nil {
		return err
	}
	if f.baseline == "" {
		r.Differences, err = reports.DiffBaseline(r, options)
	} else {
		r.Differences, err = p.differFrom(r, path, m, f, options)
	}
	if err != nil {
		return incomparable(err)
	}
	if r.Differences != nil {
		r.Differences.DropFlips()
	}
	return nil
}

// differFrom compares a report with the baseline that was asked for.
func (p *program) differFrom(r *reports.Report, path string, m *record.Manifest, f *againstFlags, options reports.DiffOptions) (*reports.Comparison, error) {
	at, err := openBaselineNamed(f.baseline, f.baselines)
	if err != nil {
		return nil, err
	}
	base, err := p.collectPlace(at)
	if err != nil {
		return nil, err
	}
	s := &sides{base: at, new: &place{text: path, Results: &record.Results{Path: path, Manifest: *m}}}
	if options.Spec, err = specOf(s, nil); err != nil {
		return nil, err
	}
	options.BaseName = f.baseline
	return reports.Diff(base, r, options)
}

// comparable refuses a suite whose thresholds read diff where there is nothing to
// compare with, and a baseline that has nothing to do with what is planned.
func (f *runFlags) comparable(s *spec.Suite, planned *plan.Plan) error {
	if f.baseline != "" {
		return f.coupled(planned)
	}
	if s.Baseline != "" {
		return nil
	}
	texts := slices.Clone(f.texts)
	for i := range s.Thresholds {
		texts = append(texts, s.Thresholds[i].Text)
	}
	for _, text := range texts {
		if reports.ReadsDiff(text) {
			return fail(wrongSpec, "declare baseline: in the suite, or give --baseline NAME", "a threshold reads diff, and there is no baseline to compare with: %s", text)
		}
	}
	return nil
}

// named refuses thresholds of the command line that read what the suite does not
// have: who pays for runs wants to know before.
func (f *thresholdFlags) named(s *spec.Suite) error { return f.read(s.Misreads) }

// recorded refuses those that read what no result has.
func (f *thresholdFlags) recorded(newest *record.Manifest, others ...*record.Manifest) error {
	known := spec.Readable{Configurations: configurationNames(newest), Scorers: slices.Clone(newest.Scorers)}
	for i := range newest.Metrics {
		known.Metrics = append(known.Metrics, newest.Metrics[i].Name)
	}
	for _, m := range others {
		known.Scorers = append(known.Scorers, m.Scorers...)
	}
	return f.read(func(reads []string) []spec.Misread { return spec.Misreads(reads, known) })
}

func (f *thresholdFlags) read(misreads func(reads []string) []spec.Misread) error {
	for _, text := range f.texts {
		program, _ := expr.Threshold().Compile(text, expr.WantBool)
		if program == nil {
			continue // validate has refused it
		}
		for _, m := range misreads(program.Reads()) {
			return usage(didYouMean(m.Name, m.Known, "there are: "+some(m.Known)), "--threshold %s: there is no %s %q", text, m.What, m.Name)
		}
	}
	return nil
}

// coupled refuses a baseline with which no planned configuration belongs
// together.
func (f *runFlags) coupled(planned *plan.Plan) error {
	at, err := openBaselineNamed(f.baseline, f.baselines)
	if err != nil {
		return err
	}
	var m record.Manifest
	for i := range planned.Configurations {
		c := &planned.Configurations[i]
		m.Configurations = append(m.Configurations, record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases})
	}
	if len(couples(&sides{base: at, new: &place{Results: &record.Results{Manifest: m}}})) == 0 {
		return usage("the baseline has: "+some(configurationNames(&at.Manifest)), "no configuration of the suite has the name of one in the baseline %q", f.baseline)
	}
	return nil
}
