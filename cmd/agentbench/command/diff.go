package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
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
	return cmp.Or(f.reportFlags.validate(), f.compareFlags.validate(), f.thresholdFlags.validate(), f.gateFlags.validate())
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
	base, new *results.Place
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
		return nil, exit.Usage("agentbench diff --baseline NAME DIR, or agentbench diff BASE NEW", "--baseline %s stands in the place of BASE", f.baseline)
	case len(args) == 1 && f.baseline == "":
		return withinOne(newest)
	}
	var base *results.Place
	if f.baseline != "" {
		base, err = results.OpenNamed(f.baseline, f.baselines)
	} else {
		base, err = p.openPlace(args[0], f.baselines)
	}
	if err != nil {
		return nil, err
	}
	s := &sides{base: base, new: newest}
	return s, base.Distinct(newest)
}

// withinOne compares the configurations of a folder with its baseline.
func withinOne(at *results.Place) (*sides, error) {
	m := &at.Manifest
	switch {
	case m.Baseline == "":
		return nil, exit.Usage("declare baseline: in the suite, name two results, or use --baseline NAME", "the suite of %s has no baseline to compare with", at.Path)
	case len(m.Configurations) < 2 || at.Configuration == m.Baseline:
		return nil, exit.Usage("name two results: agentbench diff BASE NEW", "%s holds nothing beside its baseline %s", at.Path, page.Visible(m.Baseline))
	}
	base := *at
	base.Configuration = m.Baseline
	return &sides{base: &base, new: at, within: at.Configuration == ""}, nil
}

// one says that both sides are in the same folder or file.
func (s *sides) one() bool { return s.within || s.base.Same(s.new) }

// compare reads both sides and compares them.
func (p *program) compare(s *sides, f *diffFlags) (*diffed, error) {
	suites := []*record.Manifest{&s.new.Manifest, &s.base.Manifest}
	options, err := f.options(suites...)
	err = cmp.Or(err, f.recorded(&s.new.Manifest, &s.base.Manifest))
	for _, name := range f.gates {
		err = cmp.Or(err, compared(name, suites))
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
	if d.bounds, err = results.BoundsOf(&s.new.Manifest); err != nil {
		return nil, err
	}
	if s.within {
		d.Comparison, err = within(newest, options, s.new)
		return d, err
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
		fmt.Fprintf(p.err, "agentbench: warning: %s\nhint: %s\n", page.Visible(path.Error()), page.Visible(path.Hint))
	}
	if options.Spec, err = changes(s, f.vary); err != nil {
		return nil, err
	}
	d.Comparison, err = reports.Diff(base, newest, options)
	return d, incomparable(err)
}

// within compares the configurations of a report with its baseline.
func within(r *reports.Report, options reports.DiffOptions, at *results.Place) (*reports.Comparison, error) {
	c, err := reports.DiffBaseline(r, options)
	if err == nil && c == nil {
		return nil, exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(at.Path)+" lists the runs", "in %s there are no runs of the baseline %s and of another configuration", at.Path, page.Visible(r.Baseline))
	}
	return c, incomparable(err)
}

