package temporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
)

// onDemand skips what takes long, unless a trial is asked for.
func onDemand(t *testing.T) {
	t.Helper()
	if os.Getenv(trialVariable) == "" {
		t.Skip(trialVariable + " is not set")
	}
}

// trialVariable says how many runs a trial has that loses workers, the server and the coordinator.
const trialVariable = "AGENTBENCH_TEMPORAL_TRIAL"

// program builds agentbench-temporal once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agentbench-temporal-")
	if err != nil {
		return "", err
	}
	programFolder = dir
	path := filepath.Join(dir, "agentbench-temporal")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./agentbench-temporal")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // it is started within containers, too
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// programFolder has what program has built; "": it has not.
var programFolder string

// itself is the program. Short tests start no processes of it.
func itself(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMain removes what program has built.
func TestMain(m *testing.M) {
	code := m.Run()
	if programFolder != "" {
		os.RemoveAll(programFolder)
	}
	os.Exit(code)
}

// site is a folder with a suite, a server and workers.
type site struct {
	testing.TB
	*devServer
	dir, program string
	store        string
	env          []string // of all its processes, beside this one's
	workers      []*exec.Cmd
}

// newSite writes the files of a suite and starts a server. Its state is in memory, or in a
// file.
func newSite(t testing.TB, durable bool, files map[string]string) *site {
	t.Helper()
	s := &site{TB: t, dir: t.TempDir(), program: itself(t)}
	s.store = filepath.Join(s.dir, "store")
	file := ""
	if durable {
		file = filepath.Join(t.TempDir(), "temporal.db")
	}
	s.devServer = serverOf(t, file)
	for name, text := range files {
		path := filepath.Join(s.dir, "suite", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, w := range s.workers {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	})
	return s
}

// command is one of agentbench-temporal.
func (s *site) command(args ...string) *exec.Cmd {
	c := exec.Command(s.program, args...)
	c.Dir = filepath.Join(s.dir, "suite")
	c.Env = append(append(os.Environ(), "OPENAI_API_KEY=none", "TMPDIR="+s.dir), s.env...)
	return c
}

// there are the flags that name the server and the store.
func (s *site) there() []string {
	return []string{"--address", s.Address, "--task-queue", s.Queue, "--store", s.store}
}

// startWorker starts the n-th worker, also in place of one that was killed.
func (s *site) startWorker(n int, args ...string) {
	s.Helper()
	w := s.command(append(append([]string{"worker", "--dir", filepath.Join(s.dir, "w"+strconv.Itoa(n))}, s.there()...), args...)...)
	w.Stderr = &bytes.Buffer{}
	if err := w.Start(); err != nil {
		s.Fatal(err)
	}
	for len(s.workers) <= n {
		s.workers = append(s.workers, nil)
	}
	s.workers[n] = w
}

// elsewhere is the command that runs the suite by workers.
func (s *site) elsewhere(out string, more ...string) *exec.Cmd {
	args := append([]string{"run", "suite.yaml", "--executor", "temporal", "--worker-timeout", "3s", "-q", "--out", out}, s.there()...)
	return s.command(append(args, more...)...)
}

// must runs a command, and gives what it printed.
func (s *site) must(c *exec.Cmd) string {
	s.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %v\n%s", c.Args[1:], err, out)
	}
	return string(out)
}

// records are those of a folder that lasts, each once.
func (s *site) records(out string, form func(*record.Run)) map[string]string {
	s.Helper()
	found := map[string]string{}
	for run, err := range record.ReadRuns(filepath.Join(s.dir, "suite", out)) {
		if err != nil {
			s.Fatal(err)
		}
		if !run.Outcome.Counts() {
			s.Errorf("run %s: %+v", run.ID, run.Outcome)
		}
		run = run.Lasting()
		form(run)
		text, err := json.Marshal(run)
		if err != nil {
			s.Fatal(err)
		}
		if found[run.ID] != "" {
			s.Errorf("run %s is there twice", run.ID)
		}
		found[run.ID] = string(text)
	}
	return found
}

// scores are the lines of the scores of a folder.
func (s *site) scores(out string) []string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "suite", out, "scores.jsonl"))
	if err != nil {
		s.Fatal(err)
	}
	return slices.Sorted(strings.Lines(string(text)))
}

// timeless takes the times away, which at a real server are never the same.
func timeless(run *record.Run) {
	run.Elapsed = 0
	for i := range run.Iterations {
		it := &run.Iterations[i]
		it.Start, it.End, it.Working = 0, 0, 0
		for n := range it.Calls {
			c := &it.Calls[n]
			c.Start, c.Duration, c.Arrived, c.FirstByte, c.Ended = 0, 0, 0, 0, 0
		}
	}
	if run.Next != nil {
		run.Next.Arrived = 0
	}
}

// tasks are so many tasks.
func tasks(n int) string {
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"task %d\"}\n", i, i)
	}
	return rows.String()
}

const trialLoop = `loop: improve
agent: {model: m, reply: json}
prompt: "{{ task.input }}, again: {{ iteration }}"
terminate: {max_iterations: 2}
`

