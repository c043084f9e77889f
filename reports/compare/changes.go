package compare

import "github.com/agentbench/agentbench/reports/stats"

// Changes are those of the scores of tasks whose runs all have a score on both
// sides. The zero value holds none.
type Changes struct{ sample }

// Add takes the scores of a task's runs on both sides, in the same order. Tasks
// of one cluster depend on each other.
func (c *Changes) Add(cluster int32, base, new []float64) {
	if len(base) == 0 {
		return
	}
	if len(c.tasks) == 0 {
		c.single, c.binary, c.unit = true, true, true
	}
	var change float64
	for i, x := range base {
		change += new[i] - x
		c.see(x)
		c.see(new[i])
	}
	c.add(taskMeans{change: change / float64(len(base)), cluster: cluster}, len(base))
}

// Clear makes room for other tasks.
func (c *Changes) Clear() { c.sample = sample{tasks: c.tasks[:0]} }

// Interval is the 95 % interval of the mean change, that of a Line about the same
// scores at an alpha of 0.05. It has no answer where a Line has none.
func (c *Changes) Interval() (interval stats.Interval, ok bool) {
	c.settle(false)
	c.clustered = true
	groups := c.groups()
	if len(groups) == len(c.tasks) && c.single && c.binary {
		above, below, _ := c.counted()
		return stats.BonettPrice(above, below, len(c.tasks), stats.Level)
	}
	mean, _ := stats.ClusteredMean(groups)
	return c.around(mean, groups, differing(sumsOf(groups)) < fewest(DefaultAlpha))
}
