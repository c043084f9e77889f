//go:build linux

package external

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const testImage = "localhost/agentbench-test"

// forwarderFolder is where the forwarder is built; a process that a test starts to be killed uses that of the test.
var forwarderFolder = os.Getenv("AGENTBENCH_TEST_FORWARDER")

// forwarder is a static program that knows forward, built once.
var forwarder = sync.OnceValues(func() (string, error) {
	if forwarderFolder != "" {
		return filepath.Join(forwarderFolder, "forward"), nil
	}
	dir, err := os.MkdirTemp("", "agentbench-forward-")
	if err != nil {
		return "", err
	}
	forwarderFolder = dir
	built := exec.Command("go", "build", "-o", dir, "./testdata/forward")
	built.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := built.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return filepath.Join(dir, "forward"), nil
})

// image is an image of busybox alone.
var image = sync.OnceValue(func() error {
	if exec.Command("podman", "image", "exists", testImage).Run() == nil {
		return nil
	}
	root, err := os.MkdirTemp("", "agentbench-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	const build = `set -e; mkdir "$0/bin"; cp "$(command -v busybox)" "$0/bin/busybox"; for a in $(busybox --list); do [ $a = busybox ] || ln -s busybox "$0/bin/$a"; done; tar -C "$0" -c . | podman import - "$1"`
	if said, err := exec.Command("sh", "-c", build, root, testImage).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
})

// shortDir is a folder with a short path, for what a process leaves behind that is killed.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// boxed is a sandbox of a kind with a workspace. It skips a test where the system has none.
func boxed(t *testing.T, kind Kind) *Sandbox {
	t.Helper()
	s := &Sandbox{Kind: kind, Workspace: t.TempDir()}
	needs := map[Kind][]string{Bubblewrap: {"bwrap", "busybox"}, Container: {"podman", "busybox"}}[kind]
	for _, name := range needs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	if kind == Container {
		binary, err := forwarder()
		if err := errors.Join(err, image()); err != nil {
			t.Skipf("this system makes no image or no static program: %v", err)
		}
		s.binary, s.Image = binary, testImage
	}
	if err := s.Check(t.Context()); err != nil {
		t.Skipf("this system has no such sandbox: %v", err)
	}
	return s
}

func eachSandbox(t *testing.T, test func(t *testing.T, s *Sandbox), kinds ...Kind) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) { test(t, boxed(t, kind)) })
	}
}

// within is a shell script of the workspace, in the sandbox.
func within(t *testing.T, s *Sandbox, script string, declared ...string) *Program {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.Workspace, "script"), []byte(script), 0o600))
	p, err := s.Program(Program{
		Argv: []string{"sh", s.Inside(filepath.Join(s.Workspace, "script"))}, Env: append(s.Environment(), declared...),
		Timeout: time.Minute, Confinement: &Confinement{},
	})
	must(t, err)
	return &p
}

// says is what a script prints.
func says(t *testing.T, s *Sandbox, script string, declared ...string) string {
	t.Helper()
	done, err := within(t, s, script, declared...).Run(t.Context(), nil)
	if err != nil {
		t.Errorf("%v: %s", err, done.Stderr)
	}
	return string(done.Stdout)
}

func TestASandboxHasItsPlaces(t *testing.T) {
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		s.Home = t.TempDir()
		must(t, s.SeedHome(map[string]string{".config/tool/settings": "seeded"}))
		got := says(t, s, `pwd; echo $HOME; cat $HOME/.config/tool/settings; echo x >$HOME/made; echo x >made; echo x >/tmp/made && echo; echo "$DECLARED"`, "DECLARED=a b")
		want := "/workspace\n/home/agent\nseeded\na b\n"
		if s.none() {
			want = s.Workspace + "\n" + s.Home + "\nseeded\na b\n"
			os.Remove("/tmp/made")
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, dir := range []string{s.Workspace, s.Home} {
			info, err := os.Stat(filepath.Join(dir, "made"))
			if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
				t.Errorf("%s: %v, %v", dir, info, err)
			}
		}
	}, None, Bubblewrap, Container)
}

