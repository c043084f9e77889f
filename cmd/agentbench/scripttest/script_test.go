package scripttest

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/external"
)

func TestMain(m *testing.M) {
	exitAtOnce()
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "agentbench" || len(os.Args) > 1 && os.Args[1] == "forward" { // as a sandbox starts us
		os.Exit(command.Main())
	}
	testscript.Main(m, map[string]func(){
		"mcp-example": mcpExample, "reseal": reseal, "flip": flip, "screen": screen, "telltale": telltale,
		"answers": answers, "session": serve,
	})
}

const scripts = "../../../testdata/script"

// concurrent are the scripts of short tests, which the race detector watches: each
// does several things at once, and together they reach every part that does.
var concurrent = strings.Fields(`
	S0_4_phases S1_11_S2_8_budget_of_a_run S2_7_S4_7_conversations S4_5_tools_through_mcp S4_8_mock_responses
	agents_that_fail application budget cache check dead_server events fuse in_use interrupt mock other_model
	pairwise programs_and_keys rate_limits resume resume_delegates roadmap score shard summaries tools
	tune_default`)

// TestScripts runs what users type: testdata/script, a behaviour a file.
func TestScripts(t *testing.T) {
	t.Parallel()
	beside, err := exec.LookPath("session")
	if err == nil { // testscript would keep the name for a program alone
		err = os.Link(beside, filepath.Join(filepath.Dir(beside), "agentbench"+filepath.Ext(beside)))
	}
	if err != nil {
		t.Fatal(err)
	}
	params := testscript.Params{
		Dir:                 scripts,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLUMNS", "100")
			e.Setenv("CI", "")
			e.Values[sessionKey{}] = &session{inherited: slices.Clone(e.Vars)}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"agentbench": agentbench, "exits": exits, "each": each},
		Condition: func(name string) (bool, error) {
			switch name {
			case "hidden":
				return (&external.Confinement{}).Missing() == "", nil
			case "bubblewrap":
				return exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
	}
	if testing.Short() {
		params.Dir = ""
		for _, name := range concurrent {
			params.Files = append(params.Files, filepath.Join(scripts, name+".txtar"))
		}
	}
	testscript.Run(t, params)
}

// telltale serves chat completions and repeats the key that it is called with: in a header, in an event that is an error, and behind
// the answer that it announced. It writes its address to a file.
func telltale() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte("http://"+l.Addr().String()+"/v1\n"), 0o644)
	}
	if err != nil {
		panic(err)
	}
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		const answer = `{"choices":[{"message":{"content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
		if asked, _ := io.ReadAll(r.Body); bytes.Contains(asked, []byte(`"stream":true`)) {
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"%s is not valid\"}}\n\n", key)
			return
		}
		to, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(to, "HTTP/1.1 200 OK\r\nX-Key: %s\r\nContent-Length: %d\r\n\r\n%s##[error]%s", key, len(answer), answer, key)
	}))
}

// answers serves files: answers ADDRESS FILE... gives the first request the first file, and so on; the last file stays. It writes its
// address to a file.
func answers() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte("http://"+l.Addr().String()+"/v1\n"), 0o644)
	}
	if err != nil {
		panic(err)
	}
	files, asked := os.Args[2:], atomic.Int64{}
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.ServeFile(w, r, files[min(int(asked.Add(1)), len(files))-1])
	}))
}

// reseal makes the checksum of a manifest that a script has changed.
func reseal() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	_, rest, _ := bytes.Cut(text, []byte(","))
	text = fmt.Appendf(nil, "{\n  \"crc\": \"%08x\",%s", crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)), rest)
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		panic(err)
	}
}

// flip flips a bit of a file: flip FILE BYTE, where -1 is the last byte.
func flip() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	at, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	text[(at+len(text))%len(text)] ^= 1
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		panic(err)
	}
}

// mcpExample is a server of tools that scripts start.
func mcpExample() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	type number struct {
		N int `json:"n"`
	}
	type nothing struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "double", Description: "Doubles a number."}, func(_ context.Context, _ *mcp.CallToolRequest, in number) (*mcp.CallToolResult, number, error) {
		return nil, number{2 * in.N}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "pid", Description: "Tells which process this is."}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("process ", os.Getpid())}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "die", Description: "Ends the server."}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
		return nil, nil, nil
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}
