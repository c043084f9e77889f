//go:build unix

package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

func open(t *testing.T, held *Confinement, script string) *Session {
	t.Helper()
	p := shell(script)
	p.Confinement = held
	s, err := p.Open(t.Context())
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

const echoes = `while read -r line; do echo "got $line"; done; echo bye >&2`

func TestSessionsTalk(t *testing.T) {
	for held, confinement := range confinements() {
		t.Run(held, func(t *testing.T) {
			s := open(t, confinement, echoes)
			lines := bufio.NewReader(s)
			for i := range 3 {
				fmt.Fprintf(s, "%d\n", i)
				if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("got %d\n", i) {
					t.Fatalf("got %q, %v", line, err)
				}
			}
			if s.Err() != nil {
				t.Error("it runs and has ended")
			}
			if err := errors.Join(s.Close(), s.Close()); err != nil || s.Err() != nil || s.Stderr() != "bye\n" {
				t.Errorf("got %v, %v, %q", err, s.Err(), s.Stderr())
			}
			if n, err := s.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("read %d, %v after the end", n, err)
			}
		})
	}
}

func TestSessionsThatEndByThemselves(t *testing.T) {
	for script, want := range map[string]string{
		"echo last; echo why >&2; exit 3": `program: the program "sh" failed: exit status 3: why`,
		"echo last":                       `program: the program "sh" ended`,
		"echo last; kill -SEGV $$":        `program: the program "sh" failed: signal: segmentation fault`,
	} {
		for held, confinement := range confinements() {
			s := open(t, confinement, script)
			text, err := io.ReadAll(s)
			<-s.Done()
			if string(text) != "last\n" || err != nil || s.Err() == nil || s.Err().Error() != want {
				t.Errorf("%s, %s: read %q, %v; ended with %v", held, script, text, err, s.Err())
			}
		}
	}
}

func TestSessionsThatDoNotStart(t *testing.T) {
	for held, confinement := range confinements() {
		p := Program{Argv: []string{"no-such-program"}, Confinement: confinement}
		s, err := p.Open(t.Context())
		if failed, ok := errors.AsType[*record.Error](err); s != nil || !ok || failed.Class != record.InvalidRequest {
			t.Errorf("%s: got %v", held, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	p := shell("sleep 300")
	if s, err := p.Open(over); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// F32: nothing outlives a session, whatever its program leaves.
func TestF32_ClosingASessionKillsWhatItLeft(t *testing.T) {
	for name, script := range map[string]string{
		"children":         children + "sleep 300; true",
		"deaf to its end":  `trap "" TERM HUP INT; sleep 300; sleep 300; true`,
		"ended before":     children + "exit 0",
		"children outside": "",
	} {
		for held, confinement := range confinements() {
			t.Run(name+"/"+held, func(t *testing.T) {
				m := mark()
				text := strings.ReplaceAll(script, "%[1]s", m)
				if text == "" {
					confinement = inNamespace(t)
					text = escaping(t, m) + "sleep 300; true"
				}
				p := shell(text)
				p.Argv, p.Confinement, p.Farewell = append(p.Argv, m), confinement, 100*time.Millisecond
				s, err := p.Open(t.Context())
				must(t, err)
				s.Close()
				until(t, "nobody is left", func() bool { return alive(t, m) == 0 })
			})
		}
	}
}

// The program's thread is its own: it lives on where the goroutine that opened
// it has ended with its thread.
func TestASessionOutlivesTheThreadThatOpenedIt(t *testing.T) {
	opened := make(chan *Session)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		p := shell(echoes)
		s, err := p.Open(t.Context())
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	s := <-opened
	defer s.Close()
	for range 20 {
		fmt.Fprintln(s, "x")
		if _, err := s.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
}

// Where there is no namespace, a child that left the group may still hold the
// output: who reads is told of the end all the same.
func TestTheOutputOfASessionEndsWithItsProgram(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	s := open(t, nil, "setsid sleep 8 & echo last")
	begin := time.Now()
	text, err := io.ReadAll(s)
	if took := time.Since(begin); string(text) != "last\n" || err != nil || took > 5*time.Second {
		t.Errorf("read %q, %v after %v", text, err, took)
	}
}
