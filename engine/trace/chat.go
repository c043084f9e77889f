package trace

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Chat is the span of a model call, attempts and waiting included. The zero Chat
// is that of one that nobody traces.
type Chat struct {
	span    Span
	tracing *Tracing
	asked   string // the provider's name of the model
}

// Ask makes a call of a model, in a span of its own, and its record, which is nil where no call was made.
func Ask(ctx context.Context, a model.Asked) (*model.Reply, *record.Call, error) {
	ctx, span := StartChat(ctx, a.Name, a.Role, a.Request)
	reply, call, err := a.Ask(ctx)
	span.End(reply, call, err)
	return reply, call, err
}

// StartChat begins the span of a call of a model, by its name in the suite.
func StartChat(ctx context.Context, name string, role record.Role, request *model.Request) (context.Context, Chat) {
	t := of(ctx)
	if t == nil {
		return ctx, Chat{}
	}
	m, known := t.Models[name]
	if !known {
		m = Model{Name: name, Provider: "_OTHER"}
	}
	var l list
	l.set("gen_ai.operation.name", "chat")
	l.text("gen_ai.provider.name", m.Provider)
	l.text("gen_ai.request.model", m.Name)
	if m.Address != "" {
		l.set("server.address", m.Address)
		l.set("server.port", int64(m.Port))
	}
	l.text("agentbench.model", name)
	l.text("agentbench.role", string(role))
	l.settings(request)
	if t.Contents {
		l.sent(request)
	}
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("chat", m.Name), Client: true, Attributes: l})
	return ctx, Chat{span, t, m.Name}
}

func (l *list) settings(request *model.Request) {
	if request.Temperature != nil {
		l.set("gen_ai.request.temperature", *request.Temperature)
	}
	if request.TopP != nil {
		l.set("gen_ai.request.top_p", *request.TopP)
	}
	if request.Seed != nil {
		l.set("gen_ai.request.seed", *request.Seed)
	}
	l.count("gen_ai.request.max_tokens", int64(request.MaxOutputTokens))
	if request.JSON {
		l.set("gen_ai.output.type", "json")
	}
}

// End tells what came of the call; the record of it is nil where it was not made.
func (c Chat) End(reply *model.Reply, call *record.Call, err error) {
	if c.span == nil {
		return
	}
	var l list
	if call != nil {
		l.called(call, c.asked)
	}
	if reply != nil && c.tracing.Contents {
		l.set("gen_ai.output.messages", answered(reply))
	}
	c.span.End(l, notMade(err))
}

// notMade is the failure of a call, for which the words of a model that ends the
// run, or of a budget that has no room, are none of an error's class.
func notMade(err error) *Failure {
	switch {
	case errors.Is(err, model.ErrEnded):
		return nil
	case errors.Is(err, model.ErrRefused):
		return &Failure{"refused", err.Error()}
	}
	return failureOf(err)
}

func (l *list) called(call *record.Call, asked string) {
	if call.Error == nil {
		if call.Answered != "" {
			asked = call.Answered
		}
		l.text("gen_ai.response.model", asked)
		l.set("gen_ai.response.finish_reasons", []string{call.Finish})
	}
	l.usage(&call.Usage)
	l.set("agentbench.elapsed_s", call.Duration.Seconds())
	l.set("agentbench.cached", call.Cached)
	l.count("agentbench.attempts", int64(call.Attempts))
	if call.Waited > 0 {
		l.set("agentbench.waited_s", call.Waited.Seconds())
	}
}
