package reports

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
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
