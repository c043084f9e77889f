package limit

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// DefaultMaxOutput is reserved for the reply of a call that names no
// MaxOutputTokens, as long as no longer one was seen. A longer one may overshoot
// the budget by its excess.
const DefaultMaxOutput = 4096

// Options say how calls are priced and reserved.
type Options struct {
	Price Price
	// Input is what every prompt is reserved at; 0: at an estimate by its text.
	Input int64
	// MaxOutput is reserved for the reply of a call that names no
	// MaxOutputTokens; 0 means DefaultMaxOutput.
	MaxOutput int64
}

// Wrap prices what a model uses and reserves every call in the budget first. A
// nil budget has no limits. Where the budget has no room the call is not made,
// and the error is a *Refused. What replies report corrects the estimates.
func Wrap(inner model.Model, budget *Budget, options Options) model.Model {
	return &limited{inner: inner, suite: budget, worst: newEstimate(options)}
}

// WrapRun does the same with the budget that the context carries for one run
// (see WithRun), and puts what was expected into the reply for the record. Its
// estimates depend on nothing but the request: other runs must not decide where
// this one ends.
func WrapRun(inner model.Model, options Options) model.Model {
	return &limited{inner: inner, perRun: true, worst: newEstimate(options)}
}

type runKey struct{}

// WithRun gives the calls of one run their budget.
func WithRun(ctx context.Context, budget *Budget) context.Context {
	return context.WithValue(ctx, runKey{}, budget)
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
	worst := m.worst.of(request)
	reservation, err := budget.Reserve(ctx, worst)
	if err != nil {
		return nil, m.noted(err, &worst, record.Usage{})
	}
	used := reservation.Worst() // and so it stays where the model panics
	defer func() { reservation.Settle(used) }()
	reply, err := m.call(ctx, request)
	if err != nil {
		if m.perRun {
			used = worst.Expected // the bound may be reserved or not, by what is left: that must not decide later
		}
		used = atWorst(err, used)
		return nil, m.noted(err, &worst, used)
	}
	used = reply.Usage
	if m.perRun {
		reply.Reserved = &worst.Expected
	} else {
		m.worst.learn(request, used)
	}
	return reply, nil
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
		reply.Usage = price.Apply(reply.Usage)
		return reply, nil
	}
	var failed *model.CallError
	if errors.As(err, &failed) {
		failed.Usage = price.Apply(failed.Usage)
	}
	return nil, err
}

// atWorst is what a failed call is charged: all that was reserved where the
// server may have worked and nobody will ever say how much.
func atWorst(err error, worst record.Usage) record.Usage {
	_, known := model.Failure(err)
	if errors.Is(err, model.ErrEnded) || errors.Is(err, model.ErrRefused) {
		return known
	}
	var failed *record.Error
	if !errors.As(err, &failed) {
		return worst
	}
	switch failed.Class {
	case record.CallTimeout, record.Network, record.Incomplete, record.BadResponse, record.Internal:
		return worst
	}
	return known
}
