package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
)

// faulty is a store that takes so many calls of a kind, as "Send states/", and then refuses some, or does not answer
// until it is let go, whatever its contexts say.
type faulty struct {
	Store
	kind           string // what its calls begin with
	takes, refuses int64
	let            chan struct{} // nil: it refuses

	calls  atomic.Int64 // of the kind
	healed atomic.Bool
}

func (s *faulty) fault(call, name string) error {
	if !strings.HasPrefix(call+" "+name, s.kind) {
		return nil
	}
	n := s.calls.Add(1) - s.takes
	if n > 0 && s.let != nil {
		<-s.let
	} else if n > 0 && n <= s.refuses && !s.healed.Load() {
		return errors.New("no space left on device")
	}
	return nil
}

// heal ends the fault.
func (s *faulty) heal() {
	if s.let != nil {
		close(s.let)
		return
	}
	s.healed.Store(true)
}

func (s *faulty) Create(ctx context.Context, name string, content []byte) (bool, error) {
	if err := s.fault("Create", name); err != nil {
		return false, err
	}
	return s.Store.Create(ctx, name, content)
}

func (s *faulty) Read(ctx context.Context, name string) ([]byte, error) {
	if err := s.fault("Read", name); err != nil {
		return nil, err
	}
	return s.Store.Read(ctx, name)
}

func (s *faulty) Send(ctx context.Context, name, file string) error {
	return errors.Join(s.fault("Send", name), s.Store.Send(ctx, name, file))
}

func (s *faulty) Fetch(ctx context.Context, name, file string) error {
	return errors.Join(s.fault("Fetch", name), s.Store.Fetch(ctx, name, file))
}

func (s *faulty) Remove(ctx context.Context, name string) error {
	return errors.Join(s.fault("Remove", name), s.Store.Remove(ctx, name))
}

// A store that becomes full, or is silent in whatever it is asked, to workers or to the coordinator, is a warning at once
// and ends the suite soon. What was made is stored and found later, and is not made again. One that recovers costs nothing.
func TestAStoreThatBecomesFull(t *testing.T) {
	const ids, workers, ever = "a b c d e f g h", 3, 1 << 40
	for name, c := range map[string]struct {
		kind           string
		takes, refuses int64
		worker, files  bool // it is the worker's store; the runs have workspaces
		warns          string
	}{
		"full for good":             {"Create runs/", 4, ever, true, false, "cannot be used: no space left"},
		"full for a while":          {"Create runs/", 4, 5, true, false, "cannot be used: no space left"},
		"silent to workers":         {"Create runs/", 4, 0, true, false, "has not answered for 500ms: writing runs/"},
		"states to the store":       {"Send states/", 0, 0, true, true, "has not answered for 500ms: sending states/"},
		"what a suite is made of":   {"Read suites/", 0, 0, true, false, "has not answered for 500ms: reading suites/"},
		"silent to the coordinator": {"Read runs/", 0, 0, false, false, "has not answered for 500ms: reading runs/"},
		"states to the coordinator": {"Fetch states/", 0, 0, false, true, "has not answered for 500ms: fetching states/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &faulty{kind: c.kind, takes: c.takes, refuses: c.refuses}
			if c.refuses == 0 {
				store.let = make(chan struct{})
			}
			b := newInProcess(t, sharedServer(t), workers, func(w *Worker) {
				w.StorePatience = time.Second
				if c.worker {
					store.Store, w.Store = w.Store, store
				}
			})
			own, dir := b.Store.(*watched), t.TempDir()
			if !c.worker {
				store.Store, own.Store, own.patience = own.Store, store, time.Second
			}
			from, run := states(t)
			if c.files {
				b.states, b.receiver = from, &receiver{store: own, states: openStates(t, dir), dir: filepath.Join(dir, "travel")}
			}
			make := func(ctx context.Context, item plan.Item) *record.Run {
				made := b.all.run(ctx, item)
				if c.files && made.Outcome.Status == record.Completed {
					made.Seed, made.Iterations = run.Seed, run.Iterations
				}
				return made
			}
			err := b.Execute(t.Context(), items(ids), make, b.all.deliver)
			failed, _ := errors.AsType[*exit.Error](err)
			if ends := c.refuses == 0 || c.refuses == ever; ends && (failed == nil || failed.Code != exit.NotMeasured || failed.Hint == "" || !strings.Contains(err.Error(), store.String()+" cannot be used: ")) || !ends && err != nil {
				t.Fatalf("the error is %v", err)
			}
			if n := bytes.Count(b.warnings.Bytes(), []byte{'\n'}); n != 1 || !b.warnings.has("the store "+store.String()+" "+c.warns) || c.worker != b.warnings.has("worker w1: ") {
				t.Errorf("%d warnings: %s", n, b.warnings.String())
			}
			if made, most := len(b.all.made), int(c.takes)+workers; err != nil && made > most {
				t.Errorf("%d were made, want at most %d", made, most)
			}
			store.heal()
			b.stored(t)
			check(t, b.Execute(t.Context(), items(strings.Join(b.all.rest(ids), " ")), make, b.all.deliver))
			b.once(t, ids)
			if c.files {
				holds(t, b.receiver.states, run)
			}
		})
	}
}

