package calibrate

import (
	"math"

	"github.com/agentbench/agentbench/reports/numbers"
)

// missing is how many more labels it takes until an interval reaches no further than
// the precision to both sides: its width falls with the square root of their number,
// if the new ones are of other tasks as the old ones are.
func (m *measure) missing(labels int, interval numbers.Range) numbers.Value {
	if !interval.Known() {
		return numbers.Missing(numbers.Nothing)
	}
	half := (interval.High.Number - interval.Low.Number) / 2
	needed := float64(labels) * (half / m.Precision) * (half / m.Precision)
	return numbers.Known(max(0, math.Ceil(needed-1e-9)-float64(labels)))
}
