package pace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// A budget limits calls, tokens and money. Every call is reserved at its worst before it is made and
// settled at what it used, so that calls in parallel cannot overshoot as long
// as none is worse than its reservation.

// Limits are what may be spent. Zero means no limit. What exceeds them is decided
// where replay decides it too.
type Limits = stop.Limits

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
	refusal  *Refused      // the last call that was not made; nil: all were
	settled  chan struct{} // closed at the next settlement; nil while nobody waits
	ledger   *record.Ledger

	// elsewhere is what of the limits other processes hold or have spent; see Borrow.
	elsewhere record.Usage
	lender    Lender // nil: all that is left is this process's own
	asking    chan struct{}
	handed    *Reservation // what HandOver put down in the ledger; nil: nothing
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

// Charge adds what was spent elsewhere, by an earlier session. What had no price there stops nothing here: it may have been a
// program's.
func (b *Budget) Charge(paid, doubt record.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	paid.Unpriced, doubt.Unpriced = 0, 0
	b.paid, b.doubt = b.paid.Plus(paid), b.doubt.Plus(doubt)
}

// Exhausted reports whether nothing is left of a limit.
func (b *Budget) Exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limits.Reached(b.spent().Plus(b.elsewhere)) != [3]bool{}
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

// Books are what is paid, what calls may have used whose answers did not come, and what calls in flight may still spend, at one
// moment.
func (b *Budget) Books() (paid, doubt, reserved record.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paid, b.doubt, b.reserved
}

// short is the reason for which the limits do not suffice, "" where they do.
func (b *Budget) short(u record.Usage) record.Reason { return b.limits.Short(u.Plus(b.elsewhere)) }

// Refusal tells of the last call that was not made because there was no room for it; nil: there was none.
func (b *Budget) Refusal() *Refused {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal
}

// Refused reports whether a call was not made because there was no room for it.
func (b *Budget) Refused() bool { return b.Refusal() != nil }

// Overshoot is the reason that names a limit which was exceeded, because calls used more than could be reserved for them; "": none
// was.
func (b *Budget) Overshoot() record.Reason {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.short(b.spent())
}

// oneCall is all that is known beforehand of a call that is no model's.
var oneCall = Worst{Expected: record.Usage{Calls: 1}, Bound: record.Usage{Calls: 1}}

// BudgetCall reserves a call that is no model's, such as that of a remote agent, in the
// budget of the context's run and in the suite's, which may be nil. It is settled
// when the call is over, as one call; in the suite's as none where it is certain that
// nothing was sent. Reserved is what the record has of it under
// a budget of the run. The errors are those of models under a budget.
func BudgetCall(ctx context.Context, suite *Budget) (settle func(unsent bool), reserved *record.Usage, err error) {
	run, _ := ctx.Value(runKey{}).(*Budget)
	ofRun, err := run.one(ctx)
	if err != nil {
		return nil, nil, &model.Unanswered{Err: err, Reserved: oneCall.Expected}
	}
	ofSuite, err := suite.one(ctx)
	if err != nil {
		ofRun.Settle(record.Settlement{})
		return nil, nil, err
	}
	if ofRun != nil {
		reserved = &record.Usage{Calls: 1}
	}
	return func(unsent bool) {
		one := record.Settlement{Paid: oneCall.Expected}
		ofRun.Settle(one)
		if unsent {
			one = record.Settlement{}
		}
		ofSuite.Settle(one)
	}, reserved, nil
}

// one reserves one call; nil in no budget.
func (b *Budget) one(ctx context.Context) (*Reservation, error) {
	if b == nil {
		return nil, nil
	}
	return b.Reserve(ctx, oneCall)
}

// Worst is what a call may use. What is expected rests on an estimate of the
// prompt's tokens; the bound does not, and is at least as much.
type Worst struct {
	Expected, Bound record.Usage
	Simulated       bool // the call is free
}

