//go:build linux

package command

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
func peak(t *testing.T, dir string, args ...string) (bytes int64, stdout string) {
	t.Helper()
	c := exec.Command("agentbench", args...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("agentbench %q: %v", args, err)
	}
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	bytes = c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("agentbench %s: %v of processor time, %d MiB", strings.Join(args, " "), used, bytes>>20)
	return bytes, string(out)
}

// F60, F61, P16: a million runs, their report, and going on where nothing is
// left to be done, each in 512 MiB.
func TestF60_AMillionRuns(t *testing.T) {
	nightly(t)
	const most = 512 << 20
	dir := manyRuns(t, 1_000_000)
	for _, args := range [][]string{
		{"check", "suite.yaml"}, {"plan", "suite.yaml"}, {"run", "suite.yaml", "-q", "--out", "r"}, {"run", "suite.yaml", "-q", "--out", "r"},
		{"report", "r"}, {"report", "r", "--format", "csv", "--table", "tasks"}, {"show", "r"},
	} {
		if held, _ := peak(t, dir, args...); held > most {
			t.Errorf("agentbench %q held %d MiB", args, held>>20)
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
