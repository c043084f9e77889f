package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// filling is a store that takes so many records, and then refuses so many writes, or is silent.
type filling struct {
	Store
	takes, refuses atomic.Int64
	silent         chan struct{} // until it is closed; nil: it refuses at once
}

func (s *filling) Create(ctx context.Context, name string, content []byte) (bool, error) {
	if strings.HasPrefix(name, "runs/") && s.takes.Add(-1) < 0 && s.refuses.Add(-1) >= 0 {
		if s.silent != nil {
			<-s.silent
		}
		return false, errors.New("no space left on device")
	}
	return s.Store.Create(ctx, name, content)
}

// counted notes how often each item was made, and what became of it.
type counted struct {
	mu    sync.Mutex
	made  map[string]int
	ended map[string]record.Status
}

func (c *counted) run(ctx context.Context, item plan.Item) *record.Run {
	if ctx.Err() != nil { // no worker makes it
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Cancelled}}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[item.ID]++
	return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Completed}}
}

func (c *counted) deliver(_ context.Context, item plan.Item, run *record.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[item.ID] = run.Outcome.Status
}

// rest are the items that are not completed.
func (c *counted) rest(ids string) (rest []string) {
	for _, id := range strings.Fields(ids) {
		if c.ended[id] != record.Completed {
			rest = append(rest, id)
		}
	}
	return rest
}

// A store that becomes full is a warning at once and ends the suite soon, and so does one that is
// silent, after its time. What was made is stored once there is room, and is not made again. One
// that recovers costs nothing.
func TestAStoreThatBecomesFull(t *testing.T) {
	server := serverOf(t, "")
	const ids, workers = "a b c d e f g h i j k l", 3
	for name, c := range map[string]struct {
		refuses     int64
		ends        bool
		warns, says string
	}{
		"for good": {1 << 40, true, "cannot be used: no space left", "cannot be used: no space left"}, "for a while": {5, false, "cannot be used: no space left", ""},
		"silent": {1 << 40, true, "has not answered for 500ms: writing runs/", "cannot be used: it has not answered for 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			own := server.Server
			own.Queue = "queue " + name
			var store *filling
			b, end := newBeside(t, &own, workers, func(w *Worker) {
				store = &filling{Store: w.Store}
				store.takes.Store(4)
				store.refuses.Store(c.refuses)
				if name == "silent" {
					store.silent = make(chan struct{})
				}
				w.Store, w.StorePatience = store, time.Second
			})
			defer end()
			var warnings safe
			b.Warn = func(text string) { fmt.Fprintln(&warnings, text) }
			all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
			began := time.Now()
			err := b.Execute(t.Context(), items(ids), all.run, all.deliver)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if n := bytes.Count(warnings.Bytes(), []byte{'\n'}); n != 1 || !warnings.has("worker beside: the store "+store.String()+" "+c.warns) {
				t.Errorf("%d warnings: %s", n, warnings.String())
			}
			told, _ := errors.AsType[*exit.Error](err)
			if c.ends && (told == nil || told.Code != exit.NotMeasured || told.Hint == "" || !strings.Contains(err.Error(), store.String()+" "+c.says)) || !c.ends && err != nil {
				t.Fatalf("the error is %v", err)
			}
			if rest := all.rest(ids); c.ends && (len(rest) < 8 || len(all.made) > 4+workers) {
				t.Errorf("%d were made of which the store took 4; %d are to be made", len(all.made), len(rest))
			}
			store.refuses.Store(0)
			if store.silent != nil {
				close(store.silent)
			}
			await(t, "what was made is stored", func() bool {
				for id := range all.made {
					if _, err := b.Store.Read(t.Context(), recordName(&b.suite, id)); err != nil {
						return false
					}
				}
				return true
			})
			if err := b.Execute(t.Context(), items(strings.Join(all.rest(ids), " ")), all.run, all.deliver); err != nil {
				t.Fatal(err)
			}
			for _, id := range strings.Fields(ids) {
				if all.made[id] != 1 || all.ended[id] != record.Completed {
					t.Errorf("%s was made %d times, and is %q", id, all.made[id], all.ended[id])
				}
			}
		})
	}
}

// warned notes what a worker tells the batches of runs.
type warned struct {
	client.Client
	told []string
}

func (c *warned) SignalWorkflow(_ context.Context, _, _, name string, text any) error {
	c.told = append(c.told, fmt.Sprint(name, " ", text))
	return nil
}

