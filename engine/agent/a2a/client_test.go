package a2a

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
)

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		parts, text string
		said        bool
		data        int
	}{
		"a task":              {four, "four", false, 0},
		"a message":           {four, "four", true, 0},
		"pieces of a text":    {`[{"kind":"text","text":"fo"},{"kind":"text","text":"ur"}]`, "four", false, 0},
		"data":                {`[{"kind":"data","data":{"n": 4}}]`, `{"n":4}`, true, 1},
		"data beside a text":  {`[{"kind":"text","text":"so:"},{"kind":"data","data":{"n":"<"}},{"kind":"text","text":"end"}]`, "so:\n{\"n\":\"<\"}\nend", false, 1},
		"a file":              {`[{"kind":"file","file":{"name":"a.pdf","bytes":"AAAA"}}]`, "[file a.pdf, 3 bytes]", false, 0},
		"a file's address":    {`[{"kind":"file","file":{"uri":"http://x/a","name":"a"}}]`, "[file a http://x/a]", false, 0},
		"a text of nothing":   {`[{"kind":"text","text":""}]`, "", true, 0},
		"unknown, new things": {`[{"kind":"text","text":"four","metadata":{"a":1},"x":[]}]`, "four", false, 0},
	} {
		f := answers(c.parts)
		f.said = c.said
		answer, _, err := f.client(t, Options{}).Send(t.Context(), "2+2", "before")
		if err != nil || answer.Text != c.text || len(answer.Data) != c.data || answer.Context != "ctx" || answer.State != "completed" {
			t.Errorf("%s: %v, %+v", name, err, answer)
		}
		if f.texts[0] != "2+2" || f.contexts[0] != "before" {
			t.Errorf("%s: sent %q in %q", name, f.texts, f.contexts)
		}
	}
}

// A remote agent that never answers: the run goes on after the timeout, and the
// agent is told that nobody waits. An agent that does not even take the task, or
// the cancellation, holds nobody up.
func TestF37_ARemoteAgentThatNeverAnswers(t *testing.T) {
	for name, f := range map[string]*fake{"works on": {states: []string{"working"}}, "hangs": {hang: true}} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			_, took, err := f.client(t, Options{Timeout: time.Minute}).Send(t.Context(), "x", "")
			if classOf(err) != record.CallTimeout || took != time.Minute || time.Since(begin) > time.Minute+3*time.Second {
				t.Errorf("%s: %v after %v, told as %v", name, err, time.Since(begin), took)
			}
			if want := map[string]int{"works on": 1, "hangs": 0}[name]; f.canceled != want {
				t.Errorf("%s: cancelled %d times", name, f.canceled)
			}
		})
	}
}

// One question that is lost does not lose the task; three in a row do.
func TestLostQuestions(t *testing.T) {
	for lost, class := range map[int]record.ErrorClass{0: "", 2: "", 3: record.Server} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{states: []string{"working", "completed"}, parts: four}
			left := lost
			c := f.client(t, Options{})
			c.http.Transport.(*transport).base = inside{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if f.asked == 1 && left > 0 {
					left--
					http.Error(w, "restarting", http.StatusBadGateway)
					return
				}
				f.ServeHTTP(w, r)
			})}
			if _, _, err := c.Send(t.Context(), "x", ""); classOf(err) != class {
				t.Errorf("%d lost: %v", lost, err)
			}
		})
	}
}

