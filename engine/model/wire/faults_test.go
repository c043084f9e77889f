package wire_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/anthropic"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

// protocol is one that servers speak. Whatever a server does wrong with HTTP, and whatever error it tells, has to come to the same with
// each of them.
type protocol struct {
	name  string
	make  func(wire.Options) (model.Model, error)
	says  func(text string) (whole, stream string) // an answer, in both forms
	piece string                                   // an event that a stream may have any number of, behind its first
}

var protocols = []*protocol{
	{"chat", func(o wire.Options) (model.Model, error) { return openai.New(o) }, func(text string) (whole, stream string) {
		const usage = `"usage":{"prompt_tokens":30,"completion_tokens":20}`
		whole = `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + text + `"},"finish_reason":"stop"}],` + usage + `}`
		return whole, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" + "data: {\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n"
	}, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"},
	{"responses", func(o wire.Options) (model.Model, error) { return openai.NewResponses(o) }, func(text string) (whole, stream string) {
		item := `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}`
		whole = `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[` + item + `],"usage":{"input_tokens":30,"output_tokens":20}}`
		return whole, typed(`"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}`) +
			typed(`"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}`) +
			typed(`"response.output_text.delta","output_index":0,"content_index":0,"delta":"`+text+`"`) +
			typed(`"response.output_item.done","output_index":0,"item":`+item) + typed(`"response.completed","response":`+whole)
	}, typed(`"response.a_new_one"`)},
	{"messages", func(o wire.Options) (model.Model, error) { return anthropic.New(o) }, func(text string) (whole, stream string) {
		whole = `{"type":"message","model":"m","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":20}}`
		return whole, typed(`"message_start","message":{"model":"m","content":[],"usage":{"input_tokens":30,"output_tokens":1}}`) +
			typed(`"content_block_start","index":0,"content_block":{"type":"text","text":""}`) +
			typed(`"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}`) + typed(`"content_block_stop","index":0`) +
			typed(`"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}`) + typed(`"message_stop"`)
	}, typed(`"ping"`)},
}

// typed is an event whose data have its name as their type.
func typed(fields string) string {
	name, _, _ := strings.Cut(fields[1:], `"`)
	return "event: " + name + "\ndata: {\"type\":" + fields + "}\n\n"
}

const canary = wiretest.Canary

type step = wiretest.Step

var (
	body, serve, hello, fixed = wiretest.Body, wiretest.Serve, wiretest.Hello, wiretest.Fixed
	must, fails, shows        = wiretest.Must, wiretest.Failed, wiretest.Shows
)

// connect makes the client of a server.
func (p *protocol) connect(t testing.TB, o wire.Options) model.Model {
	t.Helper()
	return wiretest.Connect(t, o, p.make)
}

func each(t *testing.T, try func(*testing.T, *protocol)) {
	t.Helper()
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) { try(t, p) })
	}
}

