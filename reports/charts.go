package reports

import (
	"slices"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// Charts are those of a report, beside its tables.
func (r *Report) Charts() []page.Chart {
	if r.runs == nil {
		return nil
	}
	r.compare()
	var differences []page.Chart
	if r.Differences != nil {
		differences = r.Differences.forests()
	}
	return slices.Concat(differences, r.front().charts(r.Baseline, r.Differences, r.scoreDigits()), r.iterationCharts(), r.stepCharts(),
		r.stopsChart(), r.limitsChart(), r.calibrationCharts(), r.tasksChart())
}

// Charts are those of a comparison, beside its tables.
func (c *Comparison) Charts() []page.Chart {
	if c.base == nil || len(c.Pairs) == 0 {
		return nil
	}
	return slices.Concat(c.forests(), c.dumbbells(), c.front().charts(c.Pairs[0].Base.named(verbatim), c, compare.ShownDigits))
}
