//go:build unix

package external

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// confinements are the ways in which programs are held on this system.
func confinements() map[string]*Confinement {
	all := map[string]*Confinement{"group": nil}
	for _, kind := range namespaces {
		c := &Confinement{}
		if c.try(kind) == nil {
			all[fmt.Sprintf("%+v", kind)] = c.of(kind)
		}
	}
	return all
}

// of makes it one that has found out about the system.
func (c *Confinement) of(kind namespace) *Confinement {
	c.once.Do(func() { c.kind = kind })
	return c
}

// inNamespace skips a test where the system has none.
func inNamespace(t *testing.T) *Confinement {
	t.Helper()
	c := &Confinement{}
	if c.namespace() == (namespace{}) {
		t.Skip("the system gives no PID namespaces to this user")
	}
	return c
}

// escaping leaves processes that left the group: a session of its own, one whose
// parent is gone, and one that ignores what it can.
func escaping(t *testing.T, m string) string {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	return fmt.Sprintf(`setsid sh -c 'sleep 300; true' %[1]s & (setsid sh -c 'sleep 300; true' %[1]s &) ; `+
		`setsid sh -c 'trap "" TERM INT HUP; sleep 300; true' %[1]s </dev/null >/dev/null 2>&1 & `, m)
}

// F32, P15: in a namespace nothing is left, whatever a program does.
func TestF32_NothingOutlivesANamespace(t *testing.T) {
	for name, end := range map[string]string{
		"early exit": "sleep 0.1; exit 0", "early failure": "exit 3", "timeout": "sleep 300; true", "killed by itself": "kill -9 $$",
	} {
		t.Run(name, func(t *testing.T) {
			m := mark()
			p := shell(escaping(t, m) + end)
			p.Confinement, p.Timeout = inNamespace(t), 500*time.Millisecond
			begin := time.Now()
			_, err := p.Run(t.Context(), nil)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if left := alive(t, m); left > 0 {
				t.Errorf("%d processes are left (%v)", left, err)
			}
		})
	}
}

func TestF32_CancellingEmptiesANamespace(t *testing.T) {
	m := mark()
	p := shell(escaping(t, m) + "sleep 300; true")
	p.Confinement = inNamespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		until(t, "all have started", func() bool { return alive(t, m) >= 4 })
		cancel()
	}()
	if _, err := p.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := alive(t, m); left > 0 {
		t.Errorf("%d processes are left", left)
	}
}

// F33: if we are killed, all die with us, those of another session as well, stopped or not.
func TestF33_ANamespaceDiesWithUs(t *testing.T) {
	if m := os.Getenv("AGENTBENCH_TEST_MARK"); m != "" {
		p := shell(escaping(t, m) + "sleep 300; true")
		p.Confinement = confinements()[os.Getenv("AGENTBENCH_TEST_HELD")]
		r, err := p.Start(t.Context(), nil)
		must(t, err)
		until(t, "all have started", func() bool { return alive(t, m) >= 5 })
		if os.Getenv("AGENTBENCH_TEST_FREEZES") != "" {
			must(t, r.Freeze())
		}
		fmt.Println("now")
		<-r.Done()
		return
	}
	inNamespace(t)
	for held, c := range confinements() {
		for _, freezes := range []string{"", "frozen"} {
			if c == nil {
				continue
			}
			t.Run(held+" "+freezes, func(t *testing.T) {
				m := mark()
				us := exec.Command(os.Args[0], "-test.run=^TestF33_ANamespaceDiesWithUs$")
				us.Env = append(os.Environ(), "AGENTBENCH_TEST_MARK="+m, "AGENTBENCH_TEST_HELD="+held, "AGENTBENCH_TEST_FREEZES="+freezes)
				said, err := us.StdoutPipe()
				must(t, errors.Join(err, us.Start()))
				if line, err := bufio.NewReader(said).ReadString('\n'); line != "now\n" {
					t.Fatalf("got %q, %v", line, err)
				}
				_ = us.Process.Kill()
				_ = us.Wait()
				until(t, "all are dead", func() bool { return alive(t, m) == 0 })
			})
		}
	}
}

