package reports

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Judges is what a scorer asked others about the runs of a configuration, what
// that took, and how much it matters whom and how often one asks. What it took is
// in no run's usage. Only scores that count are in it, those of iterations too.
type Judges struct {
	Scorer   string  `json:"scorer"`
	Scores   int     `json:"scores"`
	Votes    int     `json:"votes"`
	Failed   []Count `json:"failed"`   // votes that are missing, by the class of the error
	Repaired int     `json:"repaired"` // votes that were in the form asked for at the second time
	// Calls, Tokens and Cost are as if nothing were cached.
	Calls  int64      `json:"calls"`
	Tokens page.Value `json:"tokens"`
	Cost   page.Value `json:"cost_usd"`

	// Differ is the share of the scores with several votes on a question in which
	// these differ; SD is their standard deviation, the mean over such scores.
	Differ page.Value `json:"votes_differ"`
	SD     page.Value `json:"votes_sd"`
	// Variance is that of the votes on the same output. Within is the variance of
	// the scores of one task's trials, Between that of the tasks, as in the residue.
	Variance page.Value `json:"variance_votes"`
	Within   page.Value `json:"variance_within"`
	Between  page.Value `json:"variance_between"`
	// Noise is how much of Within the votes make: the variance that is left in the
	// mean of them, beside it. What judges of a panel always differ by is not in it.
	Noise page.Value `json:"votes_share_of_within"`

	// Pairs are those votes that were asked for in both orders, Changed the share
	// of them in which the order changed the verdict, First what standing first is
	// worth (0.5: nothing), PlaceP the chance of as many tasks, or clusters of them,
	// in favour of one place where it says nothing (stats.PositionBias).
	Pairs   int        `json:"pairs"`
	Changed page.Value `json:"order_changed"`
	First   page.Value `json:"first_place"`
	PlaceP  page.Value `json:"first_place_p"`
}

// judges are the scorers that asked others about a configuration.
func (c *collector) judges(configuration int, residue []Part) (all []Judges) {
	for _, s := range c.runs.scores {
		heard := c.heard(s.name, configuration)
		if len(heard) == 0 {
			continue
		}
		j := Judges{Scorer: s.name, Scores: len(heard), Within: page.Missing(page.OneTrial), Between: page.Missing(page.OneTrial)}
		j.count(heard)
		for i := range residue {
			if residue[i].Scorer == s.name {
				j.Within, j.Between = residue[i].Within, residue[i].Between
			}
		}
		j.disagree(heard)
		j.places(c.runs, heard)
		all = append(all, j)
	}
	return all
}

// count adds up what was asked and what that took.
func (j *Judges) count(heard []*judged) {
	var used record.Usage
	failed := map[record.ErrorClass]int{}
	for _, one := range heard {
		j.Votes += one.votes
		j.Repaired += one.repaired
		used = used.Plus(one.used)
		for _, class := range one.failed {
			failed[class]++
		}
	}
	j.Failed, j.Calls = counted(failed), used.Calls
	j.Cost = costOr(used.Cost, used.Unpriced > 0, used.Unreported > 0)
	if j.Tokens = page.Known(float64(used.Tokens())); !used.TokensTold() {
		j.Tokens = page.Missing(page.Unknown)
	}
}

// disagree compares votes on the same output.
func (j *Judges) disagree(heard []*judged) {
	var variances, deviations []float64
	differ := 0
	for _, one := range heard {
		if !one.several {
			continue
		}
		variances, deviations = append(variances, one.variance), append(deviations, math.Sqrt(one.variance))
		if one.differ {
			differ++
		}
	}
	j.Differ, j.SD, j.Variance = page.Ratio(int64(differ), int64(len(variances))), page.ValueOf(stats.Mean(deviations)), page.ValueOf(stats.Mean(variances))
	j.Noise = page.Missing(page.Nothing)
	if noise, ok := noise(heard); ok && j.Within.Known() && j.Within.Number > 0 {
		j.Noise = page.Known(noise / j.Within.Number)
	}
}

// places compares both orders of pairs. Those of one task, or of one cluster of
// tasks, speak with one voice for or against a place.
func (j *Judges) places(runs *runs, heard []*judged) {
	var clusters [][]stats.Placed
	at := map[unit]int{}
	for _, one := range heard {
		of, known := at[runs.unitOf(one.task)]
		if !known {
			of = len(clusters)
			at[runs.unitOf(one.task)], clusters = of, append(clusters, nil)
		}
		clusters[of] = append(clusters[of], one.placed...)
	}
	bias, ok := stats.PositionBias(clusters)
	j.Pairs = bias.Pairs
	j.Changed, j.First, j.PlaceP = page.ValueOf(bias.Changed, ok), page.ValueOf(bias.First, ok), page.ValueOf(bias.P, ok)
}
