package trace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	variables       = "OTEL_EXPORTER_OTLP_"
	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second
	firstPause      = 250 * time.Millisecond
	mostAnswer      = 64 << 10 // bytes that are read of an answer
	protobuf        = "application/x-protobuf"
)

// client posts spans as OTLP over HTTP says, to where and as the environment says. It is an otlptrace.Client.
//
// The SDK's own client would link gRPC, which it does not use: 2 MB of the binary and 2 ms of every start.
type client struct {
	url      string
	header   http.Header
	http     *http.Client
	patience time.Duration

	stopped context.Context
	stop    context.CancelFunc
}

// A signal is what OpenTelemetry calls spans or events, in the names of its variables and addresses.
type signal string

const (
	spans  signal = "traces"
	events signal = "logs" // events are log records
)

// newClient reads OTEL_EXPORTER_OTLP_*. What it cannot read or use is an error: spans would go to the wrong place.
func newClient(of signal, version string, patience time.Duration) (*client, error) {
	address, addressErr := of.endpoint()
	timeout, timeoutErr := of.timeout()
	header, headerErr := of.headers()
	secured, tlsErr := of.certificates()
	if err := cmp.Or(addressErr, timeoutErr, headerErr, tlsErr); err != nil {
		return nil, err
	}
	switch compression := of.setting("COMPRESSION"); compression {
	case "gzip":
		header.Set("Content-Encoding", compression)
	case "", "none":
	default:
		return nil, fmt.Errorf("%sCOMPRESSION=%s: want gzip or none", variables, compression)
	}
	header.Set("Content-Type", protobuf)
	header.Set("User-Agent", service+"/"+version)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = secured
	c := &client{url: address, header: header, http: &http.Client{Transport: transport, Timeout: timeout}, patience: patience}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// setting is the value of OTEL_EXPORTER_OTLP_TRACES_name, or, without one, of OTEL_EXPORTER_OTLP_name.
func (of signal) setting(name string) string {
	return cmp.Or(strings.TrimSpace(os.Getenv(of.variable(name))), strings.TrimSpace(os.Getenv(variables+name)))
}

func (of signal) variable(name string) string {
	return variables + strings.ToUpper(string(of)) + "_" + name
}

// endpoint takes the address for the signal as it is; of the one for all signals it is a part.
func (of signal) endpoint() (string, error) {
	variable := of.variable("ENDPOINT")
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		variable = endpointVariable
		text = cmp.Or(strings.TrimSpace(os.Getenv(variable)), defaultEndpoint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s: want an address such as %s", variable, defaultEndpoint) // it may hold a password
	}
	if variable == endpointVariable {
		u.Path = path.Join("/", u.Path, "v1", string(of))
	} else {
		u.Path = cmp.Or(u.Path, "/")
	}
	return u.String(), nil
}

func (of signal) timeout() (time.Duration, error) {
	text := of.setting("TIMEOUT")
	if text == "" {
		return defaultTimeout, nil
	}
	ms, err := strconv.Atoi(text)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("%sTIMEOUT=%s: want milliseconds", variables, text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// headers are pairs such as name=value,other=value, whose values are percent-encoded.
func (of signal) headers() (http.Header, error) {
	all := http.Header{}
	text := of.setting("HEADERS")
	if text == "" {
		return all, nil
	}
	for i, pair := range strings.Split(text, ",") {
		name, encoded, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return all, fmt.Errorf("%sHEADERS: part %d is no pair name=value", variables, i+1) // which may be a secret
		}
		all.Set(strings.TrimSpace(name), value)
	}
	return all, nil
}

// certificates are those that the collector is known by, and those that it knows us by.
func (of signal) certificates() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := of.setting("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%sCERTIFICATE: %w", variables, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%sCERTIFICATE: there is no certificate in %s", variables, file)
		}
	}
	if file, key := of.setting("CLIENT_CERTIFICATE"), of.setting("CLIENT_KEY"); file != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			return nil, fmt.Errorf("%sCLIENT_CERTIFICATE: %w", variables, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// address is where it posts to, without a password.
func (c *client) address() string {
	u, err := url.Parse(c.url)
	if err != nil {
		return c.url
	}
	return u.Redacted()
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. It ends what is being sent.
func (c *client) Stop(context.Context) error {
	c.stop()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again what may pass, as long as its patience lasts.
func (c *client) UploadTraces(ctx context.Context, spans []*traces.ResourceSpans) error {
	// TracesData has the form of the service's request, whose package links gRPC.
	return c.upload(ctx, &traces.TracesData{ResourceSpans: spans})
}

func (c *client) upload(ctx context.Context, batch proto.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()
	body, err := proto.Marshal(batch)
	if err != nil {
		return err
	}
	if c.header.Get("Content-Encoding") == "gzip" {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // into memory
		_ = w.Close()
		body = packed.Bytes()
	}
	began := time.Now()
	for pause := firstPause; ; pause += pause / 2 {
		again, after, err := c.post(ctx, body)
		wait := max(after, pause/2+rand.N(pause))
		if !again || time.Since(began)+wait > c.patience {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// post sends a batch once. It reports whether to try again, and after how long at least.
func (c *client) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	request.Header = c.header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		failed, ok := errors.AsType[*url.Error](err)
		return ok && failed.Temporary(), 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, retryAfter(response.Header), refusal(response, answer)
	}
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return false, 0, fmt.Errorf("%w: %w", errNoSuchSignal, refusal(response, answer))
	}
	if response.StatusCode/100 != 2 {
		return false, 0, refusal(response, answer)
	}
	if err == nil && response.Header.Get("Content-Type") == protobuf {
		err = rejected(answer)
	}
	return false, 0, err
}

// errNoSuchSignal is the answer of a collector that takes other signals, perhaps, but not this one.
var errNoSuchSignal = errors.New("the collector has no such address")

func refusal(response *http.Response, answer []byte) error {
	return fmt.Errorf("the collector answered %s: %s", response.Status, cmp.Or(strings.TrimSpace(string(answer)), "(empty)"))
}

// retryAfter is how long a collector asks to wait, in seconds or until a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return time.Until(date)
	}
	return 0
}

// rejected is what a collector that took the batch says of spans that it did not take: an ExportTraceServiceResponse,
// whose field 1 holds the number of spans (1) and a message (2).
func rejected(answer []byte) error {
	partial, err := fields(answer)
	if err != nil || len(partial[1].text) == 0 {
		return err
	}
	said, err := fields(partial[1].text)
	if err != nil || said[1].number == 0 && len(said[2].text) == 0 {
		return err
	}
	return fmt.Errorf("the collector rejected %d spans: %s", said[1].number, said[2].text)
}

// value is a field of a message: a number, or a text or message.
type value struct {
	number uint64
	text   []byte
}

func fields(message []byte) (map[protowire.Number]value, error) {
	all := map[protowire.Number]value{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		var v value
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			v.text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		all[number], message = v, message[n:]
	}
	return all, nil
}

// Spans reach a collector by the official SDK of OpenTelemetry and a client of OTLP over HTTP,
// configured by OTEL_* as docs/telemetry.md says. They wait in a queue of the SDK's, and a run never waits for them: what does
// not fit into the queue, or does not reach the collector, is lost and told of.

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

// Exporter traces by sending spans. It is a Tracer.
type Exporter struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	events   *eventLog // nil: none are sent
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
	described, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", o.Version)),
		resource.WithFromEnv()) // the environment knows better
	if err != nil {
		e.warnings.add(err)
	}
	client, err := newClient(spans, o.Version, e.patience)
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	e.provider = sdk.NewTracerProvider(sdk.WithResource(described), sdk.WithBatcher(&counting{exporter, &e.sent}))
	e.tracer = e.provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	if eventsWanted(os.Getenv) {
		if e.events, err = newEventLog(described, o.Version, e.patience, e.warnings.add); err != nil {
			return nil, fmt.Errorf("exporting events: %w", err)
		}
	}
	return e, nil
}

