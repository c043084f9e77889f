package temporal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/record"
)

// However many attempts write events of a run, and in whatever order, each event is shown once. Those of its
// end are shown in any case, and no part is left.
func TestEventsOfManyAttempts(t *testing.T) {
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	check(t, err)
	attempt := func() *eventWriter { return &eventWriter{store: store, live: "l", id: "c/t/1"} }
	write := func(by *eventWriter, from, to int) {
		for i := from; i < to; i++ {
			by.add(fmt.Appendf(nil, "{\"event\":\"e%d\"}\n", i))
		}
	}
	var shown []record.EventType
	f := &eventReader{store: store, live: "l", id: "c/t/1", observe: func(e record.Event) { shown = append(shown, e.Type) }, stop: func() {}}
	first, second := attempt(), attempt()
	write(first, 0, 2)
	first.flush(t.Context())
	first.flush(t.Context())
	f.read(t.Context())
	write(second, 0, 1)
	second.flush(t.Context()) // the first one has written that, and more
	write(second, 1, 4)
	second.flush(t.Context())
	write(first, 2, 6) // it is not lost after all
	first.flush(t.Context())
	write(second, 4, 7)
	second.flush(t.Context())
	f.read(t.Context())
	want := []record.EventType{"e0", "e1", "e2", "e3", "e4", "e5", "e6"}
	if !slices.Equal(shown, want) {
		t.Errorf("%v are shown, want %v", shown, want)
	}
	write(first, 6, 8)
	first.flush(t.Context())
	run := &record.Run{ID: "c/t/1"}
	if n := len(slices.Collect(record.Events(run))); n != 4 {
		t.Fatalf("a run without iterations has %d events", n)
	}
	f.finish(run)
	if want = append(want, record.TurnCompleted, record.EpisodeRecorded, record.AgentEnded); !slices.Equal(shown, want) {
		t.Errorf("%v are shown, want %v", shown, want)
	}
	if left, err := os.ReadDir(filepath.Join(store.Folder(), "events/l")); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A store that cannot be written to costs no event, and holds no run up.
func TestEventsOfAStoreThatIsFull(t *testing.T) {
	full := &faulty{Store: folderStore(t.TempDir()), kind: "Create", refuses: 1 << 40}
	w := &eventWriter{store: full, live: "l", id: "c/t/1"}
	w.add([]byte("{}\n"))
	w.flush(t.Context())
	var shown []record.EventType
	e := &Executor{Options: Options{Submission: &command.Submission{Observe: func(e record.Event) { shown = append(shown, e.Type) }}, Store: full}, live: "l"}
	f := e.follow("c/t/1")
	f.finish(&record.Run{ID: "c/t/1"})
	if len(shown) != 4 {
		t.Errorf("%v are shown", shown)
	}
}
