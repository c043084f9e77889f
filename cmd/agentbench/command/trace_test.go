package command

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentbench/agentbench/engine/model/mockserver"
)

// tracedSuite has a model behind a server, and two tasks.
const tracedSuite = `suite: traced
tasks: [{id: one, input: "say ` + canaryKey + `"}, {id: two, input: b}]
models:
  m: {provider: openai, base_url: "MOCK", name: gpt-mock, api_key_env: TRACED_KEY, price: free}
  canned: {provider: script, responses: ['{"score": 1}']}
configurations: [{name: quick, loop: l.loop.yaml}]
scorers: [{name: good, type: judge, model: canned, rubric: is it good}]
`

const tracedLoop = `loop: l
agent: {model: m}
prompt: "{{ task.input }}"
terminate: {max_iterations: 2}
`

// traced runs the suite, and gives what was told and the code.
func traced(t *testing.T) (stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	mock := httptest.NewServer(mockserver.New(mockserver.Options{}))
	t.Cleanup(mock.Close)
	path := filepath.Join(dir, "suite.yaml")
	for name, text := range map[string]string{"suite.yaml": strings.ReplaceAll(tracedSuite, "MOCK", mock.URL+"/v1"), "l.loop.yaml": tracedLoop} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TRACED_KEY", canaryKey)
	var told bytes.Buffer
	code = run(t.Context(), []string{"run", path, "--quiet", "--out", filepath.Join(dir, "r"), "--cache", "off"}, os.Getenv, nil, io.Discard, &told)
	return told.String(), code
}

// spans are those that a collector was sent.
type spans struct {
	mu    sync.Mutex
	names map[string]string // by the id
	all   []*trace.Span
	leaks string
}

// collectSpans starts a collector of whole traces, which the environment then names.
func collectSpans(t *testing.T) *spans {
	t.Helper()
	s := &spans{names: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		s.leaks += leaks(body)
		var sent collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &sent); err != nil {
			t.Error(err)
			return
		}
		for _, span := range sent.ResourceSpans[0].ScopeSpans[0].Spans {
			s.names[string(span.SpanId)] = span.Name
			s.all = append(s.all, span)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	return s
}

// hold holds the spans to how many there are to be of each name in each other.
func (s *spans) hold(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, span := range s.all {
		name := span.Name
		if parent := s.names[string(span.ParentSpanId)]; parent != "" {
			name = parent + " > " + name
		}
		got[name]++
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the spans are\n%v, want\n%v", got, want)
	}
	if s.leaks != "" {
		t.Errorf("a secret was sent: %s", s.leaks)
	}
}

// A run is traced whole where the environment asks for it, and no secret leaves.
func TestRunsAreTraced(t *testing.T) {
	s := collectSpans(t)
	if told, code := traced(t); code != 0 || told != "" {
		t.Fatalf("code %d: %s", code, told)
	}
	s.hold(t, map[string]int{"invoke_agent quick": 2, "invoke_agent quick > iteration": 4, "iteration > chat gpt-mock": 4, "evaluate good": 2, "evaluate good > chat canned": 2,
		"invoke_agent quick > scores": 2})
	for _, span := range s.all {
		if scores := span.Name == "scores"; scores != (len(span.Events) == 1 && span.Events[0].Name == "gen_ai.evaluation.result") {
			t.Errorf("%s has the events %v", span.Name, span.Events)
		}
	}
}

// Where traces cannot be sent, it is said, and the run is what it was.
// The calls that a program makes are spans below the iteration that they are made in, each with its step.
func TestCallsOfProgramsAreTraced(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	s := collectSpans(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml": `suite: s
tasks: [{id: a, input: x}]
models: {m: {provider: script, price: free, responses: [one], after_last: repeat}}
configurations: [{name: c, loop: l.loop.yaml}]
`,
		"l.loop.yaml": `loop: l
agent:
  models: {default: m}
  command:
    - sh
    - -c
    - |
      for word in one two; do curl -s -f -H "Authorization: Bearer $OPENAI_API_KEY" -d '{"model":"m","messages":[{"role":"user","content":"'$word'"}]}' "$OPENAI_BASE_URL/chat/completions"; done
    - "{{ prompt }}"
prompt: "{{ task.input }}"
terminate: {max_iterations: 2}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told bytes.Buffer
	if code := run(t.Context(), []string{"run", filepath.Join(dir, "suite.yaml"), "--quiet", "--out", filepath.Join(dir, "r"), "--cache", "off"}, os.Getenv, nil, io.Discard, &told); code != 0 {
		t.Fatalf("code %d: %s", code, told.String())
	}
	s.hold(t, map[string]int{"invoke_agent c": 1, "invoke_agent c > iteration": 2, "iteration > chat m": 4})
	iterations, steps := map[string]int{}, map[int64]bool{}
	for _, span := range s.all {
		if span.Name != "chat m" {
			continue
		}
		iterations[string(span.ParentSpanId)]++
		for _, a := range span.Attributes {
			if a.Key == "agentbench.step" {
				steps[a.Value.GetIntValue()] = true
			}
		}
	}
	for of, calls := range iterations {
		if calls != 2 {
			t.Errorf("%d calls in the iteration %x, want 2", calls, of)
		}
	}
	if len(iterations) != 2 || len(steps) != 4 || !steps[4] {
		t.Errorf("calls of %d iterations, with the steps %v", len(iterations), steps)
	}
}

func TestTracesThatCannotBeSent(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"absent":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "16 of 16 spans did not reach the collector"},
		"protocol": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "agentbench: warning: traces: nothing is traced: OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"none":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range c.env {
				t.Setenv(variable, value)
			}
			told, code := traced(t)
			if code != 0 || !strings.Contains(told, c.want) || c.want == "" && told != "" {
				t.Errorf("code %d: %s", code, told)
			}
		})
	}
}

