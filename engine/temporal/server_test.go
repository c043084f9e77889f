package temporal

import (
	"bytes"
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
	path := cli(t)
	s := &devServer{Server: Server{Namespace: "default", Queue: "agentbench"}}
	var running *exec.Cmd
	var said *bytes.Buffer
	var ended chan struct{}
	s.pid = func() int { return running.Process.Pid }
	s.kill = func() {
		_ = running.Process.Kill()
		<-ended
	}
	// begin reports whether the server listens: it exits where another process has taken one of its ports.
	begin := func() bool {
		_, port, _ := net.SplitHostPort(s.Address)
		args := []string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "never"}
		if file != "" {
			args = append(args, "--db-filename", file)
		}
		c, output, over := exec.Command(path, args...), new(bytes.Buffer), make(chan struct{})
		c.Stdout, c.Stderr = output, output
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running, said, ended = c, output, over
		go func() {
			_ = c.Wait()
			close(over)
		}()
		t.Cleanup(func() {
			_ = c.Process.Kill()
			<-over
		})
		listens := false
		await(t, "the server listens", func() bool {
			select {
			case <-over:
				return true
			default:
			}
			if c, err := s.Dial(t.Context()); err == nil {
				c.Close()
				listens = true
			}
			return listens
		})
		return listens
	}
	known := false // others know the address
	s.start = func() {
		const attempts = 5
		for range attempts {
			if !known {
				s.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
			}
			if begin() {
				known = true
				return
			}
		}
		t.Fatalf("the server ended %d times: %s", attempts, said)
	}
	s.start()
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
