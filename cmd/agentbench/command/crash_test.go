package command

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
)

// AGENTBENCH_KILLS=200 kills that often, a suite of 2,000 runs instead of one
// of 100.
func wantedKills(t *testing.T, otherwise int) (kills, tasks int) {
	t.Helper()
	text := os.Getenv("AGENTBENCH_KILLS")
	if text == "" {
		return otherwise, 50
	}
	kills, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return kills, 1000
}

// crashes is a suite that is run by processes that are killed.
type crashes struct {
	*testing.T
	folder string   // of the suite, in which its processes run
	env    []string // of its processes, beside the usual
	random *rand.Rand
}

const crashLoop = `loop: a
agent: {model: m, reply: json}
prompt: "{{ task.input }} {{ feedback }}"
evaluate: {confidence: "double(output.quality)", feedback: '"more than " + string(output.quality)'}
terminate: {confidence: {threshold: 0.8}, max_iterations: 2}
`

func newCrashes(t *testing.T, model string, tasks int) *crashes {
	t.Helper()
	c := &crashes{T: t, folder: t.TempDir(), random: rand.New(rand.NewPCG(1, 2))}
	var rows strings.Builder
	for n := range tasks {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"task %d\"}\n", n, n)
	}
	c.write("tasks.jsonl", rows.String())
	c.write("a.loop.yaml", crashLoop)
	c.write("suite.yaml", `suite: crashes
tasks: tasks.jsonl
models: {m: `+model+`}
configurations:
  - {name: once, loop: a.loop.yaml, set: {terminate.max_iterations: 1}}
  - {name: twice, loop: a.loop.yaml}
scorers: [{name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}]
concurrency: 8
`)
	return c
}

func (c *crashes) write(name, text string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

// session is how one process ended.
type session struct {
	killed  bool
	report  string
	started []string // the runs that it began
	took    time.Duration
}

// run runs the suite into a folder; a process that lives longer than it may is
// killed. Any other end than a good one fails the test.
func (c *crashes) run(out string, most time.Duration) session {
	c.Helper()
	events := filepath.Join(c.folder, "events")
	os.Remove(events) // it may not be there
	child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--out", out, "--events", "events")
	var stdout, stderr bytes.Buffer
	child.Dir, child.Stdout, child.Stderr = c.folder, &stdout, &stderr
	child.Env = append(os.Environ(), c.env...)
	began := time.Now()
	if err := child.Start(); err != nil {
		c.Fatal(err)
	}
	if most > 0 {
		timer := time.AfterFunc(most, func() { child.Process.Kill() })
		defer timer.Stop()
	}
	err := child.Wait()
	s := session{report: stdout.String(), started: c.startedIn(events), took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == -1: // a signal
		s.killed = true
	default:
		c.Fatalf("%v: %s", err, stderr.String())
	}
	return s
}

// startedIn are the runs that an events file tells of; its end may be torn.
func (c *crashes) startedIn(path string) (ids []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		var event struct{ Event, Run string }
		if json.Unmarshal(line, &event) == nil && event.Event == "run_started" {
			ids = append(ids, event.Run)
		}
	}
	return ids
}

// records are the records of a folder that count, in the form in which they are
// compared. A crash may leave one torn end and nothing else that is bad.
func (c *crashes) records(out string) map[string]string {
	c.Helper()
	return c.recordsAs(out, (*record.Run).Lasting)
}

// recordsAs are the records of a folder that count, each in a form.
func (c *crashes) recordsAs(out string, form func(*record.Run) *record.Run) map[string]string {
	c.Helper()
	dir := filepath.Join(c.folder, out)
	found := map[string]string{}
	for run, err := range record.ReadRuns(dir) {
		var damage *record.Problem
		switch {
		case errors.As(err, &damage) && damage.Torn:
			continue
		case errors.Is(err, os.ErrNotExist):
			return found
		case err != nil:
			c.Fatal(err)
		case !run.Outcome.Counts():
			c.Errorf("run %s: %+v", run.ID, run.Outcome)
		}
		text, err := json.Marshal(form(run))
		if err != nil {
			c.Fatal(err)
		}
		if found[run.ID] != "" {
			c.Errorf("run %s is there twice", run.ID)
		}
		found[run.ID] = string(text)
	}
	return found
}

// timeless is what lasts of a run but for its times, which at a server are never
// the same.
func timeless(run *record.Run) *record.Run {
	run = run.Lasting()
	run.Elapsed = 0
	for i := range run.Iterations {
		it := &run.Iterations[i]
		it.Start, it.End, it.Working = 0, 0, 0
		for n := range it.Calls {
			it.Calls[n].Start, it.Calls[n].Duration = 0, 0
		}
	}
	return run
}

// scores are the lines of the scores of a folder that is complete.
func (c *crashes) scores(out string) []string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, out, "scores.jsonl"))
	if err != nil {
		c.Fatal(err)
	}
	return slices.Sorted(strings.Lines(string(text)))
}

