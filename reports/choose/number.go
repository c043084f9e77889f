package choose

import (
	"math"

	"github.com/agentbench/agentbench/reports/page"
)

// numberOf is a number for arithmetic: NaN where there is none.
func numberOf(v page.Value) float64 {
	if !v.Known() {
		return math.NaN()
	}
	return v.Number
}

// valueOf is a number that arithmetic gave, and why it is missing where it is NaN.
func valueOf(x float64, why string) page.Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return page.Missing(why)
	}
	return page.Known(x)
}

// noRange is an interval that is not known.
func noRange(why string) page.Range {
	return page.Range{Low: page.Missing(why), High: page.Missing(why)}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