func TestWrongAnswers(t *testing.T) {
	for answer, want := range map[string]struct {
		class record.ErrorClass
		told  string
	}{
		`nonsense`:                   {record.BadResponse, "not what the protocol promises"},
		``:                           {record.BadResponse, "not what the protocol promises"},
		`[]`:                         {record.BadResponse, "not what the protocol promises"},
		`{"jsonrpc":"2.0","id":"1"}`: {record.BadResponse, "not what the protocol promises"},
		`{"result":{}}`:              {record.BadResponse, "not what the protocol promises"},
		`{"result":5}`:               {record.BadResponse, "not what the protocol promises"},
		`{"result":{"kind":"task"}}`: {record.BadResponse, "no id or no status"},
		`{"result":{"kind":"message","parts":[{"kind":"text","text":5}]}}`:                                        {record.BadResponse, "not what the protocol promises"},
		`{"result":{"kind":"task","id":"t1","status":{"state":"completed"},"artifacts":[null],"history":[null]}}`: {"", ""},
		`{"id":null,"error":{"code":-32601,"message":"no such method"}}`:                                          {record.InvalidRequest, "error -32601: no such method"},
		`{"error":{"code":-32603,"message":"broken"}}`:                                                            {record.Server, "POST http://agent.test/rpc: error -32603: broken"},
		`{"error":{"code":-32006,"message":"bad"}}`:                                                               {record.BadResponse, "bad"},
		`{"result":{"kind":"message","parts":[{"text":"` + strings.Repeat("x", 5000) + `"}]}}`:                    {record.BadResponse, "the answer is longer than 5000 bytes"},
	} {
		f := &fake{wrong: map[string]string{"message/send": answer}}
		_, _, err := f.client(t, Options{MaxResponse: 5000}).Send(t.Context(), "x", "")
		if classOf(err) != want.class || err != nil && !strings.Contains(err.Error(), want.told) {
			t.Errorf("%.80s: %v", answer, err)
		}
	}
	f := &fake{states: []string{"working"}, wrong: map[string]string{"tasks/get": `{"result":{"kind":"task","id":"t2","status":{"state":"completed"}}}`}}
	if _, _, err := f.client(t, Options{}).Send(t.Context(), "x", ""); classOf(err) != record.BadResponse {
		t.Errorf("the answer of another task: %v", err)
	}
}

func TestStatuses(t *testing.T) {
	for status, class := range map[int]record.ErrorClass{
		204: record.BadResponse, 301: record.BadResponse, 400: record.InvalidRequest, 401: record.Auth, 403: record.Auth,
		404: record.InvalidRequest, 429: record.RateLimit, 500: record.Server, 503: record.Server, 504: record.CallTimeout,
	} {
		f := &fake{status: status, wrong: map[string]string{"message/send": "no use for " + key}}
		_, _, err := f.client(t, Options{}).Send(t.Context(), "x", "")
		if classOf(err) != class || strings.Contains(err.Error(), key) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestAnAgentThatIsNotThere(t *testing.T) {
	c, err := New(Options{Address: "http://127.0.0.1:1"})
	must(t, err)
	if _, _, err := c.Send(t.Context(), "x", ""); classOf(err) != record.Network {
		t.Error(err)
	}
	for _, address := range []string{"", "localhost:1", "ftp://x", "http://", ":"} {
		if _, err := New(Options{Address: address}); err == nil {
			t.Errorf("%q is taken for an address", address)
		}
	}
}

// The protocol's own server understands what is sent, and is understood.
func TestTheOfficialServer(t *testing.T) {
	client, _ := officialClient(t, 0)
	for _, c := range []struct {
		text, want string
		class      record.ErrorClass
		asks       bool
		atLeast    time.Duration
	}{
		{"do it", "did: do it\n{\"n\":4}", "", false, 0},
		{"slow one", "did: slow one\n{\"n\":4}", "", false, 100 * time.Millisecond},
		{"ask me", "which year?", "", true, 0},
		{"fail", "no such filing", record.Program, false, 0},
	} {
		answer, took, err := client.Send(t.Context(), c.text, "")
		if classOf(err) != c.class || answer.Text != c.want || answer.Asks() != c.asks || took < c.atLeast || answer.Context == "" {
			t.Errorf("%s: %v, %+v after %v", c.text, err, answer, took)
		}
	}
	first, _, _ := client.Send(t.Context(), "do it", "")
	if second, _, err := client.Send(t.Context(), "say", first.Context); err != nil || second.Text != "said in "+first.Context {
		t.Errorf("its conversation: %v, %+v", err, second)
	}
	if other, _, err := client.Send(t.Context(), "say", ""); err != nil || other.Context == first.Context {
		t.Errorf("another conversation: %v, %+v", err, other)
	}
}

// A cancelled call cancels its task at the official server.
func TestTheOfficialServerCancels(t *testing.T) {
	client, agent := officialClient(t, 150*time.Millisecond)
	if _, _, err := client.Send(t.Context(), "forever", ""); classOf(err) != record.CallTimeout {
		t.Error(err)
	}
	select {
	case <-agent.canceled:
	case <-time.After(20 * time.Second):
		t.Error("the server was not told")
	}
}

// F37: remote agents that hand a task back and forth have no end of their own. The
// timeout is ours, and it ends them all.
func TestF37_RemoteAgentsThatHandATaskToEachOther(t *testing.T) {
	var handed, open atomic.Int64
	agents := map[string]string{} // by name, whom it hands its tasks to
	serve := func(name string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprint(w, `{"url":"/rpc"}`)
				return
			}
			open.Add(1)
			defer open.Add(-1)
			handed.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the other end is gone
			next, err := New(Options{Address: agents[name]})
			if err != nil {
				t.Error(err)
				return
			}
			_, _, _ = next.Send(r.Context(), "over to you", "")
		}))
	}
	a, b := serve("a"), serve("b")
	agents["a"], agents["b"] = b.URL, a.URL
	client, err := New(Options{Address: a.URL, Timeout: 200 * time.Millisecond})
	must(t, err)
	if _, _, err := client.Send(t.Context(), "x", ""); classOf(err) != record.CallTimeout || handed.Load() < 3 {
		t.Errorf("%v after %d tasks", err, handed.Load())
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	a.Close() // waits for what is open
	b.Close()
	if open.Load() != 0 {
		t.Errorf("%d tasks are left", open.Load())
	}
}