// faults are what servers answer, most of it copied from their documentation and sources. The whole answer would be a good one.
func faults(whole string) []fault {
	half := whole[:60]
	return []fault{
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

		{"401 of OpenAI", body(401, `{"error":{"message":"Incorrect API key provided: `+canary+`.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`), record.Auth, "[redacted]"},
		{"403", body(403, `{"error":{"message":"Country, region, or territory not supported"}}`), record.Auth, "region"},
		{"400", body(400, `{"error":{"message":"Invalid value for 'temperature'","type":"invalid_request_error","param":"temperature","code":null}}`), record.InvalidRequest, "temperature"},
		{"400 with a list of messages", body(400, `{"error":{"message":["a","b"],"type":"invalid_request_error"}}`), record.InvalidRequest, `["a","b"]`},
		{"404 of Ollama", body(404, `{"error":"model 'x' not found, try pulling it first"}`), record.InvalidRequest, "try pulling"},
		{"404 of OpenAI", body(404, `{"error":{"message":"The model 'gpt-9' does not exist","type":"invalid_request_error","code":"model_not_found"}}`), record.InvalidRequest, "gpt-9"},
		{"422 of FastAPI", body(422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`), record.InvalidRequest, "field required"},
		{"a redirect", step{Status: 301, Header: map[string]string{"Location": "https://elsewhere.example/v1"}}, record.InvalidRequest, "set base_url"},

		{"a body shorter than announced", step{Header: map[string]string{"Content-Length": "5000"}, Body: half}, record.Incomplete, "inside the answer"},
		{"a body of no length that can be", step{Header: map[string]string{"Content-Length": "9223372036854775807"}, Body: half}, record.Incomplete, "inside the answer"},

		{"200 with an error", body(200, `{"error":{"message":"upstream died","code":502}}`), record.BadResponse, "upstream died"},
		{"200 with a rate limit", body(200, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`), record.RateLimit, "slow down"},
		{"200 with an error as text", body(200, `{"error":"no slot available"}`), record.BadResponse, "no slot"},
		{"200 with {}", body(200, `{}`), record.BadResponse, "the answer has no "},
		{"200 with HTML", body(200, "<html>log in</html>"), record.BadResponse, "log in"},
		{"200 with nothing", body(200, ""), record.BadResponse, "empty"},
		{"200 with half the JSON", body(200, half), record.BadResponse, "not what the API promises"},
		{"204", body(204, ""), record.BadResponse, "empty"},

		{"reset before the answer", step{Instead: reset("")}, record.Network, ""},
		{"closed before the answer", step{Instead: raw("")}, record.Network, ""},
		{"reset inside the answer", step{Instead: reset(half)}, record.Incomplete, "inside the answer"},
		{"something else than HTTP", step{Instead: raw("SSH-2.0-OpenSSH_9.6\r\n")}, record.Network, ""},
		{"3 MB of headers", step{Instead: raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 3000) + "Connection: close\r\n\r\n" + whole)}, record.Network, ""},
	}
}

type fault struct {
	name  string
	step  step
	class record.ErrorClass
	says  string
}

// F12 to F16, F20, F21: every fault has its class, and no message the key. It is certain of no call that was sent, whatever became of
// it, that it cost nothing.
func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		whole, _ := p.says("hi")
		for _, f := range faults(whole) {
			t.Run(f.name, func(t *testing.T) {
				for _, stream := range []bool{false, true} {
					failed := shows(t, p.connect(t, wire.Options{BaseURL: serve(t, f.step), Stream: stream}), f.class, f.says)
					if model.NeverSent(failed) {
						t.Error("it is said to have cost nothing")
					}
				}
			})
		}
	})
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
	each(t, func(t *testing.T, p *protocol) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			followed := false
			other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
			s := step{Status: status, Header: map[string]string{"Location": other}}
			shows(t, p.connect(t, wire.Options{BaseURL: serve(t, s)}), record.InvalidRequest, "")
			if followed {
				t.Errorf("%d is followed", status)
			}
		}
	})
}

// F16, F26b: where no connection is made, nothing was sent. What would end the same way is not tried again: neither an unknown
// certificate, nor a name that does not exist, nor, for that is our fault, that no file descriptor is left.
func TestF16_F26b_ConnectionsThatAreNotMade(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		nobody := "http://" + listener.Addr().String()
		listener.Close()
		proxy, _ := url.Parse(nobody)
		untrusted := httptest.NewUnstartedServer(body(200, "{}"))
		untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
		untrusted.StartTLS()
		defer untrusted.Close()
		for name, c := range map[string]struct {
			address  string
			dial     error // in place of a connection; nil: none
			proxy    *url.URL
			class    record.ErrorClass
			says     string
			refused  string // the address of the server that refused it
			hopeless bool
		}{
			"nobody listens":         {address: nobody, class: record.Network, says: "refused", refused: nobody},
			"no proxy listens":       {address: "https://model.test/v1", proxy: proxy, class: record.Network, says: "refused"},
			"an unknown certificate": {address: untrusted.URL, class: record.Network, hopeless: true},
			"an unknown name": {address: "http://agentbench.invalid", dial: &net.DNSError{Err: "no such host", IsNotFound: true},
				class: record.Network, hopeless: true},
			"no descriptor of this process": {address: "http://mock", dial: os.NewSyscallError("socket", syscall.EMFILE),
				class: record.Resources, says: "no file descriptor left"},
			"no descriptor of this machine": {address: "http://mock", dial: os.NewSyscallError("socket", syscall.ENFILE),
				class: record.Resources, says: "no file descriptor left"},
		} {
			t.Run(name, func(t *testing.T) {
				transport := wire.NewTransport()
				if c.proxy != nil {
					transport.Proxy = http.ProxyURL(c.proxy)
				}
				if c.dial != nil {
					transport.DialContext = func(_ context.Context, network, _ string) (net.Conn, error) {
						return nil, &net.OpError{Op: "dial", Net: network, Err: c.dial}
					}
				}
				failed := shows(t, p.connect(t, wire.Options{BaseURL: c.address, Transport: transport}), c.class, c.says)
				if hopeless := failed.Retry != nil && !*failed.Retry; failed.Refused != c.refused || hopeless != c.hopeless {
					t.Errorf("refused by %q, hopeless %v", failed.Refused, hopeless)
				}
				if !model.NeverSent(failed) {
					t.Error("it may have cost something")
				}
			})
		}
	})
}

