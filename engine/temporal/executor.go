package temporal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crypto/rand"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/engine/workspace"
)

// Options are what a suite is given away with.
type Options struct {
	Server Server
	Store  Store
	// Version is that of agentbench.
	Version string
	// Recipe is what workers make the suite of, and Folder its files; "": it has none.
	Recipe []byte
	Folder string
	// Repository says that the folder's own .git is one of its files.
	Repository bool
	// Reads are files of the folder that the suite cannot do without.
	Reads []string
	// Dir is the result folder: it tells which workflow is its own. It is there when
	// Begin is called.
	Dir string
	// Workers is how many runs may be in progress at a time.
	Workers int
	// Configurations are the names of those of the plan.
	Configurations []string
	// Longest is how long a run may take; 0: a day.
	Longest time.Duration
	// Duration is the suite's limit; 0: none.
	Duration time.Duration
	// Heartbeat is how long a worker may be silent before its runs are made by another.
	Heartbeat time.Duration
	// Patience is how long the server may be away.
	Patience time.Duration
	// StorePatience is how long the store may be silent; 0: the default.
	StorePatience time.Duration
	Budget        *pace.Budget
	Models        map[string]Limits
	Gates         map[string]*pace.Gate // of the models that the coordinator asks
	// States take those of the runs' workspaces; nil: no loop has one.
	States  *workspace.Store
	Started func(plan.Item)
	Observe func(record.Event)
	Warn    func(string)
	Note    func(string)     // nil: notes are dropped
	Now     func() time.Time // nil: time.Now
}

// lives is how many times Heartbeat a worker may be silent before its lease is given up.
const lives = 3

// DefaultHeartbeat is how long a worker may be silent.
const DefaultHeartbeat = 10 * time.Second

// attempts of an item that meets lost workers.
const attempts = 50

// Executor gives items to workers.
type Executor struct {
	Options
	client   client.Client
	receiver *receiver // nil: there are no workspaces
	suite    Suite
	live     string      // of the session's events; "": they are not followed
	absent   atomic.Bool // the server was away for too long
	stop     func()      // of the worker that executes workflows; nil: it has not begun
	lease    *lease
	link     link
	most     int // of SuiteState; tests set it
	size     int // of batches; 0: batchSize

	mu     sync.Mutex
	open   []*batch
	books  map[string]Books
	warned bool // of the store
	fatal  error
	cancel context.CancelCauseFunc
	queue  chan waiting
	tasks  sync.WaitGroup
}

// sent is what the store has of a suite.
type sent struct {
	Recipe json.RawMessage `json:"recipe"`
	Files  string          `json:"files,omitempty"` // the digest of the archive
}

func specName(spec string) string   { return "suites/" + spec + ".json" }
func filesName(files string) string { return "suites/" + files + ".tar.gz" }

