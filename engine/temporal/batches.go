package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
)

// batch is a batch workflow that this coordinator has opened.
type batch struct {
	id        string
	taken     int                     // items
	waiting   map[string]chan Outcome // by the item's id
	cancelled bool
}

// give adds an item to a batch, which sends its outcome; nil: the suite ends, or no batch can take it.
func (e *Executor) give(ctx context.Context, item Item) <-chan Outcome {
	ctx = context.WithoutCancel(ctx)
	outcome := make(chan Outcome, 1)
	b, last := e.register(ctx, item.ID, outcome)
	if b == nil {
		return nil
	}
	if err := e.signal(ctx, b.id, signalAdd, Add{&item, last}); err != nil {
		e.fail(fmt.Errorf("giving runs to a batch: %w", err))
		return nil
	}
	return outcome
}

// register finds a batch with room for an item, and reports whether that is its last one.
func (e *Executor) register(ctx context.Context, id string, outcome chan Outcome) (b *batch, last bool) {
	e.opening.Lock()
	defer e.opening.Unlock()
	if e.current == nil && e.over() == nil {
		e.open(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil || e.fatal != nil {
		return nil, false
	}
	b = e.current
	b.taken++
	b.waiting[id] = outcome
	if last = b.taken == e.size; last {
		e.current = nil
	}
	return b, last
}

// open asks the suite for a batch.
func (e *Executor) open(ctx context.Context) {
	b := &batch{waiting: map[string]chan Outcome{}}
	if err := e.update(ctx, e.suite.Workflow, updateOpen, "open-"+rand.Text(), struct{}{}, &b.id); err != nil {
		e.fail(fmt.Errorf("opening a batch: %w", err))
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batches, e.current = append(e.batches, b), b
	e.collecting.Go(func() { e.collect(ctx, b) })
}

// closeBatches ends the last batch, and waits for the outcomes of all.
func (e *Executor) closeBatches(ctx context.Context) {
	if b := e.current; b != nil {
		if err := e.signal(ctx, b.id, signalAdd, Add{Last: true}); err != nil {
			e.fail(fmt.Errorf("ending a batch: %w", err))
		}
	}
	e.collecting.Wait()
}

// collect fetches the outcomes of a batch until it has ended.
func (e *Executor) collect(ctx context.Context, b *batch) {
	for seen, over := 0, false; !over; {
		var found Outcomes
		err := e.update(ctx, b.id, updateWait, fmt.Sprintf("wait-%d-%s", seen, rand.Text()), seen, &found)
		if err != nil {
			e.fail(fmt.Errorf("fetching the outcomes of a batch: %w", err))
			e.abandon(b, err)
			return
		}
		seen, over = seen+len(found.Outcomes), found.Over
		for _, o := range found.Outcomes {
			if o.Warning != "" {
				e.complain(o.Warning)
			} else {
				e.deliver(b, o)
			}
		}
	}
}

func (e *Executor) deliver(b *batch, o Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if to, ok := b.waiting[o.ID]; ok {
		delete(b.waiting, o.ID)
		to <- o
	}
}

// abandon gives all items of a batch that wait a failure for an outcome.
func (e *Executor) abandon(b *batch, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, to := range b.waiting {
		to <- Outcome{ID: id, Failure: err.Error()}
	}
	clear(b.waiting)
}

// cancelBatches cancels all runs in progress.
func (e *Executor) cancelBatches(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	e.mu.Lock()
	var ids []string
	for _, b := range e.batches {
		if !b.cancelled && len(b.waiting) > 0 {
			ids, b.cancelled = append(ids, b.id), true
		}
	}
	e.mu.Unlock()
	for _, id := range ids {
		_ = e.signal(ctx, id, signalCancel, nil)
	}
}

func (e *Executor) signal(ctx context.Context, workflow, name string, value any) error {
	return e.insist(ctx, func(ctx context.Context) error { return e.client.SignalWorkflow(ctx, workflow, "", name, value) })
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

// defaultPatience is how long a server may be away before a suite is given up.
const defaultPatience = 10 * time.Minute

// farewell is how long a server may take to learn what it need not know.
const farewell = 5 * time.Second

// insist repeats a call until the server answers. After a server was away for too long, later calls are
// repeated for a few seconds.
func (e *Executor) insist(ctx context.Context, call func(context.Context) error) error {
	for since := time.Now(); ; {
		patience := e.Patience
		if e.absent.Load() {
			patience = min(patience, farewell)
		}
		limited, cancel := context.WithTimeout(ctx, min(time.Minute, patience))
		err := call(limited)
		late := limited.Err() != nil || timedOut(err)
		cancel()
		if err == nil || lasting(err) || ctx.Err() != nil {
			return err
		}
		if late && e.answers(ctx) {
			since = time.Now() // the workflow had nothing to answer yet
			continue
		}
		if time.Since(since) >= patience {
			e.absent.Store(true)
			return fmt.Errorf("the Temporal server has not answered for %v: %w", e.Patience, err)
		}
		wait(ctx, impatience)
	}
}

// timedOut reports whether the server ended an update for its time, which it may do before its caller does.
func timedOut(err error) bool {
	var late *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &late)
}

// answers reports whether the server is there.
func (e *Executor) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_, err := e.client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	return err == nil
}

// lasting reports whether a call that is repeated would fail again.
func lasting(err error) bool {
	var gone *serviceerror.NotFound
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	var wrong *serviceerror.InvalidArgument
	var refused *serviceerror.PermissionDenied
	var failed *sdk.ApplicationError
	return errors.As(err, &failed) || errors.As(err, &gone) || errors.As(err, &there) || errors.As(err, &wrong) || errors.As(err, &refused)
}