// The context's cause comes back as it is, so that a budget or a signal is not
// taken for a fault of the server. F16: what was cancelled before it was sent cost nothing.
func TestCancelledCalls(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := p.connect(t, wire.Options{BaseURL: serve(t, step{Instead: func(_ http.ResponseWriter, r *http.Request) {
			cancel(cause)
			<-r.Context().Done()
		}})})
		if _, err := m.Call(ctx, hello()); err != cause {
			t.Errorf("in flight: got %v", err)
		}
		if _, err := m.Call(ctx, hello()); !errors.Is(err, cause) || !model.NeverSent(err) {
			t.Errorf("before it is sent: got %v, never sent: %v", err, model.NeverSent(err))
		}
	})
}

// F23, P12: the limit counts what was unpacked, and holds for streams, however few lines they have. It is not tried again.
func TestAnswersThatAreTooLong(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		const most = 1 << 16
		long := strings.Repeat("a", 1<<20)
		whole, oneLine := p.says(long)
		_, short := p.says("hi")
		first := short[:strings.Index(short, "\n\n")+2]
		for name, c := range map[string]struct {
			stream bool
			step   step
		}{
			"a reply":                {false, body(200, whole)},
			"an error":               {false, body(500, long)},
			"a gzipped":              {false, step{Instead: gzipped(long)}},
			"a stream of one line":   {true, body(200, oneLine)},
			"a stream of many lines": {true, body(200, first+strings.Repeat(p.piece, 1<<15))},
			"a stream without data":  {true, body(200, strings.Repeat(": \n", 1<<19))},
		} {
			t.Run(name, func(t *testing.T) {
				failed := fails(t, p.connect(t, wire.Options{BaseURL: serve(t, c.step), Stream: c.stream, MaxResponse: most}))
				if !strings.Contains(failed.Error(), "more than 65536 bytes") || failed.Retry == nil || *failed.Retry {
					t.Errorf("got %.200v", failed)
				}
			})
		}
	})
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
	each(t, func(t *testing.T, p *protocol) {
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
				m := p.connect(t, wire.Options{
					BaseURL: strings.Replace(address, "http://", "http://user:hunter2-of-the-url@", 1),
					Headers: map[string]string{"X-Api-Key": "hunter2-of-the-header", "X-Title": "detail"},
				})
				shows(t, m, record.InvalidRequest, "got [redacted]!")
			})
		}
	})
}

