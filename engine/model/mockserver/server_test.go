package mockserver

import (
	"encoding/json"
	"fmt"
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

func asking(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"model":"m","messages":[{"role":"system","content":"be kind"},{"role":"user","content":` + string(quoted) + `}]}`
}

func streaming(body string) string {
	return strings.TrimSuffix(body, "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
}

// ask sends a body to a server in this process.
func ask(s *Server, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
	return w
}

// said is the content of a whole answer.
func said(t *testing.T, w *httptest.ResponseRecorder) (text, finish string) {
	t.Helper()
	var c completion
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	text, _ = c.Choices[0].Message.Content.(string)
	return text, *c.Choices[0].Finish
}

func TestReplies(t *testing.T) {
	rules, faults := ParseRules("replies.yaml", []byte(`
- {match: "capital of (France|Italy)", reply: [Paris, {city: Rome, n: 2}], finish: length}
- {match: "^think", reply: so, thinking: hm}
- one
- two
`))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	s := New(Options{Rules: rules})
	for _, c := range []struct{ asked, text, finish string }{
		{"the capital of Italy?", "Paris", "length"},
		{"and the capital of France?", `{"city":"Rome","n":2}`, "length"},
		{"the capital of Italy?", "Paris", "length"},
		{"think", "so", "stop"},
		{"x", "one", "stop"}, {"y", "two", "stop"}, {"x", "one", "stop"},
	} {
		if text, finish := said(t, ask(s, asking(c.asked))); text != c.text || finish != c.finish {
			t.Errorf("%s: got %q, %s; want %q, %s", c.asked, text, finish, c.text, c.finish)
		}
	}
}

func TestEcho(t *testing.T) {
	for body, want := range map[string]string{
		asking("hello"): "hello",
		strings.Replace(asking("hello"), `{"model"`, `{"response_format":{"type":"json_object"},"model"`, 1):           `{"echo":"hello"}`,
		strings.Replace(asking(`{"a": 1}`), `{"model"`, `{"response_format":{"type":"json_object"},"model"`, 1):        `{"a": 1}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`: "ab",
		`{"model":"m","messages":[{"role":"system","content":"a"}]}`:                                                   "",
	} {
		if text, _ := said(t, ask(New(Options{}), body)); text != want {
			t.Errorf("%s: got %q, want %q", body, text, want)
		}
	}
}

func TestRepliesKeepToTheLimitOfTheRequest(t *testing.T) {
	s := New(Options{Rules: []Rule{Texts("12345678é")}})
	for limit, want := range map[string]string{"max_tokens": "12345678", "max_completion_tokens": "12345678"} {
		body := strings.Replace(asking("x"), `{`, `{"`+limit+`":2,`, 1)
		if text, finish := said(t, ask(s, body)); text != want || finish != "length" {
			t.Errorf("%s: got %q, %s", limit, text, finish)
		}
	}
}

func TestBadRequests(t *testing.T) {
	for body, says := range map[string]string{
		``:                               "could not parse",
		`{"model":"m"`:                   "could not parse",
		`[]`:                             "could not parse",
		`{"messages":[{"role":"user"}]}`: "model parameter",
		`{"model":"m"}`:                  "'messages'",
		`{"model":"m","messages":[]}`:    "empty array",
		`{"model":"m","messages":[{"role":"user","content":7}]}`: "could not parse",
	} {
		w := ask(New(Options{}), body)
		var answer map[string]apiError
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 400 || !strings.Contains(answer["error"].Message, says) {
			t.Errorf("%s: status %d, %s", body, w.Code, w.Body)
		}
	}
}

// C.22: what a match would search for too long is refused, with both numbers.
func TestMatchesAreBounded(t *testing.T) {
	rules, faults := ParseRules("replies.yaml", []byte(`
- {match: "^two (.*?,){200}", steps: [one, two]}
- {match: "(.*?,){200}", reply: one}
- two
`))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	s := New(Options{Rules: rules})
	if text, _ := said(t, ask(s, asking("a"))); text != "two" {
		t.Errorf("got %s", text)
	}
	w := ask(s, asking(strings.Repeat("a", 1_000_000)))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "instructions x 1000000 bytes =") {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
}

func TestOtherPaths(t *testing.T) {
	s := New(Options{Models: []string{"a", "b"}})
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/v1/models", 200, `"id":"b","object":"model"`},
		{"POST", "/reset", 204, ""},
		{"GET", "/v1/chat/completions", 404, "Invalid URL (GET /v1/chat/completions)"},
		{"GET", "/", 404, `"error"`},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: status %d, %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

// A stream tells, piece by piece, what a whole answer tells at once.
func TestStreamsSayTheSame(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		reply := Reply{Text: rapid.String().Draw(t, "text"), Thinking: rapid.String().Draw(t, "thinking")}
		size := rapid.IntRange(1, 9).Draw(t, "size")
		c := New(Options{}).complete(&request{model: "m"}, reply).completion()
		var text, thinking, finish string
		for _, chunk := range c.chunks(size) {
			if chunk.ID != c.ID || chunk.Usage != nil || len(chunk.Choices) != 1 {
				t.Fatalf("chunk %+v", chunk)
			}
			part, _ := chunk.Choices[0].Delta.Content.(string)
			text, thinking = text+part, thinking+chunk.Choices[0].Delta.Thinking
			if chunk.Choices[0].Finish != nil {
				finish += *chunk.Choices[0].Finish
			}
		}
		if text != reply.Text || thinking != reply.Thinking || finish != "stop" {
			t.Fatalf("got %q, %q, %q", text, thinking, finish)
		}
	})
}

func TestStream(t *testing.T) {
	got := ask(New(Options{Now: fixed, Chunk: 4}), streaming(asking("hello")))
	if got.Header().Get("Content-Type") != "text/event-stream" || !got.Flushed {
		t.Errorf("header %v", got.Header())
	}
	const form = `data: {"id":"%s","object":"chat.completion.chunk","created":1767323045,"model":"m","choices":[%s]%s}` + "\n\n"
	var id completion
	_ = json.Unmarshal([]byte(strings.TrimPrefix(strings.SplitN(got.Body.String(), "\n", 2)[0], "data: ")), &id)
	want := ""
	for _, delta := range []string{
		`{"role":"assistant","content":""},"logprobs":null,"finish_reason":null`,
		`{"content":"hell"},"logprobs":null,"finish_reason":null`, `{"content":"o"},"logprobs":null,"finish_reason":null`,
		`{},"logprobs":null,"finish_reason":"stop"`,
	} {
		want += fmt.Sprintf(form, id.ID, `{"index":0,"delta":`+delta+`}`, "")
	}
	want += fmt.Sprintf(form, id.ID, "", `,"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`) + "data: [DONE]\n\n"
	if got.Body.String() != want {
		t.Errorf("got\n%swant\n%s", got.Body, want)
	}
}

// With the same seed, equal requests get equal answers, in whatever order they
// come among others.
func TestAnswersDoNotDependOnTheOrder(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		asked := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(t, "asked")
		shuffled := rapid.Permutation(asked).Draw(t, "shuffled")
		if a, b := answersTo(asked), answersTo(shuffled); !reflect.DeepEqual(a, b) {
			t.Fatalf("%v\n%v", a, b)
		}
	})
}

// answersTo are the answers to each request in the order of its repetitions.
func answersTo(asked []int) map[int][]string {
	fault, _ := ParseRated("share=0.4:500")
	s := New(Options{Now: fixed, Seed: 7, Faults: []Rated{fault}})
	answers := map[int][]string{}
	for _, n := range asked {
		answers[n] = append(answers[n], ask(s, asking(fmt.Sprint(n))).Body.String())
	}
	return answers
}

// A request that comes again is another draw: a retry may succeed.
func TestRepeatedRequestsAreDrawnAnew(t *testing.T) {
	statuses := map[int]int{}
	fault, err := ParseRated("share=0.5:500")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Faults: []Rated{fault}})
	for range 40 {
		statuses[ask(s, asking("x")).Code]++
	}
	if statuses[200] < 5 || statuses[500] < 5 {
		t.Errorf("got %v", statuses)
	}
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var drawn [2]time.Duration
		for i := range drawn {
			start := time.Now()
			ask(New(Options{Latency: Latency{time.Second, 0.5}, Seed: uint64(i)}), asking("x"))
			drawn[i] = time.Since(start)
		}
		if drawn[0] == drawn[1] || drawn[0] < time.Second/10 || drawn[0] > 10*time.Second {
			t.Errorf("drawn %v", drawn)
		}
		start := time.Now()
		ask(New(Options{Latency: Latency{Median: time.Second}, Pause: time.Second, Chunk: 1}), streaming(asking("ab")))
		if took := time.Since(start); took != time.Second+5*time.Second { // role, a, b, finish, usage, [DONE]
			t.Errorf("the stream took %v", took)
		}
	})
}

func TestLatencyIsLognormal(t *testing.T) {
	below := 0
	for i := range 2000 {
		if (Latency{time.Second, 1}).of(3, &request{hash: uint64(i)}) < time.Second {
			below++
		}
	}
	if below < 900 || below > 1100 {
		t.Errorf("%d of 2000 are below the median", below)
	}
}

func TestStats(t *testing.T) {
	schedule, err := ParseSchedule("ok,429,ok,reset")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Schedule: schedule, Limits: Limits{Requests: 5}, Now: fixed})
	server := httptest.NewUnstartedServer(s)
	s.Track(server.Config)
	server.Start()
	defer server.Close()
	for _, body := range []string{asking("a"), asking("a"), streaming(asking("b")), asking("c"), asking("d"), asking("e"), `{}`} {
		if answer, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body)); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
	got := s.Stats(1)
	if got.Connections < 2 {
		t.Errorf("%d connections", got.Connections)
	}
	got.Connections, got.Open = 0, 0 // the server notices later that one was closed
	want := Stats{
		Requests: 7, Statuses: map[string]int{"200": 3, "429": 2, "400": 1, "none": 1}, Faults: map[string]int{"429": 1, "reset": 1},
		Limited: 1, Streams: 1, MaxInFlight: 1, Distinct: 5, Duplicates: 1, Prompts: got.Prompts,
	}
	if !reflect.DeepEqual(got, want) || len(got.Prompts) != 1 || got.Prompts[0].Times != 2 {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	s.reset()
	if got := s.Stats(1); got.Requests != 0 || len(got.Prompts) != 0 || got.MaxInFlight != 0 {
		t.Errorf("after a reset: %+v", got)
	}
	if w := ask(s, asking("a")); w.Code != 200 {
		t.Errorf("the schedule did not start anew: %d", w.Code)
	}
}

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Latency: Latency{Median: time.Second}})
		var done sync.WaitGroup
		for i := range 10 {
			done.Go(func() { ask(s, asking(fmt.Sprint(i))) })
		}
		synctest.Wait()
		if got := s.Stats(0); got.InFlight != 10 || got.Requests != 10 {
			t.Errorf("in flight: %+v", got)
		}
		done.Wait()
		if got := s.Stats(0); got.InFlight != 0 || got.MaxInFlight != 10 {
			t.Errorf("after: %+v", got)
		}
	})
}

