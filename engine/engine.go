// Package engine runs a plan: call Engine.Run. NewParts builds the loops of a suite from its spec, live or
// offline, with their models, agents, tools and evaluators; the engine runs many of
// them at once under one budget, scores every outcome and writes it to the journal
// before the run counts as done. It owns every goroutine of a run.
package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Journal keeps finished runs. Append may return before the run is safe; done
// is called once it is, or cannot be.
type Journal interface {
	Append(run *record.Run, scores []record.Score, done func(error)) error
}

// Engine is what a plan is run with.
type Engine struct {
	Executor Executor
	Journal  Journal
	// Loops has the loop of every configuration of the plan, in its order.
	Loops []*loop.Loop
	// Score judges a finished run; nil: nothing is scored.
	Score func(ctx context.Context, task *spec.Task, run *record.Run) []record.Score
	// Observe is told every event of every run, from many goroutines at once.
	Observe func(record.Event)
	// Watch is told what becomes of each run, from many goroutines at once.
	Watch Watcher
	// Skip says which runs are not to be done, because an earlier session did
	// them; nil: all are.
	Skip func(id string) bool
	// Starved reports whether the budget that ended the plan is full of what calls may
	// have cost whose answers did not come, not of what was paid; nil: it never is.
	Starved func() bool
	// Unreachable is the model whose server was never there, which every run would meet;
	// nil: it is not looked for.
	Unreachable func() *Unreachable
	// Duration limits the whole; 0: no limit.
	Duration time.Duration
	// Now is the clock of what is volatile in records.
	Now func() time.Time
}

// Watcher follows the runs. Finished comes once a run is safe in the journal.
type Watcher interface {
	Started(item plan.Item)
	Finished(run *record.Run, scores []record.Score)
}

// Summary says how a plan ended.
type Summary struct {
	Stopped record.Reason // cancelled or suite_budget; "" where the plan ran to its end
	Aborted *Aborted      // why the plan was given up; nil: it was not
}

// BudgetSpent is the cause that ends runs when the suite's budget or duration is
// spent.
type BudgetSpent struct{ What string }

func (b BudgetSpent) Error() string             { return "the suite's budget is spent: " + b.What }
func (b BudgetSpent) StopReason() record.Reason { return record.ReasonSuiteBudget }

// Run runs every item of the plan that is not skipped. It returns when all
// were appended to the journal, whose last group may still be on its way to the
// disk. An error means that results could not be
// put down or tasks not be read; what was finished before is safe.
func (e *Engine) Run(ctx context.Context, p *plan.Plan, tasks iter.Seq2[*spec.Task, error]) (Summary, error) {
	ctx, cancel := e.limit(ctx)
	defer cancel(nil)
	s := &session{Engine: e, cancel: cancel}
	err := e.Executor.Execute(ctx, s.starting(ctx, p.Items(tasks)), s.run, s.deliver)
	summary := Summary{}
	if reason, ok := loop.Interrupted(ctx, nil); ok {
		summary.Stopped = reason
	} else if s.spent.Load() {
		summary.Stopped = record.ReasonSuiteBudget
	}
	if short := s.short.Load(); short != nil {
		summary.Stopped, summary.Aborted = record.ReasonCancelled, short
	}
	errors.As(context.Cause(ctx), &summary.Aborted)
	if s.spent.Load() && summary.Aborted == nil && e.Starved != nil && e.Starved() {
		summary.Aborted = s.breaker.starved()
	}
	if failed := s.failed.Load(); failed != nil {
		return summary, *failed
	}
	return summary, err
}

// limit gives the context that ends with the suite's duration.
func (e *Engine) limit(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if e.Duration <= 0 {
		return ctx, cancel
	}
	ctx, stopTimer := context.WithTimeoutCause(ctx, e.Duration, BudgetSpent{What: "duration of " + e.Duration.String()})
	return ctx, func(cause error) {
		cancel(cause)
		stopTimer()
	}
}

// session is one call of Run.
type session struct {
	*Engine
	cancel  context.CancelCauseFunc
	breaker breaker
	spent   atomic.Bool             // no run is started any more
	short   atomic.Pointer[Aborted] // nor after this: the machine is short of something
	failed  atomic.Pointer[error]
}