// incomparable says what to do about sides that cannot be compared.
func incomparable(err error) error {
	switch {
	case errors.Is(err, compare.ErrNoCommonTask):
		return exit.With(exit.NotMeasured, "are they of the same suite? --unpaired compares all runs of one with all of the other", "%w", err)
	case errors.Is(err, reports.ErrNoPair):
		return exit.Usage("", "%w", err)
	case err != nil:
		return exit.With(exit.NotMeasured, "", "comparing: %w", err)
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
func (p *program) collectPlace(at *results.Place) (*reports.Report, error) {
	defer leanly()()
	r, err := collectResults(at.Results, wholeRecords)
	if err == nil {
		p.tellDamage(r, at.Results)
	}
	return r, err
}

// compareFlags say how results are compared.
type compareFlags struct {
	margins  []string
	alpha    float64
	unpaired bool
}

func (f *compareFlags) declare(c *cobra.Command) {
	f.declareMargins(c)
	c.Flags().BoolVar(&f.unpaired, "unpaired", false, "compare all runs of one side with all of the other, though tasks could be paired")
}

func (f *compareFlags) declareMargins(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.margins, "margin", nil, "smallest change that matters: of scores 0.02, of amounts 5%, of one of them close=0.05 or cost_usd=10% (repeatable)")
	c.Flags().Float64Var(&f.alpha, "alpha", compare.DefaultAlpha, "p below which a change is shown")
}

func (f *compareFlags) validate() error {
	if !(f.alpha > 0 && f.alpha < 1) {
		return exit.Usage("the usual one is 0.05", "--alpha %v: want a number between 0 and 1", f.alpha)
	}
	for _, text := range f.margins {
		if _, _, err := marginOf(text); err != nil {
			return err
		}
	}
	return nil
}

// options are those of a comparison: what the suites say, the first of them
// first, and over that the flags.
func (f *compareFlags) options(suites ...*record.Manifest) (reports.DiffOptions, error) {
	of := margins{}
	for i := len(suites) - 1; i >= 0; i-- {
		maps.Copy(of, results.MarginsOf(suites[i]))
	}
	for _, text := range f.margins {
		name, value, err := marginOf(text)
		if err != nil {
			return reports.DiffOptions{}, err
		}
		if err := compared(name, suites); err != nil {
			return reports.DiffOptions{}, err
		}
		of[name] = value
	}
	return reports.DiffOptions{Options: compare.Options{
		Alpha: f.alpha, ScoreMargin: of.take(spec.AllScores), RatioMargin: of.take(spec.AllAmounts), Margins: of, Unpaired: f.unpaired,
	}}, nil
}

// marginOf reads a margin: 0.02, 5%, NAME=0.05 or NAME=10%.
func marginOf(text string) (name string, value float64, err error) {
	number := text
	if before, after, ok := strings.Cut(text, "="); ok {
		name, number = before, after
	}
	share := strings.HasSuffix(number, "%")
	value, err = strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64)
	if err != nil || !(value >= 0 && value <= 1e6) {
		return "", 0, exit.Usage("for example --margin 0.02 for scores, --margin 5% for amounts, --margin close=0.05", "--margin %s: want a number from 0 on", text)
	}
	if name == "" && !share && value > 1 {
		return "", 0, exit.Usage("0.05 is 5 points of a score, 5% are for amounts; a score that goes further has a margin by its name", "--margin %s: scores go from 0 to 1", text)
	}
	if share {
		value /= 100
	}
	switch {
	case name == "" && share:
		name = spec.AllAmounts
	case name == "":
		name = spec.AllScores
	}
	return name, value, nil
}

// compared refuses the name of what is not compared.
func compared(name string, suites []*record.Manifest) error {
	names := append([]string{spec.AllScores, spec.AllAmounts}, spec.Amounts...)
	for _, m := range suites {
		names = append(names, m.Scorers...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return exit.Usage(exit.DidYouMean(name, names, "there are: "+exit.Some(names)), "nothing that is compared is called %q", name)
}

// margins are smallest changes that matter, by what they are of.
type margins map[string]float64

// take removes a margin. 0, which means the default to a comparison, becomes
// none.
func (m margins) take(name string) float64 {
	value, ok := m[name]
	delete(m, name)
	if ok && value == 0 {
		return -1
	}
	return value
}

// gateFlags say which lines of a comparison make it fail.
type gateFlags struct {
	failOn string
	gates  []string
}

// What --fail-on takes.
const (
	failOnWorse      = reports.FailOnWorse
	failOnCannotTell = reports.FailOnCannotTell
	failOnNothing    = reports.FailOnNothing
)

var failOns = []string{failOnWorse, failOnCannotTell, failOnNothing}

func (f *gateFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.failOn, "fail-on", failOnWorse, "exit with 1 if a gated line is worse; cannot-tell: also if one cannot tell; none: never")
	c.Flags().StringArrayVar(&f.gates, "gate", nil, "gate this line: a score, an amount such as cost_usd, scores or amounts (repeatable; default scores)")
	_ = c.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(failOns, cobra.ShellCompDirectiveNoFileComp))
}

