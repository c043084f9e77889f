//go:build linux

package command

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// stubborn is a suite whose programs do not end by themselves, nor at a polite
// request. The seconds that they sleep tell them apart from all others.
const stubborn = "4321.1234"

// child is a process of agentbench in a folder of its own.
type child struct {
	testing.TB
	*exec.Cmd
	dir    string
	stderr *bufio.Scanner
}

// startStubborn starts the suite and returns once its programs run.
func startStubborn(t testing.TB, flags ...string) *child {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml":  "suite: stubborn\ntasks: [{input: one}]\nconfigurations: [{name: default, loop: a.loop.yaml}]\nconcurrency: 2\ntrials: 3\n",
		"a.loop.yaml": "loop: a\nagent: {command: [sh, stubborn.sh]}\nterminate: {max_iterations: 1}\n",
		"stubborn.sh": "trap '' INT TERM HUP\necho $$ >>pids\nsleep " + stubborn + " & sleep " + stubborn + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pids"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &child{TB: t, Cmd: exec.Command("agentbench", append([]string{"run", "suite.yaml", "--out", "r"}, flags...)...), dir: dir}
	c.Dir = dir
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stderr = bufio.NewScanner(stderr)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pids, err := os.Open(filepath.Join(dir, "pids")) // waits for the first program
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pids.Close() }) // earlier, the other programs would fail
	for lines := bufio.NewScanner(pids); lines.Scan(); {
		return c
	}
	t.Fatal("no program was started")
	return nil
}

func (c *child) signal(s syscall.Signal) {
	c.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}

// says waits for a line of stderr that contains the text.
func (c *child) says(text string) {
	c.Helper()
	for c.stderr.Scan() {
		if strings.Contains(c.stderr.Text(), text) {
			return
		}
	}
	c.Fatalf("it never said %q", text)
}

// ends waits for the end and expects an exit code. It returns the rest of
// stderr.
func (c *child) ends(code int) (rest string) {
	c.Helper()
	for c.stderr.Scan() {
		rest += c.stderr.Text() + "\n"
	}
	c.Wait()
	if got := c.ProcessState.ExitCode(); got != code {
		c.Errorf("exit code %d (%v), want %d: %s", got, c.ProcessState, code, rest)
	}
	return rest
}

// expectStopped expects that no program is left, and a folder that is whole and
// can be resumed.
func (c *child) expectStopped() {
	c.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(processes) == 0 {
		c.Fatal(err)
	}
	for _, path := range processes {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(stubborn)) {
			c.Errorf("%s is left: %q", path, line)
		}
	}
	journal, found, err := record.Resume(filepath.Join(c.dir, "r"), record.Options{})
	if err != nil {
		c.Fatal(err)
	}
	defer journal.Close()
	if len(found.Finished) > 0 || found.Manifest.Status != record.StateStopped {
		c.Errorf("found %+v", found)
	}
}

const goesOn = "hint: finished runs are saved; resume with: agentbench run suite.yaml"

// ignoresHangup is read before any test listens to signals, which ends that.
var ignoresHangup = signal.Ignored(syscall.SIGHUP)

func TestF5_RunsInFlightHaveAGraceToEnd(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if s == syscall.SIGHUP && ignoresHangup {
			t.Logf("%v is ignored here, as under nohup", s)
			continue
		}
		c := startStubborn(t, "--grace", "50ms")
		c.signal(s)
		c.says("stopping; runs in flight have 50ms to end")
		rest := c.ends(exit.Stopped)
		if !strings.Contains(rest, "agentbench: interrupted after 0 of 3 runs\n"+goesOn+" --grace 50ms --out r\n") {
			t.Errorf("%v: %s", s, rest)
		}
		c.expectStopped()
	}
}

// P6: the second signal ends it at once, and not after the grace. BenchmarkSecondSignal says how soon.
func TestF6_ASecondSignalEndsAtOnce(t *testing.T) {
	c := startStubborn(t, "--grace", "1h")
	late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	c.signal(syscall.SIGINT)
	c.says("stopping; runs in flight have 1h0m0s to end")
	c.signal(syscall.SIGINT)
	if rest := c.ends(exit.Stopped); !strings.Contains(rest, goesOn) {
		t.Error(rest)
	}
	c.expectStopped()
}

// BenchmarkSecondSignal is the time from the second signal to the end.
func BenchmarkSecondSignal(b *testing.B) {
	var took time.Duration
	for range b.N {
		c := startStubborn(b, "--grace", "1h")
		c.signal(syscall.SIGINT)
		c.says("stopping; runs in flight have 1h0m0s to end")
		began := time.Now()
		c.signal(syscall.SIGINT)
		c.ends(exit.Stopped)
		took += time.Since(began)
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/end")
}

// F7: nobody reads what it writes, and nobody ever will; the work is done all
// the same. What the programs meet at a closed pipe is what they always meet.
func TestF7_AClosedPipeStopsNothing(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	dir := filepath.Join(t.TempDir(), "r")
	command := exec.Command("agentbench", "run", "application", "--out", dir)
	command.Stdout, command.Stderr = write, write
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	m, err := record.ReadManifest(dir)
	if err != nil || m.Status != record.StateComplete {
		t.Errorf("%v, %v", m.Status, err)
	}
}

func TestF7_ProgramsMeetClosedPipesAsEver(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml":  "suite: pipes\ntasks: [{input: one}]\nconfigurations: [{name: default, loop: a.loop.yaml}]\n",
		"a.loop.yaml": "loop: a\nagent: {command: [bash, -c, 'yes | head -n 1 >&2; echo ${PIPESTATUS[0]}']}\nterminate: {max_iterations: 1}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("agentbench", "run", "suite.yaml", "-q", "--out", "r")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run, err := record.Find(filepath.Join(dir, "r"), "default/task-1/1")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Trim(string(run.Output()), "\"\\n"); got != "141" {
		t.Errorf("yes ended with %s, and not by SIGPIPE", got)
	}
}
