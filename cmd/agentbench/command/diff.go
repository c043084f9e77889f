package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// diffFlags say what is compared, how, and what makes it fail.
type diffFlags struct {
	reportFlags
	compareFlags
	thresholdFlags
	alsoPage
	baseline, baselines string
	failOn              string
	gates               []string // lines of a comparison that make it fail
	vary                []string
	strict              bool
	again               string // the command line
}

func (p *program) diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:     "diff BASE NEW | diff --baseline NAME DIR | diff DIR",
		Short:   "Compare two results: better, worse, same or inconclusive",
		GroupID: "look",
		Long: `Compares two results task by task, with intervals and verdicts. BASE and NEW are result folders, baseline files or
names of baselines; FOLDER:CONFIGURATION selects one configuration. With one folder alone, its configurations are
compared with the suite's baseline.

Exit codes: 1 a gated line is worse (see --fail-on and --gate), a threshold fails, or, with --strict, the specs differ
in a path that --vary does not name; 5 too little to compare.`,
		Args: arguments(1, 2, "two results, or one with --baseline or the suite's baseline"),
		RunE: func(c *cobra.Command, args []string) error {
			f.again = commandLine(append([]string{"diff"}, args...), c.Flags(), "all", "format", "write", "page", "table", "color")
			return p.diff(c.Context(), args, &f)
		},
	}
	f.reportFlags.declare(c, reports.DiffTableNames)
	f.declareAll(c)
	f.compareFlags.declare(c)
	f.thresholdFlags.declare(c)
	f.failOn = reports.FailOnWorse
	choiceFlag(c, &f.failOn, "fail-on", reports.FailOns, "exit with 1 if a gated line is: worse, cannot-tell (worse or inconclusive), none (never)")
	c.Flags().StringArrayVar(&f.gates, "gate", nil, "line that can fail the command: a score, an amount such as cost_usd, scores or amounts (repeatable; default scores)")
	f.alsoPage.declare(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "compare with this baseline")
	declareBaselines(c, &f.baselines)
	c.Flags().StringArrayVar(&f.vary, "vary", nil, "path in the spec that may differ, for example models.small or agent.temperature (repeatable)")
	c.Flags().BoolVar(&f.strict, "strict", false, "exit with 1 if the specs differ in a path that --vary does not name")
	return c
}

func (p *program) diff(ctx context.Context, args []string, f *diffFlags) error {
	s, err := p.openSides(args, f)
	if err != nil {
		return err
	}
	suites := []*record.Results{s.new.Results, s.base.Results}
	options, err := f.options(suites...)
	err = cmp.Or(err, f.recorded(&s.new.Manifest, &s.base.Manifest))
	for _, name := range f.gates {
		err = cmp.Or(err, results.Compared(name, suites...))
	}
	if err != nil {
		return err
	}
	base, newest, err := p.collectBoth(s)
	if err != nil {
		return err
	}
	bounds, err := results.BoundsOf(s.new.Results)
	if err != nil {
		return err
	}
	compared, err := p.compare(s, base, newest, options, f)
	if err != nil {
		return err
	}
	gates := reports.Gates{
		FailOn: f.failOn, Lines: f.gates, MinCoverage: bounds.MinCoverage, Scored: len(s.new.Manifest.Scorers)+len(s.base.Manifest.Scorers) > 0, Strict: f.strict,
	}
	compared.Gate(gates)
	unanswered := compared.Answerable(gates, base, newest, s.base.Path, s.new.Path)
	if unanswered != nil {
		compared.Unanswered = unanswered.Error()
	} else {
		readsDiff := slices.DeleteFunc(bounds.Thresholds, func(text string) bool { return !reports.ReadsDiff(text) })
		compared.Thresholds = reports.Thresholds(ctx, newest, reports.ThresholdOptions{Comparison: compared, MinCoverage: bounds.MinCoverage}, append(f.texts, readsDiff...))
	}
	compared.Again = f.again
	if err = p.write(compared, &f.reportFlags); err != nil {
		return err
	}
	if err = p.writeAlso(&f.alsoPage, compared, p.sourcesOf(compared, s.sides()...)); err != nil {
		return err
	}
	if unanswered != nil {
		return unanswered
	}
	threshold := reports.Judged(compared.Thresholds, p.onScreen(&f.reportFlags), p.note)
	var broken *exit.Error
	if errors.As(threshold, &broken) && broken.Code != exit.AnswerNo {
		return threshold
	}
	tell := p.note
	if p.onScreen(&f.reportFlags) && len(compared.Pairs) == 1 { // its table has each quantity
		tell = func(string) {}
	}
	return cmp.Or(compared.Gated(tell), threshold)
}

