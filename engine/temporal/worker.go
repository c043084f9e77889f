package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/engine/workspace"
)

// Runs are the runs of one suite on a worker: a [command.Prepared].
type Runs interface {
	// Run makes one run. It fails if the suite has no such item. Observe gets its events, and may be nil.
	Run(ctx context.Context, configuration, task string, trial int, observe func(record.Event)) (*record.Run, error)
	// Encode is a run as a line without secrets.
	Encode(run *record.Run) ([]byte, error)
	// Line is an event as a line without secrets.
	Line(event record.Event) ([]byte, error)
	// States are those of the runs' workspaces; nil: no loop has one.
	States() *workspace.Store
	// Span is that of a run that was made, as Item.Trace says it; "": it is not traced.
	Span(id string) string
	// Draws are the budget that the runs spend, and the gates of the models that they call.
	Draws() (*pace.Budget, map[string]*pace.Gate)
	Close()
}

// Worker makes the runs that coordinators ask for.
type Worker struct {
	Client client.Client
	Store  Store
	// Version is that of agentbench, Host this machine's name, Name that of this process.
	Version, Host, Name string
	// Dir is a folder of this machine.
	Dir string
	// Prepare makes the loops of a suite.
	Prepare func(context.Context, *command.Recipe, command.Folders) (Runs, error)
	Warn    func(string)
	Now     func() time.Time
	// StorePatience is how long the store may refuse or be silent before the suite ends.
	StorePatience time.Duration
	// Alive reports whether a process of this machine is there.
	Alive func(pid int) bool

	unstored *unstored
	// complained, reported: who looks at the worker, and the coordinator, know that the store refuses. gaveUp: it did so for too long.
	complained, reported, gaveUp atomic.Bool

	mu     sync.Mutex
	suites map[string]*serving
}

// serving is a suite that the worker makes runs of, in one session.
type serving struct {
	workflow   string
	uses       int  // runs in progress
	superseded bool // by another session

	runs   Runs
	sender *sender // nil: there are no workspaces
	lease  *lease  // nil: nothing is leased
	err    error
	ready  chan struct{}
}

// Listen takes runs from a task queue, so many at a time, until the context ends. Those in
// progress then have a grace to end; what does not is made again by another worker.
func (w *Worker) Listen(ctx context.Context, queue string, parallel int, grace time.Duration) error {
	w.suites = map[string]*serving{}
	w.Store = watching(w.Store, w.StorePatience, w.complain)
	if err := w.clearKilled(); err != nil {
		w.Warn(fmt.Sprintf("removing what killed workers left: %v", err))
	}
	var err error
	if w.unstored, err = openUnstored(w.Store, w.Dir); err != nil {
		w.Warn(fmt.Sprintf("reading the runs that earlier workers could not store: %v", err))
	}
	failed := make(chan error, 1)
	listening := worker.New(w.Client, queue, worker.Options{
		Identity: w.Name, MaxConcurrentActivityExecutionSize: parallel, DisableWorkflowWorker: true, WorkerStopTimeout: grace,
		MaxHeartbeatThrottleInterval: beat, DefaultHeartbeatThrottleInterval: beat,
		OnFatalError: func(err error) { failed <- err },
	})
	listening.RegisterActivityWithOptions(w.Run, activity.RegisterOptions{Name: runActivity})
	if err := listening.Start(); err != nil {
		return err
	}
	end := every(context.WithoutCancel(ctx), w.StorePatience/12, w.storeRest)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	listening.Stop()
	end()
	w.leave()
	return err
}

// beat is how often a worker shows that it is there while a run is in progress, and learns
// that the run is cancelled.
const beat = 500 * time.Millisecond

// Run is the activity.
func (w *Worker) Run(ctx context.Context, t Task) (Outcome, error) {
	info := activity.GetInfo(ctx)
	if err := skewed(info.StartedTime, w.Now()); err != nil {
		return Outcome{}, w.never(kindClock, err)
	}
	if t.Suite.Agentbench != w.Version {
		return Outcome{}, w.never(kindVersion, fmt.Errorf("it runs agentbench %s, and the coordinator %s", w.Version, t.Suite.Agentbench))
	}
	defer every(ctx, beat, func(ctx context.Context) { activity.RecordHeartbeat(ctx) })() // whatever the run is waiting for
	s, err := w.serve(ctx, &t.Suite)
	defer w.release(s)
	if err != nil {
		return Outcome{}, err
	}
	if s.lease != nil {
		s.lease.enter()
		defer s.lease.exit()
	}
	made, err := w.made(ctx, &t)
	if err != nil {
		return Outcome{}, err
	}
	if made != nil {
		return *made, nil
	}
	run, err := w.run(ctx, s, &t.Item)
	if err != nil {
		return Outcome{}, w.never(kindItem, err)
	}
	if run.Outcome.Status == record.Cancelled && !wanted(ctx) {
		return Outcome{}, fmt.Errorf("worker %s: the run ended with %w, which was not asked for", w.Name, context.Cause(ctx))
	}
	if made, err = w.keep(ctx, s, &t, run); err != nil {
		return Outcome{}, err
	}
	made.Trace = s.runs.Span(t.Item.ID)
	if large := small("the outcome of "+t.Item.ID, made); large != nil {
		return Outcome{}, w.never(kindLarge, large)
	}
	return *made, nil
}

