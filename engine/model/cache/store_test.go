package cache

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
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

func someEntry() *Entry {
	return &Entry{
		Key: strings.Repeat("ab", 32), Provider: "openai", Model: "m", Task: "a", Trial: 1, N: 2,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Finish: "stop", Tier: "flex", Reported: json.RawMessage(`{"searches":2}`),
		Usage: record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, Cost: 4}, Duration: time.Second,
		Text: "The answer\nis 42.", Thinking: "Six times seven?", ToolCalls: []model.ToolCall{{ID: "call_1", Name: "multiply", Arguments: `{"a": 6, "b": 7}`}},
		Blocks: `[{"type":"thinking","thinking":"<six times seven>","signature":"c2ln"}]`, Raw: []byte{0, 255},
	}
}

// decode(encode(e)) = e.
func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		want := someEntry()
		want.Text, want.Thinking, want.Blocks = rapid.String().Draw(t, "text"), rapid.String().Draw(t, "thinking"), rapid.String().Draw(t, "blocks")
		want.ToolCalls[0].Arguments = rapid.String().Draw(t, "arguments")
		want.Task, want.Model = rapid.String().Draw(t, "task"), rapid.String().Draw(t, "model")
		want.N, want.Trial = rapid.Int().Draw(t, "n"), rapid.Int().Draw(t, "trial")
		want.Raw = rapid.SliceOfN(rapid.Byte(), 1, -1).Draw(t, "raw")
		want.Duration = time.Duration(rapid.Int64().Draw(t, "duration"))
		want.Usage.Cost = record.Money(rapid.Int64().Draw(t, "cost"))
		want.Created = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), 5).UTC()
		content, err := encode(want)
		must(t, err)
		if got, err := decode(content); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// F2: whatever bit flips and wherever it is cut, an entry is damaged or what it was.
func TestF2_DamageIsSeen(t *testing.T) {
	whole, err := encode(someEntry())
	must(t, err)
	for cut := range len(whole) {
		if _, err := decode(whole[:cut]); err == nil {
			t.Fatalf("cut at %d of %d it is read", cut, len(whole))
		}
	}
	if _, err := decode(append(bytes.Clone(whole), 'x')); err == nil {
		t.Error("with more behind it, it is read")
	}
	for bit := range 8 * len(whole) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if got, err := decode(damaged); err == nil && !reflect.DeepEqual(got, someEntry()) {
			t.Fatalf("with bit %d of byte %d flipped it is %+v", bit%8, bit/8, got)
		}
	}
}

// F2: a damaged, half or foreign entry is a miss, and the next answer replaces it.
func TestF2_DamagedEntriesAreReplaced(t *testing.T) {
	for name, damage := range map[string]func(content []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"half":      func(b []byte) []byte { return b[:len(b)/2] },
		"flipped":   func(b []byte) []byte { b[len(b)-4] ^= 1; return b },
		"another's": func([]byte) []byte { b, _ := encode(someEntry()); return b },
	} {
		t.Run(name, func(t *testing.T) {
			isReplaced(t, func(path string, content []byte) error { return os.WriteFile(path, damage(content), 0o644) })
		})
	}
}

// isReplaced has something put in the place of an entry, and expects that it is damaged and replaced by the next answer.
func isReplaced(t *testing.T, put func(path string, content []byte) error) {
	dir, inner := t.TempDir(), &counting{}
	call(t, Wrap(inner, Open(dir, Options{}), openAI, On), t.Context(), ask("x"))
	path := onlyFile(t, dir)
	content, err := os.ReadFile(path)
	must(t, errors.Join(err, os.Remove(path), put(path, content)))
	store := Open(dir, Options{Warn: func(err error) { t.Errorf("warned: %v", err) }})
	call(t, Wrap(inner, store, openAI, On), t.Context(), ask("x"))
	if got := store.Stats(); got != (Stats{Misses: 1, Stored: 1, Damaged: 1}) {
		t.Errorf("stats %+v", got)
	}
	if got := call(t, Wrap(nil, Open(dir, Options{}), openAI, Only), t.Context(), ask("x")).Text; got != "answer 2 to x" {
		t.Errorf("got %q", got)
	}
}

