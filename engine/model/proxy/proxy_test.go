package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/anthropic"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

var must = wiretest.Must

// realKey is the one that no program may see.
const realKey = "sk-REAL-0123456789abcdef"

// making are the models of each protocol.
var making = map[model.Protocol]func(wire.Options) (model.Model, error){
	model.Chat:      func(o wire.Options) (model.Model, error) { return openai.New(o) },
	model.Responses: func(o wire.Options) (model.Model, error) { return openai.NewResponses(o) },
	model.Messages:  func(o wire.Options) (model.Model, error) { return anthropic.New(o) },
}

func eachProtocol(t *testing.T, try func(*testing.T, model.Protocol)) {
	t.Helper()
	for p := range making {
		t.Run(string(p), func(t *testing.T) { try(t, p) })
	}
}

// behind is a model at a server of its own, as the engine makes them, called coder in the suite and m at its server.
func behind(t testing.TB, p model.Protocol, upstream http.Handler) *Model {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	transport := wire.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	address := server.URL
	if p != model.Messages {
		address += "/v1"
	}
	made, err := making[p](wire.Options{Name: "m", BaseURL: address, Key: realKey, Transport: transport})
	must(t, err)
	var free pace.LimitOptions
	limited := pace.Limit(made, nil, free)
	return &Model{Name: "coder", Model: pace.LimitRun(pace.Retry(limited, pace.RetryOptions{Retries: -1}), free), Speaks: p, Pricing: free}
}

// opened is a session of a server that listens.
func opened(t testing.TB, run Run) *Session {
	t.Helper()
	s := New(Options{})
	must(t, s.Listen())
	t.Cleanup(func() { _ = s.Close() })
	session, err := s.Open(context.Background(), run)
	must(t, err)
	return session
}

// behindOf is a session with a model behind a server.
func behindOf(t testing.TB, p model.Protocol, upstream http.HandlerFunc) *Session {
	t.Helper()
	return opened(t, Run{Models: named(behind(t, p, upstream))})
}

// replying is a server with one answer.
func replying(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}
}

func named(m *Model) []Name { return []Name{{defaultName, m}} }

// body asks a model in a protocol.
func body(p model.Protocol, name string, stream bool, said ...string) string {
	var items []map[string]any
	for i, text := range said {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		items = append(items, map[string]any{"role": role, "content": text})
	}
	asked := map[string]any{"model": name, "stream": stream, forms[p].items: items}
	switch {
	case p == model.Messages:
		asked["max_tokens"] = 128000
	case p == model.Chat && stream:
		asked["stream_options"] = map[string]bool{"include_usage": true}
	}
	text, _ := json.Marshal(asked) // plain data
	return string(text)
}

// post sends a body as a program does.
func (s *Session) post(t testing.TB, p model.Protocol, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	response, err := s.send(t.Context(), p, body, headers...)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response, string(text)
}

func (s *Session) send(ctx context.Context, p model.Protocol, body string, headers ...string) (*http.Response, error) {
	headers = append([]string{"Authorization", "Bearer " + s.Token}, headers...)
	if p == model.Messages {
		headers = append(headers, "Anthropic-Version", "2023-06-01")
	}
	return sendTo(ctx, "POST", s.BaseURL+"/v1"+forms[p].body, body, headers...)
}

// sendTo sends a request with headers, whose values stand behind their names.
func sendTo(ctx context.Context, method, address, body string, headers ...string) (*http.Response, error) {
	request, _ := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body)) // the address is valid
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return http.DefaultClient.Do(request)
}

// A call is sent on as it is but for name and key, its answer comes as the server gave it, and what it used is noted.
func TestACallIsPassedOn(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		for _, stream := range []bool{false, true} {
			var sent []byte
			var header http.Header
			var told bytes.Buffer
			mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts("a reply of several chunks, as they come")}, Key: realKey})
			m := behind(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent, _ = io.ReadAll(r.Body)
				header = r.Header
				r.Body = io.NopCloser(bytes.NewReader(sent))
				mock.ServeHTTP(recorder{w, &told}, r)
			}))
			var over []*Ended
			s := opened(t, Run{Models: named(m), Ended: func(e *Ended) { over = append(over, e) }})
			asked := strings.Replace(body(p, "gpt-x", stream, "hello"), `"model"`, ` "a_new_field": 1.0 , "model"`, 1)
			response, answer := s.post(t, p, asked, "X-Custom", "kept", "X-Api-Key", s.Token)
			if response.StatusCode != 200 || answer != told.String() {
				t.Errorf("got %d %s\nwant %s", response.StatusCode, answer, told.String())
			}
			if want := strings.Replace(asked, `"gpt-x"`, `"m"`, 1); string(sent) != want {
				t.Errorf("sent %s\nwant %s", sent, want)
			}
			if header.Get("X-Custom") != "kept" || strings.Contains(fmt.Sprint(header), s.Token) {
				t.Errorf("sent the headers %v", header)
			}
			calls := s.Calls()
			if len(calls) != 1 || len(over) != 1 {
				t.Fatalf("%d calls, %d over", len(calls), len(over))
			}
			c, want := calls[0], record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 10}
			if c.Usage != want || c.Model != "coder" || c.Finish != "stop" || c.Kind != record.MainCall || c.Conversation != "main" || c.Step != 1 ||
				c.Reserved == nil || c.Reserved.OutputTokens != DefaultReserve || !(0 < c.Arrived && c.Arrived < c.Start && c.Start < c.FirstByte && c.FirstByte < c.Ended) {
				t.Errorf("noted %+v, reserved %+v", c, c.Reserved)
			}
			if reply := over[0].Reply; reply.Text != "a reply of several chunks, as they come" || string(reply.Raw.Body) != answer {
				t.Errorf("the reply is %+v", reply)
			}
		}
	})
}

// recorder keeps what a server writes.
type recorder struct {
	http.ResponseWriter
	to *bytes.Buffer
}

func (r recorder) Write(b []byte) (int, error) {
	r.to.Write(b)
	return r.ResponseWriter.Write(b)
}

func (r recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
