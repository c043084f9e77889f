//go:build linux

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
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/external/confine"
	"github.com/agentbench/agentbench/engine/record"
)

// holds are the ways in which programs can be frozen on this system: with each kind of
// control group and with none, where there is the best of namespaces and where there is none.
func holds() map[string]*Confinement {
	all := map[string]*Confinement{}
	best := (&Confinement{}).namespace()
	for held, c := range confinements() {
		if c == nil {
			continue
		}
		for version, name := range map[confine.Group]string{confine.NoGroup: "one by one", confine.GroupV1: "freezer v1", confine.GroupV2: "freezer v2"} {
			c := (&Confinement{}).of(c.kind)
			if c.groups.only = version; version == confine.NoGroup {
				c.groups.once.Do(func() {})
			}
			g, err := c.groups.make()
			g.remove()
			if err != nil || version != confine.NoGroup && g == nil || version == confine.GroupV1 && c.kind.pid && c.kind != best {
				continue
			}
			all[held+" "+name] = c
		}
	}
	return all
}

func eachHold(t *testing.T, test func(t *testing.T, c *Confinement)) {
	for held, c := range holds() {
		t.Run(held, func(t *testing.T) { test(t, c) })
	}
}

// begin starts a shell script in a folder.
func begin(t *testing.T, c *Confinement, dir, script string) *Running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Program{Argv: []string{"sh", file}, Env: Environment(os.Getenv), Timeout: time.Minute, Confinement: c, Dir: dir}
	r, err := p.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

func allGrow(dir string, since [4]int64) bool {
	for i, size := range sizes(dir) {
		if size <= since[i] {
			return false
		}
	}
	return true
}

func TestAFrozenProgramWritesNothing(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
		dir, m := t.TempDir(), mark()
		r := begin(t, c, dir, busy(t, m))
		until(t, "all write", func() bool { return allGrow(dir, [4]int64{}) })
		for range 5 {
			if err := r.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := sizes(dir)
			other := shell(`i=0; while [ $i -lt 2000 ]; do echo x >>other; i=$((i+1)); done`)
			other.Dir = t.TempDir()
			if _, err := other.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if after := sizes(dir); after != before {
				t.Errorf("%v became %v while another program wrote", before, after)
			}
			r.Thaw()
			until(t, "all write again", func() bool { return allGrow(dir, before) })
		}
		cause := errors.New("enough")
		r.Kill(cause)
		if left := alive(t, m); left > 0 {
			t.Errorf("%d processes are left", left)
		}
		done, err := r.Wait()
		if err != cause || done.Frozen <= 0 || done.Duration <= 0 {
			t.Errorf("got %v; it ran for %v and was frozen for %v", err, done.Duration, done.Frozen)
		}
	})
}

func TestAFrozenProgramCanBeKilled(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
		dir, m := t.TempDir(), mark()
		r := begin(t, c, dir, busy(t, m))
		until(t, "all write", func() bool { return allGrow(dir, [4]int64{}) })
		if err := r.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
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

// If we are killed, nothing is left, whether the program runs or is frozen.
func TestNothingOutlivesUs(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	if m := os.Getenv("AGENTBENCH_TEST_MARK"); m != "" {
		dir := os.Getenv("AGENTBENCH_TEST_FOLDER")
		r := begin(t, holds()[os.Getenv("AGENTBENCH_TEST_HOLD")], dir, busy(t, m))
		until(t, "all write", func() bool { return allGrow(dir, [4]int64{}) })
		if os.Getenv("AGENTBENCH_TEST_FREEZES") != "" {
			if err := r.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("now")
		<-r.Done()
		return
	}
	for held := range holds() {
		for _, freezes := range []string{"", "frozen"} {
			t.Run(held+" "+freezes, func(t *testing.T) {
				m := mark()
				us := exec.Command(os.Args[0], "-test.run=^TestNothingOutlivesUs$")
				us.Env = append(os.Environ(), "AGENTBENCH_TEST_MARK="+m, "AGENTBENCH_TEST_HOLD="+held, "AGENTBENCH_TEST_FREEZES="+freezes, "AGENTBENCH_TEST_FOLDER="+t.TempDir(), "TMPDIR="+shortDir(t))
				said, err := us.StdoutPipe()
				if err := errors.Join(err, us.Start()); err != nil {
					t.Fatal(err)
				}
				if line, err := bufio.NewReader(said).ReadString('\n'); line != "now\n" {
					t.Fatalf("got %q, %v", line, err)
				}
				if alive(t, m) == 0 {
					t.Error("the program does not run")
				}
				_ = us.Process.Kill()
				_ = us.Wait()
				until(t, "all are dead", func() bool { return alive(t, m) == 0 })
			})
		}
	}
}

// What is left of a program that ends is ended with it: what ignores signals and what
// has a session of its own.
func TestNothingOutlivesTheProgram(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
		for end, failure := range map[string]string{"exit 0": "", "exit 3": "exit status 3", "kill -9 $$": "signal: killed"} {
			m := mark()
			r := begin(t, c, "", escaping(t, m)+end)
			_, err := r.Wait()
			if left := alive(t, m); left > 0 || (err == nil) != (failure == "") || err != nil && !strings.Contains(err.Error(), failure) {
				t.Errorf("%s: %d processes are left (%v)", end, left, err)
			}
		}
	})
}