// Reserve makes room for a call. There is none where even what is expected does
// not fit beside what was spent. Where the bound fits as well, the call may be
// made beside others; where it does not, only when no other is in flight. So
// Reserve waits for calls in flight, for they may turn out smaller than
// reserved. Its errors are *Refused, ErrUnpriced, the context's cause, and that the
// ledger cannot be written.
func (b *Budget) Reserve(ctx context.Context, worst Worst) (*Reservation, error) {
	for {
		if err := b.borrow(ctx, &worst); err != nil {
			return nil, err
		}
		reserved, wait, err := b.try(model.Role(ctx), &worst)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			return reserved, reserved.sync(&worst)
		}
		if err := await(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// sync has the reservation on disk, so that no crash forgets what a call may cost. Simulated calls cost nothing.
func (r *Reservation) sync(worst *Worst) error {
	if r.budget.ledger == nil || worst.Simulated {
		return nil
	}
	err := r.budget.ledger.Sync()
	if err != nil {
		r.Settle(record.Settlement{})
	}
	return err
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
func (b *Budget) try(role record.Role, worst *Worst) (_ *Reservation, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.Cost > 0 && worst.Expected.Unpriced > 0 {
		return nil, nil, ErrUnpriced
	}
	if short := b.short(b.spent().Plus(worst.Expected)); short != "" {
		b.refusal = &Refused{
			Budget: b, Reason: short, Needs: worst.Expected, Left: b.limits.Left(b.spent().Plus(b.elsewhere)),
			InDoubt: b.short(b.paid.Plus(worst.Expected)) == "", Unpriced: short == record.ReasonBudgetCost && b.spent().Unpriced > 0,
		}
		return nil, nil, b.refusal
	}
	r := &Reservation{budget: b, role: role, worst: worst.Expected}
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
		if r.entry, err = b.ledger.Reserve(role, r.worst); err != nil {
			return nil, nil, err
		}
	}
	b.reserved = b.reserved.Plus(r.worst)
	b.inFlight++
	return r, nil, nil
}

// Reported adds what a program or endpoint says that it used itself: it was not asked before. That it says no price
// stops no call of a model. The nil Budget takes nothing.
func (b *Budget) Reported(u record.Usage) {
	if b == nil || u == (record.Usage{}) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	counted := u
	counted.Unpriced = 0
	b.paid = b.paid.Plus(counted)
	if b.ledger == nil {
		return
	}
	if entry, err := b.ledger.Reserve(record.RoleProgram, u); err == nil { // else the next call is told
		b.ledger.Settle(entry, u, record.Settlement{Paid: u})
	}
}

// take makes room for a call whose admission was decided before.
func (b *Budget) take(expected record.Usage) *Reservation {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = b.reserved.Plus(expected)
	b.inFlight++
	return &Reservation{budget: b, worst: expected}
}

// Reservation is the room that a call in flight holds.
type Reservation struct {
	budget *Budget
	role   record.Role
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
		s.Role = r.role
		b.ledger.Settle(r.entry, r.worst, *s)
	}
	if b.settled != nil {
		close(b.settled)
		b.settled = nil
	}
}

// ErrBudget says that a budget has no room for a call.
var ErrBudget = errors.New("the budget is spent")

// ErrUnpriced says that a call of unknown price met a budget of money.
var ErrUnpriced = fmt.Errorf("%w: its price is unknown, and the budget limits the cost", model.ErrRefused)

// Refused is the ErrBudget of a budget that has no room for a call.
type Refused struct {
	Budget  *Budget
	Reason  record.Reason // names the limit
	Needs   record.Usage  // what it would have reserved
	Left    Limits        // what was left
	InDoubt bool          // there was room beside what was paid: what is in doubt fills the budget
	// Unpriced says that the price of an earlier call is unknown, as of cache writes without a price: it may have cost any amount.
	Unpriced bool
}

func (e *Refused) Error() string {
	return fmt.Sprintf("the budget of the %s has no room for another call: %s", e.Budget.owner, strings.TrimPrefix(string(e.Reason), "budget_"))
}

// Is makes it an ErrBudget, which is a call that was not made.
func (e *Refused) Is(target error) bool { return target == ErrBudget || target == model.ErrRefused }

// StopReason is the reason for which a run stops that meets the refusal.
func (e *Refused) StopReason() record.Reason {
	if e.Budget.owner == Suite {
		return record.ReasonSuiteBudget
	}
	return e.Reason
}
