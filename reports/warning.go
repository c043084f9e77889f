package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// fewTasks is the number of tasks below which only large differences show: at
// 20 tasks of which 15 % differ, the smallest is 24 points (STATISTICS 3).
const fewTasks = 20

// warned gathers the warnings of what is so.
type warned []Warning

func (all *warned) add(is bool, w Warning) {
	if is {
		*all = append(*all, w)
	}
}

// warnAbout lists what a reader of the configuration's numbers must know.
func (c *collector) warnAbout(i int, s *Configuration) []Warning {
	all, u := warned{}, &c.sums[i]
	usage, faults, failures := u.agent.Plus(u.judging), countAll(s.Faults), countAll(s.Failures)
	open := page.Known(usage.OpenCost.Dollars() / float64(max(1, s.Runs)))
	all.add(s.Simulated, Warning{Kind: SimulatedModel, Name: cmp.Or(strings.Join(c.manifest.Simulated, ", "), "a model")})
	all.add(faults > 0, Warning{Kind: Faults, Count: faults, Of: max(s.Expected, s.Runs+faults), More: countText(s.Faults)})
	missing := s.Expected - s.Runs - faults
	all.add(missing > 0, Warning{Kind: NotRun, Count: missing, Of: s.Expected})
	all.add(failures > 0, Warning{Kind: AgentFailed, Count: failures, Of: s.Runs, More: countText(s.Failures)})
	all.add(u.notJSON > 0, Warning{Kind: NotJSON, Count: int(u.notJSON), Of: int(u.replies)})
	all.add(usage.Unpriced > 0, Warning{Kind: Unpriced, Count: int(usage.Unpriced), Of: int(max(usage.Calls, usage.Unpriced))})
	all.add(usage.Cut > 0, Warning{Kind: CutCalls, Count: int(usage.Cut), Of: int(max(usage.Calls, usage.Cut)), More: page.Dollars(open, page.DollarDigits(slices.Values([]page.Value{open})))})
	all.add(usage.Unreported > 0, Warning{Kind: Unreported, Count: int(usage.Unreported)})
	all.add(usage.Uncounted > 0, Warning{Kind: Uncounted, Count: int(usage.Uncounted), Of: int(max(usage.Calls, usage.Uncounted))})
	all.add(u.untimed > 0, Warning{Kind: Untimed, Count: int(u.untimed), Of: s.Runs})
	all.add(usage.Estimated > 0 && usage.TokensTold(), Warning{Kind: Estimated, Count: int(usage.Estimated), Of: int(usage.Calls)})
	all = append(all, u.answeredWarnings()...)
	for at := range s.Scores {
		score := &s.Scores[at]
		all.add(score.Unscored > 0, Warning{Kind: Unscored, Name: score.Name, Count: score.Unscored, Of: s.Runs, More: c.runs.scores[at].why})
		all.add(score.Pending > 0, Warning{Kind: NotScored, Name: score.Name, Count: score.Pending, Of: s.Runs})
		all.add(score.Scored > 0 && !score.Mean.Low.Known(), Warning{Kind: NoInterval, Name: score.Name})
		all.add(score.Fewest != score.Most, Warning{Kind: UnequalRuns, Name: score.Name, Count: score.Fewest, Of: score.Most})
	}
	for m := range page.EachOf(s.Declared) {
		why := "which have fewer than " + page.Plural(max(m.K, 2), "scored trial", "scored trials")
		if m.Reduce == reduceMajority {
			why = "of which not all answers are known"
		}
		all.add(m.LeftOut > 0, Warning{Kind: TooFewTrials, Name: m.Name, Count: m.LeftOut, Of: m.Tasks + m.LeftOut, More: why})
	}
	cut := c.outsideCurve(i)
	all.add(cut > 0 && len(s.Scores) > 0, Warning{Kind: CurveCut, Count: cut, Of: s.Runs})
	unscored := mostOf(s.Steps, func(p *StepPoint) int { return p.Unscored })
	all.add(unscored > 0, Warning{Kind: StepsUnscored, Count: unscored, Of: s.Runs})
	all.add(len(u.versions) > 1, Warning{Kind: MixedLoops, Count: len(u.versions)})
	if head, ok := c.manifest.Configuration(s.Name); ok {
		for _, p := range head.Programs {
			u.programs[p.Program+"/"+p.Version] = true
		}
	}
	mixed := mixedVersions(slices.Sorted(maps.Keys(u.programs)))
	changed := u.mixedSeeds()
	all.add(changed > 0, Warning{Kind: OtherSeed, Count: changed, Of: len(u.seeds)})
	all.add(len(mixed) > 0, Warning{Kind: OtherProgram, Count: len(mixed), More: strings.Join(mixed, ", ")})
	return all
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
	all := warned{}
	all.add(r.Status == record.StateRunning, Warning{Kind: NotComplete, More: "still running, or killed"})
	all.add(r.Status == record.StateStopped, Warning{Kind: NotComplete, More: "stopped before the end"})
	all.add(r.Status == record.StateFailed, Warning{Kind: NotComplete, More: "failed before the end"})
	fewest, most := uneven(r.Configurations)
	all.add(fewest < most, Warning{Kind: UnevenRuns, Count: fewest, Of: most})
	all.add(c.unknown > 0, Warning{Kind: UnknownRuns, Count: c.unknown})
	all.add(c.repeated > 0, Warning{Kind: Repeated, Count: c.repeated})
	for _, s := range c.runs.scores {
		all.add(len(s.versions) > 1, Warning{Kind: MixedScorers, Name: s.name, Count: len(s.versions)})
	}
	all.add(len(c.manifest.Mixed) > 0, Warning{Kind: MixedSpecs, Count: 1 + len(c.manifest.Mixed)})
	few, isFew := Few(r.TaskCount, r.Clusters)
	all.add(isFew, few)
	all.add(len(c.runs.all) > 0, Warning{Kind: MeansOver, Name: r.Primary(), Of: r.Trials})
	if len(c.runs.scores) > 0 {
		n := 0
		for i := range r.Configurations {
			n += number(c.runs.scores[0].moreTrials(c.runs, i))
		}
		all.add(n > 0, Warning{Kind: MoreTrials, Name: r.Primary(), Count: n})
	}
	r.Warnings = all
}

