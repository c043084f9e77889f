package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// fewTasks is the number of tasks below which only large differences show: at
// 20 tasks of which 15 % differ, the smallest is 24 points (STATISTICS 3).
const fewTasks = 20

// warnAbout lists what a reader of the configuration's numbers must know.
func (c *collector) warnAbout(i int, s *Configuration) []Warning {
	warnings := []Warning{}
	add := func(w Warning) { warnings = append(warnings, w) }
	if s.Simulated {
		add(Warning{Kind: SimulatedModel, Name: c.simulatedName()})
	}
	if n := countAll(s.Faults); n > 0 {
		add(Warning{Kind: Faults, Count: n, Of: max(s.Expected, s.Runs+n), More: countText(s.Faults)})
	}
	if n := s.Expected - s.Runs - countAll(s.Faults); n > 0 {
		add(Warning{Kind: NotRun, Count: n, Of: s.Expected})
	}
	warnings = append(warnings, c.warnAboutAgent(i, s)...)
	usage := c.sums[i].agent.Plus(c.sums[i].judging)
	if usage.Unpriced > 0 {
		add(Warning{Kind: Unpriced, Count: int(usage.Unpriced), Of: int(max(usage.Calls, usage.Unpriced))})
	}
	if usage.Unreported > 0 {
		add(Warning{Kind: Unreported, Count: int(usage.Unreported)})
	}
	if usage.Uncounted > 0 {
		add(Warning{Kind: Uncounted, Count: int(usage.Uncounted), Of: int(max(usage.Calls, usage.Uncounted))})
	}
	if n := c.sums[i].untimed; n > 0 {
		add(Warning{Kind: Untimed, Count: int(n), Of: s.Runs})
	}
	if usage.Estimated > 0 && usage.TokensTold() {
		add(Warning{Kind: Estimated, Count: int(usage.Estimated), Of: int(usage.Calls)})
	}
	warnings = append(warnings, c.sums[i].answeredWarnings()...)
	for at := range s.Scores {
		warnings = append(warnings, c.warnAboutScore(c.runs.scores[at], &s.Scores[at], s.Runs)...)
	}
	warnings = append(warnings, warnAboutMetrics(s.Declared)...)
	warnings = append(warnings, warnAboutJudges(s.Judges)...)
	if n := c.outsideCurve(i); n > 0 {
		add(Warning{Kind: CurveCut, Count: n, Of: s.Runs})
	}
	if n := len(c.sums[i].versions); n > 1 {
		add(Warning{Kind: MixedLoops, Count: n})
	}
	return warnings
}

// warnAboutAgent tells what would look like a bad score only.
func (c *collector) warnAboutAgent(i int, s *Configuration) (warnings []Warning) {
	if n := countAll(s.Failures); n > 0 {
		warnings = append(warnings, Warning{Kind: AgentFailed, Count: n, Of: s.Runs, More: countText(s.Failures)})
	}
	if u := &c.sums[i]; u.notJSON > 0 {
		warnings = append(warnings, Warning{Kind: NotJSON, Count: int(u.notJSON), Of: int(u.replies)})
	}
	return warnings
}

func (c *collector) warnAboutScore(of *scores, s *Score, runs int) (warnings []Warning) {
	if s.Unscored > 0 {
		warnings = append(warnings, Warning{Kind: Unscored, Name: s.Name, Count: s.Unscored, Of: runs, More: of.why})
	}
	if s.Pending > 0 {
		warnings = append(warnings, Warning{Kind: NotScored, Name: s.Name, Count: s.Pending, Of: runs})
	}
	if s.Scored > 0 && !s.Low.Known() {
		warnings = append(warnings, Warning{Kind: NoInterval, Name: s.Name})
	}
	if s.Fewest != s.Most {
		warnings = append(warnings, Warning{Kind: UnequalRuns, Name: s.Name, Count: s.Fewest, Of: s.Most})
	}
	return warnings
}

