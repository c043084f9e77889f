package trace

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Start implements telemetry.Tracer.
func (e *Exporter) Start(ctx context.Context, began *Began) (context.Context, Span) {
	kind := trace.SpanKindInternal
	if began.Client {
		kind = trace.SpanKindClient
	}
	ctx, made := e.tracer.Start(ctx, e.text(began.Name), trace.WithSpanKind(kind), trace.WithAttributes(e.attributes(began.Attributes)...))
	return ctx, &span{e, made}
}

type span struct {
	exporter *Exporter
	made     trace.Span
}

// End implements telemetry.Span.
func (s *span) End(attributes []Attribute, failed *Failure) {
	s.made.SetAttributes(s.exporter.attributes(attributes)...)
	if failed != nil {
		s.made.SetStatus(codes.Error, s.exporter.text(failed.Message))
		s.made.SetAttributes(attribute.String("error.type", failed.Class))
	}
	if s.made.SpanContext().IsSampled() {
		s.exporter.ended.Add(1)
	}
	s.made.End()
}

func (e *Exporter) attributes(told []Attribute) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, len(told))
	for _, a := range told {
		key := attribute.Key(a.Key)
		switch value := a.Value.(type) {
		case string:
			all = append(all, key.String(e.text(value)))
		case []string:
			texts := make([]string, len(value))
			for i := range value {
				texts[i] = e.text(value[i])
			}
			all = append(all, key.StringSlice(texts))
		case int64:
			all = append(all, key.Int64(value))
		case float64:
			all = append(all, key.Float64(value))
		case bool:
			all = append(all, key.Bool(value))
		}
	}
	return all
}

// text is one without secrets, and valid: of a batch with a text that is not
// UTF-8 nothing would be sent.
func (e *Exporter) text(text string) string { return strings.ToValidUTF8(e.redact(text), "\uFFFD") }
