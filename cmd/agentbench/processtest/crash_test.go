package processtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// AGENTBENCH_KILLS=200 kills that often, a suite of 2,000 runs instead of one
// of 100; short tests kill eight times.
func wantedKills(t *testing.T, otherwise int) (kills, tasks int) {
	t.Helper()
	text := os.Getenv("AGENTBENCH_KILLS")
	if text == "" && testing.Short() {
		return min(otherwise, 8), 50
	} else if text == "" {
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
	child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--all", "--out", out, "--events", "events")
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
	return c.recordsAs(out, (*record.Run).WithoutVolatile)
}

// recordsAs are the records of a folder that count, each in a form.
func (c *crashes) recordsAs(out string, form func(*record.Run) *record.Run) map[string]string {
	c.Helper()
	dir := filepath.Join(c.folder, out)
	found := map[string]string{}
	for run, err := range record.ReadRuns(dir) {
		switch {
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
	run = run.WithoutVolatile()
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
	t.Parallel()
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

// TestF1_KilledSuitesKeepTheirWorkspaces does the same where programs edit files: the records are those of a suite that
// was left alone but for their times, every state that they name can be restored, and nothing of a killed run is left.
func TestF1_KilledSuitesKeepTheirWorkspaces(t *testing.T) {
	skipLong(t)
	t.Parallel()
	kills, _ := wantedKills(t, 4)
	c := newCrashes(t, "{provider: simulate}", 12)
	c.write("a.loop.yaml", `loop: a
workspace: {files: '{"log.txt": task.input + "\n"}', setup: {command: [sh, -c, "echo set up >>log.txt"]}, keep: failed}
agent: {command: [sh, -c, "echo $1 >>log.txt; cp log.txt copy-$1.txt; echo '{\"quality\": 0.7}'", sh, "{{ iteration }}"], reply: json}
prompt: "{{ task.input }}"
evaluate: {test: [sh, -c, "test $(wc -l <log.txt) = 4"]}
terminate: {max_iterations: 2}
`)
	took := c.run("whole", 0).took
	want := c.recordsAs("whole", timeless)
	if len(want) != 24 {
		t.Fatalf("%d runs", len(want))
	}
	for folder := 0; kills > 0; folder++ {
		out := fmt.Sprintf("r%d", folder)
		kills -= max(1, c.untilDone(out, took))
		if got := c.recordsAs(out, timeless); !maps.Equal(got, want) {
			t.Fatalf("%s: the records differ", out)
		}
		if damage, err := results.DamagedStates(t.Context(), filepath.Join(c.folder, out)); err != nil || !damage.None() {
			t.Errorf("%s: %+v, %v", out, damage, err)
		}
	}
}

// TestF1_KilledSuitesPayOnce does the same at a server. P2: a call is made again
// only where its answer was on its way. P3: records but for their times, and
// scores, are those of a suite that was left alone.
func TestF1_KilledSuitesPayOnce(t *testing.T) {
	t.Parallel()
	kills, tasks := wantedKills(t, 4)
	var calls atomic.Int64
	mock := mockserver.New(mockserver.Options{
		Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}, Latency: 10 * time.Millisecond,
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
	t.Parallel()
	const budget = 60
	var calls atomic.Int64
	inFlight := make(chan struct{}, 1000)
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}})
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

// sessionsForFaults is how often a run is tried at most: the default of --attempts.
const sessionsForFaults = 3

// TestF10_F21_EveryFifthAnswerIsAFault runs a suite at a server whose every
// fifth answer is a fault, each kind in turn that may pass: all runs end scored,
// within the attempts that they have. AGENTBENCH_FAULTS=2000 makes that many runs.
func TestF10_F21_EveryFifthAnswerIsAFault(t *testing.T) {
	t.Parallel()
	runs, err := strconv.Atoi(cmp.Or(os.Getenv("AGENTBENCH_FAULTS"), "150"))
	if err != nil {
		t.Fatal(err)
	}
	var mocks []*mockserver.Server // the first one has no fault
	for _, text := range append([]string{"at=1000000:500"}, passing...) {
		faults, err := mockserver.ParseFaults(text)
		if err != nil {
			t.Fatal(err)
		}
		mocks = append(mocks, mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts("a reply of several chunks")}, Faults: faults}))
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := mocks[0]
		if n := asked.Add(1); n%5 == 0 {
			next = mocks[1+n/5%int64(len(passing))]
		}
		next.ServeHTTP(w, r)
	}))
	defer server.Close()
	folder := faultySuite(t, server.URL, runs/2)
	sessions := 0
	for scored := 0; scored < runs; scored = scoredIn(t, filepath.Join(folder, "r")) {
		if sessions++; sessions > sessionsForFaults {
			t.Fatalf("%d of %d runs are scored after %d sessions", scored, runs, sessionsForFaults)
		}
		runFaulty(t, folder)
	}
	shown := 0
	for i, mock := range mocks[1:] {
		told := mock.Stats()
		if shown += told.Requests; told.Requests == 0 || len(told.Faults) != 1 {
			t.Errorf("%s: %+v", passing[i], told)
		}
	}
	if int64(shown) != asked.Load()/5 || shown < runs/5 {
		t.Errorf("%d faults in %d requests", shown, asked.Load())
	}
	t.Logf("%d runs scored in %d sessions: %d requests, %d faults of %d kinds", runs, sessions, asked.Load(), shown, len(passing))
}