// F10, F11, F13: the forms of Retry-After, and x-should-retry. A refusal without Retry-After is waited for by the last of its limits.
func TestF10_F11_WhenToTryAgain(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		status int
		header map[string]string
		wait   time.Duration
		retry  *bool
	}{
		"nothing":         {429, nil, 0, nil},
		"seconds":         {429, map[string]string{"Retry-After": "2"}, 2 * time.Second, nil},
		"half a second":   {429, map[string]string{"Retry-After": "0.5"}, time.Second / 2, nil},
		"milliseconds":    {429, map[string]string{"Retry-After-Ms": "250", "Retry-After": "2"}, 250 * time.Millisecond, nil},
		"a date":          {429, map[string]string{"Retry-After": "Fri, 02 Jan 2026 03:04:15 GMT"}, 10 * time.Second, nil},
		"a date long ago": {429, map[string]string{"Retry-After": "Fri, 02 Jan 1970 03:04:15 GMT"}, 0, nil},
		"negative":        {429, map[string]string{"Retry-After": "-3"}, 0, nil},
		"not a number":    {429, map[string]string{"Retry-After": "abc"}, 0, nil},
		"NaN":             {429, map[string]string{"Retry-After": "NaN"}, 0, nil},
		"for ever":        {429, map[string]string{"Retry-After": "1e300"}, 365 * 24 * time.Hour, nil},
		"long":            {429, map[string]string{"Retry-After": "99999"}, 99999 * time.Second, nil},
		"yes":             {429, map[string]string{"x-should-retry": "true"}, 0, &yes},
		"no":              {429, map[string]string{"x-should-retry": "false"}, 0, &no},

		"limits of OpenAI":        {429, map[string]string{"x-ratelimit-reset-requests": "20ms", "x-ratelimit-reset-tokens": "1m2s"}, 62 * time.Second, nil},
		"limits in seconds":       {429, map[string]string{"x-ratelimit-reset-tokens": "59.5"}, 59500 * time.Millisecond, nil},
		"limits of Anthropic":     {429, map[string]string{"anthropic-ratelimit-tokens-reset": "2026-01-02T03:04:15Z"}, 10 * time.Second, nil},
		"limits of OpenRouter":    {429, map[string]string{"X-RateLimit-Reset": "1767323055000"}, 10 * time.Second, nil},
		"limits by a Unix time":   {429, map[string]string{"X-RateLimit-Reset": "1767323055"}, 10 * time.Second, nil},
		"limits in the past":      {429, map[string]string{"X-RateLimit-Reset": "1700000000"}, 0, nil},
		"limits of nonsense":      {429, map[string]string{"x-ratelimit-reset-tokens": "soon"}, 0, nil},
		"limits below zero":       {429, map[string]string{"x-ratelimit-reset-tokens": "-5s"}, 0, nil},
		"limits and Retry-After":  {429, map[string]string{"x-ratelimit-reset-tokens": "60s", "Retry-After": "2"}, 2 * time.Second, nil},
		"limits without refusals": {500, map[string]string{"x-ratelimit-reset-tokens": "60s"}, 0, nil},
	} {
		for _, p := range protocols {
			failed := fails(t, p.connect(t, wire.Options{BaseURL: serve(t, step{Status: c.status, Header: c.header}), Now: fixed}))
			if failed.Status != c.status || failed.RetryAfter != c.wait || (failed.Retry == nil) != (c.retry == nil) || c.retry != nil && *failed.Retry != *c.retry {
				t.Errorf("%s, %s: got %+v", name, p.name, failed)
			}
		}
	}
}

// mocked is a mock server that shows one fault and has one reply.
func mocked(t *testing.T, fault string) *mockserver.Server {
	t.Helper()
	faults, err := mockserver.ParseFaults(fault)
	must(t, err)
	return mockserver.New(mockserver.Options{
		Rules:  []mockserver.Rule{mockserver.Texts("a reply of several chunks, so that streams have something to cut")},
		Faults: faults,
	})
}

// patience is what the client of these tests waits, by the clock of the test.
const patience = 30 * time.Second

// mockFaults are the faults of the mock server, and what they are to this client; "": a reply.
var mockFaults = map[string]record.ErrorClass{
	"429": record.RateLimit, "429:retry-after=2": record.RateLimit, "500": record.Server, "529": record.Server,
	"reset": record.Network, "slow": "", "stall": record.CallTimeout, "cut": record.Incomplete,
	"half-json": record.BadResponse, "wrong-type": record.BadResponse, "refusal": "", "empty": "",

	"400": record.InvalidRequest, "401": record.Auth, "402": record.Quota, "403": record.Auth, "404": record.InvalidRequest,
	"408": record.Server, "409": record.Server, "413": record.ContextLength, "422": record.InvalidRequest,
	"502": record.Server, "503": record.Server, "504": record.Server,
}

