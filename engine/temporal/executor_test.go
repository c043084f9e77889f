package temporal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/executortest"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/spec"
)

// beside is an executor whose worker is in this process and makes the runs of the test.
type beside struct {
	*Executor
	mu     sync.Mutex
	run    engine.RunFunc
	items  map[string]plan.Item
	draws  *pace.Budget     // of the worker; nil: there is no budget
	span   string           // of all runs
	states *workspace.Store // nil: there are no workspaces
}

// Execute implements engine.Executor.
func (b *beside) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	b.mu.Lock()
	b.run, b.items = run, map[string]plan.Item{}
	b.mu.Unlock()
	noted := func(yield func(plan.Item, error) bool) {
		for item, err := range items {
			if err == nil {
				b.mu.Lock()
				b.items[item.Task.ID] = item
				b.mu.Unlock()
			}
			if !yield(item, err) {
				return
			}
		}
	}
	return b.Executor.Execute(ctx, noted, run, deliver)
}

// Run makes the run of the test that wants it.
func (b *beside) Run(ctx context.Context, _, task string, _ int, _ func(record.Event)) (*record.Run, error) {
	b.mu.Lock()
	item, known := b.items[task]
	run := b.run
	b.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("no item %s", task)
	}
	made := run(ctx, item)
	made.Version = record.Version
	return made, nil
}

func (b *beside) Encode(run *record.Run) ([]byte, error) {
	return record.EncodeRun(run, record.Options{})
}

func (b *beside) Draws() (*pace.Budget, map[string]*pace.Gate) { return b.draws, nil }

func (b *beside) Line(record.Event) ([]byte, error) { return nil, nil }

func (b *beside) States() *workspace.Store { return b.states }

func (b *beside) Span(string) string { return b.span }

func (b *beside) Close() {}

// newBeside opens an executor at a server, and starts a worker of it in this process.
func newBeside(t *testing.T, server *Server, workers int, worker func(*Worker)) (b *beside, end func()) {
	t.Helper()
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Options{
		Server: *server, Store: store, Version: "v1", Recipe: []byte("{}"), Dir: t.TempDir(), Workers: workers, Heartbeat: 2 * time.Second,
		Budget: pace.NewBudget(pace.Suite, pace.Limits{}), Started: func(plan.Item) {}, Warn: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = &beside{Executor: e}
	client, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{
		Client: client, Store: store, Version: "v1", Name: "beside", Dir: t.TempDir(), Now: time.Now, Warn: func(string) {},
		Prepare: func(context.Context, Files) (Runs, error) { return b, nil },
	}
	if worker != nil {
		worker(w)
	}
	ctx, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() {
		if err := w.Listen(ctx, server.Queue, workers, time.Second); err != nil {
			t.Error(err)
		}
	})
	return b, func() {
		stop()
		listening.Wait()
		client.Close()
		if err := b.Executor.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestContract(t *testing.T) {
	const workers = 4
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, workers, nil)
	defer end()
	executortest.Contract(t, b, workers)
}

// one is a single item.
func one(id string) iter.Seq2[plan.Item, error] {
	return func(yield func(plan.Item, error) bool) {
		yield(plan.Item{ID: id, Task: &spec.Task{ID: id}, Trial: 1}, nil)
	}
}

// What another attempt would meet as well ends the suite with one clear error, and nothing
// was run.
func TestWorkersThatDoNotFit(t *testing.T) {
	server := serverOf(t, "")
	otherSuite := errors.New("the suite is another one on this machine")
	for name, c := range map[string]struct {
		worker func(*Worker)
		id     string
		want   string
	}{
		"another version": {func(w *Worker) { w.Version = "v2" }, "a", "worker beside: it runs agentbench v2, and the coordinator v1"},
		"a clock that is slow": {func(w *Worker) { w.Now = func() time.Time { return time.Now().Add(-5 * time.Minute) } }, "a",
			"worker beside: the clock of this machine differs from that of the Temporal server by -5m0s; at most 2m0s will do"},
		"another suite": {func(w *Worker) {
			w.Prepare, w.Wrong = func(context.Context, Files) (Runs, error) { return nil, otherSuite }, func(err error) bool { return errors.Is(err, otherSuite) }
		}, "a", "worker beside: the suite is another one on this machine"},
		"an item that is too large": {nil, strings.Repeat("x", 70_000), "bytes; at most 65536 travel through Temporal"},
	} {
		t.Run(name, func(t *testing.T) {
			own := server.Server
			own.Queue = "queue of " + name
			b, end := newBeside(t, &own, 2, c.worker)
			defer end()
			ran := false
			var made *record.Run
			err := b.Execute(t.Context(), one(c.id),
				func(ctx context.Context, item plan.Item) *record.Run {
					ran = ctx.Err() == nil
					return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Cancelled}}
				},
				func(_ context.Context, _ plan.Item, run *record.Run) { made = run })
			said := fmt.Sprint(err)
			if made != nil && made.Outcome.Error != nil {
				said += made.Outcome.Error.Message
			}
			if ran || !strings.Contains(said, c.want) {
				t.Errorf("it ran: %v; said: %.300s; want %q", ran, said, c.want)
			}
		})
	}
}

