//go:build unix

package external

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/external/leaktest"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

var mark, alive, until = leaktest.Mark, leaktest.Alive, leaktest.Until

// children leaves three processes that hold the standard output: one ignores
// TERM, one is a grandchild.
const children = `sh -c 'trap "" TERM INT HUP; sleep 300 & wait' %[1]s & sh -c 'sleep 300; true' %[1]s & `

// F30, F32, P15: at its timeout a program dies with all its children.
func TestATimeoutKillsTheWholeGroup(t *testing.T) {
	m := mark()
	p := shell(fmt.Sprintf(children+"sleep 300; true", m))
	p.Argv = append(p.Argv, m)
	p.Timeout = 300 * time.Millisecond
	begin := time.Now()
	done, err := p.Run(t.Context(), nil)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	want := record.Error{Class: record.Program, Message: `the program "sh" took longer than 300ms and was killed`}
	var failed *record.Error
	if !errors.As(err, &failed) || *failed != want || done.Duration != p.Timeout {
		t.Errorf("got %v after %v", err, done.Duration)
	}
	until(t, "all are dead", func() bool { return alive(t, m) == 0 })
}

// What a program leaves behind holds its output only for a moment, and dies.
func TestChildrenThatOutliveTheProgramAreKilled(t *testing.T) {
	m := mark()
	p := shell(fmt.Sprintf("sh -c 'sleep 300; true' %s & echo done", m))
	done, err := p.Run(t.Context(), nil)
	if err != nil || string(done.Stdout) != "done\n" {
		t.Errorf("got %q, %v", done.Stdout, err)
	}
	until(t, "all are dead", func() bool { return alive(t, m) == 0 })
}

// F34: an output of any length is read to its end, and its head and tail are kept.
func TestF34_AnEndlessOutput(t *testing.T) {
	for held, confinement := range confinements() {
		p := shell("yes 'a line that comes again and again' | head -c 20000000; echo; echo the end; head -c 100000 /dev/zero | tr '\\0' e >&2")
		p.Confinement = confinement
		done, err := p.Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), `the program "sh" wrote 20000009 bytes; 262144 are allowed`) {
			t.Errorf("%s: got %v", held, err)
		}
		out := string(done.Stdout)
		if len(out) > defaultMaxOutput+100 || !strings.HasSuffix(out, "\nthe end\n") || !strings.Contains(out, " bytes cut …\n") {
			t.Errorf("%s: kept %d bytes: %.60q", held, len(out), out)
		}
		if len(done.Stderr) > maxStderr+100 || !strings.Contains(done.Stderr, "bytes cut") {
			t.Errorf("%s: kept %d bytes of the errors", held, len(done.Stderr))
		}
	}
}

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		limit := 2 * rapid.IntRange(1, 20).Draw(t, "half")
		c := newCapture(limit)
		var all []byte
		for _, chunk := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 60)).Draw(t, "chunks") {
			if n, err := c.Write(chunk); n != len(chunk) || err != nil {
				t.Fatalf("wrote %d of %d: %v", n, len(chunk), err)
			}
			all = append(all, chunk...)
		}
		if len(all) <= limit {
			if !bytes.Equal(c.Bytes(), all) || c.Cut() != 0 {
				t.Fatalf("got %v, want %v", c.Bytes(), all)
			}
			return
		}
		want := fmt.Appendf(append([]byte{}, all[:limit/2]...), "\n… %d bytes cut …\n", len(all)-limit)
		want = append(want, all[len(all)-limit/2:]...)
		if !bytes.Equal(c.Bytes(), want) {
			t.Fatalf("got %v, want %v", c.Bytes(), want)
		}
	})
}

// F26b: a program that cannot be started because no file descriptor is left does not
// fail: that is our fault. A new process may be the first to have none left.
func TestF26b_NoFileDescriptorIsLeft(t *testing.T) {
	p := Program{Argv: []string{"true"}}
	for _, cause := range []error{
		os.NewSyscallError("pipe2", syscall.EMFILE),
		&os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.EBADF},
	} {
		for _, err := range []error{p.explain(cause, ""), notNow("the system refused a namespace", cause)} {
			var failed *record.Error
			if !errors.As(err, &failed) || failed.Class != record.Resources {
				t.Errorf("%v: got %v", cause, err)
			}
		}
	}
}
