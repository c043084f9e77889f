package mcp

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/record"
)

// changing is a server whose handler is replaced while it is used.
func changing(t *testing.T) (Options, *atomic.Value) {
	t.Helper()
	var now atomic.Value
	now.Store(freshHandler())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now.Load().(http.HandlerFunc)(w, r)
	}))
	t.Cleanup(web.Close)
	return Options{Name: "listening", URL: web.URL, Timeout: 5 * time.Second}, &now
}

// freshHandler is a server that knows no session yet.
func freshHandler() http.HandlerFunc {
	server := orderly("")
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{SessionTimeout: time.Second})
	return h.ServeHTTP
}

// answersWith replaces the answers to calls of tools; all else goes to a server.
func answersWith(answer http.HandlerFunc) http.HandlerFunc {
	whole := freshHandler()
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"tools/call"`) {
			answer(w, r)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		whole(w, r)
	}
}

// F36: a server that forgot the session, because it was started anew, is given
// another one, and the call is made: it was not before.
func TestF36_AServerThatForgotTheSession(t *testing.T) {
	o, now := changing(t)
	ctx := begun(t)
	set := toolsOf(t, ctx, New(o))
	now.Store(freshHandler())
	if got, err := use(ctx, set, "double", `{"n":4}`); err != nil || got != `{"n":8}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// F36: whatever an endpoint answers, the agent is told, and what was to be done
// once is not done twice.
func TestF36_DisorderlyEndpoints(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"overloaded": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "Service Unavailable"},
		"broken":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "Internal Server Error"},
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, `unsupported content type "text/html"`},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{]")
		}, "failed to decode response"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 17 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, "an answer of more than 16777216 bytes"},
		"endless event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: "))
			for range 17 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, "request terminated without response"},
		"sends on": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		}, "it redirects to http://169.254.169.254/, which is not followed: write that address if it is right"},
		"ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": nothing\n\n")
		}, "request terminated without response"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			o, now := changing(t)
			ctx := begun(t)
			set := toolsOf(t, ctx, New(o))
			var calls atomic.Int64
			now.Store(answersWith(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				c.answer(w, r)
			}))
			_, err := use(ctx, set, "double", `{"n":4}`)
			fails(t, err, record.Tool, c.want)
			if calls.Load() != 1 {
				t.Errorf("it was called %d times", calls.Load())
			}
		})
	}
}
