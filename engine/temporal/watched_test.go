package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
)

// silent is a store that does not answer until it is let go, whatever its contexts say.
type silent struct {
	Store
	let   chan struct{}
	to    string // what calls begin with that hang, as "Send states/"
	calls atomic.Int64
}

func (s *silent) hang(call, name string) {
	if strings.HasPrefix(call+" "+name, s.to) {
		s.calls.Add(1)
		<-s.let
	}
}

func (s *silent) Create(ctx context.Context, name string, content []byte) (bool, error) {
	s.hang("Create", name)
	return s.Store.Create(ctx, name, content)
}

func (s *silent) Read(ctx context.Context, name string) ([]byte, error) {
	s.hang("Read", name)
	return s.Store.Read(ctx, name)
}

func (s *silent) Send(ctx context.Context, name, file string) error {
	s.hang("Send", name)
	return s.Store.Send(ctx, name, file)
}

func (s *silent) Fetch(ctx context.Context, name, file string) error {
	s.hang("Fetch", name)
	return s.Store.Fetch(ctx, name, file)
}

func (s *silent) Remove(ctx context.Context, name string) error {
	s.hang("Remove", name)
	return s.Store.Remove(ctx, name)
}

// A store that is silent is a warning for each call, after half of the patience. All of it is
// the end of the call, whatever that moves.
func TestAStoreThatIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		inner := &silent{Store: folderStore(dir), let: make(chan struct{})}
		began := time.Now()
		var told, want []string
		s := watching(inner, time.Minute, func(_ context.Context, text string) {
			told = append(told, fmt.Sprint(time.Since(began), ": ", text))
		})
		for i, c := range []struct {
			doing string
			do    func() error
		}{
			{"writing runs/a", func() error { _, err := s.Create(t.Context(), "runs/a", nil); return err }},
			{"writing suites/a.tar.gz", func() error { _, err := s.Create(t.Context(), "suites/a.tar.gz", nil); return err }},
			{"reading suites/b.tar.gz", func() error { _, err := s.Read(t.Context(), "suites/b.tar.gz"); return err }},
			{"sending states/c", func() error { return s.Send(t.Context(), "states/c", "file") }},
			{"fetching states/d", func() error { return s.Fetch(t.Context(), "states/d", "file") }},
			{"removing runs/e", func() error { return s.Remove(t.Context(), "runs/e") }},
		} {
			at := time.Duration(i) * time.Minute
			want = append(want, fmt.Sprint(at+30*time.Second, ": the store ", dir, " has not answered for 30s: ", c.doing))
			if err := c.do(); !errors.Is(err, errSilent) || err.Error() != "it has not answered for 1m0s" || time.Since(began) != at+time.Minute {
				t.Errorf("%s after %v: %v", c.doing, time.Since(began)-at, err)
			}
		}
		if !slices.Equal(told, want) {
			t.Errorf("it tells %q, want %q", told, want)
		}
		close(inner.let)
		synctest.Wait() // the calls have ended, too
	})
}

// While many calls hang in a store, others are refused at once, and do not reach it: each would hold
// a thread. Those that their callers gave up early count once they hang for too long.
func TestCallsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &silent{Store: folderStore(t.TempDir()), let: make(chan struct{})}
		if _, err := inner.Store.Create(t.Context(), "runs/a", []byte("a")); err != nil {
			t.Fatal(err)
		}
		s := watching(inner, time.Minute, func(context.Context, string) {})
		read := func(ctx context.Context, took time.Duration) error {
			began := time.Now()
			content, err := s.Read(ctx, "runs/a")
			if time.Since(began) != took || (err == nil) != (string(content) == "a") {
				t.Errorf("it took %v, want %v; %q, %v", time.Since(began), took, content, err)
			}
			return err
		}
		var readers sync.WaitGroup
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range mostStuck - 1 {
			readers.Go(func() { _ = read(soon, time.Second) })
		}
		readers.Wait()
		for range 2 { // the first hangs as well, the other is one too many
			took := time.Minute
			if inner.calls.Load() == mostStuck {
				took = 0
			}
			if err := read(t.Context(), took); err == nil || err.Error() != "it has not answered for 1m0s" {
				t.Errorf("the error is %v", err)
			}
		}
		if n := inner.calls.Load(); n != mostStuck {
			t.Errorf("%d calls reached the store, want %d", n, mostStuck)
		}
		close(inner.let)
		synctest.Wait()
		if err := read(t.Context(), 0); err != nil {
			t.Errorf("the store answers again: %v", err)
		}
	})
}