// F37: an answer of very many artifacts is read in the time of its length: an artifact
// does not copy those before it, which would take 60 GB here.
func TestF37_AnAnswerOfManyArtifacts(t *testing.T) {
	const n = 200_000
	one := `{"parts":[{"kind":"text","text":"z"}]},`
	f := &fake{wrong: map[string]string{"message/send": `{"result":{"kind":"task","id":"1","status":{"state":"completed"},"artifacts":[` +
		strings.Repeat(one, n) + `{"parts":[]}]}}`}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, _, err := f.client(t, Options{}).Send(t.Context(), "x", "")
	runtime.ReadMemStats(&after)
	if err != nil || len(a.Text) != 3*n-2 || !strings.HasPrefix(a.Text, "z\n\nz") {
		t.Errorf("%d bytes, %v", len(a.Text), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 {
		t.Errorf("it allocated %d bytes", took)
	}
}

// Whatever an agent answers is an answer or an error of a class, and an answer
// that is one has what delegates and agents make of it.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"result":{"kind":"task","id":"t","status":{"state":"failed","message":{"parts":[{"kind":"text","text":"no"}]}},"history":[{"role":"agent","parts":[]}]}}`,
		`{"result":{"kind":"message","messageId":"m","parts":[{"kind":"file","file":{"uri":"u","bytes":"x"}},{"kind":"data","data":{"a":[1]}}]}}`,
		`{"result":{"kind":"task","id":"t","status":{"state":"completed"},"artifacts":[null],"history":[null]}}`,
		`{"error":{"code":-32001,"message":"\u0000"}}`, `[[[[`, "\xff", `null`, `{"id":"1","result":"x"}`,
	} {
		f.Add(200, []byte(seed))
		f.Add(500, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		if status < 200 || status > 599 {
			return
		}
		server := &fake{status: status, wrong: map[string]string{"message/send": string(text), "tasks/get": string(text)}}
		answer, _, err := server.client(t, Options{Timeout: 50 * time.Millisecond}).Send(t.Context(), "x", "")
		if class := classOf(err); err != nil && !class.Fault() && class != record.CallTimeout && class != record.Program {
			t.Fatalf("%v is not the infrastructure's", err)
		}
		if content := answer.content(); err == nil && (!json.Valid(content) || !utf8.Valid(content)) {
			t.Fatalf("%q is no content", content)
		}
		if err == nil && answer.State != "completed" && !answer.Asks() {
			t.Fatalf("the state %q is neither an end nor a failure", answer.State)
		}
	})
}

func TestHowTasksEnd(t *testing.T) {
	for state, want := range map[string]struct {
		class record.ErrorClass
		told  string
	}{
		"input-required": {"", ""},
		"failed":         {record.Program, "the remote agent failed: four"},
		"rejected":       {record.Program, "the remote agent rejected the task: four"},
		"canceled":       {record.Incomplete, "the remote agent's task was cancelled: four"},
		"auth-required":  {record.Auth, "the remote agent wants to know who asks: four"},
	} {
		f := &fake{states: []string{state}, parts: four}
		answer, _, err := f.client(t, Options{}).Send(t.Context(), "x", "")
		if classOf(err) != want.class || answer.Asks() != (state == "input-required") || answer.Text != "four" || err != nil && !strings.Contains(err.Error(), want.told) {
			t.Errorf("%s: %v, %+v", state, err, answer)
		}
	}
}
