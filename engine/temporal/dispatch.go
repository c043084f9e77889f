package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
)

// batch is a batch that is open: what was given to it, and who waits for what.
type batch struct {
	id    string
	taken int
	full  bool
	// cancelled is guarded by the executor.
	cancelled bool

	mu      sync.Mutex
	waiting map[string]chan Outcome
	more    chan struct{} // holds an element when something was added
	ended   chan struct{} // closed once nothing will come any more
}

// dispatch gives items to batches until the context ends. Those that come together travel
// together.
func (e *Executor) dispatch(ctx context.Context) {
	var current *batch
	for {
		var group []waiting
		select {
		case w := <-e.queue:
			group = append(group, w)
		case <-ctx.Done():
			if current != nil && !current.full {
				e.send(ctx, current, nil)
			}
			return
		}
		group = e.gather(group)
		for len(group) > 0 {
			if current == nil || current.full {
				if current = e.openBatch(ctx); current == nil {
					return
				}
			}
			n := min(len(group), e.batchSize()-current.taken)
			e.send(ctx, current, group[:n])
			group = group[n:]
		}
	}
}

// togetherness is how long the first of a group waits for others.
const togetherness = 2 * time.Millisecond

func (e *Executor) gather(group []waiting) []waiting {
	timer := time.NewTimer(togetherness)
	defer timer.Stop()
	for len(group) < batchSize {
		select {
		case w := <-e.queue:
			group = append(group, w)
		case <-timer.C:
			return group
		}
	}
	return group
}

// openBatch asks the suite for a batch; nil where there will be none.
func (e *Executor) openBatch(ctx context.Context) *batch {
	e.mu.Lock()
	var o NewBatch
	kept := e.open[:0]
	for _, b := range e.open {
		select {
		case <-b.ended:
			o.Ended = append(o.Ended, b.id)
		default:
			kept = append(kept, b)
		}
	}
	e.open = kept
	e.mu.Unlock()
	b := &batch{waiting: map[string]chan Outcome{}, more: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := e.update(ctx, e.suite.Workflow, updateOpen, "open-"+rand.Text(), o, &b.id); err != nil {
		e.fail(fmt.Errorf("opening a batch: %w", err))
		return nil
	}
	e.mu.Lock()
	e.open = append(e.open, b)
	e.mu.Unlock()
	e.tasks.Go(func() { e.collect(context.WithoutCancel(ctx), b) })
	return b
}

// send adds items to a batch; none: it is the end of it.
func (e *Executor) send(ctx context.Context, b *batch, group []waiting) {
	add := Add{Last: len(group) == 0 || b.taken+len(group) == e.batchSize()}
	b.mu.Lock()
	for _, w := range group {
		add.Items = append(add.Items, w.item)
		b.waiting[w.item.ID] = w.outcome
	}
	b.taken += len(group)
	b.full = add.Last
	b.mu.Unlock()
	err := e.insist(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return e.client.SignalWorkflow(ctx, b.id, "", signalAdd, add)
	})
	if err != nil {
		e.fail(fmt.Errorf("giving runs to a batch: %w", err))
	}
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// collect fetches the outcomes of a batch until it is full and all are there.
func (e *Executor) collect(ctx context.Context, b *batch) {
	defer close(b.ended)
	for seen := 0; ; {
		b.mu.Lock()
		open, over := len(b.waiting), b.full && len(b.waiting) == 0
		b.mu.Unlock()
		if over {
			e.fetched(ctx, b, seen)
			return
		}
		if open == 0 {
			<-b.more
			continue
		}
		var outcomes []Outcome
		err := e.update(ctx, b.id, updateWait, fmt.Sprintf("wait-%d-%s", seen, rand.Text()), seen, &outcomes)
		if err != nil {
			e.fail(fmt.Errorf("fetching the outcomes of a batch: %w", err))
			b.abandon(err)
			continue
		}
		seen += len(outcomes)
		for i := range outcomes {
			if text := outcomes[i].Warning; text != "" {
				e.complain(text)
				continue
			}
			e.noteBooks(outcomes[i].Books)
			b.deliver(&outcomes[i])
		}
	}
}

// update asks a workflow until it answers.
func (e *Executor) update(ctx context.Context, workflow, kind, name string, asked, answer any) error {
	return e.insist(ctx, func(ctx context.Context) error { return update(ctx, e.client, workflow, kind, name, asked, answer) })
}

// update asks a workflow once. Asked again under one name, it answers the same.
func update(ctx context.Context, c client.Client, workflow, kind, name string, asked, answer any) error {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflow, UpdateID: name, UpdateName: kind, Args: []any{asked}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, answer)
}