// sides are what is compared. base is new where both are in the same folder.
type sides struct {
	base, new *results.Place
	// within says that a folder's configurations are compared with its baseline.
	within bool
}

func (p *program) openSides(args []string, f *diffFlags) (*sides, error) {
	newest, err := p.openPlace(args[len(args)-1], f.baselines)
	if err != nil {
		return nil, err
	}
	var base *results.Place
	switch m := &newest.Manifest; {
	case len(args) == 2 && f.baseline != "":
		return nil, exit.Usage("agentbench diff --baseline NAME DIR, or agentbench diff BASE NEW", "--baseline %s already is BASE", f.baseline)
	case f.baseline != "":
		base, err = results.OpenNamed(f.baseline, f.baselines)
	case len(args) == 2:
		base, err = p.openPlace(args[0], f.baselines)
	case m.Baseline == "":
		return nil, exit.Usage("agentbench diff BASE "+exit.ShellWord(args[0])+", or --baseline NAME, or declare baseline: in the suite", "nothing to compare %s with: its suite has no baseline", newest.Path)
	case len(m.Configurations) < 2 || newest.Configuration == m.Baseline:
		return nil, exit.Usage("name two results, the older first: agentbench diff BASE "+exit.ShellWord(args[0]), "%s holds only its baseline %s", newest.Path, m.Baseline)
	default:
		within := *newest
		within.Configuration = m.Baseline
		return &sides{base: &within, new: newest, within: newest.Configuration == ""}, nil
	}
	if err != nil {
		return nil, err
	}
	return &sides{base: base, new: newest}, base.Distinct(newest)
}

func (p *program) compare(s *sides, base, newest *reports.Report, options reports.DiffOptions, f *diffFlags) (*reports.Comparison, error) {
	if s.within {
		compared, err := reports.DiffBaseline(newest, options)
		if err == nil && compared == nil {
			return nil, exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(s.new.Path)+" lists the runs", "%s has no runs of the baseline %s and of another configuration", s.new.Path, newest.Baseline)
		}
		return compared, reports.Incomparable(err)
	}
	options.BaseName, options.NewName = s.base.Text, s.new.Text
	options.BaseConfiguration, options.NewConfiguration = s.base.Configuration, s.new.Configuration
	unknown, err := results.Unknown(s.base, s.new, f.vary)
	if err != nil {
		return nil, err
	}
	for _, path := range unknown {
		if f.strict {
			return nil, exit.Usage(path.Hint, "%w", path)
		}
		p.note(fmt.Sprintf("agentbench: warning: %s\nhint: %s", page.Visible(path.Error()), page.Visible(path.Hint)))
	}
	if options.Spec, err = changes(s.base, s.new, f.vary); err != nil {
		return nil, err
	}
	compared, err := reports.Diff(base, newest, options)
	return compared, reports.Incomparable(err)
}

// changes are the differences between the specs of two places, as comparisons have them.
func changes(base, newest *results.Place, vary []string) (all []reports.SpecDifference, err error) {
	found, err := results.Changes(base, newest, vary)
	for _, c := range found {
		all = append(all, reports.SpecDifference(c))
	}
	return all, err
}

// collectBoth reads what both sides say, at the same time, and tells the damage of each.
// Where both are in one place, the reports are the same.
func (p *program) collectBoth(s *sides) (base, newest *reports.Report, err error) {
	one := s.within || s.base.Same(s.new)
	var reading errgroup.Group
	reading.Go(func() (err error) {
		newest, err = reports.Of(s.new.Results)
		return err
	})
	if !one {
		reading.Go(func() (err error) {
			base, err = reports.Of(s.base.Results)
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, nil, err
	}
	if one {
		return newest, newest, nil
	}
	return base, newest, nil
}