// An outcome that is too large ends the suite with one clear error, and not with retries for
// ever. Its record is stored, and found when the suite is resumed.
func TestAnOutcomeThatIsTooLarge(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 2, nil)
	defer end()
	b.span = strings.Repeat("x", 70_000)
	all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
	if err := b.Execute(t.Context(), one("a"), all.run, all.deliver); err == nil || !strings.Contains(err.Error(), "worker beside: the outcome of a takes 70") || !strings.Contains(err.Error(), "at most 65536 travel") {
		t.Errorf("the error is %.300v", err)
	}
	b.span = ""
	if err := b.Execute(t.Context(), one("a"), all.run, all.deliver); err != nil || all.made["a"] != 1 || all.ended["a"] != record.Completed {
		t.Errorf("%v; it was made %d times, and is %q", err, all.made["a"], all.ended["a"])
	}
}

// A coordinator whose clock is wrong, either way, runs nothing, whether it begins a suite or
// joins one that is in progress. That goes on for a coordinator whose clock is right.
func TestTheClockOfTheCoordinator(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 2, nil)
	defer end()
	wrong := func() {
		t.Helper()
		for _, off := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
			b.Now = func() time.Time { return time.Now().Add(off) }
			all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
			err := b.Execute(t.Context(), one("a"), all.run, all.deliver)
			want := fmt.Sprintf("the clock of this machine differs from that of the Temporal server by %v; at most 2m0s will do", off)
			if told, ok := errors.AsType[*exit.Error](err); !ok || told.Hint == "" || !strings.Contains(err.Error(), want) || len(all.made) > 0 {
				t.Errorf("%v: %v, want %q; %v were made", off, err, want, all.made)
			}
		}
		b.Now = time.Now
	}
	running := func(want bool) {
		t.Helper()
		if is, err := b.running(t.Context()); err != nil || is != want {
			t.Errorf("the workflow is in progress: %v, %v; want %v", is, err, want)
		}
	}
	wrong()
	running(false)
	if err := b.begin(t.Context()); err != nil { // by a coordinator that is killed
		t.Fatal(err)
	}
	wrong()
	running(true)
	all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
	if err := b.Execute(t.Context(), one("a"), all.run, all.deliver); err != nil || all.made["a"] != 1 {
		t.Errorf("with a clock that is right: %v", err)
	}
	running(false)
}

