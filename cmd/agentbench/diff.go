package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
)

// diffFlags say what is compared, how, and what makes it fail.
type diffFlags struct {
	reportFlags
	compareFlags
	thresholdFlags
	gateFlags
	baseline, baselines string
	vary                []string
	strict, sequential  bool
}

func (p *program) diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:     "diff BASE NEW | diff --baseline NAME DIR | diff DIR",
		Short:   "Tell whether results are better, worse, or whether one cannot tell",
		GroupID: "look",
		Long: `Compares results with earlier ones, task by task: each score, cost, tokens, latency,
iterations and calls, with the interval of the difference and a verdict. BASE and NEW are
result folders, baseline files or names of baselines; FOLDER:CONFIGURATION is one of its
configurations. Configurations of the same name belong together; where each side has one
only, these two. One folder alone is compared with the suite's baseline.

Exit codes: 1 a gated line is worse (see --fail-on and --gate), a threshold does not hold,
or, with --strict, the specs differ in what --vary does not name; 5 too few runs could be
measured, the agent failed in every run of a side, or there is no task that both sides have.`,
		Args: arguments(1, 2, "two results, or one with --baseline or the suite's baseline"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return p.diff(c.Context(), args, &f)
		},
	}
	f.reportFlags.declare(c, reports.DiffTableNames)
	f.compareFlags.declare(c)
	f.thresholdFlags.declare(c)
	f.gateFlags.declare(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "compare with the baseline of this name")
	declareBaselines(c, &f.baselines)
	c.Flags().StringArrayVar(&f.vary, "vary", nil, "a path in the spec that is meant to differ, for example models.small or agent.temperature (repeatable)")
	c.Flags().BoolVar(&f.sequential, "sequential", false, "add the table sequential: evidence that may be looked at again and again while tasks come in")
	c.Flags().BoolVar(&f.strict, "strict", false, "fail where the specs differ in what --vary does not name")
	return c
}

func (f *diffFlags) validate() error {
	return firstOf(f.reportFlags.validate(), f.compareFlags.validate(), f.thresholdFlags.validate(), f.gateFlags.validate())
}

// diff compares and says what the result means.
func (p *program) diff(ctx context.Context, args []string, f *diffFlags) error {
	sides, err := p.openSides(args, f)
	if err != nil {
		return err
	}
	d, err := p.compare(sides, f)
	if err != nil {
		return err
	}
	d.gate()
	unanswered := d.judge(ctx)
	if err := p.write(d.Comparison, &f.reportFlags); err != nil {
		return err
	}
	if unanswered != nil {
		return unanswered
	}
	return p.answer(d)
}

// sides are what is compared. base is new where both are in the same folder.
type sides struct {
	base, new *place
	// within says that a folder's configurations are compared with its baseline.
	within bool
}

// openSides opens what the arguments name.
func (p *program) openSides(args []string, f *diffFlags) (*sides, error) {
	newest, err := p.openPlace(args[len(args)-1], f.baselines)
	if err != nil {
		return nil, err
	}
	switch {
	case len(args) == 2 && f.baseline != "":
		return nil, usage("agentbench diff --baseline NAME DIR, or agentbench diff BASE NEW", "--baseline %s stands in the place of BASE", f.baseline)
	case len(args) == 1 && f.baseline == "":
		return withinOne(newest)
	}
	var base *place
	if f.baseline != "" {
		base, err = openBaselineNamed(f.baseline, f.baselines)
	} else {
		base, err = p.openPlace(args[0], f.baselines)
	}
	if err != nil {
		return nil, err
	}
	s := &sides{base: base, new: newest}
	if sameFile(base.Path, newest.Path) {
		return s, s.distinct()
	}
	return s, nil
}

// withinOne compares the configurations of a folder with its baseline.
func withinOne(at *place) (*sides, error) {
	m := &at.Manifest
	switch {
	case m.Baseline == "":
		return nil, usage("declare baseline: in the suite, name two results, or use --baseline NAME", "the suite of %s has no baseline to compare with", at.Path)
	case len(m.Configurations) < 2 || at.configuration == m.Baseline:
		return nil, usage("name two results: agentbench diff BASE NEW", "%s holds nothing beside its baseline %s", at.Path, printable(m.Baseline))
	}
	base := *at
	base.configuration = m.Baseline
	return &sides{base: &base, new: at, within: at.configuration == ""}, nil
}

