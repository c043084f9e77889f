package temporal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/trace"
)

// Options are a suite, and where its runs are made.
type Options struct {
	*command.Submission
	Server Server
	Store  Store
	// Heartbeat is how long a worker may be silent before its runs are made by another.
	Heartbeat time.Duration
	// Patience is how long the server may be away; 0: 10 minutes.
	Patience time.Duration
	// StorePatience is how long the store may be silent.
	StorePatience time.Duration
}

// lives is how many times Heartbeat a worker may be silent before it loses its lease.
const lives = 3

// Executor gives items to workers.
type Executor struct {
	Options
	client   client.Client
	receiver *receiver // nil: there are no workspaces
	suite    Suite
	live     string      // of the session's events; "": they are not followed
	absent   atomic.Bool // the server was away for too long
	stop     func()      // of the worker that executes workflows; nil: it has not begun
	lease    *lease      // nil: there is no budget, and no limit
	link     link
	most     int // of SuiteState; tests set it
	size     int // of batches; tests set it
	now      func() time.Time

	opening    sync.Mutex // of a batch
	collecting sync.WaitGroup

	mu      sync.Mutex
	batches []*batch
	current *batch // which has room; nil: there is none
	warned  bool   // of the store
	fatal   error
	cancel  context.CancelCauseFunc
}

// shipped is what the store has of a suite.
type shipped struct {
	Recipe command.Recipe `json:"recipe"`
	Files  string         `json:"files,omitempty"` // the id of their tree
}

func specName(spec string) string { return "suites/" + spec + ".json" }

// Open connects to the server, and writes the suite into the store.
func Open(ctx context.Context, o Options) (*Executor, error) {
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	c, err := o.Server.Dial(ctx)
	if err != nil {
		return nil, err
	}
	e := &Executor{Options: o, client: c, size: batchSize, now: time.Now}
	e.Store = watching(o.Store, o.StorePatience, func(_ context.Context, text string) { e.complain(text) })
	if o.Observe != nil {
		e.live = rand.Text()
	}
	if o.States != nil {
		e.receiver = &receiver{store: e.Store, states: o.States, dir: filepath.Join(o.Dir, results.Workspaces)}
	}
	if err := e.ship(ctx); err != nil {
		c.Close()
		return nil, err
	}
	if !o.Server.listening(ctx, c) {
		o.Warn(fmt.Sprintf("no worker listens at the task queue %s yet; agentbench-temporal worker starts one", o.Server.Queue))
	}
	return e, nil
}

// ship writes what workers need.
func (e *Executor) ship(ctx context.Context) error {
	if err := e.Server.outlasts(ctx, e.client, e.Duration, e.Warn); err != nil {
		return err
	}
	s := shipped{Recipe: e.Recipe}
	if e.Folder != "" {
		var err error
		if s.Files, err = e.sendSuite(ctx); err != nil {
			return err
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	e.suite = Suite{Spec: digest(text), Agentbench: e.Recipe.Agentbench}
	if _, err := e.Store.Create(ctx, specName(e.suite.Spec), text); err != nil {
		return exit.With(exit.NotMeasured, "nothing was run", "writing the suite into the store: %w", err)
	}
	return nil
}

// Close leaves the server.
func (e *Executor) Close() error {
	if e.stop != nil {
		e.stop()
	}
	e.client.Close()
	return nil
}

// Execute implements engine.Executor. Workers make the runs. The function run is called for items that no
// worker began before the context ended, and makes the records that say so.
func (e *Executor) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.cancel, e.batches, e.current, e.fatal, e.warned = cancel, nil, nil, nil, false
	e.absent.Store(false)
	if err := e.begin(ctx); err != nil {
		return err
	}
	byWorker := func(ctx context.Context, item plan.Item) *record.Run {
		if made := e.run(ctx, item); made != nil {
			return made
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if err := e.over(); err != nil { // no items are given away any more
			cancel(err)
		}
		return run(ctx, item)
	}
	err := engine.Pool{Workers: e.Workers}.Execute(ctx, e.untilOver(items), byWorker, deliver)
	rest := context.WithoutCancel(ctx)
	e.closeBatches(rest)
	return errors.Join(e.fatal, err, e.finish(rest))
}

// fail ends the suite: no other item would do better.
func (e *Executor) fail(err error) {
	e.end(err)
	e.cancel(err)
}

// end gives no more items away. Runs in progress end: they are paid.
func (e *Executor) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fatal = cmp.Or(e.fatal, err)
}

func (e *Executor) over() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fatal
}

// untilOver are the items that are given away.
func (e *Executor) untilOver(items iter.Seq2[plan.Item, error]) iter.Seq2[plan.Item, error] {
	return func(yield func(plan.Item, error) bool) {
		for item, err := range items {
			if e.over() != nil || !yield(item, err) {
				return
			}
		}
	}
}

// complain warns the user of a store that refuses or is silent, once: many workers may meet it.
func (e *Executor) complain(text string) {
	e.mu.Lock()
	first := !e.warned
	e.warned = true
	e.mu.Unlock()
	if first {
		e.Warn(text)
	}
}

