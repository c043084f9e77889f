package calibrate

import (
	"math"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// missing is how many more labels it takes until an interval reaches no further than
// the precision to both sides, if the new ones are of other tasks as the old ones are.
// Its width falls with the square root of their number; where nobody ever differed it
// is Wilson's of a share of 1 and falls with the number of tasks, and about four more.
func (m *measure) missing(labels, units int, value page.Value, interval page.Range) page.Value {
	if !interval.Known() {
		return page.Missing(page.Nothing)
	}
	wider := (interval.High.Number - interval.Low.Number) / 2 / m.Precision
	needed := float64(labels) * wider * wider
	if z, ok := stats.NormalQuantile((1 + stats.Level) / 2); ok && value.Number == 1 {
		each := float64(labels) / float64(units)
		needed = each * math.Ceil((float64(units)+z*z)*wider-z*z-1e-9)
	}
	return page.Known(max(0, math.Ceil(needed-1e-9)-float64(labels)))
}
