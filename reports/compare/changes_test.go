package compare_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/compare"
)

// Changes that are put together task by task have the interval of the line that
// compares the same scores, also when they held other tasks before.
func TestChangesHaveTheIntervalOfALine(t *testing.T) {
	var c compare.Changes
	propertytest.Check(t, func(t *rapid.T) {
		base, new := drawnSides(t)
		for i, q := range base.Columns[:2] { // of amounts the ratios are compared
			c.Clear()
			var number int32
			for task := range base.Tasks {
				x, y := paired(base, new, i, task)
				cluster := 1000 + number
				if base.Clusters != nil {
					cluster = int32(base.Clusters[task][0])
				}
				c.Add(cluster, x, y)
				number++
			}
			r, err := compare.Sides(base, new, compare.Options{})
			if err != nil || !r.Pairing.Paired {
				t.Skip("there are no pairs")
			}
			interval, ok := c.Interval()
			if line := r.Lines[i]; ok == math.IsNaN(line.Low) || ok && (!near(interval.Low, line.Low) || !near(interval.High, line.High)) {
				t.Fatalf("%s: %v, %v; the line has %v to %v of %d tasks", q.Name, interval, ok, line.Low, line.High, line.Tasks)
			}
		}
	})
}

// paired are the values of a task in runs that both sides have.
func paired(base, new *compare.Side, column, task int) (x, y []float64) {
	for i := base.Starts[task]; i < base.Starts[task+1]; i++ {
		for j := new.Starts[task]; j < new.Starts[task+1]; j++ {
			a, b := base.Columns[column].Values[i], new.Columns[column].Values[j]
			if base.Trials[i] == new.Trials[j] && !math.IsNaN(a) && !math.IsNaN(b) {
				x, y = append(x, a), append(y, b)
			}
		}
	}
	return x, y
}
