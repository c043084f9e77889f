package trace

import (
	"compress/gzip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// received is what a collector was sent.
type received struct {
	mu       sync.Mutex
	spans    []*traces.Span
	events   []*logs.LogRecord
	noEvents bool // it takes spans only
	resource []*common.KeyValue
	headers  []http.Header
	paths    []string
}

// collect starts a collector, which the environment then names.
func collect(t *testing.T) *received {
	t.Helper()
	got := &received{}
	server := httptest.NewServer(got)
	t.Cleanup(server.Close)
	t.Setenv(endpointVariable, server.URL)
	return got
}

// ServeHTTP implements http.Handler.
func (r *received) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if request.URL.Path == "/v1/logs" {
		r.takeEvents(w, body)
		return
	}
	var sent collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers, r.paths = append(r.headers, request.Header), append(r.paths, request.URL.Path)
	for _, of := range sent.ResourceSpans {
		r.resource = of.Resource.Attributes
		for _, in := range of.ScopeSpans {
			r.spans = append(r.spans, in.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *received) takeEvents(w http.ResponseWriter, body []byte) {
	var sent logs.LogsData
	switch err := proto.Unmarshal(body, &sent); {
	case r.noEvents:
		w.WriteHeader(http.StatusNotFound)
		return
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range sent.ResourceLogs {
		for _, in := range of.ScopeLogs {
			r.events = append(r.events, in.LogRecords...)
		}
	}
}

// span is the one of that name.
func (r *received) span(t *testing.T, name string) *traces.Span {
	t.Helper()
	i := slices.IndexFunc(r.spans, func(s *traces.Span) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range r.spans {
			names = append(names, s.Name)
		}
		t.Fatalf("unknown span %q among %q", name, names)
	}
	return r.spans[i]
}

// values are attributes as Go values, by their keys.
func values(attributes []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.Key] = v.IntValue
		case *common.AnyValue_DoubleValue:
			all[a.Key] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			all[a.Key] = v.BoolValue
		case *common.AnyValue_ArrayValue:
			var texts []string
			for _, item := range v.ArrayValue.Values {
				texts = append(texts, item.GetStringValue())
			}
			all[a.Key] = texts
		}
	}
	return all
}

var batch = []*traces.ResourceSpans{{ScopeSpans: []*traces.ScopeSpans{{Spans: []*traces.Span{{Name: "one"}, {Name: "two"}}}}}}

// upload sends the batch to a server, as the environment says.
func upload(t *testing.T, server *httptest.Server, env map[string]string) error {
	t.Helper()
	t.Setenv(endpointVariable, server.URL)
	for name, value := range env {
		t.Setenv(name, value)
	}
	c, err := newClient(spans, "1.2.3", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return c.UploadTraces(t.Context(), batch)
}

// A batch is a request of the collector's service, at the address and with the headers that the environment names, the
// variables for traces before those for all signals.
func TestBatchesAreRequestsOfTheService(t *testing.T) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	for name, c := range map[string]struct {
		env        map[string]string
		path, want string
	}{
		"plain":      {nil, "/v1/traces", ""},
		"gzip":       {map[string]string{prefix + "COMPRESSION": "gzip"}, "/v1/traces", "gzip"},
		"not packed": {map[string]string{prefix + "COMPRESSION": "gzip", prefix + "TRACES_COMPRESSION": "none"}, "/v1/traces", ""},
		"headers":    {map[string]string{prefix + "HEADERS": "X-A=1,X-B= a%2Cb ", prefix + "TIMEOUT": "3000"}, "/v1/traces", "1 a,b"},
		"traces":     {map[string]string{prefix + "HEADERS": "X-A=1", prefix + "TRACES_HEADERS": "X-B=2"}, "/v1/traces", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := io.Reader(r.Body)
				if r.Header.Get("Content-Encoding") == "gzip" {
					body, _ = gzip.NewReader(body)
				}
				text, _ := io.ReadAll(body)
				var sent collector.ExportTraceServiceRequest
				if err := proto.Unmarshal(text, &sent); err != nil || len(sent.ResourceSpans) != 1 || len(sent.ResourceSpans[0].ScopeSpans[0].Spans) != 2 {
					t.Errorf("got %v, %v", &sent, err)
				}
				h := r.Header
				told := strings.Join(strings.Fields(h.Get("Content-Encoding")+" "+h.Get("X-A")+" "+h.Get("X-B")), " ")
				if r.URL.Path != c.path || told != c.want || h.Get("Content-Type") != "application/x-protobuf" || h.Get("User-Agent") != "agentbench/1.2.3" {
					t.Errorf("%s %v", r.URL.Path, h)
				}
			}))
			defer server.Close()
			if err := upload(t, server, c.env); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	for _, c := range []struct{ all, traces, want string }{
		{"", "", "http://localhost:4318/v1/traces"},
		{"http://c:4318/", "", "http://c:4318/v1/traces"},
		{"https://c/otel", "", "https://c/otel/v1/traces"},
		{"https://c/otel", "http://d", "http://d/"},
		{"", "http://d/x", "http://d/x"},
		{"localhost:4318", "", "OTEL_EXPORTER_OTLP_ENDPOINT: want an address such as http://localhost:4318"},
		{"", "ftp://user:secret@d", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: want an address such as http://localhost:4318"},
	} {
		t.Setenv(endpointVariable, c.all)
		t.Setenv(tracesEndpointVariable, c.traces)
		got, err := spans.endpoint()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.all, c.traces, got, c.want)
		}
	}
}