// distinct refuses a comparison of results with themselves.
func (s *sides) distinct() error {
	if s.base.configuration == s.new.configuration || s.base.configuration == "" || s.new.configuration == "" {
		names := configurationNames(&s.new.Manifest)
		hint := "name two other results"
		if len(names) > 1 {
			hint = fmt.Sprintf("name two of its configurations: %s %s", shellWord(s.base.text+":"+names[0]), shellWord(s.new.text+":"+names[1]))
		}
		return usage(hint, "BASE and NEW are the same: %s", s.new.Path)
	}
	return nil
}

// one says that both sides are in the same folder or file.
func (s *sides) one() bool { return s.within || sameFile(s.base.Path, s.new.Path) }

// compare reads both sides and compares them.
func (p *program) compare(s *sides, f *diffFlags) (*diffed, error) {
	suites := []*record.Manifest{&s.new.Manifest, &s.base.Manifest}
	options, err := f.options(suites...)
	err = firstOf(err, f.recorded(&s.new.Manifest, &s.base.Manifest))
	for _, name := range f.gates {
		err = firstOf(err, compared(name, suites))
	}
	if err != nil {
		return nil, err
	}
	options.Sequential = f.sequential || slices.Contains(f.tables, "sequential")
	base, newest, err := p.collectBoth(s)
	if err != nil {
		return nil, err
	}
	d := &diffed{base: base, newest: newest, sides: s, flags: f}
	if d.bounds, err = boundsOf(&s.new.Manifest); err != nil {
		return nil, err
	}
	if s.within {
		d.Comparison, err = within(newest, options, s.new)
		return d, err
	}
	options.BaseName, options.NewName = s.base.text, s.new.text
	options.BaseConfiguration, options.NewConfiguration = s.base.configuration, s.new.configuration
	if err := p.checkVary(s, f); err != nil {
		return nil, err
	}
	if options.Spec, err = specOf(s, f.vary); err != nil {
		return nil, err
	}
	d.Comparison, err = reports.Diff(base, newest, options)
	return d, incomparable(err)
}

// checkVary tells of paths that neither spec has: a slip of the pen would declare
// nothing.
func (p *program) checkVary(s *sides, f *diffFlags) error {
	unknown, known, err := unknownVary(s, f.vary)
	if err != nil {
		return fail(notMeasured, "", "comparing the specs: %w", err)
	}
	for _, path := range unknown {
		hint := didYouMean(path, known, "the table spec lists the paths that differ")
		if f.strict {
			return usage(hint, "--vary %s: neither spec has such a path", path)
		}
		fmt.Fprintf(p.err, "agentbench: warning: --vary %s: neither spec has such a path\nhint: %s\n", printable(path), printable(hint))
	}
	return nil
}

// within compares the configurations of a report with its baseline.
func within(r *reports.Report, options reports.DiffOptions, at *place) (*reports.Comparison, error) {
	c, err := reports.DiffBaseline(r, options)
	if err == nil && c == nil {
		return nil, fail(notMeasured, "agentbench show "+shellWord(at.Path)+" lists the runs", "in %s there are no runs of the baseline %s and of another configuration", at.Path, printable(r.Baseline))
	}
	return c, incomparable(err)
}

// incomparable says what to do about sides that cannot be compared.
func incomparable(err error) error {
	switch {
	case errors.Is(err, compare.ErrNoCommonTask):
		return fail(notMeasured, "are they of the same suite? --unpaired compares all runs of one with all of the other", "%w", err)
	case errors.Is(err, reports.ErrNoPair):
		return usage("", "%w", err)
	case err != nil:
		return fail(notMeasured, "", "comparing: %w", err)
	}
	return nil
}

// collectBoth reads what both sides say, at the same time, and tells the damage
// of each. Where both are in one place, the reports are the same.
func (p *program) collectBoth(s *sides) (base, newest *reports.Report, err error) {
	if s.one() {
		newest, err = p.collectPlace(s.new)
		return newest, newest, err
	}
	defer leanly()()
	var reading errgroup.Group
	reading.Go(func() (err error) {
		base, err = collectResults(s.base.Results, wholeRecords)
		return err
	})
	reading.Go(func() (err error) {
		newest, err = collectResults(s.new.Results, wholeRecords)
		return err
	})
	if err := reading.Wait(); err != nil {
		return nil, nil, err
	}
	p.tellDamage(newest, s.new.Results)
	p.tellDamage(base, s.base.Results)
	return base, newest, nil
}

// collectPlace reads what a place says, and tells its damage.
func (p *program) collectPlace(at *place) (*reports.Report, error) {
	defer leanly()()
	r, err := collectResults(at.Results, wholeRecords)
	if err == nil {
		p.tellDamage(r, at.Results)
	}
	return r, err
}
