package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// onlyFile is the one file of a cache.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	found := contents(t, dir)
	if len(found) != 1 {
		t.Fatalf("%d files", len(found))
	}
	for path := range found {
		return path
	}
	return ""
}

// F2: a damaged, half or foreign entry is a miss, and the next answer replaces it.
func TestF2_DamagedEntriesAreReplaced(t *testing.T) {
	for name, damage := range map[string]func(content []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"half":    func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"another's": func([]byte) []byte {
			b, _ := someEntry().encode()
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, inner := t.TempDir(), &counting{}
			call(t, Wrap(inner, Open(dir, Options{}), openAI, On), t.Context(), ask("x"))
			path := onlyFile(t, dir)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(content), 0o644); err != nil {
				t.Fatal(err)
			}
			store := Open(dir, Options{Warn: func(err error) { t.Errorf("warned: %v", err) }})
			call(t, Wrap(inner, store, openAI, On), t.Context(), ask("x"))
			if got := store.Stats(); got != (Stats{Misses: 1, Stored: 1, Damaged: 1}) {
				t.Errorf("stats %+v", got)
			}
			if got := call(t, Wrap(nil, Open(dir, Options{}), openAI, Only), t.Context(), ask("x")).Text; got != "answer 2 to x" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// failing is a disk on which the n-th operation fails, and all after it.
type failing struct {
	disk
	left int
}

var errFull = errors.New("no space left on device")

func (f *failing) next() error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return nil
}

func (f *failing) Create(path string) (io.WriteCloser, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	file, err := f.disk.Create(path)
	if err != nil {
		return nil, err
	}
	return &failingFile{file, f}, nil
}

func (f *failing) MakeFolder(path string) error {
	return errors.Join(f.next(), f.disk.MakeFolder(path))
}

func (f *failing) Rename(from, to string) error {
	if err := f.next(); err != nil {
		return err
	}
	return f.disk.Rename(from, to)
}

type failingFile struct {
	io.WriteCloser
	on *failing
}

func (f *failingFile) Write(b []byte) (int, error) {
	if err := f.on.next(); err != nil {
		n, _ := f.WriteCloser.Write(b[:len(b)/2])
		return n, err
	}
	return f.WriteCloser.Write(b)
}

func (f *failingFile) Close() error { return errors.Join(f.WriteCloser.Close(), f.on.next()) }

// F4: wherever the disk fails, the call is answered, the trouble is told once,
// no half entry stays, and once there is room again entries are stored.
func TestF4_ADiskThatFailsIsAWarning(t *testing.T) {
	const operations = 6 // create, make folder, create, write, close, rename
	for n := range operations + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir, warnings := t.TempDir(), 0
			store := Open(dir, Options{Warn: func(err error) {
				warnings++
				if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "writing the cache: ") {
					t.Errorf("warned: %v", err)
				}
			}})
			store.disk = &failing{disk: folder{}, left: n}
			m := Wrap(&counting{}, store, openAI, On)
			for i := range 3 {
				call(t, m, t.Context(), ask(fmt.Sprint("x", i)))
			}
			if warnings != 1 {
				t.Errorf("warned %d times", warnings)
			}
			if got, want := len(contents(t, dir)), n/operations; got != want {
				t.Errorf("%d files stay, want %d", got, want)
			}
			store.disk = folder{}
			call(t, m, t.Context(), ask("later"))
			call(t, Wrap(nil, Open(dir, Options{}), openAI, Only), t.Context(), ask("later"))
		})
	}
}

// F4: a cache that can be neither read nor written remembers what was answered.
func TestF4_NoFolderForTheCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var warned []error
	store := Open(filepath.Join(file, "cache"), Options{Warn: func(err error) { warned = append(warned, err) }})
	m := Wrap(&counting{}, store, openAI, On)
	for range 3 {
		call(t, m, t.Context(), ask("x"))
	}
	if len(warned) != 1 || store.Stats() != (Stats{Hits: 2, Misses: 1}) {
		t.Errorf("warned %v, stats %+v", warned, store.Stats())
	}
}

// Runs at once, with requests in common and of their own, get what was answered.
func TestManyRunsAtOnce(t *testing.T) {
	dir, inner := t.TempDir(), &counting{}
	store := Open(dir, Options{Warn: func(err error) { t.Errorf("warned: %v", err) }})
	m := Wrap(inner, store, openAI, On)
	var runs sync.WaitGroup
	for worker := range 32 {
		runs.Go(func() {
			ctx := WithRun(t.Context())
			for i := range 50 {
				checkAnswer(t, m, ctx, fmt.Sprint((worker*7+i)%60))
			}
		})
	}
	runs.Wait()
	got := store.Stats()
	if n := inner.calls.Load(); n != 60 || got.Hits != 32*50-60 || got.Stored != 60 {
		t.Errorf("%d calls, stats %+v", n, got)
	}
}