// Few warns of so few tasks, or clusters of them, that only large differences show.
func Few(tasks, clusters int) (w Warning, few bool) {
	if tasks > 0 && tasks < fewTasks {
		return Warning{Kind: FewTasks, Count: tasks}, true
	}
	return Warning{Kind: FewClusters, Count: clusters}, clusters > 0 && clusters < fewTasks
}

// uneven are the fewest and the most runs that configurations have where some
// are missing, as after a budget has ended in the middle. Faults alone are reported
// for each configuration.
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
	CutCalls       WarningKind = "cut_calls"      // Count of Of calls
	Unreported     WarningKind = "unreported"     // Count runs of programs, or calls of a log
	Uncounted      WarningKind = "uncounted"      // Count of Of calls
	Untimed        WarningKind = "untimed"        // Count of Of runs
	AgentFailed    WarningKind = "agent_failed"   // Count of Of runs
	NotJSON        WarningKind = "not_json"       // Count of Of replies
	OtherModel     WarningKind = "other_model"    // Count of Of calls of the model Name
	Unscored       WarningKind = "unscored"       // Count of Of runs, by the scorer Name
	NotScored      WarningKind = "not_scored"     // Count of Of runs, by the scorer Name
	TooFewTrials   WarningKind = "tasks_left_out" // Count of Of tasks, of the metric Name
	NoInterval     WarningKind = "no_interval"    // of the scores by the scorer Name
	UnequalRuns    WarningKind = "unequal_n"      // Count to Of runs a task
	UnevenRuns     WarningKind = "uneven_runs"    // Count to Of runs a configuration
	FewTasks       WarningKind = "few_tasks"      // Count tasks
	MixedLoops     WarningKind = "mixed_loops"    // Count versions of the loop
	OtherSeed      WarningKind = "other_seed"     // Count of Of tasks
	OtherProgram   WarningKind = "other_program"  // Count versions of a program, More: which
	MixedScorers   WarningKind = "mixed_scorers"
	MixedSpecs     WarningKind = "mixed_specs"    // Count specs
	FewClusters    WarningKind = "few_clusters"   // Count clusters
	CurveCut       WarningKind = "curve_cut"      // Count of Of runs are not in the curve
	StepsUnscored  WarningKind = "steps_unscored" // up to Count of Of runs have no score at a limit of steps
	UnknownRuns    WarningKind = "unknown_runs"
	Repeated       WarningKind = "repeated_runs"
	NotComplete    WarningKind = "not_complete"
	SameAs         WarningKind = "same_as"     // the configuration Name
	MeansOver      WarningKind = "means"       // what means are over, of Of trials, and what a success is by the scorer Name
	MoreTrials     WarningKind = "more_trials" // of Count configurations, by the scorer Name
)