// warned notes the warnings that a worker sends to batches.
type warned struct {
	client.Client
	warnings []string
}

func (c *warned) SignalWorkflow(_ context.Context, _, _, name string, text any) error {
	c.warnings = append(c.warnings, fmt.Sprint(name, " ", text))
	return nil
}

// A store that refuses is one warning on the worker's machine, and one at the coordinator, which the first run
// that meets it sends: records that wait for the store cannot. Once the store takes something, the next refusal
// is a warning again.
func TestTheWorkerAndTheCoordinatorAreWarned(t *testing.T) {
	var here []string
	c := &warned{}
	w := &Worker{Name: "w", Client: c, StorePatience: time.Nanosecond, Warn: func(text string) { here = append(here, text) }}
	var runs testsuite.WorkflowTestSuite
	env := runs.NewTestActivityEnvironment()
	inRun := func(text string) {
		t.Helper()
		tell := func(ctx context.Context) error { w.complain(ctx, text); return nil }
		env.RegisterActivityWithOptions(tell, activity.RegisterOptions{Name: text})
		if _, err := env.ExecuteActivity(text); err != nil {
			t.Fatal(err)
		}
	}
	knows := func(hereWant, thereWant string) {
		t.Helper()
		if here, there := strings.Join(here, "; "), strings.Join(c.warnings, "; "); here != hereWant || there != thereWant {
			t.Errorf("here: %q; there: %q", here, there)
		}
	}
	w.complain(t.Context(), "of a record that waits")
	w.complain(t.Context(), "of a record that waits")
	knows("worker w: of a record that waits", "")
	inRun("a run")
	inRun("another run")
	knows("worker w: of a record that waits", "warn worker w: a run")
	check(t, w.insist(t.Context(), func() error { return nil }))
	inRun("a run later")
	knows("worker w: of a record that waits; worker w: a run later", "warn worker w: a run; warn worker w: a run later")
}