// passing are the faults that another attempt may survive.
var passing = []string{"408", "409", "429", "429:retry-after=1", "500", "502", "503", "504", "529", "reset", "slow", "stall", "cut", "half-json", "wrong-type"}

// faultySuite asks a server for whole answers and for streams.
func faultySuite(t *testing.T, address string, tasks int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	var rows strings.Builder
	for n := range tasks {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"task %d\", \"target\": \"a reply of several chunks\"}\n", n, n)
	}
	loop := "loop: %s\nagent: {model: %[1]s}\nprompt: '{{ task.input }}'\nterminate: {max_iterations: 1}\n"
	model := fmt.Sprintf("{provider: openai, base_url: %s/v1, price: free, first_byte_timeout: 1s, idle_timeout: 500ms, stream: ", address)
	for name, text := range map[string]string{
		"tasks.jsonl": rows.String(), "whole.yaml": fmt.Sprintf(loop, "whole"), "stream.yaml": fmt.Sprintf(loop, "stream"),
		"suite.yaml": "suite: faults\ntasks: tasks.jsonl\nmodels: {whole: " + model + "false}, stream: " + model + "true}}\n" +
			"configurations: [{name: whole, loop: whole.yaml}, {name: stream, loop: stream.yaml}]\nscorers: [{name: right, type: exact}]\nconcurrency: 32\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// runFaulty makes one session. Runs that had faults are no reason to fail.
func runFaulty(t *testing.T, folder string) {
	t.Helper()
	child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", "off", "--out", "r")
	child.Dir, child.Env = folder, append(os.Environ(), "OPENAI_API_KEY=none")
	out, err := child.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !(errors.As(err, &failed) && failed.ExitCode() == exit.NotMeasured) {
		t.Fatalf("%v: %s", err, out)
	}
}

// scoredIn counts the runs of a folder that completed with the right answer.
func scoredIn(t *testing.T, folder string) (scored int) {
	t.Helper()
	right := map[string]bool{}
	for score, err := range record.ReadScores(folder) {
		if err != nil {
			t.Fatal(err)
		}
		right[score.Run] = score.Unscored == "" && score.Value == 1
	}
	for run, err := range record.ReadRuns(folder) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Outcome.Status == record.Completed && right[run.ID] {
			scored++
		}
	}
	return scored
}

// TestF23_AnAnswerOf30MB: a whole suite, from the call to the report, needs at most
// five times the size of a huge answer besides what it needs for a small one.
func TestF23_AnAnswerOf30MB(t *testing.T) {
	skipLong(t)
	const size = 30 // MiB, as the garbage collector tells
	for _, options := range []string{"provider: openai, stream: false", "provider: openai, stream: true", "provider: anthropic, stream: false", "provider: anthropic, stream: true"} {
		for _, cache := range []string{"off", "on"} {
			if cache == "off" && strings.HasPrefix(options, "provider: anthropic") {
				continue // behind the provider the way is the same
			}
			small, huge := heapOf(t, 100_000, options, cache), heapOf(t, size<<20, options, cache)
			t.Logf("%s, cache %s: a heap of %d MiB, %d MiB for a small answer", options, cache, huge, small)
			if huge-small > 5*size {
				t.Errorf("%s, cache %s: the heap grew by %d MiB, which is more than five times the answer", options, cache, huge-small)
			}
		}
	}
}

