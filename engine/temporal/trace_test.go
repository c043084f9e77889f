package temporal

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected are the spans that a collector was sent, by whatever process.
type collected struct {
	mu    sync.Mutex
	spans []*trace.Span
}

// collect starts a collector, which all processes of a site then know.
func (s *site) collect() *collected {
	c := &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		var traces trace.TracesData
		if err := proto.Unmarshal(body, &traces); err != nil {
			s.Error(err)
		}
		for _, of := range traces.ResourceSpans {
			c.spans = append(c.spans, of.ScopeSpans[0].Spans...)
		}
	}))
	s.Cleanup(server.Close)
	s.env = append(s.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	return c
}

// The spans of a suite, of its runs on workers and of their scores here are one trace.
func TestTheTraceOfASuiteIsOne(t *testing.T) {
	s := newSite(t, false, map[string]string{
		"suite.yaml": `suite: traced
tasks: [{id: one, input: a}, {id: two, input: b}]
models:
  m: {provider: script, price: free, responses: [x], after_last: repeat}
  canned: {provider: script, price: free, responses: ['{"score": 1}'], after_last: repeat}
configurations: [{name: quick, loop: a.loop.yaml}]
scorers: [{name: good, type: judge, model: canned, rubric: is it good}]
`,
		"a.loop.yaml": "loop: a\nagent: {model: m}\nprompt: '{{ task.input }}'\nterminate: {max_iterations: 2}\n",
	})
	c := s.collect()
	s.startWorker(0)
	s.startWorker(1)
	s.must(s.elsewhere("there"))
	for _, w := range s.workers {
		if err := w.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = w.Wait() // it sends its last spans
	}
	names, got := map[string]string{}, map[string]int{}
	for _, span := range c.spans {
		names[string(span.SpanId)] = span.Name
	}
	for _, span := range c.spans {
		got[names[string(span.ParentSpanId)]+" > "+span.Name]++
		if string(span.TraceId) != string(c.spans[0].TraceId) {
			t.Errorf("%s is in a trace of its own", span.Name)
		}
	}
	want := map[string]int{
		" > suite traced": 1, "suite traced > invoke_agent quick": 2, "invoke_agent quick > iteration": 4, "iteration > chat m": 4,
		"suite traced > evaluate good": 2, "evaluate good > chat canned": 2, "invoke_agent quick > scores": 2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the spans are\n%v, want\n%v", got, want)
	}
}
