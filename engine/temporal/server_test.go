package temporal

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// cliVersion is that of the Temporal CLI whose server the tests start, and gatewayVersion
	// that of a server that speaks S3; .ci/run builds them.
	cliVersion     = "v1.5.1"
	gatewayVersion = "v1.8.0"

	serverCommand = "temporal server start-dev --headless"
)

// onDemand skips what takes long, unless a trial is asked for.
func onDemand(t *testing.T) {
	t.Helper()
	if os.Getenv(trialVariable) == "" {
		t.Skip(trialVariable + " is not set")
	}
}

// trialVariable says how many runs of a model, and of a program, a trial has that loses workers, the server and the coordinator.
const trialVariable = "AGENTBENCH_TEMPORAL_TRIAL"

// TestMain ends the server that tests share, and removes the program that they have built.
func TestMain(m *testing.M) {
	os.Unsetenv("GOTMPDIR") // it is for the compiler's files; those of tests are synced, and TMPDIR may be in memory
	code := m.Run()
	if shared.process != nil {
		shared.kill()
	}
	if programFolder != "" {
		os.RemoveAll(programFolder)
	}
	os.Exit(code)
}

// built is a program that .ci/run builds once; the test skips where it did not.
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

// cli is the Temporal CLI.
func cli(t testing.TB) string { return built(t, cliVersion, "temporal") }

// freeAddress was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// devServer is a server in a process of its own. Its state is in a file, or in memory; "".
type devServer struct {
	Server
	path, file string
	process    *exec.Cmd
	ended      chan struct{}
}

// shared is the server of all tests that do not kill it.
var (
	shared      devServer
	sharing     sync.Once
	errOfShared error
)

// sharedServer is the one of all tests, with a task queue for this test.
func sharedServer(t testing.TB) *devServer {
	t.Helper()
	path := cli(t)
	sharing.Do(func() {
		shared.path = path
		errOfShared = shared.start()
	})
	if errOfShared != nil {
		t.Fatal(errOfShared)
	}
	s := shared
	s.Queue = t.Name()
	return &s
}

// ownServer is one that the test may kill.
func ownServer(t testing.TB, file string) *devServer {
	t.Helper()
	s := &devServer{path: cli(t), file: file}
	check(t, s.start())
	s.Queue = t.Name()
	t.Cleanup(s.kill)
	return s
}

// start starts it, again at the address that others know. It exits where another process has taken one of its ports.
func (s *devServer) start() (err error) {
	s.Namespace = "default"
	known := s.Address != ""
	for range 5 {
		if !known {
			if s.Address, err = freeAddress(); err != nil {
				return err
			}
		}
		_, port, _ := net.SplitHostPort(s.Address)
		args := append(strings.Fields(serverCommand)[1:], "--ip", "127.0.0.1", "--port", port, "--log-level", "never")
		if s.file != "" {
			args = append(args, "--db-filename", s.file)
		}
		s.process, s.ended = exec.Command(s.path, args...), make(chan struct{})
		if err := s.process.Start(); err != nil {
			return err
		}
		go func() {
			_ = s.process.Wait()
			close(s.ended)
		}()
		if s.listens() {
			return nil
		}
	}
	return errors.New("the server ended each time")
}

// listens waits until the server answers, and reports whether it has not ended.
func (s *devServer) listens() bool {
	for {
		select {
		case <-s.ended:
			return false
		case <-time.After(50 * time.Millisecond):
		}
		if c, err := s.Dial(context.Background()); err == nil {
			c.Close()
			return true
		}
	}
}

func (s *devServer) kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

// await waits until something holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within 3 minutes: %s", what)
		}
	}
}

// check ends the test at an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
