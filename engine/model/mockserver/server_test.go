package mockserver

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

func fixed() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// The paths of the protocols.
const (
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	messagesPath  = "/v1/messages"
)

var paths = []string{chatPath, responsesPath, messagesPath}

// asking is a body that asks for something in the protocol of a path, with more fields.
func asking(path, text, more string) string {
	quoted, _ := json.Marshal(text)
	switch path {
	case responsesPath:
		return `{"model":"m","input":` + string(quoted) + more + `}`
	case messagesPath:
		more += `,"max_tokens":50`
	}
	return `{"model":"m","messages":[{"role":"user","content":` + string(quoted) + `}]` + more + `}`
}

const streamed = `,"stream":true`

// post sends a body to a server in this process.
func post(s *Server, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	if strings.HasPrefix(path, messagesPath) {
		r.Header.Set(versionHeader, "2023-06-01")
	}
	s.ServeHTTP(w, r)
	return w
}

// ask asks in chat completions, and gives the text of the answer and why it ended.
func ask(t *testing.T, s *Server, text, more string) (said, finish string) {
	t.Helper()
	w := post(s, chatPath, asking(chatPath, text, more))
	var c struct {
		Choices []struct {
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return c.Choices[0].Message.Content, c.Choices[0].Finish
}

func rulesOf(t *testing.T, text string) []Rule {
	t.Helper()
	rules, faults := ParseRules("r.yaml", []byte(text))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	return rules
}

func TestReplies(t *testing.T) {
	s := New(Options{Rules: rulesOf(t, `
- {match: "capital of (France|Italy)", replies: [{text: Paris, finish: length}, {city: Rome, n: 2}]}
- {match: "^think", replies: [{text: so, thinking: hm}]}
- one
- two
`)})
	for _, c := range []struct{ asked, text, finish string }{
		{"the capital of Italy?", "Paris", "length"}, {"and the capital of France?", `{"city":"Rome","n":2}`, "stop"},
		{"the capital of Italy?", "Paris", "length"}, {"think", "so", "stop"},
		{"x", "one", "stop"}, {"y", "two", "stop"}, {"x", "one", "stop"},
	} {
		if text, finish := ask(t, s, c.asked, ""); text != c.text || finish != c.finish {
			t.Errorf("%s: got %q, %s; want %q, %s", c.asked, text, finish, c.text, c.finish)
		}
	}
}

func TestEcho(t *testing.T) {
	for _, c := range []struct{ asked, more, want string }{
		{"hello", "", "hello"},
		{"hello", `,"response_format":{"type":"json_object"}`, `{"echo":"hello"}`},
		{`{"a": 1}`, `,"response_format":{"type":"json_object"}`, `{"a": 1}`},
		{"", `,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, "ab"},
		{"", `,"messages":[{"role":"system","content":"a"}]`, ""},
	} {
		if text, _ := ask(t, New(Options{}), c.asked, c.more); text != c.want {
			t.Errorf("%s%s: got %q, want %q", c.asked, c.more, text, c.want)
		}
	}
}

func TestRepliesKeepToTheLimitOfTheRequest(t *testing.T) {
	s := New(Options{Rules: []Rule{Texts("12345678é")}})
	for _, limit := range []string{"max_tokens", "max_completion_tokens"} {
		if text, finish := ask(t, s, "x", `,"`+limit+`":2`); text != "12345678" || finish != "length" {
			t.Errorf("%s: got %q, %s", limit, text, finish)
		}
	}
}

// A request that lacks what its protocol requires is refused in the form of the vendor.
func TestBadRequests(t *testing.T) {
	for _, c := range []struct{ path, body, says string }{
		{chatPath, ``, "not valid JSON"}, {chatPath, `[]`, "not valid JSON"}, {responsesPath, `{"model":"m"`, "not valid JSON"},
		{chatPath, `{"messages":[{"role":"user"}]}`, "model: field required"}, {responsesPath, `{"input":"x"}`, "model: field required"},
		{chatPath, `{"model":"m","messages":[]}`, "messages: field required"}, {responsesPath, `{"model":"m"}`, "input: field required"},
		{messagesPath, `{"model":"m","max_tokens":1}`, "messages: field required"},
		{messagesPath, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens: field required"},
		{messagesPath + "/count_tokens", `{"model":"m"}`, "messages: field required"},
		{chatPath, `{"model":"m","messages":[{"role":"user","content":7}]}`, "not valid JSON"},
	} {
		w := post(New(Options{}), c.path, c.body)
		var answer struct {
			Type  string
			Error struct{ Type, Message string }
		}
		err := json.Unmarshal(w.Body.Bytes(), &answer)
		shaped := (answer.Type == "error") == strings.HasPrefix(c.path, messagesPath) && answer.Error.Type == "invalid_request_error"
		if err != nil || w.Code != 400 || !shaped || !strings.Contains(answer.Error.Message, c.says) {
			t.Errorf("%s: status %d, %s", c.body, w.Code, w.Body)
		}
	}
}

// C.22: what a match would search for too long is refused, with both numbers.
func TestMatchesAreBounded(t *testing.T) {
	s := New(Options{Rules: rulesOf(t, `
- {match: "^two (.*?,){200}", steps: [one, two]}
- {match: "(.*?,){200}", replies: [one]}
- two
`)})
	if text, _ := ask(t, s, "a", ""); text != "two" {
		t.Errorf("got %s", text)
	}
	w := post(s, chatPath, asking(chatPath, strings.Repeat("a", 1_000_000), ""))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "instructions x 1000000 bytes =") {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
}

func TestOtherPathsAndKeys(t *testing.T) {
	s, locked := New(Options{Models: []string{"a", "b"}}), New(Options{Key: "right"})
	for _, c := range []struct {
		server       *Server
		method, path string
		header       string
		status       int
		says         string
	}{
		{s, "GET", "/v1/models", "", 200, `"id":"b","object":"model"`},
		{s, "GET", "/v1/models", "Anthropic-Version: 1", 200, `"first_id":"a","has_more":false,"last_id":"b"`},
		{s, "GET", "/v1/chat/completions", "", 404, "unknown GET /v1/chat/completions"},
		{s, "GET", "/", "Anthropic-Version: 1", 404, `"type":"not_found_error"`},
		{s, "POST", "/v1/messages/count_tokens", "", 200, `{"input_tokens":1}`},
		{s, "GET", "/stats", "", 200, `{"requests":0,"by_status":{},"by_fault":{},"in_flight":0,"max_in_flight":0}`},
		{locked, "POST", chatPath, "Authorization: Bearer right", 200, ""},
		{locked, "POST", chatPath, "Authorization: Bearer wrong", 401, `"code":"invalid_api_key"`},
		{locked, "POST", responsesPath, "", 401, `"code":"invalid_api_key"`},
		{locked, "POST", messagesPath, "X-Api-Key: right", 200, ""},
		{locked, "POST", messagesPath, "X-Api-Key: wrong", 401, `"type":"authentication_error"`},
		{locked, "POST", "/v1/messages/count_tokens", "", 401, "authentication_error"},
		{locked, "GET", "/v1/models", "Anthropic-Version: 1", 401, "authentication_error"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(asking(c.path, "x", "")))
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		if c.server.ServeHTTP(w, r); w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s, %s: status %d, %s", c.method, c.path, c.header, w.Code, w.Body)
		}
	}
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		post(New(Options{Latency: time.Second, Pause: time.Second, Chunk: 1}), chatPath, asking(chatPath, "ab", streamed))
		if took := time.Since(start); took != time.Second+4*time.Second { // role, a, b, finish, [DONE]
			t.Errorf("the stream took %v", took)
		}
	})
}

// A client that has read an answer finds it counted.
func TestStats(t *testing.T) {
	s := New(Options{Faults: parse(t, "at=2:429", "at=4:reset")})
	var handlers sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	for i, body := range []string{asking(chatPath, "a", ""), asking(chatPath, "a", ""), asking(chatPath, "b", streamed), asking(chatPath, "c", ""), `{}`} {
		if answer, err := http.Post(server.URL+chatPath, "application/json", strings.NewReader(body)); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		counted := 0
		for _, n := range s.Stats().Statuses {
			counted += n
		}
		if counted != i+1 {
			t.Errorf("after %d answers: %+v", i+1, s.Stats())
		}
	}
	handlers.Wait() // one may end later than its answer
	got := s.Stats()
	if got.MaxInFlight < 1 || got.MaxInFlight > 5 {
		t.Errorf("%d in flight", got.MaxInFlight)
	}
	got.MaxInFlight = 0
	want := Stats{Requests: 5, Statuses: map[string]int{"200": 2, "429": 1, "400": 1, "none": 1}, Faults: map[string]int{"429": 1, "reset": 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// However requests come, no more are taken than the limit allows, and one that waits as long as it is told is taken.
func TestTheLimitHolds(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		limit, start := Limit{Requests: rapid.IntRange(1, 600).Draw(t, "limit")}, fixed()
		now, taken := start, 0
		s := New(Options{Limit: limit, Now: func() time.Time { return now }})
		for _, gap := range rapid.SliceOf(rapid.IntRange(0, 500)).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			path := paths[gap%3]
			w := post(s, path, asking(path, "x", ""))
			if w.Code == 429 {
				wait, err := time.ParseDuration(w.Header().Get("Retry-After") + "s")
				if err != nil || wait == 0 {
					t.Fatal(w.Header())
				}
				now = now.Add(wait)
				w = post(s, path, asking(path, "x", ""))
			}
			if w.Code != 200 {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			taken++
		}
		if most := float64(limit.Requests) * (1 + now.Sub(start).Minutes()); float64(taken) > most+1e-6 {
			t.Fatalf("%d taken, at most %.3f allowed", taken, most)
		}
	})
}

// What is left of a limit is told in the words of the vendor.
func TestLimitsAreTold(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		path  string
		wait  string            // of the second request
		left  map[string]string // after the first one
	}{
		{Limit{Requests: 1}, chatPath, "60", map[string]string{
			"X-Ratelimit-Limit-Requests": "1", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "1m0s",
		}},
		{Limit{Tokens: 60}, messagesPath, "42", map[string]string{
			"Anthropic-Ratelimit-Tokens-Limit": "60", "Anthropic-Ratelimit-Tokens-Remaining": "9", "Anthropic-Ratelimit-Tokens-Reset": "2026-01-02T03:04:56Z",
		}},
	} {
		s := New(Options{Limit: c.limit, Now: fixed})
		first, second := post(s, c.path, asking(c.path, "a", "")), post(s, c.path, asking(c.path, "a", ""))
		for name, want := range c.left {
			if got := first.Header().Get(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if wait := second.Header().Get("Retry-After"); first.Code != 200 || second.Code != 429 || wait != c.wait {
			t.Errorf("%+v: status %d, then %d with %s", c.limit, first.Code, second.Code, wait)
		}
	}
}

func TestFilesOfReplies(t *testing.T) {
	for text, says := range map[string]string{
		`text`:                                   "r.yaml:1:1",
		`- {match: "(", replies: [x]}`:           "missing closing )",
		`- {match: x}`:                           "want replies or steps",
		`- {steps: [a], replies: [b]}`:           "want replies or steps",
		`- {reply: x}`:                           "hint: write replies",
		`- {replies: []}`:                        "r.yaml:1:13",
		`- {replies: [{tool_calls: [{id: a}]}]}`: "it has no name",
	} {
		_, faults := ParseRules("r.yaml", []byte(text))
		var told strings.Builder
		faults.Print(&told, nil)
		if faults.Err() == nil || !strings.Contains(told.String(), says) {
			t.Errorf("%s: %s", text, told.String())
		}
	}
}

// No body makes the server fail, and its answers are JSON.
func FuzzRequests(f *testing.F) {
	for _, path := range paths {
		f.Add(path, asking(path, "x", ""))
		f.Add(path, asking(path, "x", streamed))
	}
	f.Add(messagesPath, `{"model":"m","max_tokens":9,"messages":[{"content":[{"type":"tool_result","content":[{"text":null}]}]},{"content":null}]}`)
	f.Add(responsesPath, `{"model":"m","input":[{"type":"reasoning"},{"role":"user","content":[{}]}],"tools":[null]}`)
	f.Add(chatPath, `{"model":"m","messages":[{"role":"user","content":[{"text":null},{}]},{"role":"assistant","tool_calls":[{}]}],"max_tokens":-1}`)
	s := New(Options{Now: fixed})
	f.Fuzz(func(t *testing.T, path, body string) {
		if path != chatPath && path != responsesPath && path != messagesPath {
			return
		}
		w := post(s, path, body)
		if w.Code != 200 && w.Code != 400 || cmp.Or(w.Header().Get("Content-Type"), typeJSON) == typeJSON && !json.Valid(w.Body.Bytes()) {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
