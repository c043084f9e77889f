package temporal

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// items are so many items.
func items(ids string) iter.Seq2[plan.Item, error] {
	return func(yield func(plan.Item, error) bool) {
		for _, id := range strings.Fields(ids) {
			if !yield(plan.Item{ID: id, Task: &spec.Task{ID: id}, Trial: 1}, nil) {
				return
			}
		}
	}
}

// A server that is away for too long ends the suite, soon and with one error. Runs in progress
// end and are stored; once it is back with its data, they are found and the others are made.
func TestAServerThatIsAwayForTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for most of its time")
	}
	server := serverOf(t, filepath.Join(t.TempDir(), "temporal.db"))
	b, end := newBeside(t, &server.Server, 3, nil)
	defer end()
	b.Patience = time.Second
	var mu sync.Mutex
	made, delivered := map[string]int{}, map[string]record.Status{}
	away := make(chan struct{})
	var inProgress, stored sync.WaitGroup
	inProgress.Add(3)
	run := func(ctx context.Context, item plan.Item) *record.Run {
		if ctx.Err() != nil { // no worker makes it
			return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Cancelled}}
		}
		mu.Lock()
		made[item.ID]++
		first := made[item.ID] == 1
		mu.Unlock()
		if first && strings.Contains("d e f", item.ID) {
			inProgress.Done()
			<-away
		}
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Completed}}
	}
	deliver := func(_ context.Context, item plan.Item, run *record.Run) {
		mu.Lock()
		defer mu.Unlock()
		delivered[item.ID] = run.Outcome.Status
	}
	stored.Go(func() {
		inProgress.Wait()
		server.kill()
		close(away)
	})
	began := time.Now()
	err := b.Execute(t.Context(), items("a b c d e f g h"), run, deliver)
	stored.Wait()
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "the Temporal server has not answered for 1s") || took > 50*time.Second {
		t.Fatalf("after %v: %v", took, err)
	}
	for _, id := range strings.Fields("a b c") {
		if delivered[id] != record.Completed {
			t.Errorf("%s, which was done, is %q", id, delivered[id])
		}
	}
	for _, id := range strings.Fields("d e f g h") {
		if delivered[id] == record.Completed {
			t.Errorf("%s is completed", id)
		}
	}
	for _, id := range strings.Fields("d e f") {
		await(t, "the run in progress is stored", func() bool {
			_, err := b.Store.Read(t.Context(), recordName(&b.suite, id))
			return err == nil
		})
	}
	server.start()
	b.Patience = DefaultPatience
	if err := b.Execute(t.Context(), items("d e f g h"), run, deliver); err != nil {
		t.Fatal(err)
	}
	for _, id := range strings.Fields("a b c d e f g h") {
		if made[id] != 1 || delivered[id] != record.Completed {
			t.Errorf("%s was made %d times, and is %q", id, made[id], delivered[id])
		}
	}
}

// A server that answers although nothing happens is not away, for however long.
func TestAServerThatHasNothingToTell(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 1, nil)
	defer end()
	b.Patience = time.Second
	err := b.Execute(t.Context(), items("a"), func(_ context.Context, item plan.Item) *record.Run {
		time.Sleep(3 * b.Patience) // a run that takes longer than a server may be away
		return &record.Run{ID: item.ID, Outcome: record.Outcome{Status: record.Completed}}
	}, func(context.Context, plan.Item, *record.Run) {})
	if err != nil {
		t.Error(err)
	}
}

// A server that loses its data costs what was left of the budget, and nothing that was
// recorded: the runs are found when the suite is resumed.
func TestAServerThatLosesItsData(t *testing.T) {
	onDemand(t)
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 1, nil)
	defer end()
	b.Patience = time.Second
	b.Budget = pace.NewBudget(pace.Suite, pace.Limits{Calls: 100})
	b.draws = pace.NewBudget(pace.Suite, pace.Limits{Calls: 100})
	var warnings safe
	b.Warn = func(text string) { fmt.Fprintln(&warnings, text) }
	all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
	run := func(ctx context.Context, item plan.Item) *record.Run {
		if item.ID == "b" && ctx.Err() == nil && all.made["b"] == 0 {
			server.kill()
		}
		return all.run(ctx, item)
	}
	if err := b.Execute(t.Context(), items("a b c"), run, all.deliver); err == nil {
		t.Fatal("the server is gone, and nothing is said")
	}
	await(t, "the run in progress is stored", func() bool {
		_, err := b.Store.Read(t.Context(), recordName(&b.suite, "b"))
		return err == nil
	})
	server.start() // in memory: it knows nothing
	b.Patience = DefaultPatience
	if err := b.recall(t.Context()); err != nil || !warnings.has("all that was left of the budget counts as spent; agentbench repair --release") {
		t.Errorf("%v; it says %s", err, warnings.String())
	}
	b.Budget, b.link.Handed = pace.NewBudget(pace.Suite, pace.Limits{Calls: 100}), nil // as repair --release does
	if err := b.Execute(t.Context(), items("b c"), run, all.deliver); err != nil {
		t.Fatal(err)
	}
	for _, id := range strings.Fields("a b c") {
		if all.made[id] != 1 || all.ended[id] != record.Completed {
			t.Errorf("%s was made %d times, and is %q", id, all.made[id], all.ended[id])
		}
	}
}