// Saying is the text of a kind of warnings. In it {n} and {of} are the warning's counts,
// {name} and {more} its texts from outside, {word} and {detail} these as our own,
// and [one|many] is chosen by Count.
type Saying struct {
	Text    string
	Serious bool // it puts numbers into question, or says that some are missing
	// All, None and Unnamed are the text where Count is Of, where it is 0, and where there
	// is no Name; "": Text.
	All, None, Unnamed string
	// Say makes the text where that takes more.
	Say func(w Warning) string
}

// Sayings are the texts of kinds of warnings.
type Sayings map[WarningKind]Saying

// Text is a warning for people.
func (all Sayings) Text(w Warning) page.Words {
	if side := w.Side; side != "" {
		w.Side = ""
		return page.Words(side+": ") + all.Text(w)
	}
	said := all[w.Kind]
	text := said.Text
	switch {
	case said.Say != nil:
		return page.Words(said.Say(w))
	case said.All != "" && w.Count == w.Of:
		text = said.All
	case said.None != "" && w.Count == 0:
		text = said.None
	case said.Unnamed != "" && w.Name == "":
		text = said.Unnamed
	case text == "":
		return page.Words(strings.ReplaceAll(string(w.Kind), "_", " "))
	}
	for before, rest, ok := strings.Cut(text, "["); ok; before, rest, ok = strings.Cut(text, "[") {
		choice, after, _ := strings.Cut(rest, "]")
		one, many, _ := strings.Cut(choice, "|")
		if w.Count != 1 {
			one = many
		}
		text = before + one + after
	}
	return page.Words(strings.NewReplacer("{n}", fmt.Sprint(w.Count), "{of}", fmt.Sprint(w.Of), "{name}", page.Foreign(w.Name), "{more}", page.Foreign(w.More), "{word}", w.Name, "{detail}", w.More).Replace(text))
}

