package trace

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// received is what a collector was sent.
type received struct {
	mu       sync.Mutex
	spans    []*trace.Span
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

// span is the one of that name.
func (r *received) span(t *testing.T, name string) *trace.Span {
	t.Helper()
	i := slices.IndexFunc(r.spans, func(s *trace.Span) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range r.spans {
			names = append(names, s.Name)
		}
		t.Fatalf("there is no span %q among %q", name, names)
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
