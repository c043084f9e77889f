package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/suites"
)

type judgedFlags struct {
	reportFlags
	againstFlags
	thresholdFlags
	alsoPage
}

func (p *program) reportCommand() *cobra.Command {
	var f judgedFlags
	c := &cobra.Command{
		Use:     "report DIR | FILE",
		Short:   "Compare the configurations in a result folder",
		GroupID: "look",
		Long: `Compares the configurations in a result folder or baseline file. Equal runs give equal
reports, byte for byte, so what the cache saved and what was really paid goes to stderr,
and in JSON to "volatile". Only thresholds given with --threshold can fail it.`,
		Args: arguments(1, 1, "one result folder or baseline file"),
		RunE: func(c *cobra.Command, args []string) error { return p.report(c.Context(), args[0], &f) },
	}
	f.reportFlags.declare(c, reports.TableNames)
	f.declareAll(c)
	f.againstFlags.declare(c)
	f.thresholdFlags.declare(c)
	f.alsoPage.declare(c)
	return c
}

// report writes a report of a folder or of a baseline, and judges the thresholds
// that were given with it.
func (p *program) report(ctx context.Context, path string, f *judgedFlags) error {
	at, err := p.openWhole(path, f.baselines, "report compares all of them")
	if err != nil {
		return err
	}
	budget, results := results.BudgetOf(at.Results), at.Results
	if err := f.recorded(&results.Manifest); err != nil {
		return err
	}
	r, err := reports.Of(at.Results)
	if err != nil {
		return err
	}
	if err := p.differ(r, results, &f.againstFlags); err != nil {
		return err
	}
	unanswered := p.judgeReport(ctx, r, results, f.texts)
	r.Where = exit.ShellWord(path)
	adviseRecorded(r, results)
	if _, ships := suites.Find(r.Suite); ships {
		r.Named = exit.ShellWord(r.Suite)
	}
	if err = p.write(r, &f.reportFlags); err != nil {
		return err
	}
	if err = p.writeAlso(&f.alsoPage, r, p.sourcesOf(r.Differences, at)); err != nil {
		return err
	}
	if r.Volatile != nil {
		fmt.Fprintln(p.err, r.Volatile.Text())
		p.tellSpent(r.Volatile, budget)
	}
	return p.verdict(r, unanswered, &f.reportFlags, false, true)
}

// advise tells the summary what a report alone does not know of its suite: whether a scorer can judge what programs
// left at their steps, and whether programs kept silent on their usage.
func advise(r *reports.Report, s *spec.Suite) {
	r.OutputsOnly = !slices.ContainsFunc(s.Scorers, func(scorer spec.Scorer) bool { return !scorer.AsksModels(s.Scorers) })
	r.Silent = slices.ContainsFunc(r.Configurations, silent)
}

// silent holds for a configuration whose agent did not report its usage.
func silent(c reports.Configuration) bool {
	told := slices.ContainsFunc(c.Warnings, func(w reports.Warning) bool { return w.Kind == reports.Unreported })
	return told && !c.Calls.Known()
}

// adviseRecorded is advise for results, as far as their suite can be read. That of an imported log advises nothing.
func adviseRecorded(r *reports.Report, of *record.Results) {
	advised := func(c reports.Configuration) bool { return c.KeptSteps || silent(c) }
	if !slices.ContainsFunc(r.Configurations, advised) {
		return
	}
	if folder, err := results.Open(of, nil); err == nil && !folder.Imported {
		advise(r, folder.Document.Suite)
	}
}

// judgeReport puts into a report what thresholds say, or why that cannot be told.
func (p *program) judgeReport(ctx context.Context, r *reports.Report, of *record.Results, texts []string) error {
	if err := r.AnyCounts(of.Path); err != nil && len(texts) == 0 {
		return err
	}
	b, err := results.BoundsOf(of)
	switch {
	case len(texts) == 0: // the suite's bounds are not read
		err = r.AgentFailed(of.Path)
	case err == nil:
		err = r.Answerable(of.Path, &of.Manifest, of.Manifest.Totals.Planned, b.MinCoverage)
	}
	return answered(ctx, r, err, reports.ThresholdOptions{MinCoverage: b.MinCoverage}, texts)
}

// answered puts into a report what thresholds say, or why that cannot be told, which is an
// error of its own.
func answered(ctx context.Context, r *reports.Report, unanswered error, o reports.ThresholdOptions, texts []string) error {
	if unanswered != nil {
		r.Unanswered = unanswered.Error()
		return unanswered
	}
	o.Comparison = r.Differences
	r.Thresholds = reports.Thresholds(ctx, r, o, texts)
	return nil
}

// differ puts into a report what differs from the baseline that was asked for,
// else from the suite's.
func (p *program) differ(r *reports.Report, of *record.Results, f *againstFlags) error {
	options, err := f.options(of)
	if err != nil {
		return err
	}
	r.Options = options.Options
	if f.baseline == "" {
		r.Differences, err = reports.DiffBaseline(r, options)
	} else {
		r.Differences, err = p.differFrom(r, of, f, options)
	}
	if err != nil {
		return reports.Incomparable(err)
	}
	if r.Differences != nil {
		r.Differences.DropFlips()
	}
	return nil
}

// differFrom compares a report with the baseline that was asked for.
func (p *program) differFrom(r *reports.Report, of *record.Results, f *againstFlags, options reports.DiffOptions) (*reports.Comparison, error) {
	at, err := results.OpenNamed(f.baseline, f.baselines)
	if err != nil {
		return nil, err
	}
	base, err := reports.Of(at.Results)
	if err != nil {
		return nil, err
	}
	if options.Spec, err = changes(at, &results.Place{Text: of.Path, Results: of}, nil); err != nil {
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
			return exit.With(exit.WrongSpec, "declare baseline: in the suite, or add --baseline NAME", "a threshold reads diff, but no baseline is set: %s", text)
		}
	}
	return nil
}

// coupled refuses a baseline with which no planned configuration belongs
// together.
func (f *runFlags) coupled(planned *plan.Plan) error {
	at, err := results.OpenNamed(f.baseline, f.baselines)
	if err != nil {
		return err
	}
	var m record.Manifest
	for i := range planned.Configurations {
		c := &planned.Configurations[i]
		m.Configurations = append(m.Configurations, record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases})
	}
	if len(results.Couples(at, &results.Place{Results: &record.Results{Manifest: m}})) == 0 {
		return exit.Usage("the baseline has: "+exit.Some(results.Names(&at.Manifest)), "no configuration of the suite has the name of one in the baseline %q", f.baseline)
	}
	return nil
}
