package limit

import (
	"context"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

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
	if short := b.short(b.spent.Plus(worst.Expected)); short != "" {
		b.refused = true
		return nil, nil, &Refused{Budget: b, Resource: short}
	}
	switch {
	case b.short(b.spent.Plus(b.reserved).Plus(worst.Bound)) == "":
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

// Reservation is the room that a call in flight holds.
type Reservation struct {
	budget *Budget
	worst  record.Usage
	once   sync.Once
}

// Worst is what was reserved.
func (r *Reservation) Worst() record.Usage { return r.worst }

// Settle replaces the reservation by what was used. Only the first one counts; the
// nil Reservation holds nothing.
func (r *Reservation) Settle(used record.Usage) {
	if r == nil {
		return
	}
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
