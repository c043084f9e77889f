package reports

import (
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Part is what is left unexplained inside the mean of a score: how much tasks
// differ, how much the trials of a task do, and what more of either would buy.
type Part struct {
	Scorer string `json:"scorer"`
	Tasks  int    `json:"tasks"` // with a scored run
	// Trials is the mean number of scored runs of a task.
	Trials page.Value `json:"trials"`
	// Between is the variance of what the tasks' scores truly are, Within that of
	// the trials of one task; ICC is the share of the first in both.
	Between page.Value `json:"variance_between"`
	Within  page.Value `json:"variance_within"`
	ICC     page.Value `json:"icc"`
	// Agreement is the chance that two trials of a task both succeed or both do
	// not, the mean over tasks with two trials or more.
	Agreement page.Value `json:"agreement"`
	// SE is the standard error of the mean as it is.
	SE   page.Value   `json:"se"`
	With []WithTrials `json:"se_with"`
	// Advice is "more tasks" or "more trials": which of them makes the mean surer
	// at the same number of runs, as long as there are any to be had.
	Advice string `json:"advice"`
}

// WithTrials is the standard error that as many tasks with that many trials each
// would have.
type WithTrials struct {
	Trials int        `json:"trials"`
	SE     page.Value `json:"se"`
}

// residueTrials are the numbers of trials that standard errors are told for.
var residueTrials = []int{1, 2, 4, 8, 16}

// worthwhile is how much of the standard error has to go with twice the trials
// for more of them to be the advice. Twice the tasks take 29 % of it at the same
// number of runs, but tasks have to be written.
const worthwhile = 0.1

// residue has a part for each score of a configuration whose tasks have more
// than one scored trial; without any it is empty.
func (c *collector) residue(configuration int) []Part {
	parts := []Part{}
	for _, s := range c.runs.scores {
		if part, ok := s.part(c.runs, configuration); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

func (s *scores) part(r *runs, configuration int) (part Part, ok bool) {
	tasks, means := [][]float64{}, taskMeans{runs: r}
	for group := range r.byTask(configuration) {
		var scored []float64
		for _, run := range group {
			if value, ok := s.of(run); ok {
				scored = append(scored, value)
			}
		}
		if means.add(group[0], scored) {
			tasks = append(tasks, scored)
		}
	}
	variance, ok := stats.VarianceComponents(tasks)
	if !ok {
		return Part{}, false
	}
	part = Part{
		Scorer: s.name, Tasks: len(tasks), Trials: page.Ratio(int64(means.scored), int64(len(tasks))), Agreement: agreement(tasks),
		Between: page.Known(variance.Between), Within: page.Known(variance.Within), ICC: page.ValueOf(variance.ICC()), SE: page.ValueOf(means.standardError()),
	}
	for _, trials := range residueTrials {
		part.With = append(part.With, WithTrials{trials, page.ValueOf(variance.MeanSE(len(tasks), trials))})
	}
	part.Advice = advice(variance, part.Trials.Number)
	return part, true
}

// agreement is missing where scores are other than failures and successes.
func agreement(tasks [][]float64) page.Value {
	var all []float64
	for _, scored := range tasks {
		successes := 0
		for _, value := range scored {
			switch value {
			case 0:
			case success:
				successes++
			default:
				return page.Missing(page.Nothing)
			}
		}
		if chance, ok := stats.Agreement(len(scored), successes); ok {
			all = append(all, chance)
		}
	}
	return page.ValueOf(stats.Mean(all))
}

// advice compares what twice the trials would do with what they cost.
func advice(c stats.Components, trials float64) string {
	now, twice := c.Between+c.Within/trials, c.Between+c.Within/(2*trials)
	if now > 0 && twice <= (1-worthwhile)*(1-worthwhile)*now {
		return "more trials"
	}
	return "more tasks"
}

// standardError is that of the mean of the means.
func (t *taskMeans) standardError() (se float64, ok bool) {
	if t.clusters != nil {
		return stats.ClusteredSE(t.clusters)
	}
	return stats.StandardError(t.all)
}
