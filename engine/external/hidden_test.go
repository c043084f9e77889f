//go:build linux

package external

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// asNobody starts a command as a user without rights.
func asNobody(cmd *exec.Cmd) {
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// TestMain makes the test binary, too, what looks for secrets, and what sandboxes start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "forward" {
		flags := flag.NewFlagSet("forward", flag.ExitOnError)
		listen, socket := flags.String("listen", "", ""), flags.String("socket", "", "")
		_ = flags.Parse(os.Args[2:])
		status, err := Forward(*listen, *socket, flags.Args())
		if err != nil {
			fmt.Fprintln(os.Stderr, "agentbench:", err)
		}
		syscall.Exit(status)
	}
	if os.Getenv("AGENTBENCH_TEST_BURGLAR") == "is looked for" {
		(&Confinement{Off: true}).Missing()
		fmt.Print("x")
		_, _ = io.Copy(io.Discard, os.Stdin)
		syscall.Exit(0)
	}
	if how := os.Getenv("AGENTBENCH_TEST_BURGLAR"); how != "" {
		fmt.Print(burgle(how == "with force"))
		syscall.Exit(0) // at once, also under the race detector
	}
	if file := os.Getenv("AGENTBENCH_TEST_FORKER"); file != "" {
		forkForever(file)
	}
	status := m.Run()
	if forwarderFolder != "" && os.Getenv("AGENTBENCH_TEST_FORWARDER") == "" {
		_ = os.RemoveAll(forwarderFolder)
	}
	os.Exit(status)
}

// loot is what the burglar looks for. No process holds it but those that have it
// in their environment or arguments: here are no digits.
var loot = regexp.MustCompile(`CANARY-\d+-\w+`)

// burgle walks through all that a program can reach of other processes, and gives
// the canaries it finds, each once. With force it then tries to take away what
// hides the others.
func burgle(force bool) string {
	found := map[string]bool{}
	walk(found)
	for _, undo := range []func(){
		func() { _ = syscall.Unmount("/proc", 0) },
		func() { _ = syscall.Unmount("/proc", syscall.MNT_DETACH) },
		func() { _ = syscall.Unshare(syscall.CLONE_NEWNS) },
		func() { _ = syscall.Mount("proc", "/proc", "proc", 0, "") },
		func() { _ = syscall.Unshare(syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS) },
		func() { _ = syscall.Unmount("/proc", syscall.MNT_DETACH) },
	} {
		if force {
			undo()
			walk(found)
		}
	}
	var all []string
	for canary := range found {
		all = append(all, canary)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func walk(found map[string]bool) {
	for _, pattern := range []string{
		"/proc/*/environ", "/proc/*/cmdline", "/proc/*/task/*/environ", "/proc/*/task/*/cmdline", "/proc/*/root/proc/*/environ",
		"/proc/" + strconv.Itoa(os.Getppid()) + "/environ",
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			keep(found, text)
		}
	}
	memories, _ := filepath.Glob("/proc/[0-9]*/mem")
	for _, path := range memories {
		if path != fmt.Sprintf("/proc/%d/mem", os.Getpid()) {
			remember(found, path)
		}
	}
}

func keep(found map[string]bool, text []byte) {
	for _, canary := range loot.FindAll(text, -1) {
		found[string(canary)] = true
	}
}

// remember reads the stack of a process, where its environment stands.
func remember(found map[string]bool, path string) {
	maps, _ := os.ReadFile(strings.TrimSuffix(path, "mem") + "maps")
	memory, err := os.Open(path)
	if err != nil {
		return
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil || !strings.Contains(line, "[stack]") {
			continue
		}
		text := make([]byte, to-from)
		n, _ := memory.ReadAt(text, from)
		keep(found, text[:n])
	}
}

// A program finds our keys and those of who started us wherever the system lets it
// look, unless it has a /proc of its own.
func TestF77_ProgramsCannotReadOurEnvironment(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	if path := os.Getenv("AGENTBENCH_TEST_BROKEN_INTO"); path != "" {
		breakIn(t, path)
		return
	}
	us, err := os.Executable()
	must(t, err)
	folder, err := os.MkdirTemp("/tmp", "agentbench-test-") // that anybody may enter
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	burglar := filepath.Join(folder, "burglar")
	copied, err := os.ReadFile(us)
	must(t, errors.Join(err, os.Chmod(folder, 0o755), os.WriteFile(burglar, copied, 0o755)))
	for _, rights := range []string{"ours", "nobody's"} {
		again := exec.Command("/proc/self/exe", "-test.run=^TestF77_ProgramsCannotReadOurEnvironment$", "-test.v", "-test.count=1", fmt.Sprintf("CANARY-%d-argument", time.Now().UnixNano()))
		again.Dir, again.Env = "/", append(os.Environ(), "TMPDIR=/tmp", "AGENTBENCH_TEST_BROKEN_INTO="+burglar, fmt.Sprintf("OPENAI_API_KEY=CANARY-%d-key", time.Now().UnixNano()))
		switch {
		case rights != "ours" && os.Getuid() != 0:
			continue
		case rights != "ours":
			asNobody(again)
		case os.Getuid() == 0: // whatever the burglar does to a /proc, it is not that of this machine
			again.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		}
		said, err := again.CombinedOutput()
		if err != nil || !bytes.Contains(said, []byte("--- PASS")) && !bytes.Contains(said, []byte("--- SKIP")) {
			t.Errorf("with %s rights: %v: %s", rights, err, said)
		}
	}
}

// breakIn lets the burglar try each way in which programs are held.
func breakIn(t *testing.T, burglar string) {
	for held, confinement := range confinements() {
		var kind namespace
		if confinement != nil {
			kind = confinement.kind
		}
		hides, how := kind != namespace{}, map[bool]string{true: "with force", false: "gently"}[kind.proc]
		p := Program{Argv: []string{burglar}, Env: []string{"AGENTBENCH_TEST_BURGLAR=" + how}, Timeout: time.Minute, Confinement: confinement}
		done, err := p.Run(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", held, err)
		}
		found := string(done.Stdout)
		if reads := strings.Contains(found, "-key"); reads == hides {
			t.Errorf("%s: it hides keys: %v, and the program finds %q", held, hides, found)
		}
		if reads := strings.Contains(found, "-argument"); reads == kind.proc {
			t.Errorf("%s: it has a /proc of its own: %v, and the program finds %q", held, kind.proc, found)
		}
	}
}

// Where the system refuses a namespace, or one is switched off, Missing says why the environment of agentbench can be read.
func TestF77_MissingSaysWhy(t *testing.T) {
	asAnybody(t, func() {
		c := &Confinement{}
		if has, why := c.namespace() != (namespace{}), c.Missing(); has != (why == "") {
			t.Errorf("it has a namespace: %v, and has none because of %q", has, why)
		}
		if err := (&Confinement{}).try(namespace{proc: true}); os.Getuid() != 0 && err == nil {
			t.Error("this user has no rights, and gets a namespace outside of a user namespace")
		}
		if got := (&Confinement{Off: true}).Missing(); got != "namespaces are switched off" {
			t.Errorf("got %q", got)
		}
	})
}

// started starts a program in each kind of namespace.
func started(t *testing.T, script string, test func(t *testing.T, cmd *exec.Cmd, out io.Reader)) {
	t.Helper()
	for held, c := range confinements() {
		if c == nil {
			continue
		}
		t.Run(held, func(t *testing.T) {
			runtime.LockOSThread() // see mortal
			defer runtime.UnlockOSThread()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ps, err := c.within(c.kind, "/bin/sh", "-c", script)
			must(t, err)
			defer ps.release()
			cmd := ps.cmd
			defer context.AfterFunc(ctx, func() { killGroup(cmd) })()
			cmd.Env = Environment(os.Getenv)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, ps.start())
			test(t, cmd, out)
		})
	}
}

