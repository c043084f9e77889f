// Package executortest has Contract, the tests of what the engine relies on in
// an executor. Every executor runs them.
//
// It is no stable API.
package executortest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Contract tests an executor that may run at most so many items at a time.
func Contract(t *testing.T, executor engine.Executor, workers int) {
	t.Run("every outcome is delivered once, with its item", func(t *testing.T) { deliversOnce(t, executor) })
	t.Run("no more run at a time than allowed", func(t *testing.T) { isBounded(t, executor, workers) })
	t.Run("items end at their first error", func(t *testing.T) { passesErrors(t, executor) })
	t.Run("a cancelled context takes no new items", func(t *testing.T) { stopsTaking(t, executor, workers) })
	t.Run("items taken are delivered although the context ended", func(t *testing.T) { deliversTaken(t, executor) })
	t.Run("no items", func(t *testing.T) { endsWithoutItems(t, executor) })
	t.Run("nothing is left behind", func(t *testing.T) { leavesNothing(t, executor) })
}

// items gives n items, then the error if there is one.
func items(n int, err error) iter.Seq2[plan.Item, error] {
	return func(yield func(plan.Item, error) bool) {
		for i := range n {
			id := fmt.Sprint("item-", i)
			if !yield(plan.Item{ID: id, Task: &spec.Task{ID: id}, Trial: 1}, nil) {
				return
			}
		}
		if err != nil {
			yield(plan.Item{}, err)
		}
	}
}

func outcomeOf(item plan.Item) *record.Run { return &record.Run{ID: item.ID} }

func deliversOnce(t *testing.T, executor engine.Executor) {
	const n = 100
	var mutex sync.Mutex
	delivered := map[string]int{}
	err := executor.Execute(t.Context(), items(n, nil),
		func(_ context.Context, item plan.Item) *record.Run { return outcomeOf(item) },
		func(_ context.Context, item plan.Item, run *record.Run) {
			mutex.Lock()
			defer mutex.Unlock()
			delivered[run.ID]++
			if run.ID != item.ID {
				t.Errorf("the outcome of %s came with item %s", run.ID, item.ID)
			}
		})
	if err != nil || len(delivered) != n {
		t.Fatalf("%d of %d outcomes were delivered, error %v", len(delivered), n, err)
	}
	for id, times := range delivered {
		if times != 1 {
			t.Errorf("%s was delivered %d times", id, times)
		}
	}
}

func isBounded(t *testing.T, executor engine.Executor, workers int) {
	const n = 50
	var now, most atomic.Int64
	err := executor.Execute(t.Context(), items(n, nil), func(_ context.Context, item plan.Item) *record.Run {
		running := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); running > seen && !most.CompareAndSwap(seen, running); seen = most.Load() {
		}
		runtime.Gosched()
		return outcomeOf(item)
	}, func(context.Context, plan.Item, *record.Run) {})
	if err != nil || most.Load() > int64(workers) {
		t.Errorf("%d items ran at a time, want at most %d (error %v)", most.Load(), workers, err)
	}
}

func passesErrors(t *testing.T, executor engine.Executor) {
	broken := errors.New("line 4 is broken")
	var delivered atomic.Int64
	err := executor.Execute(t.Context(), items(3, broken),
		func(_ context.Context, item plan.Item) *record.Run { return outcomeOf(item) },
		func(context.Context, plan.Item, *record.Run) { delivered.Add(1) })
	if !errors.Is(err, broken) || delivered.Load() != 3 {
		t.Errorf("the error is %v with %d outcomes, want %v with the 3 before it", err, delivered.Load(), broken)
	}
}

func stopsTaking(t *testing.T, executor engine.Executor, workers int) {
	ctx, cancel := context.WithCancel(t.Context())
	var ran atomic.Int64
	err := executor.Execute(ctx, items(10_000, nil), func(_ context.Context, item plan.Item) *record.Run {
		ran.Add(1)
		cancel()
		return outcomeOf(item)
	}, func(context.Context, plan.Item, *record.Run) {})
	// Every worker may hold an item and one may be on its way.
	if err != nil || ran.Load() > int64(2*workers+1) {
		t.Errorf("%d items ran after the context ended (error %v)", ran.Load(), err)
	}
}

func deliversTaken(t *testing.T, executor engine.Executor) {
	ctx, cancel := context.WithCancel(t.Context())
	var ran, delivered atomic.Int64
	err := executor.Execute(ctx, items(100, nil), func(ctx context.Context, item plan.Item) *record.Run {
		ran.Add(1)
		cancel()
		<-ctx.Done()
		return outcomeOf(item)
	}, func(context.Context, plan.Item, *record.Run) { delivered.Add(1) })
	if err != nil || ran.Load() != delivered.Load() || ran.Load() == 0 {
		t.Errorf("%d items ran, %d were delivered (error %v)", ran.Load(), delivered.Load(), err)
	}
}

func endsWithoutItems(t *testing.T, executor engine.Executor) {
	err := executor.Execute(t.Context(), items(0, nil), func(_ context.Context, item plan.Item) *record.Run {
		t.Error("something ran")
		return outcomeOf(item)
	}, func(context.Context, plan.Item, *record.Run) { t.Error("something was delivered") })
	if err != nil {
		t.Error(err)
	}
}

func leavesNothing(t *testing.T, executor engine.Executor) {
	var running atomic.Int64
	err := executor.Execute(t.Context(), items(50, nil), func(_ context.Context, item plan.Item) *record.Run {
		running.Add(1)
		return outcomeOf(item)
	}, func(context.Context, plan.Item, *record.Run) { running.Add(-1) })
	if err != nil || running.Load() != 0 {
		t.Errorf("Execute returned while %d outcomes were on their way (error %v)", running.Load(), err)
	}
}