func TestASandboxHasAnEmptyHomeOfItsOwn(t *testing.T) {
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		const script = `ls -A $HOME; echo x >$HOME/made && echo made`
		if got := says(t, s, script) + says(t, s, script); got != "made\nmade\n" {
			t.Errorf("got %q", got)
		}
	}, Bubblewrap, Container)
}

// Of the environment there is what a sandbox gives, and what is declared.
func TestTheEnvironmentOfASandbox(t *testing.T) {
	t.Setenv("MY_KEY", "secret")
	t.Setenv("LANG", "C.UTF-8")
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		lines := strings.Fields(says(t, s, "env", "DECLARED=1", "LD_DEBUG_OUTPUT=/nowhere", "DOCKER_HOST=theirs"))
		var names []string
		for _, line := range lines {
			name, value, _ := strings.Cut(line, "=")
			if !slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TERM", "container"}, name) {
				names = append(names, name)
			}
			if name == "DOCKER_HOST" && value != "theirs" || name == "LD_DEBUG_OUTPUT" && value != "/nowhere" {
				t.Errorf("got %s", line)
			}
		}
		slices.Sort(names)
		want := "DECLARED DOCKER_HOST HOME LANG LD_DEBUG_OUTPUT PATH"
		names = slices.DeleteFunc(names, func(name string) bool {
			return strings.HasPrefix(name, "LC_") || name == "TZ" || name == "LANGUAGE" || name == "VIRTUAL_ENV"
		})
		if got := strings.Join(names, " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}, Bubblewrap, Container)
}

// No key of ours and no file of another run is seen within a sandbox: in environments,
// arguments and files.
func TestASandboxHidesWhatIsNotItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	if dir := os.Getenv("AGENTBENCH_TEST_SANDBOX"); dir != "" {
		s := boxed(t, Kind(os.Getenv("AGENTBENCH_TEST_KIND")))
		s.Workspace, s.Proxy = filepath.Join(dir, "runs", "ours"), filepath.Join(dir, "socket")
		listener, err := net.Listen("unix", s.Proxy)
		must(t, err)
		defer listener.Close()
		// It looks everywhere but where programs are installed.
		const search = `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | grep -ao 'CANARY-[0-9]*-[a-z]*'
for d in /*; do case $d in /usr|/bin|/sbin|/lib*|/proc|/sys|/dev) ;; *) grep -raoh 'CANARY-[0-9]*-[a-z]*' "$d" 2>/dev/null;; esac; done
ls -d "$THERE" "$THERE"/* /root/.* /etc/shadow /etc/ssh /etc/ssl/private 2>/dev/null; true`
		fmt.Printf("<%s>\n", says(t, s, search, "THERE="+dir))
		return
	}
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		dir := t.TempDir()
		for name, kind := range map[string]string{"runs/ours/file": "own", "runs/theirs/file": "sibling", "results/records.jsonl": "result", "key": "file"} {
			path := filepath.Join(dir, name)
			must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, fmt.Appendf(nil, "CANARY-%d-%s", os.Getpid(), kind), 0o644)))
		}
		us := exec.Command("/proc/self/exe", "-test.run=^TestASandboxHidesWhatIsNotItsOwn$", "-test.v", fmt.Sprintf("CANARY-%d-argument", os.Getpid()))
		us.Env = append(os.Environ(), "AGENTBENCH_TEST_SANDBOX="+dir, "AGENTBENCH_TEST_KIND="+string(s.Kind), fmt.Sprintf("OPENAI_API_KEY=CANARY-%d-key", os.Getpid()))
		said, err := us.CombinedOutput()
		if want := fmt.Appendf(nil, "<CANARY-%d-own\n>\n", os.Getpid()); err != nil || !bytes.Contains(said, want) {
			t.Errorf("got %v, %s; want %s", err, said, want)
		}
	}, Bubblewrap, Container)
	if why := (&Sandbox{}).Readable(); why == "" {
		t.Error("without a sandbox nothing is readable")
	}
}

