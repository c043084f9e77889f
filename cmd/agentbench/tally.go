package main

import (
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// tally counts what becomes of the runs, and lets the progress be told.
type tally struct {
	view *progress   // nil: nobody looks
	any  atomic.Bool // a run was executed

	mu     sync.Mutex
	totals record.Totals
	effort record.Effort
	fault  *record.Error // of the run with a fault whose id comes first
	of     string        // that run
}

// Started implements engine.Watcher.
func (t *tally) Started(item plan.Item) {
	if t.view != nil {
		t.view.Started(item)
	}
}

// Finished implements engine.Watcher.
func (t *tally) Finished(run *record.Run, scores []record.Score) {
	t.count(run)
	if t.view != nil {
		t.view.Finished(run, scores)
	}
}

// executed counts a run that is not put down yet.
func (t *tally) executed() {
	t.any.Store(true)
	if t.view != nil {
		t.view.Executed()
	}
}

func (t *tally) count(run *record.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals.Add(&record.Signals{Outcome: run.Outcome, Usage: run.Usage, Judging: run.Judging, User: run.User})
	t.effort.Add(run)
	if run.Outcome.Status == record.Faulted && (t.fault == nil || run.ID < t.of) {
		t.fault, t.of = run.Outcome.Error, run.ID
	}
}
