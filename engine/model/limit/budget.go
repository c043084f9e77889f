// Package limit decides whether a call may be made: it keeps budgets of calls,
// tokens and money. Every call is reserved at its worst before it is made and
// settled at what it used, so that calls in parallel cannot overshoot as long
// as none is worse than its reservation.
package limit

import (
	"context"
	"math"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
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

	mu       sync.Mutex
	spent    record.Usage
	reserved record.Usage
	inFlight int
	settled  chan struct{} // closed at the next settlement; nil while nobody waits
	watch    func(atWorst record.Usage)
}

// NewBudget makes a budget.
func NewBudget(owner Owner, limits Limits) *Budget { return &Budget{owner: owner, limits: limits} }

// OfSuite makes the budget of a suite; its duration is the engine's concern.
func OfSuite(b spec.SuiteBudget) *Budget {
	return NewBudget(Suite, Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: dollars(b.CostUSD)})
}

// OfRun makes the budget of one run under a hard budget guard.
func OfRun(b *spec.RunBudget) *Budget {
	return NewBudget(Run, Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: dollars(b.CostUSD)})
}

// dollars is an amount as money. One that is above zero stays so: zero would be
// no limit.
func dollars(usd float64) record.Money {
	switch exact := math.Round(usd * float64(record.USD)); {
	case usd <= 0:
		return 0
	case exact >= math.MaxInt64:
		return math.MaxInt64
	default:
		return max(1, record.Money(exact))
	}
}

// Charge adds what was spent elsewhere, by an earlier session, and says whether
// nothing is left of a limit.
func (b *Budget) Charge(used record.Usage) (exhausted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = b.spent.Plus(used)
	b.told()
	l, s := &b.limits, &b.spent
	return l.Calls > 0 && s.Calls >= l.Calls || l.Tokens > 0 && s.Tokens() >= l.Tokens || l.Cost > 0 && s.Cost >= l.Cost
}

// Watch has a function told what calls have spent and may still spend, at every
// change: of a reservation before its call is made. It must be quick.
func (b *Budget) Watch(tell func(atWorst record.Usage)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watch = tell
}

func (b *Budget) told() {
	if b.watch != nil {
		b.watch(b.spent.Plus(b.reserved))
	}
}

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

// Worst is what a call may use. What is expected rests on an estimate of the
// prompt's tokens; the bound does not, and is at least as much.
type Worst struct{ Expected, Bound record.Usage }

// Reserve makes room for a call. There is none where even what is expected does
// not fit beside what was spent. Where the bound fits as well, the call may be
// made beside others; where it does not, only when no other is in flight. So
// Reserve waits for calls in flight, for they may turn out smaller than
// reserved. Its errors are *Refused, ErrUnpriced and the context's cause.
func (b *Budget) Reserve(ctx context.Context, worst Worst) (*Reservation, error) {
	for {
		reserved, wait, err := b.try(&worst)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			return &Reservation{budget: b, worst: *reserved}, nil
		}
		if err := await(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// await is no work of the run that waits.
func await(ctx context.Context, wait <-chan struct{}) error {
	defer model.Waiting(ctx)()
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try reserves, or gives what to wait for.
func (b *Budget) try(worst *Worst) (reserved *record.Usage, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.Cost > 0 && worst.Expected.Unpriced > 0 {
		return nil, nil, ErrUnpriced
	}
	if short := b.limits.short(b.spent.Plus(worst.Expected)); short != "" {
		return nil, nil, &Refused{Budget: b, Resource: short}
	}
	switch {
	case b.limits.short(b.spent.Plus(b.reserved).Plus(worst.Bound)) == "":
		reserved = &worst.Bound
	case b.inFlight == 0:
		reserved = &worst.Expected
	default:
		if b.settled == nil {
			b.settled = make(chan struct{})
		}
		return nil, b.settled, nil
	}
	b.reserved = b.reserved.Plus(*reserved)
	b.inFlight++
	b.told()
	return reserved, nil, nil
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
	switch l, s := &b.limits, &b.spent; l.short(*s) {
	case Calls:
		return &Overshoot{Calls, l.Calls, s.Calls}
	case Tokens:
		return &Overshoot{Tokens, l.Tokens, s.Tokens()}
	case Cost:
		return &Overshoot{Cost, int64(l.Cost), int64(s.Cost)}
	}
	return nil
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
	r.once.Do(func() { r.budget.settle(&r.worst, &used) })
}

func (b *Budget) settle(worst, used *record.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = minus(b.reserved, worst)
	b.spent = b.spent.Plus(*used)
	b.inFlight--
	b.told()
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