// warnAboutMetrics tells which tasks have too few trials for a metric, or no
// answers that are known.
func warnAboutMetrics(all []Metric) (warnings []Warning) {
	for i := range all {
		m := &all[i]
		if m.LeftOut == 0 {
			continue
		}
		why := "which have fewer than " + page.Plural(max(m.K, 2), "scored trial", "scored trials")
		if m.Reduce == reduceMajority {
			why = "of which not all answers are known"
		}
		warnings = append(warnings, Warning{Kind: TooFewTrials, Name: m.Name, Count: m.LeftOut, Of: m.Tasks + m.LeftOut, More: why})
	}
	return warnings
}

// noisyVotes is the share of what trials differ by that votes may make.
const noisyVotes = 0.5

// warnAboutJudges tells where asking again would have said something else.
func warnAboutJudges(all []Judges) (warnings []Warning) {
	for i := range all {
		j := &all[i]
		if j.Noise.Known() && j.Noise.Number > noisyVotes {
			warnings = append(warnings, Warning{Kind: VotesDiffer, Name: j.Scorer, More: page.Percent(j.Noise)})
		}
		if j.PlaceP.Known() && j.PlaceP.Number < 1-stats.Level {
			more := fmt.Sprintf("to stand first is worth %s, p %s", page.Score(j.First, 2), page.Chance(j.PlaceP))
			warnings = append(warnings, Warning{Kind: FirstPlace, Name: j.Scorer, Of: j.Pairs, More: more})
		}
	}
	return warnings
}

// simulatedName lists the simulated models of the suite.
func (c *collector) simulatedName() string {
	if len(c.manifest.Simulated) == 0 {
		return "a model"
	}
	return strings.Join(c.manifest.Simulated, ", ")
}

func countAll(counts []Count) (n int) {
	for _, c := range counts {
		n += c.N
	}
	return n
}

func countText(counts []Count) string {
	texts := make([]string, len(counts))
	for i, c := range counts {
		texts[i] = fmt.Sprintf("%s %d", c.Name, c.N)
	}
	return strings.Join(texts, ", ")
}

// warn lists what a reader of the whole report must know.
func (c *collector) warn(r *Report) {
	r.Warnings = []Warning{}
	add := func(is bool, w Warning) {
		if is {
			r.Warnings = append(r.Warnings, w)
		}
	}
	add(r.Status == record.StateRunning, Warning{Kind: NotComplete, More: "still running, or killed"})
	add(r.Status == record.StateStopped, Warning{Kind: NotComplete, More: "stopped before the end"})
	add(r.Status == record.StateFailed, Warning{Kind: NotComplete, More: "failed before the end"})
	fewest, most := uneven(r.Configurations)
	add(fewest < most, Warning{Kind: UnevenRuns, Count: fewest, Of: most})
	add(c.badLines > 0, Warning{Kind: BadLines, Count: c.badLines, More: c.firstBad})
	add(c.unknown > 0, Warning{Kind: UnknownRuns, Count: c.unknown})
	add(c.repeated > 0, Warning{Kind: Repeated, Count: c.repeated})
	for _, s := range c.runs.scores {
		add(len(s.versions) > 1, Warning{Kind: MixedScorers, Name: s.name, Count: len(s.versions)})
	}
	add(len(c.manifest.Mixed) > 0, Warning{Kind: MixedSpecs, Count: 1 + len(c.manifest.Mixed)})
	few := r.TaskCount > 0 && r.TaskCount < fewTasks
	add(few, Warning{Kind: FewTasks, Count: r.TaskCount})
	add(!few && r.Clusters > 0 && r.Clusters < fewTasks, Warning{Kind: FewClusters, Count: r.Clusters})
	difference, tested := c.anyDifference()
	add(tested, difference)
	add(len(c.runs.all) > 0, Warning{Kind: Residue, Name: r.Primary(), Of: r.Trials})
}

// uneven are the fewest and the most runs that configurations have where some
// are missing, as after a budget has ended in the middle. Faults alone are told
// of each configuration.
func uneven(all []Configuration) (fewest, most int) {
	absent := false
	for i := range all {
		c := &all[i]
		if i == 0 || c.Runs < fewest {
			fewest = c.Runs
		}
		most = max(most, c.Runs)
		absent = absent || c.Runs+countAll(c.Faults) < c.Expected
	}
	if !absent {
		return 0, 0
	}
	return fewest, most
}

