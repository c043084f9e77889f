package main

import (
	"sync"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// tally counts what becomes of the runs, and lets somebody else watch as well.
type tally struct {
	next engine.Watcher // may be nil

	mu     sync.Mutex
	totals record.Totals
	effort record.Effort
	fault  *record.Error // of the run with a fault whose id comes first
	of     string        // that run
}

// Started implements engine.Watcher.
func (t *tally) Started(item plan.Item) {
	if t.next != nil {
		t.next.Started(item)
	}
}

// Finished implements engine.Watcher.
func (t *tally) Finished(run *record.Run, scores []record.Score) {
	t.count(run)
	if t.next != nil {
		t.next.Finished(run, scores)
	}
}

func (t *tally) count(run *record.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals.Add(&record.Signals{Outcome: run.Outcome, Usage: run.Usage, Judging: run.Judging})
	t.effort.Add(run)
	if run.Outcome.Status == record.Faulted && (t.fault == nil || run.ID < t.of) {
		t.fault, t.of = run.Outcome.Error, run.ID
	}
}
