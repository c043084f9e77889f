package temporal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// TestTrial loses a worker, the server and the coordinator, and on demand a worker every few seconds, while runs call a
// model and programs edit files: all records are there once, equal to those of one machine, every state that they name
// can be restored, the budget holds, and no more is paid twice than what was in flight. The next worker of a machine
// removes what was left.
func TestTrial(t *testing.T) {
	t.Parallel()
	n, every := 9, time.Hour
	if text := os.Getenv(trialVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s=%s: want a number of tasks", trialVariable, text)
		}
		every = 5 * time.Second
	}
	var answered, asked atomic.Int64
	mock := mockserver.New(mockserver.Options{
		Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}, Latency: 60 * time.Millisecond,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%17 == 0 {
			http.Error(w, `{"error": {"message": "busy"}}`, http.StatusInternalServerError)
			return
		}
		answered.Add(1)
		mock.ServeHTTP(w, r)
	}))
	defer server.Close()
	const slots, calls, workers = 4, 2, 2
	runs, budget := 2*n, int64(n*calls*4)
	own := func(t testing.TB) *devServer { return ownServer(t, filepath.Join(t.TempDir(), "temporal.db")) }
	s := newSite(t, own, map[string]string{
		"tasks.jsonl": tasks(n), "asks.loop.yaml": trialLoop, "edits.loop.yaml": `loop: edits
workspace: {files: '{"log.txt": task.input + "\n"}', setup: {command: [sh, -c, "echo set up >>log.txt"]}}
agent: {command: [sh, -c, "echo $1 >>log.txt; cp log.txt copy-$1.txt; echo '{\"quality\": 0.7}'", sh, "{{ iteration }}"], reply: json}
prompt: "{{ task.input }}"
evaluate: {test: [sh, -c, "test $(wc -l <log.txt) = 4"]}
terminate: {max_iterations: 2}
`,
		"suite.yaml": fmt.Sprintf(`suite: trial
tasks: tasks.jsonl
models: {m: {provider: openai, name: mock, base_url: %s/v1, price: free}}
configurations: [{name: asks, loop: asks.loop.yaml}, {name: edits, loop: edits.loop.yaml}]
scorers: [{name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}]
budget: {calls: %d}
concurrency: %d
`, server.URL, budget, slots*workers),
	})
	s.must(s.command("run", "suite.yaml", "-q", "--out", "one/here"))
	answered.Store(0)
	for n := range workers {
		s.startWorker(n, "--concurrency", strconv.Itoa(slots))
	}
	began := time.Now()
	kills := s.troubled(runs, every, slots)
	took := time.Since(began)
	s.alike("one/here", "there", runs, timeless)
	s.undamaged("there")
	spent := s.ledger("there")
	if all := spent.Paid.Calls + spent.Doubt.Calls; all > budget || asked.Load() > budget+int64(n*calls*2) {
		t.Errorf("%d calls are spent of %d", all, budget)
	}
	twice := answered.Load() - int64(n*calls)
	if most := int64(kills * slots); twice > most || twice < 0 {
		t.Errorf("%d answers were paid twice after %d kills of workers with %d runs each", twice, kills, slots)
	}
	t.Logf("%d runs in %v, %d workers killed, the server and the coordinator once: %d answers of %d paid twice; of the budget of %d calls %d are paid and %d in doubt",
		runs, took.Round(time.Second), kills, twice, n*calls, budget, spent.Paid.Calls, spent.Doubt.Calls)
	for n := range s.workers {
		s.killWorker(n)
		s.startWorker(n)
		await(t, "the worker clears what those before it left", func() bool { return len(s.files(filepath.Join(s.workerDir(n), "runs"))) <= 1 })
	}
}

// troubled runs the suite while workers, the server and the coordinator are killed, and
// says how many workers were.
func (s *site) troubled(runs int, every time.Duration, slots int) (kills int) {
	s.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	killWorker := func() {
		n := random.IntN(len(s.workers))
		s.killWorker(n)
		s.startWorker(n, "--concurrency", strconv.Itoa(slots))
		kills++
	}
	var coordinator *exec.Cmd
	var said *safe
	var ended chan error
	start := func() {
		c, over := s.byWorkers("there"), make(chan error, 1)
		coordinator, said, ended = c, &safe{}, over
		c.Stderr = said
		check(s, c.Start())
		go func() { over <- c.Wait() }()
	}
	start()
	losses := []func(){killWorker, func() {
		s.kill()
		check(s, s.start())
	}, func() {
		_ = coordinator.Process.Kill()
		<-ended
		start()
	}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for lost := 0; ; {
		select {
		case err := <-ended:
			if err != nil || lost < len(losses) {
				s.Fatalf("the coordinator ended after %d losses: %v\n%s", lost, err, said.String())
			}
			return kills
		case <-tick.C:
			killWorker()
		case <-look.C:
			if lost < len(losses) && s.done("there") > (lost+1)*runs/6 {
				losses[lost]()
				lost++
			}
		}
	}
}

// metered is a model's server that counts the calls of each request, and leaves the third calls of the runs of the last
// two tasks without an answer until it is let go.
type metered struct {
	*httptest.Server
	mu      sync.Mutex
	calls   map[string]int // by what is asked
	held    int
	release func()
}

var asked, heldBack = regexp.MustCompile(`task [0-9]+, again: [0-9]+`), regexp.MustCompile(`task [34], again: 2`)

func meter(t *testing.T) *metered {
	let := make(chan struct{})
	m := &metered{calls: map[string]int{}, release: sync.OnceFunc(func() { close(let) })}
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.mu.Lock()
		m.calls[asked.FindString(string(body))]++
		hold := heldBack.Match(body)
		if hold {
			m.held++
		}
		m.mu.Unlock()
		if hold {
			<-let
		}
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		m.release()
		m.Close()
	})
	return m
}

