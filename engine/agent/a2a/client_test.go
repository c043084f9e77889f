package a2a

import (
	"context"
	"errors"
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

	"github.com/agentbench/agentbench/engine/record"
)

var wires = []wire{wire03, wire10}

// Both wires give the same of the same: what a task made, or what was said.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		parts, text string
		said        bool
		data        int
	}{
		"a task":              {`[{"kind":"text","text":"four"}]`, "four", false, 0},
		"a message":           {`[{"text":"four"}]`, "four", true, 0},
		"pieces of a text":    {`[{"text":"fo"},{"text":"ur"}]`, "four", false, 0},
		"data":                {`[{"kind":"data","data":{"n": 4}}]`, `{"n":4}`, true, 1},
		"data beside a text":  {`[{"text":"so:"},{"data":[1, 2]},{"text":"end"}]`, "so:\n[1,2]\nend", false, 1},
		"a file of 0.3":       {`[{"kind":"file","file":{"name":"a.pdf","bytes":"AAAA"}}]`, "[file a.pdf, 3 bytes]", false, 0},
		"a file's address":    {`[{"url":"http://x/a","filename":"a"}]`, "[file a http://x/a]", false, 0},
		"a text of nothing":   {`[{"text":""}]`, "", true, 0},
		"unknown, new things": {`[{"text":"four","metadata":{"a":1},"x":[]}]`, "four", false, 0},
	} {
		for _, spoken := range wires {
			f := &fake{t: t, wire: spoken, states: []string{"completed"}, parts: c.parts, said: c.said}
			if spoken == wire10 {
				f.states = []string{"TASK_STATE_COMPLETED"}
			}
			answer, _, err := f.client(t, Options{}).Send(t.Context(), "2+2", "before")
			if err != nil || answer.Text != c.text || len(answer.Data) != c.data || answer.Context != "ctx" || answer.State != completed {
				t.Errorf("%s over %s: %v, %+v", name, spoken, err, answer)
			}
			if f.texts[0] != "2+2" || f.contexts[0] != "before" {
				t.Errorf("%s over %s: sent %q in %q", name, spoken, f.texts, f.contexts)
			}
		}
	}
}

// A task that takes a while is asked after, ever less often; what is measured is
// at most a tenth more than it took.
func TestATaskIsAskedAfterUntilItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := stalled(t, wire10)
		f.states = []string{"TASK_STATE_SUBMITTED"}
		for range 60 {
			f.states = append(f.states, "TASK_STATE_WORKING")
		}
		f.states = append(f.states, "TASK_STATE_COMPLETED")
		f.parts = `[{"text":"done"}]`
		answer, took, err := f.client(t, Options{}).Send(t.Context(), "x", "")
		if err != nil || answer.Text != "done" || took != time.Since(begin) {
			t.Fatalf("%v, %+v after %v", err, answer, took)
		}
		if most := time.Minute; took < 30*time.Second/10 || took > most {
			t.Errorf("61 questions took %v", took)
		}
		if len(f.canceled) > 0 {
			t.Error("a task that is over was cancelled")
		}
	})
}

func TestHowTasksEnd(t *testing.T) {
	for _, c := range []struct {
		state string
		class record.ErrorClass
		told  string
		asks  bool
	}{
		{"input-required", "", "", true},
		{"TASK_STATE_INPUT_REQUIRED", "", "", true},
		{"failed", record.Program, "the remote agent failed: which one?", false},
		{"TASK_STATE_REJECTED", record.Program, "the remote agent rejected the task: which one?", false},
		{"canceled", record.Incomplete, "the remote agent's task was cancelled: which one?", false},
		{"TASK_STATE_AUTH_REQUIRED", record.Auth, "the remote agent wants to know who asks: which one?", false},
	} {
		f := &fake{t: t, wire: wire03, states: []string{c.state}, parts: `[{"text":"which one?"}]`}
		answer, _, err := f.client(t, Options{}).Send(t.Context(), "x", "")
		if classOf(err) != c.class || answer.Asks() != c.asks || answer.Text != "which one?" || err != nil && !strings.Contains(err.Error(), c.told) {
			t.Errorf("%s: %v, %+v", c.state, err, answer)
		}
	}
}

// A remote agent that never answers: the run goes on after the timeout, and the
// agent is told that nobody waits. An agent that does not even take the task, or
// the cancellation, holds nobody up.
func TestF37_ARemoteAgentThatNeverAnswers(t *testing.T) {
	for _, spoken := range wires {
		for name, f := range map[string]*fake{"works on": stalled(t, spoken), "hangs": {t: t, wire: spoken, hang: true}} {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, took, err := f.client(t, Options{Timeout: time.Minute}).Send(t.Context(), "x", "")
				if classOf(err) != record.CallTimeout || took != time.Minute || time.Since(begin) > time.Minute+soon {
					t.Errorf("%s: %v after %v, told as %v", name, err, time.Since(begin), took)
				}
				if want := map[string]int{"works on": 1, "hangs": 0}[name]; len(f.canceled) != want {
					t.Errorf("%s: cancelled %v", name, f.canceled)
				}
			})
		}
	}
}

