package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

const (
	secret   = "sk-CANARY"
	patience = 500 * time.Millisecond
	endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
)

// received is what a collector was sent.
type received struct {
	mu       sync.Mutex
	spans    []*otlp.Span
	resource []*common.KeyValue
	header   http.Header
	path     string
}

// collect starts a collector, which the environment then names.
func collect(t *testing.T) *received {
	t.Helper()
	got := &received{}
	server := httptest.NewServer(got)
	t.Cleanup(server.Close)
	t.Setenv(endpoint, server.URL)
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
	r.header, r.path = request.Header, request.URL.Path
	for _, of := range sent.ResourceSpans {
		r.resource = of.Resource.Attributes
		for _, in := range of.ScopeSpans {
			r.spans = append(r.spans, in.Spans...)
		}
	}
}

// span is the one of that name.
func (r *received) span(t *testing.T, name string) *otlp.Span {
	t.Helper()
	i := slices.IndexFunc(r.spans, func(s *otlp.Span) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no span %q among %v", name, r.spans)
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

// traced does something with traces, all of which arrive.
func traced(t *testing.T, o Options, do func(context.Context)) {
	t.Helper()
	tracing := open(t, o)
	do(With(t.Context(), tracing))
	propertytest.Must(t, tracing.Close())
}

// open begins to trace models and one secret.
func open(t *testing.T, o Options) *Tracing {
	t.Helper()
	o.Version, o.Models, o.Patience = "1.2.3", models, patience
	o.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }
	tracing, err := Open(t.Context(), o)
	propertytest.Must(t, err)
	return tracing
}

func number(n float64) *float64 { return &n }

// walk makes a run with one iteration, in which a model calls a tool, and two scores.
func walk(outer context.Context) {
	head := record.Run{ID: "a/b/1", Configuration: "a", Task: "b", Trial: 1}
	ctx, endRun := StartRun(outer, &head)
	it := record.Iteration{N: 1, Phase: "planning"}
	inner, endIteration := StartIteration(ctx, &it)
	request := &model.Request{
		Messages: []model.Message{
			{Role: "system", Text: "be kind"}, {Role: "user", Text: "weather?"},
			{Role: "assistant", ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{oh"}}}, {Role: "tool", ToolCallID: "1", Text: ""},
		},
		Tools: []model.Tool{{Name: "f"}}, Temperature: number(0.5), MaxOutputTokens: 9, JSON: true,
	}
	_, endChat := startChat(inner, &model.Asked{Name: "m", Role: record.RoleAgent, Request: request}, &record.Call{})
	used := record.Usage{Calls: 1, InputTokens: 12, OutputTokens: 3, CachedTokens: 4, CacheWriteTokens: 2, CacheWrite1hTokens: 1, Cost: record.USD / 4}
	endChat(
		&model.Reply{Text: "the key is " + secret, Thinking: "hm", Finish: "tool_calls", ToolCalls: []model.ToolCall{{ID: "2", Name: "f", Arguments: `{"a":1}`}}},
		&record.Call{Finish: "tool_calls", Answered: "m-2026", Usage: used, Duration: 2 * time.Second, Attempts: 2}, nil)
	_, endTool := StartTool(inner, &record.ToolCall{Tool: "f", ID: "2", Server: "s", Arguments: json.RawMessage(`{"a":1}`)}, "does f")
	endTool(Used{Content: json.RawMessage(`"no \ud800"`), Attempts: 1}, &record.Error{Class: record.Tool, Message: "broken: " + secret + "\xff"})
	it.Evaluation, it.End = &record.Evaluation{Confidence: 0.75}, time.Second
	endIteration()
	head.Iterations, head.Elapsed, head.Usage = []record.Iteration{it}, 2*time.Second, used
	head.Outcome = record.Outcome{Status: record.Completed, Reason: record.ReasonConfidence, Success: true}
	endRun()
	_, endScore := StartScore(outer, "quality", &head, 1)
	endScore(&record.Score{Value: 0.5, Answer: "fair", Explanation: "so so", Usage: used, Votes: make([]record.Vote, 3)})
	_, endScore = StartScore(outer, "tone", &head, 0)
	endScore(&record.Score{Unscored: "auth: no key"})
}

var models = map[string]Model{"m": {Provider: "openai", Name: "gpt-x", Address: "example.com", Port: 443, Stream: true}}

// What arrives at a collector: the spans within one another, with the names and
// attributes of the conventions, and no text of what was sent or answered.
func TestSpansArrive(t *testing.T) {
	got := collect(t)
	traced(t, Options{}, walk)
	for name, want := range map[string]struct {
		kind       otlp.Span_SpanKind
		within     string
		attributes map[string]any
	}{
		"invoke_agent a": {otlp.Span_SPAN_KIND_INTERNAL, "", map[string]any{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "agentbench", "gen_ai.agent.name": "a", "gen_ai.conversation.id": "a/b/1",
			"agentbench.run": "a/b/1", "agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1),
			"agentbench.status": "completed", "agentbench.reason": "confidence", "agentbench.success": true, "agentbench.iterations": int64(1),
			"agentbench.elapsed_s": 2.0, "agentbench.simulated": false, "agentbench.cost_usd": 0.25,
			"gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(3),
			"gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.usage.cache_creation.input_tokens": int64(3),
		}},
		"iteration planning": {otlp.Span_SPAN_KIND_INTERNAL, "invoke_agent a", map[string]any{
			"agentbench.iteration": int64(1), "agentbench.phase": "planning", "agentbench.confidence": 0.75, "agentbench.passed": false,
			"agentbench.elapsed_s": 1.0,
		}},
		"chat gpt-x": {otlp.Span_SPAN_KIND_CLIENT, "iteration planning", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-x", "gen_ai.response.model": "m-2026",
			"server.address": "example.com", "server.port": int64(443), "agentbench.model": "m", "agentbench.role": "agent",
			"gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": int64(9), "gen_ai.request.stream": true,
			"gen_ai.conversation.id": "a/b/1", "gen_ai.output.type": "json",
			"gen_ai.response.finish_reasons": []string{"tool_calls"}, "gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(3),
			"gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.usage.cache_creation.input_tokens": int64(3),
			"agentbench.cost_usd": 0.25, "agentbench.elapsed_s": 2.0, "agentbench.cached": false, "agentbench.attempts": int64(2),
		}},
		"execute_tool f": {otlp.Span_SPAN_KIND_INTERNAL, "iteration planning", map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.type": "extension", "gen_ai.tool.call.id": "2",
			"gen_ai.tool.description": "does f", "agentbench.server": "s", "agentbench.elapsed_s": 0.0, "agentbench.cached": false,
			"agentbench.attempts": int64(1),
			"error.type":          "tool",
		}},
		"evaluate quality": {otlp.Span_SPAN_KIND_INTERNAL, "", map[string]any{
			"gen_ai.evaluation.name": "quality", "gen_ai.evaluation.score.value": 0.5, "agentbench.votes": int64(3), "agentbench.iteration": int64(1),
			"agentbench.run": "a/b/1", "agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1), "agentbench.cost_usd": 0.25,
			"gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(3),
			"gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.usage.cache_creation.input_tokens": int64(3),
		}},
		"evaluate tone": {otlp.Span_SPAN_KIND_INTERNAL, "", map[string]any{
			"gen_ai.evaluation.name": "tone", "agentbench.run": "a/b/1", "agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1),
			"agentbench.cost_usd": 0.0, "gen_ai.usage.input_tokens": int64(0), "gen_ai.usage.output_tokens": int64(0), "error.type": "unscored",
		}},
	} {
		span := got.span(t, name)
		if span.Kind != want.kind || !reflect.DeepEqual(values(span.Attributes), want.attributes) {
			t.Errorf("%s: a %v with %v\nwant %v", name, span.Kind, values(span.Attributes), want.attributes)
		}
		if want.within == "" && len(span.ParentSpanId) != 0 || want.within != "" && string(span.ParentSpanId) != string(got.span(t, want.within).SpanId) {
			t.Errorf("%s is not within %q", name, want.within)
		}
	}
	if failed := got.span(t, "execute_tool f").Status; failed.Code != otlp.Status_STATUS_CODE_ERROR || failed.Message != "broken: [redacted]\uFFFD" {
		t.Errorf("the tool's status is %v", failed)
	}
	if len(got.spans) != 6 {
		t.Errorf("%d spans", len(got.spans))
	}
}

// Contents are sent where they are asked for, without secrets.
func TestContents(t *testing.T) {
	got := collect(t)
	traced(t, Options{Contents: true}, walk)
	chat, use := values(got.span(t, "chat gpt-x").Attributes), values(got.span(t, "execute_tool f").Attributes)
	for key, want := range map[string]string{
		"gen_ai.system_instructions": `[{"type":"text","content":"be kind"}]`,
		"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"weather?"}]},` +
			`{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"f","arguments":"{oh"}]},` +
			`{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":""}]}]`,
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"the key is [redacted]"},` +
			`{"type":"tool_call","id":"2","name":"f","arguments":{"a":1}}],"finish_reason":"tool_calls"}]`,
		"gen_ai.tool.definitions": `[{"type":"function","name":"f"}]`,
	} {
		if chat[key] != want {
			t.Errorf("%s is\n%v, want\n%v", key, chat[key], want)
		}
	}
	if use["gen_ai.tool.call.arguments"] != `{"a":1}` || use["gen_ai.tool.call.result"] != `"no \ud800"` {
		t.Errorf("the use of the tool: %v", use)
	}
}

// The environment names the program and its collector, adds headers, and leaves spans out.
func TestTheEnvironmentIsHeard(t *testing.T) {
	got := collect(t)
	traced(t, Options{}, walk)
	if resource := values(got.resource); resource["service.name"] != "agentbench" || resource["service.version"] != "1.2.3" || got.path != "/v1/traces" {
		t.Errorf("sent to %s by %v", got.path, resource)
	}
	got = collect(t)
	t.Setenv("OTEL_SERVICE_NAME", "nightly")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=evals,service.version=7")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=t%2C1")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", os.Getenv(endpoint)+"/own")
	traced(t, Options{}, walk)
	resource := values(got.resource)
	if resource["service.name"] != "nightly" || resource["service.version"] != "7" || resource["team"] != "evals" || resource["telemetry.sdk.language"] != "go" {
		t.Errorf("the resource is %v", resource)
	}
	if got.path != "/own" || got.header.Get("X-Tenant") != "t,1" {
		t.Errorf("sent to %q with %v", got.path, got.header)
	}
	arrived := len(got.spans)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	traced(t, Options{}, walk)
	if len(got.spans) != arrived || arrived != 6 {
		t.Errorf("%d spans, then %d", arrived, len(got.spans))
	}
}

// A collector that is absent, refuses or does not answer costs spans, but no time of the runs and little at their end.
func TestCollectorsThatFail(t *testing.T) {
	hangs := make(chan struct{})
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		why    string
	}{
		"absent":  {nil, "connection refused"},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no tenant", http.StatusForbidden) }, "no tenant"},
		"is down": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, ""},
		"hangs":   {func(http.ResponseWriter, *http.Request) { <-hangs }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			if name == "hangs" {
				t.Cleanup(func() { close(hangs) })
			}
			if c.answer == nil {
				server.Close()
			}
			t.Setenv(endpoint, server.URL)
			tracing := open(t, Options{})
			began := time.Now()
			for range 1000 {
				walk(With(t.Context(), tracing))
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("1,000 runs took %v", took)
			}
			closing := time.Now()
			err := tracing.Close()
			if took := time.Since(closing); took > patience+2*time.Second {
				t.Errorf("closing took %v", took)
			}
			if err == nil || !strings.HasPrefix(err.Error(), "6000 of 6000 spans did not reach the collector") || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A collector that is busy is asked again, and a variable that cannot be read is a warning.
func TestCollectorsThatAreBusy(t *testing.T) {
	got, asked := &received{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got.ServeHTTP(w, r)
	}))
	defer server.Close()
	t.Setenv(endpoint, server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
	tracing := open(t, Options{})
	walk(With(t.Context(), tracing))
	if err := tracing.Close(); len(got.spans) != 6 || err == nil || !strings.Contains(err.Error(), "soon") {
		t.Errorf("%d spans, %v", len(got.spans), err)
	}
}

func TestWhetherTracesAreWanted(t *testing.T) {
	for _, c := range []struct {
		env    string // of OpenTelemetry's variables, OTEL_ left out
		wanted bool
		fault  string
	}{
		{"", false, ""},
		{"EXPORTER_OTLP_ENDPOINT=http://a", true, ""},
		{"EXPORTER_OTLP_TRACES_ENDPOINT=http://a", true, ""},
		{"TRACES_EXPORTER=otlp", true, ""},
		{"TRACES_EXPORTER=none EXPORTER_OTLP_ENDPOINT=http://a", false, ""},
		{"SDK_DISABLED=True TRACES_EXPORTER=otlp", false, ""},
		{"SDK_DISABLED=false TRACES_EXPORTER=otlp", true, ""},
		{"EXPORTER_OTLP_HEADERS=a=b", false, ""},
		{"TRACES_EXPORTER=console", false, "OTEL_TRACES_EXPORTER=console: the only exporter is otlp"},
		{"TRACES_EXPORTER=otlp EXPORTER_OTLP_PROTOCOL=http/json", true, ""},
		{"TRACES_EXPORTER=otlp EXPORTER_OTLP_PROTOCOL=grpc", false, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: want http/protobuf or http/json, usually at port 4318"},
		{"TRACES_EXPORTER=otlp EXPORTER_OTLP_PROTOCOL=grpc EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf", true, ""},
		{"EXPORTER_OTLP_PROTOCOL=grpc", false, ""},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env["OTEL_"+name] = value
		}
		wanted, err := Wanted(func(name string) string { return env[name] })
		if wanted != c.wanted || (err != nil || c.fault != "") && fmt.Sprint(err) != c.fault {
			t.Errorf("%s: %v, %v", c.env, wanted, err)
		}
	}
}

// Without a Tracing nothing is made.
func TestNothingIsAllocatedWithoutATrace(t *testing.T) {
	run, it, place := &record.Run{Configuration: "a"}, &record.Iteration{Phase: "p"}, &record.Call{}
	used, asked, score := &record.ToolCall{Tool: "f"}, &model.Asked{Name: "m", Request: &model.Request{}}, &record.Score{}
	allocated := testing.AllocsPerRun(100, func() {
		ctx, endRun := StartRun(t.Context(), run)
		ctx, endIteration := StartIteration(ctx, it)
		ctx, endChat := startChat(ctx, asked, place)
		ctx, endScore := StartScore(ctx, "s", run, 1)
		_, endTool := StartTool(ctx, used, "d")
		endTool(Used{}, nil)
		endScore(score)
		endChat(nil, nil, nil)
		endIteration()
		endRun()
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// How a call failed is its class; that a model had nothing more to give is no failure.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		want *record.Error
	}{
		{nil, nil},
		{model.ErrEnded, nil},
		{fmt.Errorf("no room: %w", model.ErrRefused), &record.Error{Class: "refused", Message: "no room: the call was not made"}},
		{model.Fail(record.RateLimit, "slow down", 0), &record.Error{Class: "rate_limit", Message: "slow down"}},
		{context.Canceled, &record.Error{Class: "cancelled", Message: "context canceled"}},
		{errors.New("odd"), &record.Error{Class: "_OTHER", Message: "odd"}},
	} {
		if got := failureOf(c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
}

// Only an error makes a run one that failed.
func TestFailuresOfRuns(t *testing.T) {
	got := collect(t)
	traced(t, Options{}, func(ctx context.Context) {
		for name, o := range map[string]record.Outcome{
			"wrong":  {Status: record.Completed},
			"broken": {Status: record.Faulted, Error: &record.Error{Class: record.Server, Message: "down"}},
		} {
			_, end := StartRun(ctx, &record.Run{Configuration: name, Outcome: o})
			end()
		}
	})
	wrong, broken := got.span(t, "invoke_agent wrong"), got.span(t, "invoke_agent broken")
	if wrong.Status.Code != otlp.Status_STATUS_CODE_UNSET || broken.Status.Message != "down" || values(broken.Attributes)["error.type"] != "server" {
		t.Errorf("%v, %v", wrong, broken)
	}
}

// The manual names every attribute that is sent, and the source every one that
// the manual names.
func TestAttributesAreDocumented(t *testing.T) {
	manual, err := os.ReadFile("../../docs/results.md")
	propertytest.Must(t, err)
	var source []byte
	for _, file := range []string{"trace.go", "spans.go", "messages.go"} {
		text, err := os.ReadFile(file)
		propertytest.Must(t, err)
		source = append(source, text...)
	}
	var named []string
	for _, found := range regexp.MustCompile("`((gen_ai|agentbench|server|error)\\.[a-z_.]+)`").FindAllSubmatch(manual, -1) {
		name := string(found[1])
		named = append(named, name)
		if !strings.Contains(string(source), `"`+name+`"`) {
			t.Errorf("%s is documented and never sent", name)
		}
	}
	got := collect(t)
	traced(t, Options{Contents: true}, walk)
	for _, span := range got.spans {
		for key := range values(span.Attributes) {
			if !slices.Contains(named, key) {
				t.Errorf("%s is sent and not documented", key)
			}
		}
	}
}

// Scores are events of a span below that of their run, if the run was made in this session; there is no limit to their number.
func TestScoresAreEvents(t *testing.T) {
	got := collect(t)
	traced(t, Options{Contents: true}, func(ctx context.Context) {
		run := record.Run{ID: "a/b/1", Configuration: "a", Task: "b", Trial: 1}
		_, end := StartRun(ctx, &run)
		end()
		scores := []record.Score{
			{Name: "right", Value: 1, Answer: "42", Explanation: "it is " + secret},
			{Name: "kind", Iteration: 2, Unscored: "the judge gave no verdict"},
		}
		Scored(ctx, &run, append(scores, make([]record.Score, 198)...))
		Scored(ctx, &record.Run{ID: "earlier"}, []record.Score{{Name: "right", Value: 0.5}})
	})
	run := got.span(t, "invoke_agent a")
	for _, span := range got.spans {
		scored := values(span.Attributes)
		switch {
		case span.Name != "scores":
		case scored["agentbench.run"] == "earlier":
			if len(span.ParentSpanId) != 0 || len(span.Events) != 1 {
				t.Errorf("scores of an earlier session: %v", span)
			}
		case string(span.ParentSpanId) != string(run.SpanId) || len(span.Events) != 200:
			t.Errorf("%d scores below %x, want 200 below %x", len(span.Events), span.ParentSpanId, run.SpanId)
		default:
			for i, want := range []map[string]any{
				{"gen_ai.evaluation.name": "right", "gen_ai.evaluation.score.value": 1.0, "gen_ai.evaluation.score.label": "42",
					"gen_ai.evaluation.explanation": "it is [redacted]"},
				{"gen_ai.evaluation.name": "kind", "agentbench.iteration": int64(2), "error.type": "unscored"},
			} {
				if event := span.Events[i]; event.Name != "gen_ai.evaluation.result" || !reflect.DeepEqual(values(event.Attributes), want) {
					t.Errorf("%s: %v, want %v", event.Name, values(event.Attributes), want)
				}
			}
			want := map[string]any{"gen_ai.conversation.id": "a/b/1", "agentbench.run": "a/b/1", "agentbench.configuration": "a",
				"agentbench.task": "b", "agentbench.trial": int64(1)}
			if !reflect.DeepEqual(scored, want) {
				t.Errorf("the span has %v, want %v", scored, want)
			}
		}
	}
	if len(got.spans) != 3 {
		t.Errorf("%d spans", len(got.spans))
	}
}

// A span of another process is the parent of what happens within it, and that of a run which was made there is known.
func TestSpansTravel(t *testing.T) {
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := With(t.Context(), &Tracing{})
	if got := Parent(Within(ctx, span)); got != span {
		t.Errorf("the parent is %q", got)
	}
	Elsewhere(ctx, "c/t/1", span)
	if got := SpanOf(ctx, "c/t/1"); got != span {
		t.Errorf("the run has the span %q", got)
	}
	for _, none := range []string{"", "00-0-0-00", "00-00000000000000000000000000000000-b7ad6b7169203331-01"} {
		Elsewhere(ctx, "other", none)
		if parent, known := Parent(Within(ctx, none)), SpanOf(ctx, "other"); parent != "" || known != "" {
			t.Errorf("%q leads to %q and %q", none, parent, known)
		}
	}
	Elsewhere(t.Context(), "c/t/1", span) // not traced
	if got := SpanOf(t.Context(), "c/t/1"); got != "" {
		t.Errorf("without a trace the run has the span %q", got)
	}
}