func (f *gateFlags) validate() error {
	if !slices.Contains(failOns, f.failOn) {
		return exit.Usage(exit.DidYouMean(f.failOn, failOns, "there are: "+strings.Join(failOns, ", ")), "--fail-on %s: there is nothing of that name", f.failOn)
	}
	return nil
}

// thresholdFlags are CEL bounds from the command line.
type thresholdFlags struct{ texts []string }

func (f *thresholdFlags) declare(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.texts, "threshold", nil, `exit with 1 if this CEL does not hold, for example 'diff.cost_usd.change < 0.1' (repeatable)`)
}

func (f *thresholdFlags) validate() error {
	for _, text := range f.texts {
		if err := reports.CheckThreshold(text); err != nil {
			return exit.Usage("docs/compare.md lists what thresholds read", "--threshold %s: %w", text, err)
		}
	}
	return nil
}

// diffed is a comparison that was made.
type diffed struct {
	*reports.Comparison
	base, newest *reports.Report // the same where both sides are in one place
	bounds       results.Bounds  // of the new side's suite
	sides        *sides
	flags        *diffFlags
}

// judge puts into a comparison what the thresholds say, or why that cannot be
// told, which is an error of its own.
func (d *diffed) judge(ctx context.Context) error {
	if err := d.answerable(); err != nil {
		d.Unanswered = err.Error()
		return err
	}
	texts := d.flags.texts
	for _, text := range d.bounds.Thresholds {
		if reports.ReadsDiff(text) {
			texts = append(texts, text)
		}
	}
	d.Thresholds = reports.Thresholds(ctx, d.newest, reports.ThresholdOptions{Comparison: d.Comparison, MinCoverage: d.bounds.MinCoverage}, texts)
	return nil
}

// answerable says why a comparison has no answer, if it has none.
func (d *diffed) answerable() error {
	least := d.bounds.MinCoverage
	for i := range d.Pairs {
		for _, side := range []*reports.PairSide{&d.Pairs[i].Base, &d.Pairs[i].New} {
			if side.Runs == 0 || float64(side.Runs) < least*float64(side.Expected) {
				return exit.With(exit.NotMeasured, "let agentbench run make the rest, or lower min_coverage in the suite", "%s: %d of %s could be measured; min_coverage is %v",
					page.Visible(sideName(side)), side.Runs, page.Plural(side.Expected, "run", "runs"), least)
			}
		}
	}
	return cmp.Or(d.agentFailed(), d.gatesOpen(), d.strict())
}

// agentFailed says that a side measured nothing, because the agent failed in every
// run.
func (d *diffed) agentFailed() error {
	for _, side := range []struct {
		at *results.Place
		of *reports.Report
	}{{d.sides.base, d.base}, {d.sides.new, d.newest}} {
		var f *exit.Error
		if err := agentFailedError(side.at.Path, side.of); errors.As(err, &f) {
			return exit.With(f.Code, f.Hint, "%s: %w", page.Visible(side.at.Path), f.Err)
		}
	}
	return nil
}

func sideName(s *reports.PairSide) string {
	if s.Where == "" {
		return s.Configuration
	}
	return s.Where + ":" + s.Configuration
}

// gate marks the lines that --gate names, of all pairs, and those of the scores
// where it names none.
func (d *diffed) gate() {
	d.FailOn = d.flags.failOn
	if d.FailOn == failOnNothing {
		return
	}
	for line := range d.lines() {
		line.Gated = d.isGated(line.Difference)
	}
}

// line is a quantity of a pair.
type line struct {
	pair *reports.Pair
	*reports.Difference
}

func (d *diffed) lines() iter.Seq[line] {
	return func(yield func(line) bool) {
		for i := range d.Pairs {
			for k := range d.Pairs[i].Differences {
				if !yield(line{&d.Pairs[i], &d.Pairs[i].Differences[k]}) {
					return
				}
			}
		}
	}
}

