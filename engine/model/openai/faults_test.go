package openai

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

func body(status int, text string) step { return step{status: status, body: text} }

// What servers answer, most of it copied from their documentation and sources.
var faults = []struct {
	name  string
	step  step
	class record.ErrorClass
	says  string
}{
	{"429 of OpenAI", body(429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`), record.RateLimit, "Limit 30000"},
	{"429 with HTML", body(429, `<html>busy</html>`), record.RateLimit, "<html>busy</html>"},
	{"429 of Gemini", body(429, `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]`), record.RateLimit, "check quota"},
	{"429 of Anthropic", body(429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit."}}`), record.RateLimit, ""},
	{"quota of OpenAI", body(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`), record.Quota, "billing"},
	{"quota of LiteLLM", body(400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`), record.Quota, "Max budget"},
	{"quota of OpenRouter", body(402, `{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/credits","code":402}}`), record.Quota, "credits"},
	{"quota of Anthropic", body(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`), record.Quota, ""},

	{"500 without a body", body(500, ""), record.Server, "status 500"},
	{"502 with HTML", body(502, "<html><h1>502 Bad Gateway</h1></html>"), record.Server, "Bad Gateway"},
	{"503 of OpenAI", body(503, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}`), record.Server, "overloaded"},
	{"529 of Anthropic", body(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), record.Server, "Overloaded"},
	{"408", body(408, ""), record.Server, "status 408"},
	{"409", body(409, `{"error":{"message":"conflict"}}`), record.Server, "conflict"},

	{"context of OpenAI", body(400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`), record.ContextLength, "9001"},
	{"context of vLLM", body(400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`), record.ContextLength, "5000"},
	{"context of Anthropic", body(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`), record.ContextLength, "210000"},
	{"context of llama.cpp", body(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`), record.ContextLength, ""},
	{"context of Gemini", body(400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`), record.ContextLength, ""},
	{"413", body(413, "request entity too large"), record.ContextLength, "413"},

	{"filter of Azure", body(400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`), record.ContentFilter, "filtered"},
	{"refusal", body(200, `{"choices":[{"message":{"role":"assistant","content":null,"refusal":"I can't help with that."},"finish_reason":"stop"}]}`), record.ContentFilter, "I can't help"},

	{"401 of OpenAI", body(401, `{"error":{"message":"Incorrect API key provided: `+canary+`.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`), record.Auth, "[redacted]"},
	{"403", body(403, `{"error":{"message":"Country, region, or territory not supported"}}`), record.Auth, "region"},
	{"400", body(400, `{"error":{"message":"Invalid value for 'temperature'","type":"invalid_request_error","param":"temperature","code":null}}`), record.InvalidRequest, "temperature"},
	{"400 with a list of messages", body(400, `{"error":{"message":["a","b"],"type":"invalid_request_error"}}`), record.InvalidRequest, `["a","b"]`},
	{"404 of Ollama", body(404, `{"error":"model 'x' not found, try pulling it first"}`), record.InvalidRequest, "try pulling"},
	{"404 of OpenAI", body(404, `{"error":{"message":"The model 'gpt-9' does not exist","type":"invalid_request_error","code":"model_not_found"}}`), record.InvalidRequest, "gpt-9"},
	{"422 of FastAPI", body(422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`), record.InvalidRequest, "field required"},
	{"a redirect", step{status: 301, header: map[string]string{"Location": "https://elsewhere.example/v1"}}, record.InvalidRequest, "set base_url"},

	{"no finish_reason", body(200, `{"choices":[{"message":{"role":"assistant","content":"half an ans"}}]}`), record.Incomplete, "finish_reason"},
	{"finish_reason null", body(200, `{"choices":[{"message":{"role":"assistant","content":"half"},"finish_reason":null}]}`), record.Incomplete, "finish_reason"},
	{"a body shorter than announced", step{header: map[string]string{"Content-Length": "5000"}, body: goodAnswer[:60]}, record.Incomplete, "inside the answer"},
	{"a body of no length that can be", step{header: map[string]string{"Content-Length": "9223372036854775807"}, body: goodAnswer[:60]}, record.Incomplete, "inside the answer"},

	{"200 with an error", body(200, `{"error":{"message":"upstream died","code":502}}`), record.BadResponse, "upstream died"},
	{"200 with a rate limit", body(200, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`), record.RateLimit, "slow down"},
	{"200 with an error as text", body(200, `{"error":"no slot available"}`), record.BadResponse, "no slot"},
	{"200 with {}", body(200, `{}`), record.BadResponse, "the answer has no "},
	{"200 with no choices", body(200, `{"id":"x","choices":[]}`), record.BadResponse, "no choices"},
	{"200 without content", body(200, `{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}`), record.BadResponse, "no content"},
	{"200 with HTML", body(200, "<html>log in</html>"), record.BadResponse, "log in"},
	{"200 with nothing", body(200, ""), record.BadResponse, "empty"},
	{"200 with half the JSON", body(200, goodAnswer[:60]), record.BadResponse, "not what the API promises"},
	{"200 with other types", body(200, `{"choices":"none"}`), record.BadResponse, "not what the API promises"},
	{"204", body(204, ""), record.BadResponse, "empty"},

	{"reset before the answer", step{instead: reset("")}, record.Network, ""},
	{"reset inside the answer", step{instead: reset(goodAnswer[:60])}, record.Incomplete, "inside the answer"},
	{"something else than HTTP", step{instead: raw("SSH-2.0-OpenSSH_9.6\r\n")}, record.Network, ""},
	{"3 MB of headers", step{instead: raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 3000) + "Connection: close\r\n\r\n" + goodAnswer)}, record.Network, ""},
}