// Close sends what is left, for a few seconds at most, and says what was lost.
func (e *Exporter) Close() error {
	closing, cancel := context.WithTimeout(context.Background(), e.patience)
	defer cancel()
	shut := e.provider.Shutdown(closing)
	err := lost("spans", e.ended.Load(), e.sent.Load(), shut)
	if e.events != nil {
		shut = e.events.provider.Shutdown(closing)
		if !e.events.refused.Load() { // else the warning was given
			err = errors.Join(err, lost("events", e.events.ended.Load(), e.events.sent.Load(), shut))
		}
	}
	return err
}

func lost(what string, ended, sent int64, err error) error {
	switch {
	case ended <= sent:
		return nil
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%d of %d %s did not reach the collector", ended-sent, ended, what)
	}
	return fmt.Errorf("%d of %d %s did not reach the collector: %w", ended-sent, ended, what, err)
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

// Start implements Tracer.
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

// End implements Span.
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

// Place implements Span.
func (s *span) Place() Place {
	return placeOf(s.made.SpanContext())
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

// The variables of OpenTelemetry that say whether there is to be a trace; the SDK
// reads the others.
const (
	disabledVariable       = "OTEL_SDK_DISABLED"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	logsExporterVariable   = "OTEL_LOGS_EXPORTER"
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	contentsVariable       = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// Protocol is the one that spans are sent by.
const Protocol = "http/protobuf"

// Wanted says whether the environment asks for traces: it names an exporter, or
// where a collector is, and does not switch it off. The error is why what it asks
// for cannot be had.
func Wanted(env func(string) string) (bool, error) {
	if isTrue(env(disabledVariable)) {
		return false, nil
	}
	exporter := strings.TrimSpace(env(exporterVariable))
	switch exporter {
	case "none":
		return false, nil
	case "":
		if env(endpointVariable) == "" && env(tracesEndpointVariable) == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("%s=%s: the only exporter is otlp", exporterVariable, exporter)
	}
	for _, variable := range []string{tracesProtocolVariable, protocolVariable} {
		switch protocol := strings.TrimSpace(env(variable)); protocol {
		case "":
			continue
		case Protocol:
			return true, nil
		default:
			return false, fmt.Errorf("%s=%s: the only protocol is %s, usually at port 4318", variable, protocol, Protocol)
		}
	}
	return true, nil
}

// eventsWanted reports whether the environment, which wants traces, has a place for events as well.
func eventsWanted(env func(string) string) bool {
	switch strings.TrimSpace(env(logsExporterVariable)) {
	case "otlp":
		return true
	case "":
		return env(endpointVariable) != "" || env(events.variable("ENDPOINT")) != "" || env(tracesEndpointVariable) == ""
	}
	return false
}

// Contents says whether the environment asks for what was sent and answered, too.
func Contents(env func(string) string) bool { return isTrue(env(contentsVariable)) }

func isTrue(value string) bool { return strings.EqualFold(strings.TrimSpace(value), "true") }