// Warning is something that a reader of a number must know. It travels with the
// numbers and is printed as their footnote.
type Warning struct {
	Kind  WarningKind `json:"kind"`
	Count int         `json:"count,omitempty"` // of what the kind counts
	Of    int         `json:"of,omitempty"`
	Name  string      `json:"name,omitempty"`   // of the scorer, model or configuration
	More  string      `json:"detail,omitempty"` // for people
	// Side is base or new where the warning is about one side of a comparison.
	Side string `json:"side,omitempty"`
}

// WarningKind is one of a closed list.
type WarningKind string

// The kinds of warnings.
const (
	SimulatedModel WarningKind = "simulated"      // Name: the models
	Faults         WarningKind = "faults"         // Count of Of runs
	NotRun         WarningKind = "not_run"        // Count of Of runs
	Unpriced       WarningKind = "unpriced"       // Count of Of calls
	Estimated      WarningKind = "estimated"      // Count of Of calls
	Unreported     WarningKind = "unreported"     // Count runs of programs, or calls of a log
	Uncounted      WarningKind = "uncounted"      // Count of Of calls
	Untimed        WarningKind = "untimed"        // Count of Of runs
	AgentFailed    WarningKind = "agent_failed"   // Count of Of runs
	NotJSON        WarningKind = "not_json"       // Count of Of replies
	OtherModel     WarningKind = "other_model"    // Count of Of calls of the model Name
	Unscored       WarningKind = "unscored"       // Count of Of runs, by the scorer Name
	NotScored      WarningKind = "not_scored"     // Count of Of runs, by the scorer Name
	TooFewTrials   WarningKind = "tasks_left_out" // Count of Of tasks, of the metric Name
	VotesDiffer    WarningKind = "votes_differ"   // of the scorer Name
	FirstPlace     WarningKind = "first_place"    // of the scorer Name, in Of pairs
	NoInterval     WarningKind = "no_interval"    // of the scores by the scorer Name
	UnequalRuns    WarningKind = "unequal_n"      // Count to Of runs a task
	UnevenRuns     WarningKind = "uneven_runs"    // Count to Of runs a configuration
	FewTasks       WarningKind = "few_tasks"      // Count tasks
	MixedLoops     WarningKind = "mixed_loops"    // Count versions of the loop
	MixedScorers   WarningKind = "mixed_scorers"
	MixedSpecs     WarningKind = "mixed_specs"  // Count specs
	FewClusters    WarningKind = "few_clusters" // Count clusters
	CurveCut       WarningKind = "curve_cut"    // Count of Of runs are not in the curve
	BadLines       WarningKind = "bad_lines"    // Count lines
	UnknownRuns    WarningKind = "unknown_runs"
	Repeated       WarningKind = "repeated_runs"
	NotComplete    WarningKind = "not_complete"
	SameAs         WarningKind = "same_as"        // the configuration Name
	AnyDifference  WarningKind = "any_difference" // of Of configurations in the score Name, over Count tasks or clusters
	Residue        WarningKind = "residue"        // what varies inside the averages, of Of trials, by the scorer Name
)

// Text is the warning for people. Names and details come from outside; quote
// makes them fit for the format.
func (w Warning) Text(quote func(string) string) string {
	if side := w.Side; side != "" {
		w.Side = ""
		return side + ": " + w.Text(quote)
	}
	switch w.Kind {
	case SimulatedModel:
		return "simulated by " + quote(w.Name) + ": the numbers show how the loop behaves, not how good a model is"
	case Faults:
		return fmt.Sprintf("%d of %d runs had a fault (%s) and are in no number", w.Count, w.Of, quote(w.More))
	case NotRun:
		return fmt.Sprintf("%d of %d runs are missing: they did not run, or were cancelled", w.Count, w.Of)
	case Unpriced:
		if w.Count == w.Of {
			return "no call has a price, so the cost is unknown"
		}
		return fmt.Sprintf("%d of %d calls have no price, so the cost is unknown", w.Count, w.Of)
	case Estimated:
		if w.Count == w.Of {
			return "the tokens are estimates from the texts: none were reported"
		}
		return fmt.Sprintf("the tokens of %d of %d calls are estimates from the texts: none were reported", w.Count, w.Of)
	case Residue:
		return w.residue(quote)
	}
	return w.aboutAgents(quote)
}