// F10 to F21: each fault of the mock server is, to this client, of the class that the manual tells, or is a reply.
func TestF10_F21_MockFaults(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/providers.md")
	must(t, err)
	for _, kind := range mockserver.Kinds {
		class, known := mockFaults[kind.Name]
		row := fmt.Sprintf("| `%s` | %s | %s |\n", kind.Name, kind.About, cmp.Or(string(class), "a reply"))
		if !known || !strings.Contains(string(manual), row) {
			t.Errorf("docs/providers.md lacks the row\n%s", row)
		}
	}
	each(t, func(t *testing.T, p *protocol) {
		for fault, class := range mockFaults {
			t.Run(fault, func(t *testing.T) { showFault(t, fault, class, p, false) })
			t.Run(fault+"/streamed", func(t *testing.T) { showFault(t, fault, class, p, true) })
		}
	})
}

func showFault(t *testing.T, fault string, class record.ErrorClass, p *protocol, stream bool) {
	if fault == "reset" { // only TCP knows resets
		address := serve(t, mocked(t, fault))
		judge(t, fault, class, p.connect(t, wire.Options{BaseURL: address + "/v1", Stream: stream}))
		return
	}
	synctest.Test(t, func(t *testing.T) {
		transport, stop := pipes(mocked(t, fault))
		defer stop()
		judge(t, fault, class, p.connect(t, wire.Options{BaseURL: "http://mock/v1", Transport: transport, Timeout: patience, Stream: stream}))
	})
}

// judge makes a call and compares what comes of it with what the manual says.
func judge(t *testing.T, fault string, class record.ErrorClass, m model.Model) {
	t.Helper()
	start := time.Now()
	reply, err := m.Call(t.Context(), hello())
	if took := time.Since(start); took > patience+time.Second {
		t.Errorf("the call took %v", took)
	}
	if class == "" {
		empty := fault == "empty" || fault == "refusal"
		if err != nil || (reply.Text == "") != empty || (fault == "refusal") != (reply.Finish == "content_filter") {
			t.Errorf("got %+v, %v", reply, err)
		}
		return
	}
	var failed *model.CallError
	if !errors.As(err, &failed) || failed.Cause.Class != class || (failed.RetryAfter == 2*time.Second) != strings.Contains(fault, "retry-after") {
		t.Errorf("got %+v, %v; want class %s", reply, err, class)
		return
	}
	wiretest.WithoutSecrets(t, err.Error())
}

// F24, F25: a stream that tells a larger usage first, whose parts come in disorder, or that ends for a reason that nobody knows: the
// text and the usage are those of a stream without a fault, or the error says what is wrong and has the usage, where the
// stream came to it.
func TestF24_F25_OddStreams(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		_, whole := p.says("hi")
		events := strings.SplitAfter(strings.TrimSuffix(whole, "\n\n"), "\n\n")
		// swapped has an event come before the one in front of it.
		swapped := func(i int) string {
			odd := slices.Clone(events)
			odd[i-1], odd[i] = odd[i], odd[i-1]
			return strings.Join(odd, "")
		}
		change := func(of, to string) string { return strings.Replace(whole, of, to, 1) }
		type odd struct{ stream, says string } // says is how the error begins; "": it is a reply
		for name, c := range map[string]map[string]odd{
			"chat": {
				"shrinks": {change("data: ", `data: {"choices":[],"usage":{"prompt_tokens":60,"completion_tokens":40}}`+"\n\ndata: "), ""},
				"swapped": {swapped(1), ""}, // chunks have no numbers
				"unknown": {change(`"stop"`, `"tired"`), ""},
			},
			"responses": {
				"shrinks": {change(`"in_progress","output":[]`, `"in_progress","output":[],"usage":{"input_tokens":60,"output_tokens":40}`), ""},
				"swapped": {swapped(2), ""}, // the last event has all of it
				"unknown": {
					strings.NewReplacer("response.completed", "response.incomplete", `completed","model"`,
						`incomplete","incomplete_details":{"reason":"tired"},"model"`).Replace(whole),
					"the answer is incomplete: tired",
				},
			},
			"messages": {
				"shrinks": {change(`"output_tokens":1}`, `"output_tokens":40}`), ""},
				"swapped": {swapped(3), "an event of the stream is not what the API promises: "},
				"unknown": {change(`"end_turn"`, `"tired"`), ""},
			},
		}[p.name] {
			if c.stream == whole {
				t.Errorf("%s: nothing is odd", name)
			}
			got, err := p.connect(t, wire.Options{BaseURL: serve(t, body(200, c.stream)), Stream: true}).Call(t.Context(), hello())
			var failed *model.CallError
			switch errors.As(err, &failed); {
			case c.says == "":
				if err != nil || got.Text != "hi" || (got.Usage.OutputTokens == 40) != (name == "shrinks") || (got.Finish == "tired") != (name == "unknown") {
					t.Errorf("%s: got %+v, %v", name, got, err)
				}
			case failed == nil || !strings.HasPrefix(failed.Cause.Message, c.says):
				t.Errorf("%s: got %+v, %v", name, got, err)
			case name == "unknown" && (failed.Reply == nil || failed.Reply.Usage.OutputTokens != 20):
				t.Errorf("%s: the usage is lost: %+v", name, failed.Reply)
			}
		}
	})
}

