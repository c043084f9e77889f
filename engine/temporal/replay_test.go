package temporal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
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
	server := sharedServer(t)
	b := newBeside(t, server, 3, nil)
	b.budget(100)
	spend(t, b, many("a", 12), nil)
	show(t, server, b.suite.Workflow, "", "suite.json")
	show(t, server, b.open[0].id, "", "batch.json")
	ctx, cancel := context.WithCancel(t.Context())
	waits := func(ctx context.Context, item plan.Item) *record.Run {
		cancel()
		<-ctx.Done()
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Cancelled}}
	}
	check(t, b.Execute(ctx, items(many("b", 12)), waits, func(context.Context, plan.Item, *record.Run) {}))
	show(t, server, b.open[0].id, "", "cancelled.json")
	server.Queue = "another"
	b = newBeside(t, server, 3, nil)
	_, first := continued(t, b)
	show(t, server, b.suite.Workflow, first, "continued.json")
	server.Queue = "a third"
	b = newBeside(t, server, 3, nil)
	if err := b.begin(t.Context()); err != nil { // by a coordinator that is killed
		t.Fatal(err)
	}
	check(t, b.try(t.Context(), many("c", 12)))
	show(t, server, b.suite.Workflow, "", "joined.json")
}

func show(t *testing.T, server *devServer, workflow, run, file string) {
	t.Helper()
	path := filepath.Join(histories, file)
	if _, err := os.Stat(path); err == nil {
		return
	}
	args := []string{"workflow", "show", "--address", server.Address, "--workflow-id", workflow, "--output", "json"}
	if run != "" {
		args = append(args, "--run-id", run)
	}
	out, err := exec.Command(server.path, args...).Output()
	if err = errors.Join(err, os.MkdirAll(histories, 0o755)); err == nil {
		err = os.WriteFile(path, out, 0o644)
	}
	check(t, err)
}
