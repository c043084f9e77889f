package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// verdictTones are the series of a forest plot, in the order of the legend.
var verdictTones = []struct {
	verdict compare.Verdict
	name    string
	tone    page.Tone
}{
	{compare.Better, "better", 2}, {compare.Worse, "worse", 4}, {compare.Same, "same", 0}, {compare.CannotTell, "~ inconclusive", page.Grey},
}

// forests are plots of the paired differences: of scores, and of amounts, which are ratios.
func (c *Comparison) forests() []page.Chart {
	scores := c.forest("differences-scores", "Change of the scores", page.Axis{Name: "new − base", Unit: page.InChanges, Shown: []float64{0}},
		"Right of 0 the new side is better.", func(d *compare.Difference) bool { return d.Score })
	many := len(c.Pairs) > 2 // then cost and latency alone
	amounts := c.forest("differences-amounts", "Change of cost, latency and usage", page.Axis{Name: "new / base − 1", Unit: page.InRatios, Shown: []float64{0}},
		"Left of 0 the new side needs less, which is better.", func(d *compare.Difference) bool {
			return !d.Score && d.Relative && (!many || d.Name == "cost_usd" || d.Name == "latency_s")
		})
	return slices.Concat(scores, amounts)
}

// forest has a row for each difference of some kind, with the margin as a zone.
func (c *Comparison) forest(name, title string, x page.Axis, about string, in func(*compare.Difference) bool) []page.Chart {
	chart := page.Chart{
		Name: name, Title: title, Beside: "differences", X: x, Y: page.Axis{Name: "quantity", Kind: page.Category},
		About: about + " Whiskers are 95% intervals; a change within the margin counts as none.",
		Zones: []page.Zone{{From: 0, To: 0}},
	}
	rows, more := c.forestRows(in)
	if len(rows) == 0 {
		return nil
	}
	chart.X.Form = rows[0].changeForm()
	most := 0.0
	for _, v := range verdictTones {
		s := page.Series{Name: v.name, Tone: v.tone}
		for i, row := range rows {
			if row.Verdict == v.verdict {
				s.Dots = append(s.Dots, c.forestDot(i, row))
				most = max(most, math.Abs(float64(row.Change)))
			}
		}
		if len(s.Dots) > 0 {
			chart.Series = append(chart.Series, s)
		}
	}
	for _, row := range rows {
		label := row.Name
		if len(c.Pairs) > 1 {
			label = row.pair.Name + " · " + label
		}
		chart.Y.Labels = append(chart.Y.Labels, label)
	}
	chart.Zones = append(chart.Zones, marginZone(rows)...)
	if x.Unit == page.InRatios {
		chart.X.Limit = &[2]float64{-1, max(1, 1.5*most)}
	}
	chart.Notes = moreRows(more)
	return []page.Chart{chart}
}

// changeForm shows a change as the table does.
func (row *differenceRow) changeForm() func(page.Value) string {
	if row.Score {
		return func(v page.Value) string { return page.Gain(v, compare.ShownDigits) }
	}
	return page.Relative
}

// forestRows are the differences that are known, in their order. Where there are too many,
// those stay that are shown, and of these the largest.
func (c *Comparison) forestRows(in func(*compare.Difference) bool) (rows []differenceRow, more int) {
	for row := range c.differences() {
		if in(row.Difference) && row.Value(row.Change).Known() {
			rows = append(rows, row)
		}
	}
	if len(rows) <= mostBars {
		return rows, 0
	}
	severity := map[compare.Verdict]int{compare.Worse: 0, compare.Better: 1, compare.CannotTell: 2, compare.Same: 3}
	order := spaced(len(rows), len(rows))
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := rows[a], rows[b]
		return cmp.Or(cmp.Compare(severity[x.Verdict], severity[y.Verdict]), cmp.Compare(math.Abs(float64(y.Change)), math.Abs(float64(x.Change))))
	})
	order = order[:mostBars]
	slices.Sort(order)
	kept := make([]differenceRow, mostBars)
	for i, at := range order {
		kept[i] = rows[at]
	}
	return kept, len(rows) - mostBars
}

func (c *Comparison) forestDot(at int, row differenceRow) page.Dot {
	return page.Dot{
		X: row.Value(row.Change), XRange: row.Interval(), Y: page.Known(float64(at)), Text: row.Judgement(),
		More: "base " + row.Mean(row.Base, c.dollarDigits()).Text + ", new " + row.Mean(row.New, c.dollarDigits()).Text, Link: page.OfConfiguration(row.pair.Name),
	}
}