// huge answers in chat completions and Messages, whole or as a stream, with a text of so many bytes in one line.
func huge(size int) http.Handler {
	const chatUsage, messageUsage = `"usage":{"prompt_tokens":5,"completion_tokens":9}`, `"usage":{"input_tokens":5,"output_tokens":9}`
	answers := map[string]string{
		"/v1/chat/completions":        `{"choices":[{"index":0,"message":{"content":"@"},"finish_reason":"stop"}],` + chatUsage + `}`,
		"/v1/chat/completions stream": `data: {"choices":[{"index":0,"delta":{"content":"@"},"finish_reason":"stop"}],` + chatUsage + "}\n\ndata: [DONE]\n\n",
		"/v1/messages":                `{"type":"message","content":[{"type":"text","text":"@"}],"stop_reason":"end_turn",` + messageUsage + `}`,
		"/v1/messages stream": `data: {"type":"message_start","message":{"content":[],` + messageUsage + `}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@"}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":0}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},` + messageUsage + "}\n\n" +
			`data: {"type":"message_stop"}` + "\n\n",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form := r.URL.Path
		if asked, _ := io.ReadAll(r.Body); bytes.Contains(asked, []byte(`"stream":true`)) {
			form += " stream"
		}
		before, after, _ := strings.Cut(answers[form], "@")
		_, _ = io.WriteString(w, before)
		letters := bytes.Repeat([]byte("a"), 1000)
		for range size / len(letters) {
			_, _ = w.Write(letters) // a client that goes away fails the test
		}
		_, _ = io.WriteString(w, after)
	})
}

// heapOf is the largest heap, in MiB, of a run with an answer of so many bytes.
func heapOf(t *testing.T, size int, options, cache string) (most int) {
	t.Helper()
	server := httptest.NewServer(huge(size))
	defer server.Close()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":     "loop: a\nagent: {model: m}\nprompt: write much\nterminate: {max_iterations: 1}\n",
		"suite.yaml": fmt.Sprintf("suite: huge\ntasks: [{input: x}]\nmodels: {m: {base_url: %s/v1, price: free, %s}}\nconfigurations: [{name: a, loop: a.yaml}]\n", server.URL, options),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", cache, "--cache-dir", "cache", "--out", "r")
	child.Dir, child.Env = folder, append(os.Environ(), "OPENAI_API_KEY=none", "ANTHROPIC_API_KEY=none", "GODEBUG=gctrace=1", "GOGC=100")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	if runs, err := os.Stat(filepath.Join(folder, "r", "records.jsonl")); err != nil || size > 1<<20 && runs.Size() < 30<<20 {
		t.Fatalf("the record: %v, %v", runs, err)
	}
	for _, heaps := range regexp.MustCompile(`(\d+)->(\d+)->\d+ MB`).FindAllSubmatch(out, -1) { // before and at the end of each collection
		for _, heap := range heaps[1:] {
			n, _ := strconv.Atoi(string(heap))
			most = max(most, n)
		}
	}
	return most
}

// scoringFault is a scorer that cannot judge, and why.
type scoringFault struct{ name, scorer, why string }