// run makes a run, and writes its events while it is in progress if somebody follows.
func (w *Worker) run(ctx context.Context, s *serving, item *Item) (*record.Run, error) {
	var observe func(record.Event)
	if item.Live != "" {
		events := &eventWriter{store: w.Store, live: item.Live, id: item.ID}
		defer every(ctx, eventPause, events.flush)() // what was not written comes with the record
		observe = func(event record.Event) {
			if line, err := s.runs.Line(event); err == nil {
				events.add(line)
			}
		}
	}
	return s.runs.Run(trace.Within(ctx, item.Trace), item.Configuration, item.Task, item.Trial, observe)
}

// wanted reports whether a run that was cancelled is to be: its suite ends. It is not where
// this worker stops, or could not reach the server for a while.
func wanted(ctx context.Context) bool {
	var asked *sdk.CanceledError
	return ctx.Err() == nil || errors.As(context.Cause(ctx), &asked)
}

// never is an error that no other attempt helps against.
func (w *Worker) never(kind string, err error) error {
	return sdk.NewNonRetryableApplicationError(fmt.Sprintf("worker %s: %v", w.Name, err), kind, nil)
}

// every calls do now and then, until it is stopped or the context ends.
func every(ctx context.Context, pause time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var over sync.WaitGroup
	over.Go(func() {
		for ctx.Err() == nil {
			do(ctx)
			wait(ctx, pause)
		}
	})
	return func() {
		cancel()
		over.Wait()
	}
}

// recordName is that of the record of a run that counts.
func recordName(s *Suite, id string) string {
	d := digest([]byte(id))
	return path.Join(s.Records, d[:2], d[2:])
}