func (w Warning) aboutAgents(quote func(string) string) string {
	switch w.Kind {
	case AgentFailed:
		return fmt.Sprintf("the agent failed in %d of %d runs (%s), which count", w.Count, w.Of, quote(w.More))
	case NotJSON:
		return fmt.Sprintf("%d of %d replies were not JSON, which the loop expects, and have confidence 0", w.Count, w.Of)
	case OtherModel:
		return fmt.Sprintf("%d of %d calls of %s were answered by another model, as the server calls it: %s", w.Count, w.Of, quote(w.Name), quote(w.More))
	case Unreported:
		return "the usage of " + page.Plural(w.Count, "call", "calls") + " was not reported: cost, tokens and calls are unknown"
	case Uncounted:
		return fmt.Sprintf("the tokens of %d of %d calls are unknown: the log does not tell them", w.Count, w.Of)
	case Untimed:
		return fmt.Sprintf("the log does not tell the times of %d of %d runs, so the latency is unknown", w.Count, w.Of)
	case SameAs:
		return quote(w.Name) + " is also " + quote(w.More) + ": equal configurations run once"
	}
	return w.aboutScores(quote)
}

func (w Warning) aboutScores(quote func(string) string) string {
	switch w.Kind {
	case Unscored:
		return fmt.Sprintf("%s could not judge %d of %d runs, which are in no score: %s", quote(w.Name), w.Count, w.Of, quote(w.More))
	case NotScored:
		return fmt.Sprintf("%d of %d runs have no score by %s yet", w.Count, w.Of, quote(w.Name))
	case TooFewTrials:
		return fmt.Sprintf("%s leaves out %d of %d tasks, %s", quote(w.Name), w.Count, w.Of, w.More)
	case VotesDiffer:
		return fmt.Sprintf("the votes of %s differ so much that this is %s of what the trials of a task differ by: more votes make the score surer", quote(w.Name), w.More)
	case FirstPlace:
		return fmt.Sprintf("%s depends on the place of an output, over %d pairs: %s; both orders were asked, so that it moves no score", quote(w.Name), w.Of, w.More)
	case NoInterval:
		return "no interval of " + quote(w.Name) + ": it takes scores of two tasks that differ"
	case UnequalRuns:
		return fmt.Sprintf("tasks have %d to %d scored runs each: the score is the mean of the tasks' means", w.Count, w.Of)
	case FewTasks:
		return fmt.Sprintf("%s can show only large differences", page.Plural(w.Count, "task", "tasks"))
	case FewClusters:
		return fmt.Sprintf("the tasks are in %s: they can show only large differences", page.Plural(w.Count, "cluster", "clusters"))
	case CurveCut:
		return fmt.Sprintf("%d of %d runs have an iteration without a score and are not in the curve", w.Count, w.Of)
	case MixedLoops:
		return fmt.Sprintf("the runs were made by %d versions of the loop", w.Count)
	case MixedSpecs:
		return fmt.Sprintf("the runs were made under %d specs, mixed by --force", w.Count)
	case MixedScorers:
		return fmt.Sprintf("the scores were made by %d versions of %s", w.Count, quote(w.Name))
	}
	return w.aboutRecords(quote)
}

