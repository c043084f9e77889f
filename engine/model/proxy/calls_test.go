package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// pieces are the first and the last part of a stream of each protocol.
var pieces = map[model.Protocol][2]string{
	model.Chat: {
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n",
	},
	model.Responses: {
		"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n",
		"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}],\"usage\":{\"input_tokens\":30,\"output_tokens\":20}}}\n\n",
	},
	model.Messages: {
		"data: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":30,\"output_tokens\":1}}}\n\n",
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":20}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
	},
}

// streaming writes the parts of a stream, each once the one before was let go.
func streaming(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, part := range parts {
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
	}
}

// The server says nothing more until the program has what it said, not even half of an event.
func TestNoByteOfAStreamIsHeldBack(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		has := make(chan struct{})
		s := behindOf(t, p, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			half := len(pieces[p][0]) / 2
			streaming(w, pieces[p][0][:half])
			<-has
			streaming(w, pieces[p][0][half:], pieces[p][1])
		})
		response, err := s.send(t.Context(), p, body(p, "x", true, "hello"))
		must(t, err)
		defer response.Body.Close()
		first := make([]byte, len(pieces[p][0])/2)
		_, err = io.ReadFull(response.Body, first)
		must(t, err)
		close(has)
		rest, err := io.ReadAll(response.Body)
		if text := string(first) + string(rest); err != nil || text != pieces[p][0]+pieces[p][1] {
			t.Errorf("got %v, %s", err, text)
		}
		if c := s.Calls()[0]; c.Usage.OutputTokens != 20 || c.Usage.InputTokens != 30 || c.Usage.Estimated != 0 {
			t.Errorf("noted %+v", c.Usage)
		}
	})
}

// The next call finds the one before over, although its answer was there before the server ended it.
func TestACallThatWasAnsweredIsOver(t *testing.T) {
	m := behind(t, model.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		streaming(w, pieces[model.Chat][0], pieces[model.Chat][1])
		<-r.Context().Done() // the connection stays open for as long as the client wants
	}))
	var before [][]record.Call
	s := opened(t, Run{Models: named(m), Arrived: func(_ context.Context, a *Arrival) record.Reason {
		before = append(before, a.Before)
		return ""
	}})
	want := []byte(pieces[model.Chat][0] + pieces[model.Chat][1])
	for range 3 {
		response, err := s.send(t.Context(), model.Chat, body(model.Chat, "x", true, "hello"))
		must(t, err)
		defer response.Body.Close()
		_, err = io.ReadFull(response.Body, make([]byte, len(want)))
		must(t, err)
	}
	for n, calls := range before {
		if len(calls) != n || n > 0 && (calls[n-1].Ended == 0 || calls[n-1].Usage.OutputTokens != 20) {
			t.Errorf("call %d found %+v", n+1, calls)
		}
	}
}

func TestWhatIsNoCall(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		var asked atomic.Int32
		m := behind(t, p, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		other := Model{Name: "other", Model: m.Model, Speaks: "another"}
		s := New(Options{MostBody: 1000})
		must(t, s.Listen())
		defer s.Close()
		open := func() *Session {
			made, err := s.Open(t.Context(), Run{Models: []Name{{"coder", m}, {"wrong", &other}}, Arrived: func(context.Context, *Arrival) record.Reason {
				t.Error("it arrived")
				return ""
			}})
			must(t, err)
			return made
		}
		mine, over := open(), open()
		over.Close()
		for name, c := range map[string]struct {
			session *Session
			body    string
			status  int
			says    string
		}{
			"after the run's end": {over, body(p, "coder", false, "x"), 401, "the token is not valid"},
			"no token":            {&Session{BaseURL: mine.BaseURL}, body(p, "coder", false, "x"), 401, "the token is not valid"},
			"too long":            {mine, body(p, "coder", false, strings.Repeat("x", 1000)), 413, "the request is longer than 1000 bytes"},
			"no JSON":             {mine, `{"model":"coder"`, 400, "the body is not valid JSON"},
			"more than JSON":      {mine, `{"model":"coder"} x`, 400, "the body is not valid JSON"},
			"no object":           {mine, `["model"]`, 400, "the body is no JSON object"},
			"two models":          {mine, `{"model":"coder","mod\u0065l":"wrong"}`, 400, `the body has \"model\" twice`},
			"no model":            {mine, `{"model":7}`, 400, "the body has no model"},
			"unknown model":       {mine, body(p, "gpt", false, "x"), 404, `the model \"gpt\" does not exist`},
			"another protocol":    {mine, body(p, "wrong", false, "x"), 400, "the model other answers in the protocol another, not in " + string(p)},
		} {
			response, text := c.session.post(t, p, c.body)
			ofAnthropic := strings.Contains(text, `"type":"error"`)
			if response.StatusCode != c.status || !strings.Contains(text, `"message":"`+c.says) || !json.Valid([]byte(text)) || ofAnthropic != (p == model.Messages) {
				t.Errorf("%s: got %d %s", name, response.StatusCode, text)
			}
		}
		if asked.Load() > 0 || len(mine.Calls()) > 0 {
			t.Errorf("%d requests were sent, %d calls noted", asked.Load(), len(mine.Calls()))
		}
	})
}

