package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// The most columns and rows of a heat map.
const mostColumns, mostTasks = 40, 40

// tasksChart is a heat map of the primary score by task and configuration.
func (r *Report) tasksChart() []page.Chart {
	if r.Primary() == "" || len(r.Configurations) < 2 {
		return nil
	}
	all := slices.Collect(r.Tasks())
	kept := mostSpread(all, mostTasks)
	shown, more := r.foremost(mostColumns, func(*Configuration) bool { return true })
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
	for _, end := range ends {
		c.Legend = append(c.Legend, page.Key{Name: page.Score(page.Known(end), digits), Tile: page.Tile{Shade: shade(end)}})
	}
	if len(kept) < len(all) {
		c.Notes = append(c.Notes, fmt.Sprintf("the %d of %d tasks whose scores differ most between configurations", len(kept), len(all)))
	}
	if more > 0 {
		c.Notes = append(c.Notes, page.Plural(more, "more configuration is", "more configurations are")+" in the table alone")
	}
	return []page.Chart{c}
}

// mostSpread are the tasks whose scores differ the most, in their own order.
func mostSpread(all []Task, most int) []Task {
	if len(all) <= most {
		return all
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	spread := func(at int) float64 { return all[at].spread().Number }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spread(b), spread(a)) })
	order = order[:most]
	slices.Sort(order)
	kept := make([]Task, most)
	for i, at := range order {
		kept[i] = all[at]
	}
	return kept
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
