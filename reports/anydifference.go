package reports

import (
	"fmt"
	"math"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// With fewer configurations their difference is a line of its own; with fewer
// values in rows that are not all equal the chi-squared distribution is too far
// from the statistic's own (M. W. Tate and S. M. Brown, JASA 65, 1970).
const (
	fewestAtOnce     = 3
	fewestDiffering  = 24
	fewestRowsAtOnce = 6
)

// anyDifference asks of the primary score whether the configurations differ at
// all, before any two of them are compared: one look in place of many. It is over
// the tasks, or clusters of them, of which all configurations have a score.
func (c *collector) anyDifference() (w Warning, ok bool) {
	if len(c.runs.scores) == 0 {
		return w, false
	}
	rows, configurations := c.runs.scoredByAll(len(c.sums))
	if configurations < fewestAtOnce || len(rows) < fewestRowsAtOnce || differingRows(rows)*configurations < fewestDiffering {
		return w, false
	}
	name := "Cochran's Q"
	test, ok := stats.CochranQ(rows)
	if !ok {
		name = "Friedman's chi-squared"
		test, ok = stats.Friedman(rows)
	}
	of, p := page.Plural(len(rows), "task", "tasks"), page.Chance(page.Known(test.P))
	if c.runs.clusters != nil {
		of = page.Plural(len(rows), "cluster", "clusters")
	}
	if !strings.HasPrefix(p, "<") {
		p = "= " + p
	}
	return Warning{
		Kind: AnyDifference, Name: c.runs.scores[0].name, Count: len(rows), Of: configurations,
		More: fmt.Sprintf("%s = %.3g over %s, p %s", name, test.Statistic, of, p),
	}, ok
}

// scoredByAll has a row for each task, or cluster of tasks, and in it the mean
// primary score of each configuration that has runs.
func (r *runs) scoredByAll(all int) (rows [][]float64, configurations int) {
	var with []int
	for i := range all {
		if len(r.ordered[i]) > 0 {
			with = append(with, i)
		}
	}
	configurations = len(with)
	cells, filled := make([]float64, len(r.tasks.all)*configurations), make([]int32, len(r.tasks.all))
	for column, i := range with {
		for group := range r.byTask(i) {
			task := r.all[group[0]].task
			if mean, ok := r.meanPrimary(group); ok {
				cells[int(task)*configurations+column] = settled(mean)
				filled[task]++
			}
		}
	}
	return r.filledRows(cells, filled, configurations), configurations
}

// filledRows are the rows of tasks that all configurations have a score of, and
// the means of those in a cluster.
func (r *runs) filledRows(cells []float64, filled []int32, configurations int) (rows [][]float64) {
	byCluster := map[string][][]float64{}
	var clusters []string
	for task, n := range filled {
		row := cells[task*configurations : (task+1)*configurations]
		switch cluster := r.clusterOf(int32(task)); {
		case int(n) < configurations:
		case cluster == "":
			rows = append(rows, row)
		default:
			if byCluster[cluster] == nil {
				clusters = append(clusters, cluster)
			}
			byCluster[cluster] = append(byCluster[cluster], row)
		}
	}
	for _, cluster := range clusters {
		rows = append(rows, meanRow(byCluster[cluster]))
	}
	return rows
}

func (r *runs) meanPrimary(group []int32) (mean float64, ok bool) {
	var scored []float64
	for _, at := range group {
		if score, ok := r.primary(at); ok {
			scored = append(scored, score)
		}
	}
	return stats.Mean(scored)
}

func meanRow(rows [][]float64) []float64 {
	means, column := make([]float64, len(rows[0])), make([]float64, len(rows))
	for i := range means {
		for at, row := range rows {
			column[at] = row[i]
		}
		mean, _ := stats.Mean(column)
		means[i] = settled(mean)
	}
	return means
}

// settled is a mean without what rounding adds to it: ranks tell any two numbers
// apart.
func settled(mean float64) float64 { return math.Round(mean*1e9) / 1e9 }

// differingRows counts the rows whose values are not all equal.
func differingRows(rows [][]float64) (n int) {
	for _, row := range rows {
		for _, value := range row {
			if value != row[0] {
				n++
				break
			}
		}
	}
	return n
}