func (w Warning) aboutRecords(quote func(string) string) string {
	switch w.Kind {
	case BadLines:
		return fmt.Sprintf("%s could not be read, the first of them: %s", page.Plural(w.Count, "line", "lines"), quote(w.More))
	case UnknownRuns:
		return fmt.Sprintf("%s of configurations that the suite does not have were left out", page.Plural(w.Count, "run", "runs"))
	case Repeated:
		return fmt.Sprintf("%s recorded more than once and counted once", page.Plural(w.Count, "run is", "runs are"))
	case UnevenRuns:
		return fmt.Sprintf("the configurations have %d to %d runs: compare them with care, for their tasks differ", w.Count, w.Of)
	case AnyDifference:
		return fmt.Sprintf("any difference at all in %s between the %d configurations: %s", quote(w.Name), w.Of, w.More)
	case NotComplete:
		return "the results are not complete: " + w.More
	}
	return w.aboutSides(quote)
}

// residue tells what still varies inside the averages, and what a success is.
func (w Warning) residue(quote func(string) string) string {
	over := "tasks"
	if w.Of > 1 {
		over = "tasks and trials"
	}
	success := "a run has success if its loop says so: nothing is scored"
	if w.Name != "" {
		success = "a run has success if " + quote(w.Name) + " is 1 or more"
	}
	return "means are over " + over + ", p50 and p95 over runs; " + success
}

// Serious says that a warning puts numbers into question, or says that some are
// missing, and is not only an explanation.
func (w Warning) Serious() bool {
	switch w.Kind {
	case Faults, NotRun, AgentFailed, NotJSON, Unscored, NotScored, TooFewTrials, UnevenRuns, MixedLoops, MixedScorers,
		BadLines, UnknownRuns, Repeated, NotComplete, SimulatedModel,
		OtherSuite, SpecsDiffer, NotCompared, NotPaired, NothingCommon, OneSided, LoneTrials, OneSidedScore, OtherScorer, CoverageDiffers:
		return true
	}
	return false
}

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

// The kinds of warnings that only comparisons have.
const (
	OtherSuite      WarningKind = "other_suite"      // Name: the base's, More: the new side's
	SpecsDiffer     WarningKind = "specs_differ"     // in Count places that were not declared
	NotCompared     WarningKind = "not_compared"     // configurations More, of one side
	NotPaired       WarningKind = "not_paired"       // More says why
	NothingCommon   WarningKind = "nothing_common"   // the configurations have no common task
	OneSided        WarningKind = "one_sided"        // Count tasks of the base alone, Of of the new side
	LoneTrials      WarningKind = "lone_trials"      // Count runs of the base alone, Of of the new side
	CoverageDiffers WarningKind = "coverage_differs" // More: both
	FewCommon       WarningKind = "few_common"       // Count tasks are common
	LeftOut         WarningKind = "left_out"         // Count of Of pairs have no value of Name
	TooFewDiffer    WarningKind = "too_few_differ"   // Count of what Name is, tasks or clusters, differ, of Of that it takes
	OneSidedScore   WarningKind = "one_sided_score"  // of the scorer Name, of one side
	OtherScorer     WarningKind = "other_scorer"     // the scorer Name is another version on either side
	ByDifferences   WarningKind = "by_differences"   // an amount that is 0 at some task
	RanksDisagree   WarningKind = "ranks_disagree"   // the ranks and the mean of the logarithms point different ways
	HowCompared     WarningKind = "how_compared"     // what a change, a p and a verdict is; Name: margins of single quantities
	HowCorrected    WarningKind = "how_corrected"    // Name: the correction, over Count pairs
)

// aboutSides are the texts of warnings on comparisons.
func (w Warning) aboutSides(quote func(string) string) string {
	switch w.Kind {
	case OtherSuite:
		return "the sides are of different suites, " + quote(w.Name) + " and " + quote(w.More) + ": tasks of one id may not be the same"
	case SpecsDiffer:
		return fmt.Sprintf("the specs differ in %s that %s not declared: see the table of the spec, and --vary",
			page.Plural(w.Count, "place", "places"), wasOrWere(w.Count))
	case NotCompared:
		return page.Plural(w.Count, "configuration is", "configurations are") + " on this side alone and not compared: " + quote(w.More)
	case NotPaired:
		return "not paired, because " + w.More + ": this takes many more tasks to show the same difference"
	case NothingCommon:
		return "there is nothing to compare: the configurations have no common task"
	case OneSided:
		return fmt.Sprintf("tasks that only one side has are left out: %d of the base, %d of the new side", w.Count, w.Of)
	case LoneTrials:
		return fmt.Sprintf("runs whose trial the other side does not have are left out: %d of the base, %d of the new side", w.Count, w.Of)
	case CoverageDiffers:
		return "the coverage differs, " + w.More + ": if runs fail where tasks are hard, the side with fewer looks better than it is"
	}
	return w.aboutDifferences(quote)
}

