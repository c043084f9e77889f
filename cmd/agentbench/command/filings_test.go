package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What stands around the example filing-qa: its server of filings and its
// calculator, which TestMain makes programs of, its auditor and its model.

type filingQuery struct {
	Company string `json:"company"`
	Year    int    `json:"year"`
}

// serveFilings is filings-mcp: it knows two numbers.
func serveFilings() {
	if len(os.Args) != 2 || os.Args[1] != "--read-only" {
		fmt.Fprintf(os.Stderr, "filings-mcp: %q\n", os.Args)
		os.Exit(2)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "filings-mcp", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "search_filings", Description: "Find figures of a company"},
		func(_ context.Context, _ *sdk.CallToolRequest, in filingQuery) (*sdk.CallToolResult, any, error) {
			if in.Company != "ACME" || in.Year != 2023 {
				return nil, nil, fmt.Errorf("there is no filing of %s for %d", in.Company, in.Year)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "10-K p. 42: revenue 1200, cost of sales 950"}}}, nil, nil
		})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// calculate is bc -l, as a tool: it reads JSON, and knows only differences.
func calculate() {
	var in struct{ Expression string }
	var a, b int
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := fmt.Sscanf(in.Expression, "%d - %d", &a, &b); err != nil {
		fmt.Fprintf(os.Stderr, "(standard_in) 1: syntax error in %q\n", in.Expression)
		os.Exit(1)
	}
	fmt.Println(a - b)
}

// auditor is a remote agent that speaks A2A 0.3 and answers every task at once.
type auditor struct {
	mu    sync.Mutex
	tasks []string
}

func (a *auditor) start(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"auditor","url":"http://%s/rpc","preferredTransport":"JSONRPC","protocolVersion":"0.3.0"}`, r.Host)
	})
	mux.HandleFunc("POST /rpc", a.answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func (a *auditor) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Message struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Method != "message/send" || len(asked.Params.Message.Parts) != 1 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks = append(a.tasks, asked.Params.Message.Parts[0].Text)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","messageId":"1","role":"agent","parts":[{"kind":"text","text":"The margin is right."}]}}`, asked.ID)
}

// mockOf starts agentbench mock with a file of replies, and gives its address.
func mockOf(t *testing.T, replies string) (address string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "replies.yaml")
	if err := os.WriteFile(file, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	mock := exec.CommandContext(t.Context(), "agentbench", "mock", "--port", "0", "--replies", file)
	mock.Stderr = os.Stderr
	told, err := mock.StdoutPipe()
	if err == nil {
		err = mock.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = mock.Process.Kill()
		_ = mock.Wait()
	})
	line, err := bufio.NewReader(told).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("the mock server says %q (%v)", line, err)
	}
	return address
}