// What is wrong with the server is told before anything is run.
func TestServersThatDoNotFit(t *testing.T) {
	server := serverOf(t, "")
	absent := server.Server
	absent.Namespace = "absent"
	for want, s := range map[string]Server{
		"the Temporal server at " + server.Address + " has no namespace absent": absent,
	} {
		_, err := s.Dial(t.Context())
		var told *exit.Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &told) || told.Hint == "" {
			t.Errorf("%v; want %q and a hint", err, want)
		}
	}
	c, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := server.outlasts(t.Context(), c, time.Hour, nil); err != nil {
		t.Errorf("an hour: %v", err)
	}
	if err := server.outlasts(t.Context(), c, 1000*time.Hour, nil); err == nil || !strings.Contains(err.Error(), "keeps ended workflows for 24h0m0s, and the suite may take 1000h0m0s") {
		t.Errorf("1000 hours: %v", err)
	}
}

// tampered is a store from which records come damaged, so many times.
type tampered struct {
	Store
	times int
}

func (s *tampered) Read(ctx context.Context, name string) ([]byte, error) {
	content, err := s.Store.Read(ctx, name)
	if strings.HasPrefix(name, "runs/") && s.times > 0 {
		s.times--
		content = content[:len(content)/2]
	}
	return content, err
}

// A run whose record is damaged, or is of another run, is made again, once. One that the worker reads as it wrote it
// costs nothing again.
func TestADamagedRecordIsMadeAgain(t *testing.T) {
	line := func(id string) []byte {
		line, err := record.EncodeRun(&record.Run{Version: record.Version, ID: id, Outcome: record.Outcome{Status: record.Completed}}, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	server := serverOf(t, "")
	for name, c := range map[string]struct {
		stored []byte // before the run
		reads  int    // of the coordinator, that are damaged
		want   record.Status
	}{
		"as it should be":      {nil, 0, record.Completed},
		"cut in the store":     {line("a")[:20], 0, record.Completed},
		"of another run":       {line("b"), 0, record.Completed},
		"damaged on its way":   {nil, 1, record.Completed},
		"damaged on every way": {nil, 100, record.Faulted},
	} {
		t.Run(name, func(t *testing.T) {
			own := server.Server
			own.Queue = name
			b, end := newBeside(t, &own, 2, nil)
			defer end()
			var warned []string
			b.Warn = func(text string) { warned = append(warned, text) }
			if c.stored != nil {
				if _, err := b.Store.Create(t.Context(), recordName(&b.suite, "a"), c.stored); err != nil {
					t.Fatal(err)
				}
			}
			b.Store = &tampered{b.Store, c.reads}
			all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
			if err := b.Execute(t.Context(), one("a"), all.run, all.deliver); err != nil || all.made["a"] != 1 || all.ended["a"] != c.want {
				t.Errorf("%v; it was made %d times, and is %q, want %q", err, all.made["a"], all.ended["a"], c.want)
			}
			if told := len(warned) == 1 && strings.Contains(warned[0], "the run is made again"); told != (c.reads > 0) {
				t.Errorf("the coordinator says %q", warned)
			}
		})
	}
}

// The coordinator takes no record that has not the name of the run's, whatever an outcome says.
func TestAnOutcomeNamesItsOwnRecord(t *testing.T) {
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	e := &Executor{Options: Options{Store: store}, suite: Suite{Records: "runs/x"}}
	own, other := recordName(&e.suite, "a"), recordName(&e.suite, "b")
	for name, c := range map[string]struct {
		id    string // of the run that is in it
		taken bool
	}{
		own: {"a", true}, own + ".AGAIN": {"a", true}, own + ".OTHER": {"b", false}, other: {"a", false}, own + "x": {"a", false}, own + ".d/x": {"a", false}, "suites/x": {"a", false},
	} {
		line, err := record.EncodeRun(&record.Run{Version: record.Version, ID: c.id}, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if created, err := store.Create(t.Context(), name, line); err != nil || !created {
			t.Fatalf("%s: %v, %v", name, created, err)
		}
		run, err := e.fetch(t.Context(), "a", &Outcome{Record: name, Digest: digest(line)})
		if taken := err == nil && run.ID == "a"; taken != c.taken {
			t.Errorf("the record %s of the run %s is taken: %v, %v", name, c.id, taken, err)
		}
	}
}
