package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Charts are the labels by the scorer's numbers, and what is mistaken for what.
func (c *Calibration) Charts() []page.Chart {
	if c.Scored == 0 {
		return nil
	}
	charts := []page.Chart{c.confusionChart()}
	if len(c.Bins) > 1 {
		chart := reports.Reliability("reliability", "agreement", "score of "+c.Scorer, "label", form)
		chart.Series = append(chart.Series, reports.ReliabilitySeries("", page.Plain, c.Bins, true, nil))
		charts = append(charts, chart)
	}
	return charts
}

// bins are those of scores and labels from 0 to 1; none where others are among them.
func (m *measure) bins() []reports.Bin {
	if slices.ContainsFunc(m.scored, func(p Pair) bool { return !(p.Score >= 0 && p.Score <= 1 && p.Label >= 0 && p.Label <= 1) }) {
		return nil
	}
	all := make([]stats.Forecast, len(m.scored))
	for i, p := range m.scored {
		all[i] = stats.Forecast{Probability: p.Score, Outcome: p.Label}
	}
	return reports.Binned(all)
}

// disagreements is the name of the table of outputs on which scorer and label disagree.
const disagreements = "disagreements"

// confusionChart has a tile for what a label and the scorer say; of yes and no it says what
// that is.
func (c *Calibration) confusionChart() page.Chart {
	chart := page.Chart{
		Name: "confusion", Title: "Labels and verdicts of " + c.Scorer, Beside: "confusion",
		About: "How many outputs people label (rows) and the scorer calls (columns) what; on the diagonal they agree.",
		X:     page.Axis{Name: "scorer says", Kind: page.Category, Labels: c.Confusion.Levels}, Y: page.Axis{Name: "label says", Kind: page.Category, Labels: c.Confusion.Levels},
	}
	most := 1
	for _, row := range c.Confusion.Counts {
		most = max(most, slices.Max(row))
	}
	meaning := map[[2]int]string{}
	if c.Kind == YesNo {
		meaning = map[[2]int]string{{1, 1}: "confirmed", {0, 1}: "false alarm", {1, 0}: "missed", {0, 0}: "rightly no"}
	}
	for y, row := range c.Confusion.Counts {
		for x, n := range row {
			t := page.Tile{X: x, Y: y, Value: page.Known(float64(n)), Text: strings.TrimSpace(fmt.Sprint(n) + " " + meaning[[2]int{y, x}]), Shade: float64(n) / float64(most)}
			switch {
			case x == y:
				t.Frame = page.Framed
			case n > 0:
				t.Link = disagreements
			}
			chart.Tiles = append(chart.Tiles, t)
		}
	}
	chart.Legend = []page.Key{{Name: "they agree", Tile: page.Tile{Shade: -1, Frame: page.Framed}}}
	return chart
}
