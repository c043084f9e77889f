package temporal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/executortest"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

func TestContract(t *testing.T) {
	const workers = 4
	b := newInProcess(t, sharedServer(t), workers, nil)
	b.size = 15 // a suite has several
	executortest.Contract(t, b, workers)
}

// What another attempt would meet as well ends the suite with one clear error and a hint, and nothing was run. A record
// whose outcome is too large to travel is found later.
func TestWorkersThatDoNotFit(t *testing.T) {
	var slow atomic.Bool
	b := newInProcess(t, sharedServer(t), 2, func(w *Worker) {
		w.Now = func() time.Time {
			if slow.Load() {
				return time.Now().Add(-5 * time.Minute)
			}
			return time.Now()
		}
	})
	fails := func(id string, made int, wants ...string) {
		t.Helper()
		err := b.try(t.Context(), id)
		failed, _ := errors.AsType[*exit.Error](err)
		for _, want := range wants {
			if failed == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %.300v, want %q", err, want)
			}
		}
		if len(b.all.made) != made {
			t.Errorf("%v were made", b.all.made)
		}
	}
	b.suite.Agentbench = "v2"
	fails("a", 0, "worker w1: it runs agentbench v1, and the coordinator v2")
	b.suite.Agentbench = "v1"
	slow.Store(true)
	fails("a", 0, "worker w1: the clock of this machine differs from that of the Temporal server by -5m0s; at most 2m0s will do")
	slow.Store(false)
	large := strings.Repeat("x", 70_000)
	var said string
	err := b.Execute(t.Context(), items(large), b.all.run, func(_ context.Context, _ plan.Item, run *record.Run) { said = run.Outcome.Error.Message })
	if err != nil || len(b.all.made) > 0 || !strings.Contains(said, "bytes; at most 65536 travel through Temporal") {
		t.Errorf("an item that is too large: %v, %.300s", err, said)
	}
	b.span = large
	fails("a", 1, "worker w1: the outcome of a takes 70", "at most 65536 travel")
	b.span = ""
	if err := b.try(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	b.once(t, "a")
}

// A coordinator whose clock is wrong, either way, runs nothing, whether it begins a suite or
// joins one that is in progress. That goes on for a coordinator whose clock is right.
func TestTheClockOfTheCoordinator(t *testing.T) {
	b := newInProcess(t, sharedServer(t), 2, nil)
	wrong := func() {
		t.Helper()
		for _, off := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
			b.now = func() time.Time { return time.Now().Add(off) }
			err := b.try(t.Context(), "a")
			want := fmt.Sprintf("the clock of this machine differs from that of the Temporal server by %v; at most 2m0s will do", off)
			if failed, ok := errors.AsType[*exit.Error](err); !ok || failed.Hint == "" || !strings.Contains(err.Error(), want) || len(b.all.made) > 0 {
				t.Errorf("%v: %v, want %q; %v were made", off, err, want, b.all.made)
			}
		}
		b.now = time.Now
	}
	running := func(want bool) {
		t.Helper()
		d, err := b.client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, "")
		check(t, err)
		if status := d.GetWorkflowExecutionInfo().GetStatus(); (status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING) != want {
			t.Errorf("the workflow is %v; want it in progress: %v", status, want)
		}
	}
	wrong()
	running(false)
	if err := b.begin(t.Context()); err != nil { // by a coordinator that is killed
		t.Fatal(err)
	}
	wrong()
	running(true)
	if err := b.try(t.Context(), "a"); err != nil {
		t.Errorf("with a clock that is right: %v", err)
	}
	b.once(t, "a")
	running(false)
}

// What is wrong with the server is reported before anything is run. One that forgets soon is worth a warning where a
// suite has no limit of time.
func TestServersThatDoNotFit(t *testing.T) {
	s := sharedServer(t).Server
	closed, short := s, s
	var err error
	if closed.Address, err = freeAddress(); err != nil {
		t.Fatal(err)
	}
	short.Namespace = "short"
	fails := func(err error, want, hint string) {
		t.Helper()
		if failed, _ := errors.AsType[*exit.Error](err); failed == nil || failed.Code != exit.NotMeasured || !strings.Contains(err.Error(), want) || !strings.Contains(failed.Hint, hint) {
			t.Errorf("%v; want %q and the hint %q", err, want, hint)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = closed.Dial(ctx)
	fails(err, "no Temporal server answers at "+closed.Address, "temporal server start-dev")
	c, err := s.Dial(t.Context())
	check(t, err)
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: short.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(time.Hour)})
	check(t, err)
	var warned string
	warn := func(text string) { warned = text }
	await(t, "the namespace is there", func() bool { return short.outlasts(t.Context(), c, time.Minute, warn) == nil })
	if err := short.outlasts(t.Context(), c, 0, warn); err != nil || !strings.Contains(warned, "the namespace short keeps ended workflows for 1h0m0s") {
		t.Errorf("%v; it warns %q", err, warned)
	}
	fails(short.outlasts(t.Context(), c, 1000*time.Hour, nil), "keeps ended workflows for 1h0m0s, and the suite may take 1000h0m0s", "--retention 1024h")
}

// tampered is a store from which records come damaged, so many times.
type tampered struct {
	Store
	times int
}

func (s *tampered) Read(ctx context.Context, name string) ([]byte, error) {
	content, err := s.Store.Read(ctx, name)
	if strings.HasPrefix(name, "runs/") && s.times > 0 {
		s.times--
		content = content[:len(content)/2]
	}
	return content, err
}

