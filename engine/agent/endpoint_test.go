package agent

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

func endpointTurn() *Turn {
	return &Turn{
		Task:  &spec.Task{ID: "x", Input: "in", Target: "TARGET"},
		Trial: 1, Iteration: 1, Prompt: "go", Calls: map[string]int{},
	}
}

// serve gives an agent whose endpoint is a handler on the loopback.
func serve(t *testing.T, handler http.HandlerFunc) *Endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	client := external.NewClient()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return &Endpoint{Endpoint: external.Endpoint{URL: server.URL, Client: client}, Spec: &spec.Agent{}}
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

func TestAnEndpointExecutesIterations(t *testing.T) {
	for name, c := range map[string]struct {
		answer, output, end string
		usage               record.Usage
	}{
		"text":       {"hello\n", `"hello"`, "", record.Usage{Unreported: 1}},
		"an object":  {`{"a": 1}`, `{"a": 1}`, "", record.Usage{Unreported: 1}},
		"enveloped":  {`{"output": [1], "usage": {"calls": 2, "cost_usd": 0.001}}`, `[1]`, "", record.Usage{Calls: 2, Cost: 1_000_000_000}},
		"an end":     {`{"end": "capability", "output": "x"}`, `"x"`, "capability", record.Usage{Unreported: 1}},
		"no UTF-8":   {"a\xffb", "\"a\uFFFDb\"", "", record.Usage{Unreported: 1}},
		"a question": {`{"end": "question_asked"}`, ``, "question_asked", record.Usage{Unreported: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, endpointSays(200, c.answer))
			result, err := a.Execute(t.Context(), endpointTurn())
			if err != nil || string(result.Output) != c.output || (result.Ended != nil) != (c.end != "") || result.Ended != nil && result.Ended.Reason != c.end {
				t.Fatalf("got %s, %+v, %v", result.Output, result.Ended, err)
			}
			call := result.Calls[0]
			if call.Role != record.RoleHTTP || call.Model != strings.TrimPrefix(a.Endpoint.URL, "http://") || call.Usage != c.usage || call.Duration <= 0 || call.Error != nil {
				t.Errorf("the call is %+v", call)
			}
			if hash, err := a.Sends(endpointTurn()); err != nil || hash == "" || hash != result.Request || hash != call.Request {
				t.Errorf("hash %q (%v), of the result %q, of the call %q", hash, err, result.Request, call.Request)
			}
		})
	}
}

// F39: an endpoint is posted what a program is given, without the target.
func TestF39_WhatIsPosted(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	const want = `{"task":{"id":"x","input":"in","vars":null,"metadata":null},"trial":1,"iteration":1,"phase":"","strategy":"","system":"","prompt":"go","feedback":"","improvements":[],"previous":null,"best":null}`
	if result, err := a.Execute(t.Context(), endpointTurn()); err != nil || string(result.Output) != want {
		t.Errorf("got  %s (%v)\nwant %s", result.Output, err, want)
	}
	other := endpointTurn()
	other.Prompt = "stop"
	first, _ := a.Sends(endpointTurn())
	if second, _ := a.Sends(other); first == second {
		t.Error("what is sent differs, and the hash does not")
	}
}

func TestEndpointFailures(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    record.Error
	}{
		"nothing":      {endpointSays(200, " \n"), record.Error{Class: record.NoAnswer, Message: "the endpoint answered nothing"}},
		"an empty end": {endpointSays(200, `{"end": ""}`), record.Error{Class: record.NoAnswer, Message: "the endpoint's answer has neither output nor end"}},
		"an odd end":   {endpointSays(200, `{"end": "bored"}`), record.Error{Class: record.BadResponse, Message: `the endpoint ends the run with "bored"; want one of [final_response tool_ended question_asked capability agent_ended]`}},
		"sure of it":   {endpointSays(200, `{"output": 1, "confidence": 7}`), record.Error{Class: record.BadResponse, Message: "the endpoint's confidence is 7; want a number from 0 to 1"}},
		"an odd usage": {endpointSays(200, `{"output": 1, "usage": {"calls": -1}}`), record.Error{Class: record.BadResponse, Message: "the endpoint's usage cannot be"}},
		"no key":       {endpointSays(401, "no"), record.Error{Class: record.Auth, Message: "HTTP 401: no"}},
		"it hangs":     {hangs, record.Error{Class: record.CallTimeout, Message: "the endpoint took longer than 200ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, c.handler)
			a.Spec.Timeout = 200 * time.Millisecond
			result, err := a.Execute(t.Context(), endpointTurn())
			if failed, ok := errors.AsType[*record.Error](err); !ok || *failed != c.want {
				t.Fatalf("got %v, want %v", err, &c.want)
			}
			if len(result.Calls) != 1 || result.Calls[0].Error == nil || *result.Calls[0].Error != c.want || result.Calls[0].Usage != (record.Usage{Unreported: 1}) {
				t.Errorf("calls %+v", result.Calls)
			}
		})
	}
}

func TestAnEndpointThatHasNothingMore(t *testing.T) {
	result, err := serve(t, endpointSays(200, `{"end": "agent_ended"}`)).Execute(t.Context(), endpointTurn())
	if !errors.Is(err, model.ErrEnded) || len(result.Calls) != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}