// run has a worker make an item, and is its record; nil: the context ended before, or the suite.
func (e *Executor) run(ctx context.Context, item plan.Item) *record.Run {
	e.Started(item)
	i := Item{ID: item.ID, Configuration: e.configuration(item), Task: item.Task.ID, Trial: item.Trial, Trace: trace.Parent(ctx), Live: e.live}
	if err := small(fmt.Sprintf("the item %.40s", item.ID), i); err != nil {
		return e.lost(item, record.Setup, err.Error())
	}
	if e.Observe == nil {
		return e.made(ctx, item, i)
	}
	events := e.follow(item.ID)
	run := e.made(ctx, item, i)
	events.finish(run)
	return run
}

// configuration is the name of an item's; "": the suite is one without names.
func (e *Executor) configuration(item plan.Item) string {
	if names := e.Recipe.Configurations; item.Configuration < len(names) {
		return names[item.Configuration]
	}
	return ""
}

// made gives an item away, and waits for its run.
func (e *Executor) made(ctx context.Context, item plan.Item, i Item) *record.Run {
	if ctx.Err() != nil {
		return nil
	}
	outcome := e.give(ctx, i)
	if outcome == nil {
		return nil
	}
	var o Outcome
	select {
	case o = <-outcome:
	case <-ctx.Done():
		e.cancelBatches(context.WithoutCancel(ctx))
		select {
		case o = <-outcome:
		case <-time.After(cancelPatience):
			return nil
		}
	}
	return e.received(ctx, item, i, &o)
}

// cancelPatience is how long workers have to end runs that are cancelled.
const cancelPatience = 30 * time.Second

// received is the run of an outcome. A run whose record cannot be used is made again, once.
func (e *Executor) received(ctx context.Context, item plan.Item, i Item, o *Outcome) *record.Run {
	if o.Kind == kindStore {
		e.end(exit.With(exit.NotMeasured, hints[kindStore], "%s; the workers keep the runs that they made, and store them once they can", o.Failure))
		return nil
	}
	if o.Kind != "" {
		e.fail(exit.With(exit.NotMeasured, hints[o.Kind], "%s", o.Failure))
	}
	if o.Failure != "" {
		if ctx.Err() != nil {
			return nil
		}
		return e.lost(item, record.Network, "no worker could make the run: "+o.Failure)
	}
	whole := context.WithoutCancel(ctx)
	run, err := e.fetch(whole, item.ID, o)
	if err != nil && !errors.Is(err, errSilent) && !i.Again {
		e.complain(fmt.Sprintf("the record %s of the store: %v; the run is made again, and so are others with such records", o.Record, err))
		i.Again = true
		return e.made(ctx, item, i)
	}
	if err == nil && e.receiver != nil {
		if err = e.receiver.receive(whole, run); err != nil {
			err = fmt.Errorf("the states of its workspace: %w", err)
		}
	}
	if errors.Is(err, errSilent) {
		e.end(exit.With(exit.NotMeasured, "what workers made is in it, and is found by the same command once it answers", "the store %v cannot be used: %w", e.Store, err))
		return nil
	}
	if err != nil {
		return e.lost(item, record.Internal, fmt.Sprintf("the record %s of the store: %v", o.Record, err))
	}
	trace.Elsewhere(ctx, run.ID, o.Trace)
	if reason, ok := loop.Interrupted(ctx, nil); ok && run.Outcome.Status == record.Cancelled {
		run.Outcome.Reason = reason
	}
	return run
}

// fetch reads the record of an outcome, which has the name and the id of that run and of no other.
func (e *Executor) fetch(ctx context.Context, id string, o *Outcome) (*record.Run, error) {
	more, named := strings.CutPrefix(o.Record, recordName(&e.suite, id))
	if !named || more != "" && more[0] != '.' || strings.Contains(more, "/") {
		return nil, fmt.Errorf("its name is not that of a record of %s", id)
	}
	line, err := e.Store.Read(ctx, o.Record)
	if err != nil {
		return nil, err
	}
	if digest(line) != o.Digest {
		return nil, fmt.Errorf("its digest is %s, and the worker wrote %s", digest(line), o.Digest)
	}
	return decode(line, id)
}

// decode reads the record of a run.
func decode(line []byte, id string) (*record.Run, error) {
	run, err := record.DecodeRun(bytes.Clone(line))
	if err == nil && run.ID != id {
		err = fmt.Errorf("it is of the run %.40q, not of %.40q", run.ID, id)
	}
	return run, err
}

// hints say what to do about failures that end a suite.
var hints = map[string]string{
	kindVersion: "run the same agentbench-temporal everywhere; nothing was paid for this run",
	kindSuite:   "give all workers the same environment, files below roots and programs; nothing was paid for this run",
	kindStore:   "make room in the store, or make it writable",
	kindClock:   "set the clocks by NTP; nothing was paid for this run",
}

// lost is the record of an item that no worker could make.
func (e *Executor) lost(item plan.Item, class record.ErrorClass, message string) *record.Run {
	return &record.Run{
		Version: record.Version, ID: item.ID, Configuration: e.configuration(item), Task: item.Task.ID, Trial: item.Trial, Cluster: item.Task.Cluster, Group: item.Task.Group,
		Outcome: record.Outcome{Status: record.Faulted, Reason: record.ReasonError, Class: record.ByFault, Fired: string(class), Error: &record.Error{Class: class, Message: message}},
	}
}