// marginZone is the margin where all rows have the same.
func marginZone(rows []differenceRow) []page.Zone {
	margin := rows[0].Margin
	if margin <= 0 || slices.ContainsFunc(rows, func(row differenceRow) bool { return row.Margin != margin }) {
		return nil
	}
	return []page.Zone{{Name: "margin ±" + strings.TrimPrefix(rows[0].changeForm()(page.Known(margin)), "+"), From: -margin, To: margin}}
}

// The most pairs that have a chart of their tasks, and the most tasks of one.
const mostPairs, mostDumbbells = 4, 40

// dumbbells show the primary score of each task on both sides, what got worse first.
func (c *Comparison) dumbbells() (charts []page.Chart) {
	for i, of := range c.couples[:min(len(c.couples), mostPairs)] {
		p := &c.Pairs[i]
		if p.primary() == nil || !p.primary().Paired {
			continue
		}
		chart := c.dumbbell(p, c.changes(of))
		if len(c.Pairs) > 1 {
			chart.Name += fmt.Sprintf("-%d", i+1)
			chart.Title += " of " + p.Name
		}
		if len(chart.Y.Labels) > 0 {
			charts = append(charts, chart)
		}
	}
	return charts
}

// TaskChange is the mean primary score of a task on both sides.
type TaskChange struct {
	Task string  `json:"task"`
	Base float64 `json:"base"`
	New  float64 `json:"new"`
}

func (t TaskChange) change() float64 { return t.New - t.Base }

// changes are those of the tasks that both sides have a score of, what got worse first.
func (c *Comparison) changes(of couple) (all []TaskChange) {
	before := map[string]float64{}
	for group := range c.base.runs.byTask(of.base) {
		if mean, ok := c.base.runs.meanSuccess(group); ok {
			before[c.base.runs.tasks.all[c.base.runs.all[group[0]].task]] = mean
		}
	}
	for group := range c.new.runs.byTask(of.new) {
		task := c.new.runs.tasks.all[c.new.runs.all[group[0]].task]
		base, known := before[task]
		if mean, ok := c.new.runs.meanSuccess(group); ok && known {
			all = append(all, TaskChange{task, base, mean})
		}
	}
	slices.SortStableFunc(all, func(a, b TaskChange) int { return cmp.Compare(a.change(), b.change()) })
	return all
}

func (c *Comparison) dumbbell(p *Pair, all []TaskChange) page.Chart {
	chart := page.Chart{
		Name: "flips-tasks", Title: "Tasks: " + c.Primary + " of both sides", Beside: "differences", Joined: true,
		About: "The mean score of each task on both sides, what got worse first.",
		X:     page.Axis{Name: c.Primary, Form: func(v page.Value) string { return page.Score(v, compare.ShownDigits) }},
		Y:     page.Axis{Name: "task", Kind: page.Category},
	}
	changed := slices.DeleteFunc(slices.Clone(all), func(t TaskChange) bool { return t.Base == t.New })
	if equal := len(all) - len(changed); equal > 0 {
		chart.Notes = append(chart.Notes, page.Plural(equal, "task is", "tasks are")+" equal on both sides")
	}
	if left := len(changed) - mostDumbbells; left > 0 {
		half := mostDumbbells / 2
		chart.Notes = append(chart.Notes, page.Plural(left, "task", "tasks")+" between the largest changes not drawn")
		changed = slices.Delete(changed, half, len(changed)-half)
	}
	base, newer := page.Series{Name: "base", Tone: page.Grey}, page.Series{Name: "new", Tone: page.Plain}
	for i, t := range changed {
		chart.Y.Labels = append(chart.Y.Labels, t.Task)
		link := func(side *PairSide) string {
			return page.Filter(page.Term("config", side.Configuration), page.Term("task", t.Task))
		}
		base.Dots = append(base.Dots, page.Dot{X: page.Known(t.Base), Y: page.Known(float64(i)), Link: link(&p.Base)})
		newer.Dots = append(newer.Dots, page.Dot{X: page.Known(t.New), Y: page.Known(float64(i)), Text: page.Gain(page.Known(t.change()), compare.ShownDigits), Link: link(&p.New)})
	}
	chart.Series = []page.Series{base, newer}
	return chart
}
