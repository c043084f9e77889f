package pace

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
// reserved. Its errors are *Refused, ErrUnpriced, the context's cause, and that the
// ledger cannot be written.
func (b *Budget) Reserve(ctx context.Context, worst Worst) (*Reservation, error) {
	for {
		reserved, wait, err := b.try(&worst)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			return reserved, nil
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
func (b *Budget) try(worst *Worst) (_ *Reservation, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.Cost > 0 && worst.Expected.Unpriced > 0 {
		return nil, nil, ErrUnpriced
	}
	if short := b.short(b.spent().Plus(worst.Expected)); short != "" {
		b.refused, b.starved = true, b.short(b.paid.Plus(worst.Expected)) == ""
		return nil, nil, &Refused{Budget: b, Resource: short}
	}
	r := &Reservation{budget: b, worst: worst.Expected}
	switch {
	case b.short(b.spent().Plus(b.reserved).Plus(worst.Bound)) == "":
		r.worst = worst.Bound
	case b.inFlight > 0:
		if b.settled == nil {
			b.settled = make(chan struct{})
		}
		return nil, b.settled, nil
	}
	if b.ledger != nil {
		if r.entry, err = b.ledger.Reserve(r.worst); err != nil {
			return nil, nil, err
		}
	}
	b.reserved = b.reserved.Plus(r.worst)
	b.inFlight++
	return r, nil, nil
}

// Reservation is the room that a call in flight holds.
type Reservation struct {
	budget *Budget
	worst  record.Usage
	entry  int64 // of the ledger, if there is one
	once   sync.Once
}

// Worst is what was reserved.
func (r *Reservation) Worst() record.Usage { return r.worst }

// Settle replaces the reservation by what became of the call. Only the first
// settlement counts; the nil Reservation holds nothing.
func (r *Reservation) Settle(s record.Settlement) {
	if r == nil {
		return
	}
	r.once.Do(func() { r.budget.settle(r, &s) })
}

func (b *Budget) settle(r *Reservation, s *record.Settlement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = b.reserved.Minus(r.worst)
	b.paid, b.doubt = b.paid.Plus(s.Paid), b.doubt.Plus(s.Doubt)
	b.inFlight--
	if b.ledger != nil {
		b.ledger.Settle(r.entry, r.worst, *s)
	}
	if b.settled != nil {
		close(b.settled)
		b.settled = nil
	}
}