// all are the calls so far, those that are held, and those that came again.
func (m *metered) all() (all, held, again int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		all, again = all+n, again+n-1
	}
	return all, m.held, again
}

// A worker that is killed, and whose disk is gone, costs the calls that were in flight, each once more, and nothing else:
// others find its answers in the store, if that is a folder. Its runs in progress are made again; those whose records are
// stored are not, and their states are there. Who follows the events learned of its runs while they were in progress, and
// sees each event once. The ledger has all of its calls, those after its last outcome as well.
//
// On demand the store is a bucket, which has no cache: that costs all calls of the runs that it had begun.
func TestWhatAKilledWorkerCosts(t *testing.T) {
	t.Parallel()
	const slots, n, calls, budget = 4, 5, 3, 200
	for name, c := range map[string]struct {
		bucket bool
		twice  int
	}{"folder": {false, slots / 2}, "bucket": {true, slots / 2 * calls}} {
		t.Run(name, func(t *testing.T) {
			if c.bucket {
				onDemand(t)
			}
			m, dir := meter(t), t.TempDir()
			begun, hanging, goOn := filepath.Join(dir, "begun"), filepath.Join(dir, "hanging"), filepath.Join(dir, "go")
			s := newSite(t, sharedServer, map[string]string{
				"tasks.jsonl": tasks(n), "asks.loop.yaml": trialLoop, "edits.loop.yaml": strings.NewReplacer("BEGUN", begun, "HANGING", hanging, "GO", goOn).Replace(`loop: edits
workspace: {files: '{"log.txt": task.input + "\n"}'}
agent: {command: [sh, -c, "cat log.txt >>BEGUN; ! grep -q [34] log.txt || test -e GO || { echo >>HANGING; until test -e GO; do sleep 0.1; done; }; echo done >>log.txt"]}
prompt: p
terminate: {max_iterations: 1}
`),
				"suite.yaml": fmt.Sprintf(`suite: lost
tasks: tasks.jsonl
models: {m: {provider: openai, name: mock, base_url: %s/v1, price: free}}
configurations: [{name: asks, loop: asks.loop.yaml, set: {terminate.max_iterations: %d}}, {name: edits, loop: edits.loop.yaml}]
budget: {calls: %d}
concurrency: %d
`, m.URL, calls, budget, slots),
			})
			if c.bucket {
				s.inBucket(s3(t))
			}
			s.startWorker(0, "--concurrency", strconv.Itoa(slots))
			run := s.byWorkers("there", "--events", "events.jsonl")
			said := s.begin(run)
			lines := func(path string) map[string]int {
				text, _ := os.ReadFile(path)
				times := map[string]int{}
				for line := range strings.Lines(string(text)) {
					times[strings.TrimSpace(line)]++
				}
				return times
			}
			await(t, "two runs wait for a model and two for a program, all others are done", func() bool {
				_, held, _ := m.all()
				return held == slots/2 && lines(hanging)[""] == slots/2 && s.done("there") >= 3
			})
			done := s.records("there", timeless)
			inProgress := func() (n int) {
				for id, types := range s.events("events.jsonl") {
					if _, over := done[id]; !over && strings.Count(types, string(record.IterationCompleted)) >= calls-1 {
						n++
					}
				}
				return n
			}
			await(t, "the events of runs in progress are shown", func() bool { return inProgress() >= slots/2 })
			s.killWorker(0)
			check(t, errors.Join(os.RemoveAll(s.workerDir(0)), os.WriteFile(goOn, nil, 0o644)))
			m.release()
			s.startWorker(1, "--concurrency", strconv.Itoa(slots))
			if err := run.Wait(); err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			if there := s.records("there", timeless); len(there) != 2*n {
				t.Errorf("%d of %d runs are there", len(there), 2*n)
			}
			s.undamaged("there")
			s.shownOnce("there", "events.jsonl")
			all, _, twice := m.all()
			if twice != c.twice {
				t.Errorf("%d calls for %d, %d of them a second time; want %d: %v", all, n*calls, twice, c.twice, m.calls)
			}
			all = 0
			for task, times := range lines(begun) {
				all += times
				if _, before := done["edits/t"+strings.TrimPrefix(task, "task ")+"/1"]; before && times != 1 {
					t.Errorf("%s was made %d times", task, times)
				}
			}
			if all != n+slots/2 {
				t.Errorf("%d programs were begun for %d runs", all, n)
			}
			l := s.ledger("there")
			if spent := l.Paid.Calls + l.Doubt.Calls; spent < int64(n*calls+twice) || spent > budget {
				t.Errorf("%d calls were made; of the budget of %d %d are paid and %d in doubt", n*calls+twice, budget, l.Paid.Calls, l.Doubt.Calls)
			}
		})
	}
}

