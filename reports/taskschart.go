package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// The most columns and rows of a heat map.
const mostColumns, mostTasks = 40, 40

// tasksChart is a heat map of the primary score by task and configuration.
func (r *Report) tasksChart() []page.Chart {
	if r.Primary() == "" || len(r.Configurations) < 2 {
		return nil
	}
	all := slices.Collect(r.Tasks())
	kept, rest := mostSpread(all, mostTasks)
	shown, others := r.foremostAndOthers(mostColumns, func(*Configuration) bool { return true })
	columns := make([]int, len(shown))
	digits := r.scoreDigits()
	c := page.Chart{
		Name: "tasks-scores", Title: "Scores by task and configuration", Beside: "tasks",
		About: "The mean of " + r.Primary() + " over the trials of a task; the stronger the colour, the higher.",
		X:     page.Axis{Name: "configuration", Kind: page.Category}, Y: page.Axis{Name: "task", Kind: page.Category},
	}
	for i, configuration := range shown {
		columns[i], _ = r.named(configuration.Name)
		c.X.Labels = append(c.X.Labels, configuration.Name)
	}
	shade, ends := shadesOf(kept, columns)
	for _, task := range kept {
		row := len(c.Y.Labels)
		c.Y.Labels = append(c.Y.Labels, task.ID)
		for i, at := range columns {
			result := &task.Results[at]
			t := page.Tile{
				X: i, Y: row, Value: result.Score, Shade: -1, Text: page.Score(result.Score, digits), More: page.Plural(result.Runs, "run", "runs"),
				Link: page.Filter(page.Term("config", r.Configurations[at].Name), page.Term("task", task.ID)),
			}
			if result.Score.Known() {
				t.Shade = shade(result.Score.Number)
			} else {
				t.Hatch = page.Crossed
			}
			c.Tiles = append(c.Tiles, t)
		}
	}
	if len(c.Tiles) == 0 {
		return nil
	}
	r.addOthers(&c, kept, rest, columns, others, shade)
	for _, end := range ends {
		c.Legend = append(c.Legend, page.Key{Name: page.Score(page.Known(end), digits), Tile: page.Tile{Shade: shade(end)}})
	}
	if len(rest) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("the %d of %d tasks whose scores differ most between configurations; the last row has the means of the others", len(kept), len(all)))
	}
	if len(others) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("the last column has the means of %d more configurations, which the table has", len(others)))
	}
	return []page.Chart{c}
}

// addOthers adds a row for the tasks, and a column for the configurations, that have none of their own.
func (r *Report) addOthers(c *page.Chart, kept, rest []Task, columns []int, others []*Configuration, shade func(float64) float64) {
	digits := r.scoreDigits()
	add := func(x, y int, tasks []Task, columns []int) {
		mean, runs := meanOver(tasks, columns)
		t := page.Tile{X: x, Y: y, Value: mean, Shade: -1, Hatch: page.Crossed, Text: page.Score(mean, digits), More: page.Plural(runs, "run", "runs")}
		if mean.Known() {
			t.Shade, t.Hatch = shade(mean.Number), page.NoHatch
		}
		c.Tiles = append(c.Tiles, t)
	}
	var beyond []int
	for _, of := range others {
		at, _ := r.named(of.Name)
		beyond = append(beyond, at)
	}
	if len(others) > 0 {
		for y, task := range kept {
			add(len(columns), y, []Task{task}, beyond)
		}
		c.X.Labels = append(c.X.Labels, othersName(len(others), "configuration", "configurations"))
	}
	if len(rest) == 0 {
		return
	}
	for x, column := range columns {
		add(x, len(kept), rest, []int{column})
	}
	if len(others) > 0 {
		add(len(columns), len(kept), rest, beyond)
	}
	c.Y.Labels = append(c.Y.Labels, othersName(len(rest), "task", "tasks"))
}

// meanOver is the mean of the known scores of tasks and configurations, and the number of their runs.
func meanOver(tasks []Task, columns []int) (mean page.Value, runs int) {
	var scores []float64
	for i := range tasks {
		for _, at := range columns {
			result := &tasks[i].Results[at]
			if runs += result.Runs; result.Score.Known() {
				scores = append(scores, result.Score.Number)
			}
		}
	}
	return page.ValueOf(stats.Mean(scores)), runs
}

// mostSpread are the tasks whose scores differ the most, in their own order, and the others.
func mostSpread(all []Task, most int) (kept, rest []Task) {
	if len(all) <= most {
		return all, nil
	}
	most-- // the others have a row
	order := spaced(len(all), len(all))
	spread := func(at int) float64 { return all[at].spread().Number }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spread(b), spread(a)) })
	foremost := order[:most]
	slices.Sort(foremost)
	for _, at := range foremost {
		kept = append(kept, all[at])
	}
	for _, at := range order[most:] {
		rest = append(rest, all[at])
	}
	return kept, rest
}

// shadesOf gives scores from 0 to 1 their own value as a shade, others their place between
// the least and the most; the ends are the scores of both.
func shadesOf(tasks []Task, columns []int) (shade func(score float64) float64, ends []float64) {
	least, most := 0.0, 1.0
	for _, task := range tasks {
		for _, at := range columns {
			if score := task.Results[at].Score; score.Known() {
				least, most = min(least, score.Number), max(most, score.Number)
			}
		}
	}
	return func(score float64) float64 { return (score - least) / (most - least) }, []float64{least, (least + most) / 2, most}
}
