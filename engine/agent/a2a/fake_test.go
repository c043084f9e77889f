package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

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

// fake is an agent that speaks one of the wires and holds callers to it. Version
// 0.3 is as its specification has it (sections 5, 6 and 7 of v0.3.0), 1.0 as
// specification/a2a.proto of a2aproject/A2A has it since return_immediately
// (pull request 1507): what its messages do not have is refused.
type fake struct {
	t    testing.TB
	wire wire
	// tasks are the states through which a task goes, one for every question after
	// it; the last stays.
	states []string
	// answer is what the task or, where said, the message gives.
	parts string
	said  bool // it answers by a message
	hang  bool // it never answers
	// wrong replaces the answer to a method.
	wrong map[string]string

	mu       sync.Mutex
	asked    int
	texts    []string // what it was sent
	contexts []string // the conversations that it was sent it in
	canceled []string
	gets     int
}

const fakeAddress = "http://agent.test/below"

func (f *fake) client(t testing.TB, o Options) *Client {
	t.Helper()
	o.Address, o.Transport = fakeAddress, inside{f}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "GET /below/.well-known/agent-card.json":
		fmt.Fprint(w, f.card())
	case "POST /rpc":
		f.rpc(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) card() string {
	if f.wire == wire10 {
		return `{"name":"f","supportedInterfaces":[{"url":"/grpc","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"me"}]}`
	}
	return `{"name":"f","url":"http://agent.test/rpc","preferredTransport":"JSONRPC","protocolVersion":"0.3.0"}`
}

type sent struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func (f *fake) rpc(w http.ResponseWriter, r *http.Request) {
	var in sent
	if err := strict(r.Body, &in); err != nil || in.JSONRPC != "2.0" {
		f.t.Errorf("%v in %+v", err, in)
	}
	if wrong, ok := f.wrong[in.Method]; ok {
		fmt.Fprint(w, wrong)
		return
	}
	if f.hang {
		f.mu.Unlock()
		<-r.Context().Done()
		f.mu.Lock()
		return
	}
	version := r.Header.Get("A2A-Version")
	if (f.wire == wire10) != (version == "1.0") {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32009,"message":"version %q"}}`, in.ID, version)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, f.do(in))
}

func strict(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (f *fake) do(in sent) string {
	switch {
	case f.wire == wire03 && in.Method == "message/send":
		f.take03(in.Params)
	case f.wire == wire10 && in.Method == "SendMessage":
		f.take10(in.Params)
	case f.wire == wire03 && in.Method == "tasks/get", f.wire == wire10 && in.Method == "GetTask":
		f.gets++
		f.named(in.Params)
		return f.task()
	case f.wire == wire03 && in.Method == "tasks/cancel", f.wire == wire10 && in.Method == "CancelTask":
		f.canceled = append(f.canceled, f.named(in.Params))
		return f.task()
	default:
		f.t.Errorf("%s was called over wire %s", in.Method, f.wire)
	}
	switch {
	case f.said && f.wire == wire10:
		return `{"message":{"messageId":"a","contextId":"ctx","role":"ROLE_AGENT","parts":` + f.parts + `}}`
	case f.said:
		return `{"kind":"message","messageId":"a","contextId":"ctx","role":"agent","parts":` + f.parts + `}`
	case f.wire == wire10:
		return `{"task":` + f.task() + `}`
	}
	return f.task()
}

// task is the task in its next state.
func (f *fake) task() string {
	state := f.states[min(f.asked, len(f.states)-1)]
	f.asked++
	place := `"artifacts":[{"artifactId":"1","parts":` + f.parts + `}],"status":{"state":"` + state + `"}`
	if stateOf(state) != completed {
		place = `"status":{"state":"` + state + `","message":{"messageId":"a","role":"agent","parts":` + f.parts + `}}`
	}
	return `{"kind":"task","id":"t1","contextId":"ctx",` + place + `}`
}

func (f *fake) named(params json.RawMessage) string {
	var in struct {
		ID     string `json:"id"`
		Tenant string `json:"tenant"`
	}
	if err := strict(bytes.NewReader(params), &in); err != nil || in.ID != "t1" || (in.Tenant == "me") != (f.wire == wire10) {
		f.t.Errorf("%v: a task is named by %s", err, params)
	}
	return in.ID
}

func (f *fake) take03(params json.RawMessage) {
	var in struct {
		Message struct {
			Kind      string `json:"kind"`
			MessageID string `json:"messageId"`
			ContextID string `json:"contextId"`
			Role      string `json:"role"`
			Parts     []struct{ Kind, Text string }
		} `json:"message"`
		Configuration struct {
			AcceptedOutputModes []string `json:"acceptedOutputModes"`
			Blocking            bool     `json:"blocking"`
		} `json:"configuration"`
	}
	err := strict(bytes.NewReader(params), &in)
	if m := &in.Message; err != nil || m.Kind != "message" || m.MessageID == "" || m.Role != "user" || len(m.Parts) != 1 || m.Parts[0].Kind != "text" {
		f.t.Fatalf("%v: sent %s", err, params)
	}
	f.texts, f.contexts = append(f.texts, in.Message.Parts[0].Text), append(f.contexts, in.Message.ContextID)
}

func (f *fake) take10(params json.RawMessage) {
	var in struct {
		Tenant  string `json:"tenant"`
		Message struct {
			MessageID string `json:"messageId"`
			ContextID string `json:"contextId"`
			Role      string `json:"role"`
			Parts     []struct {
				Text      string `json:"text"`
				MediaType string `json:"mediaType"`
			}
		} `json:"message"`
		Configuration struct {
			AcceptedOutputModes []string `json:"acceptedOutputModes"`
			ReturnImmediately   bool     `json:"returnImmediately"`
		} `json:"configuration"`
	}
	err := strict(bytes.NewReader(params), &in)
	if m := &in.Message; err != nil || in.Tenant != "me" || m.MessageID == "" || m.Role != "ROLE_USER" || len(m.Parts) != 1 {
		f.t.Fatalf("%v: sent %s", err, params)
	}
	f.texts, f.contexts = append(f.texts, in.Message.Parts[0].Text), append(f.contexts, in.Message.ContextID)
}

// stalled is an agent that works on a task and never ends it.
func stalled(t testing.TB, w wire) *fake {
	return &fake{t: t, wire: w, states: []string{"working"}, parts: "[]"}
}

// classOf is the class of an error, "" for none.
func classOf(err error) record.ErrorClass {
	if err == nil {
		return ""
	}
	if e, ok := err.(*record.Error); ok {
		return e.Class
	}
	if e, ok := err.(*statusError); ok {
		return e.cause.Class
	}
	return "of no class: " + record.ErrorClass(err.Error())
}

const soon = 3 * time.Second
