package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// canary is the key of all tests. No message may hold it.
const canary = "sk-CANARY+/0123456789"

const goodAnswer = `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"because"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":20,"total_tokens":50,"prompt_tokens_details":{"cached_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}}`

// step is one answer of the fault server.
type step struct {
	status  int // 0: 200
	header  map[string]string
	body    string
	instead func(w http.ResponseWriter, r *http.Request) // of all of the above
}

func (s step) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else the request's context does not end with the connection
	if s.instead != nil {
		s.instead(w, r)
		return
	}
	for name, value := range s.header {
		w.Header().Set(name, value)
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	fmt.Fprint(w, s.body)
}

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func connect(t *testing.T, o Options) *Model {
	t.Helper()
	if o.Name == "" {
		o.Name = "m"
	}
	if o.Key == "" {
		o.Key = canary
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: "user", Text: "hello"}}}
}

// withoutSecrets fails the test if a message holds the key in any form.
func withoutSecrets(t *testing.T, message string) {
	t.Helper()
	quoted, _ := json.Marshal(canary)
	for _, form := range []string{
		canary, url.QueryEscape(canary), url.PathEscape(canary), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(canary)), base64.RawURLEncoding.EncodeToString([]byte(canary)),
	} {
		if strings.Contains(message, form) {
			t.Errorf("the key leaks: %s", message)
		}
	}
}

// fixed is a clock that stands.
func fixed() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// newTLS is a server with a certificate that nobody trusts.
func newTLS(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(body(200, goodAnswer))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// direct is a transport that knows no names: a look-up fails as it would where
// the name does not exist, without asking anybody.
func direct() *http.Transport {
	transport := NewTransport()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "agentbench.invalid") {
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}
		return dial(ctx, network, address)
	}
	return transport
}