// fetched tells a batch that all its outcomes are here. A batch that does not hear it ends
// with its suite.
func (e *Executor) fetched(ctx context.Context, b *batch, seen int) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	var none []Outcome
	_ = update(ctx, e.client, b.id, updateWait, "end-"+rand.Text(), seen, &none)
}

func (b *batch) deliver(o *Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to, ok := b.waiting[o.ID]; ok {
		delete(b.waiting, o.ID)
		to <- *o
	}
}

// abandon tells all that wait that nothing will come.
func (b *batch) abandon(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, to := range b.waiting {
		delete(b.waiting, id)
		to <- Outcome{ID: id, Failure: err.Error()}
	}
	b.full = true
}

// noteBooks keeps the newest of what each account has spent.
func (e *Executor) noteBooks(b *Books) {
	if b == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.books[b.Account]; b.Number > known.Number {
		e.books[b.Account] = *b
	}
}

// cancelBatches has all runs in progress cancelled.
func (e *Executor) cancelBatches(ctx context.Context) {
	e.mu.Lock()
	var ids []string
	for _, b := range e.open {
		if !b.cancelled {
			ids = append(ids, b.id)
			b.cancelled = true
		}
	}
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	for _, id := range ids {
		_ = e.insist(ctx, func(ctx context.Context) error { return e.client.SignalWorkflow(ctx, id, "", signalCancel, nil) })
	}
}

// DefaultPatience is how long a server may be away before a suite is given up.
const DefaultPatience = 10 * time.Minute

// insist repeats what a server did not answer that is away for a while. Once it was away for
// too long, later calls are repeated for a few seconds.
func (e *Executor) insist(ctx context.Context, ask func(context.Context) error) error {
	for since := time.Now(); ; {
		limited, cancel := context.WithTimeout(ctx, min(time.Minute, e.patience()))
		err := ask(limited)
		waited := limited.Err() != nil || timedOut(err)
		cancel()
		if err == nil || lasting(err) || ctx.Err() != nil {
			return err
		}
		if waited && e.answers(ctx) {
			since = time.Now() // nothing had happened
			continue
		}
		if time.Since(since) >= e.patience() {
			e.absent.Store(true)
			return fmt.Errorf("the Temporal server has not answered for %v: %w", e.Patience, err)
		}
		select {
		case <-time.After(impatience):
		case <-ctx.Done():
			return err
		}
	}
}

// timedOut reports whether a server ended a call for its time, which it may do before we do.
func timedOut(err error) bool {
	var late *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &late)
}

// patience is how long a server that does not answer is asked again.
func (e *Executor) patience() time.Duration {
	if e.absent.Load() {
		return min(e.Patience, farewell)
	}
	return e.Patience
}

// farewell is how long a server may take to hear what it need not hear.
const farewell = 5 * time.Second

// answers reports whether the server is there.
func (e *Executor) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_, err := e.client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	return err == nil
}

// lasting reports whether an error stays where it is asked again.
func lasting(err error) bool {
	var gone *serviceerror.NotFound
	var wrong *serviceerror.InvalidArgument
	var refused *serviceerror.PermissionDenied
	var failed *sdk.ApplicationError
	return errors.As(err, &failed) || errors.As(err, &gone) || errors.As(err, &wrong) || errors.As(err, &refused)
}
