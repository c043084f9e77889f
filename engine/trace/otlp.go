// Package otlp sends spans to a collector: by the official SDK of OpenTelemetry and a client of OTLP over HTTP,
// configured by OTEL_* as docs/telemetry.md says. No other package imports the SDK.
//
// Spans wait in a queue of the SDK's, and a run never waits for them: what does
// not fit into the queue, or does not reach the collector, is lost and told of.

package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are what the exporter is told beside the environment.
type Options struct {
	Version string // of agentbench
	// Redact hides secrets in all that is sent; nil: there are none.
	Redact func(string) string
	// Warn is told why spans are lost, a few times at most; nil: nobody.
	Warn func(error)
	// Patience is how long a batch is tried again, and how long Close waits for
	// what has not been sent yet; default DefaultPatience.
	Patience time.Duration
}

// DefaultPatience is short: nobody is to wait for spans.
const DefaultPatience = 5 * time.Second

// Exporter traces by sending spans. It is a telemetry.Tracer.
type Exporter struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	redact   func(string) string
	warnings warnings
	patience time.Duration

	ended, sent atomic.Int64 // spans
}

const (
	service = "agentbench"
	scope   = "github.com/agentbench/agentbench"
)

// Open begins to export. It reads the environment of the process.
func Open(ctx context.Context, o Options) (*Exporter, error) {
	e := &Exporter{redact: o.Redact, warnings: warnings{tell: o.Warn}, patience: cmp.Or(o.Patience, DefaultPatience)}
	if e.redact == nil {
		e.redact = func(text string) string { return text }
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(e.warnings.add))
	otel.SetLogger(funcr.New(func(_, said string) { e.warnings.add(errors.New(said)) }, funcr.Options{}))
	described, err := describe(ctx, o.Version)
	if err != nil {
		e.warnings.add(err)
	}
	client, err := newClient(o.Version, e.patience)
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	e.provider = sdk.NewTracerProvider(sdk.WithResource(described), sdk.WithBatcher(&counting{exporter, &e.sent}))
	e.tracer = e.provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	return e, nil
}

// describe says what the program is; the environment knows better.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version)),
		resource.WithFromEnv(),
	)
}

// Close sends what is left, for a few seconds at most, and says what was lost.
func (e *Exporter) Close() error {
	closing, cancel := context.WithTimeout(context.Background(), e.patience)
	defer cancel()
	err := e.provider.Shutdown(closing)
	lost := e.ended.Load() - e.sent.Load()
	switch {
	case lost <= 0:
		return nil
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%d of %d spans did not reach the collector", lost, e.ended.Load())
	}
	return fmt.Errorf("%d of %d spans did not reach the collector: %w", lost, e.ended.Load(), err)
}

// counting counts the spans that arrived.
type counting struct {
	sdk.SpanExporter
	sent *atomic.Int64
}

// ExportSpans implements sdk.SpanExporter.
func (c *counting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		c.sent.Add(int64(len(spans)))
	}
	return err
}

// warnings are told once each, and only the first few.
type warnings struct {
	tell func(error)

	mu   sync.Mutex
	told map[string]bool
}

const mostWarnings = 3

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell == nil || len(w.told) == mostWarnings || w.told[err.Error()] {
		return
	}
	if w.told == nil {
		w.told = map[string]bool{}
	}
	w.told[err.Error()] = true
	w.tell(err)
}