// ReportSayings are the texts of the warnings of reports and comparisons.
var ReportSayings = Sayings{
	SimulatedModel: {Text: "simulated by {name}: the numbers show how the loop behaves, not how good a model is", Serious: true},
	Faults:         {Text: "{n} of {of} runs had infrastructure errors ({more}) and are excluded from all results", Serious: true},
	NotRun:         {Text: "{n} of {of} runs are missing: they did not run, or were cancelled", Serious: true},
	Unpriced:       {Text: "{n} of {of} calls have no price, so the cost is unknown", All: "no call has a price, so the cost is unknown"},
	Estimated: {
		Text: "the tokens of {n} of {of} calls are estimates from the texts: none were reported",
		All:  "the tokens are estimates from the texts: none were reported",
	},
	AgentFailed:   {Text: "the agent failed in {n} of {of} runs ({more}), which count", Serious: true},
	NotJSON:       {Text: "{n} of {of} replies were not JSON, which the loop expects, and have confidence 0", Serious: true},
	OtherModel:    {Text: "{n} of {of} calls of {name} were answered by another model, as the server calls it: {more}"},
	CutCalls:      {Text: "{n} of {of} calls were cancelled in flight by a limit: cost and tokens are at least what is shown, and the cost per run at most {detail} more", Serious: true},
	Unreported:    {Text: "the usage of {n} [call|calls] was not reported: cost, tokens and calls are unknown"},
	Uncounted:     {Text: "the tokens of {n} of {of} calls are unknown: the log does not tell them"},
	Untimed:       {Text: "the log does not tell the times of {n} of {of} runs, so the latency is unknown"},
	SameAs:        {Text: "{name} is also {more}: equal configurations run once"},
	Unscored:      {Text: "{name} could not score {n} of {of} runs: {more}", Serious: true},
	NotScored:     {Text: "{n} of {of} runs have no score by {name} yet", Serious: true},
	TooFewTrials:  {Text: "{name} leaves out {n} of {of} tasks, {detail}", Serious: true},
	NoInterval:    {Text: "no interval of {name}: it takes scores of two tasks that differ"},
	UnequalRuns:   {Text: "tasks have {n} to {of} scored runs each: the score is the mean of the tasks' means"},
	FewTasks:      {Text: "{n} [task|tasks] can show only large differences"},
	FewClusters:   {Text: "the tasks are in {n} [cluster|clusters]: they can show only large differences"},
	CurveCut:      {Say: curveCut},
	StepsUnscored: {Text: "up to {n} of {of} runs have no score at a limit of steps: the mean lies within these bounds; agentbench score DIR SUITE --at step scores those that it can"},
	MixedLoops:    {Text: "the runs were made by {n} versions of the loop", Serious: true},
	OtherSeed:     {Text: "the workspaces of {n} of {of} tasks began with different files in different runs", Serious: true},
	OtherProgram:  {Text: "the runs were made by several versions of a program: {more}", Serious: true},
	MixedSpecs:    {Text: "the runs were made under {n} specs, mixed by --force"},
	MixedScorers:  {Text: "the scores were made by {n} versions of {name}", Serious: true},
	UnknownRuns:   {Text: "{n} [run|runs] of configurations that the suite does not have were left out", Serious: true},
	Repeated:      {Text: "{n} [run is|runs are] recorded more than once and counted once", Serious: true},
	UnevenRuns:    {Text: "the configurations have {n} to {of} runs: compare them with care, for their tasks differ", Serious: true},
	NotComplete:   {Text: "the results are not complete: {detail}", Serious: true},

	OtherSuite:  {Text: "the sides are of different suites, {name} and {more}: tasks of one id may not be the same", Serious: true},
	SpecsDiffer: {Text: "the specs differ in {n} [place|places] that [was|were] not declared: see the table of the spec, and --vary", Serious: true},
	NotCompared: {Text: "{n} [configuration is|configurations are] on this side alone and not compared: {more}", Serious: true},
	NotPaired:   {Text: "not paired, because {detail}: this takes many more tasks to show the same difference", Serious: true},
	NothingCommon: {
		Text: "nothing to compare: the configurations have no common task", Serious: true,
	},
	OneSided:   {Text: "tasks that only one side has are left out: {n} of the base, {of} of the new side", Serious: true},
	LoneTrials: {Text: "runs whose trial the other side does not have are left out: {n} of the base, {of} of the new side", Serious: true},
	CoverageDiffers: {
		Text: "the coverage differs, {detail}: if runs fail where tasks are hard, the side with fewer looks better than it is", Serious: true,
	},
	FewCommon:     {Text: "{n} common [task|tasks] can show only large differences"},
	LeftOut:       {Text: "{n} of {of} pairs of runs have no {name} on a side and are left out"},
	OneSidedScore: {Text: "{name} is a score of this side alone and not compared", Serious: true},
	OtherScorer:   {Text: "the sides were judged by different versions of {name}: its scores may not mean the same", Serious: true},
	ByDifferences: {Text: "{name} is 0 on all tasks of one side: its change is a difference, not a ratio"},
	NoRareLoss:    {Text: "{name} has no scale from 0 to 1: its interval assumes no rare large loss"},
	RanksDisagree: {Text: "the ranks point one way and the mean the other: a few tasks outweigh the rest, and nothing is better or worse"},
	TooFewDiffer: {
		Text: "only {n} {word}[ differs|s differ]: with fewer than {of} no test shows anything",
		None: "no {word} differs",
	},
	HowCompared:  {Text: "{detail}, by name {name}", Unnamed: "{detail}"},
	HowCorrected: {Text: "p and verdicts are corrected for {n} comparisons by {word}, each quantity on its own"},
	MoreTrials:   {Text: "twice the trials would narrow the interval of {name} by a tenth or more for {n} [configuration|configurations]"},
	MeansOver: {Say: func(w Warning) string {
		over := "tasks"
		if w.Of > 1 {
			over = "tasks and trials"
		}
		return "means are over " + over + ", p50 and p95 over runs; " + SuccessBy(w.Name)
	}},
}

