package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/executortest"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// acts is an agent that does what a function says.
type acts func(ctx context.Context, turn *agent.Turn) (agent.Result, error)

func (a acts) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	return a(ctx, turn)
}

func echo(_ context.Context, turn *agent.Turn) (agent.Result, error) {
	return agent.Result{Value: turn.Task.ID, Output: []byte(`"` + turn.Task.ID + `"`)}, nil
}

// after passes some time, unless the run is over before: then it is the cause.
func after(ctx context.Context, takes time.Duration) error {
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// memory is a journal that keeps runs, safe at once, and fails after so many.
type memory struct {
	mutex  sync.Mutex
	runs   []*record.Run
	scores [][]record.Score
	most   int
}

var errFull = errors.New("no space left on device")

func (m *memory) Append(run *record.Run, scores []record.Score, done func(error)) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.most > 0 && len(m.runs) == m.most {
		return errFull
	}
	m.runs, m.scores = append(m.runs, run), append(m.scores, scores)
	done(nil)
	return nil
}

func (m *memory) ids() []string {
	var ids []string
	for _, run := range m.runs {
		ids = append(ids, run.ID)
	}
	slices.Sort(ids)
	return ids
}

// bench is an engine over one loop of one iteration, and its plan of n tasks.
func bench(t *testing.T, a agent.Agent, n int) (*engine.Engine, *memory, *plan.Plan, iter.Seq2[*spec.Task, error]) {
	t.Helper()
	files := fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\nterminate: {max_iterations: 1}\n")}}
	doc, faults := spec.LoadFS(files, "l.yaml", spec.Options{})
	propertytest.Must(t, faults.Err())
	stage := loop.Stage{Agent: a, Prompt: doc.Loop.Prompt}
	built := &loop.Loop{Rules: stop.Compile(doc.Loop), Stages: []loop.Stage{stage}, Head: record.Run{Configuration: "c"}}
	p, err := plan.New(&spec.Suite{Resolved: []spec.Resolved{{Name: "c", Loop: doc.Loop}}}, n, plan.Selection{})
	propertytest.Must(t, err)
	journal := &memory{}
	return &engine.Engine{Executor: engine.Pool{Workers: 4}, Journal: journal, Loops: []*loop.Loop{built}}, journal, p, tasks(n)
}

func tasks(n int) iter.Seq2[*spec.Task, error] {
	return func(yield func(*spec.Task, error) bool) {
		for i := range n {
			if !yield(&spec.Task{ID: fmt.Sprint("task-", i+1)}, nil) {
				return
			}
		}
	}
}

func TestEveryRunIsPutDownOnce(t *testing.T) {
	e, journal, p, list := bench(t, acts(echo), 100)
	e.Score = func(_ context.Context, task *spec.Task, run *record.Run) []record.Score {
		return []record.Score{{Run: run.ID, Name: "s", Answer: task.ID}}
	}
	summary, err := e.Run(t.Context(), p, list)
	if err != nil || summary.Stopped != "" || len(journal.runs) != 100 {
		t.Fatalf("%+v, error %v", summary, err)
	}
	ids := journal.ids()
	if len(slices.Compact(ids)) != 100 {
		t.Errorf("%d different runs", len(slices.Compact(ids)))
	}
	for i, run := range journal.runs {
		if want := `"` + run.Task + `"`; string(run.Output()) != want || journal.scores[i][0].Answer != run.Task {
			t.Fatalf("run %s has output %s and score %+v", run.ID, run.Output(), journal.scores[i])
		}
	}
}

// F8: the suite goes on.
func TestAPanicIsTheOutcomeOfItsRun(t *testing.T) {
	e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		if turn.Task.ID == "task-2" {
			panic("out of cheese")
		}
		return echo(ctx, turn)
	}), 3)
	summary, err := e.Run(t.Context(), p, list)
	if err != nil || len(journal.runs) != 3 {
		t.Fatalf("%+v, error %v", summary, err)
	}
	for _, run := range journal.runs {
		if faulted := run.Outcome.Status == record.Faulted; faulted != (run.Task == "task-2") {
			t.Errorf("%s: %+v", run.ID, run.Outcome)
		}
	}
}

// F8: the suite goes on.
func TestAPanicInAScorerIsTheFaultOfItsRun(t *testing.T) {
	e, journal, p, list := bench(t, acts(echo), 3)
	e.Score = func(context.Context, *spec.Task, *record.Run) []record.Score { panic("nil map") }
	if _, err := e.Run(t.Context(), p, list); err != nil {
		t.Fatal(err)
	}
	for _, run := range journal.runs {
		if run.Outcome.Status != record.Faulted || !strings.Contains(run.Outcome.Error.Message, "nil map") {
			t.Errorf("%s: %+v", run.ID, run.Outcome)
		}
	}
}