// trickle gives so many bytes, each after a while.
type trickle struct {
	bytes int
	ends  bool // else it hangs before the last one
	let   chan struct{}
}

const between = 50 * time.Second

func (r *trickle) Read(p []byte) (int, error) {
	if r.bytes == 1 && !r.ends {
		<-r.let
		r.bytes = 0
	}
	if r.bytes == 0 {
		return 0, io.EOF
	}
	time.Sleep(between)
	r.bytes--
	p[0] = 'x'
	return 1, nil
}

func (r *trickle) Close() error { return nil }

// slowFolder is a folder that reads and writes as a trickle says.
type slowFolder struct {
	folderStore
	of func() *trickle
}

func (s slowFolder) Create(ctx context.Context, name string, _ []byte) (bool, error) {
	return s.create(ctx, name, func() (io.ReadCloser, error) { return s.of(), nil })
}

func (s slowFolder) Send(ctx context.Context, name, _ string) error {
	_, err := s.Create(ctx, name, nil)
	return err
}

func (s slowFolder) Read(ctx context.Context, _ string) ([]byte, error) {
	return io.ReadAll(moving{ctx, s.of()})
}

func (s slowFolder) Fetch(ctx context.Context, _, file string) error {
	return write(ctx, file, s.of())
}

// slowServer takes and gives objects as a trickle says.
type slowServer struct{ of func() *trickle }

func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "Etag": {`"0"`}}, Body: http.NoBody, Request: r}
	switch way := s.of(); r.Method {
	case http.MethodHead:
		if strings.Contains(r.URL.Path, "/sent/") {
			a.StatusCode = http.StatusNotFound
		}
		a.ContentLength = int64(way.bytes)
		a.Header.Set("Content-Length", fmt.Sprint(way.bytes))
	case http.MethodGet:
		a.ContentLength, a.Body = int64(way.bytes), way
		a.Header.Set("Content-Length", fmt.Sprint(way.bytes))
	case http.MethodPut:
		for one := make([]byte, 1); ; {
			if _, err := way.Read(one); err != nil {
				break
			}
			if _, err := r.Body.Read(one); err != nil {
				break
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return a, nil
}

// A call may take as long as bytes move, files and archives of suites as well, in both ways, by a
// folder and by S3. It is given up once none has moved for all of the patience.
func TestFilesTakeAsLongAsTheyMove(t *testing.T) {
	const many = 100
	calls := map[string]func(context.Context, Store, string) error{
		"an archive that is written": func(ctx context.Context, s Store, _ string) error {
			_, err := s.Create(ctx, "sent/a.tar.gz", bytes.Repeat([]byte("x"), many))
			return err
		},
		"an archive that is read": func(ctx context.Context, s Store, _ string) error {
			content, err := s.Read(ctx, "b.tar.gz")
			if err == nil && len(content) != many {
				err = fmt.Errorf("%d bytes came", len(content))
			}
			return err
		},
		"a file that is sent": func(ctx context.Context, s Store, dir string) error {
			file := filepath.Join(dir, "from")
			if err := os.WriteFile(file, bytes.Repeat([]byte("x"), many), 0o644); err != nil {
				return err
			}
			return s.Send(ctx, "sent/c", file)
		},
		"a file that is fetched": func(ctx context.Context, s Store, dir string) error {
			return s.Fetch(ctx, "d", filepath.Join(dir, "to"))
		},
	}
	stores := map[string]func(dir string, of func() *trickle) (Store, error){
		"folder": func(dir string, of func() *trickle) (Store, error) { return slowFolder{folderStore(dir), of}, nil },
		"s3": func(_ string, of func() *trickle) (Store, error) {
			client, err := minio.New("localhost", &minio.Options{Creds: credentials.NewStaticV4("id", "key", ""), Region: "us-east-1", Transport: movingTransport{slowServer{of}}})
			return &bucket{client: client, name: "bench"}, err
		},
	}
	for name, open := range stores {
		for doing, do := range calls {
			for _, ends := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/ends %v", name, doing, ends), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						let := make(chan struct{})
						inner, err := open(t.TempDir(), func() *trickle { return &trickle{many, ends, let} })
						if err != nil {
							t.Fatal(err)
						}
						s := watching(inner, time.Minute, func(context.Context, string) {})
						began := time.Now()
						err = do(t.Context(), s, t.TempDir())
						took := time.Since(began)
						if want := many * between; ends && (err != nil || took != want) {
							t.Errorf("it took %v, want %v: %v", took, want, err)
						}
						if want := (many-1)*between + time.Minute; !ends && (!errors.Is(err, errSilent) || took != want) {
							t.Errorf("it was given up after %v, want %v: %v", took, want, err)
						}
						close(let)
						synctest.Wait()
					})
				})
			}
		}
	}
	whole := make([]byte, 3*mostAtOnce)
	if n, err := (moving{t.Context(), bytes.NewReader(whole)}).Read(whole); n != mostAtOnce || err != nil {
		t.Errorf("%d bytes are read at once, %v", n, err)
	}
}

