package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// Blocks is an executor that runs tasks in an order of its own, in blocks, and after
// each block decides which configurations go on. What is decided is decided once all
// runs of a block were delivered, so it does not depend on how many run at a time.
type Blocks struct {
	// Inner runs the items of a block.
	Inner Executor
	// Place is that of a task in the order of the run; tasks of one place run together.
	Place map[string]int
	// Places is how many there are.
	Places int
	// Next is the place that the next block ends before: more than the one before it.
	Next func() int
	// In reports whether a configuration of the plan goes on.
	In func(configuration int) bool
	// Look decides, once all items before a place were delivered. Its error ends the plan
	// without being that of Execute: it is kept in Failed.
	Look   func(ctx context.Context, place int) error
	Failed error
}

// Execute implements [Executor].
func (b *Blocks) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run RunFunc, deliver DeliverFunc) error {
	at := make([][]plan.Item, b.Places)
	for item, err := range items {
		if err != nil {
			return err
		}
		place := b.Place[item.Task.ID]
		at[place] = append(at[place], item)
	}
	for done := 0; done < b.Places; {
		next := b.Next()
		ended, err := b.block(ctx, slices.Concat(at[done:next]...), run, deliver)
		if err != nil || ended {
			return err
		}
		if b.Failed = b.Look(ctx, next); b.Failed != nil {
			return nil
		}
		done = next
	}
	return nil
}

// block runs the items of a block whose configurations go on. It has ended where not
// all of them were run, or the budget is spent.
func (b *Blocks) block(ctx context.Context, items []plan.Item, run RunFunc, deliver DeliverFunc) (ended bool, err error) {
	items = slices.DeleteFunc(items, func(item plan.Item) bool { return !b.In(item.Configuration) })
	over, end := context.WithCancel(ctx) // only the taking of items ends with it
	defer end()
	taken := 0
	take := func(yield func(plan.Item, error) bool) {
		for _, item := range items {
			if over.Err() != nil || !yield(item, nil) {
				return
			}
			taken++
		}
	}
	err = b.Inner.Execute(ctx, take, run, func(ctx context.Context, item plan.Item, run *record.Run) {
		if run.Outcome.Reason == record.ReasonSuiteBudget {
			end()
		}
		deliver(ctx, item, run)
	})
	return taken < len(items) || over.Err() != nil, err
}
