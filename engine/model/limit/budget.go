// Package limit decides whether a call may be made: it keeps budgets of calls,
// tokens and money. Every call is reserved at its worst before it is made and
// settled at what it used, so that calls in parallel cannot overshoot as long
// as none is worse than its reservation.
package limit

import (
	"context"
	"math"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Limits are what may be spent. Zero means no limit.
type Limits struct {
	Calls  int64
	Tokens int64
	Cost   record.Money
}

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
	parent *Budget

	mu       sync.Mutex
	spent    record.Usage
	reserved record.Usage
	settled  chan struct{} // closed at the next settlement; nil while nobody waits
}

// NewBudget makes a budget. What is spent of it is also spent of its parent,
// where it has one.
func NewBudget(owner Owner, limits Limits, parent *Budget) *Budget {
	return &Budget{owner: owner, limits: limits, parent: parent}
}

// OfSuite makes the budget of a suite; its duration is the engine's concern.
func OfSuite(b spec.SuiteBudget) *Budget {
	return NewBudget(Suite, Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: dollars(b.CostUSD)}, nil)
}

// OfRun makes the budget of one run under a hard budget guard.
func OfRun(b *spec.RunBudget) *Budget {
	return NewBudget(Run, Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: dollars(b.CostUSD)}, nil)
}

func dollars(usd float64) record.Money { return record.Money(math.Round(usd * float64(record.USD))) }

// Spent is what was settled.
func (b *Budget) Spent() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// Reserved is what calls in flight may still spend.
func (b *Budget) Reserved() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved
}

// Reserve makes room for a call at its worst, here and in the parents. Where
// only calls in flight stand in the way it waits for them, for they may turn
// out smaller than reserved. Its errors are *Refused, ErrUnpriced and the
// context's cause.
func (b *Budget) Reserve(ctx context.Context, worst record.Usage) (*Reservation, error) {
	for {
		wait, err := b.try(&worst)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			return &Reservation{budget: b, worst: worst}, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try reserves, or gives what to wait for.
func (b *Budget) try(worst *record.Usage) (wait <-chan struct{}, err error) {
	if wait, err = b.tryHere(worst); wait != nil || err != nil || b.parent == nil {
		return wait, err
	}
	if wait, err = b.parent.try(worst); wait != nil || err != nil {
		b.settleHere(worst, &record.Usage{})
	}
	return wait, err
}

func (b *Budget) tryHere(worst *record.Usage) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.Cost > 0 && worst.Unpriced > 0 {
		return nil, ErrUnpriced
	}
	if short := b.limits.short(b.spent.Plus(*worst)); short != "" {
		return nil, &Refused{Budget: b, Resource: short}
	}
	if b.limits.short(b.spent.Plus(b.reserved).Plus(*worst)) != "" {
		if b.settled == nil {
			b.settled = make(chan struct{})
		}
		return b.settled, nil
	}
	b.reserved = b.reserved.Plus(*worst)
	return nil, nil
}

// short is what the limits do not suffice for, "" where they do.
func (l *Limits) short(u record.Usage) Resource {
	switch {
	case l.Calls > 0 && u.Calls > l.Calls:
		return Calls
	case l.Tokens > 0 && u.Tokens() > l.Tokens:
		return Tokens
	case l.Cost > 0 && u.Cost > l.Cost:
		return Cost
	}
	return ""
}

func (b *Budget) settleHere(worst, used *record.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = minus(b.reserved, worst)
	b.spent = b.spent.Plus(*used)
	if b.settled != nil {
		close(b.settled)
		b.settled = nil
	}
}

// minus undoes Plus for what reservations hold.
func minus(u record.Usage, v *record.Usage) record.Usage {
	u.Calls -= v.Calls
	u.InputTokens -= v.InputTokens
	u.OutputTokens -= v.OutputTokens
	u.Cost -= v.Cost
	u.Unpriced -= v.Unpriced
	u.Estimated -= v.Estimated
	return u
}

// Reservation is the room that a call in flight holds.
type Reservation struct {
	budget *Budget
	worst  record.Usage
	once   sync.Once
}

// Worst is what was reserved.
func (r *Reservation) Worst() record.Usage { return r.worst }

// Settle replaces the reservation by what was used. Only the first one counts.
func (r *Reservation) Settle(used record.Usage) {
	r.once.Do(func() {
		for b := r.budget; b != nil; b = b.parent {
			b.settleHere(&r.worst, &used)
		}
	})
}
