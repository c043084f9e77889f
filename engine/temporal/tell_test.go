package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// However many attempts tell of a run, and in whatever order their parts are written, each
// event is told once; how the run ended is told in any case, and no part is left.
func TestEventsOfManyAttempts(t *testing.T) {
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	if err != nil {
		t.Fatal(err)
	}
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
	first.flush()
	first.flush()
	f.read(t.Context())
	tell(second, 0, 1)
	second.flush() // the first one has told that, and more
	tell(second, 1, 4)
	second.flush()
	tell(first, 2, 6) // it is not lost after all
	first.flush()
	tell(second, 4, 7)
	second.flush()
	f.read(t.Context())
	want := []record.EventType{"e0", "e1", "e2", "e3", "e4", "e5", "e6"}
	if !slices.Equal(told, want) {
		t.Errorf("%v is told, want %v", told, want)
	}
	tell(first, 6, 8)
	first.flush()
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

// events are those of a file of --events so far, by run.
func (s *site) events(file string) map[string]string {
	s.Helper()
	text, _ := os.ReadFile(filepath.Join(s.dir, "suite", file))
	found := map[string]string{}
	for line := range bytes.Lines(text) {
		var event record.Event
		if bytes.HasSuffix(line, []byte("\n")) {
			if err := json.Unmarshal(line, &event); err != nil {
				s.Fatalf("%v: %s", err, line)
			}
			found[event.Run] += string(line)
		}
	}
	return found
}

// Who follows the events of a suite learns of its runs while they are in progress, also by a
// bucket; in the end the events are those of one machine, although a worker was lost.
func TestEventsWhileRunsAreInProgress(t *testing.T) {
	for name, byBucket := range map[string]bool{"folder": false, "bucket": true} {
		t.Run(name, func(t *testing.T) {
			files := scaleSuite(4, "{provider: simulate, sleep: true, latency: {median: 700ms}, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", 4)
			files["suite.yaml"] += "trials: 1\n"
			files["a.loop.yaml"] = "loop: improve\nagent: {model: m, reply: json}\nprompt: '{{ task.input }}, again: {{ iteration }}'\nterminate: {max_iterations: 8}\n"
			files["suite.yaml"] = string(bytes.ReplaceAll([]byte(files["suite.yaml"]), []byte(", set: {terminate.max_iterations: 1}"), nil))
			s := newSite(t, false, files)
			if byBucket {
				onDemand(t)
				s.inBucket(s3(t))
			}
			s.must(s.command("run", "suite.yaml", "-q", "--out", "here", "--events", "here.jsonl"))
			s.startWorker(0)
			c := s.elsewhere("there", "--events", "there.jsonl")
			var said safe
			c.Stderr = &said
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "an iteration is told of", func() bool {
				text, _ := os.ReadFile(filepath.Join(s.dir, "suite/there.jsonl"))
				return bytes.Contains(text, []byte(`"event":"iteration_completed"`))
			})
			if n := s.done("there"); n > 0 {
				t.Errorf("%d runs were done before anything was told", n)
			}
			_ = s.workers[0].Process.Kill()
			_ = s.workers[0].Wait()
			s.startWorker(1)
			if err := c.Wait(); err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			here, there := s.events("here.jsonl"), s.events("there.jsonl")
			if len(here) != 4 || !maps.Equal(here, there) {
				t.Errorf("%d runs here, %d there, or they differ: %s", len(here), len(there), firstDifference(here, there))
			}
			if left := s.files(filepath.Join(s.dir, "store/events")); len(left) > 2 {
				t.Errorf("%v is left", slices.Sorted(maps.Keys(left)))
			}
		})
	}
}

// A store that cannot be written to costs no event, and holds no run up.
func TestEventsOfAStoreThatIsFull(t *testing.T) {
	store, err := OpenStore(t.Context(), t.TempDir(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	w := newTeller(fullStore{store}, "l", "c/t/1")
	w.tell([]byte("{}\n"))
	w.flush()
	w.Close()
	var told []record.EventType
	e := &Executor{Options: Options{Store: fullStore{store}, Observe: func(e record.Event) { told = append(told, e.Type) }}, live: "l"}
	f := e.follows("c/t/1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	f.read(ctx)
	f.finish(&record.Run{ID: "c/t/1"})
	if len(told) != 4 || ctx.Err() != nil {
		t.Errorf("%v is told", told)
	}
}