// SuccessBy says what a success is, by the name of the score that tells it.
func SuccessBy(score string) string {
	if score == "" {
		return "a run has success if its loop says so: nothing is scored"
	}
	return "a run has success if " + page.Foreign(score) + " is 1 or more"
}

// Text is the warning for people.
func (w Warning) Text() page.Words { return ReportSayings.Text(w) }

// Serious reports whether a warning puts numbers into question, or says that some are
// missing, and is not only an explanation.
func (w Warning) Serious() bool { return ReportSayings[w.Kind].Serious }

// warn lists what a reader of a pair must know.
func (p *Pair) warn(base, new *Report, of couple) {
	all := warned(p.Warnings)
	common := len(p.Differences) > 0
	all.add(!common, Warning{Kind: NothingCommon})
	all.add(common && !p.How.Paired, Warning{Kind: NotPaired, More: p.How.Why})
	all.add(p.How.Paired && p.How.OnlyBase+p.How.OnlyNew > 0, Warning{Kind: OneSided, Count: p.How.OnlyBase, Of: p.How.OnlyNew})
	all.add(p.How.Paired && p.How.LoneBase+p.How.LoneNew > 0, Warning{Kind: LoneTrials, Count: p.How.LoneBase, Of: p.How.LoneNew})
	x, y := p.Base.Coverage, p.New.Coverage
	all.add(x.Known() && y.Known() && x.Number != y.Number, Warning{Kind: CoverageDiffers, More: page.Percent(x) + " and " + page.Percent(y)})
	all.add(p.How.Paired && p.How.Common < fewTasks, Warning{Kind: FewCommon, Count: p.How.Common})
	kinds := []WarningKind{SimulatedModel, Faults, NotRun, AgentFailed, NotJSON, MixedLoops, OtherProgram, OtherSeed, OtherModel, Estimated}
	if base == new {
		kinds = kinds[:1] // the report tells the others itself
	}
	all = append(all, ofSide("base", &base.Configurations[of.base], kinds)...)
	p.Warnings = append(all, ofSide("new", &new.Configurations[of.new], kinds)...)
}

// ofSide are the warnings of a configuration that put a comparison into question.
func ofSide(side string, c *Configuration, kinds []WarningKind) []Warning {
	warnings := c.warningsOf("", kinds...)
	for w := range page.EachOf(warnings) {
		w.Side = side
	}
	return warnings
}