// A folder holds the call that was given up: here a file that nothing is written to. It ends once
// the folder answers.
func TestAFolderThatHangs(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	s := watching(folderStore(dir), 100*time.Millisecond, func(context.Context, string) {})
	if err := s.Fetch(t.Context(), "pipe", filepath.Join(dir, "to")); !errors.Is(err, errSilent) {
		t.Errorf("the error is %v", err)
	}
	hang := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.open)
	}
	if n := hang(); n != 1 {
		t.Errorf("%d calls hang", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "pipe"), nil, 0o644); err != nil {
		t.Error(err)
	}
	await(t, "the call returns", func() bool { return hang() == 0 })
}

// What many runs begin with is sent and fetched once, and where that hangs, all are told together.
func TestSeedsThatHang(t *testing.T) {
	from, run := states(t)
	dir := t.TempDir()
	into := openStates(t, dir)
	synctest.Test(t, func(t *testing.T) {
		inner := &silent{Store: folderStore(t.TempDir()), let: make(chan struct{})}
		s := watching(inner, time.Minute, func(context.Context, string) {})
		out := &sender{store: s, states: from, dir: t.TempDir()}
		in := &receiver{store: s, states: into, dir: filepath.Join(dir, "travel")}
		for i, do := range []func(context.Context, *record.Run) error{out.send, in.receive} {
			began := time.Now()
			var waiters sync.WaitGroup
			for range 5 {
				waiters.Go(func() {
					if err := do(t.Context(), run); !errors.Is(err, errSilent) {
						t.Errorf("the error is %v", err)
					}
				})
			}
			waiters.Wait()
			if n := inner.calls.Load(); time.Since(began) != time.Minute || n != int64(i+1) {
				t.Errorf("it took %v; %d calls in all", time.Since(began), n)
			}
		}
		close(inner.let)
		synctest.Wait() // the calls have ended, too
	})
}

// A store is tried again for all of its patience, counted from the first refusal: a file may have
// been on its way for an hour before. One that was silent for so long is not tried again.
func TestAStoreIsTriedAgain(t *testing.T) {
	refuses := errors.New("connection reset")
	for name, c := range map[string]struct {
		first time.Duration // that the first try takes
		err   error
		until time.Duration // all tries fail
		tries int
		took  time.Duration
	}{
		"a refusal after an hour":   {time.Hour, refuses, time.Hour + time.Second, 2, time.Hour + time.Minute/32},
		"refusals for good":         {0, refuses, time.Hour, 7, 63 * time.Minute / 32},
		"a silence for long enough": {time.Minute, errSilent, time.Hour, 1, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &Worker{StorePatience: time.Minute, Warn: func(string) {}}
				began, tries := time.Now(), 0
				err := w.insist(t.Context(), func() error {
					if tries++; tries == 1 {
						time.Sleep(c.first)
					}
					if time.Since(began) < c.until {
						return c.err
					}
					return nil
				})
				if took := time.Since(began); tries != c.tries || took != c.took || (err == nil) != (took > c.until) {
					t.Errorf("%d tries in %v, want %d in %v: %v", tries, took, c.tries, c.took, err)
				}
			})
		})
	}
}