// F4: where the disk refuses, calls are answered, the trouble is told once, and no half entry stays; once it takes entries
// again, answers are stored.
func TestF4_ADiskThatFailsIsAWarning(t *testing.T) {
	for name, blocked := range map[string]func(path string) string{
		"the cache cannot be made":     func(path string) string { return filepath.Dir(filepath.Dir(path)) },
		"a folder in it cannot":        func(path string) string { return filepath.Dir(path) },
		"the entry cannot be replaced": func(path string) string { return path },
	} {
		t.Run(name, func(t *testing.T) {
			dir, warnings := filepath.Join(t.TempDir(), "cache"), 0
			store := Open(dir, Options{Warn: func(error) { warnings++ }})
			at := store.path(keyOf(openAI, ask("x"), 0))
			obstacle := blocked(at)
			err := os.MkdirAll(filepath.Dir(obstacle), 0o755)
			if obstacle == at {
				err = os.MkdirAll(filepath.Join(at, "full"), 0o755)
			} else if err == nil {
				err = os.WriteFile(obstacle, nil, 0o644)
			}
			must(t, err)
			for range 3 {
				call(t, Wrap(&counting{}, store, openAI, On), t.Context(), ask("x"))
			}
			if got := store.Stats(); warnings != 1 || got.Misses != 1 || got.Hits != 2 || got.Stored != 0 {
				t.Errorf("warned %d times, stats %+v", warnings, got)
			}
			for path := range contents(t, filepath.Dir(dir)) {
				if path != obstacle {
					t.Errorf("%s stays", path)
				}
			}
			must(t, os.RemoveAll(obstacle))
			later := Open(dir, Options{})
			call(t, Wrap(&counting{}, later, openAI, On), t.Context(), ask("x"))
			call(t, Wrap(nil, Open(dir, Options{}), openAI, Only), t.Context(), ask("x"))
		})
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
		must(t, os.Chtimes(path, now, now.Add(-c.used)))
		call(t, m, t.Context(), ask("x"))
		info, err := os.Stat(path)
		must(t, err)
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
			defer func() {
				if recover() != nil {
					errs.Add(1)
				}
			}()
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

// What is not stored is shared by the equal calls of a session; a huge answer is neither stored nor kept.
func TestAnswersThatAreNotStoredAreKept(t *testing.T) {
	for _, c := range []struct {
		mode  Mode
		text  string
		calls int64
	}{{Read, "x", 1}, {Read, strings.Repeat("x", mostStored), 2}, {Write, strings.Repeat("x", mostStored), 2}} {
		inner := &counting{text: c.text}
		store := Open(t.TempDir(), Options{})
		for range 2 {
			call(t, Wrap(inner, store, openAI, c.mode), WithRun(t.Context()), ask("x"))
		}
		if n, stored := inner.calls.Load(), store.Stats().Stored; n != c.calls || stored != 0 {
			t.Errorf("%s, %d bytes: %d calls, %d stored", c.mode, len(c.text), n, stored)
		}
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

// Whether it failed, panicked or gave an answer that is not kept: who waited for it tries itself.
func TestF8_APanicLandsTheFlight(t *testing.T) {
	for name, end := range map[string]func() (*model.Reply, error){
		"panic":    func() (*model.Reply, error) { panic("boom") },
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

// The environment of a copy of this test that fills a cache.
const (
	fillDir  = "AGENTBENCH_TEST_CACHE_FILL"
	fillFrom = "AGENTBENCH_TEST_CACHE_FROM"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(fillDir); dir != "" {
		os.Exit(fillAsProcess(dir))
	}
	os.Exit(m.Run())
}

// fillAsProcess asks for texts until it is killed, says so, and gives the exit code.
func fillAsProcess(dir string) int {
	from, _ := strconv.Atoi(os.Getenv(fillFrom))
	store := Open(dir, Options{Warn: func(err error) { fmt.Fprintln(os.Stderr, err) }})
	m := Wrap(&counting{}, store, openAI, On)
	for i := from; ; i++ {
		text := fmt.Sprint(i % 100)
		reply, err := m.Call(context.Background(), ask(text))
		if err != nil || !strings.HasSuffix(reply.Text, " to "+text) {
			fmt.Fprintf(os.Stderr, "asked %s: %+v, %v\n", text, reply, err)
			return 1
		}
		fmt.Println(text)
	}
}

func filling(t *testing.T, dir string, from int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), fillDir+"="+dir, fmt.Sprintf("%s=%d", fillFrom, from))
	return c
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
	const kills = 4
	for kill := range kills {
		c := filling(t, dir, 10*kill)
		answered, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		lines := bufio.NewScanner(answered)
		for range 5 + 3*kill {
			lines.Scan()
		}
		must(t, c.Process.Kill())
		_ = c.Wait() // it was killed
		offline := Wrap(nil, Open(dir, Options{}), openAI, Only)
		for i := 10 * kill; i < 10*kill+5+3*kill; i++ {
			checkAnswer(t, offline, t.Context(), fmt.Sprint(i%100))
		}
	}
	checkWhole(t, dir, 5, kills)
}
