package external

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// serve answers on the loopback, and gives an endpoint for it.
func serve(t *testing.T, handler http.HandlerFunc) *Endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	client := NewClient()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return &Endpoint{URL: server.URL, Client: client}
}

func TestWhatIsPosted(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("X-Key")+" "+string(body))
	})
	e.Headers = map[string]string{"x-key": "k"}
	answer, err := e.Post(t.Context(), []byte(`{"a":1}`))
	if err != nil || string(answer.Body) != `POST application/json k {"a":1}` || answer.Duration <= 0 {
		t.Errorf("got %s, %v", answer.Body, err)
	}
}

func TestFailures(t *testing.T) {
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked with %q", r.URL, r.Header.Get("X-Key"))
	})
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    record.Error
	}{
		"no key":      {status(401, "who are you?"), record.Error{Class: record.Auth, Message: "HTTP 401: who are you?"}},
		"not allowed": {status(403, ""), record.Error{Class: record.Auth, Message: "HTTP 403"}},
		"not there":   {status(404, "<h1>\n no </h1>"), record.Error{Class: record.InvalidRequest, Message: "HTTP 404: <h1> no </h1>"}},
		"too slow":    {status(408, ""), record.Error{Class: record.CallTimeout, Message: "HTTP 408"}},
		"too often":   {status(429, "slow down"), record.Error{Class: record.RateLimit, Message: "HTTP 429: slow down"}},
		"broken":      {status(500, "a\xffb"), record.Error{Class: record.Server, Message: "HTTP 500: a\uFFFDb"}},
		"long":        {status(503, strings.Repeat("no ", 1000)), record.Error{Class: record.Server, Message: "HTTP 503: " + strings.Repeat("no ", 99) + "no …"}},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, record.Error{Class: record.BadResponse, Message: "HTTP 307: it sends to " + strings.TrimPrefix(elsewhere.URL, "http://") + ", where nothing is posted"}},
		"not modified":    {status(304, ""), record.Error{Class: record.BadResponse, Message: "HTTP 304"}},
		"the line breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, record.Error{Class: record.Network, Message: "EOF"}},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, record.Error{Class: record.Network, Message: "the answer broke off after 4 bytes: unexpected EOF"}},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for range MaxAnswer/1024 + 1 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1024))
			}
		}, record.Error{Class: record.BadResponse, Message: "the answer has more than 8388608 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, c.handler)
			e.Headers = map[string]string{"X-Key": "CANARY"}
			_, err := e.Post(t.Context(), []byte("{}"))
			if failed, ok := errors.AsType[*record.Error](err); !ok || *failed != c.want {
				t.Errorf("got %v, want %v", err, &c.want)
			}
		})
	}
}

func TestTheSameHostMayForward(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body))
	})
	if answer, err := e.Post(t.Context(), []byte("{}")); err != nil || string(answer.Body) != "POST /there {}" {
		t.Errorf("got %s, %v", answer.Body, err)
	}
}

// An address that may hold a key is never told.
func TestNobodyIsThere(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	e := &Endpoint{URL: server.URL + "/?key=CANARY", Client: NewClient()}
	_, err := e.Post(t.Context(), nil)
	if failed, ok := errors.AsType[*record.Error](err); !ok || failed.Class != record.Network || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("got %v", err)
	}
	e.URL = "http://[::1/?key=CANARY"
	if _, err := e.Post(t.Context(), nil); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfARunIsTheEndOfAPost(t *testing.T) {
	over := errors.New("the run is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := make(chan struct{})
	e := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	})
	go func() {
		<-asked
		cancel(over)
	}()
	if _, err := e.Post(ctx, []byte("{}")); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAnEndpointThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Endpoint{URL: "http://127.0.0.1/", Client: &http.Client{Transport: hanging{}}}
		answer, err := e.PostWithin(t.Context(), 3*time.Second, []byte("{}"))
		want := record.Error{Class: record.CallTimeout, Message: "the endpoint took longer than 3s"}
		if failed, ok := errors.AsType[*record.Error](err); !ok || *failed != want || answer.Duration != 3*time.Second {
			t.Errorf("got %v after %v", err, answer.Duration)
		}
		over := errors.New("the run is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(over) })
		if _, err := e.PostWithin(ctx, 3*time.Second, []byte("{}")); !errors.Is(err, over) {
			t.Errorf("got %v", err)
		}
	})
}
