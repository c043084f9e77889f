package calibrate

import (
	"slices"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Charts are the labels by the scorer's numbers.
func (c *Calibration) Charts() []page.Chart {
	if len(c.Bins) < 2 {
		return nil
	}
	chart := reports.Reliability("reliability", "agreement", "score of "+c.Scorer, "label", form)
	chart.Series = append(chart.Series, reports.ReliabilitySeries("", page.Plain, c.Bins, true, nil))
	return []page.Chart{chart}
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