func TestRunsThatAreDoneAreSkipped(t *testing.T) {
	e, journal, p, list := bench(t, acts(echo), 10)
	e.Skip = func(id string) bool { return id == "c/task-4/1" || id == "c/task-7/1" }
	if _, err := e.Run(t.Context(), p, list); err != nil {
		t.Fatal(err)
	}
	if ids := journal.ids(); len(ids) != 8 || slices.ContainsFunc(ids, e.Skip) {
		t.Errorf("ran %v", ids)
	}
}

func TestAFullDiskEndsThePlan(t *testing.T) {
	e, journal, p, list := bench(t, acts(echo), 1000)
	journal.most = 5
	summary, err := e.Run(t.Context(), p, list)
	if !errors.Is(err, errFull) || len(journal.runs) != 5 {
		t.Errorf("%+v, error %v, %d runs kept", summary, err, len(journal.runs))
	}
}

// spent is a budget's refusal.
type spent struct{}

func (spent) Error() string             { return "spent" }
func (spent) StopReason() record.Reason { return record.ReasonSuiteBudget }

func TestASpentBudgetStartsNothingNew(t *testing.T) {
	e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		if turn.Task.ID == "task-10" {
			return agent.Result{}, spent{}
		}
		return echo(ctx, turn)
	}), 1000)
	e.Executor = engine.Pool{Workers: 1}
	summary, err := e.Run(t.Context(), p, list)
	if err != nil || summary.Stopped != record.ReasonSuiteBudget || len(journal.runs) > 12 {
		t.Errorf("%+v, error %v, %d runs", summary, err, len(journal.runs))
	}
	if last := journal.runs[9]; last.Outcome.Status != record.Cancelled || last.Outcome.Reason != record.ReasonSuiteBudget {
		t.Errorf("the run that the budget stopped: %+v", last.Outcome)
	}
}

// F42: what is in flight when the budget ends was reserved and goes on; a run that
// needs another call is stopped by the budget, and nothing new starts.
func TestF42_RunsInFlightEndWithTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
			takes := map[string]time.Duration{"task-1": time.Second / 2}
			if err := after(ctx, cmp.Or(takes[turn.Task.ID], time.Second)); err != nil {
				return agent.Result{}, err
			}
			if turn.Task.ID == "task-1" || turn.Task.ID == "task-2" { // they need one more call
				return agent.Result{}, spent{}
			}
			return echo(ctx, turn)
		}), 1000)
		summary, err := e.Run(t.Context(), p, list)
		if err != nil || summary.Stopped != record.ReasonSuiteBudget {
			t.Fatalf("%+v, error %v", summary, err)
		}
		count := map[record.Status]int{}
		for _, run := range journal.runs {
			count[run.Outcome.Status]++
			if run.Outcome.Status == record.Cancelled && (run.Outcome.Reason != record.ReasonSuiteBudget || run.Outcome.Class != record.ByBudget) {
				t.Errorf("%s: %+v", run.Task, run.Outcome)
			}
		}
		// Of those that were not in flight at most one was taken already.
		if count[record.Completed] != 2 || count[record.Cancelled] < 2 || count[record.Cancelled] > 3 {
			t.Errorf("%v", count)
		}
	})
}

// F44: a clock that jumps back makes no negative time, and the suite's duration
// is not the clock's.
func TestF44_TheClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
			if time.Sleep(time.Second); ctx.Err() != nil {
				return agent.Result{}, ctx.Err()
			}
			return echo(ctx, turn)
		}), 100)
		var jumps atomic.Int64
		e.Now = func() time.Time { // a day forth, two days back, ...
			n := jumps.Add(1)
			return time.Now().Add(time.Duration(n%3-1) * 24 * time.Hour).Round(0)
		}
		e.Duration = 5500 * time.Millisecond
		start := time.Now()
		summary, err := e.Run(t.Context(), p, list)
		if took := time.Since(start); err != nil || summary.Stopped != record.ReasonSuiteBudget || took != 6*time.Second {
			t.Errorf("%+v after %v, error %v; want the runs in flight at 5.5 s to end at 6 s", summary, took, err)
		}
		completed := 0
		for _, run := range journal.runs {
			if run.Outcome.Status == record.Completed {
				completed++
			}
			if run.Volatile.Wall < 0 || run.Elapsed < 0 {
				t.Errorf("%s took %v, as-if %v", run.ID, run.Volatile.Wall, run.Elapsed)
			}
		}
		if completed != 20 || len(journal.runs) > 24 {
			t.Errorf("%d runs completed of %d in 5.5 s with 4 workers of 1 s each, want 20", completed, len(journal.runs))
		}
	})
}

