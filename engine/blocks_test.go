package engine_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// blocked runs three tasks, two of which share a place, in two configurations.
func blocked(t *testing.T, b *engine.Blocks, reason func(item plan.Item) record.Reason) (ran []string, err error) {
	t.Helper()
	b.Inner, b.Place, b.Places = engine.Pool{Workers: 3}, map[string]int{"c": 0, "a": 1, "b": 1}, 2
	items := func(yield func(plan.Item, error) bool) {
		for _, id := range []string{"a", "b", "c"} {
			for configuration := range 2 {
				if !yield(plan.Item{Task: &spec.Task{ID: id}, Configuration: configuration}, nil) {
					return
				}
			}
		}
	}
	var one sync.Mutex
	err = b.Execute(t.Context(), iter.Seq2[plan.Item, error](items), func(_ context.Context, item plan.Item) *record.Run {
		return &record.Run{Task: item.Task.ID, Outcome: record.Outcome{Reason: reason(item)}}
	}, func(_ context.Context, item plan.Item, run *record.Run) {
		one.Lock()
		defer one.Unlock()
		ran = append(ran, item.Task.ID+string(rune('0'+item.Configuration)))
	})
	return ran, err
}

func none(plan.Item) record.Reason { return "" }

// Tasks of one place are run together, in the order of the places; a look comes once all
// runs before it were delivered, and who is out then runs no more.
func TestBlocks(t *testing.T) {
	in, looks := []bool{true, true}, []int{}
	b := &engine.Blocks{In: func(c int) bool { return in[c] }, Next: func() int { return len(looks) + 1 }}
	b.Look = func(_ context.Context, place int) error {
		looks, in[1] = append(looks, place), false
		return nil
	}
	ran, err := blocked(t, b, none)
	slices.Sort(ran[:2])
	slices.Sort(ran[2:])
	if err != nil || b.Failed != nil || !slices.Equal(looks, []int{1, 2}) || !slices.Equal(ran, []string{"c0", "c1", "a0", "b0"}) {
		t.Errorf("ran %v, looks %v, %v, %v", ran, looks, err, b.Failed)
	}
}

// A look that fails ends the plan, and so does a budget that is spent.
func TestBlocksEnd(t *testing.T) {
	broken := errors.New("broken")
	b := &engine.Blocks{In: func(int) bool { return true }, Next: func() int { return 1 }, Look: func(context.Context, int) error { return broken }}
	if ran, err := blocked(t, b, none); len(ran) != 2 || err != nil || b.Failed != broken {
		t.Errorf("ran %v, %v, %v", ran, err, b.Failed)
	}
	looked := false
	b = &engine.Blocks{In: func(int) bool { return true }, Next: func() int { return 1 }}
	b.Look = func(context.Context, int) error { looked = true; return nil }
	ran, err := blocked(t, b, func(plan.Item) record.Reason { return record.ReasonSuiteBudget })
	if len(ran) == 0 || len(ran) > 2 || err != nil || looked {
		t.Errorf("ran %v, %v, looked %v", ran, err, looked)
	}
}
