package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"

	"github.com/agentbench/agentbench/engine/record"
)

// inside answers requests by a handler, without a network, so that time may be
// that of a synctest bubble. It gives up with the request's context.
type inside struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inside) RoundTrip(request *http.Request) (*http.Response, error) {
	answered := make(chan *http.Response, 1)
	go func() {
		recorder := httptest.NewRecorder()
		t.handler.ServeHTTP(recorder, request)
		response := recorder.Result()
		response.Request = request
		answered <- response
	}()
	select {
	case response := <-answered:
		return response, nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// fake is an agent whose answers and delays are chosen by a test.
type fake struct {
	// states are the states through which a task goes, one for every question after
	// it; the last stays.
	states []string
	parts  string            // what the task or, where said, the message gives; "": []
	said   bool              // it answers by a message
	hang   bool              // it never answers
	wrong  map[string]string // the answer to a method in place of the right one
	status int               // of answers to methods; 0: 200

	mu       sync.Mutex
	asked    int
	texts    []string // what it was sent
	contexts []string // the conversations that it was sent it in
	canceled int
}

const (
	fakeAddress = "http://agent.test/below"
	key         = "sk-0123456789abcdef"
)

func (f *fake) client(t testing.TB, o Options) *Client {
	t.Helper()
	o.Address, o.Transport, o.Headers = fakeAddress, inside{f}, map[string]string{"Authorization": "Bearer " + key}
	c, err := New(o)
	must(t, err)
	return c
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+key:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/below/.well-known/agent-card.json":
		fmt.Fprint(w, `{"name":"f","url":"http://agent.test/rpc","preferredTransport":"JSONRPC","protocolVersion":"0.3.0"}`)
	case r.URL.Path == "/rpc" && f.hang:
		f.mu.Unlock()
		<-r.Context().Done()
		f.mu.Lock()
	case r.URL.Path == "/rpc":
		f.rpc(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) rpc(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID, Method string
		Params     a2a.MessageSendParams
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if f.status != 0 {
		w.WriteHeader(f.status)
	}
	wrong, isWrong := f.wrong[in.Method]
	switch {
	case isWrong:
		fmt.Fprint(w, wrong)
		return
	case in.Method == "message/send":
		f.texts = append(f.texts, in.Params.Message.Parts[0].(a2a.TextPart).Text)
		f.contexts = append(f.contexts, in.Params.Message.ContextID)
	case in.Method == "tasks/cancel":
		f.canceled++
	}
	result := `{"kind":"message","messageId":"a","contextId":"ctx","role":"agent","parts":` + f.content() + `}`
	if !f.said {
		result = f.task()
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"result":%s}`, in.ID, result)
}

// task is the task in its next state.
func (f *fake) task() string {
	state := f.states[min(f.asked, len(f.states)-1)]
	f.asked++
	if state == "completed" {
		return `{"kind":"task","id":"t1","contextId":"ctx","artifacts":[{"artifactId":"1","parts":` + f.content() + `}],"status":{"state":"completed"}}`
	}
	return `{"kind":"task","id":"t1","contextId":"ctx","status":{"state":"` + state + `","message":{"role":"agent","parts":` + f.content() + `}}}`
}

func (f *fake) content() string {
	if f.parts == "" {
		return "[]"
	}
	return f.parts
}

// answers is an agent that makes these parts of every task.
func answers(parts string) *fake { return &fake{states: []string{"completed"}, parts: parts} }

const four = `[{"kind":"text","text":"four"}]`

// classOf is the class of an error, "" for none.
func classOf(err error) record.ErrorClass {
	if e, ok := errors.AsType[*record.Error](err); ok {
		return e.Class
	}
	if err != nil {
		return "of no class: " + record.ErrorClass(err.Error())
	}
	return ""
}

// official is an agent on the protocol's own server, which does what the first
// word of its task says, and tells of every task that is cancelled.
type official struct{ canceled chan string }

// Execute implements a2asrv.AgentExecutor.
func (o official) Execute(ctx context.Context, rc *a2asrv.RequestContext, queue eventqueue.Queue) error {
	text := rc.Message.Parts[0].(a2a.TextPart).Text
	end := func(state a2a.TaskState, text string) error {
		event := a2a.NewStatusUpdateEvent(rc, state, nil)
		if text != "" {
			event.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, rc, a2a.TextPart{Text: text})
		}
		event.Final = true
		return queue.Write(ctx, event)
	}
	if strings.HasPrefix(text, "say") {
		return queue.Write(ctx, a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: "said in " + rc.ContextID}))
	}
	if err := queue.Write(ctx, a2a.NewSubmittedTask(rc, rc.Message)); err != nil {
		return err
	}
	switch text {
	case "ask me":
		return end(a2a.TaskStateInputRequired, "which year?")
	case "fail":
		return end(a2a.TaskStateFailed, "no such filing")
	case "forever":
		<-ctx.Done()
		return ctx.Err()
	case "slow one":
		time.Sleep(100 * time.Millisecond)
	}
	if err := queue.Write(ctx, a2a.NewArtifactEvent(rc, a2a.TextPart{Text: "did: " + text}, a2a.DataPart{Data: map[string]any{"n": 4}})); err != nil {
		return err
	}
	return end(a2a.TaskStateCompleted, "")
}

// Cancel implements a2asrv.AgentExecutor.
func (o official) Cancel(ctx context.Context, rc *a2asrv.RequestContext, queue eventqueue.Queue) error {
	o.canceled <- string(rc.TaskID)
	event := a2a.NewStatusUpdateEvent(rc, a2a.TaskStateCanceled, nil)
	event.Final = true
	return queue.Write(ctx, event)
}

// officialClient speaks to an official server that ends with the test.
func officialClient(t *testing.T, timeout time.Duration) (*Client, official) {
	t.Helper()
	agent := official{make(chan string, 10)}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(agent)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
		Name: "peer", URL: server.URL + "/rpc", PreferredTransport: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0", Skills: []a2a.AgentSkill{},
	}))
	client, err := New(Options{Address: server.URL, Timeout: timeout, Transport: server.Client().Transport})
	must(t, err)
	return client, agent
}
