package reports

import "github.com/agentbench/agentbench/reports/page"

func (r *Report) scoreDigits() int {
	for i := range r.Configurations {
		if r.Configurations[i].Runs >= 100 {
			return 3
		}
	}
	return 2
}

// shownScore shows means of the primary score and the ends of their intervals:
// where all scores are from 0 to 1 their means are, too.
func (r *Report) shownScore() func(page.Value) string {
	digits, unit := r.scoreDigits(), true
	for i := range r.Configurations {
		scores := r.Configurations[i].Scores
		unit = unit && len(scores) > 0 && scores[0].unit
	}
	return func(v page.Value) string {
		if unit {
			v.Number = min(1, max(0, v.Number))
		}
		return page.Score(v, digits)
	}
}

func (r *Report) dollarDigits() int {
	return page.DollarDigits(func(yield func(page.Value) bool) {
		for c := range r.each() {
			if !yield(c.Cost.Mean) {
				return
			}
		}
	})
}

func (r *Report) dollars(v page.Value) string { return page.Dollars(v, r.dollarDigits()) }

func (r *Report) extraDollars(v page.Value) string {
	return page.ExtraDollars(v, r.dollarDigits())
}
