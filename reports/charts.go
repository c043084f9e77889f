package reports

import (
	"cmp"
	"slices"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

func (r *Report) Charts() []page.Chart {
	if r.runs == nil {
		return nil
	}
	r.compare()
	var differences []page.Chart
	if r.Differences != nil {
		differences = r.Differences.forest()
	}
	return slices.Concat(differences, r.front().charts(r.Baseline, r.scoreDigits()), r.curveCharts(), r.limitsChart(), r.reliabilityChart())
}

// foremost are the configurations that a chart has room for, in their order: the baseline
// and those on the front before others.
func (r *Report) foremost(most int, in func(*Configuration) bool) (shown []*Configuration, more int) {
	onFront := r.onFront()
	for c := range r.each() {
		if in(c) {
			shown = append(shown, c)
		}
	}
	if len(shown) <= most {
		return shown, 0
	}
	rank := func(c *Configuration) int { return -number(onFront[c.Name]) - 2*number(c.Name == r.Baseline) }
	ranked := slices.Clone(shown)
	slices.SortStableFunc(ranked, func(a, b *Configuration) int { return cmp.Compare(rank(a), rank(b)) })
	shown = slices.DeleteFunc(shown, func(c *Configuration) bool { return !slices.Contains(ranked[:most], c) })
	return shown, len(ranked) - most
}

// onFront has the names of the configurations on the front.
func (r *Report) onFront() map[string]bool {
	names := map[string]bool{}
	if f := r.front(); f != nil {
		for row := range f.each() {
			names[row.Name] = row.Front
		}
	}
	return names
}

func (c *Comparison) Charts() []page.Chart {
	if c.base == nil || len(c.Pairs) == 0 {
		return nil
	}
	return slices.Concat(c.forest(), c.front().charts(c.Pairs[0].Base.named(), compare.ShownDigits))
}
