package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// warn lists what a reader of a pair must know.
func (p *Pair) warn(base, new *Report, of couple) {
	add := func(is bool, w Warning) {
		if is {
			p.Warnings = append(p.Warnings, w)
		}
	}
	common := len(p.Differences) > 0
	add(!common, Warning{Kind: NothingCommon})
	add(common && !p.How.Paired, Warning{Kind: NotPaired, More: p.How.Why})
	add(p.How.Paired && p.How.BaseOnly+p.How.NewOnly > 0, Warning{Kind: OneSided, Count: p.How.BaseOnly, Of: p.How.NewOnly})
	add(p.How.Paired && p.How.LoneBase+p.How.LoneNew > 0, Warning{Kind: LoneTrials, Count: p.How.LoneBase, Of: p.How.LoneNew})
	x, y := p.Base.Coverage, p.New.Coverage
	add(x.Known() && y.Known() && x.Number != y.Number, Warning{Kind: CoverageDiffers, More: page.Percent(x) + " and " + page.Percent(y)})
	add(p.How.Paired && p.How.Tasks < fewTasks, Warning{Kind: FewCommon, Count: p.How.Tasks})
	kinds := []WarningKind{SimulatedModel, Faults, NotRun, AgentFailed, NotJSON, MixedLoops, OtherModel, Estimated}
	if base == new {
		kinds = kinds[:1] // the report tells the others itself
	}
	p.Warnings = append(p.Warnings, ofSide("base", &base.Configurations[of.base], kinds)...)
	p.Warnings = append(p.Warnings, ofSide("new", &new.Configurations[of.new], kinds)...)
}

// ofSide are the warnings of a configuration that put a comparison into question.
func ofSide(side string, c *Configuration, kinds []WarningKind) []Warning {
	warnings := c.warningsOf("", kinds...)
	for i := range warnings {
		warnings[i].Side = side
	}
	return warnings
}

// warn lists what a reader of the whole comparison must know.
func (c *Comparison) warn(base, new *Report, couples []couple, options *DiffOptions) {
	add := func(is bool, w Warning) {
		if is {
			c.Warnings = append(c.Warnings, w)
		}
	}
	add(base.Suite != new.Suite, Warning{Kind: OtherSuite, Name: base.Suite, More: new.Suite})
	undeclared := 0
	for _, d := range c.Spec {
		if !d.Declared {
			undeclared++
		}
	}
	add(undeclared > 0, Warning{Kind: SpecsDiffer, Count: undeclared})
	for _, scorer := range new.Scorers {
		add(judgedOtherwise(base, new, scorer), Warning{Kind: OtherScorer, Name: scorer})
	}
	for _, side := range []struct {
		name       string
		of, beside *Report
		chosen     string
		compared   func(couple) int
	}{
		{"base", base, new, options.BaseConfiguration, func(of couple) int { return of.base }},
		{"new", new, base, options.NewConfiguration, func(of couple) int { return of.new }},
	} {
		rest, n := side.of.without(couples, side.compared)
		add(n > 0 && side.chosen == "", Warning{Kind: NotCompared, Side: side.name, Count: n, More: rest})
		for _, scorer := range side.of.Scorers {
			add(!slices.Contains(side.beside.Scorers, scorer), Warning{Kind: OneSidedScore, Side: side.name, Name: scorer})
		}
		for _, w := range side.of.Warnings {
			w.Side = side.name
			add(slices.Contains([]WarningKind{NotComplete, BadLines, UnknownRuns, Repeated, MixedScorers, MixedSpecs}, w.Kind), w)
		}
	}
}

// judgedOtherwise says that both sides have scores by a scorer, and not by the
// same versions of it.
func judgedOtherwise(base, new *Report, scorer string) bool {
	x, y := base.scorerVersions(scorer), new.scorerVersions(scorer)
	return len(x) > 0 && len(y) > 0 && !maps.Equal(x, y)
}

func (r *Report) scorerVersions(scorer string) map[string]bool {
	for _, s := range r.runs.scores {
		if s.name == scorer {
			return s.versions
		}
	}
	return nil
}

// without lists the configurations with runs that are in no couple.
func (r *Report) without(couples []couple, of func(couple) int) (names string, n int) {
	var rest []string
	for i := range r.Configurations {
		if r.Configurations[i].Runs > 0 && !slices.ContainsFunc(couples, func(c couple) bool { return of(c) == i }) {
			rest = append(rest, r.Configurations[i].Name)
		}
	}
	return strings.Join(rest, ", "), len(rest)
}

// explain tells how to read the table.
func (c *Comparison) explain() (warnings []Warning) {
	how, named := c.howCompared()
	warnings = append(warnings, Warning{Kind: HowCompared, More: how, Name: named})
	if c.Correction != compare.NoCorrection {
		name := map[compare.Correction]string{compare.Holm: "Holm", compare.BenjaminiHochberg: "Benjamini and Hochberg (false discoveries)"}[c.Correction]
		warnings = append(warnings, Warning{Kind: HowCorrected, Name: name, Count: len(c.Pairs)})
	}
	return warnings
}

// howCompared ends with what is called the same; named are the quantities, and
// their margins, that have one of their own.
func (c *Comparison) howCompared() (text, named string) {
	text = "change: the mean of the tasks' differences, of amounts the geometric mean of their ratios"
	if c.has(compare.CannotTell) {
		text += fmt.Sprintf("; ~: cannot tell at p < %g, and how many %s a difference of the size seen would take", c.Alpha, c.unit())
	}
	shared, own := c.sameWithin()
	if len(shared)+len(own) == 0 {
		return text, ""
	}
	text += "; same: the whole interval is within the margin"
	for i, margin := range shared {
		text += []string{": ", ", "}[min(i, 1)] + margin
	}
	return text, strings.Join(own, ", ")
}

// unit is what is counted, the clusters where tasks have any.
func (c *Comparison) unit() string {
	for row := range c.differences() {
		if row.Clusters > 0 {
			return "clusters, as large as these,"
		}
	}
	return "tasks"
}

// sameWithin are the margins within which something is the same: those of all
// scores and of all amounts, and those of single quantities.
func (c *Comparison) sameWithin() (shared, own []string) {
	add := func(list *[]string, margin string) {
		if !slices.Contains(*list, margin) {
			*list = append(*list, margin)
		}
	}
	for row := range c.differences() {
		margin, isOwn := c.margins[row.Quantity]
		switch {
		case row.Verdict != compare.Same:
		case isOwn && row.Score:
			add(&own, fmt.Sprintf("%s ±%g", row.Quantity, margin))
		case isOwn:
			add(&own, row.Quantity+" "+page.Percent(page.Known(margin)))
		case row.Score:
			add(&shared, fmt.Sprintf("±%g of scores", c.ScoreMargin))
		default:
			add(&shared, page.Percent(page.Known(c.RatioMargin))+" of amounts")
		}
	}
	return shared, own
}

func (c *Comparison) has(verdict compare.Verdict) bool {
	for row := range c.differences() {
		if row.Verdict == verdict {
			return true
		}
	}
	return false
}