// F22, F25: forms that servers use, and another model than the one asked for, are accepted in each protocol.
func TestF22_F25_FormsInEachProtocol(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		whole, stream := p.says("hi")
		for name, c := range map[string]struct{ whole, stream string }{
			"kept alive":    {strings.Repeat("\n", 1000) + whole, strings.Repeat(": keep-alive\n\n", 1000) + stream},
			"CR LF":         {whole, strings.ReplaceAll(stream, "\n", "\r\n")},
			"no space":      {whole, strings.NewReplacer("data: ", "data:", "event: ", "event:").Replace(stream)},
			"another model": {strings.Replace(whole, `"model":"m"`, `"model":"another"`, 1), strings.ReplaceAll(stream, `"model":"m"`, `"model":"another"`)},
		} {
			for streams, answer := range map[bool]string{false: c.whole, true: c.stream} {
				reply, err := p.connect(t, wire.Options{BaseURL: serve(t, body(200, answer)), Stream: streams}).Call(t.Context(), hello())
				if err != nil || reply.Text != "hi" || (reply.Answered == "another") != strings.Contains(answer, `"another"`) {
					t.Errorf("%s, streamed %v: got %+v, %v", name, streams, reply, err)
				}
			}
		}
	})
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

func TestF20_ResetInsideAStream(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		_, stream := p.says("hi")
		begun := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(stream), stream)
		cut := begun[:len(begun)-len(stream)/3]
		shows(t, p.connect(t, wire.Options{BaseURL: serve(t, step{Instead: raw(cut)}), Stream: true}), record.Incomplete, "")
	})
}

// F18, F19, P10: silence before the answer and inside it ends the call, whether
// it is streamed or not; a server that continues, however slowly, is only ended by
// the call's own timeout.
func TestF19_Silence(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		const firstByte, idle = 20 * time.Second, 5 * time.Second
		_, stream := p.says("hi")
		events, trickle := strings.SplitAfter(stream, "\n\n"), slices.Repeat([]string{": wait\n"}, 100)
		for name, c := range map[string]struct {
			stream bool
			first  time.Duration // before anything is sent; negative: headers are sent first
			pieces []string
			pause  time.Duration // after each piece
			says   string
			after  time.Duration

			timeout time.Duration
		}{
			"no headers":                {false, time.Hour, nil, 0, "did not begin to answer within 20s", firstByte, time.Minute},
			"no headers, streamed":      {true, time.Hour, nil, 0, "did not begin to answer within 20s", firstByte, time.Minute},
			"headers and nothing":       {true, -time.Hour, nil, 0, "did not begin to answer within 20s", firstByte, time.Minute},
			"a whole answer, stalled":   {false, 0, []string{`{"half":[`, `]`}, time.Hour, "said nothing more for 5s", idle, time.Minute},
			"a stream, stalled":         {true, 0, []string{stream[:strings.Index(stream, "\n\n")+2], ""}, time.Hour, "said nothing more for 5s", idle, time.Minute},
			"a late beginning":          {true, 19 * time.Second, []string{stream}, 0, "", 19 * time.Second, time.Minute},
			"a trickle":                 {true, 0, trickle, 4 * time.Second, "longer than 1m0s", time.Minute, time.Minute},
			"a slow one":                {true, 0, events, 4 * time.Second, "", time.Duration(len(events)-2) * 4 * time.Second, time.Minute},
			"open behind the end":       {true, 0, []string{stream, ""}, time.Hour, "", 250 * time.Millisecond, time.Minute},
			"longer than the call":      {false, time.Hour, nil, 0, "longer than 10s", 10 * time.Second, 10 * time.Second},
			"a whole answer, trickling": {false, 0, append([]string{`{"half":[`}, trickle...), 4 * time.Second, "longer than 1m0s", time.Minute, time.Minute},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					transport, stop := pipes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						if c.first < 0 {
							_ = http.NewResponseController(w).Flush()
						}
						pause(r, max(c.first, -c.first))
						for _, piece := range c.pieces {
							fmt.Fprint(w, piece)
							_ = http.NewResponseController(w).Flush()
							pause(r, c.pause)
						}
					}))
					defer stop()
					m := p.connect(t, wire.Options{BaseURL: "http://mock", Transport: transport, Stream: c.stream, Timeout: c.timeout, FirstByte: firstByte, Idle: idle})
					begin := time.Now()
					_, err := m.Call(t.Context(), hello())
					took := time.Since(begin)
					if took < c.after || took > c.after+time.Second {
						t.Errorf("took %v, want %v", took, c.after)
					}
					var failed *model.CallError
					switch {
					case c.says == "" && err != nil:
						t.Errorf("got %v", err)
					case c.says != "" && (!errors.As(err, &failed) || failed.Cause.Class != record.CallTimeout || !strings.Contains(failed.Cause.Message, c.says)):
						t.Errorf("got %v, want %q", err, c.says)
					case failed != nil && failed.Duration != took:
						t.Errorf("the call took %v, its error says %v", took, failed.Duration)
					}
				})
			})
		}
	})
}

