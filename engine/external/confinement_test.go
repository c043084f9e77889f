//go:build unix

package external

import (
	"bufio"
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

	"github.com/agentbench/agentbench/engine/external/leaktest"
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

// killed runs this test again as a process of its own, which says when it is to be killed, and
// kills it then: processes with the mark m were alive.
func killed(t *testing.T, m string, env ...string) (us *exec.Cmd) {
	t.Helper()
	top, _, _ := strings.Cut(t.Name(), "/")
	us = exec.Command(os.Args[0], "-test.run=^"+top+"$")
	us.Env = append(append(os.Environ(), "AGENTBENCH_TEST_MARK="+m), env...)
	said, err := us.StdoutPipe()
	must(t, errors.Join(err, us.Start()))
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "now\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if alive(t, m) == 0 {
		t.Error("the program does not run")
	}
	_ = us.Process.Kill()
	_ = us.Wait()
	return us
}

// F33: if we are killed, the program dies with us, and in a namespace all that it started, those of
// another session as well, stopped or not.
func TestF33_ProgramsDieWithUs(t *testing.T) {
	if m := os.Getenv("AGENTBENCH_TEST_MARK"); m != "" {
		isKilled(t, m, os.Getenv("AGENTBENCH_TEST_HELD"), os.Getenv("AGENTBENCH_TEST_HOW"))
		return
	}
	alive(t, "") // skips where it cannot be told
	for held, c := range confinements() {
		for _, how := range []string{"runs", "is frozen", "is a session"} {
			if how == "is a session" && c != nil || how == "is frozen" && c == nil {
				continue
			}
			t.Run(held+" "+how, func(t *testing.T) {
				m := mark()
				killed(t, m, "AGENTBENCH_TEST_HELD="+held, "AGENTBENCH_TEST_HOW="+how)
				until(t, "all are dead", func() bool { return alive(t, m) == 0 })
			})
		}
	}
}

func isKilled(t *testing.T, m, held, how string) {
	p, all := Program{Argv: []string{"sleep", "300", m}, Env: Environment(os.Getenv)}, 1
	if held != "group" {
		p, all = shell(escaping(t, m)+"sleep 300; true"), 5
		p.Confinement = confinements()[held]
	}
	var over <-chan struct{}
	freeze := func() error { return nil }
	if how == "is a session" {
		s, err := p.Open(t.Context())
		must(t, err)
		over = s.Done()
	} else {
		r, err := p.Start(t.Context(), nil)
		must(t, err)
		over = r.Done()
		if how == "is frozen" {
			freeze = r.Freeze
		}
	}
	until(t, "all have started", func() bool { return alive(t, m) >= all })
	must(t, freeze())
	fmt.Println("now")
	<-over
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

// P15, bounded everything: programs and sessions leave no open files and no goroutines.
func TestF34_ProgramsLeaveNothingOpen(t *testing.T) {
	for name, use := range map[string]func(p Program){
		"programs": func(p Program) { _, _ = p.Run(t.Context(), []byte("in\n")) },
		"sessions": func(p Program) {
			s, err := p.Open(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintln(s, "x")
			_, _ = s.Read(make([]byte, 8))
			s.Close()
		},
	} {
		for held, confinement := range confinements() {
			t.Run(name+"/"+held, func(t *testing.T) {
				var files, goroutines int
				for round := range 5 {
					var all sync.WaitGroup
					for range 8 {
						all.Go(func() {
							p := shell("sleep 300 & read -r line; echo $line")
							p.Confinement = confinement
							use(p)
						})
					}
					all.Wait()
					if round == 0 { // what a process keeps open it opens the first time
						files, goroutines = leaktest.OpenFiles(t), runtime.NumGoroutine()
					}
				}
				until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
				if now := leaktest.OpenFiles(t); now > files {
					t.Errorf("%d open files became %d", files, now)
				}
			})
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
