package temporal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// link is what a result folder knows of its workflow.
type link struct {
	Workflow string `json:"workflow"`
	Records  string `json:"records"`
	// Handed is what was left of the budget when it was handed over; nil: it is back.
	Handed *pace.Limits `json:"handed,omitempty"`
}

// linkFile is its file in the result folder.
const linkFile = "temporal.json"

func (e *Executor) writeLink() error {
	text, err := json.Marshal(e.link)
	if err != nil {
		return err
	}
	return record.ReplaceFile(e.Dir, linkFile, append(text, '\n'))
}

// Begin finds what an earlier session has left, whose coordinator may have been killed. It
// is called once the result folder and its ledger are open, before Execute.
func (e *Executor) Begin(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(e.Dir, linkFile))
	switch {
	case err == nil:
		err = json.Unmarshal(text, &e.link)
	case errors.Is(err, fs.ErrNotExist):
		id := rand.Text()
		e.link = link{Workflow: "agentbench/" + e.suite.Spec[:12] + "/" + id, Records: "runs/" + id}
		err = e.writeLink()
	}
	if err != nil {
		return err
	}
	e.suite.Workflow, e.suite.Records = e.link.Workflow, e.link.Records
	w := worker.New(e.client, e.flows(), worker.Options{LocalActivityWorkerOnly: true, MaxConcurrentWorkflowTaskPollers: 4})
	w.RegisterWorkflowWithOptions(SuiteWorkflow, workflow.RegisterOptions{Name: suiteWorkflow})
	w.RegisterWorkflowWithOptions(BatchWorkflow, workflow.RegisterOptions{Name: batchWorkflow})
	if err := w.Start(); err != nil {
		return err
	}
	e.stop = w.Stop
	return e.recall(ctx)
}

// flows is the task queue of the workflows: only this suite's coordinator takes from it.
func (e *Executor) flows() string { return e.suite.Workflow }

// recall finds out what was spent of a budget that a killed coordinator had handed over. If its workflow
// still runs, that keeps counting. If it is gone, all of the budget stays in doubt.
func (e *Executor) recall(ctx context.Context) error {
	if e.link.Handed == nil {
		return nil
	}
	d, err := e.client.DescribeWorkflowExecution(ctx, e.suite.Workflow, "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		e.Warn("the workflow of the earlier session is gone: what its workers spent is unknown, and all that was left of the budget counts as spent; agentbench repair --release releases it")
		return nil
	}
	if err != nil {
		return err
	}
	var t Totals
	if d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		value, err := e.client.QueryWorkflow(ctx, e.suite.Workflow, "", queryTotals)
		if err == nil {
			err = value.Get(&t)
		}
		if err != nil {
			return fmt.Errorf("asking what was spent: %w", err)
		}
	}
	return e.Budget.Recall(*e.link.Handed, record.Settlement{Paid: t.Paid, Doubt: t.Doubt})
}

// begin starts the workflow of the suite, or joins the one that runs.
func (e *Executor) begin(ctx context.Context) error {
	limits := e.Budget.Limits()
	e.suite.Life = lives * e.Heartbeat
	e.suite.Leased = limits != (pace.Limits{}) || len(e.Limits) > 0
	e.suite.Session = ""
	if e.suite.Leased {
		e.suite.Session = rand.Text() // unless it joins the workflow of another session
	}
	state := SuiteState{
		Batch: Batch{Suite: e.suite, Queue: e.Server.Queue, Heartbeat: e.Heartbeat},
		Book:  Book{Left: limits.Left(e.Budget.Spent()), Session: e.suite.Session, Life: e.suite.Life}, Most: e.most,
	}
	for _, model := range slices.Sorted(maps.Keys(e.Limits)) {
		state.Book.Models = append(state.Book.Models, ModelLimits{model, e.Limits[model]})
	}
	err := e.insist(ctx, func(ctx context.Context) error {
		_, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: e.suite.Workflow, TaskQueue: e.flows(), WorkflowExecutionTimeout: longestWorkflow, WorkflowTaskTimeout: taskTimeout,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, suiteWorkflow, state)
		return err
	})
	_, joined := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err) // also if the answer to its own start was lost
	if err != nil && !joined {
		return fmt.Errorf("starting the suite's workflow: %w", err)
	}
	if err := e.checkClock(ctx); err != nil {
		if !joined { // else it waits for a coordinator whose clock is right
			err = errors.Join(err, e.finish(ctx))
		}
		return err
	}
	if e.suite.Leased {
		return e.handOver()
	}
	return nil
}

// checkClock compares the time at which the server takes a request with the times of this machine before
// and after it.
func (e *Executor) checkClock(ctx context.Context) error {
	var there time.Time
	before := e.now()
	if err := e.update(ctx, e.suite.Workflow, updateTime, "time-"+rand.Text(), struct{}{}, &there); err != nil {
		return fmt.Errorf("joining the suite's workflow: %w", err)
	}
	here := there
	if after := e.now(); there.Before(before) {
		here = before
	} else if there.After(after) {
		here = after
	}
	if err := skewed(there, here); err != nil {
		return exit.With(exit.NotMeasured, "set the clocks by NTP; nothing was run", "%w", err)
	}
	return nil
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

// finish ends the workflow, and takes the budget back.
func (e *Executor) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	leased := e.lease != nil
	if leased {
		e.lease.Close()
		e.lease = nil
	}
	var t Totals
	err := e.update(ctx, e.suite.Workflow, updateFinish, "finish-"+rand.Text(), struct{}{}, &t)
	if _, ended := errors.AsType[*serviceerror.NotFound](err); err == nil || ended { // an update whose answer was lost may have ended it
		err = e.client.GetWorkflow(ctx, e.suite.Workflow, "").Get(ctx, &t)
	}
	if err != nil {
		return fmt.Errorf("ending the suite's workflow: %w", err)
	}
	if !leased {
		return nil
	}
	e.Budget.TakeBack(record.Settlement{Paid: t.Paid, Doubt: t.Doubt})
	e.link.Handed = nil
	return e.writeLink()
}