// starting gives the items that are to be done, until the context ends, the budget is
// spent or this machine is short of something.
func (s *session) starting(ctx context.Context, items iter.Seq2[plan.Item, error]) iter.Seq2[plan.Item, error] {
	return func(yield func(plan.Item, error) bool) {
		for item, err := range items {
			if ctx.Err() != nil || s.spent.Load() || s.short.Load() != nil {
				return
			}
			if err == nil && s.Skip != nil && s.Skip(item.ID) {
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// run runs one item.
func (s *session) run(ctx context.Context, item plan.Item) *record.Run {
	if s.Watch != nil {
		s.Watch.Started(item)
	}
	return RunItem(s.unlessOver(ctx), s.Loops[item.Configuration], item, s.Observe, s.now)
}

// RunItem runs one item by its loop. A panic is the outcome of that run, not of the suite.
func RunItem(ctx context.Context, by *loop.Loop, item plan.Item, observe func(record.Event), now func() time.Time) (r *record.Run) {
	defer func() {
		if cause := recover(); cause != nil {
			r = panicked(by, item, cause)
		}
	}()
	started := now()
	r = by.Run(ctx, item.ID, item.Task, item.Trial, observe)
	r.Volatile.Started, r.Volatile.Wall = started, max(0, now().Sub(started)) // a clock may be set back
	return r
}

// unlessOver is a context that has ended for a run that was taken before the last one
// was to start and comes to its turn after that.
func (s *session) unlessOver(ctx context.Context) context.Context {
	var cause error
	if s.spent.Load() {
		cause = BudgetSpent{What: "no call is left"}
	} else if short := s.short.Load(); short != nil {
		cause = short
	} else {
		return ctx
	}
	ended, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	return ended
}

func (s *session) now() time.Time {
	if s.Now == nil {
		return time.Time{}
	}
	return s.Now()
}

func panicked(by *loop.Loop, item plan.Item, cause any) *record.Run {
	r := by.Head
	r.Version, r.ID, r.Task, r.Trial, r.Cluster, r.Group = record.Version, item.ID, item.Task.ID, item.Trial, item.Task.Cluster, item.Task.Group
	fault := &record.Error{Class: record.Internal, Message: fmt.Sprintf("panic: %v\n%s", cause, debug.Stack())}
	r.Outcome = record.Outcome{Status: record.Faulted, Reason: record.ReasonError, Class: record.ByFault, Fired: string(record.Internal), Error: fault}
	return &r
}

// deliver scores a run and puts it down. After the first run that the suite's
// budget stopped no other one is started; those in flight go on, because their
// calls are paid for, until the budget stops them as well. The same holds where this
// machine is short of something, which the others do not share. A run that opens the
// breaker otherwise ends the plan at once.
func (s *session) deliver(ctx context.Context, item plan.Item, r *record.Run) {
	if r.Outcome.Reason == record.ReasonSuiteBudget {
		s.spent.Store(true)
	}
	aborted := s.breaker.after(r)
	if fault := r.Outcome.Error; r.Outcome.Status == record.Faulted && fault != nil && fault.Class == record.Network && s.Unreachable != nil {
		if server := s.Unreachable(); server != nil {
			aborted = &Aborted{Configuration: r.Configuration, Row: 1, Fault: fault, Unreachable: server}
		}
	}
	if aborted != nil && aborted.Fault.Class == record.Resources {
		s.short.CompareAndSwap(nil, aborted)
	} else if aborted != nil {
		s.cancel(aborted)
	}
	scores := s.score(ctx, item, r)
	if ctx.Err() != nil {
		scores = nil // they may tell of the end only; the next session makes them
	}
	err := s.Journal.Append(r, scores, func(err error) {
		if err != nil {
			s.fail(err)
			return
		}
		if s.Watch != nil {
			s.Watch.Finished(r, scores)
		}
	})
	if err != nil {
		s.fail(err)
	}
}

// score judges a run that counts. A panic of a scorer is the run's fault.
func (s *session) score(ctx context.Context, item plan.Item, r *record.Run) (scores []record.Score) {
	if s.Score == nil || !r.Outcome.Counts() {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			r.Outcome.Status = record.Faulted
			r.Outcome.Error = &record.Error{Class: record.Internal, Message: fmt.Sprintf("panic in a scorer: %v\n%s", cause, debug.Stack())}
			scores = nil
		}
	}()
	return s.Score(ctx, item.Task, r)
}

// fail ends the plan: what cannot be put down is not worth running.
func (s *session) fail(err error) {
	if s.failed.CompareAndSwap(nil, &err) {
		s.cancel(err)
	}
}
