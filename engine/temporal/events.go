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

// The events of a run come with its record. If somebody follows the suite, they also go to the store
// while the run is in progress: in parts, which are numbered and read one after the other. The attempt after
// a lost one continues where that ended, so that each event is shown once. A part that cannot be written
// or read costs nothing: the record has all events.

// eventPause is how often events are written and read.
const eventPause = time.Second

func partName(live, id string, n int) string {
	return fmt.Sprintf("events/%s/%s-%d", live, digest([]byte(id)), n)
}

// eventWriter writes the events of an attempt to make a run.
type eventWriter struct {
	store    Store
	live, id string
	parts    int // that are there

	mu    sync.Mutex
	lines [][]byte // that are not written
	known int      // so many events to come were written by another attempt
}

// add takes an event as a line.
func (w *eventWriter) add(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known > 0 {
		w.known--
		return
	}
	w.lines = append(w.lines, line)
}

// flush writes the lines that wait. A part that is there already was written by another attempt.
func (w *eventWriter) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		w.mu.Lock()
		waiting := w.lines
		w.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		name, written := partName(w.live, w.id, w.parts), len(waiting)
		created, err := w.store.Create(ctx, name, bytes.Join(waiting, nil))
		if err == nil && !created {
			var before []byte
			before, err = w.store.Read(ctx, name)
			written = bytes.Count(before, []byte{'\n'})
		}
		if err != nil {
			return
		}
		w.parts++
		w.mu.Lock()
		w.known += max(0, written-len(w.lines))
		w.lines = w.lines[min(written, len(w.lines)):]
		w.mu.Unlock()
	}
}

// eventReader reads the events of a run.
type eventReader struct {
	store    Store
	live, id string
	observe  func(record.Event)
	seen     int // events
	parts    int
	stop     func()
}

// follow reads the events of a run until it is finished.
func (e *Executor) follow(id string) *eventReader {
	r := &eventReader{store: e.Store, live: e.live, id: id, observe: e.Observe}
	r.stop = every(context.Background(), eventPause, r.read)
	return r
}

// read passes on the events that are there.
func (r *eventReader) read(ctx context.Context) {
	for {
		text, err := r.store.Read(ctx, partName(r.live, r.id, r.parts))
		if err != nil {
			return
		}
		r.parts++
		for line := range bytes.Lines(text) {
			var event record.Event
			if json.Unmarshal(line, &event) == nil {
				r.observe(event)
			}
			r.seen++
		}
	}
}

// finish passes on the other events of a run that has ended, nil if there is none, and removes the parts. A
// lost worker may have written more events than the run has that was made in its place; the events of the end
// are passed on in any case.
func (r *eventReader) finish(run *record.Run) {
	r.stop()
	if run != nil {
		events := slices.Collect(record.Events(run))
		last := len(events) - len(record.EndEvents(run))
		for _, event := range events[min(r.seen, last):] {
			r.observe(event)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for n := 0; ; n++ {
		name := partName(r.live, r.id, n)
		if n >= r.parts { // is there one that was not read?
			if _, err := r.store.Read(ctx, name); err != nil {
				return
			}
		}
		if r.store.Remove(ctx, name) != nil {
			return
		}
	}
}
