package reports

import "github.com/agentbench/agentbench/reports/numbers"

// scoreDigits is how many digits of a score mean something to the reader.
func (r *Report) scoreDigits() int {
	for i := range r.Configurations {
		if r.Configurations[i].Runs >= 100 {
			return 3
		}
	}
	return 2
}

func (r *Report) dollarDigits() int {
	return numbers.DollarDigits(func(yield func(numbers.Value) bool) {
		for c := range r.each() {
			if !yield(c.Cost.Mean) {
				return
			}
		}
	})
}

func (r *Report) dollars(v numbers.Value) string { return numbers.Dollars(v, r.dollarDigits()) }

func (r *Report) extraDollars(v numbers.Value) string {
	return numbers.ExtraDollars(v, r.dollarDigits())
}