// gatesOpen says why the gated lines have no answer, if they have none.
func (d *diffed) gatesOpen() error {
	for i := range d.Pairs {
		if p := &d.Pairs[i]; len(p.Differences) == 0 && d.FailOn != failOnNothing {
			return exit.With(exit.NotMeasured, "name one configuration of each side, or --fail-on none to gate nothing",
				"%s and %s have no common task: nothing of %s could be compared", page.Visible(sideName(&p.Base)), page.Visible(sideName(&p.New)), page.Visible(p.Name))
		}
	}
	gated := 0
	for line := range d.lines() {
		if !line.Gated {
			continue
		}
		gated++
		if !line.Change.Known() {
			return exit.With(exit.NotMeasured, "--gate names other lines, --fail-on none gates nothing", "%s of %s could not be compared: %s",
				page.Visible(line.Quantity), page.Visible(line.pair.Name), line.Change.Why())
		}
		if least, all := d.bounds.MinCoverage, line.Runs+line.LeftOut; float64(line.Runs) < least*float64(all) {
			return exit.With(exit.NotMeasured, "agentbench report tells of runs without a score or a price; --gate names other lines, --fail-on none gates nothing",
				"%s of %s could be compared in %d of %s; min_coverage is %v", page.Visible(line.Quantity), page.Visible(line.pair.Name), line.Runs, page.Plural(all, "pair of runs", "pairs of runs"), least)
		}
	}
	switch scored := len(d.sides.new.Manifest.Scorers)+len(d.sides.base.Manifest.Scorers) > 0; {
	case gated > 0 || d.FailOn == failOnNothing:
	case len(d.flags.gates) > 0:
		return exit.With(exit.NotMeasured, "--fail-on none gates nothing", "the sides have nothing in common that --gate names")
	case scored:
		return exit.With(exit.NotMeasured, "--gate cost_usd gates an amount, --fail-on none nothing", "the sides have no score in common")
	}
	return nil
}

func (d *diffed) isGated(line *reports.Difference) bool {
	group := spec.AllAmounts
	if line.Score {
		group = spec.AllScores
	}
	gates := d.flags.gates
	return len(gates) == 0 && line.Score || slices.Contains(gates, line.Quantity) || slices.Contains(gates, group)
}

// answer turns a comparison into an exit code, and says why it is not 0.
func (p *program) answer(d *diffed) error {
	threshold := p.thresholds(d.Thresholds, false)
	var f *exit.Error
	if errors.As(threshold, &f) && f.Code != exit.AnswerNo {
		return threshold
	}
	return cmp.Or(p.gated(d), threshold)
}

// gated says which gated lines fail.
func (p *program) gated(d *diffed) error {
	gated, wrong, untold := 0, 0, 0
	for line := range d.lines() {
		if line.Gated {
			gated++
		}
		if d.Fails(line.Difference) {
			wrong++
			if line.Verdict == compare.CannotTell {
				untold++
			}
			fmt.Fprintf(p.err, "%s: %s of %s\n  %s\n", strings.ReplaceAll(string(line.Verdict), "_", " "), page.Visible(line.Quantity), page.Visible(line.pair.Name), line.Numbers())
		}
	}
	if wrong == 0 {
		return nil
	}
	hint := "--fail-on none only shows it"
	if untold == wrong {
		hint = "agentbench plan SUITE --detect 0.05 says how many tasks show 5 points; --fail-on worse lets it pass"
	}
	what := "is"
	if wrong > 1 {
		what = "are"
	}
	what += " worse"
	if d.flags.failOn == failOnCannotTell {
		what += ", or cannot be told"
	}
	return exit.With(exit.AnswerNo, hint, "%d of %s %s", wrong, page.Plural(gated, "gated line", "gated lines"), what)
}

// strict refuses differences between the specs that were not declared.
func (d *diffed) strict() error {
	if !d.flags.strict {
		return nil
	}
	var paths []string
	for _, s := range d.Spec {
		if !s.Declared {
			paths = append(paths, s.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return exit.With(exit.AnswerNo, "--vary "+exit.ShellWord(paths[0])+" declares it", "the specs differ in %s: %s", page.Plural(len(paths), "undeclared place", "undeclared places"), page.Visible(exit.Some(paths)))
}

// changes are the differences between the specs of both sides, as comparisons have them.
func changes(s *sides, vary []string) (all []reports.SpecDifference, err error) {
	found, err := results.Changes(s.base, s.new, vary)
	for _, c := range found {
		all = append(all, reports.SpecDifference(c))
	}
	return all, err
}
