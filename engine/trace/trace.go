// Package trace sends spans of runs in progress to a collector of OpenTelemetry. Open begins, With puts the Tracing into
// a context, and StartRun, StartIteration, Ask, StartTool and StartScore make the spans of what happens in that context.
// Their names and attributes are those of the semantic conventions for generative AI, and agentbench's own where
// these have none; docs/results.md lists them. Without a Tracing in the context nothing is made and nothing allocated.
//
// It is no stable API.
package trace

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

type tracingKey struct{}

// With is a context whose runs are traced.
func With(ctx context.Context, t *Tracing) context.Context {
	return context.WithValue(ctx, tracingKey{}, t)
}

// of returns the Tracing of a context, or nil.
func of(ctx context.Context) *Tracing {
	t, _ := ctx.Value(tracingKey{}).(*Tracing)
	return t
}

// traceparent is the header by which a span's identity travels between processes, as W3C Trace Context has it.
const traceparent = "traceparent"

// Parent is the span of a context as a traceparent header; "": it has none.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparent]
}

// Within is a context in the span of another process, given as Parent gives it. An invalid one changes nothing.
func Within(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}

// SpanOf is the span of a run of this session, as Parent gives it; "": it has none.
func SpanOf(ctx context.Context, run string) string {
	return Parent(within(context.Background(), of(ctx), run))
}

// within is a context in the span of a run, if that is known.
func within(ctx context.Context, t *Tracing, run string) context.Context {
	if t != nil {
		if at, known := t.runs.Load(run); known {
			return trace.ContextWithSpanContext(ctx, at.(trace.SpanContext))
		}
	}
	return ctx
}

// Elsewhere says which span a run has that another process made, as Parent gives it: its scores are sent below that.
func Elsewhere(ctx context.Context, run, span string) {
	at := trace.SpanContextFromContext(Within(context.Background(), span))
	if t := of(ctx); t != nil && at.IsValid() {
		t.runs.Store(run, at)
	}
}

// span is one in progress.
type span struct {
	trace.Span
	tracing *Tracing
}

// start begins a span of an operation on something, which may have no name.
func (t *Tracing) start(ctx context.Context, kind trace.SpanKind, operation, name string, l list) (context.Context, span) {
	if name != "" {
		operation += " " + name
	}
	ctx, begun := t.tracer.Start(ctx, t.clean(operation), trace.WithSpanKind(kind), trace.WithAttributes(t.cleaned(l)...))
	return ctx, span{begun, t}
}

// end ends the span. It failed where there is a failure.
func (s span) end(l list, failed *record.Error) {
	if failed != nil {
		s.SetStatus(codes.Error, s.tracing.clean(failed.Message))
		l.text("error.type", string(failed.Class))
	}
	s.SetAttributes(s.tracing.cleaned(l)...)
	if s.SpanContext().IsSampled() {
		s.tracing.ended.Add(1)
	}
	s.End()
}

// failureOf is nil where nothing failed. A model that has nothing more to give, and ends the run, did not fail.
func failureOf(err error) *record.Error {
	var failed *record.Error
	switch {
	case err == nil, errors.Is(err, model.ErrEnded):
		return nil
	case errors.Is(err, model.ErrRefused):
		return &record.Error{Class: "refused", Message: err.Error()}
	case errors.As(err, &failed):
		return failed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &record.Error{Class: "cancelled", Message: err.Error()}
	}
	return &record.Error{Class: "_OTHER", Message: err.Error()}
}

// list gathers the attributes of a span.
type list []attribute.KeyValue

func (l *list) add(all ...attribute.KeyValue) { *l = append(*l, all...) }

// text leaves out a text that is empty.
func (l *list) text(key, value string) {
	if value != "" {
		l.add(attribute.String(key, value))
	}
}

// count leaves out a count that is 0.
func (l *list) count(key string, value int64) {
	if value != 0 {
		l.add(attribute.Int64(key, value))
	}
}

// usage adds tokens, and the cost if all prices are known.
func (l *list) usage(u *record.Usage) {
	l.add(attribute.Int64("gen_ai.usage.input_tokens", u.InputTokens), attribute.Int64("gen_ai.usage.output_tokens", u.OutputTokens))
	l.count("gen_ai.usage.cache_read.input_tokens", u.CachedTokens)
	l.count("gen_ai.usage.cache_creation.input_tokens", u.CacheWriteTokens+u.CacheWrite1hTokens)
	l.count("gen_ai.usage.reasoning.output_tokens", u.ReasoningTokens)
	if u.Unpriced == 0 {
		l.add(attribute.Float64("agentbench.cost_usd", u.Cost.Dollars()))
	}
}

// cleaned is the list with clean texts.
func (t *Tracing) cleaned(l list) list {
	for i, a := range l {
		switch a.Value.Type() {
		case attribute.STRING:
			l[i].Value = attribute.StringValue(t.clean(a.Value.AsString()))
		case attribute.STRINGSLICE:
			texts := a.Value.AsStringSlice() // a copy
			for k := range texts {
				texts[k] = t.clean(texts[k])
			}
			l[i].Value = attribute.StringSliceValue(texts)
		}
	}
	return l
}

// clean is a text without secrets, and in UTF-8: else its whole batch could not be sent.
func (t *Tracing) clean(text string) string {
	if t.Redact != nil {
		text = t.Redact(text)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
