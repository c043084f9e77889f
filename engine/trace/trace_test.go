package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

const (
	secret   = "sk-CANARY"
	patience = 500 * time.Millisecond
)

// open gives an exporter that knows one secret, and the warnings that it gives.
func open(t *testing.T) (*Exporter, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var warned []string
	// OpenTelemetry has one handler of errors for the process: what an exporter of an
	// earlier test fails to send, after its server is gone, is not a warning of this one.
	own := os.Getenv(endpointVariable)
	e, err := Open(t.Context(), Options{
		Version: "1.2.3", Patience: patience,
		Redact: func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") },
		Warn: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if text := err.Error(); own == "" || !strings.Contains(text, "http://127.0.0.1:") || strings.Contains(text, own) {
				warned = append(warned, text)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return warned
	}
}

func finish(t *testing.T, e *Exporter, warned func() []string) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if w := warned(); w != nil {
		t.Errorf("warnings %q", w)
	}
}

func number(n float64) *float64 { return &n }

// walk tells of a run with one iteration, in which a model calls a tool, and of
// scores of it.
func walk(outer context.Context) {
	head := record.Run{ID: "a/b/1", Configuration: "a", Task: "b", Trial: 1}
	ctx, run := StartRun(outer, &head)
	it := record.Iteration{N: 1, Phase: "planning"}
	within, iteration := StartIteration(ctx, &it)
	request := &model.Request{
		Messages: []model.Message{
			{Role: "system", Text: "be kind"}, {Role: "user", Text: "weather?"},
			{Role: "assistant", ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{oh"}}}, {Role: "tool", ToolCallID: "1", Text: ""},
		},
		Tools: []model.Tool{{Name: "f"}}, Temperature: number(0.5), MaxOutputTokens: 9, JSON: true,
	}
	_, chat := StartChat(within, "m", record.RoleAgent, request)
	used := record.Usage{Calls: 1, InputTokens: 12, OutputTokens: 3, CachedTokens: 4, CacheWriteTokens: 2, CacheWrite1hTokens: 1, Cost: record.USD / 4}
	chat.End(
		&model.Reply{Text: "the key is " + secret, Thinking: "hm", Finish: "tool_calls", ToolCalls: []model.ToolCall{{ID: "2", Name: "f", Arguments: `{"a":1}`}}},
		&record.Call{Finish: "tool_calls", Answered: "m-2026", Usage: used, Duration: 2 * time.Second, Attempts: 2}, nil)
	_, use := StartTool(within, &record.ToolCall{Tool: "f", ID: "2", Server: "s", Arguments: json.RawMessage(`{"a":1}`)}, "does f")
	use.End(Used{Content: json.RawMessage(`"no \ud800"`), Attempts: 1}, &record.Error{Class: record.Tool, Message: "broken: " + secret + "\xff"})
	it.Evaluation, it.End = &record.Evaluation{Confidence: 0.75}, time.Second
	iteration.End(&it)
	head.Iterations, head.Elapsed, head.Usage = []record.Iteration{it}, 2*time.Second, used
	head.Outcome = record.Outcome{Status: record.Completed, Reason: record.ReasonConfidence, Success: true}
	run.End(&head)
	_, score := StartScore(outer, "quality", &head, 1)
	score.End(&record.Score{Value: 0.5, Answer: "fair", Explanation: "so so", Usage: used, Votes: make([]record.Vote, 3)})
	_, score = StartScore(outer, "tone", &head, 0)
	score.End(&record.Score{Unscored: "auth: no key"})
}

var models = map[string]Model{"m": {Provider: "openai", Name: "gpt-x", Address: "example.com", Port: 443, Stream: true}}

// What arrives at a collector: the spans within one another, with the names and
// attributes of the conventions, and no text of what was sent or answered.
func TestSpansArrive(t *testing.T) {
	got := collect(t)
	e, warned := open(t)
	walk(With(t.Context(), &Tracing{Tracer: e, Models: models}))
	finish(t, e, warned)
	for name, want := range map[string]struct {
		kind       trace.Span_SpanKind
		within     string
		attributes map[string]any
	}{
		"invoke_agent a": {trace.Span_SPAN_KIND_INTERNAL, "", map[string]any{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "agentbench", "gen_ai.agent.name": "a", "gen_ai.conversation.id": "a/b/1",
			"agentbench.run": "a/b/1", "agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1),
			"agentbench.status": "completed", "agentbench.reason": "confidence", "agentbench.success": true, "agentbench.iterations": int64(1),
			"agentbench.elapsed_s": 2.0, "agentbench.simulated": false, "agentbench.cost_usd": 0.25,
			"gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(3), "gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.usage.cache_creation.input_tokens": int64(3),
		}},
		"iteration planning": {trace.Span_SPAN_KIND_INTERNAL, "invoke_agent a", map[string]any{
			"agentbench.iteration": int64(1), "agentbench.phase": "planning", "agentbench.confidence": 0.75, "agentbench.passed": false, "agentbench.elapsed_s": 1.0,
		}},
		"chat gpt-x": {trace.Span_SPAN_KIND_CLIENT, "iteration planning", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-x", "gen_ai.response.model": "m-2026",
			"server.address": "example.com", "server.port": int64(443), "agentbench.model": "m", "agentbench.role": "agent",
			"gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": int64(9), "gen_ai.request.stream": true, "gen_ai.conversation.id": "a/b/1", "gen_ai.output.type": "json",
			"gen_ai.response.finish_reasons": []string{"tool_calls"}, "gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(3),
			"gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.usage.cache_creation.input_tokens": int64(3), "agentbench.cost_usd": 0.25, "agentbench.elapsed_s": 2.0, "agentbench.cached": false, "agentbench.attempts": int64(2),
		}},
		"execute_tool f": {trace.Span_SPAN_KIND_INTERNAL, "iteration planning", map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.type": "extension", "gen_ai.tool.call.id": "2",
			"gen_ai.tool.description": "does f", "agentbench.server": "s", "agentbench.elapsed_s": 0.0, "agentbench.cached": false, "agentbench.attempts": int64(1),
			"error.type": "tool",
		}},
		"evaluate quality": {trace.Span_SPAN_KIND_INTERNAL, "", map[string]any{
			"gen_ai.evaluation.name": "quality", "gen_ai.evaluation.score.value": 0.5, "agentbench.votes": int64(3), "agentbench.iteration": int64(1),
			"agentbench.run": "a/b/1", "agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1), "agentbench.cost_usd": 0.25,
			"gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(3), "gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.usage.cache_creation.input_tokens": int64(3),
		}},
		"evaluate tone": {trace.Span_SPAN_KIND_INTERNAL, "", map[string]any{
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
	if failed := got.span(t, "execute_tool f").Status; failed.Code != trace.Status_STATUS_CODE_ERROR || failed.Message != "broken: [redacted]\uFFFD" {
		t.Errorf("the tool's status is %v", failed)
	}
	if len(got.spans) != 6 {
		t.Errorf("%d spans", len(got.spans))
	}
}

// Contents are told where they are asked for, without secrets.
func TestContents(t *testing.T) {
	got := collect(t)
	e, warned := open(t)
	walk(With(t.Context(), &Tracing{Tracer: e, Models: models, Contents: true}))
	finish(t, e, warned)
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

// The environment names the program, adds headers, and leaves spans out, as the
// SDK promises.
func TestTheEnvironmentIsHeard(t *testing.T) {
	got := collect(t)
	t.Setenv("OTEL_SERVICE_NAME", "nightly")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=evals,service.version=7")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=t1")
	e, warned := open(t)
	walk(With(t.Context(), &Tracing{Tracer: e}))
	finish(t, e, warned)
	resource := values(got.resource)
	if resource["service.name"] != "nightly" || resource["service.version"] != "7" || resource["team"] != "evals" || resource["telemetry.sdk.language"] != "go" {
		t.Errorf("the resource is %v", resource)
	}
	if got.paths[0] != "/v1/traces" || got.headers[0].Get("X-Tenant") != "t1" {
		t.Errorf("sent to %q with %v", got.paths, got.headers)
	}
	sampled := collect(t)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	e, warned = open(t)
	walk(With(t.Context(), &Tracing{Tracer: e}))
	finish(t, e, warned)
	if len(sampled.spans) != 0 {
		t.Errorf("%d spans were sent", len(sampled.spans))
	}
}

func TestTheProgramNamesItself(t *testing.T) {
	got := collect(t)
	e, warned := open(t)
	walk(With(t.Context(), &Tracing{Tracer: e}))
	finish(t, e, warned)
	if resource := values(got.resource); resource["service.name"] != "agentbench" || resource["service.version"] != "1.2.3" {
		t.Errorf("the resource is %v", resource)
	}
	if chat := values(got.span(t, "chat m").Attributes); chat["gen_ai.provider.name"] != "_OTHER" {
		t.Errorf("a model that is not known: %v", chat)
	}
}

// A collector that is not there, refuses or does not answer costs spans, but no
// time of the run and little at its end, and it is told.
func TestCollectorsThatFail(t *testing.T) {
	hangs := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"absent":  nil,
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"is down": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"hangs":   func(http.ResponseWriter, *http.Request) { <-hangs },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			if name == "hangs" {
				t.Cleanup(func() { close(hangs) })
			}
			if handler == nil {
				server.Close()
			}
			t.Setenv(endpointVariable, server.URL)
			e, _ := open(t)
			began := time.Now()
			for range 1000 {
				walk(With(t.Context(), &Tracing{Tracer: e, Models: models}))
			}
			if took := time.Since(began); took > DefaultPatience {
				t.Errorf("1,000 runs took %v", took)
			}
			closing := time.Now()
			err := e.Close()
			if took := time.Since(closing); took > patience+2*time.Second {
				t.Errorf("closing took %v", took)
			}
			if err == nil || !strings.HasPrefix(err.Error(), "6000 of 6000 spans did not reach the collector") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The same trouble is told once, and of many kinds only some.
func TestWarningsAreFew(t *testing.T) {
	var told []string
	w := warnings{tell: func(err error) { told = append(told, err.Error()) }}
	for i := range 10 {
		w.add(fmt.Errorf("trouble %d", i/2))
	}
	if want := []string{"trouble 0", "trouble 1", "trouble 2"}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %q", told)
	}
}

func TestWhetherTracesAreWanted(t *testing.T) {
	const url = "http://localhost:4318"
	for name, c := range map[string]struct {
		env    map[string]string
		wanted bool
		fault  string
	}{
		"nothing is set":           {nil, false, ""},
		"an endpoint":              {map[string]string{endpointVariable: url}, true, ""},
		"an endpoint of traces":    {map[string]string{tracesEndpointVariable: url}, true, ""},
		"an exporter":              {map[string]string{exporterVariable: "otlp"}, true, ""},
		"no exporter":              {map[string]string{exporterVariable: "none", endpointVariable: url}, false, ""},
		"the SDK is off":           {map[string]string{disabledVariable: "True", exporterVariable: "otlp"}, false, ""},
		"the SDK is not off":       {map[string]string{disabledVariable: "false", exporterVariable: "otlp"}, true, ""},
		"headers only":             {map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, false, ""},
		"another exporter":         {map[string]string{exporterVariable: "console"}, false, "OTEL_TRACES_EXPORTER=console: the only exporter is otlp"},
		"the protocol":             {map[string]string{endpointVariable: url, protocolVariable: "http/protobuf"}, true, ""},
		"another protocol":         {map[string]string{endpointVariable: url, protocolVariable: "grpc"}, false, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: the only protocol is http/protobuf, usually at port 4318"},
		"the protocol of traces":   {map[string]string{endpointVariable: url, protocolVariable: "grpc", tracesProtocolVariable: "http/protobuf"}, true, ""},
		"a protocol for no traces": {map[string]string{protocolVariable: "grpc"}, false, ""},
	} {
		wanted, err := Wanted(func(name string) string { return c.env[name] })
		if wanted != c.wanted || (err != nil || c.fault != "") && fmt.Sprint(err) != c.fault {
			t.Errorf("%s: %v, %v", name, wanted, err)
		}
	}
}

func BenchmarkTracedChat(b *testing.B) {
	server := httptest.NewServer(&received{})
	defer server.Close()
	b.Setenv(endpointVariable, server.URL)
	e, err := Open(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := With(b.Context(), &Tracing{Tracer: e, Models: models})
	request, reply, call := &model.Request{}, &model.Reply{}, &record.Call{Finish: "stop"}
	for b.Loop() {
		_, chat := StartChat(ctx, "m", record.RoleAgent, request)
		chat.End(reply, call, nil)
	}
	_ = e.Close() // what it loses does not matter here
}

// Where nobody traces, nothing is made.
func TestNothingIsAllocatedWithoutATrace(t *testing.T) {
	head, it, call := &record.Run{Configuration: "a"}, &record.Iteration{Phase: "p"}, &record.Call{}
	made := &record.Score{}
	used, request, reply := &record.ToolCall{Tool: "f"}, &model.Request{}, &model.Reply{}
	allocated := testing.AllocsPerRun(100, func() {
		ctx, run := StartRun(t.Context(), head)
		ctx, iteration := StartIteration(ctx, it)
		ctx, chat := StartChat(ctx, "m", record.RoleAgent, request)
		_, score := StartScore(ctx, "s", head, 1)
		score.End(made)
		_, use := StartTool(ctx, used, "d")
		use.End(Used{}, nil)
		chat.End(reply, call, nil)
		iteration.End(it)
		run.End(head)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func BenchmarkNobodyTraces(b *testing.B) {
	request, reply, call := &model.Request{}, &model.Reply{}, &record.Call{}
	ctx := context.WithValue(b.Context(), struct{ a int }{}, 1)
	b.ReportAllocs()
	for b.Loop() {
		_, chat := StartChat(ctx, "m", record.RoleAgent, request)
		chat.End(reply, call, nil)
	}
}

// kept is a tracer that keeps how spans ended.
type kept struct{ ended []*Failure }

func (k *kept) Start(ctx context.Context, _ *Began) (context.Context, Span) { return ctx, k }

func (k *kept) Event(_ string, _ Place, _ []Attribute, failed *Failure) {
	k.ended = append(k.ended, failed)
}

func (k *kept) Place() Place { return Place{} }

func (k *kept) End(_ []Attribute, failed *Failure) { k.ended = append(k.ended, failed) }

// How a call failed is its class; that a model had nothing more to give is no failure.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		want *Failure
	}{
		{nil, nil},
		{model.ErrEnded, nil},
		{fmt.Errorf("no room: %w", model.ErrRefused), &Failure{"refused", "no room: the call was not made"}},
		{model.Fail(record.RateLimit, "slow down", 0), &Failure{"rate_limit", "slow down"}},
		{context.Canceled, &Failure{"cancelled", "context canceled"}},
		{errors.New("odd"), &Failure{"_OTHER", "odd"}},
	} {
		k := &kept{}
		_, chat := StartChat(With(t.Context(), &Tracing{Tracer: k}), "m", record.RoleJudge, &model.Request{})
		chat.End(nil, nil, c.err)
		if !reflect.DeepEqual(k.ended, []*Failure{c.want}) {
			t.Errorf("%v: got %v, want %v", c.err, k.ended[0], c.want)
		}
	}
}

// Only an error makes a run one that failed.
func TestFailuresOfRuns(t *testing.T) {
	k := &kept{}
	ctx := With(t.Context(), &Tracing{Tracer: k})
	for _, o := range []record.Outcome{
		{Status: record.Completed, Success: false},
		{Status: record.Faulted, Error: &record.Error{Class: record.Server, Message: "down"}},
	} {
		_, run := StartRun(ctx, &record.Run{})
		run.End(&record.Run{Outcome: o})
	}
	if want := []*Failure{nil, {"server", "down"}}; !reflect.DeepEqual(k.ended, want) {
		t.Errorf("got %v", k.ended)
	}
}

// The manual names every attribute that is sent, and the source every one that
// the manual names.
func TestAttributesAreDocumented(t *testing.T) {
	manual, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, found := range regexp.MustCompile("`((gen_ai|agentbench|server|error)\\.[a-z_.]+)`").FindAllSubmatch(manual, -1) {
		named = append(named, string(found[1]))
	}
	var source []byte
	for _, file := range []string{"trace.go", "client.go", "event.go", "travel.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	for _, name := range named {
		if !regexp.MustCompile(`"` + regexp.QuoteMeta(name) + `"`).Match(source) {
			t.Errorf("%s is documented and never sent", name)
		}
	}
	got := collect(t)
	e, warned := open(t)
	walk(With(t.Context(), &Tracing{Tracer: e, Models: models, Contents: true}))
	finish(t, e, warned)
	for _, span := range got.spans {
		for key := range values(span.Attributes) {
			if !slices.Contains(named, key) {
				t.Errorf("%s is sent and not documented", key)
			}
		}
	}
}

// Every score is an event about its run's span, if that is of this session; a collector that takes none costs one warning.
func TestScoresAreEvents(t *testing.T) {
	got := collect(t)
	e, warned := open(t)
	ctx := With(t.Context(), &Tracing{Tracer: e, Contents: true})
	head := record.Run{ID: "a/b/1", Configuration: "a", Task: "b", Trial: 1}
	_, run := StartRun(ctx, &head)
	run.End(&head)
	Evaluated(ctx, &head, []record.Score{
		{Name: "right", Value: 1, Answer: "42", Explanation: "it is " + secret},
		{Name: "kind", Iteration: 2, Unscored: "the judge gave no verdict"},
	})
	Evaluated(ctx, &record.Run{ID: "of an earlier session"}, []record.Score{{Name: "right", Value: 0.5}})
	finish(t, e, warned)
	if len(got.events) != 3 {
		t.Fatalf("%d events", len(got.events))
	}
	span := got.span(t, "invoke_agent a")
	for i, want := range []map[string]any{
		{
			"gen_ai.evaluation.name": "right", "gen_ai.evaluation.score.value": 1.0, "gen_ai.evaluation.score.label": "42",
			"gen_ai.evaluation.explanation": "it is [redacted]", "gen_ai.conversation.id": "a/b/1", "agentbench.run": "a/b/1",
			"agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1),
		},
		{
			"gen_ai.evaluation.name": "kind", "agentbench.iteration": int64(2), "error.type": "unscored", "gen_ai.conversation.id": "a/b/1",
			"agentbench.run": "a/b/1", "agentbench.configuration": "a", "agentbench.task": "b", "agentbench.trial": int64(1),
		},
		{
			"gen_ai.evaluation.name": "right", "gen_ai.evaluation.score.value": 0.5, "gen_ai.conversation.id": "of an earlier session",
			"agentbench.run": "of an earlier session", "agentbench.trial": int64(0),
		},
	} {
		event := got.events[i]
		if event.EventName != "gen_ai.evaluation.result" || event.TimeUnixNano == 0 || !reflect.DeepEqual(values(event.Attributes), want) {
			t.Errorf("%q: %v, want %v", event.EventName, values(event.Attributes), want)
		}
		of := i < 2
		if of != slices.Equal(event.TraceId, span.TraceId) || of != slices.Equal(event.SpanId, span.SpanId) {
			t.Errorf("event %d is about the span %x of trace %x", i, event.SpanId, event.TraceId)
		}
	}

	got = collect(t)
	got.noEvents = true
	e, warned = open(t)
	ctx = With(t.Context(), &Tracing{Tracer: e})
	_, run = StartRun(ctx, &head)
	run.End(&head)
	Evaluated(ctx, &head, []record.Score{{Name: "right", Value: 1}})
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if w := warned(); len(w) != 1 || !strings.Contains(w[0], "takes no events at http://") || !strings.Contains(w[0], "OTEL_LOGS_EXPORTER=none") {
		t.Errorf("warnings %q", w)
	}
	if len(got.spans) != 1 {
		t.Errorf("%d spans", len(got.spans))
	}
}

func TestWhereEventsAreWanted(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{endpointVariable: "http://x"}, true},
		{map[string]string{tracesEndpointVariable: "http://x/v1/traces"}, false},
		{map[string]string{tracesEndpointVariable: "http://x/v1/traces", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://x/v1/logs"}, true},
		{map[string]string{tracesEndpointVariable: "http://x/v1/traces", logsExporterVariable: "otlp"}, true},
		{map[string]string{endpointVariable: "http://x", logsExporterVariable: "none"}, false},
		{map[string]string{endpointVariable: "http://x", logsExporterVariable: "console"}, false},
	} {
		if got := eventsWanted(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
