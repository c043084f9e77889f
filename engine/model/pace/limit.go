package pace

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Charged is what the run's own budget counts as spent by a call that failed, of which so much was reserved.
func Charged(err error, reserved record.Usage) record.Usage {
	s := settlementOf(err, reserved, true)
	return s.Paid.Plus(s.Doubt)
}

// Limit prices what a model uses and reserves every call in the budget first. A
// nil budget has no limits. Where the budget has no room the call is not made,
// and the error is a *Refused. What replies report corrects the estimates.
func Limit(inner model.Model, budget *Budget, options LimitOptions) model.Model {
	return &limited{inner: inner, suite: budget, worst: newEstimate(options)}
}

// LimitRun does the same with the budget that the context carries for one run
// (see WithRun), and puts what was expected into the reply for the record. Its
// estimates depend on nothing but the request: other runs must not decide where
// this one ends.
func LimitRun(inner model.Model, options LimitOptions) model.Model {
	return &limited{inner: inner, perRun: true, worst: newEstimate(options)}
}

type runKey struct{}

// WithRun gives the calls of one run their budget.
func WithRun(ctx context.Context, budget *Budget) context.Context {
	return context.WithValue(ctx, runKey{}, budget)
}

// Refund gives back to the budget of a run, if it has one, what it was charged for calls that did not happen in the time of the run:
// they began after a delegate's timeout had passed. What was really paid stays in the suite's budget.
func Refund(ctx context.Context, charged record.Usage) {
	if b, _ := ctx.Value(runKey{}).(*Budget); b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.paid = b.paid.Minus(charged)
	}
}

type limited struct {
	inner  model.Model
	suite  *Budget
	perRun bool
	worst  *estimate
}

// Call makes the call if the budget has room for it.
func (m *limited) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	budget := m.suite
	if m.perRun {
		budget, _ = ctx.Value(runKey{}).(*Budget)
	}
	if budget == nil {
		return m.call(ctx, request)
	}
	return m.reserved(ctx, budget, request)
}

// reserved is a call that the budget has room for.
func (m *limited) reserved(ctx context.Context, budget *Budget, request *model.Request) (*model.Reply, error) {
	worst := m.worst.of(request)
	reservation, err := m.reserve(ctx, budget, request, worst)
	if err != nil {
		return nil, m.noted(err, &worst, record.Usage{})
	}
	settled := record.Settlement{Doubt: reservation.Worst()} // and so it stays where the model panics
	defer func() { reservation.Settle(settled) }()
	reply, err := m.call(ctx, request)
	if err != nil {
		if m.perRun {
			settled.Doubt = worst.Expected // the bound may be reserved or not, by what is left: that must not decide later
		}
		settled = settlementOf(err, settled.Doubt, m.perRun)
		return nil, m.noted(err, &worst, settled.Paid.Plus(settled.Doubt))
	}
	settled = record.Settlement{Paid: reply.Usage}
	switch {
	case m.perRun:
		reply.Reserved = new(worst.Expected)
	case reply.Usage.Estimated > 0 && !m.worst.options.Simulated: // its usage is unknown, so that all that was reserved counts
		settled = record.Settlement{Doubt: larger(reservation.Worst(), reply.Usage)}
	default:
		m.worst.learn(request, reply.Usage)
	}
	return reply, nil
}

// reserve makes room for a call. Whether the run's own budget admits one that a program makes was decided when it
// arrived, by the calls of that moment: it is not decided again.
func (m *limited) reserve(ctx context.Context, budget *Budget, request *model.Request, worst Worst) (*Reservation, error) {
	if m.perRun && request.Raw != nil {
		return budget.take(worst.Expected), nil
	}
	return budget.Reserve(ctx, worst)
}

// larger is a reservation, or an estimate that is more.
func larger(reserved, estimate record.Usage) record.Usage {
	reserved.InputTokens = max(reserved.InputTokens, estimate.InputTokens)
	reserved.OutputTokens = max(reserved.OutputTokens, estimate.OutputTokens)
	reserved.Cost = max(reserved.Cost, estimate.Cost)
	reserved.Estimated = estimate.Estimated
	return reserved
}

// noted tells what the run's own budget made of a call without an answer, for the
// record.
func (m *limited) noted(err error, worst *Worst, charged record.Usage) error {
	if !m.perRun {
		return err
	}
	return &model.Unanswered{Err: err, Reserved: worst.Expected, Charged: charged}
}

// call makes the call and prices it.
func (m *limited) call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	price := &m.worst.options.Price
	reply, err := m.inner.Call(ctx, request)
	if err == nil {
		price.charge(reply)
		return reply, nil
	}
	var failed *model.CallError
	switch {
	case !errors.As(err, &failed):
	case failed.Reply != nil:
		price.charge(failed.Reply)
		failed.Usage = failed.Reply.Usage
	default:
		failed.Usage = price.tokens(failed.Usage)
	}
	return nil, err
}

// settlementOf is what becomes of the reservation of a failed call: all of it is in
// doubt where the server may have worked without telling how much, and none
// of it is spent where the server never received a byte. A run's own budget does
// not tell the two apart: what it decides must not depend on when a server died.
func settlementOf(err error, reserved record.Usage, ofRun bool) record.Settlement {
	_, known := model.Failure(err)
	var failed *record.Error
	switch {
	case errors.Is(err, model.ErrEnded), errors.Is(err, model.ErrRefused):
		return record.Settlement{Paid: known}
	case model.NeverSent(err) && !ofRun:
		return record.Settlement{}
	case !errors.As(err, &failed):
		return record.Settlement{Doubt: reserved}
	}
	switch failed.Class {
	case record.CallTimeout, record.Network, record.Incomplete, record.BadResponse, record.Internal:
		return record.Settlement{Doubt: reserved}
	}
	return record.Settlement{Paid: known}
}