func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// As many connections as calls at once are opened, and used again, also where
// the server adds to a finished answer.
func TestConnectionsAreUsedAgain(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		whole, streamed := p.says("hi")
		for name, stream := range map[string]bool{"whole": false, "streamed": true} {
			t.Run(name, func(t *testing.T) {
				var connections atomic.Int64
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if stream {
						fmt.Fprint(w, streamed)
					} else {
						fmt.Fprint(w, whole)
					}
					_ = http.NewResponseController(w).Flush()
					fmt.Fprint(w, "\n\n")
				}))
				server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateNew {
						connections.Add(1)
					}
				}
				server.Start()
				t.Cleanup(server.Close)
				m := p.connect(t, wire.Options{BaseURL: server.URL, Stream: stream})
				const workers, calls = 256, 8
				var done sync.WaitGroup
				for range workers {
					done.Go(func() {
						for range calls {
							if _, err := m.Call(t.Context(), hello()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				done.Wait()
				if n := connections.Load(); n > workers*2 { // more only at the start, when all dial at once
					t.Errorf("%d connections for %d calls of %d workers", n, workers*calls, workers)
				}
			})
		}
	})
}

// A request is sent once, also where a connection that was used before breaks: who calls decides whether it is sent again, for it may
// have cost something.
func TestF16_ABrokenConnectionSendsNothingAgain(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		var asked atomic.Int64
		whole, _ := p.says("hi")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.Header.Get("Idempotency-Key") != "key" {
				t.Errorf("the key is %q", r.Header.Get("Idempotency-Key"))
			}
			if asked.Add(1)%2 == 0 {
				reset("")(w, r)
				return
			}
			fmt.Fprint(w, whole)
		}))
		defer server.Close()
		m, request := p.connect(t, wire.Options{BaseURL: server.URL}), hello()
		request.Idempotency = "key"
		for n := int64(1); n <= 4; n++ {
			_, err := m.Call(t.Context(), request)
			var failed *record.Error
			if broken := n%2 == 0; asked.Load() != n || broken != (errors.As(err, &failed) && failed.Class == record.Network) {
				t.Fatalf("call %d: %d requests, %v", n, asked.Load(), err)
			}
		}
	})
}

