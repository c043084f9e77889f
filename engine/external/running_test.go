//go:build linux

package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func eachConfinement(t *testing.T, test func(t *testing.T, c *Confinement)) {
	for held, c := range confinements() {
		t.Run(held, func(t *testing.T) { test(t, c) })
	}
}

func eachNamespace(t *testing.T, test func(t *testing.T, c *Confinement)) {
	inNamespace(t)
	eachConfinement(t, func(t *testing.T, c *Confinement) {
		if c != nil {
			test(t, c)
		}
	})
}

// begin starts a shell script in a folder.
func begin(t *testing.T, c *Confinement, dir, script string) *Running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	must(t, os.WriteFile(file, []byte(script), 0o600))
	p := Program{Argv: []string{"sh", file}, Env: Environment(os.Getenv), Timeout: time.Minute, Confinement: c, Dir: dir}
	r, err := p.Start(t.Context(), nil)
	must(t, err)
	t.Cleanup(func() { r.Kill(nil) })
	return r
}

// forkForever notes in a file that it has started another program, which a Go program
// does by vfork.
func forkForever(file string) {
	noted, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	for err == nil {
		if err = exec.Command("/bin/true").Run(); err == nil {
			_, err = noted.WriteString("x")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// busy writes to files without end from a session of its own, from a process whose
// parent is gone, from one that hands itself on to a new child all the time, and from
// one that starts programs.
func busy(t *testing.T, m string) string {
	t.Helper()
	us, err := os.Executable()
	must(t, err)
	return fmt.Sprintf(`case $1 in
session|orphan) while :; do echo x >>$1; done;;
hopping) echo x >>hopping; sh "$0" hopping %[2]s & ;;
'') setsid sh "$0" session %[2]s & (setsid sh "$0" orphan %[2]s &); sh "$0" hopping %[2]s & AGENTBENCH_TEST_FORKER=forking %[1]s %[2]s & wait; sleep 300; true;;
esac
`, us, m)
}

var writes = []string{"session", "orphan", "hopping", "forking"}

// sizes are those of what a busy program writes.
func sizes(dir string) (all [4]int64) {
	for i, name := range writes {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			all[i] = info.Size()
		}
	}
	return all
}

// grown reports whether each of these files is larger than it was.
func grown(dir string, writing []string, since [4]int64) bool {
	now := sizes(dir)
	for i, size := range now[:len(writing)] {
		if size <= since[i] {
			return false
		}
	}
	return true
}

// standsStill freezes a program again and again: what it writes in a folder stays as it is while
// another program writes, and grows between.
func standsStill(t *testing.T, r *Running, times int, dir string, writing []string) (stood time.Duration) {
	t.Helper()
	until(t, "all write", func() bool { return grown(dir, writing, [4]int64{}) })
	for range times {
		must(t, r.Freeze())
		if r.processes.control == nil {
			time.Sleep(time.Millisecond) // in a group a call that had begun ends
		}
		frozen, before := time.Now(), sizes(dir)
		other := shell(`i=0; while [ $i -lt 2000 ]; do echo x >>other; i=$((i+1)); done`)
		other.Dir = t.TempDir()
		_, err := other.Run(t.Context(), nil)
		must(t, err)
		if after := sizes(dir); after != before {
			t.Errorf("%v became %v while another program wrote", before, after)
		}
		stood += time.Since(frozen)
		r.Thaw()
		until(t, "all write again", func() bool { return grown(dir, writing, before) })
	}
	return stood
}

func TestAFrozenProgramWritesNothing(t *testing.T) {
	eachNamespace(t, func(t *testing.T, c *Confinement) {
		dir, m, begun := t.TempDir(), mark(), time.Now()
		r := begin(t, c, dir, busy(t, m))
		stood := standsStill(t, r, 5, dir, writes)
		cause := errors.New("enough")
		r.Kill(cause)
		if left := alive(t, m); left > 0 {
			t.Errorf("%d processes are left", left)
		}
		done, err := r.Wait()
		if err != cause || done.Duration <= 0 || done.Duration > time.Since(begun)-stood {
			t.Errorf("got %v; it ran for %v and stood for %v", err, done.Duration, stood)
		}
	})
}

// Without a namespace the process group is stopped.
func TestAFrozenGroupWritesNothing(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, nil, dir, "(while :; do echo x >>session; done) & while :; do echo x >>orphan; done")
	standsStill(t, r, 3, dir, writes[:2])
}

func TestAFrozenProgramCanBeKilled(t *testing.T) {
	eachNamespace(t, func(t *testing.T, c *Confinement) {
		dir, m := t.TempDir(), mark()
		r := begin(t, c, dir, busy(t, m))
		standsStill(t, r, 0, dir, writes)
		must(t, r.Freeze())
		before := sizes(dir)
		r.Kill(nil)
		if left := alive(t, m); left > 0 || sizes(dir) != before {
			t.Errorf("%d processes are left; %v became %v", left, before, sizes(dir))
		}
		if _, err := r.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAProgramThatIgnoresSignalsIsKilled(t *testing.T) {
	eachConfinement(t, func(t *testing.T, c *Confinement) {
		dir, m := t.TempDir(), mark()
		r := begin(t, c, dir, `trap "" TERM INT HUP QUIT; echo x >ready; while :; do sleep 300; done; true `+m)
		until(t, "it ignores signals", func() bool { _, err := os.Stat(dir + "/ready"); return err == nil })
		r.Kill(nil)
		if left := alive(t, m); left > 0 {
			t.Errorf("%d processes are left", left)
		}
	})
}

func TestAProgramMayCloseItsOutput(t *testing.T) {
	eachConfinement(t, func(t *testing.T, c *Confinement) {
		dir := t.TempDir()
		must(t, syscall.Mkfifo(dir+"/go", 0o600))
		r := begin(t, c, dir, `echo last; exec >&- 2>&-; read -r line <go; echo x >ended`)
		told, err := os.OpenFile(dir+"/go", os.O_WRONLY, 0) // once it reads
		must(t, err)
		select {
		case <-r.Done():
			t.Error("it is over")
		default:
		}
		fmt.Fprintln(told, "go")
		told.Close()
		done, err := r.Wait()
		if _, missing := os.Stat(dir + "/ended"); err != nil || missing != nil || string(done.Stdout) != "last\n" {
			t.Errorf("got %q, %v, %v", done.Stdout, err, missing)
		}
	})
}

func TestAGigabyteOfOutputNeedsNoMemory(t *testing.T) {
	size := 1_000_000_000
	if testing.Short() {
		size /= 10
	}
	p := shell(fmt.Sprintf(`echo first; head -c %d /dev/zero; echo; echo last`, size))
	p.Confinement, p.Cuts, p.MaxOutput = &Confinement{}, true, 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done, err := p.Run(t.Context(), nil)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
	if err != nil || !bytes.HasPrefix(done.Stdout, []byte("first\n")) || !bytes.HasSuffix(done.Stdout, []byte("\nlast\n")) || len(done.Stdout) > 1100 {
		t.Errorf("kept %d bytes, %v", len(done.Stdout), err)
	}
}

func TestATimeoutDoesNotPassWhileAProgramIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan time.Time, 1)
		begun := time.Now()
		c := startClock(10*time.Second, func() { late <- time.Now() })
		time.Sleep(4 * time.Second)
		c.pause()
		time.Sleep(time.Hour)
		c.resume()
		time.Sleep(3 * time.Second)
		c.pause()
		time.Sleep(time.Minute)
		c.resume()
		at := <-late
		c.pause()
		if took := at.Sub(begun); took != time.Hour+time.Minute+10*time.Second {
			t.Errorf("it was late after %v", took)
		}
		if c.ran != 10*time.Second {
			t.Errorf("it ran for %v", c.ran)
		}
	})
}
