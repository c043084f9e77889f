package loop

import (
	"context"
	"errors"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// Stopper is an error or a cancellation cause that ends a run for a reason of
// its own: a spent budget, a signal, a timeout.
type Stopper interface {
	error
	StopReason() record.Reason
}

// errTimeout is the cause of the deadline that a timeout sets.
type errTimeout struct{}

func (errTimeout) Error() string             { return "the loop's timeout passed" }
func (errTimeout) StopReason() record.Reason { return record.ReasonTimeout }

// Interrupted says whether an error, or the end of the context, interrupts a
// run from outside, and why.
func Interrupted(ctx context.Context, err error) (record.Reason, bool) {
	var s Stopper
	if errors.As(err, &s) {
		return s.StopReason(), true
	}
	if ctx.Err() == nil {
		return "", false
	}
	if errors.As(context.Cause(ctx), &s) {
		return s.StopReason(), true
	}
	return record.ReasonCancelled, true
}

// endsBefore says whether the run ends before the iteration: the agent has
// nothing more to give, or a budget or a signal stopped its first call.
func endsBefore(ctx context.Context, it *record.Iteration, err error) (record.Reason, bool) {
	if errors.Is(err, model.ErrEnded) {
		return record.ReasonAgentEnded, true
	}
	if err == nil || len(it.Calls) > 0 {
		return "", false
	}
	reason, ok := Interrupted(ctx, err)
	return reason, ok && reason != record.ReasonTimeout
}

// next is the request that was not answered. One that nothing is known of is none.
func next(it *record.Iteration, err error) *record.Next {
	n := &record.Next{Phase: it.Phase, Strategy: it.Strategy, Request: it.Request}
	var unanswered *model.Unanswered
	if errors.As(err, &unanswered) {
		n.Reserved = &unanswered.Reserved
	}
	if *n == (record.Next{}) {
		return nil
	}
	return n
}

// deadline limits an iteration to what is left until a timeout cancels it.
func (r *run) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := r.cancelAt()
	if !ok {
		return ctx, func() {}
	}
	if _, working, _ := r.Rules.CancelAt(); working {
		return model.WithWorkingTime(ctx, at-r.elapsed, errTimeout{})
	}
	return context.WithTimeoutCause(ctx, at-r.elapsed, errTimeout{})
}

// cancelAt is the as-if time at which the iteration in flight is cancelled.
// Where only working time counts, what was waited so far comes on top.
func (r *run) cancelAt() (time.Duration, bool) {
	at, working, ok := r.Rules.CancelAt()
	if working {
		at += r.waited
	}
	return at, ok
}

// add appends calls, one after the other on the as-if clock.
func (r *run) add(it *record.Iteration, calls []record.Call) {
	for i := range calls {
		c := &calls[i]
		c.Start = r.elapsed
		r.elapsed += c.Duration + c.Waited
		r.waited += c.Waited
		it.Working += c.Duration
		r.noteVolatile(c)
	}
	it.Calls = append(it.Calls, calls...)
}

func (r *run) noteVolatile(c *record.Call) {
	v := &r.record.Volatile
	if c.Cached {
		v.Cached++
		return
	}
	v.Waited += c.Waited
	v.Paid = v.Paid.Plus(c.Usage)
	if c.Role == record.RoleProgram {
		return
	}
	v.Attempts += max(1, c.Attempts)
	v.Paid.Calls += int64(max(1, c.Attempts) - 1 - c.Unsent) // what failed attempts used besides, nobody says
}

// note puts down how an execution or evaluation went wrong, if it did.
func (r *run) note(it *record.Iteration, err error, ctx context.Context) {
	if at, ok := r.cancelAt(); ok && (r.elapsed > at || it.Cut == string(record.ReasonTimeout)) {
		r.cut(it, record.ReasonTimeout)
	}
	if err == nil || it.Cut != "" {
		return
	}
	if reason, ok := Interrupted(ctx, err); ok {
		r.cut(it, reason)
		if errors.Is(err, model.ErrRefused) {
			r.record.Next = next(&record.Iteration{}, err)
		}
		return
	}
	var fault *record.Error
	if !errors.As(err, &fault) {
		fault = &record.Error{Class: record.Internal, Message: err.Error()}
	}
	it.Fail(fault)
}

// cut ends the iteration in flight; one cut by a timeout ends at the deadline.
func (r *run) cut(it *record.Iteration, reason record.Reason) {
	it.Cut = string(reason)
	if reason != record.ReasonTimeout {
		return
	}
	made := stop.Clip(r.Rules, it, r.waitedBefore)
	r.elapsed, r.waited, it.Working = made.End, r.waitedBefore+made.Waited, made.Working
}
