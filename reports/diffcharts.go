package reports

import (
	"cmp"
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

// forest is a plot of the paired differences of scores: a row for each, with the margin as a zone.
func (c *Comparison) forest() []page.Chart {
	rows, more := c.forestRows()
	if len(rows) == 0 {
		return nil
	}
	chart := page.Chart{
		Name: "differences", Title: "Change of the scores", Beside: "differences",
		X:     page.Axis{Name: "new − base", Unit: page.InChanges, Shown: []float64{0}, Form: func(v page.Value) string { return page.Gain(v, compare.ShownDigits) }},
		Y:     page.Axis{Name: "score", Kind: page.Category},
		About: "Right of 0 the new side is better. Whiskers are 95% intervals; a change within the margin counts as none.",
		Zones: append([]page.Zone{{From: 0, To: 0}}, marginZone(rows)...), Notes: moreRows(more),
	}
	for _, v := range verdictTones {
		s := page.Series{Name: v.name, Tone: v.tone}
		for i, row := range rows {
			if row.Verdict == v.verdict {
				s.Dots = append(s.Dots, c.forestDot(i, row))
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
	return []page.Chart{chart}
}

// forestRows are the differences that are known, in their order. Where there are too many,
// those stay that are shown, and of these the largest.
func (c *Comparison) forestRows() (rows []differenceRow, more int) {
	for row := range c.differences() {
		if row.Score && row.Value(row.Change).Known() {
			rows = append(rows, row)
		}
	}
	if len(rows) <= mostRows {
		return rows, 0
	}
	severity := map[compare.Verdict]int{compare.Worse: 0, compare.Better: 1, compare.CannotTell: 2, compare.Same: 3}
	order := spaced(len(rows), len(rows))
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := rows[a], rows[b]
		return cmp.Or(cmp.Compare(severity[x.Verdict], severity[y.Verdict]), cmp.Compare(math.Abs(float64(y.Change)), math.Abs(float64(x.Change))))
	})
	order = order[:mostRows]
	slices.Sort(order)
	kept := make([]differenceRow, mostRows)
	for i, at := range order {
		kept[i] = rows[at]
	}
	return kept, len(rows) - mostRows
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
	return []page.Zone{{Name: "margin ±" + strings.TrimPrefix(page.Gain(page.Known(margin), compare.ShownDigits), "+"), From: -margin, To: margin}}
}
