package tool

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
)

func served(t *testing.T, handler http.HandlerFunc) *Set {
	t.Helper()
	server := httptest.NewServer(handler)
	client := external.NewClient()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	set, err := NewSet([]Tool{&Endpoint{
		Defined:  Definition{Name: "t", Timeout: 300 * time.Millisecond},
		Endpoint: external.Endpoint{URL: server.URL, Client: client},
	}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func endpointSays(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// S4.9, F30, F31: what an endpoint answers is the result, or told as an error.
func TestAnEndpointIsATool(t *testing.T) {
	for name, c := range map[string]struct {
		handler               http.HandlerFunc
		content, failed, ends string
	}{
		"what is posted": {func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, `{"a":1}`, "", ""},
		"text":           {endpointSays(201, "made\n"), `"made"`, "", ""},
		"an end":         {endpointSays(200, `{"end": "capability", "output": 1}`), `1`, "", "capability"},
		"an error":       {endpointSays(200, `{"error": "no"}`), ``, "no", ""},
		"a failure":      {endpointSays(500, "oops"), ``, "HTTP 500: oops", ""},
		"no key":         {endpointSays(401, ""), ``, "HTTP 401", ""},
		"it hangs":       {hangs, ``, "timed out after 300ms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := served(t, c.handler).Use(t.Context(), "t", &Use{Arguments: []byte(`{"a":1}`)})
			failed, ok := errors.AsType[*record.Error](err)
			if string(result.Content) != c.content || ok != (c.failed != "") || ok && *failed != (record.Error{Class: record.Tool, Message: c.failed}) {
				t.Errorf("got %s, %v", result.Content, err)
			}
			if (result.Ended != nil) != (c.ends != "") || result.Duration <= 0 {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// F34: a long answer keeps its head and tail.
func TestF34_ALongAnswer(t *testing.T) {
	result, err := served(t, endpointSays(200, strings.Repeat("x", 1<<20))).Use(t.Context(), "t", &Use{})
	if err != nil || len(result.Content) > MaxResult+100 || !strings.Contains(string(result.Content), " bytes cut …") {
		t.Errorf("kept %d bytes, %v", len(result.Content), err)
	}
}