func TestOtherRequests(t *testing.T) {
	m := behind(t, model.Messages, http.NotFoundHandler())
	s := opened(t, Run{Models: []Name{{"claude-*", m}, {"opus", m}, {"opus", m}}})
	ask := func(method, at, body string, headers ...string) (int, string) {
		response, err := sendTo(t.Context(), method, s.BaseURL+at, body, headers...)
		must(t, err)
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	key, version := []string{"X-Api-Key", s.Token}, []string{"X-Api-Key", s.Token, "Anthropic-Version", "2023-06-01"}
	for _, c := range []struct {
		method, at, body string
		headers          []string
		status           int
		says             string
	}{
		{"HEAD", "/", "", nil, 200, ""}, {"GET", "/", "", nil, 200, ""}, {"GET", "/v1/", "", nil, 200, ""}, {"GET", "/v1/models", "", nil, 401, "invalid_api_key"},
		{"GET", "/v1/models", "", key, 200, `"id":"coder","object":"model"`}, {"GET", "/v1/models", "", version, 200, `"first_id":"coder"`},
		{"GET", "/models/claude-x", "", key, 200, `"id":"claude-x"`}, {"GET", "/v1/models/gpt", "", version, 404, "not_found_error"},
		{"POST", "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"four words of text"}]}`, version, 200, `{"input_tokens":5}`},
		{"POST", "/v1/messages/count_tokens", `{"model":"m"`, version, 400, "invalid_request_error"}, {"POST", "/v1/embeddings", "{}", key, 404, "does not know POST /v1/embeddings"},
		{"GET", "/v1/messages", "", version, 404, "does not know GET"},
	} {
		if status, text := ask(c.method, c.at, c.body, c.headers...); status != c.status || !strings.Contains(text, c.says) || text != "" && text[0] != '{' {
			t.Errorf("%s %s: got %d %s", c.method, c.at, status, text)
		}
	}
	if len(s.Calls()) > 0 {
		t.Errorf("%d calls", len(s.Calls()))
	}
}

// A refused call is not answered before its session is closed; or it is, and so is every later one.
func TestACallOverTheLimit(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		var asked atomic.Int32
		mock := mockserver.New(mockserver.Options{})
		m := behind(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			mock.ServeHTTP(w, r)
		}))
		for _, refuse := range []bool{false, true} {
			asked.Store(0)
			arrived := make(chan *Arrival, 9)
			run := Run{Models: named(m), Limits: stop.CallLimits{Steps: 1}, Refuse: refuse, Arrived: func(_ context.Context, a *Arrival) record.Reason {
				arrived <- a
				return ""
			}}
			s := opened(t, run)
			if response, text := s.post(t, p, body(p, "x", false, "one")); response.StatusCode != 200 || (<-arrived).Refused != "" {
				t.Fatalf("got %d %s", response.StatusCode, text)
			}
			if refuse {
				status := http.StatusPaymentRequired
				if p == model.Responses {
					status = http.StatusBadRequest
				}
				for range 2 {
					response, text := s.post(t, p, body(p, "x", true, "one", "one", "two"))
					if a := <-arrived; response.StatusCode != status || !strings.Contains(text, `"`+LimitCode+`"`) || a.Refused != record.ReasonBudgetSteps {
						t.Errorf("got %d %s, refused for %q", response.StatusCode, text, a.Refused)
					}
				}
			} else {
				answered := make(chan error)
				go func() {
					response, err := s.send(t.Context(), p, body(p, "x", true, "one", "one", "two"))
					if err == nil {
						response.Body.Close()
					}
					answered <- err
				}()
				if a := <-arrived; a.Refused != record.ReasonBudgetSteps || len(a.Before) != 1 || a.Call.Step != 2 {
					t.Errorf("got %+v", a)
				}
				select {
				case err := <-answered:
					t.Errorf("it was answered: %v", err)
				default:
				}
				s.Close()
				if <-answered == nil {
					t.Error("it was answered")
				}
			}
			if calls := s.Calls(); len(calls) != 1 || asked.Load() != 1 {
				t.Errorf("%d calls, %d requests", len(calls), asked.Load())
			}
		}
	})
}

