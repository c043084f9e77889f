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
		differences = r.Differences.forests()
	}
	return slices.Concat(differences, r.front().charts(r.Baseline, r.Differences, r.scoreDigits()), r.iterationCharts(), r.stepCharts(),
		r.stopsChart(), r.limitsChart(), r.calibrationCharts(), r.tasksChart())
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

// foremostAndOthers are those that a chart has room for, and those that share its last row.
func (r *Report) foremostAndOthers(most int, in func(*Configuration) bool) (shown, others []*Configuration) {
	shown, more := r.foremost(most, in)
	if more == 0 {
		return shown, nil
	}
	shown, _ = r.foremost(most-1, in)
	for c := range r.each() {
		if in(c) && !slices.Contains(shown, c) {
			others = append(others, c)
		}
	}
	return shown, others
}

// othersName is the label of what stands for several.
func othersName(n int, one, many string) string {
	return "mean of " + page.Plural(n, "other "+one, "other "+many)
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
	return slices.Concat(c.forests(), c.dumbbells(), c.front().charts(c.Pairs[0].Base.named(verbatim), c, compare.ShownDigits))
}