// What cannot be read is an error, which repeats no header and no password.
func TestSettingsThatCannotBeUsed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ value, want string }{
		"TIMEOUT":     {"10s", "OTEL_EXPORTER_OTLP_TIMEOUT=10s: want milliseconds"},
		"HEADERS":     {"a=1,secret", "OTEL_EXPORTER_OTLP_HEADERS: part 2 is no pair name=value"},
		"COMPRESSION": {"zstd", "OTEL_EXPORTER_OTLP_COMPRESSION=zstd: want gzip or none"},
		"CERTIFICATE": {empty, "OTEL_EXPORTER_OTLP_CERTIFICATE: there is no certificate in " + empty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(variables+name, c.value)
			if _, err := newClient(spans, "1", time.Second); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A collector that is busy is asked again, not before it said; one that took only a part is believed.
func TestWhatCollectorsAnswer(t *testing.T) {
	partly, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		first  int
		answer []byte
		tries  int
		least  time.Duration
		want   string
	}{
		"takes all":   {200, nil, 1, 0, ""},
		"is busy":     {429, nil, 2, time.Second, ""},
		"is starting": {503, nil, 2, time.Second, ""},
		"refuses":     {400, []byte("no tenant"), 1, 0, "the collector answered 400 Bad Request: no tenant"},
		"takes one":   {200, partly, 1, 0, "the collector rejected 1 spans: too old"},
	} {
		synctest.Test(t, func(t *testing.T) {
			sender, err := newClient(spans, "1.2.3", 5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			tries := 0
			sender.http.Transport = answering(func(w http.ResponseWriter) {
				tries++
				w.Header().Set("Content-Type", "application/x-protobuf")
				w.Header().Set("Retry-After", "1")
				if tries == 1 {
					w.WriteHeader(c.first)
					_, _ = w.Write(c.answer)
				}
			})
			began := time.Now()
			got := ""
			if err := sender.UploadTraces(t.Context(), batch); err != nil {
				got = err.Error()
			}
			if took := time.Since(began); got != c.want || tries != c.tries || took < c.least || took > 2*c.least {
				t.Errorf("%s: %q after %d tries and %v; want %q after %d and %v", name, got, tries, took, c.want, c.tries, c.least)
			}
		})
	}
}

// answering is a collector that no connection leads to.
type answering func(http.ResponseWriter)

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a(w)
	return w.Result(), nil
}

func TestCollectorsWithTheirOwnCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := upload(t, server, nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without it: %v", err)
	}
	if err := upload(t, server, map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": file}); err != nil {
		t.Errorf("with it: %v", err)
	}
}
