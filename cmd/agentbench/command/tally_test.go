package command

import (
	"context"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// A run that is delivered is in flight no more, though it is not safe yet.
func TestRunsThatAreDeliveredAreNotInFlight(t *testing.T) {
	view := &progress{now: time.Now, total: 3}
	tally := &tally{view: view}
	items := func(yield func(plan.Item, error) bool) {
		_ = yield(plan.Item{ID: "a"}, nil) && yield(plan.Item{ID: "b"}, nil)
	}
	run := func(_ context.Context, item plan.Item) *record.Run {
		tally.Started(item)
		return finishedRun(record.Completed, true)
	}
	delivered := 0
	deliver := func(_ context.Context, _ plan.Item, r *record.Run) {
		if delivered++; view.started-view.executed != 0 || view.executed-view.done != delivered {
			t.Errorf("%d started, %d executed, %d done", view.started, view.executed, view.done)
		}
	}
	if err := (draining{engine.Pool{Workers: 1}, nil, tally.executed}).Execute(t.Context(), items, run, deliver); err != nil || delivered != 2 {
		t.Errorf("%d delivered, %v", delivered, err)
	}
	if !tally.any.Load() {
		t.Error("nothing ran")
	}
}
