package engine

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// Executor runs items somewhere: in this process, or one day elsewhere.
//
// Execute calls run for every item, until items end or the context does, and
// hands every outcome to deliver exactly once; it returns after the last of
// these calls did. Items that it took are run even if the context has ended:
// run then ends soon, with an outcome that says so. Run and deliver may be
// called from many goroutines at once, and every outcome is delivered before
// its worker takes another item. An error of items ends the taking of items
// and is returned.
type Executor interface {
	Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run RunFunc, deliver DeliverFunc) error
}

// RunFunc runs one item.
type RunFunc func(ctx context.Context, item plan.Item) *record.Run

// DeliverFunc takes the outcome of one item.
type DeliverFunc func(ctx context.Context, item plan.Item, run *record.Run)

// Pool executes in this process, so many items at a time.
type Pool struct{ Workers int }

// Execute implements Executor. A panic of run or deliver ends all runs and is
// that of Execute.
func (p Pool) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run RunFunc, deliver DeliverFunc) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan plan.Item)
	var workers sync.WaitGroup
	broken := crash{end: cancel}
	hire := func() {
		workers.Go(func() {
			defer broken.catch()
			for item := range queue {
				deliver(ctx, item, run(ctx, item))
			}
		})
	}
	err := feed(ctx, items, queue, max(1, p.Workers), hire)
	close(queue)
	workers.Wait()
	if err := broken.first.Load(); err != nil {
		panic(*err)
	}
	return err
}

// crash carries the first panic of many goroutines to the one that waits for
// them, which may say it without its secrets; the runtime would not.
type crash struct {
	first atomic.Pointer[error]
	end   func()
}

func (c *crash) catch() {
	if cause := recover(); cause != nil {
		err := fmt.Errorf("%v\n%s", cause, debug.Stack())
		c.first.CompareAndSwap(nil, &err)
		c.end()
	}
}

// feed puts items into the queue until they or the context end. It hires one
// worker an item until there are as many as allowed: ten million workers are no
// reason to start them for ten items.
func feed(ctx context.Context, items iter.Seq2[plan.Item, error], queue chan<- plan.Item, workers int, hire func()) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if workers > 0 {
			workers--
			hire()
		}
		select {
		case queue <- item:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
