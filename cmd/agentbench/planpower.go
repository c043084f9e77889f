package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/stats"
)

// powerFlags ask how large a suite has to be.
type powerFlags struct {
	difference string // as it was written
	detect     float64
	from       []string
	changed    func(flag string) bool
}

func (f *powerFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.difference, "detect", "", "say how many tasks or trials it takes to show such a difference of the score, for example 0.05 or 5%")
	c.Flags().StringArrayVar(&f.from, "from", nil, "earlier results or a baseline by whose variance to go: of two configurations or more, or twice, as diff BASE NEW")
	f.changed = c.Flags().Changed
}

func (f *powerFlags) validate() (err error) {
	if len(f.from) > 2 {
		return usage("agentbench plan SUITE --from BASE --from NEW", "--from is given %d times", len(f.from))
	}
	if !f.changed("detect") {
		return nil
	}
	number, isShare := strings.CutSuffix(f.difference, "%")
	if f.detect, err = strconv.ParseFloat(number, 64); isShare {
		f.detect /= 100
	}
	if err != nil || !(f.detect > 0 && f.detect < 1) {
		return usage("0.05 or 5% is 5 points", "--detect %s: want a number between 0 and 1", f.difference)
	}
	return nil
}

// power is what tests are planned for: a level of 5 % and a power of 80 %.
var power = stats.Power{Alpha: 0.05, Power: 0.8}

// powerNotes say which differences a plan can show, and what others would take.
func (p *program) powerNotes(o *opened, planned *plan.Plan, f *powerFlags) ([]string, error) {
	if f.from == nil && (len(o.Suite.Scorers) == 0 || planned.Tasks < 1 || planned.Part != nil) {
		return nil, nil
	}
	if f.from != nil {
		return p.measuredPower(planned, f)
	}
	notes := []string{assumedPower(planned.Tasks, planned.Trials)}
	if f.detect > 0 {
		notes = append(notes, assumedNeed(f.detect))
	}
	return notes, nil
}

// shares of the tasks at which two configurations may end differently: what
// decides how sure a difference of success rates is.
var discordance = []float64{0.05, 0.10, 0.15, 0.25}

// assumedPower is the smallest difference that so many tasks can show, by the
// share of them that come out differently. No difference is larger than that
// share.
func assumedPower(tasks, trials int) string {
	head := count(tasks, "task", "tasks") + " can show "
	least := leastDifference(tasks)
	if least >= 1 {
		return head + "no difference of success rates"
	}
	var parts []string
	for _, share := range discordance {
		if smallest, ok := power.Detectable(share, float64(tasks)); ok && smallest <= share {
			parts = append(parts, fmt.Sprintf("%s where %s of them come out differently", points(smallest), percent(share)))
		}
	}
	if len(parts) == 0 {
		return head + "no difference of success rates below " + points(least) + atLevel
	}
	text := head + "a difference of success rates of " + strings.Join(shortened(parts), ", ") + ", none below " + points(least) + atLevel
	if trials > 1 {
		text += fmt.Sprintf("; %d trials of each make that %.0f%% of it at best", trials, 100/math.Sqrt(float64(trials)))
	}
	return text
}

const atLevel = " (at 5%, with a power of 80%)"

// leastDifference is the one that shows where only tasks that make it come out
// differently: then it equals their share.
func leastDifference(tasks int) float64 {
	at1, ok := power.Detectable(1, float64(tasks))
	if !ok {
		return 1
	}
	return at1 * at1
}

// assumedNeed is how many tasks it takes to show a difference of success rates,
// by the share of them that come out differently, at least six of them.
func assumedNeed(difference float64) string {
	shares := slices.DeleteFunc(slices.Clone(discordance), func(share float64) bool { return share < difference })
	if len(shares) == 0 {
		shares = []float64{difference}
	}
	var parts []string
	for _, share := range shares {
		needed, ok := power.NeededMcNemar((share+difference)/2, (share-difference)/2)
		parts = append(parts, fmt.Sprintf("%s where %s of them come out differently", manyOf(max(needed, fewestDiffering/share), ok, "task", "tasks"), percent(share)))
	}
	return fmt.Sprintf("to show a difference of %s takes %s", points(difference), strings.Join(shortened(parts), ", "))
}

// fewestDiffering is how many tasks have to come out differently before any test
// shows a difference at 5 %.
const fewestDiffering = 6

// mostToTell is the number from which on a suite is beyond reach.
const mostToTell = 1_000_000

// manyOf is a number rounded up; ok is false where it is too large to be one.
func manyOf(n float64, ok bool, one, many string) string {
	if !ok || n > mostToTell {
		return "more than a million " + many
	}
	return count(roundUp(n), one, many)
}

// shortened says once what all parts repeat.
func shortened(parts []string) []string {
	for i := 1; i < len(parts); i++ {
		number, share, _ := strings.Cut(strings.TrimSuffix(parts[i], " of them come out differently"), " where ")
		parts[i] = strings.TrimSuffix(strings.TrimSuffix(number, " points"), " tasks") + " at " + share
	}
	return parts
}

