package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// childMode is the environment variable that makes a server of the test's own
// program.
const childMode = "AGENTBENCH_TEST_MCP"

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
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.Tools(told)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tools, tool.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