func checkAnswer(t *testing.T, m model.Model, ctx context.Context, text string) {
	reply, err := m.Call(ctx, ask(text))
	if err != nil || !strings.HasSuffix(reply.Text, " to "+text) {
		t.Errorf("asked %s: %+v, %v", text, reply, err)
	}
}

// An entry's file tells when it was last used, to about a day.
func TestTheLastUse(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store := Open(dir, Options{Now: func() time.Time { return now }})
	m := Wrap(&counting{}, store, openAI, On)
	call(t, m, t.Context(), ask("x"))
	path := onlyFile(t, dir)
	for _, c := range []struct {
		used, want time.Duration // ago
	}{
		{23 * time.Hour, 23 * time.Hour},
		{25 * time.Hour, 0},
	} {
		if err := os.Chtimes(path, now, now.Add(-c.used)); err != nil {
			t.Fatal(err)
		}
		call(t, m, t.Context(), ask("x"))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := now.Sub(info.ModTime()); got != c.want {
			t.Errorf("last used %v ago, now %v ago", c.used, got)
		}
	}
}

// slow is a model that takes its time; each call ends as told.
type slow struct {
	calls atomic.Int64
	end   func(call int64) (*model.Reply, error)
}

func (s *slow) Call(ctx context.Context, _ *model.Request) (*model.Reply, error) {
	call := s.calls.Add(1)
	select {
	case <-time.After(time.Second):
		return s.end(call)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func fine(int64) (*model.Reply, error) {
	return &model.Reply{Text: "fine", Finish: "stop", Usage: record.Usage{Calls: 1}}, nil
}

// together lets n runs ask the same at once and gives what each of them got.
func together(ctx context.Context, m model.Model, n int) (replies []*model.Reply, failed int) {
	replies = make([]*model.Reply, n)
	var errs atomic.Int64
	var asking sync.WaitGroup
	for i := range n {
		asking.Go(func() {
			reply, err := m.Call(WithRun(ctx), ask("x"))
			if replies[i] = reply; err != nil {
				errs.Add(1)
			}
		})
	}
	asking.Wait()
	return replies, int(errs.Load())
}

func TestEqualCallsInFlightAreMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, store := &slow{end: fine}, Open(t.TempDir(), Options{})
		replies, failed := together(t.Context(), Wrap(inner, store, openAI, On), 64)
		paid := 0
		for i, reply := range replies {
			if reply.Text != "fine" {
				t.Errorf("run %d got %+v", i, reply)
			}
			if !reply.Cached {
				paid++
			}
			for _, other := range replies[:i] {
				if other == reply {
					t.Fatal("two runs share a reply, which others may change")
				}
			}
		}
		if n := inner.calls.Load(); n != 1 || paid != 1 || failed != 0 {
			t.Errorf("%d calls, %d paid, %d failed", n, paid, failed)
		}
		if got := store.Stats(); got != (Stats{Hits: 63, Misses: 1, Stored: 1}) {
			t.Errorf("stats %+v", got)
		}
	})
}

// Whether it failed or gave an answer that is not kept: who waited for it tries
// itself.
func TestWhoWaitedInVainTriesItself(t *testing.T) {
	for name, end := range map[string]func() (*model.Reply, error){
		"error":    func() (*model.Reply, error) { return nil, model.Fail(record.Server, "no", 0) },
		"filtered": func() (*model.Reply, error) { return &model.Reply{Finish: "content_filter"}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &slow{end: func(call int64) (*model.Reply, error) {
					if call == 1 {
						return end()
					}
					return fine(call)
				}}
				replies, _ := together(t.Context(), Wrap(inner, Open(t.TempDir(), Options{}), openAI, On), 8)
				good := 0
				for _, reply := range replies {
					if reply != nil && reply.Text == "fine" {
						good++
					}
				}
				if n := inner.calls.Load(); n != 2 || good != 7 {
					t.Errorf("%d calls, %d good answers", n, good)
				}
			})
		})
	}
}

