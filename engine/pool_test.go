package engine_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/executortest"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

func TestPoolKeepsTheContract(t *testing.T) {
	for _, workers := range []int{1, 4, 64} {
		executortest.Contract(t, engine.Pool{Workers: workers}, workers)
	}
}

// A worker has a goroutine only where there is an item for it.
func TestPoolStartsNoMoreWorkersThanItems(t *testing.T) {
	const items, workers = 3, 100_000
	before, most := runtime.NumGoroutine(), 0
	var mutex sync.Mutex
	err := engine.Pool{Workers: workers}.Execute(t.Context(), func(yield func(plan.Item, error) bool) {
		for range items {
			if !yield(plan.Item{Task: &spec.Task{}}, nil) {
				return
			}
		}
	}, func(context.Context, plan.Item) *record.Run {
		mutex.Lock()
		defer mutex.Unlock()
		most = max(most, runtime.NumGoroutine()-before)
		return &record.Run{}
	}, func(context.Context, plan.Item, *record.Run) {})
	if err != nil || most < 1 || most > workers/10 {
		t.Errorf("%d goroutines for %d items, error %v", most, items, err)
	}
}

// F8, F70: a panic outside of a run does not go to the runtime, which would
// print it as it is; it ends the others.
func TestF8_APanicOfAWorkerIsThatOfExecute(t *testing.T) {
	for _, workers := range []int{1, 4} {
		told := func() (cause any) {
			defer func() { cause = recover() }()
			endless := func(yield func(plan.Item, error) bool) {
				for yield(plan.Item{Task: &spec.Task{}}, nil) {
				}
			}
			_ = engine.Pool{Workers: workers}.Execute(t.Context(), endless,
				func(context.Context, plan.Item) *record.Run { return &record.Run{} },
				func(context.Context, plan.Item, *record.Run) { panic("the disk is on fire") })
			return nil
		}()
		if err, ok := told.(error); !ok || !strings.HasPrefix(err.Error(), "the disk is on fire\n") {
			t.Errorf("with %d workers: %v", workers, told)
		}
	}
}