// scoringFaults are those that bad input makes; at is a server of judges and endpoints.
func scoringFaults(at string) []scoringFault {
	command := func(script string) string {
		return `type: command, timeout: 3s, command: [sh, -c, "` + script + `"]`
	}
	return []scoringFault{
		{"not-a-number", `type: cel, expr: "0.0 / double(size(output) - size(output))"`, "scorer not-a-number gave NaN, which is not between 0 and 1"},
		{"infinite", `type: cel, expr: "1.0 / double(size(output) - size(output))"`, "scorer infinite gave +Inf, which is not between 0 and 1"},
		{"too-much", `type: cel, expr: "7.0"`, "scorer too-much gave 7, which is not between 0 and 1"},
		{"out-of-range", `type: cel, expr: "7.0", range: [1, 5]`, "scorer out-of-range gave 7, which is not between 1 and 5"},
		{"wrong-type", `type: cel, expr: "double(task.metadata.none)"`, `key "none" not found`},
		{"long", `type: regex, value: "string(task.vars.long)", pattern: x`, "the value has 2000000 bytes; at most 1048576 are searched"},
		{"no-target", `type: exact, target: "null"`, "the target is missing"},
		{"hangs", command("sleep 300 & wait"), `the program "sh" took longer than 3s and was killed`},
		{"crashes", command("echo broken >&2; exit 3"), `the program "sh" failed: exit status 3: broken`},
		{"garbage", command("echo fine"), "reading the answer: it is not JSON"},
		{"silent", command("true"), "reading the answer: it is empty"},
		{"program-nan", command("echo NaN"), "reading the answer: it is not JSON"},
		{"program-too-much", command("echo 7"), "scorer program-too-much gave 7, which is not between 0 and 1"},
		{"floods", command("yes | head -c 300000"), `the program "sh" wrote 300000 bytes; 262144 are allowed`},
		{"not-there", "type: http, url: '" + at + "/404'", "the endpoint: HTTP 404"},
		{"prose-endpoint", "type: http, url: '" + at + "/prose'", "reading the answer: it is not JSON"},
		{"prose", "type: judge, model: prose, rubric: good", "bad_response: the judge's answer cannot be read: it is not JSON"},
		{"out-of-scale", "type: judge, model: seven, rubric: good", "its score 7 is not between 0 and 1, and that twice"},
		{"no-key", "type: judge, model: refuses, rubric: good", "auth: "},
		{"half-a-panel", "type: judge, models: [prose, seven, fine], rubric: good", "2 of 3 votes failed: bad_response"},
		{"part", "type: all_of, scorers: [garbage, right]", "garbage: reading the answer: it is not JSON"},
	}
}

// judging answers judges and endpoints in every way that is no score.
func judging(t *testing.T) (address string) {
	said := map[string]string{"prose": "Good work!", "seven": `{"score": 7}`, "fine": `{"score": 1}`}
	mux := http.NewServeMux()
	mux.HandleFunc("/prose", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, said["prose"]) })
	for name, text := range said {
		mux.HandleFunc("/"+name+"/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, text)
		})
	}
	mux.HandleFunc("/refuses/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func scoringSuite(t *testing.T, address string, faults []scoringFault) (folder string) {
	t.Helper()
	folder = t.TempDir()
	suite := "suite: scoring\ntasks: [{id: a, input: x, target: x, vars: {long: " + strings.Repeat("y", 2_000_000) + "}, metadata: {level: 1}}]\n" +
		"configurations: [{name: default, loop: l.yaml}]\nmodels:\n  echo: {provider: script, responses: [x]}\n"
	for _, name := range []string{"prose", "seven", "fine", "refuses"} {
		suite += fmt.Sprintf("  %s: {provider: openai, base_url: '%s/%[1]s/v1', price: free, stream: false}\n", name, address)
	}
	suite += "scorers:\n- {name: right, type: exact}\n"
	for _, f := range faults {
		suite += "- {name: " + f.name + ", " + f.scorer + "}\n"
	}
	for name, text := range map[string]string{"suite.yaml": suite, "l.yaml": "loop: l\nagent: {model: echo}\nprompt: x\nmax_iterations: 1\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestF80_WhatCannotBeJudgedIsUnscored runs a suite whose every scorer but one cannot judge, each for another reason: the
// run ends, no such score is a number, all are counted with their reason, and the one that can judge is not hindered.
func TestF80_WhatCannotBeJudgedIsUnscored(t *testing.T) {
	skipLong(t)
	t.Parallel()
	at := judging(t)
	faults := scoringFaults(at)
	folder := scoringSuite(t, at, faults)
	run := exec.Command("agentbench", "run", "suite.yaml", "-q", "--all", "--out", "r")
	run.Dir, run.Env = folder, append(os.Environ(), "OPENAI_API_KEY=none")
	table, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, table)
	}
	made := map[string]record.Score{}
	for score, err := range record.ReadScores(filepath.Join(folder, "r")) {
		if err != nil {
			t.Fatal(err)
		}
		made[score.Name] = score
	}
	if right := made["right"]; right.Value != 1 || right.Unscored != "" {
		t.Errorf("the scorer that can judge: %+v", right)
	}
	told := strings.Join(strings.Fields(string(table)), " ")
	for _, f := range faults {
		if score := made[f.name]; !strings.Contains(score.Unscored, f.why) || score.Value != 0 || score.Answer != "" {
			t.Errorf("%s: %+v, want %s", f.name, score, f.why)
		}
		if !regexp.MustCompile(regexp.QuoteMeta(f.name) + ` could not score 1 of 1 runs?: \S`).MatchString(told) {
			t.Errorf("%s is not counted in\n%s", f.name, table)
		}
	}
}
