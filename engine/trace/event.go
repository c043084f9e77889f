package trace

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resources "go.opentelemetry.io/proto/otlp/resource/v1"
)

// eventLog sends events in batches. It is the exporter under a provider of the SDK.
type eventLog struct {
	client   *client
	provider *sdklog.LoggerProvider
	logger   log.Logger
	resource *resource.Resource
	warn     func(error)

	ended, sent atomic.Int64
	refused     atomic.Bool // the collector takes spans only
}

func newEventLog(described *resource.Resource, version string, patience time.Duration, warn func(error)) (*eventLog, error) {
	client, err := newClient(events, version, patience)
	if err != nil {
		return nil, err
	}
	l := &eventLog{client: client, resource: described, warn: warn}
	l.provider = sdklog.NewLoggerProvider(sdklog.WithResource(described), sdklog.WithProcessor(sdklog.NewBatchProcessor(l)))
	l.logger = l.provider.Logger(scope, log.WithInstrumentationVersion(version))
	return l, nil
}

// Event implements Tracer.
func (e *Exporter) Event(name string, at Place, attributes []Attribute, failed *Failure) {
	if e.events == nil {
		return
	}
	ctx := trace.ContextWithSpanContext(context.Background(), at.context())
	var made log.Record
	made.SetEventName(name)
	made.SetTimestamp(time.Now())
	made.SetSeverity(log.SeverityInfo)
	all := e.attributes(attributes)
	if failed != nil {
		all = append(all, attribute.String("error.type", failed.Class))
	}
	made.AddAttributes(all...)
	e.events.ended.Add(1)
	e.events.logger.Emit(ctx, made)
}

// Export implements sdklog.Exporter.
func (l *eventLog) Export(ctx context.Context, batch []sdklog.Record) error {
	sent := &logs.ScopeLogs{Scope: &common.InstrumentationScope{Name: scope}}
	for i := range batch {
		sent.LogRecords = append(sent.LogRecords, eventOf(&batch[i]))
	}
	described := &resources.Resource{Attributes: keyValues(l.resource.Attributes())}
	if l.refused.Load() {
		return nil
	}
	err := l.client.upload(ctx, &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{Resource: described, ScopeLogs: []*logs.ScopeLogs{sent}}}})
	switch {
	case err == nil:
		l.sent.Add(int64(len(batch)))
	case errors.Is(err, errNoSuchSignal) && l.refused.CompareAndSwap(false, true):
		l.warn(fmt.Errorf("the collector takes no events at %s; set %s=none to send spans only", l.client.address(), logsExporterVariable))
		return nil
	}
	return err
}

// Shutdown implements sdklog.Exporter.
func (l *eventLog) Shutdown(ctx context.Context) error { return l.client.Stop(ctx) }

// ForceFlush implements sdklog.Exporter: nothing is held back.
func (l *eventLog) ForceFlush(context.Context) error { return nil }

func eventOf(r *sdklog.Record) *logs.LogRecord {
	made := &logs.LogRecord{
		EventName:    r.EventName(),
		TimeUnixNano: uint64(r.Timestamp().UnixNano()), ObservedTimeUnixNano: uint64(r.ObservedTimestamp().UnixNano()),
		SeverityNumber: logs.SeverityNumber(r.Severity()),
	}
	if id := r.TraceID(); id.IsValid() {
		made.TraceId = id[:]
	}
	if id := r.SpanID(); id.IsValid() {
		made.SpanId, made.Flags = id[:], uint32(r.TraceFlags())
	}
	var all []attribute.KeyValue
	r.WalkAttributes(func(a attribute.KeyValue) bool {
		all = append(all, a)
		return true
	})
	made.Attributes = keyValues(all)
	return made
}

// keyValues are attributes of the kinds that [Attribute] has.
func keyValues(attributes []attribute.KeyValue) []*common.KeyValue {
	all := make([]*common.KeyValue, len(attributes))
	for i, a := range attributes {
		all[i] = &common.KeyValue{Key: string(a.Key), Value: &common.AnyValue{}}
		switch v := a.Value; v.Type() {
		case attribute.BOOL:
			all[i].Value.Value = &common.AnyValue_BoolValue{BoolValue: v.AsBool()}
		case attribute.INT64:
			all[i].Value.Value = &common.AnyValue_IntValue{IntValue: v.AsInt64()}
		case attribute.FLOAT64:
			all[i].Value.Value = &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}
		default:
			all[i].Value.Value = &common.AnyValue_StringValue{StringValue: v.String()}
		}
	}
	return all
}