// F12 to F16, F20, F21: every fault has its class, and no message the key, whichever protocol the server speaks.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			shows(t, connect(t, wire.Options{BaseURL: serve(t, f.step)}), f.class, f.says)
		})
		if strings.Contains(f.step.body, `"choices"`) {
			continue // an answer of chat completions
		}
		t.Run(f.name+"/responses", func(t *testing.T) {
			shows(t, connectResponses(t, wire.Options{BaseURL: serve(t, f.step)}), f.class, f.says)
		})
	}
}

// shows makes a call and compares what comes of it with a class and a part of the message.
func shows(t *testing.T, m model.Model, class record.ErrorClass, says string) {
	t.Helper()
	reply, err := m.Call(t.Context(), hello())
	if reply != nil {
		t.Fatalf("a reply: %+v", reply)
	}
	var failed *record.Error
	if !errors.As(err, &failed) {
		t.Fatalf("no class: %v", err)
	}
	if failed.Class != class || !strings.Contains(failed.Message, says) {
		t.Errorf("got %v, want %s with %q", failed, class, says)
	}
	if len(failed.Message) > 700 {
		t.Errorf("the message has %d bytes", len(failed.Message))
	}
	withoutSecrets(t, err.Error())
}

// reset sends the beginning of an answer and then breaks the connection.
func reset(answer string) func(http.ResponseWriter, *http.Request) {
	return hijacked(func(conn net.Conn) {
		if answer != "" {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n%s", answer)
			return // closed in order, but too early
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
	})
}

func raw(text string) func(http.ResponseWriter, *http.Request) {
	return hijacked(func(conn net.Conn) { fmt.Fprint(conn, text) })
}

func hijacked(then func(net.Conn)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		then(conn)
	}
}

