package temporal

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const (
	// cliVersion is that of the Temporal CLI whose server the tests start, and gatewayVersion
	// that of a server that speaks S3; .ci/run builds them.
	cliVersion     = "v1.5.1"
	gatewayVersion = "v1.8.0"
)

// cli is the Temporal CLI; the test skips where it was not built.
func cli(t testing.TB) string { return built(t, cliVersion, "temporal") }

// built is a program that .ci/run builds once.
func built(t testing.TB, version, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(cache, "agentbench-temporal", version, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("there is no %s: CI_ONLY=temporal .ci/run builds it", name)
	}
	return path
}

// freePort is a port that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// devServer is a server in a process of its own.
type devServer struct {
	Server
	start func()
	kill  func()
	pid   func() int
}

// serverOf starts a server whose state is in a file, or in memory; "".
func serverOf(t testing.TB, file string) *devServer {
	t.Helper()
	path, port := cli(t), freePort(t)
	s := &devServer{Server: Server{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Namespace: "default", Queue: "agentbench"}}
	args := []string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--log-level", "never"}
	if file != "" {
		args = append(args, "--db-filename", file)
	}
	var running *exec.Cmd
	s.start = func() {
		running = exec.Command(path, args...)
		if err := running.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the server listens", func() bool {
			c, err := s.Dial(t.Context())
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	s.pid = func() int { return running.Process.Pid }
	s.kill = func() {
		_ = running.Process.Kill()
		_ = running.Wait()
	}
	s.start()
	t.Cleanup(func() { s.kill() })
	return s
}

// await waits until something holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
