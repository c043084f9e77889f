package temporal

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/executortest"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// beside is an executor whose worker is in this process and makes the runs of the test.
type beside struct {
	*Executor
	mu    sync.Mutex
	run   engine.RunFunc
	items map[string]plan.Item
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
func (b *beside) Run(ctx context.Context, _, task string, _ int) (*record.Run, error) {
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

func (b *beside) Draws() (*pace.Budget, map[string]*pace.Gate) { return nil, nil }

func (b *beside) Close() {}

func TestContract(t *testing.T) {
	const workers = 4
	server := serverOf(t, "")
	store, err := OpenStore(t.Context(), t.TempDir(), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Options{
		Server: server.Server, Store: store, Version: "v1", Recipe: []byte("{}"), Dir: t.TempDir(), Workers: workers, Heartbeat: 2 * time.Second,
		Budget: pace.NewBudget(pace.Suite, pace.Limits{}), Started: func(plan.Item) {}, Warn: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := &beside{Executor: e}
	client, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{
		Client: client, Store: store, Version: "v1", Name: "beside", Dir: t.TempDir(), Now: time.Now,
		Prepare: func(Files) (Runs, error) { return b, nil },
	}
	ctx, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() {
		if err := w.Listen(ctx, server.Queue, workers, time.Second); err != nil {
			t.Error(err)
		}
	})
	executortest.Contract(t, b, workers)
	stop()
	listening.Wait()
	client.Close()
	if err := b.Executor.Close(); err != nil {
		t.Error(err)
	}
}
