package pace

import (
	"context"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Lender lends room in a budget that several processes draw on.
type Lender interface {
	// Lend grants the budget more room, at least as much as is asked for where there is as
	// much, else what there is, and reports whether that was anything. Final means that it
	// has nothing, and that others will not give anything back either. Where it has nothing
	// and that is not final, it takes its time, so that it can be asked again at once.
	Lend(ctx context.Context, more Limits) (lent, final bool, err error)
}

// Grant gives a budget more room.
func (b *Budget) Grant(more Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.elsewhere = b.elsewhere.Minus(asUsage(more))
}

// Borrow leaves a budget nothing but what a lender lends it from now on. It is called
// before the first call.
func (b *Budget) Borrow(from Lender) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lender, b.asking = from, make(chan struct{}, 1)
	b.elsewhere = asUsage(b.left())
}

// HandOver gives all that is left of a budget to a lender, of which other processes
// borrow as well as this one. In the ledger it is put down as reserved: should this
// process be killed, all of it counts as spent.
func (b *Budget) HandOver(to Lender) (handed Limits, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	handed = b.left()
	left := asUsage(handed)
	b.handed = &Reservation{budget: b, worst: left}
	if b.ledger != nil {
		if b.handed.entry, err = b.ledger.Reserve("", left); err != nil {
			return handed, err
		}
	}
	b.lender, b.asking, b.elsewhere = to, make(chan struct{}, 1), left
	return handed, nil
}

// TakeBack ends what HandOver began. It is told what the others spent.
func (b *Budget) TakeBack(others record.Settlement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lender, b.elsewhere = nil, record.Usage{}
	b.paid, b.doubt = b.paid.Plus(others.Paid), b.doubt.Plus(others.Doubt)
	if b.ledger != nil {
		b.ledger.Settle(b.handed.entry, b.handed.worst, others)
	}
}

// Recall is for a budget that was handed over by a process that was killed: what was left
// then is in doubt. It replaces the doubt by what the others are known to have spent.
func (b *Budget) Recall(handed Limits, others record.Settlement) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid, b.doubt = b.paid.Plus(others.Paid), b.doubt.Minus(asUsage(handed)).Plus(others.Doubt)
	if b.ledger == nil {
		return nil
	}
	return b.ledger.Correct(asUsage(handed), others)
}

// GiveBack gives up what was lent and is neither spent nor reserved, and says what that
// was.
func (b *Budget) GiveBack() Limits {
	b.mu.Lock()
	defer b.mu.Unlock()
	back := b.left()
	b.elsewhere = b.elsewhere.Plus(asUsage(back))
	return back
}

// left is the room for more calls. Of what is not limited there is none.
func (b *Budget) left() Limits {
	used := b.spent().Plus(b.reserved).Plus(b.elsewhere)
	return b.limits.Left(used)
}

// asUsage is an amount as a usage, of which only the sum of the tokens counts.
func asUsage(l Limits) record.Usage {
	return record.Usage{Calls: l.Calls, InputTokens: l.Tokens, Cost: l.Cost}
}

// borrow asks the lender for the room that a call lacks. One asks at a time, for what is
// lent to it may do for all that wait.
func (b *Budget) borrow(ctx context.Context, worst *Worst) error {
	for {
		lender, lacks, fits := b.lacks(worst)
		if lender == nil || lacks == (Limits{}) {
			return nil
		}
		lent, final, err := b.ask(ctx, lender, worst)
		if err != nil {
			return err
		}
		if final || !lent && fits {
			return nil // what there is has to do
		}
	}
}

func (b *Budget) ask(ctx context.Context, lender Lender, worst *Worst) (lent, final bool, err error) {
	defer model.Waiting(ctx)()
	select {
	case b.asking <- struct{}{}:
		defer func() { <-b.asking }()
	case <-ctx.Done():
		return false, false, context.Cause(ctx)
	}
	_, lacks, _ := b.lacks(worst)
	if lacks == (Limits{}) {
		return true, false, nil
	}
	return lender.Lend(ctx, lacks)
}

// lacks is the room that a call lacks beside those in flight, and whether what it is
// expected to use fits without them.
func (b *Budget) lacks(worst *Worst) (lender Lender, lacks Limits, fits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lender == nil {
		return nil, Limits{}, false
	}
	lacks = b.limits.Excess(b.spent().Plus(b.reserved).Plus(b.elsewhere).Plus(worst.Bound))
	return b.lender, lacks, b.short(b.spent().Plus(worst.Expected)) == ""
}