// A suite with workspaces ends where files cannot be sent or fetched: soon, and with one
// warning. What was made is found once the store answers.
func TestFilesOfAStoreThatIsSilent(t *testing.T) {
	server := serverOf(t, "")
	const ids, workers = "a b c d e f g h", 4
	for name, c := range map[string]struct {
		hangs  string
		worker bool
		warns  string
	}{
		"seeds to the store":        {"Send seeds/", true, "has not answered for 500ms: sending seeds/"},
		"states to the store":       {"Send states/", true, "has not answered for 500ms: sending states/"},
		"what a suite is made of":   {"Read suites/", true, "has not answered for 500ms: reading suites/"},
		"seeds to the coordinator":  {"Fetch seeds/", false, "has not answered for 500ms: fetching seeds/"},
		"states to the coordinator": {"Fetch states/", false, "has not answered for 500ms: fetching states/"},
	} {
		t.Run(name, func(t *testing.T) {
			own := server.Server
			own.Queue = "queue of " + name
			hangs := &silent{let: make(chan struct{}), to: c.hangs}
			from, run := states(t)
			b, end := newBeside(t, &own, workers, func(w *Worker) {
				w.StorePatience = time.Second
				if c.worker {
					hangs.Store, w.Store = w.Store, hangs
				}
			})
			defer end()
			store, dir := b.Store.(*watched), t.TempDir()
			if !c.worker {
				hangs.Store, store.Store, store.patience = store.Store, hangs, time.Second
			}
			b.states, b.receiver = from, &receiver{store: store, states: openStates(t, dir), dir: filepath.Join(dir, "travel")}
			var warnings safe
			b.Warn = func(text string) { fmt.Fprintln(&warnings, text) }
			all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
			make := func(ctx context.Context, item plan.Item) *record.Run {
				made := all.run(ctx, item)
				if made.Outcome.Status == record.Completed {
					made.Seed, made.Iterations = run.Seed, run.Iterations
				}
				return made
			}
			began := time.Now()
			err := b.Execute(t.Context(), items(ids), make, all.deliver)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if told, _ := errors.AsType[*exit.Error](err); told == nil || told.Code != exit.NotMeasured || told.Hint == "" || !strings.Contains(err.Error(), hangs.String()+" cannot be used: it has not answered for 1s") {
				t.Errorf("the error is %v", err)
			}
			if n := bytes.Count(warnings.Bytes(), []byte{'\n'}); n != 1 || !warnings.has(c.warns) {
				t.Errorf("%d warnings: %s", n, warnings.String())
			}
			if rest := all.rest(ids); len(rest) < 4 {
				t.Errorf("%v are to be made", rest)
			}
			close(hangs.let)
			await(t, "what was made is stored", func() bool {
				for id := range all.made {
					if _, err := b.Store.Read(t.Context(), recordName(&b.suite, id)); err != nil {
						return false
					}
				}
				return true
			})
			if err := b.Execute(t.Context(), items(strings.Join(all.rest(ids), " ")), make, all.deliver); err != nil {
				t.Fatal(err)
			}
			for _, id := range strings.Fields(ids) {
				if all.made[id] != 1 || all.ended[id] != record.Completed {
					t.Errorf("%s was made %d times, and is %q", id, all.made[id], all.ended[id])
				}
			}
			known := map[workspace.ID]error{}
			for _, of := range []string{run.Seed, run.Iterations[1].Workspace.Tree} {
				id, err := workspace.ParseID(of)
				if err == nil {
					err = b.receiver.states.Check(id, known)
				}
				if err != nil {
					t.Errorf("%s: %v", of, err)
				}
			}
		})
	}
}