// F26: a redirect is told, not followed: neither the key nor the prompt goes
// where the suite does not send it.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		followed := false
		other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
		s := step{status: status, header: map[string]string{"Location": other}}
		_, err := connect(t, wire.Options{BaseURL: serve(t, s)}).Call(t.Context(), hello())
		var failed *record.Error
		if followed || !errors.As(err, &failed) || failed.Class != record.InvalidRequest {
			t.Errorf("%d: followed: %v, error %v", status, followed, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	_, err = connect(t, wire.Options{BaseURL: address}).Call(t.Context(), hello())
	var failed *record.Error
	if !errors.As(err, &failed) || failed.Class != record.Network || !strings.Contains(failed.Message, "refused") {
		t.Errorf("got %v", err)
	}
	if !model.NeverSent(err) {
		t.Error("a call that was refused may have cost something")
	}
	var call *model.CallError
	if errors.As(err, &call); call.Refused != address {
		t.Errorf("%q refused it, want %q", call.Refused, address)
	}
	proxy, _ := url.Parse(address)
	behind := wire.NewTransport()
	behind.Proxy = http.ProxyURL(proxy)
	_, err = connect(t, wire.Options{BaseURL: "https://model.test/v1", Transport: behind}).Call(t.Context(), hello())
	if errors.As(err, &call); call.Refused != "" {
		t.Errorf("a proxy is taken for the server: %q", call.Refused)
	}
}

// F16: it is certain of no call that was sent, whatever became of it, that it cost
// nothing; it is of one that was cancelled before.
func TestF16_WhatMayHaveCostSomething(t *testing.T) {
	reset := step{instead: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		step step
		want bool
	}{
		"reset":            {t.Context(), reset, false},
		"status 500":       {t.Context(), step{status: 500}, false},
		"cancelled before": {cancelled, step{}, true},
	} {
		_, err := connect(t, wire.Options{BaseURL: serve(t, c.step)}).Call(c.ctx, hello())
		if err == nil || model.NeverSent(err) != c.want {
			t.Errorf("%s: never sent %v: %v", name, model.NeverSent(err), err)
		}
	}
}

// F18, P10: a server that does not begin to answer, and one that does not end.
func TestHangs(t *testing.T) {
	hang := func(begin string) step {
		return step{instead: func(w http.ResponseWriter, r *http.Request) {
			if begin != "" {
				fmt.Fprint(w, begin)
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}}
	}
	for name, c := range map[string]struct {
		step    step
		options wire.Options
		says    string
	}{
		"before the first byte":     {hang(""), wire.Options{FirstByte: 30 * time.Millisecond}, "did not begin to answer within 30ms"},
		"longer than the call":      {hang(""), wire.Options{Timeout: 30 * time.Millisecond}, "longer than 30ms"},
		"in the middle of the body": {hang(`{"choices":[`), wire.Options{Timeout: 50 * time.Millisecond}, "longer than 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.BaseURL = serve(t, c.step)
			_, err := connect(t, c.options).Call(t.Context(), hello())
			var failed *record.Error
			if !errors.As(err, &failed) || failed.Class != record.CallTimeout || !strings.Contains(failed.Message, c.says) {
				t.Fatalf("got %v", err)
			}
			if after, _ := model.Failure(err); after < 30*time.Millisecond {
				t.Errorf("the call took %v", after)
			}
		})
	}
}

// The context's cause comes back as it is, so that a budget or a signal is not
// taken for a fault of the server.
func TestCancelledInFlight(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	url := serve(t, step{instead: func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	}})
	_, err := connect(t, wire.Options{BaseURL: url}).Call(ctx, hello())
	if err != cause {
		t.Errorf("got %v", err)
	}
}

