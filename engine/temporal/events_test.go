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

// However many attempts tell of a run, and in whatever order their parts are written, each
// event is told once; how the run ended is told in any case, and no part is left.
func TestEventsOfManyAttempts(t *testing.T) {
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	check(t, err)
	attempt := func() *teller { return &teller{store: store, live: "l", id: "c/t/1"} }
	tell := func(by *teller, from, to int) {
		for i := from; i < to; i++ {
			by.tell(fmt.Appendf(nil, "{\"event\":\"e%d\"}\n", i))
		}
	}
	var told []record.EventType
	f := &follower{store: store, live: "l", id: "c/t/1", observe: func(e record.Event) { told = append(told, e.Type) }, stop: func() {}}
	first, second := attempt(), attempt()
	tell(first, 0, 2)
	first.flush(t.Context())
	first.flush(t.Context())
	f.read(t.Context())
	tell(second, 0, 1)
	second.flush(t.Context()) // the first one has told that, and more
	tell(second, 1, 4)
	second.flush(t.Context())
	tell(first, 2, 6) // it is not lost after all
	first.flush(t.Context())
	tell(second, 4, 7)
	second.flush(t.Context())
	f.read(t.Context())
	want := []record.EventType{"e0", "e1", "e2", "e3", "e4", "e5", "e6"}
	if !slices.Equal(told, want) {
		t.Errorf("%v is told, want %v", told, want)
	}
	tell(first, 6, 8)
	first.flush(t.Context())
	run := &record.Run{ID: "c/t/1"}
	if n := len(slices.Collect(record.Events(run))); n != 4 {
		t.Fatalf("a run without iterations has %d events", n)
	}
	f.finish(run)
	if want = append(want, record.TurnCompleted, record.EpisodeRecorded, record.AgentEnded); !slices.Equal(told, want) {
		t.Errorf("%v is told, want %v", told, want)
	}
	if left, err := os.ReadDir(filepath.Join(store.Folder(), "events/l")); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A store that cannot be written to costs no event, and holds no run up.
func TestEventsOfAStoreThatIsFull(t *testing.T) {
	full := &faulty{Store: folderStore(t.TempDir()), kind: "Create", refuses: 1 << 40}
	w := &teller{store: full, live: "l", id: "c/t/1"}
	w.tell([]byte("{}\n"))
	w.flush(t.Context())
	var told []record.EventType
	e := &Executor{Options: Options{Submission: &command.Submission{Observe: func(e record.Event) { told = append(told, e.Type) }}, Store: full}, live: "l"}
	f := e.follow("c/t/1")
	f.finish(&record.Run{ID: "c/t/1"})
	if len(told) != 4 {
		t.Errorf("%v is told", told)
	}
}