func points(difference float64) string { return fmt.Sprintf("%.1f points", 100*difference) }

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// measuredPower goes by the variance of earlier records.
func (p *program) measuredPower(planned *plan.Plan, f *powerFlags) ([]string, error) {
	v, err := p.variation(f.from)
	if err != nil {
		return nil, err
	}
	notes := []string{measuredDifference(v, planned.Tasks, planned.Trials)}
	if f.detect > 0 {
		notes = append(notes, measuredNeed(v, f.detect, planned.Tasks, planned.Trials))
	}
	return notes, nil
}

// variation measures that of one place with several configurations, or that
// between two places.
func (p *program) variation(from []string) (*reports.Variation, error) {
	defer leanly()()
	at, first, err := p.readFrom(from[0])
	if err != nil {
		return nil, err
	}
	if len(from) == 2 {
		return p.variationTo(at, first, from[1])
	}
	if at.configuration != "" {
		return nil, usage("name "+shellWord(at.Path)+" alone, or two results: --from BASE --from NEW", "--from %s is one configuration, and a difference takes two", from[0])
	}
	v, err := first.Variation()
	if err != nil {
		return nil, usage("name results of two configurations with scores, or two results: --from BASE --from NEW", "--from %s: %v", from[0], err)
	}
	return v, nil
}

// variationTo measures that between a place and another one.
func (p *program) variationTo(base *place, before *reports.Report, text string) (*reports.Variation, error) {
	at, after, err := p.readFrom(text)
	if err != nil {
		return nil, err
	}
	if sameFile(base.Path, at.Path) {
		if err := (&sides{base: base, new: at}).distinct(); err != nil {
			return nil, err
		}
	}
	v, err := reports.VariationBetween(before, after, reports.DiffOptions{
		BaseName: base.text, NewName: at.text, BaseConfiguration: base.configuration, NewConfiguration: at.configuration,
	})
	if err != nil {
		return nil, usage("name two results of the same tasks, with scores", "--from %s --from %s: %v", base.text, text, err)
	}
	return v, nil
}

func (p *program) readFrom(text string) (*place, *reports.Report, error) {
	at, err := p.openPlace(text, baselineFolder)
	if err != nil {
		return nil, nil, err
	}
	r, err := collectResults(at.Results, neededRecords)
	return at, r, err
}

// measuredDifference is the smallest one of the score that a plan can show.
func measuredDifference(v *reports.Variation, tasks, trials int) string {
	size := count(tasks, "task", "tasks") + " × " + count(trials, "trial", "trials")
	by := fmt.Sprintf(" by the variance of %s on %s%s%s", count(v.Pairs, "pair", "pairs"), count(v.Tasks, "task", "tasks"), clustersOf(v), atLevel)
	variance, ok := v.Variance(trials)
	smallest, shows := power.Detectable(variance, float64(tasks))
	switch {
	case !ok || !shows:
		return size + ": nothing can be said" + by
	case smallest == 0:
		return size + " show any difference of " + printable(v.Score) + ": none was seen from task to task," + by
	}
	return fmt.Sprintf("%s can show a difference of %s of %.3f%s", size, printable(v.Score), smallest, by)
}

// clustersOf says that tasks depend on each other, and counts on others that do.
func clustersOf(v *reports.Variation) string {
	if v.ClusterSize <= 1 {
		return ""
	}
	return fmt.Sprintf(" in clusters of %.3g", v.ClusterSize)
}

// measuredNeed is how many tasks, or how many trials, it takes.
func measuredNeed(v *reports.Variation, difference float64, tasks, trials int) string {
	variance, _ := v.Variance(trials)
	of := count(trials, "trial", "trials")
	text := fmt.Sprintf("to show a difference of %v takes %s of %s%s", difference, neededTasks(v, variance, difference), of, clustersOf(v))
	if v.OneTrial {
		return text + "; what more trials would do is unknown, for records have one of each task"
	}
	if enough, ok := enoughTrials(v, difference, tasks); ok {
		return fmt.Sprintf("%s, or %s of %s", text, count(tasks, "task", "tasks"), manyOf(enough, true, "trial", "trials"))
	}
	return fmt.Sprintf("%s; with fewer than %s no number of trials is enough", text, neededTasks(v, v.Paired.Between, difference))
}

// neededTasks is how many tasks show a difference, at least as many as any test
// needs, however little they vary.
func neededTasks(v *reports.Variation, variance, difference float64) string {
	if variance == 0 {
		return manyOf(fewestTasks(v), true, "task", "tasks")
	}
	needed, ok := power.Needed(variance, difference)
	return manyOf(max(needed, fewestTasks(v)), ok, "task", "tasks")
}

// fewestTasks are those of as many clusters as have to come out differently.
func fewestTasks(v *reports.Variation) float64 { return fewestDiffering * v.ClusterSize }

// enoughTrials is how many trials of so many tasks show the difference.
func enoughTrials(v *reports.Variation, difference float64, tasks int) (trials float64, ok bool) {
	most, ok := power.Needed(1, difference) // tasks for a variance of 1
	left := float64(tasks)/most - v.Paired.Between
	if !ok || left <= 0 || float64(tasks) < fewestTasks(v) {
		return 0, false
	}
	return max(1, (v.Paired.WithinA+v.Paired.WithinB)/left), true
}

func roundUp(n float64) int { return int(math.Ceil(n - 1e-9)) }
