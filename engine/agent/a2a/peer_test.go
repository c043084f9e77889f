package a2a

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// peer is a remote agent that stands on the protocol's official SDK, which speaks
// wire 0.3. It is a module of its own (testdata/peer): the product does not link
// the SDK.
type peer struct {
	address string
	lines   chan string // what it says
}

// buildPeer skips the test only where the SDK cannot be had.
func buildPeer(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "peer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("testdata", "peer")
	told, err := build.CombinedOutput()
	for _, unreachable := range []string{"dial tcp", "proxyconnect", "module lookup disabled", "no such host", "i/o timeout"} {
		if err != nil && strings.Contains(string(told), unreachable) {
			t.Skipf("no peer: its modules cannot be had: %.300s", told)
		}
	}
	if err != nil {
		t.Fatalf("building the peer: %v: %s", err, told)
	}
	return program
}

// startPeer starts one that ends with the test.
func startPeer(t *testing.T) *peer {
	t.Helper()
	command := exec.CommandContext(t.Context(), buildPeer(t))
	if _, err := command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	p := &peer{lines: make(chan string, 100)}
	go func() {
		for said := bufio.NewScanner(out); said.Scan(); {
			p.lines <- said.Text()
		}
	}()
	p.address = strings.TrimPrefix(p.line(), "listening on ")
	return p
}

// line is what it says next, "" where it says nothing for long.
func (p *peer) line() string {
	select {
	case said := <-p.lines:
		return said
	case <-time.After(20 * time.Second):
		return ""
	}
}

// A server that nobody here wrote understands what is sent, and is understood.
func TestTheOfficialServer(t *testing.T) {
	p := startPeer(t)
	client, err := New(Options{Address: p.address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.http.CloseIdleConnections)
	for _, c := range []struct {
		text, want string
		class      record.ErrorClass
		asks       bool
		atLeast    time.Duration
	}{
		{"do it", "did: do it\n{", "", false, 0},
		{"slow one", "did: slow one\n{", "", false, 200 * time.Millisecond},
		{"say", "said in ", "", false, 0},
		{"ask me", "which year?", "", true, 0},
		{"fail", "no such filing", record.Program, false, 0},
	} {
		answer, took, err := client.Send(t.Context(), c.text, "")
		if classOf(err) != c.class || !strings.HasPrefix(answer.Text, c.want) || answer.Asks() != c.asks || took < c.atLeast {
			t.Errorf("%s: %v, %+v after %v", c.text, err, answer, took)
		}
		if answer.Task != "" && answer.Context == "" {
			t.Errorf("%s: the task is of no conversation", c.text)
		}
	}
}

// A conversation goes on where its name is given back.
func TestTheOfficialServersConversation(t *testing.T) {
	client, err := New(Options{Address: startPeer(t).address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.http.CloseIdleConnections)
	first, _, err := client.Send(t.Context(), "do it", "")
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := client.Send(t.Context(), "say", first.Context)
	if err != nil || second.Text != "said in "+first.Context {
		t.Errorf("%v, %+v", err, second)
	}
	if other, _, err := client.Send(t.Context(), "say", ""); err != nil || other.Context == first.Context {
		t.Errorf("%v, %+v", err, other)
	}
}

// A task that nobody waits for any more is cancelled at the server, too.
func TestTheOfficialServerCancels(t *testing.T) {
	p := startPeer(t)
	client, err := New(Options{Address: p.address, Timeout: 150 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.http.CloseIdleConnections)
	if _, _, err := client.Send(t.Context(), "forever", ""); classOf(err) != record.CallTimeout {
		t.Error(err)
	}
	if told := p.line(); told != "cancelled" {
		t.Errorf("the peer says %q", told)
	}
	client.options.Timeout = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, _, err := client.Send(ctx, "forever", ""); err != context.DeadlineExceeded {
		t.Error(err)
	}
	if told := p.line(); told != "cancelled" {
		t.Errorf("the peer says %q", told)
	}
}