// A call waits while the run looks at it, and others arrive after it.
func TestTheRunDecidesBeforeACallIsMade(t *testing.T) {
	var asked atomic.Int32
	mock := mockserver.New(mockserver.Options{})
	m := behind(t, model.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		mock.ServeHTTP(w, r)
	}))
	var arriving atomic.Int32
	s := opened(t, Run{Models: named(m), Refuse: true, Arrived: func(_ context.Context, a *Arrival) record.Reason {
		if arriving.Add(1) != 1 {
			t.Error("two calls arrive at once")
		}
		defer arriving.Add(-1)
		if made := int(asked.Load()); made > len(a.Before) {
			t.Errorf("%d calls were made before call %d", made, len(a.Before)+1)
		}
		if a.Call.Step > 5 {
			return "enough"
		}
		return ""
	}})
	var together sync.WaitGroup
	var refused atomic.Int32
	for n := range 9 {
		together.Go(func() {
			if response, _ := s.post(t, model.Chat, body(model.Chat, "x", false, fmt.Sprint(n))); response.StatusCode == http.StatusPaymentRequired {
				refused.Add(1)
			}
		})
	}
	together.Wait()
	if refused.Load() != 4 || asked.Load() != 5 {
		t.Errorf("%d refused, %d made", refused.Load(), asked.Load())
	}
	last := time.Duration(0)
	for _, c := range s.Calls() {
		if c.Arrived <= last {
			t.Errorf("a call arrived at %v after one at %v", c.Arrived, last)
		}
		last = c.Arrived
	}
}

// The reservation is never what the program asks for, and at least as much as the longest reply of the run.
func TestWhatIsReserved(t *testing.T) {
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts("short", strings.Repeat("long", 9000), "short")}})
	m := behind(t, model.Messages, mock)
	for _, reserve := range []int64{0, 100, 50_000} {
		m.Reserve = reserve
		s := opened(t, Run{Models: named(m)})
		for n := range 3 {
			s.post(t, model.Messages, body(model.Messages, "x", false, fmt.Sprint(n)))
		}
		least := max(reserve, 1)
		if reserve == 0 {
			least = DefaultReserve
		}
		for n, c := range s.Calls() {
			want := least
			if n == 2 {
				want = max(least, 9000)
			}
			if c.Reserved == nil || c.Reserved.OutputTokens != want || c.Reserved.InputTokens < 20 || c.Reserved.Calls != 1 {
				t.Errorf("reserve_output %d, call %d: %+v", reserve, n+1, c.Reserved)
			}
		}
	}
}

// A program that goes away ends the call at the server; what it may have used counts.
func TestAProgramThatGoesAway(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		cancelled := make(chan struct{})
		suite := pace.NewBudget(pace.Suite, pace.Limits{Tokens: 1_000_000})
		m := behind(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			streaming(w, pieces[p][0])
			<-r.Context().Done()
			close(cancelled)
		}))
		var free pace.LimitOptions
		m.Model = pace.LimitRun(pace.Limit(m.Model, suite, free), free)
		over := make(chan *Ended, 1)
		s := opened(t, Run{Models: named(m), Ended: func(e *Ended) { over <- e }})
		ctx, leave := context.WithCancel(t.Context())
		response, err := s.send(ctx, p, body(p, "x", true, "hello"))
		must(t, err)
		defer response.Body.Close()
		_, err = io.ReadFull(response.Body, make([]byte, len(pieces[p][0])))
		must(t, err)
		leave()
		<-cancelled
		e := <-over
		if e.Reply != nil || e.Call.Error == nil || e.Call.Charged == nil || *e.Call.Charged != *e.Call.Reserved || e.Call.Ended == 0 {
			t.Errorf("noted %+v, charged %+v", e.Call, e.Call.Charged)
		}
		if _, doubt, reserved := suite.Books(); doubt.OutputTokens < DefaultReserve || reserved != (record.Usage{}) {
			t.Errorf("%+v in doubt, %+v reserved", doubt, reserved)
		}
	})
}