// events are the types of the events in a file of --events so far, by run.
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
			found[event.Run] += string(event.Type) + " "
		}
	}
	return found
}

// shownOnce holds the events in a file to those of the records, and the store to have none left.
func (s *site) shownOnce(out, file string) {
	s.Helper()
	shown := s.events(file)
	for run, err := range record.ReadRuns(filepath.Join(s.dir, "suite", out)) {
		check(s, err)
		want := ""
		for event := range record.Events(run) {
			want += string(event.Type) + " "
		}
		if got := shown[run.ID]; got != want {
			s.Errorf("of %s the events are %s, want %s", run.ID, got, want)
		}
	}
	if left := s.files(filepath.Join(s.store, "events")); len(left) > 2 {
		s.Errorf("%v is left", left)
	}
}

// One signal lets runs in progress end and begins none; a second one cancels them on the workers, and leaves their states
// whole. Either way the same command makes the rest.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	const runs, slots = 12, 3
	goOn := filepath.Join(t.TempDir(), "go")
	s := newSite(t, sharedServer, map[string]string{
		"tasks.jsonl": tasks(runs), "a.loop.yaml": strings.ReplaceAll(`loop: a
workspace: {files: '{"log.txt": task.input + "\n"}'}
agent: {command: [sh, -c, "test $1 = 0 || until test -e GO; do sleep 0.1; done; echo $1 >>log.txt", sh, "{{ iteration }}"]}
prompt: p
terminate: {max_iterations: 2}
`, "GO", goOn),
		"suite.yaml": fmt.Sprintf("suite: s\ntasks: tasks.jsonl\nconfigurations: [{name: a, loop: a.loop.yaml}]\nconcurrency: %d\n", slots),
	})
	s.startWorker(0)
	let := func() {
		check(t, os.WriteFile(goOn, nil, 0o644))
	}
	// interrupted signals a command once all runs in progress have a state, and gives what their ends are.
	interrupted := func(events string, signals int) (ends map[record.Status]int) {
		c := s.byWorkers("there", "--events", events)
		said := s.begin(c)
		progress := filepath.Join(s.dir, "suite", "there", results.Progress)
		await(t, "all that are in progress have a state, and view has the progress", func() bool {
			n := 0
			for _, types := range s.events(events) {
				n += strings.Count(types, string(record.IterationCompleted))
			}
			text, _ := os.ReadFile(progress)
			return n == slots && bytes.Contains(text, fmt.Appendf(nil, "of %d", runs))
		})
		for _, heard := range []string{"stopping", "cancel"}[:signals] {
			check(t, c.Process.Signal(os.Interrupt))
			await(t, heard, func() bool { return said.has(heard) })
		}
		if signals == 1 {
			let()
		}
		if err, ok := errors.AsType[*exec.ExitError](c.Wait()); !ok || err.ExitCode() != exit.Stopped {
			t.Errorf("%v: %s", err, said.String())
		}
		s.undamaged("there")
		ends = map[record.Status]int{}
		for run, err := range record.ReadRuns(filepath.Join(s.dir, "suite/there")) {
			check(t, err)
			if run.Iterations[0].Workspace != nil {
				ends[run.Outcome.Status]++
			}
		}
		return ends
	}
	drained := interrupted("drained.jsonl", 1)
	if n := drained[record.Completed]; n < slots || n > slots+1 || len(drained) != 1 { // one may have been on its way
		t.Errorf("after one signal the runs are %v", drained)
	}
	check(t, os.Remove(goOn))
	if ends := interrupted("cancelled.jsonl", 2); ends[record.Completed] != drained[record.Completed] || ends[record.Cancelled] != slots {
		t.Errorf("after another two signals the runs are %v", ends)
	}
	let()
	s.must(s.byWorkers("there"))
	s.undamaged("there")
	if n := len(s.records("there", timeless)); n != runs {
		t.Errorf("%d of %d runs are there", n, runs)
	}
}
