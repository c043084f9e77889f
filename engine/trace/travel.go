package trace

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Between processes a place travels as the header traceparent, as W3C Trace Context has it.
const traceparent = "traceparent"

// Parent is the span of a context, for other processes to go on with; "": there is none.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparent]
}

// Within is a context in the span of another process. A text that is none changes nothing.
func Within(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}

// SpanOf is the span of a run of this session, as Parent gives it; "": it has none.
func SpanOf(ctx context.Context, run string) string {
	t := of(ctx)
	if t == nil {
		return ""
	}
	known, _ := t.runs.Load(run)
	at, _ := known.(Place)
	return Parent(trace.ContextWithSpanContext(ctx, at.context()))
}

// Elsewhere says which span a run has that another process made: events of its scores are
// about that.
func Elsewhere(ctx context.Context, run, span string) {
	at := trace.SpanContextFromContext(Within(context.Background(), span))
	if t := of(ctx); t != nil && at.IsValid() {
		t.runs.Store(run, placeOf(at))
	}
}

func (p Place) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: p.Trace, SpanID: p.Span, TraceFlags: trace.TraceFlags(p.Flags)})
}

func placeOf(at trace.SpanContext) Place {
	return Place{at.TraceID(), at.SpanID(), byte(at.TraceFlags())}
}

// Suite is the span of a suite whose runs other processes make. The zero Suite is that of
// one that nobody traces.
type Suite struct{ span Span }

// StartSuite begins the span of a suite.
func StartSuite(ctx context.Context, name string) (context.Context, Suite) {
	t := of(ctx)
	if t == nil {
		return ctx, Suite{}
	}
	var l list
	l.text("agentbench.suite", name)
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("suite", name), Attributes: l})
	return ctx, Suite{span}
}

// End ends it. It failed where the suite could not be run.
func (s Suite) End(err error) {
	if s.span != nil {
		s.span.End(nil, failureOf(err))
	}
}
