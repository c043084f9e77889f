package reports

import (
	"errors"
	"fmt"

	"github.com/agentbench/agentbench/reports/stats"
)

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
	base := max(0, r.numberOf(r.Baseline))
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

func (r *Report) numberOf(name string) int {
	for i := range r.Configurations {
		if r.Configurations[i].Name == name {
			return i
		}
	}
	return -1
}

// add measures a pair: the variance of the tasks' differences, less what their
// trials alone would make of it.
func (v *Variation) add(a, b trials) {
	var before, after [][]float64
	differences := taskMeans{runs: b.runs}
	for _, task := range b.order {
		name := b.runs.tasks.all[task]
		x, y := a.scores[name], b.scores[name]
		if len(x) == 0 || len(y) == 0 {
			continue
		}
		from, _ := stats.Mean(x)
		to, _ := stats.Mean(y)
		before, after = append(before, x), append(after, y)
		differences.put(task, to-from)
	}
	se, ok := differences.standardError()
	n := float64(len(differences.all))
	if !ok || n < 3 {
		return
	}
	withinA, trialsA := within(before)
	withinB, trialsB := within(after)
	v.OneTrial = v.OneTrial || min(trialsA, trialsB) <= 1
	v.Pairs++
	v.Tasks += len(differences.all)
	v.ClusterSize += differences.clusterSize()
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
		for _, run := range group {
			if score, ok := r.primary(run); ok {
				t.scores[r.tasks.all[task]] = append(t.scores[r.tasks.all[task]], score)
			}
		}
	}
	return t
}