// A suite that workers make is the one that one machine makes: records, scores and report.
func TestElsewhereIsAsHere(t *testing.T) {
	s := newSite(t, false, map[string]string{
		"data/tasks.jsonl": tasks(12), "loops/a.loop.yaml": trialLoop,
		"suite.yaml": `suite: simulated
tasks: data/tasks.jsonl
models: {m: {provider: simulate, price: {input: 1, output: 2}, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}}
configurations:
  - {name: once, loop: loops/a.loop.yaml, set: {terminate.max_iterations: 1}}
  - {name: twice, loop: loops/a.loop.yaml}
scorers: [{name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}]
budget: {calls: 1000}
concurrency: 4
`,
	})
	s.startWorker(0)
	s.startWorker(1)
	s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
	s.must(s.elsewhere("there", "--events", "events.jsonl"))
	as := func(*record.Run) {}
	if here, there := s.records("here", as), s.records("there", as); len(here) != 24 || !maps.Equal(here, there) {
		t.Errorf("%d runs here, %d there, or they differ", len(here), len(there))
	}
	if !slices.Equal(s.scores("here"), s.scores("there")) {
		t.Error("the scores differ")
	}
	report := func(dir string) string {
		out, err := s.command("report", dir, "--format", "markdown").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(out), dir, "DIR")
	}
	if here, there := report("here"), report("there"); here != there {
		t.Errorf("here:\n%s\nthere:\n%s", here, there)
	}
	events, err := os.ReadFile(filepath.Join(s.dir, "suite", "events.jsonl"))
	if err != nil || bytes.Count(events, []byte(`"agent_ended"`)) != 24 {
		t.Errorf("%d runs ended in the events, %v", bytes.Count(events, []byte(`"agent_ended"`)), err)
	}
	if l := s.ledger("there"); l.Paid.Calls != 36 || l.Doubt.Calls != 0 {
		t.Errorf("the ledger has %d calls and %d in doubt, want 36 and 0", l.Paid.Calls, l.Doubt.Calls)
	}
}

// ledger is what a folder says was spent.
func (s *site) ledger(out string) *record.Balance {
	s.Helper()
	dir := filepath.Join(s.dir, "suite", out)
	m, err := record.ReadManifest(dir)
	if err != nil {
		s.Fatal(err)
	}
	b, err := record.ReadLedger(dir, &m)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// TestTrial loses a worker every few seconds, the server once and the coordinator once:
// all records are there once, equal to those of one machine, the budget holds, and no more
// is paid twice than what was in flight.
func TestTrial(t *testing.T) {
	runs, every := 120, 2*time.Second
	if text := os.Getenv(trialVariable); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s=%s: want a number of runs", trialVariable, text)
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
	const slots, calls = 8, 2
	budget := int64(runs*calls) * 4
	s := newSite(t, true, map[string]string{
		"tasks.jsonl": tasks(runs), "a.loop.yaml": trialLoop,
		"suite.yaml": fmt.Sprintf(`suite: trial
tasks: tasks.jsonl
models: {m: {provider: openai, name: mock, base_url: %s/v1, price: free}}
configurations: [{name: twice, loop: a.loop.yaml}]
scorers: [{name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}]
budget: {calls: %d}
concurrency: 24
`, server.URL, budget),
	})
	s.must(s.command("run", "suite.yaml", "-q", "--out", "one/here"))
	want, scored := s.records("one/here", timeless), s.scores("one/here")
	if len(want) != runs {
		t.Fatalf("%d runs here", len(want))
	}
	answered.Store(0)
	for n := range 3 {
		s.startWorker(n, "--concurrency", strconv.Itoa(slots))
	}
	began := time.Now()
	kills := s.troubled(runs, every, slots)
	took := time.Since(began)
	if there := s.records("there", timeless); !maps.Equal(there, want) {
		t.Errorf("%d runs there, %d here, or they differ", len(there), len(want))
	}
	if !slices.Equal(s.scores("there"), scored) {
		t.Error("the scores differ")
	}
	spent := s.ledger("there")
	if all := spent.Paid.Calls + spent.Doubt.Calls; all > budget || asked.Load() > budget+int64(runs*calls*2) {
		t.Errorf("%d calls are spent of %d", all, budget)
	}
	twice := answered.Load() - int64(runs*calls)
	if most := int64(kills * slots); twice > most || twice < 0 {
		t.Errorf("%d answers were paid twice after %d kills of workers with %d runs each", twice, kills, slots)
	}
	t.Logf("%d runs in %v, %d workers killed, the server and the coordinator once: %d answers of %d paid twice; of the budget of %d calls %d are paid and %d in doubt",
		runs, took.Round(time.Second), kills, twice, runs*calls, budget, spent.Paid.Calls, spent.Doubt.Calls)
}

// troubled runs the suite while workers, the server and the coordinator are killed, and
// says how many workers were.
func (s *site) troubled(runs int, every time.Duration, slots int) (kills int) {
	s.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	done := func() int {
		text, _ := os.ReadFile(filepath.Join(s.dir, "suite", "there", "records.jsonl"))
		return bytes.Count(text, []byte{'\n'})
	}
	coordinator := s.elsewhere("there", "--attempts", "1000")
	var said bytes.Buffer
	start := func() chan error {
		coordinator.Stderr = &said
		if err := coordinator.Start(); err != nil {
			s.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- coordinator.Wait() }()
		return ended
	}
	ended := start()
	tick := time.NewTicker(every)
	defer tick.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	killedServer, killedCoordinator := false, false
	for {
		select {
		case err := <-ended:
			if err != nil {
				s.Fatalf("the coordinator: %v\n%s", err, said.String())
			}
			if !killedServer || !killedCoordinator {
				s.Error("it was done before anything was killed")
			}
			return kills
		case <-tick.C:
			n := random.IntN(len(s.workers))
			_ = s.workers[n].Process.Kill()
			_ = s.workers[n].Wait()
			kills++
			s.startWorker(n, "--concurrency", strconv.Itoa(slots))
		case <-look.C:
			switch n := done(); {
			case !killedServer && n > runs/4:
				killedServer = true
				s.kill()
				s.start()
			case !killedCoordinator && n > runs/2:
				killedCoordinator = true
				_ = coordinator.Process.Kill()
				<-ended
				coordinator = s.elsewhere("there", "--attempts", "1000")
				ended = start()
			}
		}
	}
}
