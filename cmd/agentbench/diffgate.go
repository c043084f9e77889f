package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/spec"
)

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
		return usage(didYouMean(f.failOn, failOns, "there are: "+strings.Join(failOns, ", ")), "--fail-on %s: there is nothing of that name", f.failOn)
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
			return usage("docs/compare.md lists what thresholds read", "--threshold %s: %w", text, err)
		}
	}
	return nil
}

// diffed is a comparison that was made.
type diffed struct {
	*reports.Comparison
	base, newest *reports.Report // the same where both sides are in one place
	bounds       bounds          // of the new side's suite
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
	d.Thresholds = reports.Thresholds(ctx, d.newest, reports.ThresholdOptions{Comparison: d.Comparison, MinCoverage: d.bounds.coverage()}, texts)
	return nil
}

// answerable says why a comparison has no answer, if it has none.
func (d *diffed) answerable() error {
	least := d.bounds.coverage()
	for i := range d.Pairs {
		for _, side := range []*reports.PairSide{&d.Pairs[i].Base, &d.Pairs[i].New} {
			if side.Runs == 0 || float64(side.Runs) < least*float64(side.Expected) {
				return fail(notMeasured, "let agentbench run make the rest, or lower min_coverage in the suite", "%s: %d of %s could be measured; min_coverage is %v",
					printable(sideName(side)), side.Runs, count(side.Expected, "run", "runs"), least)
			}
		}
	}
	return firstOf(d.agentFailed(), d.gatesOpen(), d.strict())
}

// agentFailed says that a side measured nothing, because the agent failed in every
// run.
func (d *diffed) agentFailed() error {
	for _, side := range []struct {
		at *place
		of *reports.Report
	}{{d.sides.base, d.base}, {d.sides.new, d.newest}} {
		var f *failure
		if err := agentFailedError(side.at.Path, side.of); errors.As(err, &f) {
			return fail(f.code, f.hint, "%s: %w", printable(side.at.Path), f.err)
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
			return fail(notMeasured, "name one configuration of each side, or --fail-on none to gate nothing",
				"%s and %s have no common task: nothing of %s could be compared", printable(sideName(&p.Base)), printable(sideName(&p.New)), printable(p.Name))
		}
	}
	gated := 0
	for line := range d.lines() {
		if !line.Gated {
			continue
		}
		gated++
		if !line.Change.Known() {
			return fail(notMeasured, "--gate names other lines, --fail-on none gates nothing", "%s of %s could not be compared: %s",
				printable(line.Quantity), printable(line.pair.Name), line.Change.Why())
		}
		if least, all := d.bounds.coverage(), line.Runs+line.LeftOut; float64(line.Runs) < least*float64(all) {
			return fail(notMeasured, "agentbench report tells of runs without a score or a price; --gate names other lines, --fail-on none gates nothing",
				"%s of %s could be compared in %d of %s; min_coverage is %v", printable(line.Quantity), printable(line.pair.Name), line.Runs, count(all, "pair of runs", "pairs of runs"), least)
		}
	}
	switch scored := len(d.sides.new.Manifest.Scorers)+len(d.sides.base.Manifest.Scorers) > 0; {
	case gated > 0 || d.FailOn == failOnNothing:
	case len(d.flags.gates) > 0:
		return fail(notMeasured, "--fail-on none gates nothing", "the sides have nothing in common that --gate names")
	case scored:
		return fail(notMeasured, "--gate cost_usd gates an amount, --fail-on none nothing", "the sides have no score in common")
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
	var f *failure
	if errors.As(threshold, &f) && f.code != answerNo {
		return threshold
	}
	return firstOf(p.gated(d), threshold)
}

// firstOf is the first error that is one.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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
			fmt.Fprintf(p.err, "%s: %s of %s\n  %s\n", strings.ReplaceAll(string(line.Verdict), "_", " "), printable(line.Quantity), printable(line.pair.Name), line.Numbers())
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
	return fail(answerNo, hint, "%d of %s %s", wrong, count(gated, "gated line", "gated lines"), what)
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
	return fail(answerNo, "--vary "+shellWord(paths[0])+" declares it", "the specs differ in %s: %s", count(len(paths), "undeclared place", "undeclared places"), printable(some(paths)))
}