// The loops of delegates are in the folder of results, those of delegates
// included, wherever their files lay: two files of one name are two loops.
func TestResultsHaveTheLoopsOfDelegates(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.yaml": `suite: s
tasks: [{id: a, input: x}]
models: {m: {provider: script, price: free, after_last: error, responses: [{tool_calls: [{name: one, arguments: {task: y}}]}, {tool_calls: [{name: one, arguments: {task: z}}]}, deep, middle, top]}}
configurations: [{name: c, loop: top.yaml}]
`,
		"top.yaml":   "loop: top\nagent: {model: m, delegates: [{name: one, loop: a/l.yaml}, {name: spare, loop: l.yaml}]}\nprompt: 'p'\nterminate: {max_iterations: 1}\n",
		"l.yaml":     "loop: spare\nagent: {model: m}\nprompt: never\n",
		"a/l.yaml":   "loop: middle\nagent: {model: m, delegates: [{name: one, loop: b/l.yaml}]}\nprompt: 'middle {{ task.input }}'\nterminate: {max_iterations: 1}\n",
		"a/b/l.yaml": "loop: deep\nagent: {model: m}\nprompt: 'deep {{ task.input }}'\nterminate: {max_iterations: 1}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := filepath.Join(dir, "results")
	do := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), &out, &out); code != 0 {
			t.Fatalf("%v: %d\n%s", args, code, out.String())
		}
		return out.String()
	}
	do("run", filepath.Join(dir, "s.yaml"), "--out", results, "--quiet")
	for _, file := range []string{"s.yaml", "top.yaml", "l.yaml", "a"} {
		if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if told := do("replay", results, "--set", "agent.max_steps=9"); !strings.Contains(told, "1 configuration is exact") {
		t.Errorf("replay says\n%s", told)
	}
	if told := do("show", results, "c/a/1"); !strings.Contains(told, "top") || !strings.Contains(told, "middle") {
		t.Errorf("show says\n%s", told)
	}
}