// What the store refused is on the worker's disk, for the worker that comes after one that was killed.
func TestAStoreThatIsGoneInTheMiddle(t *testing.T) {
	dir, store := t.TempDir(), &faulty{Store: folderStore(t.TempDir()), kind: "Create runs/", refuses: 1 << 40}
	first, err := openUnstored(store, dir)
	check(t, err)
	for _, name := range []string{"runs/a", "runs/b"} {
		if err := first.put(pendingRecord{Name: name, Record: []byte(name)}); err != nil || first.clear(t.Context()) == nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	store.heal()
	for _, left := range []int{2, 0} { // once they are stored they are no files
		next, err := openUnstored(store, dir)
		if err != nil || len(next.records) != left || next.clear(t.Context()) != nil {
			t.Errorf("%d records are not stored, want %d: %v", len(next.records), left, err)
		}
	}
	for _, name := range []string{"runs/a", "runs/b"} {
		if content, err := store.Read(t.Context(), name); err != nil || string(content) != name {
			t.Errorf("%s is %q, %v", name, content, err)
		}
	}
}

// While many calls hang in a store, others are refused at once, and do not reach it: each would hold
// a thread. Those that their callers gave up early count once they hang for too long.
func TestCallsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &faulty{Store: folderStore(t.TempDir()), kind: "Read", let: make(chan struct{})}
		s := watching(inner, time.Minute, func(context.Context, string) {})
		if _, err := s.Create(t.Context(), "runs/a", []byte("a")); err != nil {
			t.Fatal(err)
		}
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
		for _, took := range []time.Duration{time.Minute, 0} { // the first hangs as well, the other is one too many
			if err := read(t.Context(), took); err == nil || err.Error() != "it has not answered for 1m0s" {
				t.Errorf("the error is %v", err)
			}
		}
		if n := inner.calls.Load(); n != mostStuck {
			t.Errorf("%d calls reached the store, want %d", n, mostStuck)
		}
		inner.heal()
		synctest.Wait()
		if err := read(t.Context(), 0); err != nil {
			t.Errorf("the store answers again: %v", err)
		}
	})
}

// A call may take as long as bytes move. It is a warning once none has moved for half of the patience, and is given up
// after all of it. Bytes move with
// every part that a folder or a server of S3 reads or gives, however large the whole is.
func TestFilesTakeAsLongAsTheyMove(t *testing.T) {
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			let := make(chan struct{})
			w, began := watch{patience: time.Minute}, time.Now()
			var warned []time.Duration
			_, err := answer(t.Context(), &w, func() { warned = append(warned, time.Since(began)) }, func(ctx context.Context) (bool, error) {
				for range 99 {
					time.Sleep(50 * time.Second)
					moved(ctx)
				}
				if !ends {
					<-let
				}
				return true, nil
			})
			took, want := time.Since(began), 99*50*time.Second
			if !ends {
				want += time.Minute
			}
			if took != want || errors.Is(err, errSilent) == ends || len(warned) != 1 || warned[0] != 30*time.Second {
				t.Errorf("it took %v, want %v: %v; warned after %v", took, want, err, warned)
			}
			close(let)
			synctest.Wait()
		})
	}
	c := &call{}
	ctx := context.WithValue(t.Context(), callKey{}, c)
	moves := func(what string, r io.Reader) {
		t.Helper()
		part := make([]byte, 3*mostAtOnce)
		for range 3 {
			c.began, c.moved = time.Now().Add(-time.Hour), atomic.Int64{}
			if n, err := r.Read(part); n != mostAtOnce || err != nil || c.silence() > time.Minute {
				t.Errorf("%s: %d bytes at once, %v; nothing has moved for %v", what, n, err, c.silence())
			}
		}
	}
	whole := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(make([]byte, 3*mostAtOnce))) }
	moves("a file", moving{ctx, whole()})
	sent, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://localhost", whole())
	check(t, err)
	answer, err := movingTransport{roundTrip(func(r *http.Request) (*http.Response, error) {
		moves("what is sent to S3", r.Body)
		return &http.Response{Body: whole()}, nil
	})}.RoundTrip(sent)
	check(t, err)
	moves("what comes from S3", answer.Body)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What many runs begin with is sent and fetched once, and where that hangs, all fail together.
func TestSeedsThatHang(t *testing.T) {
	from, run := states(t)
	dir := t.TempDir()
	into := openStates(t, dir)
	synctest.Test(t, func(t *testing.T) {
		inner := &faulty{Store: folderStore(t.TempDir()), let: make(chan struct{})}
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
		inner.heal()
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
				t.Errorf("%s: %d tries in %v, want %d in %v: %v", name, tries, took, c.tries, c.took, err)
			}
		})
	}
}

// holds reports where a store lacks what a run names.
func holds(t *testing.T, s *workspace.Store, run *record.Run) {
	t.Helper()
	known := map[workspace.ID]error{}
	for _, name := range []string{run.Seed, run.Iterations[0].Workspace.Tree, run.Iterations[1].Workspace.Tree} {
		id, err := workspace.ParseID(name)
		if err == nil {
			err = s.Check(id, known)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