func TestAProgramThatIgnoresSignalsIsKilled(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
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
	eachHold(t, func(t *testing.T, c *Confinement) {
		dir := t.TempDir()
		if err := syscall.Mkfifo(dir+"/go", 0o600); err != nil {
			t.Fatal(err)
		}
		r := begin(t, c, dir, `echo last; exec >&- 2>&-; read -r line <go; echo x >ended`)
		told, err := os.OpenFile(dir+"/go", os.O_WRONLY, 0) // once it reads
		if err != nil {
			t.Fatal(err)
		}
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
	p := shell(`echo first; head -c 1000000000 /dev/zero; echo; echo last`)
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

func TestFreezeIsBounded(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
		dir := t.TempDir()
		r := begin(t, c, dir, busy(t, mark()))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("too late"))
		err := r.Freeze(ctx)
		if failed, ok := errors.AsType[*record.Error](err); ok && (failed.Class != record.Internal || !strings.HasPrefix(failed.Message, `freezing the program "sh": `) || !strings.HasSuffix(failed.Message, "too late")) {
			t.Errorf("got %v", err)
		}
		if err == nil {
			r.Thaw() // it was quick enough
		}
		until(t, "all write", func() bool { return allGrow(dir, [4]int64{}) })
		before := sizes(dir)
		until(t, "all write on", func() bool { return allGrow(dir, before) })
	})
}

func TestAnEndedProgramStandsStill(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
		r := begin(t, c, "", "true")
		<-r.Done()
		if err := r.Freeze(t.Context()); err != nil {
			t.Error(err)
		}
		r.Thaw()
		r.Kill(errors.New("too late"))
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneFreezeWaitsForTheOther(t *testing.T) {
	r := begin(t, &Confinement{}, "", "sleep 300; true")
	if err := r.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Freeze(ctx); err == nil || !strings.HasSuffix(err.Error(), "it is frozen already") {
		t.Errorf("got %v", err)
	}
	again := make(chan error)
	go func() { again <- r.Freeze(t.Context()) }()
	r.Thaw()
	if err := <-again; err != nil {
		t.Error(err)
	}
}

func TestAProgramThatNothingHoldsIsNotFrozen(t *testing.T) {
	r := begin(t, nil, "", "sleep 300; true")
	if err := r.Freeze(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing but a process group holds it") {
		t.Errorf("got %v", err)
	}
}

// What a program has stopped itself stays stopped.
func TestThawLetsNothingElseRun(t *testing.T) {
	eachHold(t, func(t *testing.T, c *Confinement) {
		dir, m := t.TempDir(), mark()
		r := begin(t, c, dir, `sh -c 'kill -STOP $$; echo x >woken' `+m+` & sleep 300; true`)
		standing := func() bool {
			pids, _ := exec.Command("pgrep", "-f", "kill -STOP .*"+m).Output()
			for id := range strings.FieldsSeq(string(pids)) {
				if line, _ := os.ReadFile("/proc/" + id + "/stat"); bytes.Contains(line, []byte(") T ")) {
					return true
				}
			}
			return false
		}
		until(t, "it has stopped itself", standing)
		if err := r.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Thaw()
		if !standing() {
			t.Error("it was woken")
		}
	})
}

func TestATimeoutDoesNotPassWhileAProgramIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan time.Time, 1)
		begun := time.Now()
		c := startClock(time.Now, 10*time.Second, func() { late <- time.Now() })
		time.Sleep(4 * time.Second)
		c.pause()
		time.Sleep(time.Hour)
		c.resume()
		time.Sleep(3 * time.Second)
		c.pause()
		time.Sleep(time.Minute)
		c.resume()
		at := <-late
		c.stop()
		if took := at.Sub(begun); took != time.Hour+time.Minute+10*time.Second {
			t.Errorf("it was late after %v", took)
		}
		if ran, frozen := c.times(); ran != 10*time.Second || frozen != time.Hour+time.Minute {
			t.Errorf("it ran for %v and was frozen for %v", ran, frozen)
		}
	})
}

func TestOutlivedSaysWhy(t *testing.T) {
	for held, c := range holds() {
		kept := c.kind.pid || strings.HasSuffix(held, "v2")
		if why := c.Outlived(); (why == "") != kept {
			t.Errorf("%s: got %q", held, why)
		}
	}
	var none *Confinement
	if why := none.Outlived(); !strings.Contains(why, "process group") {
		t.Errorf("got %q", why)
	}
}

// Groups that we leave behind when we are killed are removed by the next of us.
func TestAbandonedGroupsAreRemoved(t *testing.T) {
	c := &Confinement{}
	g, err := c.groups.make()
	if g == nil {
		t.Skip("no control group can be made here: ", err)
	}
	g.remove()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	abandoned := filepath.Join(g.own, fmt.Sprintf("%s%d-1", prefix, gone.Process.Pid))
	if err := os.Mkdir(abandoned, 0o700); err != nil {
		t.Fatal(err)
	}
	next, err := (&Confinement{}).groups.make()
	if err != nil {
		t.Fatal(err)
	}
	next.remove()
	for _, dir := range []string{abandoned, g.dir} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

func BenchmarkFreeze(b *testing.B) {
	for held, c := range holds() {
		b.Run(held, func(b *testing.B) {
			p := shell("for i in 1 2 3 4 5 6 7 8; do sleep 300 & done; wait")
			p.Confinement = c
			r, err := p.Start(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := r.Freeze(b.Context()); err != nil {
					b.Fatal(err)
				}
				r.Thaw()
			}
			r.Kill(nil)
		})
	}
}
