// Package wiretest has servers for the tests of the protocols: Serve answers requests in order, each with a Step.
//
// It is no stable API.
package wiretest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// Canary is the key of all tests. No message may hold it.
const Canary = "sk-CANARY+/0123456789"

// Step is one answer of a server.
type Step struct {
	Status  int // 0: 200
	Header  map[string]string
	Body    string
	Instead func(w http.ResponseWriter, r *http.Request) // of all of the above
}

// ServeHTTP implements [http.Handler].
func (s Step) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else the request's context does not end with the connection
	if s.Instead != nil {
		s.Instead(w, r)
		return
	}
	for name, value := range s.Header {
		w.Header().Set(name, value)
	}
	if s.Status != 0 {
		w.WriteHeader(s.Status)
	}
	fmt.Fprint(w, s.Body)
}

// Body is an answer with that status.
func Body(status int, text string) Step { return Step{Status: status, Body: text} }

// Serve starts a server, and gives its address.
func Serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// Only is a transport with one answer.
type Only string

// RoundTrip implements [http.RoundTripper].
func (o Only) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(o)))}, nil
}

// Connect makes the client of a server, with the key of all tests unless the options have another.
func Connect[M model.Model](t testing.TB, o wire.Options, make func(wire.Options) (M, error)) M {
	t.Helper()
	o.Name = cmp.Or(o.Name, "m")
	o.Key = cmp.Or(o.Key, Canary)
	m, err := make(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Hello is a request.
func Hello() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: "user", Text: "hello"}}}
}

// Failed makes a call that has to fail.
func Failed(t testing.TB, m model.Model) *model.CallError {
	t.Helper()
	reply, err := m.Call(t.Context(), Hello())
	var failed *model.CallError
	if reply != nil || !errors.As(err, &failed) {
		t.Fatalf("got %+v, %v, want an error", reply, err)
	}
	return failed
}

// Shows makes a call, and wants an error of a class with a text in its message.
func Shows(t testing.TB, m model.Model, class record.ErrorClass, says string) *model.CallError {
	t.Helper()
	failed := Failed(t, m)
	switch {
	case failed.Cause.Class != class || !strings.Contains(failed.Cause.Message, says):
		t.Errorf("got %v, want %s with %q", failed, class, says)
	case len(failed.Cause.Message) > 700:
		t.Errorf("the message has %d bytes", len(failed.Cause.Message))
	}
	WithoutSecrets(t, failed.Error())
	return failed
}

// WithoutSecrets fails the test if a message holds the key in any form.
func WithoutSecrets(t testing.TB, message string) {
	t.Helper()
	quoted, _ := json.Marshal(Canary)
	for _, form := range []string{
		Canary, url.QueryEscape(Canary), url.PathEscape(Canary), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(Canary)), base64.RawURLEncoding.EncodeToString([]byte(Canary)),
	} {
		if strings.Contains(message, form) {
			t.Errorf("the key leaks: %s", message)
		}
	}
}

// Fixed is a clock that shows one time.
func Fixed() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Ticking is a clock that moves on whenever it is read.
func Ticking(by time.Duration) func() time.Time {
	now := Fixed()
	return func() time.Time {
		now = now.Add(by)
		return now
	}
}

// Must ends a test at an error.
func Must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Answered is what a client makes of an answer.
func Answered[M model.Model](t testing.TB, o wire.Options, make func(wire.Options) (M, error), answer string) (*model.Reply, error) {
	t.Helper()
	o.BaseURL, o.Transport = "http://here", Only(answer)
	return Connect(t, o, make).Call(t.Context(), Hello())
}

// Sound fails the test unless a call came to a reply that can be paid for, or to an error with a class.
func Sound(t testing.TB, reply *model.Reply, err error) {
	t.Helper()
	var failed *record.Error
	switch {
	case err != nil && (!errors.As(err, &failed) || failed.Class == ""):
		t.Errorf("no class: %v", err)
	case err == nil && (reply.Finish == "" || reply.Usage.Calls != 1 || reply.Usage.InputTokens < 0 || reply.Usage.OutputTokens < 0 ||
		reply.Usage.CachedTokens > reply.Usage.InputTokens):
		t.Errorf("got %+v", reply)
	}
}

// Sent is what a server received.
type Sent struct {
	Path, Query string
	Header      http.Header
	Text        []byte
	Body        map[string]any
}

// Capture makes a call of the client of a server that has one answer, and gives what that received. The address of the options, if any, is
// the path.
func Capture[M model.Model](t testing.TB, o wire.Options, make func(wire.Options) (M, error), request *model.Request, answer string) (got Sent) {
	t.Helper()
	o.BaseURL = Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Path, got.Query, got.Header = r.URL.Path, r.URL.RawQuery, r.Header
		got.Text, _ = io.ReadAll(r.Body)
		if err := json.Unmarshal(got.Text, &got.Body); err != nil {
			t.Errorf("the body %s: %v", got.Text, err)
		}
		fmt.Fprint(w, answer)
	})) + o.BaseURL
	_, err := Connect(t, o, make).Call(t.Context(), request)
	Must(t, err)
	return got
}

// Equal compares what was decoded of JSON with a text of it.
func Equal(t testing.TB, got any, want string) {
	t.Helper()
	var wanted any
	Must(t, json.Unmarshal([]byte(want), &wanted))
	if !reflect.DeepEqual(got, wanted) {
		text, _ := json.MarshalIndent(got, "", "  ") // of maps, lists and texts
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
