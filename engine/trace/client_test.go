package trace

import (
	"compress/gzip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

var batch = []*traces.ResourceSpans{{ScopeSpans: []*traces.ScopeSpans{{Spans: []*traces.Span{{Name: "one"}, {Name: "two"}}}}}}

// upload sends the batch to a server, as the environment says.
func upload(t *testing.T, server *httptest.Server, env map[string]string) error {
	t.Helper()
	t.Setenv(endpointVariable, server.URL)
	for name, value := range env {
		t.Setenv(name, value)
	}
	c, err := newClient("1.2.3", 5*time.Second)
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
		got, err := endpoint()
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
			if _, err := newClient("1", time.Second); err == nil || err.Error() != c.want {
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
		t.Run(name, func(t *testing.T) {
			tries := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				tries++
				w.Header().Set("Content-Type", "application/x-protobuf")
				w.Header().Set("Retry-After", "1")
				if tries == 1 {
					w.WriteHeader(c.first)
					_, _ = w.Write(c.answer)
				}
			}))
			defer server.Close()
			began := time.Now()
			got := ""
			if err := upload(t, server, nil); err != nil {
				got = err.Error()
			}
			if took := time.Since(began); got != c.want || tries != c.tries || took < c.least {
				t.Errorf("%q after %d tries and %v; want %q after %d and %v", got, tries, took, c.want, c.tries, c.least)
			}
		})
	}
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
