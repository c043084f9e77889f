//go:build linux

package command

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nightly skips what takes minutes, unless AGENTBENCH_NIGHTLY is set.
func nightly(t *testing.T) {
	t.Helper()
	if os.Getenv("AGENTBENCH_NIGHTLY") == "" {
		t.Skip("AGENTBENCH_NIGHTLY=1 runs it")
	}
}

// manyRuns writes a suite of so many tasks, each one run of a scripted model.
func manyRuns(t *testing.T, tasks int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "suite.yaml", "suite: many\ntasks: tasks.jsonl\nmodels: {m: {provider: script, responses: [\"42\"], after_last: repeat, price: {input: 1, output: 2}}}\n"+
		"configurations: [{name: only, loop: a.loop.yaml}]\nscorers: [{name: right, type: exact}]\n")
	write(t, dir, "a.loop.yaml", "loop: a\nagent: {model: m}\nprompt: 'Question: {{ task.input }}'\nterminate: {max_iterations: 1}\n")
	f, err := os.Create(filepath.Join(dir, "tasks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	for i := range tasks {
		fmt.Fprintf(out, `{"id": "task-%d", "input": "What is %d + %d?", "target": "42"}`+"\n", i, i, i)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// peak runs the program in a folder, and gives the most memory that it held.
func peak(t *testing.T, dir string, args ...string) (held int64, stdout string) {
	t.Helper()
	code, used, held, out, said := spent(t, dir, args...)
	if code != 0 {
		t.Fatalf("agentbench %q: exit code %d: %s", args, code, said)
	}
	t.Logf("agentbench %s: %v of processor time, %d MiB", strings.Join(args, " "), used, held>>20)
	return held, out
}

// spent runs the program in a folder, and gives its exit code, its processor time, the
// most memory that it held, and what it printed. Linux counts for a process what the
// one that starts it holds, too; so a small one starts it, and tells.
func spent(t *testing.T, dir string, args ...string) (code int, used time.Duration, peak int64, stdout, stderr string) {
	t.Helper()
	told := filepath.Join(t.TempDir(), "told")
	var out, said bytes.Buffer
	c := exec.Command("measured", append([]string{told, "agentbench"}, args...)...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &said
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &code, &used, &peak); err != nil {
		t.Fatal(err)
	}
	return code, used, peak, out.String(), said.String()
}

// measured FILE COMMAND ARGS... runs a command, and writes its exit code, nanoseconds of
// processor time, and the bytes that it held at most to a file.
func measured() {
	c := exec.Command(os.Args[2], os.Args[3:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); c.ProcessState == nil {
		panic(err)
	}
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	told := fmt.Sprintln(c.ProcessState.ExitCode(), int64(used), c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	if err := os.WriteFile(os.Args[1], []byte(told), 0o644); err != nil {
		panic(err)
	}
}

// F60, F61, P16: a hundred thousand runs, their report, and going on where nothing is
// left to be done, each in 300 MB.
func TestF60_AHundredThousandRuns(t *testing.T) {
	nightly(t)
	const most = 300_000_000
	dir := manyRuns(t, 100_000)
	for _, args := range [][]string{
		{"check", "suite.yaml"}, {"plan", "suite.yaml"}, {"run", "suite.yaml", "-q", "--out", "r"}, {"run", "suite.yaml", "-q", "--out", "r"},
		{"report", "r"}, {"report", "r", "--format", "csv", "--table", "tasks"}, {"show", "r"},
	} {
		if held, _ := peak(t, dir, args...); held > most {
			t.Errorf("agentbench %q held %d MB", args, held/1_000_000)
		}
	}
}

// F9b: a process that runs out of memory, wherever that is, leaves a folder that
// the next one finishes.
func TestF9b_OutOfMemory(t *testing.T) {
	nightly(t)
	dir := manyRuns(t, 20_000)
	_, want := peak(t, dir, "run", "suite.yaml", "-q", "--out", "whole")
	partly := 0
	for kilobytes := 1_340_000; kilobytes < 1_700_000; kilobytes += 20_000 { // of addresses, most of which Go only reserves
		out := fmt.Sprintf("r%d", kilobytes)
		limited := exec.Command("sh", "-c", fmt.Sprintf("ulimit -v %d; exec agentbench run suite.yaml -q --out %s", kilobytes, out))
		limited.Dir = dir
		err := limited.Run()
		if info, stat := os.Stat(filepath.Join(dir, out, "records.jsonl")); err != nil && stat == nil && info.Size() > 0 {
			partly++
		}
		if _, got := peak(t, dir, "run", "suite.yaml", "-q", "--out", out); got != want {
			t.Errorf("with %d kB at first, the report is\n%s\nwant\n%s", kilobytes, got, want)
		}
	}
	if partly == 0 {
		t.Error("no process ended in the middle")
	}
}