// warn lists what a reader of the whole comparison must know.
func (c *Comparison) warn(base, new *Report, couples []couple, options *DiffOptions) {
	all := warned(c.Warnings)
	all.add(base.Suite != new.Suite, Warning{Kind: OtherSuite, Name: base.Suite, More: new.Suite})
	undeclared := 0
	for _, d := range c.Spec {
		if !d.Declared {
			undeclared++
		}
	}
	all.add(undeclared > 0, Warning{Kind: SpecsDiffer, Count: undeclared})
	for _, scorer := range new.Scorers {
		x, y := base.scorerVersions(scorer), new.scorerVersions(scorer)
		all.add(len(x) > 0 && len(y) > 0 && !maps.Equal(x, y), Warning{Kind: OtherScorer, Name: scorer})
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
		all.add(n > 0 && side.chosen == "", Warning{Kind: NotCompared, Side: side.name, Count: n, More: rest})
		for _, scorer := range side.of.Scorers {
			all.add(!slices.Contains(side.beside.Scorers, scorer), Warning{Kind: OneSidedScore, Side: side.name, Name: scorer})
		}
		for _, w := range side.of.Warnings {
			w.Side = side.name
			all.add(slices.Contains([]WarningKind{NotComplete, UnknownRuns, Repeated, MixedScorers, MixedSpecs}, w.Kind), w)
		}
	}
	c.Warnings = all
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
	text = "change: the mean difference of the tasks, of amounts the ratio of the means"
	rows := slices.Collect(c.differences())
	if slices.ContainsFunc(rows, func(row differenceRow) bool { return row.Verdict == compare.CannotTell }) {
		unit := "tasks"
		if slices.ContainsFunc(rows, func(row differenceRow) bool { return row.Clusters > 0 }) {
			unit = "clusters, as large as these,"
		}
		text += fmt.Sprintf("; ~: cannot tell at p < %g, and how many %s a difference of the size seen would take", c.Alpha, unit)
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

// sameWithin are the margins within which something is the same: those of all
// scores and of all amounts, and those of single quantities.
func (c *Comparison) sameWithin() (shared, own []string) {
	add := func(list *[]string, margin string) {
		if !slices.Contains(*list, margin) {
			*list = append(*list, margin)
		}
	}
	for row := range c.differences() {
		margin, isOwn := c.margins[row.Name]
		switch {
		case row.Verdict != compare.Same:
		case isOwn && row.Score:
			add(&own, fmt.Sprintf("%s ±%g", row.Name, margin))
		case isOwn:
			add(&own, row.Name+" "+page.Percent(page.Known(margin)))
		case row.Score:
			add(&shared, fmt.Sprintf("±%g of scores", c.ScoreMargin))
		default:
			add(&shared, page.Percent(page.Known(c.RatioMargin))+" of amounts")
		}
	}
	return shared, own
}

// The kinds of warnings that only comparisons have.
const (
	OtherSuite      WarningKind = "other_suite"          // Name: the base's, More: the new side's
	SpecsDiffer     WarningKind = "specs_differ"         // in Count places that were not declared
	NotCompared     WarningKind = "not_compared"         // configurations More, of one side
	NotPaired       WarningKind = "not_paired"           // More says why
	NothingCommon   WarningKind = "nothing_common"       // the configurations have no common task
	OneSided        WarningKind = "one_sided"            // Count tasks of the base alone, Of of the new side
	LoneTrials      WarningKind = "lone_trials"          // Count runs of the base alone, Of of the new side
	CoverageDiffers WarningKind = "coverage_differs"     // More: both
	FewCommon       WarningKind = "few_common"           // Count tasks are common
	LeftOut         WarningKind = "left_out"             // Count of Of pairs have no value of Name
	TooFewDiffer    WarningKind = "too_few_differ"       // Count of what Name is, tasks or clusters, differ, of Of that it takes
	OneSidedScore   WarningKind = "one_sided_score"      // of the scorer Name, of one side
	OtherScorer     WarningKind = "other_scorer"         // the scorer Name is another version on either side
	ByDifferences   WarningKind = "by_differences"       // an amount that is 0 at all tasks of a side
	NoRareLoss      WarningKind = "assumes_no_rare_loss" // of the score Name, whose interval is Student's
	RanksDisagree   WarningKind = "ranks_disagree"       // the ranks and the ratio of the means point different ways
	HowCompared     WarningKind = "how_compared"         // what a change, a p and a verdict is; Name: margins of single quantities
	HowCorrected    WarningKind = "how_corrected"        // Name: the correction, over Count pairs
)
