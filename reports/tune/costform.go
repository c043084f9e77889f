package tune

import (
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// costForm is how the cost of the choice is shown, money with the digits that all
// of these take.
func (t *Tuning) costForm(all ...page.Value) func(page.Value) string {
	switch t.Terms.Cost {
	case "cost_usd.mean", "cost_usd.total", "cost_usd.sum":
		return dollarForm(all...)
	case "latency.mean", "latency.sum", "latency.total", "latency.p50", "latency.p95":
		return page.Seconds
	}
	return finely
}

// finely shows a number that is none of money and time: whole ones as they are,
// small ones with two digits behind the point.
func finely(v page.Value) string {
	switch x := math.Abs(v.Number); {
	case !v.Known(), x >= 1e6:
		return page.Whole(v)
	case x == math.Trunc(x):
		return fmt.Sprintf("%.0f", v.Number)
	case x < 10:
		return page.Score(v, 2)
	case x < 1000:
		return page.Score(v, 1)
	}
	return page.Whole(v)
}

// dollarForm shows amounts of money with the digits that all of these take.
func dollarForm(all ...page.Value) func(page.Value) string {
	digits := page.DollarDigits(slices.Values(all))
	return func(v page.Value) string { return page.Dollars(v, digits) }
}

// meanCosts are the costs by which candidates are chosen.
func (t *Tuning) meanCosts() (all []page.Value) {
	for row := range t.choices() {
		all = append(all, row.ChoiceCost)
	}
	for i := range t.Front {
		all = append(all, t.Front[i].ChoiceCost)
	}
	return all
}

// extraCost shows a change of the cost of the choice.
func (t *Tuning) extraCost() func(page.Value) string {
	form := t.costForm(t.meanCosts()...)
	return func(v page.Value) string {
		if !v.Known() || v.Number <= 0 {
			return form(v)
		}
		return "+" + form(v)
	}
}

// objectiveForm shows a number that may be a score or anything else.
func objectiveForm(v page.Value) string {
	if v.Known() && (v.Number > 1.5 || v.Number < -1.5) {
		return page.Whole(v)
	}
	return page.Score(v, 3)
}

// objectiveName is the objective, by the name of the score where it is its mean.
func (o *Terms) objectiveName() string {
	if o.isScore() {
		return o.Score
	}
	return o.Objective
}

// isScore says that the objective is the mean of the score that is shown first.
func (o *Terms) isScore() bool {
	return o.Score != "" && (o.Objective == fmt.Sprintf("scores[%q].mean", o.Score) || o.Objective == "scores."+o.Score+".mean")
}

// isShown says that the cost is a mean that is shown anyway.
func (o *Terms) isShown() bool {
	return slices.Contains([]string{"cost_usd.mean", "tokens.mean", "iterations.mean", "latency.mean"}, o.Cost)
}
