//go:build linux

package external

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// loopback is an address that no other process listens on.
func loopback() string {
	return fmt.Sprintf("127.%d.%d.9:4000", 1+os.Getpid()>>8&0x7f, os.Getpid()&0xff)
}

// forwarding starts a forwarder whose program has begun, and gives its end.
func forwarding(t *testing.T, socket, script string) (cmd *exec.Cmd, said *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "forward", "--listen", loopback(), "--socket", socket, "--", "sh", "-c", "echo ready; "+script)
	out, err := cmd.StdoutPipe()
	stdin, err2 := cmd.StdinPipe()
	must(t, errors.Join(err, err2, cmd.Start()))
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said = bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd, said
}

// pair are the two ends of a forwarded connection.
func pair(t *testing.T) (client *net.TCPConn, server *net.UnixConn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	forwarding(t, socket, "read -r line")
	conn, err := net.Dial("tcp", loopback())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	accepted, err := listener.Accept()
	must(t, err)
	t.Cleanup(func() { accepted.Close() })
	return conn.(*net.TCPConn), accepted.(*net.UnixConn)
}

// Each byte is there before the next is sent.
func TestForwardHoldsNoByteBack(t *testing.T) {
	client, server := pair(t)
	got := make([]byte, 1)
	for i := range 50 {
		from, to := net.Conn(client), net.Conn(server)
		if i%2 == 1 {
			from, to = to, from
		}
		if _, err := from.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(to, got); err != nil || got[0] != byte(i) {
			t.Fatalf("byte %d: got %d, %v", i, got[0], err)
		}
	}
	large := bytes.Repeat([]byte("large "), 1<<20)
	go func() {
		_, _ = server.Write(large)
		server.Close()
	}()
	if all, err := io.ReadAll(client); err != nil || !bytes.Equal(all, large) {
		t.Errorf("got %d bytes, %v", len(all), err)
	}
}

func TestForwardEndsEachDirectionByItself(t *testing.T) {
	for _, first := range []string{"client", "server"} {
		t.Run(first, func(t *testing.T) {
			client, server := pair(t)
			type half interface {
				net.Conn
				CloseWrite() error
			}
			ends, goesOn := half(client), half(server)
			if first == "server" {
				ends, goesOn = goesOn, ends
			}
			fmt.Fprint(ends, "last")
			must(t, ends.CloseWrite())
			if all, err := io.ReadAll(goesOn); err != nil || string(all) != "last" {
				t.Errorf("got %q, %v", all, err)
			}
			fmt.Fprint(goesOn, "still here")
			must(t, goesOn.CloseWrite())
			if all, err := io.ReadAll(ends); err != nil || string(all) != "still here" {
				t.Errorf("got %q, %v", all, err)
			}
		})
	}
}

func TestForwardResetsWhatItCannotConnect(t *testing.T) {
	forwarding(t, "/nowhere", "read -r line")
	var all []byte
	conn, err := net.Dial("tcp", loopback())
	if err == nil { // it was quicker than the forwarder
		defer conn.Close()
		all, err = io.ReadAll(conn)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %q, %v", all, err)
	}
}

// The status is the program's, and signals reach it.
func TestForwardIsLikeItsProgram(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "kill -9 $$": 137, "(exit 3 &); exit 0": 0, "trap 'exit 9' TERM; kill -TERM $PPID; while :; do :; done": 9} {
		cmd, said := forwarding(t, "/nowhere", script)
		_, _ = io.ReadAll(said)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: got %v, want %d", script, err, want)
		}
	}
	for program, want := range map[string]int{"/no/such": 127, "/etc/passwd": 127} {
		said, err := exec.Command(os.Args[0], "forward", "--", program).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != want || !strings.Contains(string(said), program) {
			t.Errorf("%s: got %v, %s", program, err, said)
		}
	}
	forwarding(t, "/nowhere", "read -r line")
	if said, err := exec.Command(os.Args[0], "forward", "--listen", loopback(), "--", "true").CombinedOutput(); err == nil || !bytes.Contains(said, []byte("address already in use")) {
		t.Errorf("got %v, %s", err, said)
	}
}