// What is read-only stays so, also for root, and a program can have a sandbox of its own.
func TestASandboxCannotBeOpenedFromWithin(t *testing.T) {
	shown := t.TempDir()
	must(t, os.WriteFile(shown+"/file", []byte("theirs"), 0o666))
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		s.ReadOnly = []string{shown}
		got := says(t, s, `cat $SHOWN/file; echo; for at in / $SHOWN; do mount -o remount,rw,bind $at; mount -o remount,rw $at; done 2>/dev/null
echo x >$SHOWN/file && echo written; echo x >/etc/passwd && echo written; echo x >/usr/made && echo written; echo end`, "SHOWN="+shown)
		if s.Kind == Container { // whose /usr is its own
			got = strings.ReplaceAll(got, "written\n", "")
		}
		if content, _ := os.ReadFile(shown + "/file"); got != "theirs\nend\n" || string(content) != "theirs" {
			t.Errorf("got %q, and the file has %q", got, content)
		}
	}, Bubblewrap, Container)
	s := boxed(t, Bubblewrap)
	if got := says(t, s, `bwrap --unshare-all --ro-bind / / echo within`); got != "within\n" {
		t.Errorf("got %q", got)
	}
}

// A program is seen with what it needs, wherever it is installed.
// Root's files in /proc are written without any capability.
func TestASandboxCannotChangeTheMachine(t *testing.T) {
	const script = `find /proc -path '/proc/[0-9]*' -prune -o -type f -print 2>/dev/null | while read -r file; do
		[ -w "$file" ] && (: >>"$file") 2>/dev/null && echo "$file"
	done; echo end`
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		if open := says(t, s, script); open != "end\n" {
			t.Errorf("a program can write to\n%s", open)
		}
	}, Bubblewrap, Container)
	if kernel, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0); err == nil {
		kernel.Close()
		if status, err := Forward("", "", nil); status == 0 || err == nil {
			t.Error("a trial that can write to the machine succeeds")
		}
	}
}

func TestAProgramIsSeenWithItsInstallation(t *testing.T) {
	s := boxed(t, Bubblewrap)
	dir := t.TempDir()
	files := map[string]string{
		"lib/node_modules/@x/tool/bin/tool": "#!/usr/bin/env speaks\ncat $(dirname $(readlink -f $1))/../../dep/data\n",
		"lib/node_modules/@x/dep/data":      "a dependency",
		"tongue/speaks":                     "#!/bin/sh\n. $1\n",
		"venv/bin/python":                   "#!/bin/sh\ncat $(dirname $0)/../pyvenv.cfg\n",
		"venv/pyvenv.cfg":                   "an environment",
		"alone/one":                         "#!/bin/sh\nls $(dirname $0)\n",
		"alone/other":                       "secret",
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)))
	}
	must(t, os.Symlink("lib/node_modules/@x/tool/bin/tool", dir+"/tool"))
	for program, want := range map[string]string{"/tool": "a dependency", "/venv/bin/python": "an environment", "/alone/one": "one\n"} {
		env := slices.DeleteFunc(s.Environment(), func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
		p, err := s.Program(Program{Argv: []string{dir + program}, Env: append(env, "PATH="+os.Getenv("PATH")+":"+dir+"/tongue"), Confinement: &Confinement{}})
		must(t, err)
		if done, err := p.Run(t.Context(), nil); err != nil || string(done.Stdout) != want {
			t.Errorf("%s: got %q, %v", program, done.Stdout, err)
		}
	}
}

