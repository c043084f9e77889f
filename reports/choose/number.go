package choose

import (
	"math"

	"github.com/agentbench/agentbench/reports/numbers"
)

// numberOf is a number for arithmetic: NaN where there is none.
func numberOf(v numbers.Value) float64 {
	if !v.Known() {
		return math.NaN()
	}
	return v.Number
}

// valueOf is a number that arithmetic gave, and why it is missing where it is NaN.
func valueOf(x float64, why string) numbers.Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return numbers.Missing(why)
	}
	return numbers.Known(x)
}

// noRange is an interval that is not known.
func noRange(why string) numbers.Range {
	return numbers.Range{Low: numbers.Missing(why), High: numbers.Missing(why)}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
