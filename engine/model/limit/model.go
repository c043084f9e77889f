package limit

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// DefaultMaxOutput is reserved for the reply of a call that names no
// MaxOutputTokens. A longer reply overshoots the budget by its excess.
const DefaultMaxOutput = 4096

// messageTokens is what a message adds to its text at most, by the documented
// chat formats.
const messageTokens = 4

// Options say how calls are priced and reserved.
type Options struct {
	Price Price
	// MaxOutput is reserved for the reply of a call that names no
	// MaxOutputTokens; 0 means DefaultMaxOutput.
	MaxOutput int64
}

// Wrap prices what a model uses and reserves every call in the budget first. A
// nil budget has no limits. Where the budget has no room the call is not made,
// and the error is a *Refused.
func Wrap(inner model.Model, budget *Budget, options Options) model.Model {
	return &limited{inner: inner, suite: budget, options: options.withDefaults()}
}

// WrapRun does the same with the budget that the context carries for one run
// (see WithRun), and puts the reservation into the reply for the record.
func WrapRun(inner model.Model, options Options) model.Model {
	return &limited{inner: inner, perRun: true, options: options.withDefaults()}
}

type runKey struct{}

// WithRun gives the calls of one run their budget.
func WithRun(ctx context.Context, budget *Budget) context.Context {
	return context.WithValue(ctx, runKey{}, budget)
}

func (o Options) withDefaults() Options {
	if o.MaxOutput <= 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	return o
}

type limited struct {
	inner   model.Model
	suite   *Budget
	perRun  bool
	options Options
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
	reservation, err := budget.Reserve(ctx, m.worst(request))
	if err != nil {
		return nil, err
	}
	worst := reservation.Worst()
	used := worst // and so it stays where the model panics
	defer func() { reservation.Settle(used) }()
	reply, err := m.call(ctx, request)
	if err != nil {
		used = atWorst(err, worst)
		return nil, err
	}
	used = reply.Usage
	if m.perRun {
		reply.Reserved = &worst
	}
	return reply, nil
}

// call makes the call and prices it.
func (m *limited) call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	reply, err := m.inner.Call(ctx, request)
	if err == nil {
		reply.Usage = m.options.Price.Apply(reply.Usage)
		return reply, nil
	}
	var failed *model.CallError
	if errors.As(err, &failed) {
		failed.Usage = m.options.Price.Apply(failed.Usage)
	}
	return nil, err
}

func (m *limited) worst(request *model.Request) record.Usage {
	output := int64(request.MaxOutputTokens)
	if output == 0 {
		output = m.options.MaxOutput
	}
	return m.options.Price.Apply(record.Usage{
		Calls:        1,
		InputTokens:  request.InputTokens() + messageTokens*int64(len(request.Messages)),
		OutputTokens: output,
	})
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
