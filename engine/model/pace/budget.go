// Package limit decides whether a call may be made: it keeps budgets of calls,
// tokens and money. Every call is reserved at its worst before it is made and
// settled at what it used, so that calls in parallel cannot overshoot as long
// as none is worse than its reservation.

package pace

import (
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Limits are what may be spent. Zero means no limit. What exceeds them is decided
// where replay decides it too.
type Limits = stop.Limits

// Resource is what a budget limits.
type Resource string

// The resources.
const (
	Calls  Resource = "calls"
	Tokens Resource = "tokens"
	Cost   Resource = "cost"
)

// Owner says whose budget it is.
type Owner string

// The owners.
const (
	Suite Owner = "suite"
	Run   Owner = "run"
)

// Budget is what may be spent, and what was. It is safe for concurrent use.
type Budget struct {
	owner  Owner
	limits Limits

	mu       sync.Mutex
	paid     record.Usage // what calls are known to have used
	doubt    record.Usage // what calls may have used whose answers did not come
	reserved record.Usage // what calls in flight may use
	inFlight int
	refused  bool
	starved  bool
	settled  chan struct{} // closed at the next settlement; nil while nobody waits
	ledger   *record.Ledger
}

// NewBudget makes a budget.
func NewBudget(owner Owner, limits Limits) *Budget { return &Budget{owner: owner, limits: limits} }

// OfSuite makes the budget of a suite; its duration is the engine's concern.
func OfSuite(b spec.SuiteBudget) *Budget {
	return NewBudget(Suite, Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: stop.Dollars(b.CostUSD)})
}

// OfRun makes the budget of one run under a hard budget guard.
func OfRun(b *spec.RunBudget) *Budget {
	return NewBudget(Run, stop.LimitsOf(b))
}

// Limits are what may be spent.
func (b *Budget) Limits() Limits { return b.limits }

// Charge adds what was spent elsewhere, by an earlier session.
func (b *Budget) Charge(paid, doubt record.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid, b.doubt = b.paid.Plus(paid), b.doubt.Plus(doubt)
}

// Exhausted reports whether nothing is left of a limit.
func (b *Budget) Exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent()
	l := &b.limits
	return l.Calls > 0 && s.Calls >= l.Calls || l.Tokens > 0 && s.Tokens() >= l.Tokens || l.Cost > 0 && s.Cost >= l.Cost
}

// Keep has every call put down in a ledger, before it is made and when it is over.
func (b *Budget) Keep(l *record.Ledger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger = l
}

// spent counts what is in doubt as well.
func (b *Budget) spent() record.Usage { return b.paid.Plus(b.doubt) }

// Spent is what was settled: paid, or in doubt.
func (b *Budget) Spent() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent()
}

// InDoubt is the part of what is spent that calls may have used whose answers did
// not come.
func (b *Budget) InDoubt() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.doubt
}

// Reserved is what calls in flight may still spend.
func (b *Budget) Reserved() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved
}

// resources are what the limits are of that a reason names.
var resources = map[record.Reason]Resource{
	record.ReasonBudgetCalls:  Calls,
	record.ReasonBudgetTokens: Tokens,
	record.ReasonBudgetCost:   Cost,
}

// short is what the limits do not suffice for, "" where they do.
func (b *Budget) short(u record.Usage) Resource { return resources[b.limits.Short(u)] }

// Refused reports whether a call was not made because there was no room for it.
func (b *Budget) Refused() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Starved reports whether the last call that was not made would have had room
// beside what was paid, so that it is what is in doubt that fills the budget.
func (b *Budget) Starved() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starved
}

// Overshoot is a limit that was exceeded, because calls used more than could be
// reserved for them. Cost counts in 1e-12 USD.
type Overshoot struct {
	Resource     Resource
	Limit, Spent int64
}

// Overshoot tells which limit was exceeded; nil: none was.
func (b *Budget) Overshoot() *Overshoot {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch l, s := &b.limits, b.spent(); b.short(s) {
	case Calls:
		return &Overshoot{Calls, l.Calls, s.Calls}
	case Tokens:
		return &Overshoot{Tokens, l.Tokens, s.Tokens()}
	case Cost:
		return &Overshoot{Cost, int64(l.Cost), int64(s.Cost)}
	}
	return nil
}
