package reports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// FailOns are what a gated line can fail on.
var FailOns = []string{FailOnWorse, FailOnCannotTell, FailOnNothing}

// Gates say which lines of a comparison make it fail.
type Gates struct {
	FailOn string
	// Lines are scores, amounts such as cost_usd, or the groups scores and amounts; none:
	// all scores.
	Lines       []string
	MinCoverage float64
	// Scored says that one of the sides has scorers.
	Scored bool
	// Strict fails where the specs differ undeclared.
	Strict bool
}

// Gate marks the lines that are gated.
func (c *Comparison) Gate(g Gates) {
	c.FailOn = g.FailOn
	for line := range c.differences() {
		group := "amounts"
		if line.Score {
			group = "scores"
		}
		gated := len(g.Lines) == 0 && line.Score || slices.Contains(g.Lines, line.Name) || slices.Contains(g.Lines, group)
		line.Gated = gated && g.FailOn != FailOnNothing
	}
}

// Answerable says why a comparison of two reports in these places has no answer, if it
// has none.
func (c *Comparison) Answerable(g Gates, base, newest *Report, basePath, newPath string) error {
	for i := range c.Pairs {
		for _, side := range []*PairSide{&c.Pairs[i].Base, &c.Pairs[i].New} {
			if side.Runs == 0 || float64(side.Runs) < g.MinCoverage*float64(side.Expected) {
				return exit.With(exit.NotMeasured, "let agentbench run make the rest, or lower min_coverage in the suite", "%s: %d of %s could be measured; min_coverage is %v",
					page.Visible(side.named()), side.Runs, page.Plural(side.Expected, "run", "runs"), g.MinCoverage)
			}
		}
	}
	for i, side := range []*Report{base, newest} {
		var f *exit.Error
		path := []string{basePath, newPath}[i]
		if err := side.AgentFailed(path); errors.As(err, &f) {
			return exit.With(f.Code, f.Hint, "%s: %w", page.Visible(path), f.Err)
		}
	}
	return cmp.Or(c.gatesOpen(g), c.strict(g))
}

// gatesOpen says why the gated lines have no answer, if they have none.
func (c *Comparison) gatesOpen(g Gates) error {
	if c.FailOn == FailOnNothing {
		return nil
	}
	for i := range c.Pairs {
		if p := &c.Pairs[i]; len(p.Differences) == 0 {
			return exit.With(exit.NotMeasured, "name one configuration of each side, or --fail-on none to gate nothing",
				"%s and %s have no common task: nothing of %s could be compared", page.Visible(p.Base.named()), page.Visible(p.New.named()), page.Visible(p.Name))
		}
	}
	gated := 0
	for line := range c.differences() {
		if !line.Gated {
			continue
		}
		gated++
		what := page.Visible(line.Name) + " of " + page.Visible(line.pair.Name)
		if !line.Value(line.Change).Known() {
			return exit.With(exit.NotMeasured, "--gate names other lines, --fail-on none gates nothing", "%s could not be compared: %s", what, line.Value(line.Change).Why())
		}
		if all := line.Runs + line.LeftOut; float64(line.Runs) < g.MinCoverage*float64(all) {
			return exit.With(exit.NotMeasured, "agentbench report lists runs without a score or a price; --gate names other lines, --fail-on none gates nothing",
				"%s could be compared in %d of %s; min_coverage is %v", what, line.Runs, page.Plural(all, "pair of runs", "pairs of runs"), g.MinCoverage)
		}
	}
	switch {
	case gated > 0:
	case len(g.Lines) > 0:
		return exit.With(exit.NotMeasured, "--fail-on none gates nothing", "the sides have nothing in common that --gate names")
	case g.Scored:
		return exit.With(exit.NotMeasured, "--gate cost_usd gates an amount, --fail-on none nothing", "the sides have no score in common")
	}
	return nil
}

// strict refuses differences between the specs that were not declared.
func (c *Comparison) strict(g Gates) error {
	var paths []string
	for _, s := range c.Spec {
		if !s.Declared {
			paths = append(paths, s.Path)
		}
	}
	if !g.Strict || len(paths) == 0 {
		return nil
	}
	return exit.With(exit.AnswerNo, "--vary "+exit.ShellWord(paths[0])+" declares it", "the specs differ in %s: %s", page.Plural(len(paths), "undeclared place", "undeclared places"), page.Visible(exit.Some(paths)))
}

// Gated is the error of gated lines that fail, and tells each of them.
func (c *Comparison) Gated(tell func(line string)) error {
	gated, wrong, untold := 0, 0, 0
	for line := range c.differences() {
		if line.Gated {
			gated++
		}
		if c.fails(line.Difference) {
			wrong++
			if line.Verdict == compare.CannotTell {
				untold++
			}
			tell(fmt.Sprintf("%s: %s of %s\n  %s", words(line.Verdict), page.Visible(line.Name), page.Visible(line.pair.Name), line.numbers()))
		}
	}
	if wrong == 0 {
		return nil
	}
	hint := "--fail-on none only shows it"
	if untold == wrong {
		hint = "agentbench plan SUITE --detect 0.05 computes how many tasks show 5 points; --fail-on worse accepts it"
	}
	what := "is worse"
	if wrong > 1 {
		what = "are worse"
	}
	if c.FailOn == FailOnCannotTell {
		what += ", or is inconclusive"
	}
	return exit.With(exit.AnswerNo, hint, "%d of %s %s", wrong, page.Plural(gated, "gated line", "gated lines"), what)
}

// Incomparable says what to do about sides that cannot be compared.
func Incomparable(err error) error {
	switch {
	case errors.Is(err, compare.ErrNoCommonTask):
		return exit.With(exit.NotMeasured, "are they of the same suite? --unpaired compares all runs of one with all of the other", "%w", err)
	case errors.Is(err, ErrNoPair):
		return exit.Usage("", "%w", err)
	case err != nil:
		return exit.With(exit.NotMeasured, "", "comparing: %w", err)
	}
	return nil
}

// DefaultAlpha is the usual significance level.
const DefaultAlpha = compare.DefaultAlpha