// failing answers so often with a fault.
func failing(times int, fault, then http.HandlerFunc) http.Handler {
	var asked atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if int(asked.Add(1)) <= times {
			fault(w, r)
			return
		}
		then(w, r)
	})
}

// retrying tries a model again at once.
func retrying(m *Model) *Model {
	again := *m
	again.Model = pace.Retry(m.Model, pace.RetryOptions{Retries: 2, Random: func() float64 { return 1 }})
	return &again
}

func TestFaultsOfTheServer(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		good := func(w http.ResponseWriter, _ *http.Request) { streaming(w, pieces[p][0], pieces[p][1]) }
		whole := pieces[p][0] + pieces[p][1]
		told := func(r *http.Request) string { return r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") }
		status := func(status int, text string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After-Ms", "1")
				w.Header().Set("X-Told", told(r))
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text+told(r))
			}
		}
		cut := func(w http.ResponseWriter, _ *http.Request) {
			streaming(w, pieces[p][0])
			panic(http.ErrAbortHandler)
		}
		event := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Told", told(r))
			key := strings.TrimPrefix(told(r), "Bearer ")
			streaming(w, pieces[p][0], "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"the key "+key[:9], key[9:]+" is not valid\"}}\n\n")
		}
		nothing := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
		odd := func(w http.ResponseWriter, _ *http.Request) {
			streaming(w, pieces[p][0], "data: {\"type\":\"content_block_stop\",\"index\":7,\"choices\":8,\"output_index\":\"x\"}\n\n", "data: what follows\n\n")
		}
		for name, c := range map[string]struct {
			times    int
			fault    http.HandlerFunc
			status   int
			says     string
			broken   bool
			attempts int
			class    record.ErrorClass
		}{
			"refused once":          {1, status(503, "busy "), 200, whole, false, 2, ""},
			"refused always":        {9, status(503, "busy "), 503, "busy ", false, 3, record.Server},
			"refused for good":      {9, status(400, "bad "), 400, "bad ", false, 1, record.InvalidRequest},
			"its key refused":       {9, status(401, "not "), 401, "not ", false, 1, record.Auth},
			"refused with 200":      {9, status(200, `{"error":{"message":"bad `), 200, "bad ", false, 3, record.BadResponse},
			"refused by an event":   {9, event, 200, "the key [redacted] is not valid", false, 1, record.Incomplete},
			"cut before a byte":     {1, nothing, 200, whole, false, 2, ""},
			"cut in mid-stream":     {1, cut, 200, pieces[p][0], true, 1, record.Incomplete},
			"not what was promised": {1, odd, 200, "what follows", false, 1, record.BadResponse},
		} {
			s := opened(t, Run{Models: named(retrying(behind(t, p, failing(c.times, c.fault, good))))})
			response, err := s.send(t.Context(), p, body(p, "x", true, "hello"))
			must(t, err)
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode != c.status || !strings.Contains(string(text), c.says) || (err != nil) != c.broken {
				t.Errorf("%s: got %d %s, %v", name, response.StatusCode, text, err)
			}
			if told := string(text) + fmt.Sprint(response.Header); strings.Contains(told, realKey) {
				t.Errorf("%s: the program sees %s", name, told)
			}
			call := s.Calls()[0]
			class := record.ErrorClass("")
			if call.Error != nil {
				class = call.Error.Class
			}
			if class != c.class || max(1, call.Attempts) != c.attempts || call.FirstByte == 0 {
				t.Errorf("%s: noted %s, %+v", name, class, call)
			}
		}
	})
}

func TestAServerThatIsNotThere(t *testing.T) {
	m := behind(t, model.Chat, http.NotFoundHandler())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listener.Close()
	m.Model, err = openai.New(wire.Options{Name: "m", BaseURL: "http://" + listener.Addr().String(), Key: realKey})
	must(t, err)
	s := opened(t, Run{Models: named(m)})
	response, text := s.post(t, model.Chat, body(model.Chat, "x", true, "hello"))
	if c := s.Calls()[0]; response.StatusCode != http.StatusBadGateway || !strings.Contains(text, "refused") || c.Error.Class != record.Network || c.Unsent != 1 || c.FirstByte != 0 {
		t.Errorf("got %d %s, noted %+v", response.StatusCode, text, c)
	}
}