func (w Warning) aboutDifferences(quote func(string) string) string {
	switch w.Kind {
	case FewCommon:
		return fmt.Sprintf("%s can show only large differences", page.Plural(w.Count, "common task", "common tasks"))
	case LeftOut:
		return fmt.Sprintf("%d of %d pairs of runs have no %s on a side and are left out", w.Count, w.Of, quote(w.Name))
	case TooFewDiffer:
		if w.Count == 0 {
			return "no " + w.Name + " differs"
		}
		return fmt.Sprintf("only %s: with fewer than %d no test shows anything", page.Plural(w.Count, w.Name+" differs", w.Name+"s differ"), w.Of)
	case OneSidedScore:
		return quote(w.Name) + " is a score of this side alone and not compared"
	case OtherScorer:
		return "the sides were judged by different versions of " + quote(w.Name) + ": its scores may not mean the same"
	case ByDifferences:
		return quote(w.Name) + " is 0 at some task: its change is a difference, not a ratio"
	case RanksDisagree:
		return "the ranks point one way and the mean the other: a few tasks outweigh the rest, and nothing is better or worse"
	case HowCompared:
		if w.Name != "" {
			return w.More + ", by name " + quote(w.Name)
		}
		return w.More
	case HowCorrected:
		return fmt.Sprintf("p and verdicts are corrected for %d comparisons by %s, each quantity on its own", w.Count, w.Name)
	}
	return strings.ReplaceAll(string(w.Kind), "_", " ")
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// apart is by how much each vote of a panel is off the mean of those on its
// question; nil where one judge voted alone, or a vote is missing.
func apart(votes []record.Vote, questions [][]float64) (all []float64) {
	missing := func(v record.Vote) bool { return v.Judge == "" || v.Unscored != "" }
	if slices.ContainsFunc(votes, missing) {
		return nil
	}
	for _, of := range questions {
		mean, _ := stats.Mean(of)
		for _, value := range of {
			all = append(all, value-mean)
		}
	}
	return all
}

// noise is the variance that votes leave in the mean of them. What a judge of a
// panel differs by from the others on every output is no part of it, since it
// moves the scores of all trials alike.
func noise(heard []*judged) (variance float64, ok bool) {
	var alone []float64
	var panel [][]float64
	questions := 0
	for _, one := range heard {
		switch {
		case len(one.apart) > 0:
			panel, questions = append(panel, one.apart), max(questions, one.questions)
		case one.several && !one.panel:
			alone = append(alone, one.noise)
		}
	}
	if len(panel) > 0 {
		return panelNoise(panel, questions)
	}
	return stats.Mean(alone)
}

// panelNoise is what is left of the votes when the means over outputs are taken
// from the votes at each place of the panel: the residual of two ways, outputs and
// places, per vote.
func panelNoise(panel [][]float64, questions int) (variance float64, ok bool) {
	places := 0
	for _, votes := range panel {
		places = max(places, len(votes))
	}
	panel = slices.DeleteFunc(panel, func(votes []float64) bool { return len(votes) < places })
	if len(panel) < 2 || places <= questions {
		return 0, false
	}
	left := 0.0
	column := make([]float64, len(panel))
	for place := range places {
		for i := range panel {
			column[i] = panel[i][place]
		}
		of, _ := stats.Variance(column) // over one less than the outputs, as wanted
		left += of
	}
	return left / float64(places-questions) / float64(places), true
}
