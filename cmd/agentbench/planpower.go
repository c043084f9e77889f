package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/stats"
)

// powerFlags ask how large a suite has to be.
type powerFlags struct {
	detect  float64
	from    string
	changed func(flag string) bool
}

func (f *powerFlags) declare(c *cobra.Command) {
	c.Flags().Float64Var(&f.detect, "detect", 0, "say how many tasks or trials it takes to show such a difference of the score, for example 0.05")
	c.Flags().StringVar(&f.from, "from", "", "earlier results or a baseline, of two configurations or more, by whose variance to go")
	f.changed = c.Flags().Changed
}

func (f *powerFlags) validate() error {
	if f.changed("detect") && !(f.detect > 0 && f.detect < 1) {
		return usage("0.05 is 5 points", "--detect %v: want a number between 0 and 1", f.detect)
	}
	return nil
}

// power is what tests are planned for: a level of 5 % and a power of 80 %.
var power = stats.Power{Alpha: 0.05, Power: 0.8}

// powerNotes say which differences a plan can show, and what others would take.
func (p *program) powerNotes(o *opened, planned *plan.Plan, f *powerFlags) ([]string, error) {
	if f.from == "" && (len(o.Suite.Scorers) == 0 || planned.Tasks < 1 || planned.Part != nil) {
		return nil, nil
	}
	if f.from != "" {
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
		if ok {
			tasks := int(math.Ceil(max(needed, 6/share) - 1e-9))
			parts = append(parts, fmt.Sprintf("%s where %s of them come out differently", count(tasks, "task", "tasks"), percent(share)))
		}
	}
	return fmt.Sprintf("to show a difference of %s takes %s", points(difference), strings.Join(shortened(parts), ", "))
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
	from, err := openPlace(f.from, baselineFolder)
	if err != nil {
		return nil, err
	}
	if from.configuration != "" {
		return nil, usage("name "+shellWord(from.Path)+" alone", "--from %s is one configuration, and a difference takes two", f.from)
	}
	defer leanly()()
	r, err := collectResults(from.Results, neededRecords)
	if err != nil {
		return nil, err
	}
	v, err := r.Variation()
	if err != nil {
		return nil, usage("name results of two configurations with scores", "--from %s: %v", f.from, err)
	}
	notes := []string{measuredDifference(v, planned.Tasks, planned.Trials)}
	if f.detect > 0 {
		notes = append(notes, measuredNeed(v, f.detect, planned.Tasks, planned.Trials))
	}
	return notes, nil
}

// measuredDifference is the smallest one of the score that a plan can show.
func measuredDifference(v *reports.Variation, tasks, trials int) string {
	size := count(tasks, "task", "tasks") + " × " + count(trials, "trial", "trials")
	by := fmt.Sprintf(" by the variance of %s on %s%s", count(v.Pairs, "pair", "pairs"), count(v.Tasks, "task", "tasks"), atLevel)
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

// measuredNeed is how many tasks, or how many trials, it takes.
func measuredNeed(v *reports.Variation, difference float64, tasks, trials int) string {
	variance, _ := v.Variance(trials)
	needed, _ := power.Needed(variance, difference)
	text := fmt.Sprintf("to show a difference of %v takes %s of %s", difference, count(roundUp(needed), "task", "tasks"), count(trials, "trial", "trials"))
	if v.OneTrial {
		return text + "; what more trials would do is unknown, for the records have one of each task"
	}
	if enough, ok := enoughTrials(v, difference, tasks); ok {
		return fmt.Sprintf("%s, or %s of %s", text, count(tasks, "task", "tasks"), count(enough, "trial", "trials"))
	}
	least, _ := power.Needed(v.Paired.Between, difference)
	return fmt.Sprintf("%s; with fewer than %d no number of trials is enough", text, roundUp(least))
}

// enoughTrials is how many trials of so many tasks show the difference.
func enoughTrials(v *reports.Variation, difference float64, tasks int) (trials int, ok bool) {
	most, ok := power.Needed(1, difference) // tasks for a variance of 1
	left := float64(tasks)/most - v.Paired.Between
	if !ok || left <= 0 {
		return 0, false
	}
	return max(1, roundUp((v.Paired.WithinA+v.Paired.WithinB)/left)), true
}

func roundUp(n float64) int { return int(math.Ceil(n - 1e-9)) }