// heap is how much the process holds.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// F23, P12: an answer of 100 MB, or of the gigabytes of AGENTBENCH_HUGE, is
// given up at 32 MiB, and while it comes the process grows by at most twice that.
func TestF23_AHugeAnswerTakesLittleMemory(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		const margin = 2 << 20 // for the server, which is in this process
		megabytes := 100
		if gigabytes, err := strconv.Atoi(os.Getenv("AGENTBENCH_HUGE")); err == nil {
			megabytes = 1000 * gigabytes
		}
		piece := []byte(strings.Repeat("a", 1<<20))
		whole, streamed := p.says("@")
		whole, _, _ = strings.Cut(whole, "@")
		streamed, _, _ = strings.Cut(streamed, "@")
		for name, stream := range map[string]string{
			"whole": whole, "streamed": streamed, "an error": "",
		} {
			t.Run(name, func(t *testing.T) {
				var mu sync.Mutex
				var most uint64
				runtime.GC()
				before := heap()
				address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if name == "an error" {
						w.WriteHeader(500)
					}
					_, _ = io.WriteString(w, stream)
					for range megabytes {
						if _, err := w.Write(piece); err != nil {
							return
						}
						mu.Lock()
						most = max(most, heap())
						mu.Unlock()
					}
				}))
				_, err := p.connect(t, wire.Options{BaseURL: address, Stream: name == "streamed"}).Call(t.Context(), hello())
				var failed *record.Error
				if !errors.As(err, &failed) || failed.Class != record.BadResponse || !strings.Contains(failed.Message, "more than 33554432 bytes") {
					t.Errorf("got %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if most = max(most, heap()); most > before+2*wire.DefaultMaxResponse+margin {
					t.Errorf("the process grew by %d MiB", (most-before)>>20)
				}
				t.Logf("grew by %d MiB", (int64(most)-int64(before))>>20)
			})
		}
	})
}

// What a reply says is left of the limits reaches the gate, of each vendor in its names. What cannot be says nothing.
func TestF11b_WhatIsLeftOfTheLimits(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	each(t, func(t *testing.T, p *protocol) {
		for name, c := range map[string]struct {
			header map[string]string
			want   []model.Limit
		}{
			"nothing": {nil, nil},
			"of OpenAI": {map[string]string{
				"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s",
				"x-ratelimit-limit-tokens": "90000", "x-ratelimit-remaining-tokens": "149", "x-ratelimit-reset-tokens": "5s"},
				[]model.Limit{{Of: model.Requests, Left: 0, Until: at(6)}, {Of: model.Tokens, Left: 149, Until: at(10)}}},
			"of Anthropic": {map[string]string{
				"anthropic-ratelimit-requests-remaining": "49", "anthropic-ratelimit-requests-reset": "2026-01-02T03:04:06Z",
				"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-01-02T03:04:07Z",
				"anthropic-ratelimit-input-tokens-remaining": "7000", "anthropic-ratelimit-input-tokens-reset": "2026-01-02T03:04:08Z",
				"anthropic-ratelimit-output-tokens-remaining": "0", "anthropic-ratelimit-output-tokens-reset": "2026-01-02T03:04:09Z"},
				[]model.Limit{{Of: model.Requests, Left: 49, Until: at(6)}, {Of: model.Tokens, Until: at(7)}, {Of: model.InputTokens, Left: 7000, Until: at(8)}, {Of: model.OutputTokens, Until: at(9)}}},
			"without a reset":      {map[string]string{"x-ratelimit-remaining-requests": "0"}, nil},
			"a reset that is past": {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2026-01-02T03:04:05Z"}, nil},
			"negative":             {map[string]string{"x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "1s"}, nil},
			"nonsense":             {map[string]string{"x-ratelimit-remaining-tokens": "none", "x-ratelimit-reset-tokens": "1s", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, nil},
			"a negative reset":     {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "-1s"}, nil},
			"a fraction":           {map[string]string{"x-ratelimit-remaining-requests": "0.5", "x-ratelimit-reset-requests": "1s"}, nil},
		} {
			for _, stream := range []bool{false, true} {
				whole, streamed := p.says("hi")
				s := step{Header: c.header, Body: whole}
				if stream {
					s.Body = streamed
				}
				reply, err := p.connect(t, wire.Options{BaseURL: serve(t, s), Now: fixed, Stream: stream}).Call(t.Context(), hello())
				if err != nil || !slices.EqualFunc(reply.Limits, c.want, func(a, b model.Limit) bool {
					return a.Of == b.Of && a.Left == b.Left && a.Until.Equal(b.Until)
				}) {
					t.Errorf("%s: %v, %v; want %v", name, reply, err, c.want)
				}
			}
		}
	})
}
