package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

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
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := s.Tools(told)
	for _, one := range tools {
		if one.Definition().Name == "double" {
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
		if d.Pure != (d.Name == "double") || d.Server != "orderly" || d.Timeout != tool.DefaultTimeout {
			t.Errorf("got %+v", d)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"dotted_name_part", "double"}) {
		t.Errorf("got %v", names)
	}
	o.Only = []string{"double", "triple"}
	s := New(o)
	told, err := s.Server(ctx)
	if err != nil {
		t.Fatal(err)
	}
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
					if err != nil {
						t.Fatal(err)
					}
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
		"ends":    {ends, record.Server, "exit status 4: no configuration"},
		"slow":    {slow, record.CallTimeout, `the server "orderly" did not tell of its tools within 100ms`},
		"timeout": {impatient, record.CallTimeout, `the server "orderly" did not tell of its tools within 200ms`},
		"gone":    {gone, record.Network, "connection refused"},
		"no HTTP": {Options{Name: "x", URL: "nonsense://x"}, record.BadResponse, "unsupported protocol scheme"},
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
	fails(t, err, record.BadResponse, "it redirects to http://localhost")
	if strangers.Load() > 0 {
		t.Error("it was sent to another host")
	}
}