// Whoever ends the run cancels the task, and the error is why the run ended.
func TestTheEndOfARunCancelsItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := stalled(t, wire10)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(enough) })
		if _, took, err := f.client(t, Options{}).Send(ctx, "x", ""); err != enough || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
		if len(f.canceled) != 1 {
			t.Errorf("cancelled %v", f.canceled)
		}
	})
}

// One question that is lost does not lose the task; three in a row do.
func TestLostQuestions(t *testing.T) {
	for lost, class := range map[int]record.ErrorClass{0: "", 2: "", 3: record.Server} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{t: t, wire: wire03, states: []string{"working", "completed"}, parts: `[{"text":"done"}]`}
			left := lost
			c := f.client(t, Options{})
			c.http.Transport = inside{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if f.asked == 1 && left > 0 && r.Method == http.MethodPost {
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
	long := strings.Repeat("x", 100)
	for answer, want := range map[string]struct {
		class record.ErrorClass
		told  string
	}{
		`nonsense`:                        {record.BadResponse, "the answer is not JSON-RPC: nonsense"},
		``:                                {record.BadResponse, "not JSON-RPC"},
		`[]`:                              {record.BadResponse, "not JSON-RPC"},
		`{"jsonrpc":"2.0","id":"1"}`:      {record.BadResponse, "neither a result nor an error"},
		`{"id":"2","result":{}}`:          {record.BadResponse, `another request, "2"`},
		`{"id":"1","result":{}}`:          {record.BadResponse, "neither a message nor a task: {}"},
		`{"id":"1","result":5}`:           {record.BadResponse, "not what the protocol promises"},
		`{"id":"1","result":{"task":{}}}`: {record.BadResponse, "no id or no status"},
		`{"id":"1","result":{"status":{"state":"completed"}}}`:                         {record.BadResponse, "no id or no status"},
		`{"id":"1","result":{"parts":[{"text":5}]}}`:                                   {record.BadResponse, "not what the protocol promises"},
		`{"id":null,"error":{"code":-32601,"message":"no such method"}}`:               {record.InvalidRequest, "message/send: error -32601: no such method"},
		`{"id":"1","error":{"code":-32603,"message":"broken"}}`:                        {record.Server, "error -32603: broken"},
		`{"id":"1","error":{"code":-32006,"message":"bad"}}`:                           {record.BadResponse, "bad"},
		`{"id":"1","result":{"parts":[{"text":"` + strings.Repeat(long, 100) + `"}]}}`: {record.BadResponse, "the answer is longer than 5000 bytes"},
	} {
		f := &fake{t: t, wire: wire03, wrong: map[string]string{"message/send": answer}}
		_, _, err := f.client(t, Options{MaxResponse: 5000}).Send(t.Context(), "x", "")
		if classOf(err) != want.class || !strings.Contains(err.Error(), want.told) {
			t.Errorf("%.80s: %v", answer, err)
		}
	}
}

// A task that is asked after must be the one that is told of.
func TestAnotherTasksAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := stalled(t, wire03)
		f.wrong = map[string]string{"tasks/get": `{"id":"1","result":{"id":"t2","status":{"state":"completed"}}}`}
		if _, _, err := f.client(t, Options{}).Send(t.Context(), "x", ""); classOf(err) != record.BadResponse {
			t.Error(err)
		}
	})
}

func TestStatuses(t *testing.T) {
	const key = "sk-0123456789abcdef"
	for status, class := range map[int]record.ErrorClass{
		204: record.BadResponse, 301: record.InvalidRequest, 400: record.InvalidRequest, 401: record.Auth, 403: record.Auth,
		404: record.InvalidRequest, 429: record.RateLimit, 500: record.Server, 503: record.Server, 504: record.CallTimeout,
	} {
		f := &fake{t: t, wire: wire03}
		c := f.client(t, Options{Headers: map[string]string{"Authorization": "Bearer " + key}})
		c.http.Transport = inside{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+key {
				t.Error("the header is not sent")
			}
			if r.Method == http.MethodGet {
				f.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(status)
			if status != 204 {
				fmt.Fprint(w, "no use for "+r.Header.Get("Authorization"))
			}
		})}
		_, _, err := c.Send(t.Context(), "x", "")
		if classOf(err) != class || strings.Contains(err.Error(), key) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestAnAgentThatIsNotThere(t *testing.T) {
	c, err := New(Options{Address: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Send(t.Context(), "x", ""); classOf(err) != record.Network {
		t.Error(err)
	}
	for _, address := range []string{"", "localhost:1", "ftp://x", "http://", ":"} {
		if _, err := New(Options{Address: address}); err == nil {
			t.Errorf("%q is taken for an address", address)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
	text := `{"id":"1","status":{"state":"completed"},"artifacts":[` + strings.Repeat(one, n) + `{"parts":[]}]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := readAnswer([]byte(text))
	runtime.ReadMemStats(&after)
	if err != nil || len(a.Text) != 3*n-2 || !strings.HasPrefix(a.Text, "z\n\nz") {
		t.Errorf("%d bytes, %v", len(a.Text), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 {
		t.Errorf("it allocated %d bytes", took)
	}
}
