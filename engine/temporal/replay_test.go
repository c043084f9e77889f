package temporal

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// recordVariable has the histories recorded that are not there. Those of earlier versions stay; after a
// change of the workflows that suites in progress need not survive, they are removed before.
const recordVariable = "AGENTBENCH_TEMPORAL_RECORD"

const histories = "testdata/histories"

// The code of the workflows does what it did when the histories were recorded: a coordinator
// of this version can go on with a suite of an earlier one.
func TestReplayRecordedHistories(t *testing.T) {
	files, err := filepath.Glob(histories + "/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for file, c := range map[string]struct {
		has   string
		times int
	}{
		"continued.json": {"EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW", 1},
		"joined.json":    {`"signalName": "` + signalHere + `"`, 2},
	} {
		if text, err := os.ReadFile(filepath.Join(histories, file)); err != nil || bytes.Count(text, []byte(c.has)) != c.times {
			t.Errorf("%s is in %s %d times, want %d: %v", c.has, file, bytes.Count(text, []byte(c.has)), c.times, err)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(SuiteWorkflow, workflow.RegisterOptions{Name: suiteWorkflow})
			replayer.RegisterWorkflowWithOptions(BatchWorkflow, workflow.RegisterOptions{Name: batchWorkflow})
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecordHistories records a suite with a budget that ends, a batch that is cancelled, and a suite
// that a second coordinator joins.
func TestRecordHistories(t *testing.T) {
	if os.Getenv(recordVariable) == "" {
		t.Skip(recordVariable + " is not set")
	}
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 3, nil)
	defer end()
	b.Budget = pace.NewBudget(pace.Suite, pace.Limits{Calls: 100})
	b.draws = pace.NewBudget(pace.Suite, pace.Limits{Calls: 100})
	items := func(yield func(plan.Item, error) bool) {
		for _, id := range strings.Fields("a b c d e f g h i j k l") {
			if !yield(plan.Item{ID: id, Task: &spec.Task{ID: id}, Trial: 1}, nil) {
				return
			}
		}
	}
	run := func(ctx context.Context, item plan.Item) *record.Run { return &record.Run{ID: item.ID} }
	if err := b.Execute(t.Context(), items, run, func(context.Context, plan.Item, *record.Run) {}); err != nil {
		t.Fatal(err)
	}
	show(t, server, b.suite.Workflow, "", "suite.json")
	show(t, server, b.open[0].id, "", "batch.json")
	ctx, cancel := context.WithCancel(t.Context())
	waits := func(ctx context.Context, item plan.Item) *record.Run {
		cancel()
		<-ctx.Done()
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Cancelled}}
	}
	if err := b.Execute(ctx, items, waits, func(context.Context, plan.Item, *record.Run) {}); err != nil {
		t.Fatal(err)
	}
	show(t, server, b.open[0].id, "", "cancelled.json")
	own := server.Server
	own.Queue = "another"
	b, end = newBeside(t, &own, 3, nil)
	defer end()
	spend(t, b)
	show(t, server, b.suite.Workflow, firstRun(t, b), "continued.json")
	own.Queue = "a third"
	b, end = newBeside(t, &own, 3, nil)
	defer end()
	if err := b.begin(t.Context()); err != nil { // by a coordinator that is killed
		t.Fatal(err)
	}
	if err := b.Execute(t.Context(), items, run, func(context.Context, plan.Item, *record.Run) {}); err != nil {
		t.Fatal(err)
	}
	show(t, server, b.suite.Workflow, "", "joined.json")
}

func show(t *testing.T, server *devServer, workflow, run, file string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(histories, file)); err == nil {
		return
	}
	args := []string{"workflow", "show", "--address", server.Address, "--workflow-id", workflow, "--output", "json"}
	if run != "" {
		args = append(args, "--run-id", run)
	}
	out, err := exec.Command(cli(t), args...).Output()
	if err == nil {
		err = os.MkdirAll(histories, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(histories, file), out, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
