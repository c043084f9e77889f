package stop

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Limits are what may be spent. Zero means no limit.
type Limits struct {
	Calls  int64
	Tokens int64
	Cost   record.Money
}

// LimitsOf are the limits of a run's budget.
func LimitsOf(b *spec.RunBudget) Limits {
	return Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: Dollars(b.CostUSD)}
}

// Dollars is an amount as money. One that is above zero stays so: zero would be
// no limit.
func Dollars(usd float64) record.Money {
	switch exact := math.Round(usd * float64(record.USD)); {
	case usd <= 0:
		return 0
	case exact >= math.MaxInt64:
		return math.MaxInt64
	default:
		return max(1, record.Money(exact))
	}
}

// Short is the limit that so much usage would exceed, "" where none.
func (l *Limits) Short(u record.Usage) record.Reason {
	switch {
	case l.Calls > 0 && u.Calls > l.Calls:
		return record.ReasonBudgetCalls
	case l.Tokens > 0 && u.Tokens() > l.Tokens:
		return record.ReasonBudgetTokens
	case l.Cost > 0 && u.Cost > l.Cost:
		return record.ReasonBudgetCost
	}
	return ""
}

// Reservations are the limits in which every call is reserved before it is made;
// ok is false where no budget is hard.
func (r *Rules) Reservations() (limits Limits, ok bool) {
	if r.budget == nil || !r.budget.Hard {
		return Limits{}, false
	}
	return LimitsOf(r.budget), true
}