// However a program is held, it is given and leaves the same.
func TestF31_ProgramsEndAlike(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"plain.txt": "x", "ours": "#!/bin/sh\necho ours \"$@\"\n"} {
		mode := os.FileMode(0o600)
		if strings.HasPrefix(content, "#!") {
			mode = 0o700
		}
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(content), mode))
	}
	must(t, os.Mkdir(filepath.Join(folder, "folder"), 0o700))
	for name, c := range map[string]struct {
		argv           []string
		stdout, failed string
	}{
		"arguments":      {[]string{"./ours", "a b", "$x", "'", ""}, "ours a b $x ' \n", ""},
		"input":          {[]string{"cat"}, "the input", ""},
		"status":         {[]string{"sh", "-c", "echo no >&2; exit 3"}, "", "program: the program \"sh\" failed: exit status 3: no"},
		"its own signal": {[]string{"sh", "-c", "kill -SEGV $$"}, "", "program: the program \"sh\" failed: signal: segmentation fault"},
		"killed":         {[]string{"sh", "-c", "echo x; kill -9 $$"}, "x\n", "program: the program \"sh\" failed: signal: killed"},
		"not found":      {[]string{"no-such-program"}, "", "invalid_request: the program \"no-such-program\" was not found; is it installed and on PATH?"},
		"no such file":   {[]string{"./no-such"}, "", "invalid_request: the program \"./no-such\" was not found; a path is relative to the folder of the file that names it"},
		"not executable": {[]string{"./plain.txt"}, "", "invalid_request: the program \"./plain.txt\" may not be executed; is it marked as executable?"},
		"a folder":       {[]string{"./folder"}, "", "invalid_request: the program \"./folder\" may not be executed; is it marked as executable?"},
		"closed input":   {[]string{"true"}, "", ""},
	} {
		for held, confinement := range confinements() {
			t.Run(name+"/"+held, func(t *testing.T) {
				p := Program{Argv: c.argv, Dir: folder, Env: Environment(os.Getenv), Timeout: time.Minute, Confinement: confinement}
				done, err := p.Run(t.Context(), []byte("the input"))
				said := ""
				if err != nil {
					said = err.Error()
				}
				if string(done.Stdout) != c.stdout || said != c.failed {
					t.Errorf("got %q and %q, want %q and %q", done.Stdout, said, c.stdout, c.failed)
				}
			})
		}
	}
}

// F39, P17: of the environment a program sees what it is given, and where it is.
func TestF70_NoKeyReachesAProgram(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-CANARY-0123456789")
	t.Setenv("MY_TOKEN", "sk-CANARY-0123456789")
	for held, confinement := range confinements() {
		p := Program{Argv: []string{"env"}, Env: append(Environment(os.Getenv), "GIVEN=1"), Confinement: confinement}
		done, err := p.Run(t.Context(), nil)
		if err != nil || !strings.Contains(string(done.Stdout), "GIVEN=1") || strings.Contains(string(done.Stdout), "CANARY") {
			t.Errorf("%s: %s, %v", held, done.Stdout, err)
		}
	}
}

// P15, bounded everything: programs leave no open files and no goroutines.
func TestF34_ProgramsLeaveNothingOpen(t *testing.T) {
	for held, confinement := range confinements() {
		t.Run(held, func(t *testing.T) {
			run := func() {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						p := shell("sleep 300 & echo x")
						p.Confinement = confinement
						_, _ = p.Run(t.Context(), []byte("in"))
					})
				}
				all.Wait()
			}
			run()
			files, goroutines := openFiles(t), runtime.NumGoroutine()
			for range 4 {
				run()
			}
			until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
			if now := openFiles(t); now > files {
				t.Errorf("%d open files became %d", files, now)
			}
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("open files are counted in /proc")
	}
	return len(entries)
}

// F34: an output of any length is read to its end and kept to its limit.
func TestF34_AnEndlessOutput(t *testing.T) {
	for held, confinement := range confinements() {
		p := shell("yes 'a line that comes again and again' | head -c 20000000")
		p.Confinement, p.Timeout = confinement, time.Minute
		done, err := p.Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "wrote 20000000 bytes; 262144 are allowed") || len(done.Stdout) > defaultMaxOutput+100 || !bytes.Contains(done.Stdout, []byte(" bytes cut …\n")) {
			t.Errorf("%s: kept %d bytes, %v", held, len(done.Stdout), err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for held, confinement := range confinements() {
		b.Run(held, func(b *testing.B) {
			p := Program{Argv: []string{"true"}, Env: Environment(os.Getenv), Confinement: confinement}
			for b.Loop() {
				if _, err := p.Run(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
