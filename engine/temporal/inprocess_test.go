package temporal

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/spec"
)

// inProcess is an executor with a worker in this process, which makes the runs of the test.
type inProcess struct {
	*Executor
	all      counted // what try has made
	warnings safe

	mu     sync.Mutex
	run    engine.RunFunc
	items  map[string]plan.Item
	draws  *pace.Budget     // of the worker; nil: there is no budget
	span   string           // of all runs
	states *workspace.Store // nil: there are no workspaces
}

// Execute implements engine.Executor.
func (b *inProcess) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
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

// try executes items, and counts what is made and delivered.
func (b *inProcess) try(ctx context.Context, ids string) error {
	return b.Execute(ctx, items(ids), b.all.run, b.all.deliver)
}

// Run makes the run of the test that wants it.
func (b *inProcess) Run(ctx context.Context, _, task string, _ int, _ func(record.Event)) (*record.Run, error) {
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

func (b *inProcess) Encode(run *record.Run) ([]byte, error) {
	return record.EncodeRun(run, record.Options{})
}

func (b *inProcess) Draws() (*pace.Budget, map[string]*pace.Gate) { return b.draws, nil }

func (b *inProcess) Line(record.Event) ([]byte, error) { return nil, nil }

func (b *inProcess) States() *workspace.Store { return b.states }

func (b *inProcess) Span(string) string { return b.span }

func (b *inProcess) Close() {}

// budget is what the coordinator and the worker have of it.
func (b *inProcess) budget(calls int64) {
	b.Budget, b.draws = pace.NewBudget(pace.Suite, pace.Limits{Calls: calls}), pace.NewBudget(pace.Suite, pace.Limits{Calls: calls})
}

// newInProcess opens an executor at a server, and starts a worker of it in this process.
func newInProcess(t *testing.T, server *devServer, workers int, worker func(*Worker)) *inProcess {
	t.Helper()
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	check(t, err)
	b := &inProcess{all: counted{made: map[string]int{}, ended: map[string]record.Status{}}}
	b.Executor, err = Open(t.Context(), Options{
		Submission: &command.Submission{
			Recipe: command.Recipe{Agentbench: "v1"}, Dir: t.TempDir(), Workers: workers,
			Budget: pace.NewBudget(pace.Suite, pace.Limits{}), Started: func(plan.Item) {}, Warn: func(string) {},
		},
		Server: server.Server, Store: store, Heartbeat: 5 * time.Second, StorePatience: time.Minute,
	})
	check(t, err)
	check(t, b.Begin(t.Context()))
	b.Warn = func(text string) { fmt.Fprintln(&b.warnings, text) }
	client, err := server.Dial(t.Context())
	check(t, err)
	w := &Worker{
		Client: client, Store: store, Version: "v1", Name: "w1", Dir: t.TempDir(), Now: time.Now, Warn: func(string) {}, StorePatience: time.Minute,
		Prepare: func(context.Context, *command.Recipe, command.Folders) (Runs, error) { return b, nil },
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
	t.Cleanup(func() {
		stop()
		listening.Wait()
		client.Close()
		if err := b.Executor.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// items are so many items.
func items(ids string) iter.Seq2[plan.Item, error] {
	return func(yield func(plan.Item, error) bool) {
		for _, id := range strings.Fields(ids) {
			if !yield(plan.Item{ID: id, Task: &spec.Task{ID: id}, Trial: 1}, nil) {
				return
			}
		}
	}
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

// stored waits until all that was made is in the store.
func (b *inProcess) stored(t *testing.T) {
	t.Helper()
	await(t, "what was made is stored", func() bool {
		for id := range b.all.made {
			if _, err := b.Store.Read(t.Context(), recordName(&b.suite, id)); err != nil {
				return false
			}
		}
		return true
	})
}

// once holds items to be made once, and to be completed.
func (b *inProcess) once(t *testing.T, ids string) {
	t.Helper()
	for _, id := range strings.Fields(ids) {
		if b.all.made[id] != 1 || b.all.ended[id] != record.Completed {
			t.Errorf("%s was made %d times, and is %q", id, b.all.made[id], b.all.ended[id])
		}
	}
}

func (c *counted) times(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[id]
}
