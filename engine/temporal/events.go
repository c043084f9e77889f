package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// The events of a run come with its record. Where somebody follows the suite, they also go
// to the store while the run is in progress: in parts, which are numbered and read one after
// the other. An attempt that comes after a lost one goes on where that ended, so that each
// event is told once. That a part cannot be written or read costs nothing: the record has all.

// telling is how long events wait for others.
const telling = time.Second

func partName(live, id string, n int) string {
	return fmt.Sprintf("events/%s/%s-%d", live, digest([]byte(id)), n)
}

// teller writes the events of a run.
type teller struct {
	store    Store
	live, id string

	mu    sync.Mutex
	lines [][]byte // that are not written
	known int      // so many of those to come were told by an earlier attempt

	parts int
}

// tell takes an event as a line.
func (t *teller) tell(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known > 0 {
		t.known--
		return
	}
	t.lines = append(t.lines, line)
}

// flush writes what waits. Where a part is there already, it is what another attempt told.
func (t *teller) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		t.mu.Lock()
		waiting := t.lines
		t.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		name, told := partName(t.live, t.id, t.parts), len(waiting)
		created, err := t.store.Create(ctx, name, bytes.Join(waiting, nil))
		if err == nil && !created {
			var before []byte
			before, err = t.store.Read(ctx, name)
			told = bytes.Count(before, []byte{'\n'})
		}
		if err != nil {
			return
		}
		t.parts++
		t.mu.Lock()
		t.known += max(0, told-len(t.lines))
		t.lines = t.lines[min(told, len(t.lines)):]
		t.mu.Unlock()
	}
}

// follower reads the events of a run.
type follower struct {
	store    Store
	live, id string
	observe  func(record.Event)
	told     int
	parts    int
	stop     func()
}

func (e *Executor) follow(id string) *follower {
	f := &follower{store: e.Store, live: e.live, id: id, observe: e.Observe}
	f.stop = every(context.Background(), telling, f.read)
	return f
}

// read tells what is there.
func (f *follower) read(ctx context.Context) {
	for {
		text, err := f.store.Read(ctx, partName(f.live, f.id, f.parts))
		if err != nil {
			return
		}
		f.parts++
		for line := range bytes.Lines(text) {
			var event record.Event
			if json.Unmarshal(line, &event) == nil {
				f.observe(event)
			}
			f.told++
		}
	}
}

// finish ends it, and tells what was not told of a run that has ended; nil: there is none. A
// lost worker may have told more than the run has that was made in its place: how that ended
// is told in any case.
func (f *follower) finish(run *record.Run) {
	f.stop()
	if run != nil {
		events := slices.Collect(record.Events(run))
		last := len(events) - len(record.EndEvents(run))
		for _, event := range events[min(f.told, last):] {
			f.observe(event)
		}
	}
	f.remove(context.Background())
}

// remove removes the parts, also those that were not read.
func (f *follower) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for n := 0; ; n++ {
		name := partName(f.live, f.id, n)
		if n >= f.parts {
			if _, err := f.store.Read(ctx, name); err != nil {
				return
			}
		}
		if f.store.Remove(ctx, name) != nil {
			return
		}
	}
}