// The suite's budget refuses a call: it is none, and the program is told what it is told of limits.
func TestTheBudgetOfTheSuite(t *testing.T) {
	m := behind(t, model.Chat, mockserver.New(mockserver.Options{}))
	var free pace.LimitOptions
	m.Model = pace.LimitRun(pace.Limit(m.Model, pace.NewBudget(pace.Suite, pace.Limits{Calls: 1}), free), free)
	var over []*Ended
	s := opened(t, Run{Models: named(m), Refuse: true, Ended: func(e *Ended) { over = append(over, e) }})
	s.post(t, model.Chat, body(model.Chat, "x", false, "one"))
	response, text := s.post(t, model.Chat, body(model.Chat, "x", false, "two"))
	if response.StatusCode != http.StatusPaymentRequired || !strings.Contains(text, string(record.ReasonSuiteBudget)) || len(s.Calls()) != 1 ||
		len(over) != 2 || !errors.Is(over[1].NotMade, model.ErrRefused) {
		t.Errorf("got %d %s, %d calls", response.StatusCode, text, len(s.Calls()))
	}
}

// Scripts answer in all protocols, with the replies of the conversation, whatever arrives in between.
func TestScriptsOfConversations(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		reply := func(text string) spec.Answer { return spec.Answer{Text: text} }
		script := &offline.Script{Name: "coder", Conversations: source.Named[spec.Replies]{
			{Key: "main", Value: spec.Replies{{ToolCalls: []spec.AnswerCall{{Name: "shell", Arguments: `{"cmd":"ls"}`}}}, reply("done")}},
			{Key: "sub*", Value: spec.Replies{reply("found"), reply("nothing")}}, {Key: "side", Value: spec.Replies{reply("a title")}},
		}}
		var free pace.LimitOptions
		m := &Model{Name: "coder", Model: pace.LimitRun(mockserver.Speaking(script, time.Now), free)}
		s := opened(t, Run{Models: named(m), Program: "claude"})
		for i, c := range []struct{ tools, agent, says string }{
			{"", "", "a title"}, {"tools", "", "shell"}, {"tools", "7", "found"}, {"tools", "8", "found"}, {"tools", "", "done"}, {"tools", "7", "nothing"},
		} {
			asked := body(p, "x", i%2 == 0, fmt.Sprint(i))
			if c.tools != "" {
				asked = strings.Replace(asked, `"model"`, `"tools":[{"name":"shell"}],"model"`, 1)
			}
			response, text := s.post(t, p, asked, "X-Claude-Code-Agent-Id", c.agent)
			if response.StatusCode != 200 || !strings.Contains(text, c.says) || i%2 == 0 != strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("call %d: got %d %s", i+1, response.StatusCode, text)
			}
		}
		// Titles of another conversation go on in the same list.
		if response, text := s.post(t, p, body(p, "x", false, "a title"), "X-Claude-Code-Agent-Id", "7"); response.StatusCode != http.StatusBadRequest || !strings.Contains(text, `conversation \"side\"; call 2 has none`) {
			t.Errorf("got %d %s", response.StatusCode, text)
		}
		response, text := s.post(t, p, strings.Replace(body(p, "x", false, "more"), `"model"`, `"tools":[{"name":"shell"}],"model"`, 1))
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(text, `has 2 replies for the conversation \"main\"; call 3 has none`) {
			t.Errorf("got %d %s", response.StatusCode, text)
		}
		for i, c := range s.Calls() {
			if i < 6 && (c.Usage.Calls != 1 || c.Usage.OutputTokens == 0 || c.Ended == 0) {
				t.Errorf("call %d: %+v", i+1, c)
			}
		}
	})
}

// With a list, replies come in the order of calls; a call that is sent again gets what it would have got.
func TestScriptsInOrder(t *testing.T) {
	script := &offline.Script{Name: "coder", All: []spec.Answer{{Text: "one"}, {Text: "two"}}}
	s := opened(t, Run{Models: named(&Model{Name: "coder", Model: mockserver.Speaking(script, time.Now)})})
	for _, want := range []string{"one", "two"} {
		if _, text := s.post(t, model.Chat, body(model.Chat, "x", false, want)); !strings.Contains(text, `"content":"`+want+`"`) {
			t.Errorf("got %s", text)
		}
	}
	response, text := s.post(t, model.Messages, `{"model":"x","messages":[]}`)
	if response.StatusCode != 400 || !strings.Contains(text, "messages: field required") {
		t.Errorf("got %d %s", response.StatusCode, text)
	}
}