// A store that refuses is told once to who looks at the worker, and once to the coordinator, by the
// first run that meets it: what has no run, as the shelf, cannot tell the coordinator. Once the store
// takes something, both are told anew.
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
	for range 2 {
		w.complain(t.Context(), "of the shelf")
	}
	if len(here) != 1 || len(c.told) != 0 {
		t.Errorf("here: %q; there: %q", here, c.told)
	}
	inRun("a run")
	inRun("another run")
	if want := []string{"worker w: of the shelf"}; !slices.Equal(here, want) {
		t.Errorf("here: %q, want %q", here, want)
	}
	if want := []string{"warn worker w: a run"}; !slices.Equal(c.told, want) {
		t.Errorf("there: %q, want %q", c.told, want)
	}
	if err := w.insist(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	inRun("a run later")
	if want := []string{"worker w: of the shelf", "worker w: a run later"}; !slices.Equal(here, want) {
		t.Errorf("here: %q, want %q", here, want)
	}
	if want := []string{"warn worker w: a run", "warn worker w: a run later"}; !slices.Equal(c.told, want) {
		t.Errorf("there: %q, want %q", c.told, want)
	}
}

// A store that is silent only here ends the suite as well, and what workers have stored in it is
// found later.
func TestAStoreThatIsSilentToTheCoordinator(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 1, nil)
	defer end()
	store := b.Store.(*watched)
	own := &silent{Store: store.Store, let: make(chan struct{})}
	store.Store, store.patience = own, time.Second
	var warnings safe
	b.Warn = func(text string) { fmt.Fprintln(&warnings, text) }
	all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
	err := b.Execute(t.Context(), items("a b c"), all.run, all.deliver)
	if told, _ := errors.AsType[*exit.Error](err); told == nil || told.Code != exit.NotMeasured || told.Hint == "" || !strings.Contains(err.Error(), own.String()+" cannot be used: it has not answered for 1s") {
		t.Errorf("the error is %v", err)
	}
	if n := bytes.Count(warnings.Bytes(), []byte{'\n'}); n != 1 || !warnings.has("the store "+own.String()+" has not answered for 500ms: reading runs/") {
		t.Errorf("%d warnings: %s", n, warnings.String())
	}
	close(own.let)
	if err := b.Execute(t.Context(), items(strings.Join(all.rest("a b c"), " ")), all.run, all.deliver); err != nil {
		t.Fatal(err)
	}
	for _, id := range strings.Fields("a b c") {
		if all.made[id] != 1 || all.ended[id] != record.Completed {
			t.Errorf("%s was made %d times, and is %q", id, all.made[id], all.ended[id])
		}
	}
}

// A store that is gone while processes work, whose workers are killed before it has room: nothing is paid
// twice, though no answer is in the cache.
func TestAStoreThatIsGoneInTheMiddle(t *testing.T) {
	const runs = 24
	var answered atomic.Int64
	mock := mockserver.New(mockserver.Options{
		Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}, Latency: 100 * time.Millisecond,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mock.ServeHTTP(w, r)
		if r.Context().Err() == nil { // a call that the end of the suite cancels has no answer
			answered.Add(1)
		}
	}))
	defer server.Close()
	s := newSite(t, false, scaleSuite(runs, "{provider: openai, name: mock, base_url: "+server.URL+"/v1, price: free}", 6))
	start := func() {
		for n := range 2 {
			s.startWorker(n, "--concurrency", "3", "--store-timeout", "1s")
		}
	}
	start()
	var said safe
	c := s.elsewhere("there")
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "some runs are done", func() bool { return s.done("there") >= 6 })
	swap := func(from, to string) { // a file is where the folder was
		for _, name := range []string{"runs", "cache"} {
			path := filepath.Join(s.store, name)
			if err := errors.Join(os.RemoveAll(path+to), os.Rename(path, path+to), os.Rename(path+from, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"runs", "cache"} {
		if err := os.WriteFile(filepath.Join(s.store, name+".full"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	swap(".full", ".whole")
	failed, _ := errors.AsType[*exec.ExitError](c.Wait())
	if failed == nil || failed.ExitCode() != exit.NotMeasured {
		t.Errorf("%v: %s", failed, said.String())
	}
	for text, most := range map[string]int{"agentbench: warning: worker ": 1, "agentbench: worker ": 1, "keep the runs that they made": 1, "resume with": 1, s.store + " cannot be used": 2, "not a directory": 2} {
		if n := strings.Count(said.String(), text); n != most {
			t.Errorf("it says %q %d times, want %d: %s", text, n, most, said.String())
		}
	}
	for _, w := range s.workers {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	swap(".whole", ".full")
	start()
	s.must(s.elsewhere("there"))
	if n := answered.Load(); n != runs {
		t.Errorf("%d calls were paid for %d runs", n, runs)
	}
	if there := s.records("there", timeless); len(there) < runs {
		t.Errorf("%d of %d runs are there", len(there), runs)
	}
}