// made is the outcome of a run that was made before; nil: it was not, or its record is damaged.
func (w *Worker) made(ctx context.Context, t *Task) (*Outcome, error) {
	name := recordName(&t.Suite, t.Item.ID)
	var line []byte
	err := w.insist(ctx, func() (err error) {
		if err = w.unstored.write(ctx, name); err == nil {
			line, err = w.Store.Read(ctx, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			line, err = nil, nil
		}
		return err
	})
	if err != nil || line == nil {
		return nil, err
	}
	if _, err := decode(line, t.Item.ID); err != nil {
		w.Warn(fmt.Sprintf("the record %s in the store %v: %v; the run is made again", name, w.Store, err))
		return nil, nil
	}
	return &Outcome{ID: t.Item.ID, Record: name, Digest: digest(line)}, nil
}

// keep writes a record. That of a run that does not count has a name of its own: the run is
// made again. So has one that is made in place of a damaged one, which stays.
func (w *Worker) keep(ctx context.Context, s *serving, t *Task, run *record.Run) (*Outcome, error) {
	line, err := s.runs.Encode(run)
	if err != nil {
		return nil, w.never(kindItem, err)
	}
	name := recordName(&t.Suite, t.Item.ID)
	if !run.Outcome.Counts() {
		name += "." + rand.Text()
	}
	created, err := w.write(ctx, s, name, line, run)
	if err != nil {
		return nil, err
	}
	if !created && run.Outcome.Counts() { // another attempt was first
		if made, err := w.made(ctx, t); made != nil || err != nil {
			return made, err
		}
		name += "." + rand.Text()
		if _, err := w.write(ctx, s, name, line, run); err != nil {
			return nil, err
		}
	}
	return &Outcome{ID: t.Item.ID, Record: name, Digest: digest(line)}, nil
}

// write writes a record, or keeps it for later if it counts.
func (w *Worker) write(ctx context.Context, s *serving, name string, line []byte, run *record.Run) (created bool, err error) {
	r := pendingRecord{Name: name, Record: line}
	if s.sender != nil {
		r.states = func(ctx context.Context) error { return s.sender.send(ctx, run) }
	}
	whole := context.WithoutCancel(ctx)
	err = w.insist(ctx, func() (err error) {
		if r.states != nil { // before the record: who finds that finds what it names
			err = r.states(whole)
		}
		if err == nil {
			created, err = w.Store.Create(whole, name, line)
		}
		if err != nil && run.Outcome.Counts() {
			if unkept := w.unstored.put(r); unkept != nil {
				w.Warn(fmt.Sprintf("a run that the store refused is not on the disk either: %v", unkept))
			}
		}
		return err
	})
	if err == nil {
		w.unstored.drop(name)
	}
	return created, err
}

// serve is the suite of a task, which is prepared when its first run of the session is made here. It is
// released after the run.
func (w *Worker) serve(ctx context.Context, of *Suite) (*serving, error) {
	key := strings.Join([]string{of.Workflow, of.Spec, of.Session}, " ")
	w.mu.Lock()
	s, there := w.suites[key]
	if !there {
		for _, other := range w.suites {
			other.superseded = other.superseded || other.workflow == of.Workflow
		}
		s = &serving{workflow: of.Workflow, ready: make(chan struct{})}
		w.suites[key] = s
	}
	s.uses++
	w.mu.Unlock()
	if !there {
		if s.err = w.prepare(ctx, s, of, filepath.Join(w.folder(), digest([]byte(key)))); s.err != nil {
			w.mu.Lock()
			delete(w.suites, key) // it may be there the next time
			w.mu.Unlock()
		}
		close(s.ready)
	}
	select {
	case <-s.ready:
		return s, s.err
	case <-ctx.Done():
		return s, context.Cause(ctx)
	}
}

// release ends a run. Suites of earlier sessions are closed with their last run, but for those with workspaces: a
// record that the store refused may have its states there.
func (w *Worker) release(s *serving) {
	var over []*serving
	w.mu.Lock()
	s.uses--
	for key, s := range w.suites {
		if s.superseded && s.uses == 0 && s.sender == nil {
			delete(w.suites, key)
			over = append(over, s)
		}
	}
	w.mu.Unlock()
	for _, s := range over {
		s.close()
	}
}

// close gives back what the worker has of a suite.
func (s *serving) close() {
	if s.lease != nil {
		s.lease.Close()
	}
	if s.runs != nil {
		s.runs.Close()
	}
}

func (w *Worker) prepare(ctx context.Context, s *serving, of *Suite, own string) error {
	var text []byte
	err := w.insist(ctx, func() (err error) {
		text, err = w.Store.Read(ctx, specName(of.Spec))
		return err
	})
	if err != nil {
		return err
	}
	var suite shipped
	if err := json.Unmarshal(text, &suite); err != nil {
		return err
	}
	at := command.Folders{Workspaces: filepath.Join(own, results.Workspaces), Cache: filepath.Join(cmp.Or(w.Store.Folder(), w.Dir), "cache")}
	if suite.Files != "" {
		at.Suite = filepath.Join(w.Dir, "suites", suite.Files)
		if err := w.insist(ctx, func() error { return fetchSuite(ctx, w.Store, suite.Files, at.Suite) }); err != nil {
			return err
		}
	}
	if s.runs, err = w.Prepare(ctx, &suite.Recipe, at); err != nil {
		if _, wrong := errors.AsType[*command.WrongSuite](err); wrong {
			return w.never(kindSuite, err)
		}
		return fmt.Errorf("worker %s: %w", w.Name, err)
	}
	if states := s.runs.States(); states != nil {
		s.sender = &sender{store: w.Store, states: states, dir: filepath.Join(own, travelFolder)}
	}
	if of.Leased {
		budget, gates := s.runs.Draws()
		account := w.Name + "/" + rand.Text()[:8]
		s.lease = newLease(asking(w.Client, of.Workflow), account, of.Session, budget, gates, of.Life, w.Warn)
		budget.Borrow(s.lease)
	}
	return nil
}

// The folders of a worker: one for each process, in that one for each suite, in that one for
// what is on its way.
const (
	runsFolder   = "runs"
	travelFolder = "travel"
)

// folder is that of this process, for what ends with it.
func (w *Worker) folder() string { return filepath.Join(w.Dir, runsFolder, w.Name) }

// leave gives back what the worker has of all suites, and removes what only it used.
func (w *Worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.suites {
		<-s.ready
		s.close()
	}
	if err := clearWorker(w.folder()); err != nil {
		w.Warn(fmt.Sprintf("removing what the runs left: %v", err))
	}
}