// lastWrite keeps how many requests were in flight at the last write.
type lastWrite struct {
	http.ResponseWriter
	server   *Server
	inFlight int
}

func (w *lastWrite) Write(text []byte) (int, error) {
	w.inFlight = w.server.Stats(0).InFlight
	return w.ResponseWriter.Write(text)
}

func (w *lastWrite) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A client that has read an answer finds it counted.
func TestAnswersAreCountedBeforeTheyEnd(t *testing.T) {
	for _, body := range []string{asking("x"), streaming(asking("x")), `{}`} {
		s := New(Options{})
		w := &lastWrite{httptest.NewRecorder(), s, -1}
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		if w.inFlight != 0 {
			t.Errorf("%s: %d in flight at the last write", body, w.inFlight)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(asking("x"))
	f.Add(streaming(asking("x")))
	f.Add(`{"model":"m","messages":[{"content":[{"text":null}]}],"max_tokens":-1}`)
	s := New(Options{Now: fixed})
	f.Fuzz(func(t *testing.T, body string) {
		if w := ask(s, body); w.Code != 200 && w.Code != 400 {
			t.Errorf("status %d", w.Code)
		}
	})
}

func TestFilesOfReplies(t *testing.T) {
	got, faults := ParseRules("r.yaml", []byte(`- {match: weather, tools: [{name: lookup, arguments: {b: [1, null], a: x}}, {name: none}]}`))
	want := []Reply{{Tools: []Tool{{Name: "lookup", Arguments: `{"b":[1,null],"a":"x"}`}, {Name: "none", Arguments: "{}"}}}}
	if faults.Err() != nil || !reflect.DeepEqual(got[0].Replies, want) || got[0].Match.String() != "weather" {
		t.Errorf("got %+v (%v)", got, faults)
	}
}

func TestFilesOfSteps(t *testing.T) {
	got, faults := ParseRules("r.yaml", []byte(`
- match: weather
  steps:
  - {thinking: hm, tools: [{id: mine, name: lookup, arguments: "not JSON"}]}
  - reply: {rain: true}
  - done
- else
`))
	want := []Reply{{Thinking: "hm", Tools: []Tool{{"mine", "lookup", "not JSON"}}}, {Text: `{"rain":true}`}, {Text: "done"}}
	if faults.Err() != nil || len(got) != 2 || !got[0].Steps || got[1].Steps || !reflect.DeepEqual(got[0].Replies, want) {
		t.Errorf("got %+v (%v)", got, faults)
	}
}

func TestFilesOfRepliesWithFaults(t *testing.T) {
	for text, says := range map[string]string{
		`text`:                        "r.yaml:1:1",
		`- {match: "(", reply: x}`:    "missing closing )",
		`- {match: x}`:                "want something to reply",
		`- {replay: x}`:               `did you mean "reply"?`,
		`- {reply: []}`:               "r.yaml:1:11",
		`- {tools: [{arguments: 1}]}`: "name",
		`- {steps: []}`:               "r.yaml:1:11",
		`- {steps: [{finish: stop}]}`: "want something to reply",
		`- {steps: [a], reply: b}`:    "want steps or a reply, not both",
		`- {steps: [a], finish: b}`:   "want steps or a reply, not both",
	} {
		_, faults := ParseRules("r.yaml", []byte(text))
		if faults.Err() == nil {
			t.Errorf("%s: no fault", text)
			continue
		}
		var told strings.Builder
		faults.Print(&told, nil)
		if !strings.Contains(told.String(), says) {
			t.Errorf("%s: %s", text, told.String())
		}
	}
}

// BenchmarkAnswer is what an answer costs the server itself.
func BenchmarkAnswer(b *testing.B) {
	for name, body := range map[string]string{"whole": asking("hello"), "stream": streaming(asking("hello"))} {
		b.Run(name, func(b *testing.B) {
			s := New(Options{Latency: Latency{Sigma: 0.5}, Limits: Limits{Requests: 1 << 30}})
			b.ReportAllocs()
			for b.Loop() {
				if w := ask(s, body); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
