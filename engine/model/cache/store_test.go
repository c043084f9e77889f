package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
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