// Without a network nothing but the proxy is reached; with its own loopback network,
// programs of several runs use the same address.
func TestTheProxyIsReachedFromASandbox(t *testing.T) {
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		outside, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer outside.Close()
		_, port, _ := net.SplitHostPort(outside.Addr().String())
		s.Proxy = filepath.Join(t.TempDir(), "proxy")
		if url := s.ProxyURL("http://127.0.0.1:1"); url != "http://127.0.0.1:4000" {
			t.Errorf("got %s", url)
		}
		listener, err := net.Listen("unix", s.Proxy)
		must(t, err)
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				text, _ := io.ReadAll(conn)
				fmt.Fprintf(conn, "you said %s", text)
				conn.Close()
			}
		}()
		script := `nc="busybox nc"; echo hello | $nc 127.0.0.1 4000; busybox nc 127.0.0.1 ` + port + ` </dev/null 2>/dev/null || echo refused`
		if got := says(t, s, script); got != "you said hello\nrefused\n" {
			t.Errorf("got %q", got)
		}
	}, Bubblewrap, Container)
}

func TestANetworkIsSharedWhereItIsAllowed(t *testing.T) {
	s := boxed(t, Bubblewrap)
	s.Network, s.Proxy = true, "/nowhere"
	if url := s.ProxyURL("http://127.0.0.1:1"); url != "http://127.0.0.1:1" {
		t.Errorf("got %s", url)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if got := says(t, s, `busybox nc 127.0.0.1 `+port+` </dev/null && echo connected; test -s /etc/resolv.conf && echo resolves`); !strings.HasPrefix(got, "connected\n") {
		t.Errorf("got %q", got)
	}
}

// busyWithin writes without end, from sessions of their own.
const busyWithin = `case $1 in
session|orphan) while :; do echo x >>$1; done;;
*) setsid sh "$0" session $M & (setsid sh "$0" orphan $M &); wait; sleep 300; true;;
esac
`

func TestAProgramInASandboxIsFrozenAndKilled(t *testing.T) {
	test := func(t *testing.T, s *Sandbox, staysFrozen bool) {
		m := mark()
		r, err := within(t, s, busyWithin, "M="+m).Start(t.Context(), nil)
		must(t, err)
		defer r.Kill(nil)
		standsStill(t, r, 3, s.Workspace, writes[:2])
		must(t, r.Freeze())
		before := sizes(s.Workspace)
		r.Kill(nil)
		if left, after := alive(t, m), sizes(s.Workspace); left > 0 || staysFrozen && after != before {
			t.Errorf("%d processes are left; %v became %v", left, before, after)
		}
		noContainer(t, s, os.Getpid())
	}
	eachSandbox(t, func(t *testing.T, s *Sandbox) { test(t, s, true) }, Bubblewrap, Container)
	t.Run("docker", func(t *testing.T) { // an engine whose containers are not below us is told to freeze them
		s := boxed(t, Container)
		podman, _ := exec.LookPath("podman")
		dir := t.TempDir()
		must(t, os.WriteFile(dir+"/docker", []byte("#!/bin/sh\nexec "+podman+" \"$@\"\n"), 0o755))
		s.Getenv = func(name string) string {
			if name == "PATH" {
				return dir
			}
			return os.Getenv(name)
		}
		test(t, s, false) // podman lets what is paused run on before it kills it; docker does not
	})
}

// noContainer fails a test that leaves a container of a process.
func noContainer(t *testing.T, s *Sandbox, pid int) {
	t.Helper()
	if s.Kind == Container {
		names, err := exec.Command("podman", "ps", "--all", "--format", "{{.Names}}").Output()
		if err != nil || bytes.Contains(names, []byte(fmt.Sprintf("%s%d-", prefix, pid))) {
			t.Errorf("%s are left, %v", names, err)
		}
	}
}

func TestNothingInASandboxOutlivesUs(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	if kind := os.Getenv("AGENTBENCH_TEST_KIND"); kind != "" {
		s := boxed(t, Kind(kind))
		s.Workspace = os.Getenv("AGENTBENCH_TEST_FOLDER")
		r, err := within(t, s, busyWithin, "M="+os.Getenv("AGENTBENCH_TEST_MARK")).Start(t.Context(), nil)
		must(t, err)
		standsStill(t, r, 0, s.Workspace, writes[:2])
		if os.Getenv("AGENTBENCH_TEST_FREEZES") != "" {
			must(t, r.Freeze())
		}
		fmt.Println("now")
		<-r.Done()
		return
	}
	eachSandbox(t, func(t *testing.T, s *Sandbox) {
		for _, freezes := range []string{"", "frozen"} {
			m := mark()
			us := killed(t, m, "AGENTBENCH_TEST_KIND="+string(s.Kind), "AGENTBENCH_TEST_FREEZES="+freezes, "AGENTBENCH_TEST_FOLDER="+t.TempDir(),
				"AGENTBENCH_TEST_FORWARDER="+forwarderFolder, "TMPDIR="+shortDir(t))
			must(t, s.RemoveAbandoned(t.Context()))
			until(t, "all are dead", func() bool { return alive(t, m) == 0 })
			noContainer(t, s, us.Process.Pid)
		}
	}, Bubblewrap, Container)
}

// Containers of those of us that were killed are removed by the next of us, those of others are not.
func TestAbandonedContainersAreRemoved(t *testing.T) {
	s := boxed(t, Container)
	gone := exec.Command("true")
	must(t, gone.Run())
	for name, stays := range map[string]bool{
		fmt.Sprintf("%s%d-0", prefix, gone.Process.Pid): false, fmt.Sprintf("%s%d-0", prefix, os.Getpid()): true, prefix + "somebody": true,
	} {
		if said, err := exec.Command("podman", "create", "--name", name, testImage, "true").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		t.Cleanup(func() { _ = exec.Command("podman", "rm", "--force", name).Run() })
		must(t, s.RemoveAbandoned(t.Context()))
		if there := exec.Command("podman", "container", "exists", name).Run() == nil; there != stays {
			t.Errorf("%s is there: %v", name, there)
		}
	}
}

// What a sandbox needs and does not find is said before anything runs.
func TestCheckSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for name, said := range map[string]string{"bwrap": "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.", "podman": "Error: no such image"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+said+"' >&2; exit 1\n"), 0o755))
	}
	path := func(value string) func(string) string {
		return func(name string) string {
			if name == "PATH" {
				return value
			}
			return os.Getenv(name)
		}
	}
	static, err := forwarder()
	must(t, err)
	for _, c := range []struct {
		s    Sandbox
		want string
	}{
		{Sandbox{Kind: Bubblewrap, Getenv: path("/nowhere")}, "apt-get install bubblewrap"},
		{Sandbox{Kind: Bubblewrap, Getenv: path(dir)}, "this system forbids user namespaces"},
		{Sandbox{Kind: Container, Getenv: path("/nowhere")}, "apt-get install podman"},
		{Sandbox{Kind: Container, Getenv: path(dir), Image: "none/such", binary: static}, "podman pull none/such"},
		{Sandbox{Kind: Container, Getenv: path(dir), binary: "/usr/bin/bwrap"}, "CGO_ENABLED=0"},
		{Sandbox{Kind: "jail"}, `there is no sandbox "jail"`},
	} {
		if err := c.s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.s.Kind, err, c.want)
		}
	}
	must(t, (&Sandbox{}).Check(t.Context()))
}

func TestAProgramOutsideOfTheWorkspaceIsRefused(t *testing.T) {
	s := &Sandbox{Kind: Bubblewrap, Workspace: t.TempDir()}
	if _, err := s.Program(Program{Argv: []string{"true"}, Dir: "/etc"}); err == nil || !strings.Contains(err.Error(), "not in the workspace") {
		t.Errorf("got %v", err)
	}
}

// A script of npm's is seen with all packages beside it, also where a link leads to it.
func TestInstallationsAreSeenWhole(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	packages := filepath.Join(dir, "lib", "node_modules")
	script, linked, alone := filepath.Join(packages, "qwen", "cli.js"), filepath.Join(dir, "qwen"), filepath.Join(dir, "run.sh")
	for _, file := range []string{script, alone} {
		must(t, cmp.Or(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o755)))
	}
	if err := os.Symlink(script, linked); err != nil {
		t.Skip(err)
	}
	for file, want := range map[string][]string{script: {packages}, linked: {linked, packages}, alone: {alone}} {
		if got := Installation(file); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
