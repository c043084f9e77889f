package mcp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
)

// Everything is a server that nobody here wrote, in another language and with
// another SDK.
const (
	everythingPackage = "@modelcontextprotocol/server-everything"
	everythingVersion = "2026.8.31"
	// everythingFolder names the environment variable of a folder in which it was
	// installed; without it the tests install one for themselves.
	everythingFolder = "AGENTBENCH_MCP_EVERYTHING"
)

// everything is the server's command. The test is skipped where there is none.
func everything(t *testing.T) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no server: node is not installed")
	}
	dir := os.Getenv(everythingFolder)
	if dir == "" {
		if testing.Short() {
			t.Skipf("no server in short tests: set %s to a folder with %s %s", everythingFolder, everythingPackage, everythingVersion)
		}
		dir = t.TempDir()
		npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", everythingPackage+"@"+everythingVersion)
		if told, err := npm.CombinedOutput(); err != nil {
			t.Skipf("no server: npm install: %v: %.300s; or set %s to a folder with %s %s", err, told, everythingFolder, everythingPackage, everythingVersion)
		}
	}
	return []string{node, filepath.Join(dir, "node_modules", everythingPackage, "dist", "index.js")}
}

// everythingListens is the address of a server that runs until the test ends.
func everythingListens(t *testing.T, argv []string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	server := exec.CommandContext(t.Context(), argv[0], append(argv[1:], "streamableHttp")...)
	server.Env = append(external.Environment(os.Getenv), fmt.Sprintf("PORT=%d", port))
	told, err := server.StderrPipe()
	must(t, err)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewReader(told)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "listening on port") {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the server
			return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
		}
		if err != nil {
			t.Fatalf("the server does not listen: %s %v", line, err)
		}
	}
}

// S4.5: a real server over both transports.
func TestS4_5_ARealServer(t *testing.T) {
	argv := everything(t)
	t.Run("stdio", func(t *testing.T) {
		understandsEverything(t, Options{Name: "everything", Program: &external.Program{Argv: append(slices.Clone(argv), "stdio"), Env: external.Environment(os.Getenv)}})
	})
	t.Run("http", func(t *testing.T) {
		understandsEverything(t, Options{Name: "everything", URL: everythingListens(t, argv)})
	})
}

func understandsEverything(t *testing.T, o Options) {
	t.Setenv("OPENAI_API_KEY", "sk-CANARY-0123456789")
	ctx := begun(t)
	o.Timeout = 20 * time.Second
	set := toolsOf(t, ctx, New(o))
	for _, c := range []struct{ tool, arguments, want string }{
		{"echo", `{"message": "h\u00e9 \ud83d\ude00 </script>"}`, `"Echo: hé 😀 </script>"`},
		{"get-sum", `{"a": 0.5, "b": 2}`, `"The sum of 0.5 and 2 is 2.5."`},
		{"get-structured-content", `{"location": "Chicago"}`, `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`},
		{"get-tiny-image", `{}`, `["Here's the image you requested:",{"bytes":4033,"mimeType":"image/png","type":"image"},"The image above is the MCP logo."]`},
		{"trigger-long-running-operation", `{"duration": 0.1, "steps": 3}`, `"Long running operation completed. Duration: 0.1 seconds, Steps: 3."`},
	} {
		if got, err := use(ctx, set, c.tool, c.arguments); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v", c.tool, got, err)
		}
	}
	_, err := use(ctx, set, "get-structured-content", `{"location": "Paris"}`)
	fails(t, err, record.BadCall, "'New York', 'Chicago', 'Los Angeles'")
	if o.Program != nil {
		if got, err := use(ctx, set, "get-env", `{}`); err != nil || strings.Contains(got, "CANARY") || !strings.Contains(got, "PATH") {
			t.Errorf("its environment: %s, %v", got, err)
		}
	}
	// It offers these only to clients that say they can answer.
	for _, name := range []string{"get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"} {
		if _, offered := set.Definition(name); offered {
			t.Errorf("%s is offered", name)
		}
	}
}
