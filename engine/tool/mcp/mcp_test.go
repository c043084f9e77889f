package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// childMode is the environment variable that makes a server of the test's own
// program.
const childMode = "AGENTBENCH_TEST_MCP"

var must = propertytest.Must

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		serveAs(mode)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serveAs is the server: an orderly one, or one of the disorderly.
func serveAs(mode string) {
	if play, ok := disorderly[mode]; ok {
		play()
		return
	}
	if err := orderly(mode).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type number struct {
	N int `json:"n"`
}

// orderly is a server as the SDK makes it. Its mode says how many tools it has
// beside those of everyone.
func orderly(mode string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "orderly", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "double", Description: "Doubles a number."}, func(_ context.Context, _ *sdk.CallToolRequest, in number) (*sdk.CallToolResult, number, error) {
		return nil, number{2 * in.N}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "refuse"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("not today")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "big"}, func(_ context.Context, _ *sdk.CallToolRequest, in number) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", in.N)}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "dotted.name/part"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "one"}, &sdk.TextContent{Text: "two"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "pid"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(os.Getpid())}}}, nil, nil
	})
	var more int
	_, _ = fmt.Sscanf(mode, "with %d more", &more)
	for i := range more {
		s.AddTool(&sdk.Tool{Name: fmt.Sprintf("more-%d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	return s
}

// child is a server that is a process.
func child(mode string, args ...string) Options {
	env := append(external.Environment(os.Getenv), childMode+"="+mode, "GORACE=atexit_sleep_ms=0") // else it sleeps for a second before it exits
	return Options{Name: "orderly", Program: &external.Program{Argv: append([]string{os.Args[0]}, args...), Env: env, Farewell: 5 * time.Second}}
}

// listening is a server at an address.
func listening(t *testing.T) Options {
	t.Helper()
	server := orderly("")
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(web.Close)
	return Options{Name: "listening", URL: web.URL}
}

// begun is a run that ends with the test.
func begun(t testing.TB) context.Context {
	t.Helper()
	ctx, run := tool.WithRun(t.Context())
	t.Cleanup(run.Close)
	return ctx
}

// toolsOf are the tools of a server as an agent has them, each in a set.
func toolsOf(t testing.TB, ctx context.Context, s *Server) *tool.Set {
	t.Helper()
	told, err := s.Server(ctx)
	must(t, err)
	tools, err := s.Tools(told)
	must(t, err)
	set, err := tool.NewSet(tools, tool.Options{})
	must(t, err)
	return set
}

// use calls a tool and gives its result as an agent would have it.
func use(ctx context.Context, set *tool.Set, name, arguments string) (string, error) {
	if wrong := set.Check(name, json.RawMessage(arguments)); wrong != nil {
		return "", wrong
	}
	got, err := set.Use(ctx, name, &tool.Use{Arguments: json.RawMessage(arguments), Task: &spec.Task{}})
	return string(got.Content), err
}

// fails holds an error against what it is to be.
func fails(t testing.TB, err error, class record.ErrorClass, message string) {
	t.Helper()
	failed, ok := errors.AsType[*record.Error](err)
	if !ok || failed.Class != class || !strings.Contains(failed.Message, message) {
		t.Errorf("got %v, want %s: … %s …", err, class, message)
	}
}

// S4.5: tools of an MCP server are listed and called, over pipes and over HTTP.
func TestS4_5_ToolsThroughMCP(t *testing.T) {
	for name, o := range map[string]Options{"stdio": child("orderly"), "http": listening(t)} {
		t.Run(name, func(t *testing.T) {
			ctx := begun(t)
			set := toolsOf(t, ctx, New(o))
			for _, c := range []struct{ tool, arguments, want string }{
				{"double", `{"n": 21}`, `{"n":42}`},
				{"dotted_name_part", `{}`, `"one\ntwo"`},
				{"big", `{"n": 3}`, `"xxx"`},
			} {
				if got, err := use(ctx, set, c.tool, c.arguments); err != nil || got != c.want {
					t.Errorf("%s: got %s, %v", c.tool, got, err)
				}
			}
			_, err := use(ctx, set, "refuse", `{}`)
			fails(t, err, record.Tool, "not today")
			_, err = use(ctx, set, "double", `{"n": "x"}`)
			fails(t, err, record.BadCall, "")
		})
	}
}

// What a server says of wrong arguments that were not checked is told.
func TestAServerRefusesACall(t *testing.T) {
	ctx := begun(t)
	s := New(child("orderly"))
	told, err := s.Server(ctx)
	must(t, err)
	tools, _ := s.Tools(told)
	for _, one := range tools {
		if one.Name == "double" {
			_, err = one.Use(ctx, &tool.Use{Arguments: []byte(`{"n":"x"}`)})
			fails(t, err, record.Tool, "validating")
		}
	}
}

func TestOnlySomeToolsAreUsed(t *testing.T) {
	o := child("orderly")
	o.Only, o.Pure = []string{"dotted.name/part", "double"}, []string{"double"}
	ctx := begun(t)
	set := toolsOf(t, ctx, New(o))
	var names []string
	for _, d := range set.Definitions() {
		names = append(names, d.Name)
		if d.Pure != (d.Name == "double") || d.Server != "orderly" || d.Timeout != spec.DefaultToolTimeout {
			t.Errorf("got %+v", d)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"dotted_name_part", "double"}) {
		t.Errorf("got %v", names)
	}
	o.Only = []string{"double", "triple"}
	s := New(o)
	told, err := s.Server(ctx)
	must(t, err)
	_, err = s.Tools(told)
	fails(t, err, record.InvalidRequest, `the server "orderly" has no tool "triple"; it has big, die, dotted.name/part, double, pid, refuse, wait`)
}

// A call that takes too long ends in time, and the server goes on.
func TestACallIsEndedAtItsTimeout(t *testing.T) {
	for name, o := range map[string]Options{"stdio": child("orderly"), "http": listening(t)} {
		t.Run(name, func(t *testing.T) {
			o.Timeout, o.Start = 50*time.Millisecond, time.Minute
			ctx := begun(t)
			set := toolsOf(t, ctx, New(o))
			begin := time.Now()
			_, err := use(ctx, set, "wait", `{}`)
			fails(t, err, record.Tool, "timed out after 50ms")
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %v", took)
			}
			if got, err := use(ctx, set, "double", `{"n":1}`); err != nil || got != `{"n":2}` {
				t.Errorf("afterwards: %s, %v", got, err)
			}
		})
	}
}

func TestAnEndedRunEndsItsCalls(t *testing.T) {
	ctx, cancel := context.WithCancelCause(begun(t))
	set := toolsOf(t, ctx, New(child("orderly")))
	cause := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	if _, err := use(ctx, set, "wait", `{}`); err != cause {
		t.Errorf("got %v", err)
	}
}

// Each run has a server of its own, unless it is shared.
func TestAServerForEachRunOrForAll(t *testing.T) {
	_, all := tool.WithRun(t.Context())
	defer all.Close()
	for name, shared := range map[string]*tool.Run{"own": nil, "shared": all} {
		o := child("orderly")
		o.Shared = shared
		pids := map[string]bool{}
		for range 3 {
			// Two of them, as two configurations would have.
			for _, s := range []*Server{New(o), New(o)} {
				ctx, run := tool.WithRun(t.Context())
				set := toolsOf(t, ctx, s)
				for range 2 {
					pid, err := use(ctx, set, "pid", `{}`)
					must(t, err)
					pids[pid] = true
				}
				run.Close()
			}
		}
		if want := map[bool]int{true: 1, false: 6}[shared != nil]; len(pids) != want {
			t.Errorf("%s: %d servers, want %d", name, len(pids), want)
		}
	}
}

func TestServersThatCannotBeStarted(t *testing.T) {
	gone := listening(t)
	gone.URL = "http://127.0.0.1:1/mcp"
	missing, ends := child("orderly"), child("ends")
	missing.Program.Argv = []string{"no-such-server"}
	slow := child("slow")
	slow.Start, slow.Program.Farewell = 100*time.Millisecond, 100*time.Millisecond
	impatient := child("slow") // the timeout of a tool includes the start of its server
	impatient.Timeout, impatient.Program.Farewell = 200*time.Millisecond, 100*time.Millisecond
	for name, c := range map[string]struct {
		o       Options
		class   record.ErrorClass
		message string
	}{
		"missing": {missing, record.InvalidRequest, `the program "no-such-server" was not found`},
		"ends":    {ends, record.Unstarted, "exit status 4: no configuration"},
		"slow":    {slow, record.Unstarted, `the server "orderly" did not list its tools within 100ms`},
		"timeout": {impatient, record.Unstarted, `the server "orderly" did not list its tools within 200ms`},
		"gone":    {gone, record.Unstarted, "connection refused"},
		"no HTTP": {Options{Name: "x", URL: "nonsense://x"}, record.Unstarted, "unsupported protocol scheme"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.o).Server(begun(t))
			fails(t, err, c.class, c.message)
		})
	}
}

// What is declared of headers reaches the server, and no other host.
func TestHeadersAreForTheServerAlone(t *testing.T) {
	var strangers, keys atomic.Int64
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	t.Cleanup(stranger.Close)
	served := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return orderly("") }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer key":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/away":
			http.Redirect(w, r, strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
		default:
			keys.Add(1)
			served.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close) // after the runs
	key := http.Header{"Authorization": {"Bearer key"}}
	if _, err := New(Options{Name: "x", URL: server.URL, Headers: key}).Server(begun(t)); err != nil || keys.Load() == 0 {
		t.Errorf("with the key: %v", err)
	}
	_, err := New(Options{Name: "x", URL: server.URL}).Server(begun(t))
	fails(t, err, record.Auth, "Unauthorized")
	_, err = New(Options{Name: "x", URL: server.URL + "/away", Headers: key}).Server(begun(t))
	fails(t, err, record.Unstarted, "it redirects to http://localhost")
	if strangers.Load() > 0 {
		t.Error("it was sent to another host")
	}
}

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
