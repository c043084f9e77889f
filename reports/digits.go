package reports

import (
	"iter"
	"math"
)

// scoreDigits is how many digits of a score mean something to the reader.
func (r *Report) scoreDigits() int {
	for i := range r.Configurations {
		if r.Configurations[i].Runs >= 100 {
			return 3
		}
	}
	return 2
}

// dollarDigits is how many digits after the point amounts have, the same
// everywhere so that they can be compared at a glance: two that count of the
// smallest mean cost, but not many more than three of the largest.
func dollarDigits(costs iter.Seq[Value]) int {
	smallest, largest := math.Inf(1), 0.0
	for cost := range costs {
		if cost.Known() && cost.Number > 0 {
			smallest, largest = min(smallest, cost.Number), max(largest, cost.Number)
		}
	}
	if largest == 0 {
		return 2
	}
	return max(2, min(decimals(smallest, 2), decimals(largest, 3)+2))
}

func (r *Report) dollarDigits() int {
	return dollarDigits(func(yield func(Value) bool) {
		for c := range r.each() {
			if !yield(c.Cost.Mean) {
				return
			}
		}
	})
}

func (r *Report) dollars(v Value) string { return dollars(v, r.dollarDigits()) }

func (r *Report) extraDollars(v Value) string { return extraDollars(v, r.dollarDigits()) }