// F23, P12: the limit counts what was unpacked.
func TestAnswersThatAreTooLong(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for name, s := range map[string]step{
		"a reply":   body(200, `{"choices":[{"message":{"content":"`+long+`"},"finish_reason":"stop"}]}`),
		"an error":  body(500, long),
		"a gzipped": {instead: gzipped(long)},
	} {
		t.Run(name, func(t *testing.T) {
			m := connect(t, wire.Options{BaseURL: serve(t, s), MaxResponse: 1 << 16})
			_, err := m.Call(t.Context(), hello())
			var failed *record.Error
			if !errors.As(err, &failed) || !strings.Contains(failed.Message, "more than 65536 bytes") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}

func gzipped(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		defer packed.Close()
		_, _ = packed.Write([]byte(text))
	}
}

// F70, P17: whatever form a server sends the key back in, it is not told.
func TestKeysAreRedacted(t *testing.T) {
	quoted, _ := json.Marshal(canary)
	for name, form := range map[string]string{
		"as it is":    canary,
		"in a URL":    url.QueryEscape(canary),
		"in base64":   base64.StdEncoding.EncodeToString([]byte(canary)),
		"in JSON":     string(quoted),
		"of a header": "hunter2-of-the-header",
		"of the URL":  "hunter2-of-the-url",
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, body(400, `{"detail": "got `+strings.Trim(form, `"`)+`!"}`))
			m := connect(t, wire.Options{
				BaseURL: strings.Replace(address, "http://", "http://user:hunter2-of-the-url@", 1),
				Headers: map[string]string{"X-Api-Key": "hunter2-of-the-header", "X-Title": "detail"},
			})
			_, err := m.Call(t.Context(), hello())
			if err == nil || !strings.Contains(err.Error(), "got [redacted]!") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// F10, F13: the forms of Retry-After, and x-should-retry.
func TestWhatTheServerSaysOfTryingAgain(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		header map[string]string
		wait   time.Duration
		retry  *bool
	}{
		"nothing":         {nil, 0, nil},
		"seconds":         {map[string]string{"Retry-After": "2"}, 2 * time.Second, nil},
		"half a second":   {map[string]string{"Retry-After": "0.5"}, time.Second / 2, nil},
		"milliseconds":    {map[string]string{"Retry-After-Ms": "250", "Retry-After": "2"}, 250 * time.Millisecond, nil},
		"a date":          {map[string]string{"Retry-After": "Fri, 02 Jan 2026 03:04:15 GMT"}, 10 * time.Second, nil},
		"a date long ago": {map[string]string{"Retry-After": "Fri, 02 Jan 1970 03:04:15 GMT"}, 0, nil},
		"negative":        {map[string]string{"Retry-After": "-3"}, 0, nil},
		"not a number":    {map[string]string{"Retry-After": "abc"}, 0, nil},
		"NaN":             {map[string]string{"Retry-After": "NaN"}, 0, nil},
		"for ever":        {map[string]string{"Retry-After": "1e300"}, 365 * 24 * time.Hour, nil},
		"long":            {map[string]string{"Retry-After": "99999"}, 99999 * time.Second, nil},
		"yes":             {map[string]string{"x-should-retry": "true"}, 0, &yes},
		"no":              {map[string]string{"x-should-retry": "false"}, 0, &no},
	} {
		t.Run(name, func(t *testing.T) {
			s := step{status: 429, header: c.header}
			_, err := connect(t, wire.Options{BaseURL: serve(t, s), Now: fixed}).Call(t.Context(), hello())
			var failed *model.CallError
			if !errors.As(err, &failed) || failed.Status != 429 || failed.RetryAfter != c.wait {
				t.Fatalf("got %+v", failed)
			}
			if (failed.Retry == nil) != (c.retry == nil) || c.retry != nil && *failed.Retry != *c.retry {
				t.Errorf("retry %v, want %v", failed.Retry, c.retry)
			}
		})
	}
}

// answering is a transport that has one answer.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// F21, F25: whatever comes with status 200 is a whole reply that can be paid
// for, or an error with a class.
func FuzzAnswer(f *testing.F) {
	for _, fault := range faults {
		f.Add(fault.step.body)
	}
	for _, message := range []string{
		`{"content":"a","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":"{"}}]}`,
		`{"content":null,"tool_calls":[{"id":"1"},{"id":"1"}]}`, `{"role":7,"content":["x"]}`, `{"content":[{"type":"text","text":"a"},null]}`,
	} {
		f.Add(`{"model":"another","choices":[{"message":` + message + `,"finish_reason":"tool_calls"},{"index":0}],"usage":{"prompt_tokens":1,"completion_tokens":-1}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := New(wire.Options{Name: "m", BaseURL: "http://here", Transport: answering(text)})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := m.Call(t.Context(), hello())
		var failed *record.Error
		switch {
		case err != nil && (!errors.As(err, &failed) || failed.Class == ""):
			t.Errorf("no class: %v", err)
		case err == nil && (reply.Finish == "" || reply.Usage.Calls != 1 || reply.Usage.InputTokens < 0 || reply.Usage.OutputTokens < 0 || reply.Usage.CachedTokens > reply.Usage.InputTokens):
			t.Errorf("got %+v", reply)
		}
	})
}

// F26b: that no file descriptor is left is our fault, which is not tried again.
func TestF26b_NoFileDescriptorIsLeft(t *testing.T) {
	for name, cause := range map[string]error{"of this process": syscall.EMFILE, "of this machine": syscall.ENFILE} {
		dials := 0
		transport := wire.NewTransport()
		transport.DialContext = func(_ context.Context, network, _ string) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", cause)}
		}
		g := pace.NewGate(pace.GateOptions{})
		m := pace.Retry(g.Wrap(connect(t, wire.Options{BaseURL: "http://mock", Transport: transport})), pace.RetryOptions{})
		_, err := m.Call(t.Context(), hello())
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Cause.Class != record.Resources || !strings.Contains(failed.Cause.Message, "no file descriptor left") {
			t.Errorf("%s: got %v", name, err)
		}
		if dials != 1 || g.Status().Cooling > 0 || !model.NeverSent(err) {
			t.Errorf("%s: %d attempts, %+v, never sent: %v", name, dials, g.Status(), model.NeverSent(err))
		}
	}
}

// mocked is a server that shows one fault and has one reply.
func mocked(t *testing.T, fault string) *mockserver.Server {
	t.Helper()
	rated, err := mockserver.ParseRated(fault)
	if err != nil {
		t.Fatal(err)
	}
	return mockserver.New(mockserver.Options{
		Rules:  []mockserver.Rule{mockserver.Texts("a reply of several chunks, so that streams have something to cut")},
		Faults: []mockserver.Rated{rated},
	})
}

// patience is what the client of these tests waits, by a clock that does not
// pass in earnest.
const patience = 30 * time.Second

// F10 to F26: each fault that the mock server knows is, to this client, of the
// class that its manual tells, or is accepted.
func TestF10_F26_MockFaults(t *testing.T) {
	for _, kind := range mockserver.Kinds() {
		if kind.Name == "transient" { // stands for others
			continue
		}
		chat := func(o wire.Options) model.Model { return connect(t, o) }
		responses := func(o wire.Options) model.Model { return connectResponses(t, o) }
		t.Run(kind.Name, func(t *testing.T) { showFault(t, kind, chat, false) })
		t.Run(kind.Name+"/streamed", func(t *testing.T) { showFault(t, kind, chat, true) })
		t.Run(kind.Name+"/responses", func(t *testing.T) { showFault(t, kind, responses, false) })
		t.Run(kind.Name+"/responses/streamed", func(t *testing.T) { showFault(t, kind, responses, true) })
	}
}

func showFault(t *testing.T, kind mockserver.Kind, connect func(wire.Options) model.Model, stream bool) {
	fault := kind.Name
	if len(kind.Options) > 0 && kind.Options[0] == "size" {
		fault += ":size=2MB"
	}
	if kind.Name == "reset" || kind.Name == "cut-reset" { // only TCP knows resets
		address := serve(t, mocked(t, fault))
		judge(t, kind, connect(wire.Options{BaseURL: address + "/v1", Stream: stream}))
		return
	}
	synctest.Test(t, func(t *testing.T) {
		transport, stop := pipes(mocked(t, fault))
		defer stop()
		judge(t, kind, connect(wire.Options{
			BaseURL: "http://mock/v1", Transport: transport, Timeout: patience, MaxResponse: 1 << 20, Stream: stream,
		}))
	})
}

// judge makes a call and holds what comes of it to what the kind promises.
func judge(t *testing.T, kind mockserver.Kind, m model.Model) {
	t.Helper()
	start := time.Now()
	reply, err := m.Call(t.Context(), hello())
	if took := time.Since(start); took > patience+time.Second {
		t.Errorf("the call took %v", took)
	}
	if kind.Class == "" {
		accepted(t, kind, reply, err)
		return
	}
	var failed *record.Error
	if !errors.As(err, &failed) || failed.Class != kind.Class {
		t.Errorf("got %+v, %v; want class %s", reply, err, kind.Class)
		return
	}
	withoutSecrets(t, err.Error())
}

func accepted(t *testing.T, kind mockserver.Kind, reply *model.Reply, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("not accepted: %v", err)
		return
	}
	if reply.Finish == "" || reply.Text == "" && kind.Name != "empty" || reply.Text == "another" {
		t.Errorf("got %+v", reply)
	}
	readable := kind.Row != "F24" || kind.Name == "usage-decimals" || kind.Name == "usage-strings"
	if estimated := reply.Usage.Estimated > 0; estimated == readable {
		t.Errorf("usage %+v", reply.Usage)
	}
}

// pipes is a server within this process, and a transport that reaches it: both
// live by the clock of the test.
func pipes(handler http.Handler) (*http.Transport, func()) {
	listener := &pipeListener{arrived: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	transport := wire.NewTransport()
	transport.Proxy = nil
	transport.DialContext = listener.dial
	return transport, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		served.Wait()
	}
}

// pipeListener accepts pipes instead of connections.
type pipeListener struct {
	arrived chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.arrived <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.arrived:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// What the mock server asks of the client on refusals arrives.
func TestF10_MockTellsWhenToComeBack(t *testing.T) {
	for _, form := range []mockserver.Form{mockserver.Seconds, mockserver.Millis, mockserver.Date, mockserver.Silent} {
		server := httptest.NewServer(mockserver.New(mockserver.Options{
			Limits: mockserver.Limits{Requests: 6, Burst: 1.0 / 6, RetryAfter: form}, Now: fixed,
		}))
		m := connect(t, wire.Options{BaseURL: server.URL + "/v1", Now: fixed})
		if _, err := m.Call(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		const want = 10 * time.Second // which the silent one tells by its limits' headers
		_, err := m.Call(t.Context(), hello())
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Status != 429 || failed.RetryAfter != want {
			t.Errorf("%s: %+v", form, failed)
		}
		server.Close()
	}
}