// Who ends what holds the program ends the program, with its exit status.
func TestSignalsReachAConfinedProgram(t *testing.T) {
	inNamespace(t)
	started(t, `trap 'echo told; exit 7' TERM; echo ready; while :; do sleep 0.02; done`, func(t *testing.T, cmd *exec.Cmd, out io.Reader) {
		line := make([]byte, len("ready\n"))
		if _, err := io.ReadFull(out, line); err != nil {
			t.Fatal(err)
		}
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); string(rest) != "told\n" || cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

// What a program leaves to the first process of its namespace is reaped there.
func TestOrphansOfAConfinedProgramAreReaped(t *testing.T) {
	inNamespace(t)
	const script = `i=0; while [ $i -lt 20 ]; do (true &); i=$((i+1)); done
n=0; while grep -q '^[0-9]* ([^)]*) Z 1 ' /proc/[0-9]*/stat 2>/dev/null; do n=$((n+1)); [ $n -gt 200 ] && exit 9; sleep 0.02; done; exit 0`
	started(t, script, func(t *testing.T, cmd *exec.Cmd, out io.Reader) {
		_, _ = io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("zombies are left: %v", err)
		}
	})
}

// Nobody but the program holds its streams: their end is seen while it runs on.
func TestAConfinedProgramHasItsStreamsForItself(t *testing.T) {
	for held, c := range confinements() {
		s := open(t, c, `echo last; exec >&-; read -r line; exit 3`)
		if text, err := io.ReadAll(s); string(text) != "last\n" || err != nil {
			t.Errorf("%s: read %q, %v", held, text, err)
		}
		if s.Err() != nil {
			t.Errorf("%s: %v", held, s.Err())
		}
		fmt.Fprintln(s, "go")
		<-s.Done()
	}
}

// A program does not run without the namespace that others have: it could read what they cannot.
func TestARefusedNamespaceIsNotDoneWithout(t *testing.T) {
	asAnybody(t, func() {
		p := shell("echo done")
		p.Confinement = (&Confinement{}).of(namespace{proc: true})
		done, err := p.Run(t.Context(), nil)
		if failed, ok := errors.AsType[*record.Error](err); os.Getuid() != 0 && (!ok || failed.Class != record.Internal || len(done.Stdout) > 0) {
			t.Errorf("got %q, %v", done.Stdout, err)
		}
	})
}

// Without a namespace only root can read the memory of agentbench, and no other program of its user.
func TestOurMemoryIsHidden(t *testing.T) {
	asAnybody(t, func() {
		us := exec.Command("/proc/self/exe")
		us.Env = []string{"AGENTBENCH_TEST_BURGLAR=is looked for", "OPENAI_API_KEY=CANARY-" + strconv.Itoa(os.Getpid()) + "-key"}
		out, err := us.StdoutPipe()
		stdin, err2 := us.StdinPipe()
		must(t, errors.Join(err, err2, us.Start()))
		defer us.Wait()
		defer stdin.Close()
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		_, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", us.Process.Pid))
		if reads := err == nil; reads != (os.Getuid() == 0) {
			t.Errorf("it is read: %v (%v)", reads, err)
		}
	})
}

// asAnybody makes a test; root lets it run again as a user without rights.
func asAnybody(t *testing.T, test func()) {
	t.Helper()
	test()
	if os.Getuid() != 0 {
		return
	}
	again := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	again.Dir, again.Env = "/", append(os.Environ(), "TMPDIR=/tmp")
	asNobody(again)
	if said, err := again.CombinedOutput(); err != nil {
		t.Errorf("as anybody: %v: %s", err, said)
	}
}