// The context of who makes the call is not that of who waits for it.
func TestContextsOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &slow{end: fine}
		m := Wrap(inner, Open(t.TempDir(), Options{}), openAI, On)
		var asking sync.WaitGroup
		defer asking.Wait()
		impatient := func(patience time.Duration, wants bool) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			_, err := m.Call(ctx, ask("x"))
			if wants != (err == nil) || !wants && (time.Since(start) != patience || !errors.Is(err, context.DeadlineExceeded)) {
				t.Errorf("patience %v: %v after %v", patience, err, time.Since(start))
			}
		}
		asking.Go(func() { impatient(500*time.Millisecond, false) }) // leads
		synctest.Wait()
		asking.Go(func() { impatient(200*time.Millisecond, false) }) // waits
		asking.Go(func() { impatient(time.Minute, true) })           // waits, then leads
		asking.Wait()
		if n := inner.calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

// A panic of the one that makes the call leaves nobody waiting.
func TestF8_APanicLandsTheFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &slow{end: func(call int64) (*model.Reply, error) {
			if call == 1 {
				panic("boom")
			}
			return fine(call)
		}}
		m := Wrap(inner, Open(t.TempDir(), Options{}), openAI, On)
		var asking sync.WaitGroup
		var good, panics atomic.Int64
		for range 4 {
			asking.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				if _, err := m.Call(t.Context(), ask("x")); err == nil {
					good.Add(1)
				}
			})
		}
		asking.Wait()
		if good.Load() != 3 || panics.Load() != 1 {
			t.Errorf("%d good, %d panics", good.Load(), panics.Load())
		}
	})
}

// The environment of a copy of this test that fills a cache.
const (
	fillDir  = "AGENTBENCH_TEST_CACHE_FILL"
	fillFrom = "AGENTBENCH_TEST_CACHE_FROM"
	fillTo   = "AGENTBENCH_TEST_CACHE_TO"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(fillDir); dir != "" {
		os.Exit(fillAsProcess(dir))
	}
	os.Exit(m.Run())
}

// fillAsProcess asks for a range of texts, says so, and gives the exit code.
func fillAsProcess(dir string) int {
	from, _ := strconv.Atoi(os.Getenv(fillFrom))
	to, _ := strconv.Atoi(os.Getenv(fillTo))
	store := Open(dir, Options{Warn: func(err error) { fmt.Fprintln(os.Stderr, err) }})
	m := Wrap(&counting{}, store, openAI, On)
	for i := from; i < to; i++ {
		text := fmt.Sprint(i % 100)
		reply, err := m.Call(context.Background(), ask(text))
		if err != nil || !strings.HasSuffix(reply.Text, " to "+text) {
			fmt.Fprintf(os.Stderr, "asked %s: %+v, %v\n", text, reply, err)
			return 1
		}
		fmt.Println(text)
	}
	return 0
}

func filling(t *testing.T, dir string, from, to int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), fillDir+"="+dir, fmt.Sprintf("%s=%d", fillFrom, from), fmt.Sprintf("%s=%d", fillTo, to))
	return c
}

// Processes with one cache get answers to what they asked, and leave nothing
// but whole entries.
func TestTwoProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var processes []*exec.Cmd
	var outputs []*strings.Builder
	for i := range 2 {
		c, output := filling(t, dir, 50*i, 50*i+400), &strings.Builder{}
		c.Stderr = output
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		processes, outputs = append(processes, c), append(outputs, output)
	}
	for i, c := range processes {
		if err := c.Wait(); err != nil || outputs[i].Len() > 0 {
			t.Errorf("process %d: %v\n%s", i, err, outputs[i])
		}
	}
	checkWhole(t, dir, 100, 0)
}

// checkWhole expects so many whole entries, and at most so many left-over files.
func checkWhole(t *testing.T, dir string, entries, leftOver int) {
	t.Helper()
	for path, content := range contents(t, dir) {
		if strings.Contains(path, temporaryPrefix) {
			leftOver--
			continue
		}
		entries--
		if _, err := decode([]byte(content)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if entries > 0 || leftOver < 0 {
		t.Errorf("%d entries are missing, %d left-over files are too many", entries, -leftOver)
	}
}

// F1, P2: a process killed while it writes leaves whole entries, and what it had
// answered is not called again.
func TestF1_KilledWhileItWrites(t *testing.T) {
	dir := t.TempDir()
	const kills = 8
	for kill := range kills {
		c := filling(t, dir, 10*kill, 1<<30)
		answered, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answered)
		for range 5 + 3*kill {
			lines.Scan()
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // it was killed
		offline := Wrap(nil, Open(dir, Options{}), openAI, Only)
		for i := 10 * kill; i < 10*kill+5+3*kill; i++ {
			checkAnswer(t, offline, t.Context(), fmt.Sprint(i%100))
		}
	}
	checkWhole(t, dir, 5, kills)
}