// A run whose record is damaged, or is of another run, is made again, once. One that the worker reads as it wrote it
// costs nothing again.
func TestADamagedRecordIsMadeAgain(t *testing.T) {
	b := newInProcess(t, sharedServer(t), 2, nil)
	store := b.Store
	for id, c := range map[string]struct {
		stored []byte // before the run
		reads  int    // of the coordinator, that are damaged
		want   record.Status
	}{
		"as-it-should-be":      {nil, 0, record.Completed},
		"cut-in-the-store":     {line(t, "cut-in-the-store")[:20], 0, record.Completed},
		"of-another-run":       {line(t, "b"), 0, record.Completed},
		"damaged-on-its-way":   {nil, 1, record.Completed},
		"damaged-on-every-way": {nil, 100, record.Faulted},
	} {
		if c.stored != nil {
			if _, err := store.Create(t.Context(), recordName(&b.suite, id), c.stored); err != nil {
				t.Fatal(err)
			}
		}
		b.Store = &tampered{store, c.reads}
		b.warnings.Reset()
		if err := b.try(t.Context(), id); err != nil || b.all.made[id] != 1 || b.all.ended[id] != c.want {
			t.Errorf("%s: %v; it was made %d times, and is %q, want %q", id, err, b.all.made[id], b.all.ended[id], c.want)
		}
		if warned := b.warnings.has("the run is made again"); warned != (c.reads > 0) {
			t.Errorf("%s: the coordinator says %q", id, b.warnings.String())
		}
	}
}

// line is the record of a run.
func line(t *testing.T, id string) []byte {
	t.Helper()
	line, err := record.EncodeRun(&record.Run{Version: record.Version, ID: id, Outcome: record.Outcome{Status: record.Completed}}, record.Options{})
	check(t, err)
	return line
}

// The coordinator takes no record that has not the name of the run's, whatever an outcome says.
func TestAnOutcomeNamesItsOwnRecord(t *testing.T) {
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	check(t, err)
	e := &Executor{Options: Options{Submission: &command.Submission{}, Store: store}, suite: Suite{Records: "runs/x"}}
	own, other := recordName(&e.suite, "a"), recordName(&e.suite, "b")
	for name, c := range map[string]struct {
		id    string // of the run that is in it
		taken bool
	}{
		own: {"a", true}, own + ".AGAIN": {"a", true}, own + ".OTHER": {"b", false}, other: {"a", false}, own + "x": {"a", false}, own + ".d/x": {"a", false}, "suites/x": {"a", false},
	} {
		content := line(t, c.id)
		if created, err := store.Create(t.Context(), name, content); err != nil || !created {
			t.Fatalf("%s: %v, %v", name, created, err)
		}
		run, err := e.fetch(t.Context(), "a", &Outcome{Record: name, Digest: digest(content)})
		if taken := err == nil && run.ID == "a"; taken != c.taken {
			t.Errorf("the record %s of the run %s is taken: %v, %v", name, c.id, taken, err)
		}
	}
}

// A server that answers although nothing happens is not away, for however long. One that is away for too long ends the
// suite, soon and with one error. Runs in progress end and are stored; once it is back with its data, they are found and
// the others are made.
func TestAServerThatIsAwayForTooLong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for most of its time")
	}
	server := ownServer(t, filepath.Join(t.TempDir(), "temporal.db"))
	b := newInProcess(t, server, 3, nil)
	b.Patience = time.Second
	away := make(chan struct{})
	var inProgress, stored sync.WaitGroup
	inProgress.Add(3)
	run := func(ctx context.Context, item plan.Item) *record.Run {
		made := b.all.run(ctx, item)
		if ctx.Err() != nil || b.all.times(item.ID) > 1 {
			return made
		}
		switch item.ID {
		case "long":
			time.Sleep(3 * b.Patience) // a run that takes longer than a server may be away
		case "d", "e", "f":
			inProgress.Done()
			<-away
		}
		return made
	}
	if err := b.Execute(t.Context(), items("long"), run, b.all.deliver); err != nil {
		t.Fatalf("a server that has nothing to answer: %v", err)
	}
	stored.Go(func() {
		inProgress.Wait()
		server.kill()
		close(away)
	})
	const all = "a d e f g h"
	err := b.Execute(t.Context(), items(all), run, b.all.deliver)
	stored.Wait()
	if err == nil || !strings.Contains(err.Error(), "the Temporal server has not answered for 1s") {
		t.Fatalf("the error is %v", err)
	}
	if rest := b.all.rest(all); !slices.Equal(rest, strings.Fields("d e f g h")) {
		t.Errorf("%v are to be made", rest)
	}
	b.stored(t)
	check(t, server.start())
	b.Patience = defaultPatience
	check(t, b.Execute(t.Context(), items(strings.Join(b.all.rest(all), " ")), run, b.all.deliver))
	b.once(t, "long "+all)
}

// away is a server that does not answer the first request to start a workflow, and does not answer the
// second one either, though it starts the workflow.
type away struct {
	client.Client
	asked int
}

func (c *away) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	c.asked++
	if c.asked == 1 {
		return nil, serviceerror.NewUnavailable("away")
	}
	run, err := c.Client.ExecuteWorkflow(ctx, o, workflow, args...)
	if c.asked == 2 && err == nil {
		err = serviceerror.NewUnavailable("away")
	}
	return run, err
}

// A server that is away for a moment while a suite begins is asked again. A workflow whose start was
// not answered is joined.
func TestAServerThatIsAwayAtFirst(t *testing.T) {
	b := newInProcess(t, sharedServer(t), 1, nil)
	c := &away{Client: b.client}
	b.client = c
	if err := b.try(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	b.once(t, "a")
	if c.asked != 3 {
		t.Errorf("it was asked %d times", c.asked)
	}
	last, err := c.Client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, "")
	check(t, err)
	if info := last.GetWorkflowExecutionInfo(); info.GetFirstRunId() != info.GetExecution().GetRunId() || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("the workflow is %v", info)
	}
}
