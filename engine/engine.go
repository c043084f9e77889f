// Package engine runs a plan. It builds the loops of a suite from its spec, live or
// offline, with their models, agents, tools and evaluators (Parts); it runs many of
// them at once under one budget, scores every outcome and writes it to the journal
// before the run counts as done. It owns every goroutine of a run.
package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
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
	Blown   *Blown        // why the plan was given up; nil: it was not
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
		summary.Stopped, summary.Blown = record.ReasonCancelled, short
	}
	errors.As(context.Cause(ctx), &summary.Blown)
	if s.spent.Load() && summary.Blown == nil && e.Starved != nil && e.Starved() {
		summary.Blown = s.fuse.starved()
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
	cancel context.CancelCauseFunc
	fuse   fuse
	spent  atomic.Bool           // no run is started any more
	short  atomic.Pointer[Blown] // nor after this: the machine is short of something
	failed atomic.Pointer[error]
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
// machine is short of something, which the others do not share. A run that blows the
// fuse otherwise ends the plan at once.
func (s *session) deliver(ctx context.Context, item plan.Item, r *record.Run) {
	if r.Outcome.Reason == record.ReasonSuiteBudget {
		s.spent.Store(true)
	}
	blown := s.fuse.after(r)
	if fault := r.Outcome.Error; r.Outcome.Status == record.Faulted && fault != nil && fault.Class == record.Network && s.Unreachable != nil {
		if server := s.Unreachable(); server != nil {
			blown = &Blown{Configuration: r.Configuration, Row: 1, Fault: fault, Unreachable: server}
		}
	}
	if blown != nil && blown.Fault.Class == record.Resources {
		s.short.CompareAndSwap(nil, blown)
	} else if blown != nil {
		s.cancel(blown)
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

// faultsInARow end a plan: so many runs one after the other that failed for the
// infrastructure's fault, each after its own retries, are no coincidence.
const faultsInARow = 20

// fuse decides whether a plan is worth going on with. It blows where the runs to
// come would fail like those that did: at once without a valid key, money or file
// descriptors, and where the first runs of a configuration are not even understood; after a row of
// other faults of the infrastructure. A run that the suite's budget ended when its
// call was to be tried again is such a fault, too. It is safe for concurrent use.
type fuse struct {
	mu      sync.Mutex
	row     int
	last    *record.Error   // of the row
	counted map[string]bool // configurations of which a run counts
}

// Blown is why a plan was given up, and the cause that ends its runs in flight where
// they would fail like the others.
type Blown struct {
	Configuration string
	Row           int // so many runs in a row failed
	Fault         *record.Error
	// Starved says that the row is shorter than it had to be: what the calls of those
	// runs may have cost fills the suite's budget.
	Starved bool
	// Early means that a server of tools that all runs share did not start, before the first run.
	Early bool
	// Unreachable is the model whose server was never there; nil: it is another cause.
	Unreachable *Unreachable
}

// Remedy says what to do before the suite runs again.
func (b *Blown) Remedy(s *spec.Suite) string {
	switch b.Fault.Class {
	case record.Auth:
		var keys []string
		for i := range s.Models {
			if server, calls := s.Models[i].Value.Server(); calls && !server.Keyless && !slices.Contains(keys, server.KeyEnv) {
				keys = append(keys, server.KeyEnv)
			}
		}
		if len(keys) == 0 {
			return "check the key that api_key_env names"
		}
		return "check the key in " + strings.Join(keys, ", ")
	case record.Quota:
		return "the account or its budget is used up"
	case record.InvalidRequest:
		for i := range s.Models {
			if url := s.Models[i].Value.BaseURL; url != "" && strings.Contains(b.Fault.Message, "404") && !versioned.MatchString(url) {
				return fmt.Sprintf("does the base_url of model %s end in /v1? It is %s", s.Models[i].Key, url)
			}
		}
		return "check the model's name, base_url and settings"
	case record.Unstarted:
		return "start the server by hand to see what it says"
	case record.Resources:
		return "raise the number of open files (ulimit -n), or run with a smaller --concurrency"
	case record.RateLimit:
		return "declare rpm, tpm or max_parallel of the model, or run with a smaller --concurrency"
	}
	return "the server or the network fails: see that it is up"
}

// versioned is the end of an address that names a version of an API.
var versioned = regexp.MustCompile(`/v\d+\w*/?$`)

// Unreachable is a model at whose server nothing listens.
type Unreachable struct {
	Model   string
	Address string // scheme and host
}

func (b *Blown) Error() string {
	if b.Unreachable != nil {
		return fmt.Sprintf("no server listens at %s, the address of model %s: %v", b.Unreachable.Address, b.Unreachable.Model, b.Fault)
	}
	if b.Starved {
		return fmt.Sprintf("%s: the last calls failed, and what they may have cost leaves no room in the suite's budget", b.cause())
	}
	if b.Early {
		return b.cause()
	}
	if b.Row > 1 {
		return fmt.Sprintf("%s: the last of %d runs in a row that failed", b.cause(), b.Row)
	}
	return fmt.Sprintf("%s: a run of %s failed as all others would", b.cause(), b.Configuration)
}

// cause is the fault without the request that net/http puts before it, so that it comes
// first where a line is cut.
func (b *Blown) cause() string {
	text, _, _ := strings.Cut(b.Fault.Message, "\n")
	return string(b.Fault.Class) + ": " + posted.ReplaceAllString(text, "")
}

var posted = regexp.MustCompile(`^Post "[^"]*": `)

// after takes the outcome of a run, and says why the plan is to be given up; nil:
// it is not.
func (f *fuse) after(r *record.Run) *Blown {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := r.Outcome.Error
	if r.Outcome.Reason == record.ReasonSuiteBudget {
		if fault = lastFailure(r); infrastructure(fault) {
			f.row, f.last = f.row+1, fault
		}
		return nil
	}
	switch {
	case r.Outcome.Counts():
		f.row = 0
		if f.counted == nil {
			f.counted = map[string]bool{}
		}
		f.counted[r.Configuration] = true
		return nil
	case r.Outcome.Status != record.Faulted || fault == nil:
		return nil
	}
	switch fault.Class {
	case record.Auth, record.Quota, record.Resources:
		return &Blown{Configuration: r.Configuration, Row: 1, Fault: fault}
	case record.InvalidRequest, record.Unstarted:
		if !f.counted[r.Configuration] {
			return &Blown{Configuration: r.Configuration, Row: 1, Fault: fault}
		}
	}
	if infrastructure(fault) {
		f.last = fault
		if f.row++; f.row >= faultsInARow {
			return &Blown{Configuration: r.Configuration, Row: f.row, Fault: fault}
		}
	}
	return nil
}

// starved is why a plan that the suite's budget ended has really ended, where the
// last runs failed for the infrastructure and what their calls may have cost fills
// the budget; nil: no run has failed since the last one that counts.
func (f *fuse) starved() *Blown {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.row == 0 {
		return nil
	}
	return &Blown{Row: f.row, Fault: f.last, Starved: true}
}

func infrastructure(fault *record.Error) bool {
	if fault == nil {
		return false
	}
	switch fault.Class {
	case record.RateLimit, record.Server, record.Network, record.CallTimeout, record.Incomplete, record.BadResponse:
		return true
	}
	return false
}

// lastFailure is what the last call of a run failed with; nil: it did not.
func lastFailure(r *record.Run) *record.Error {
	if len(r.Iterations) == 0 {
		return nil
	}
	calls := r.Iterations[len(r.Iterations)-1].Calls
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1].Error
}
