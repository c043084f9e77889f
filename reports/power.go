package reports

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// power is what tests are planned for: a level of 5 % and a power of 80 %.
var power = stats.Power{Alpha: 0.05, Power: 0.8}

// shares of the tasks at which two configurations may end differently: what
// decides how sure a difference of success rates is.
var discordance = []float64{0.05, 0.10, 0.15, 0.25}

// AssumedPower is the smallest difference that so many tasks can show, by the
// share of them that come out differently. No difference is larger than that
// share.
func AssumedPower(tasks, trials int) string {
	head := page.Plural(tasks, "task", "tasks") + " can show "
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

// AssumedNeed is how many tasks it takes to show a difference of success rates,
// by the share of them that come out differently, at least six of them.
func AssumedNeed(difference float64) string {
	shares := slices.DeleteFunc(slices.Clone(discordance), func(share float64) bool { return share < difference })
	if len(shares) == 0 {
		shares = []float64{difference}
	}
	var parts []string
	for _, share := range shares {
		needed, ok := power.NeededMcNemar((share+difference)/2, (share-difference)/2)
		parts = append(parts, fmt.Sprintf("%s where %s of them come out differently", manyOf(max(needed, leastDiffering/share), ok, "task", "tasks"), percent(share)))
	}
	return fmt.Sprintf("to show a difference of %s takes %s", points(difference), strings.Join(shortened(parts), ", "))
}

// leastDiffering is how many tasks have to come out differently before any test
// shows a difference at 5 %.
const leastDiffering = 6

// mostToTell is the number from which on a suite is beyond reach.
const mostToTell = 1_000_000

// manyOf is a number rounded up; ok is false where it is too large to be one.
func manyOf(n float64, ok bool, one, many string) string {
	if !ok || n > mostToTell {
		return "more than a million " + many
	}
	return page.Plural(int(math.Ceil(n-1e-9)), one, many)
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

// Detectable is the smallest difference of the score that a plan of so many tasks and
// trials can show.
func (v *Variation) Detectable(tasks, trials int) page.Words {
	size := page.Plural(tasks, "task", "tasks") + " × " + page.Plural(trials, "trial", "trials")
	by := fmt.Sprintf(" by the variance of %s on %s%s%s", page.Plural(v.Pairs, "pair", "pairs"), page.Plural(v.Tasks, "task", "tasks"), clustersOf(v), atLevel)
	variance, ok := v.Variance(trials)
	smallest, shows := power.Detectable(variance, float64(tasks))
	switch {
	case !ok || !shows:
		return page.Words(size + ": nothing can be said" + by)
	case smallest == 0:
		return page.Words(size + " show any difference of " + page.Foreign(v.Score) + ": none was seen from task to task," + by)
	}
	return page.Words(fmt.Sprintf("%s can show a difference of %s of %.3f%s", size, page.Foreign(v.Score), smallest, by))
}

// clustersOf says that tasks depend on each other, and counts on others that do.
func clustersOf(v *Variation) string {
	if v.ClusterSize <= 1 {
		return ""
	}
	return fmt.Sprintf(" in clusters of %.3g", v.ClusterSize)
}

// Needed is how many tasks, or how many trials, it takes to show a difference.
func (v *Variation) Needed(difference float64, tasks, trials int) string {
	variance, _ := v.Variance(trials)
	of := page.Plural(trials, "trial", "trials")
	text := fmt.Sprintf("to show a difference of %v takes %s of %s%s", difference, neededTasks(v, variance, difference), of, clustersOf(v))
	if v.OneTrial {
		return text + "; what more trials would do is unknown, for records have one of each task"
	}
	if enough, ok := enoughTrials(v, difference, tasks); ok {
		return fmt.Sprintf("%s, or %s of %s", text, page.Plural(tasks, "task", "tasks"), manyOf(enough, true, "trial", "trials"))
	}
	return fmt.Sprintf("%s; with fewer than %s no number of trials is enough", text, neededTasks(v, v.Paired.Between, difference))
}

// neededTasks is how many tasks show a difference, at least as many as any test
// needs, however little they vary.
func neededTasks(v *Variation, variance, difference float64) string {
	if variance == 0 {
		return manyOf(fewestTasks(v), true, "task", "tasks")
	}
	needed, ok := power.Needed(variance, difference)
	return manyOf(max(needed, fewestTasks(v)), ok, "task", "tasks")
}

// fewestTasks are those of as many clusters as have to come out differently.
func fewestTasks(v *Variation) float64 { return leastDiffering * v.ClusterSize }

// enoughTrials is how many trials of so many tasks show the difference.
func enoughTrials(v *Variation, difference float64, tasks int) (trials float64, ok bool) {
	most, ok := power.Needed(1, difference) // tasks for a variance of 1
	left := float64(tasks)/most - v.Paired.Between
	if !ok || left <= 0 || float64(tasks) < fewestTasks(v) {
		return 0, false
	}
	return max(1, (v.Paired.WithinA+v.Paired.WithinB)/left), true
}

// Variation is by how much the configurations of a report differ from task to
// task and from trial to trial: what it takes to say how large another suite of
// such tasks has to be.
type Variation struct {
	Score string // the primary one
	Pairs int    // of the baseline, else the first configuration, and another one
	Tasks int    // on average
	// ClusterSize is how many tasks a cluster has on average, 1 where each is its own.
	ClusterSize float64
	// Paired is the mean over the pairs. Of records with one trial a task nothing is
	// known within tasks, and all stands between them.
	Paired stats.PairedVariance
	// OneTrial says that it is so of either side of a pair.
	OneTrial bool
}

// Variance is that of a task's difference with so many trials on either side.
func (v *Variation) Variance(trials int) (variance float64, ok bool) {
	paired := v.Paired
	paired.TrialsA, paired.TrialsB = trials, trials
	return paired.Value()
}

// errNoPairs says that there is nothing whose variation could be measured.
var errNoPairs = errors.New("no two configurations have scores of three tasks in common")

// Variation measures the pairs of the baseline, else of the first configuration,
// with each other one.
func (r *Report) Variation() (*Variation, error) {
	base := max(0, slices.IndexFunc(r.Configurations, func(c Configuration) bool { return c.Name == r.Baseline }))
	v := &Variation{Score: r.Primary()}
	for i := range r.Configurations {
		if i != base && r.Primary() != "" {
			v.add(r.runs.trialsByTask(base), r.runs.trialsByTask(i))
		}
	}
	return v, v.settle()
}

// VariationBetween measures the pairs of configurations that Diff would compare.
// An error says that there are none, or that they have no score in common.
func VariationBetween(base, new *Report, options DiffOptions) (*Variation, error) {
	if base.Primary() != new.Primary() {
		return nil, fmt.Errorf("their first scores are %q and %q", base.Primary(), new.Primary())
	}
	couples, err := coupled(base, new, &options)
	if err != nil {
		return nil, err
	}
	v := &Variation{Score: new.Primary()}
	for _, of := range couples {
		v.add(base.runs.trialsByTask(of.base), new.runs.trialsByTask(of.new))
	}
	return v, v.settle()
}

// settle makes means of the sums over pairs.
func (v *Variation) settle() error {
	if v.Pairs == 0 {
		return errNoPairs
	}
	n := float64(v.Pairs)
	v.Tasks /= v.Pairs
	v.ClusterSize /= n
	v.Paired.Between, v.Paired.WithinA, v.Paired.WithinB = v.Paired.Between/n, v.Paired.WithinA/n, v.Paired.WithinB/n
	return nil
}

// add measures a pair: the variance of the tasks' differences, less what their
// trials alone would make of it.
func (v *Variation) add(a, b trials) {
	var before, after [][]float64
	differences := Means{}
	for _, task := range b.order {
		name := b.runs.tasks.all[task]
		x, y := a.scores[name], b.scores[name]
		if len(x) == 0 || len(y) == 0 {
			continue
		}
		from, _ := stats.Mean(x)
		to, _ := stats.Mean(y)
		before, after = append(before, x), append(after, y)
		differences.Put(b.runs.clusterOf(task), to-from)
	}
	se, ok := differences.standardError()
	n := float64(len(differences.All))
	if !ok || n < 3 {
		return
	}
	withinA, trialsA := within(before)
	withinB, trialsB := within(after)
	v.OneTrial = v.OneTrial || min(trialsA, trialsB) <= 1
	v.Pairs++
	v.Tasks += len(differences.All)
	v.ClusterSize += float64(len(differences.All)) / float64(cmp.Or(len(differences.Clusters), len(differences.All), 1))
	v.Paired.Between += max(0, se*se*n-withinA/trialsA-withinB/trialsB)
	v.Paired.WithinA += withinA
	v.Paired.WithinB += withinB
}

// within is the variance between the trials of a task, 0 where there is one, and
// their mean number.
func within(tasks [][]float64) (variance, trials float64) {
	total := 0
	for _, scored := range tasks {
		total += len(scored)
	}
	components, _ := stats.VarianceComponents(tasks)
	return components.Within, float64(total) / float64(len(tasks))
}

// trials are the primary scores of a configuration by its tasks.
type trials struct {
	runs   *runs
	order  []int32 // the numbers of the tasks
	scores map[string][]float64
}

func (r *runs) trialsByTask(configuration int) trials {
	t := trials{runs: r, scores: map[string][]float64{}}
	for group := range r.byTask(configuration) {
		task := r.all[group[0]].task
		t.order = append(t.order, task)
		if scored := r.primaries(group); len(scored) > 0 {
			t.scores[r.tasks.all[task]] = scored
		}
	}
	return t
}