// Open connects to the server, and writes the suite into the store.
func Open(ctx context.Context, o Options) (*Executor, error) {
	o.Heartbeat = cmp.Or(o.Heartbeat, DefaultHeartbeat)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	o.StorePatience = cmp.Or(o.StorePatience, DefaultStorePatience)
	o.Longest = cmp.Or(o.Longest, 24*time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	c, err := o.Server.Dial(ctx)
	if err != nil {
		return nil, err
	}
	e := &Executor{Options: o, client: c, books: map[string]Books{}}
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
	s := sent{Recipe: e.Recipe}
	if e.Folder != "" {
		packed, of, err := pack(e.Folder, e.Repository, e.Reads)
		if err != nil {
			return exit.Unmeasured(err)
		}
		s.Files = digest(packed)
		if _, err := e.Store.Create(ctx, filesName(s.Files), packed); err != nil {
			return exit.With(exit.NotMeasured, "nothing was run", "writing the suite into the store: %w", err)
		}
		tell := e.Note
		if len(of.left) > 0 {
			tell = e.Warn
		}
		tell(fmt.Sprintf("workers get %v of the folder %s", of, e.Folder))
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	e.suite = Suite{Spec: digest(text), Agentbench: e.Version}
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

// link is what a result folder knows of its workflow.
type link struct {
	Workflow string `json:"workflow"`
	Records  string `json:"records"`
	// Handed is what was left of the budget when the suite was given away; nil: it is back.
	Handed *pace.Limits `json:"handed,omitempty"`
}

// linkFile is its file in the result folder.
const linkFile = "temporal.json"

// find reads which workflow a result folder has, or gives it one.
func (e *Executor) find() error {
	text, err := os.ReadFile(filepath.Join(e.Dir, linkFile))
	switch {
	case err == nil:
		err = json.Unmarshal(text, &e.link)
	case errors.Is(err, fs.ErrNotExist):
		id := rand.Text()
		e.link = link{Workflow: "agentbench/" + e.suite.Spec[:12] + "/" + id, Records: "runs/" + id}
		err = e.writeLink()
	}
	e.suite.Workflow, e.suite.Records = e.link.Workflow, e.link.Records
	return err
}

func (e *Executor) writeLink() error {
	text, err := json.Marshal(e.link)
	if err != nil {
		return err
	}
	return record.ReplaceFile(e.Dir, linkFile, append(text, '\n'))
}

// recall finds out what was spent of a budget that a killed coordinator had handed over.
// Where its workflow still runs, that goes on counting. Where it is gone, all stays in doubt.
func (e *Executor) recall(ctx context.Context) error {
	if e.link.Handed == nil {
		return nil
	}
	d, err := e.client.DescribeWorkflowExecution(ctx, e.suite.Workflow, "")
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		e.Warn("the workflow of the earlier session is gone: what its workers spent is unknown, and all that was left of the budget counts as spent; agentbench repair --release releases it")
		return nil
	}
	if err != nil {
		return err
	}
	known := record.Settlement{}
	if d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		value, err := e.client.QueryWorkflow(ctx, e.suite.Workflow, "", queryTotals)
		var t Totals
		if err == nil {
			err = value.Get(&t)
		}
		if err != nil {
			return fmt.Errorf("asking what was spent: %w", err)
		}
		known.Paid, known.Doubt = t.Paid.Minus(t.OwnPaid), t.Doubt.Minus(t.OwnDoubt)
	}
	return e.Budget.Recall(*e.link.Handed, known)
}

// handOver lends the budget to all that join.
func (e *Executor) handOver() error {
	account := coordinator + "/" + rand.Text()[:8]
	e.lease = newLease(asking(e.client, e.suite.Workflow), account, "", e.Budget, e.Gates, e.suite.Life, e.Warn)
	handed, err := e.Budget.HandOver(e.lease)
	if err != nil {
		return err
	}
	e.link.Handed = &handed
	return e.writeLink()
}

func (e *Executor) batchSize() int { return cmp.Or(e.size, batchSize) }

// flows is the task queue of the workflows: only this suite's coordinator takes from it.
func (e *Executor) flows() string { return e.suite.Workflow }

// Execute implements engine.Executor. Workers make the runs; run is called for items alone
// that no worker began before the context ended, and makes the records that say so.
func (e *Executor) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.cancel, e.queue, e.open, e.fatal = cancel, make(chan waiting), nil, nil
	e.warned = false
	e.absent.Store(false)
	if err := e.begin(ctx); err != nil {
		return err
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	e.tasks.Go(func() { e.dispatch(over) })
	through := func(ctx context.Context, item plan.Item) *record.Run {
		if made := e.through(ctx, item); made != nil {
			return made
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if err := e.over(); err != nil { // no items are given away any more
			cancel(err)
		}
		return run(ctx, item)
	}
	err := engine.Pool{Workers: e.Workers}.Execute(ctx, e.untilOver(items), through, deliver)
	end()
	e.tasks.Wait()
	return errors.Join(e.fatal, err, e.finish(context.WithoutCancel(ctx)))
}

// Begin finds what an earlier session has left, whose coordinator may have been killed. It
// is called once the result folder and its ledger are open, before Execute.
func (e *Executor) Begin(ctx context.Context) error {
	if err := e.find(); err != nil {
		return err
	}
	if err := e.follow(); err != nil {
		return err
	}
	return e.recall(ctx)
}

// begin starts the workflow of the suite, or joins the one that runs.
func (e *Executor) begin(ctx context.Context) error {
	limits := e.Budget.Limits()
	e.suite.Life = lives * e.Heartbeat
	e.suite.Leased = limits != (pace.Limits{}) || len(e.Models) > 0
	e.suite.Session = ""
	if e.suite.Leased {
		e.suite.Session = rand.Text() // unless it joins the workflow of another session
	}
	state := SuiteState{
		Batch: Batch{Suite: e.suite, Queue: e.Server.Queue, Longest: e.Longest, Heartbeat: e.Heartbeat, Attempts: attempts},
		Book:  Book{Left: limits.Left(e.Budget.Spent()), Session: e.suite.Session, Life: e.suite.Life}, Most: e.most,
	}
	for _, model := range slices.Sorted(maps.Keys(e.Models)) {
		state.Book.Models = append(state.Book.Models, ModelLimits{model, e.Models[model]})
	}
	joined, err := e.running(ctx)
	if err != nil {
		return err
	}
	err = e.insist(ctx, func(ctx context.Context) error { // where the answer was lost, it joins what it started
		_, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: e.suite.Workflow, TaskQueue: e.flows(), WorkflowExecutionTimeout: longestWorkflow, WorkflowTaskTimeout: taskTimeout,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, suiteWorkflow, state)
		return err
	})
	if err != nil {
		return fmt.Errorf("starting the suite's workflow: %w", err)
	}
	if err := e.checkClock(ctx); err != nil {
		if !joined { // else it goes on for a coordinator whose clock is right
			err = errors.Join(err, e.finish(ctx))
		}
		return err
	}
	if e.suite.Leased {
		return e.handOver()
	}
	return nil
}

// checkClock tells the workflow that its coordinator is there, and compares the time at which
// the server heard that with the times between which this machine said it.
func (e *Executor) checkClock(ctx context.Context) error {
	session, first := rand.Text(), e.Now()
	err := e.insist(ctx, func(ctx context.Context) error {
		return e.client.SignalWorkflow(ctx, e.suite.Workflow, "", signalHere, session)
	})
	if err != nil {
		return fmt.Errorf("joining the suite's workflow: %w", err)
	}
	last := e.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, e.Patience, errors.New("the server did not hear of this session"))
	defer cancel()
	for {
		var found *workflowservice.GetWorkflowExecutionHistoryReverseResponse
		err := e.insist(ctx, func(ctx context.Context) (err error) {
			found, err = e.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
				Namespace: e.Server.Namespace, Execution: &common.WorkflowExecution{WorkflowId: e.suite.Workflow}, MaximumPageSize: 100,
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("asking when the server heard of this session: %w", err)
		}
		for _, event := range found.GetHistory().GetEvents() {
			var of string
			signal := event.GetWorkflowExecutionSignaledEventAttributes()
			if signal.GetSignalName() != signalHere || converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &of) != nil || of != session {
				continue
			}
			heard := event.GetEventTime().AsTime()
			here := heard
			if heard.Before(first) {
				here = first
			} else if heard.After(last) {
				here = last
			}
			if err := skewed(heard, here); err != nil {
				return exit.With(exit.NotMeasured, "set the clocks by NTP; nothing was run", "%w", err)
			}
			return nil
		}
		select { // while a task of the workflow is in progress, its history lacks what came meanwhile
		case <-ctx.Done():
			return fmt.Errorf("joining the suite's workflow: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// running reports whether the workflow of the suite is there.
func (e *Executor) running(ctx context.Context) (bool, error) {
	var d *workflowservice.DescribeWorkflowExecutionResponse
	err := e.insist(ctx, func(ctx context.Context) (err error) {
		d, err = e.client.DescribeWorkflowExecution(ctx, e.suite.Workflow, "")
		return err
	})
	var never *serviceerror.NotFound
	if errors.As(err, &never) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for the suite's workflow: %w", err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// follow executes the code of this suite's workflows.
func (e *Executor) follow() error {
	w := worker.New(e.client, e.flows(), worker.Options{LocalActivityWorkerOnly: true, MaxConcurrentWorkflowTaskPollers: 4})
	w.RegisterWorkflowWithOptions(SuiteWorkflow, workflow.RegisterOptions{Name: suiteWorkflow})
	w.RegisterWorkflowWithOptions(BatchWorkflow, workflow.RegisterOptions{Name: batchWorkflow})
	if err := w.Start(); err != nil {
		return err
	}
	e.stop = w.Stop
	return nil
}

// fail ends the suite: no other item would do better.
func (e *Executor) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fatal == nil {
		e.fatal = err
		e.cancel(err)
	}
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

// complain tells the user of a store that refuses or is silent, once: many workers may meet it.
func (e *Executor) complain(text string) {
	e.mu.Lock()
	first := !e.warned
	e.warned = true
	e.mu.Unlock()
	if first {
		e.Warn(text)
	}
}

// finish ends the workflow, and takes the budget back.
func (e *Executor) finish(ctx context.Context) (failed error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if e.lease != nil {
		e.lease.Close()
	}
	last := slices.SortedFunc(maps.Values(e.books), func(a, b Books) int { return cmp.Compare(a.Account, b.Account) })
	var t Totals
	err := e.update(ctx, e.suite.Workflow, updateFinish, "finish-"+rand.Text(), last, &t)
	var ended *serviceerror.NotFound
	if err == nil || errors.As(err, &ended) { // an update whose answer was lost may have ended it
		err = e.client.GetWorkflow(ctx, e.suite.Workflow, "").Get(ctx, &t)
	}
	if e.lease != nil && err == nil {
		e.link.Handed = nil
		defer func() { failed = errors.Join(failed, e.writeLink()) }()
		e.Budget.TakeBack(record.Settlement{Paid: t.Paid.Minus(t.OwnPaid), Doubt: t.Doubt.Minus(t.OwnDoubt)})
	}
	if err != nil {
		return fmt.Errorf("ending the suite's workflow: %w", err)
	}
	return nil
}

// waiting is an item that waits for its outcome.
type waiting struct {
	item    Item
	outcome chan Outcome
}

// through has an item made by a worker, and gives its record; nil: the context ended, and
// no worker made it.
func (e *Executor) through(ctx context.Context, item plan.Item) *record.Run {
	e.Started(item)
	w := waiting{Item{ID: item.ID, Task: item.Task.ID, Trial: item.Trial, Trace: trace.Parent(ctx), Live: e.live}, make(chan Outcome, 1)}
	if item.Configuration < len(e.Configurations) {
		w.item.Configuration = e.Configurations[item.Configuration]
	}
	if err := small(fmt.Sprintf("the item %.40s", item.ID), w.item); err != nil {
		return e.lost(item, record.Setup, err.Error())
	}
	if e.Observe == nil {
		return e.made(ctx, item, &w)
	}
	events := e.follows(item.ID)
	run := e.made(ctx, item, &w)
	events.finish(run)
	return run
}

// made gives an item away, and waits for its run.
func (e *Executor) made(ctx context.Context, item plan.Item, w *waiting) *record.Run {
	if e.over() != nil {
		return nil
	}
	select {
	case e.queue <- *w:
	case <-ctx.Done():
		return nil
	}
	var o Outcome
	select {
	case o = <-w.outcome:
	case <-ctx.Done():
		e.cancelBatches(context.WithoutCancel(ctx))
		select {
		case o = <-w.outcome:
		case <-time.After(cancelPatience):
			return nil
		}
	}
	return e.received(ctx, item, w, &o)
}

// cancelPatience is how long workers have to end runs that are cancelled.
const cancelPatience = 30 * time.Second

// received is the run of an outcome. Where its record cannot be used it is made again, once.
func (e *Executor) received(ctx context.Context, item plan.Item, w *waiting, o *Outcome) *record.Run {
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
	run, err := e.fetch(context.WithoutCancel(ctx), item.ID, o)
	if errors.Is(err, errSilent) {
		return e.unanswered(err)
	}
	if err != nil && !w.item.Again {
		e.complain(fmt.Sprintf("the record %s of the store: %v; the run is made again, and so are others with such records", o.Record, err))
		w.item.Again = true
		return e.made(ctx, item, w)
	}
	if err != nil {
		return e.lost(item, record.Internal, fmt.Sprintf("the record %s of the store: %v", o.Record, err))
	}
	if e.receiver != nil {
		err := e.receiver.receive(context.WithoutCancel(ctx), run)
		if errors.Is(err, errSilent) {
			return e.unanswered(err)
		}
		if err != nil {
			return e.lost(item, record.Internal, fmt.Sprintf("the states of the workspace of %s: %v", o.Record, err))
		}
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

// unanswered ends the suite: the store is silent. There is no record yet.
func (e *Executor) unanswered(err error) *record.Run {
	e.end(exit.With(exit.NotMeasured, "what workers made is in it, and is found by the same command once it answers", "the store %v cannot be used: %w", e.Store, err))
	return nil
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
	r := &record.Run{Version: record.Version, ID: item.ID, Task: item.Task.ID, Trial: item.Trial, Cluster: item.Task.Cluster, Group: item.Task.Group}
	if item.Configuration < len(e.Configurations) {
		r.Configuration = e.Configurations[item.Configuration]
	}
	r.Outcome = record.Outcome{Status: record.Faulted, Reason: record.ReasonError, Class: record.ByFault, Fired: string(class), Error: &record.Error{Class: class, Message: message}}
	return r
}