// F14: the first run without a valid key ends the plan, and those in flight.
func TestF14_AWrongKeyEndsThePlan(t *testing.T) {
	e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		if turn.Task.ID == "task-3" {
			return agent.Result{}, &record.Error{Class: record.Auth, Message: "wrong key"}
		}
		<-ctx.Done()
		return agent.Result{}, context.Cause(ctx)
	}), 1000)
	summary, err := e.Run(t.Context(), p, list)
	if err != nil || summary.Aborted == nil || summary.Aborted.Fault.Message != "wrong key" || summary.Stopped == "" {
		t.Fatalf("%+v, error %v", summary, err)
	}
	for _, run := range journal.runs {
		if want := map[bool]record.Status{true: record.Faulted, false: record.Cancelled}[run.Task == "task-3"]; run.Outcome.Status != want {
			t.Errorf("%s: %+v", run.Task, run.Outcome)
		}
	}
	if len(journal.runs) > 8 {
		t.Errorf("%d runs", len(journal.runs))
	}
}

// F16: a server that was never there ends the plan with the first run that asked it.
func TestF16_AServerThatWasNeverThereEndsThePlan(t *testing.T) {
	e, journal, p, list := bench(t, acts(func(context.Context, *agent.Turn) (agent.Result, error) {
		return agent.Result{}, &record.Error{Class: record.Network, Message: "refused"}
	}), 1000)
	dead := &engine.Unreachable{Model: "m", Address: "http://here"}
	e.Unreachable = func() *engine.Unreachable { return dead }
	summary, err := e.Run(t.Context(), p, list)
	if err != nil || summary.Aborted == nil || summary.Aborted.Unreachable != dead || summary.Stopped == "" || len(journal.runs) >= 20 {
		t.Errorf("%+v after %d runs, error %v", summary, len(journal.runs), err)
	}
}

// F26b: where no file descriptor is left no run is started, and those in flight end.
func TestF26b_RunsInFlightEndWhereNoFileDescriptorIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
			if turn.Task.ID == "task-3" {
				time.Sleep(time.Second)
				return agent.Result{}, &record.Error{Class: record.Resources, Message: "none left"}
			}
			if err := after(ctx, time.Minute); err != nil {
				return agent.Result{}, err
			}
			return echo(ctx, turn)
		}), 1000)
		summary, err := e.Run(t.Context(), p, list)
		if err != nil || summary.Aborted == nil || summary.Aborted.Fault.Message != "none left" || summary.Stopped == "" {
			t.Fatalf("%+v, error %v", summary, err)
		}
		got := map[string]record.Status{}
		for _, run := range journal.runs {
			got[run.Task] = run.Outcome.Status
		}
		want := map[string]record.Status{
			"task-1": record.Completed, "task-2": record.Completed, "task-3": record.Faulted, "task-4": record.Completed,
			"task-5": record.Cancelled, // it was on its way to a worker
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestCancelledByItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e, journal, p, list := bench(t, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		cancel()
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}), 1000)
	summary, err := e.Run(ctx, p, list)
	if err != nil || summary.Stopped != record.ReasonCancelled || len(journal.runs) > 9 {
		t.Errorf("%+v, error %v, %d runs", summary, err, len(journal.runs))
	}
}

func TestABrokenTaskEndsThePlan(t *testing.T) {
	e, _, p, _ := bench(t, acts(echo), 10)
	broken := errors.New("tasks.jsonl:3: not JSON")
	_, err := e.Run(t.Context(), p, func(yield func(*spec.Task, error) bool) {
		_ = yield(&spec.Task{ID: "a"}, nil) && yield(nil, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestPoolKeepsTheContract(t *testing.T) {
	for _, workers := range []int{1, 4, 64} {
		executortest.Contract(t, engine.Pool{Workers: workers}, workers)
	}
}

// F8, F70: a panic outside of a run does not go to the runtime, which would
// print it as it is; it ends the others.
func TestF8_APanicOfAWorkerIsThatOfExecute(t *testing.T) {
	for _, workers := range []int{1, 4} {
		told := func() (cause any) {
			defer func() { cause = recover() }()
			endless := func(yield func(plan.Item, error) bool) {
				for yield(plan.Item{Task: &spec.Task{}}, nil) {
				}
			}
			_ = engine.Pool{Workers: workers}.Execute(t.Context(), endless,
				func(context.Context, plan.Item) *record.Run { return &record.Run{} },
				func(context.Context, plan.Item, *record.Run) { panic("the disk is on fire") })
			return nil
		}()
		if err, ok := told.(error); !ok || !strings.HasPrefix(err.Error(), "the disk is on fire\n") {
			t.Errorf("with %d workers: %v", workers, told)
		}
	}
}