// TestF1_KilledSuites kills a suite at random moments, also while it resumes
// and writes its report, until it is done, and so on with the next folder. P1:
// nothing that was finished is lost or there twice. P2: nothing that was
// finished is begun again. P3: records, scores and report are those of a suite
// that was left alone.
func TestF1_KilledSuites(t *testing.T) {
	kills, tasks := wantedKills(t, 30)
	c := newCrashes(t, "{provider: simulate, sleep: true, latency: {median: 8ms, sigma: 0.4}, price: {input: 1, output: 2}, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", tasks)
	whole := c.run("whole", 0)
	want := c.records("whole")
	if len(want) != 2*tasks {
		t.Fatalf("%d runs", len(want))
	}
	for folder := 0; kills > 0; folder++ {
		out := "r" + strconv.Itoa(folder)
		kills -= c.untilDone(out, whole.took)
		if got := c.records(out); !maps.Equal(got, want) {
			t.Fatalf("%s: the records differ", out)
		}
		if !slices.Equal(c.scores(out), c.scores("whole")) {
			t.Fatalf("%s: the scores differ", out)
		}
		last := c.run(out, 0)
		if last.report != whole.report || len(last.started) > 0 {
			t.Fatalf("%s: %d runs were begun again; the report is\n%s\nand not\n%s", out, len(last.started), last.report, whole.report)
		}
	}
}

// untilDone runs a suite again and again until one process is not killed, and
// says how many were.
func (c *crashes) untilDone(out string, usual time.Duration) (kills int) {
	c.Helper()
	before := map[string]string{}
	for {
		most := int64(usual) * int64(10+kills) / 10 // later ones live longer: the machine may have become slow
		s := c.run(out, time.Duration(c.random.Int64N(most)))
		for _, id := range s.started {
			if before[id] != "" {
				c.Fatalf("kill %d: the finished run %s was begun again", kills, id)
			}
		}
		after := c.records(out)
		for id, text := range before {
			if after[id] != text {
				c.Fatalf("kill %d: the finished run %s was\n%s\nand is\n%s", kills, id, text, after[id])
			}
		}
		if !s.killed {
			return kills
		}
		kills++
		before = after
	}
}

// TestF1_KilledSuitesPayOnce does the same at a server. P2: a call is made again
// only where its answer was on its way. P3: records but for their times, and
// scores, are those of a suite that was left alone.
func TestF1_KilledSuitesPayOnce(t *testing.T) {
	kills, tasks := wantedKills(t, 4)
	var calls atomic.Int64
	mock := mockserver.New(mockserver.Options{
		Rules: []mockserver.Rule{{Replies: []mockserver.Reply{{Text: `{"quality": 0.7}`}}}}, Latency: mockserver.Latency{Median: 10 * time.Millisecond},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		mock.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := newCrashes(t, "{provider: openai, name: mock, base_url: "+server.URL+"/v1, price: free}", tasks)
	c.env = []string{"OPENAI_API_KEY=none"}
	took := c.run("other/whole", 0).took
	whole := calls.Swap(0)
	want := c.recordsAs("other/whole", timeless)
	if len(want) != 2*tasks {
		t.Fatalf("%d runs", len(want))
	}
	for folder := 0; kills > 0; folder++ {
		out := fmt.Sprintf("f%d/r", folder) // and a cache of its own
		killed := c.untilDone(out, took)
		if got := c.recordsAs(out, timeless); !maps.Equal(got, want) {
			t.Fatalf("%s: the records differ", out)
		}
		if !slices.Equal(c.scores(out), c.scores("other/whole")) {
			t.Fatalf("%s: the scores differ", out)
		}
		if made, most := calls.Swap(0), whole+int64(8*killed); made > most {
			t.Errorf("%s: %d calls after %d kills; %d would be the most", out, made, killed, most)
		}
		kills -= max(1, killed)
	}
}

// TestF3_KilledSuitesKeepTheirBudget kills a suite at moments at which calls are
// on their way, with no cache to save their answers: what the sessions call
// together never exceeds the budget.
func TestF3_KilledSuitesKeepTheirBudget(t *testing.T) {
	const budget = 60
	var calls atomic.Int64
	inFlight := make(chan struct{}, 1000)
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{{Replies: []mockserver.Reply{{Text: `{"quality": 0.7}`}}}}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%10 == 0 {
			inFlight <- struct{}{}
		}
		mock.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := newCrashes(t, "{provider: openai, name: mock, base_url: "+server.URL+"/v1, price: free}", 50)
	suite, err := os.ReadFile(filepath.Join(c.folder, "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("suite.yaml", fmt.Sprintf("%sbudget: {calls: %d}\n", suite, budget))
	for calls.Load() <= budget {
		child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", "off", "--out", "r")
		child.Dir, child.Env = c.folder, append(os.Environ(), "OPENAI_API_KEY=none")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		select {
		case <-inFlight:
			child.Process.Kill()
			<-ended
			continue
		case <-ended:
		}
		if code := child.ProcessState.ExitCode(); code != exit.Stopped {
			t.Errorf("exit code %d", code)
		}
		break
	}
	if n := calls.Load(); n > budget || n < budget/2 {
		t.Errorf("%d calls under a budget of %d", n, budget)
	}
}
