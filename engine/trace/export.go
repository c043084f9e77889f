package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options describe what is traced. The environment of the process says where spans go.
type Options struct {
	Version string // of agentbench
	// Models are those of the suite, by their names in it.
	Models map[string]Model
	// Contents adds what was sent to models and tools, and what they answered.
	Contents bool
	// Redact hides secrets in all texts of spans; nil: there are none.
	Redact func(string) string
	// Patience is how long a batch is sent again, and how long Close waits for what was not sent yet; default 5 s.
	Patience time.Duration
}

// Model describes a model of the suite.
type Model struct {
	Provider string // as the conventions name it: openai, anthropic, script, simulate
	Stream   bool   // its answers come in pieces
	Name     string // the provider's
	Address  string // of its server; "": it has none
	Port     int
}

// Tracing sends the spans of a suite. It is safe for concurrent use, and never delays or fails what it traces.
type Tracing struct {
	Options
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	runs     sync.Map // the trace.SpanContext of each run, by its id: its scores come later

	ended, arrived atomic.Int64 // spans
	mu             sync.Mutex
	trouble        error // the first
}

// Open begins to send spans as OTEL_* variables say. Close must be called. An error means that nothing can be sent.
func Open(ctx context.Context, o Options) (*Tracing, error) {
	t := &Tracing{Options: o}
	t.Patience = cmp.Or(o.Patience, 5*time.Second)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.note))
	otel.SetLogger(funcr.New(func(_, text string) { t.note(errors.New(text)) }, funcr.Options{}))
	described, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "agentbench"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv()) // the last one wins
	t.note(err)
	options := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: t.Patience / 20, MaxInterval: t.Patience / 2, MaxElapsedTime: t.Patience,
	})}
	if _, endpoint := setting(os.Getenv, "ENDPOINT"); endpoint == "" {
		options = append(options, otlptracehttp.WithEndpointURL("http://localhost:4318/v1/traces")) // the exporter's own default is https
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, err
	}
	limits := sdk.NewSpanLimits()
	limits.EventCountLimit = -1 // events are scores
	t.provider = sdk.NewTracerProvider(sdk.WithResource(described), sdk.WithRawSpanLimits(limits), sdk.WithBatcher(counted{exporter, t}))
	t.tracer = t.provider.Tracer("github.com/agentbench/agentbench", trace.WithInstrumentationVersion(o.Version))
	return t, nil
}

// Close sends what is left, as long as its patience lasts. The error says how many spans were lost, and why.
func (t *Tracing) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), t.Patience)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what it does not send is counted
	t.mu.Lock()
	defer t.mu.Unlock()
	ended := t.ended.Load()
	lost := ended - t.arrived.Load()
	switch {
	case lost == 0:
		return t.trouble
	case t.trouble == nil:
		return fmt.Errorf("%d of %d spans did not reach the collector", lost, ended)
	}
	return fmt.Errorf("%d of %d spans did not reach the collector: %w", lost, ended, t.trouble)
}

// note keeps the first error for Close.
func (t *Tracing) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trouble = cmp.Or(t.trouble, err)
}

// counted is an exporter that counts the spans that arrive.
type counted struct {
	sdk.SpanExporter
	tracing *Tracing
}

// ExportSpans implements sdk.SpanExporter.
func (c counted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		c.tracing.note(err)
		return nil
	}
	c.tracing.arrived.Add(int64(len(spans)))
	return nil
}

// Wanted reports whether the environment asks for traces: it names an exporter or a collector, and does not switch
// traces off. The error says why what it asks for is not available.
func Wanted(env func(string) string) (bool, error) {
	exporter := strings.TrimSpace(env("OTEL_TRACES_EXPORTER"))
	variable, protocol := setting(env, "PROTOCOL")
	_, endpoint := setting(env, "ENDPOINT")
	switch {
	case isTrue(env("OTEL_SDK_DISABLED")), exporter == "none", exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: the only exporter is otlp", exporter)
	case protocol != "" && protocol != "http/protobuf" && protocol != "http/json":
		return false, fmt.Errorf("%s=%s: want http/protobuf or http/json, usually at port 4318", variable, protocol)
	}
	return true, nil
}

// setting is the variable of OTLP that counts, and its value: that of traces, or else that of all signals.
func setting(env func(string) string, name string) (variable, value string) {
	for _, variable = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if value = strings.TrimSpace(env(variable)); value != "" {
			break
		}
	}
	return variable, value
}

// ContentsWanted reports whether the environment asks for the contents of requests and answers.
func ContentsWanted(env func(string) string) bool {
	return isTrue(env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"))
}

func isTrue(value string) bool { return strings.EqualFold(strings.TrimSpace(value), "true") }