// Many sessions at once leave nothing behind: neither goroutines nor connections.
func TestManySessions(t *testing.T) {
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts(strings.Repeat("a reply ", 50))}})
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	m := behind(t, model.Chat, mock)
	s := New(Options{})
	must(t, s.Listen())
	socket := filepath.Join(t.TempDir(), "proxy.sock")
	must(t, s.ListenUnix(socket))
	before := runtime.NumGoroutine()
	unix := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	var together sync.WaitGroup
	for n := range 64 {
		together.Go(func() {
			session, err := s.Open(t.Context(), Run{Models: named(m), Limits: stop.CallLimits{Steps: 5}})
			if err != nil {
				t.Error(err)
				return
			}
			client := &http.Client{Transport: transport}
			if n%2 == 0 {
				client.Transport = unix
			}
			for i := range 6 {
				request, _ := http.NewRequestWithContext(t.Context(), "POST", session.BaseURL+"/v1/chat/completions", strings.NewReader(body(model.Chat, "x", i%2 == 0, fmt.Sprint(i))))
				request.Header.Set("Authorization", "Bearer "+session.Token)
				if i == 5 { // it is refused, and left without an answer
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					go func() { _, _ = client.Do(request.WithContext(ctx)) }()
					break
				}
				response, err := client.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
			if calls := session.Calls(); len(calls) != 5 {
				t.Errorf("%d calls", len(calls))
			}
			session.Close()
		})
	}
	together.Wait()
	transport.CloseIdleConnections()
	unix.CloseIdleConnections()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Open(t.Context(), Run{}); err == nil {
		t.Error("a closed server opens a session")
	}
	// What is left are the connections to the mock server, which belong to the test: two goroutines on each side and one that accepts.
	for range 1000 {
		if runtime.NumGoroutine() <= before+64*3 {
			break
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("proxy.(*Session)")) {
		t.Errorf("left behind:\n%s", stacks)
	}
}

// However long a stream is, little of it is kept.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("not in short tests")
	}
	const length = 256 << 20
	part := []byte(": " + strings.Repeat("x", 64<<10) + "\n\n" + pieces[model.Chat][0])
	m := behind(t, model.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for sent := 0; sent < length; sent += len(part) {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
		streaming(w, pieces[model.Chat][1])
	}))
	s := opened(t, Run{Models: named(m)})
	response, err := s.send(t.Context(), model.Chat, body(model.Chat, "x", true, "hello"))
	must(t, err)
	defer response.Body.Close()
	var most uint64
	read, buffer := 0, make([]byte, 1<<20)
	for n := 0; ; n++ {
		got, err := response.Body.Read(buffer)
		read += got
		if n%512 == 0 {
			var now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if read < length || most > 48<<20 {
		t.Errorf("%d MiB of %d came, with %d MiB in memory", read>>20, length>>20, most>>20)
	}
}

// A limit of an iteration refuses until the next one begins. What it refuses leaves nothing behind: the next call has the number,
// the reply of the script and the kind that it would have had.
func TestALimitOfAnIteration(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		var arrived []*Arrival
		script := &offline.Script{Name: "m", All: []spec.Answer{{Text: "first"}, {Text: "second"}, {Text: "third"}}}
		run := Run{
			Models:    named(&Model{Name: "m", Model: mockserver.Speaking(script, time.Now)}),
			Iteration: stop.CallLimits{Steps: 1}, Refuse: true,
			Arrived: func(_ context.Context, a *Arrival) record.Reason { arrived = append(arrived, a); return a.Refused },
		}
		s := opened(t, run)
		for i, want := range []string{"first", "second", "third"} {
			s.Begin(i+1, nil)
			response, text := s.post(t, p, body(p, "x", false, "one"))
			if response.StatusCode != 200 || !strings.Contains(text, want) {
				t.Errorf("iteration %d: got %d %s", i+1, response.StatusCode, text)
			}
			for range 2 {
				if response, text = s.post(t, p, body(p, "x", false, "one")); response.StatusCode == 200 {
					t.Errorf("iteration %d: a call beyond the limit was answered: %s", i+1, text)
				}
			}
		}
		for i, a := range arrived {
			refused := i%3 > 0
			if (a.Refused == record.ReasonMaxSteps) != refused || !refused && (a.Call.Step != i/3+1 || a.Call.Kind != record.MainCall) {
				t.Errorf("call %d: %s, step %d, refused for %q", i+1, a.Call.Kind, a.Call.Step, a.Refused)
			}
		}
		if len(arrived) != 9 || len(s.Calls()) != 3 {
			t.Errorf("%d calls arrived, %d were made", len(arrived), len(s.Calls()))
		}
	})
}
