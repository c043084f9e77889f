package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentbench/agentbench/engine/record"
)

// leakRuns is the variable that says how many runs are looked at for what they leave behind.
const leakRuns = "AGENTBENCH_LEAKS"

// TestRunsLeaveNothingBehind makes runs of 64 programs at a time, each of which leaves a process in a session of its own, and a
// tenth as many that also call a model: afterwards no process, file, mount, socket, folder or control group is left.
func TestRunsLeaveNothingBehind(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 64
	}
	if text := os.Getenv(leakRuns); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", leakRuns, err)
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	t.Run("none", func(t *testing.T) { leftBy(t, "none", runs) })
	t.Run("bubblewrap", func(t *testing.T) {
		if said, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true").CombinedOutput(); err != nil {
			t.Skipf("bubblewrap: %v %s", err, said)
		}
		leftBy(t, "bubblewrap", max(20, runs/10))
	})
}

// leftBy makes runs in a sandbox, and finds what they leave.
func leftBy(t *testing.T, sandbox string, runs int) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	folder, mark := t.TempDir(), fmt.Sprintf("%d.%d", 90_000+runs%999, os.Getpid())
	calls := "calls"
	if _, err := exec.LookPath("curl"); err != nil {
		calls = "plain"
	}
	make := func(configuration, out string, runs int) {
		t.Helper()
		packed, err := txtar.ParseFile("../../../testdata/leaks.txtar")
		if err != nil {
			t.Fatal(err)
		}
		words := strings.NewReplacer("MARK", mark, "SANDBOX", sandbox, "TRIALS", fmt.Sprint(runs))
		for _, file := range packed.Files {
			write(t, folder, file.Name, words.Replace(string(file.Data)))
		}
		var said bytes.Buffer
		args := []string{"run", filepath.Join(folder, "suite.yaml"), "--out", filepath.Join(folder, out), "--configuration", configuration, "--cache", "off", "--concurrency", "64", "-q"}
		if code := run(context.Background(), args, os.Getenv, strings.NewReader(""), &said, &said); code != 0 {
			t.Fatalf("exit code %d: %s", code, said.String())
		}
		made := 0
		for r, err := range record.ReadLight(filepath.Join(folder, out)) {
			if err != nil || !r.Outcome.Counts() {
				t.Fatalf("%+v, %v", r, err)
			}
			made++
		}
		if left, _ := filepath.Glob(filepath.Join(folder, out, "workspaces", "*")); made != runs || len(left) != 1 {
			t.Errorf("%d runs, and beside the store there is %q", made, left)
		}
	}
	make(calls, "first", 2) // what is opened once stays open
	before := holdings(t)
	began := time.Now()
	make("plain", "plain", runs)
	make(calls, "calls", max(1, runs/10))
	t.Logf("%d runs in %v", runs+max(1, runs/10), time.Since(began))
	if after := holdings(t); !slices.Equal(before, after) {
		t.Errorf("there was\n%s\nand is\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if left := alive(mark, folder); left != "" {
		t.Errorf("a process outlived its run: %q", left)
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// alive is the command line of a process that one of these words is in; "" if there is none.
func alive(words ...string) string {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		line, err := os.ReadFile(file)
		if err == nil && slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(line, []byte(word)) }) {
			return string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return ""
}

// holdings is what this process holds of the machine: kinds of open files, mounts, children, and control groups of its programs.
func holdings(t *testing.T) (all []string) {
	t.Helper()
	runtime.GC() // closes what nobody refers to: that is no leak
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if to, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil { // else it was the one of reading this folder
			kind, _, _ := strings.Cut(to, "[")
			all = append(all, "open "+kind)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && !strings.HasPrefix(fields[4], "/var/lib/containers") { // those of other tests
			all = append(all, "mounted "+fields[4])
		}
	}
	children, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range children {
		if list, err := os.ReadFile(file); err == nil && len(list) > 0 {
			all = append(all, "child "+string(list))
		}
	}
	slices.Sort(all)
	return all
}
