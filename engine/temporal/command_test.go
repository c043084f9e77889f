package temporal

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// A suite that workers make is the one that one machine makes: records, scores, report, ledger and events. Its spans are
// one trace, and its budget ends it to the call, whichever worker has borrowed it. A run says what it sends.
func TestWorkersMakeTheSameSuite(t *testing.T) {
	t.Parallel()
	s := newSite(t, sharedServer, map[string]string{
		"data/tasks.jsonl": tasks(6), "loops/a.loop.yaml": trialLoop,
		"suite.yaml": `suite: simulated
tasks: data/tasks.jsonl
models:
  m: {provider: simulate, price: {input: 1, output: 2}, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}
  canned: {provider: script, price: free, responses: ['{"score": 1}'], after_last: repeat}
configurations:
  - {name: once, loop: loops/a.loop.yaml, set: {terminate.max_iterations: 1}}
  - {name: twice, loop: loops/a.loop.yaml}
scorers:
  - {name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}
  - {name: judged, type: judge, model: canned, rubric: is it good}
budget: {calls: 1000}
concurrency: 4
`,
	})
	s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
	spans := s.collect()
	s.startWorker(0)
	s.startWorker(1)
	loud := s.byWorkers("there", "--events", "events.jsonl")
	loud.Args = slices.DeleteFunc(loud.Args, func(arg string) bool { return arg == "-q" })
	in := " of the folder " + filepath.Join(s.dir, "suite")
	if said := s.must(loud); !strings.Contains(said, "workers get 3 files (") || !strings.Contains(said, in) {
		t.Errorf("it says %s", said)
	}
	s.alike("here", "there", 12, func(*record.Run) {})
	report := func(dir string) string {
		return strings.ReplaceAll(s.must(s.command("report", dir, "--format", "markdown")), dir, "DIR")
	}
	if here, there := report("here"), report("there"); here != there {
		t.Errorf("here:\n%s\nthere:\n%s", here, there)
	}
	if events, err := os.ReadFile(filepath.Join(s.dir, "suite", "events.jsonl")); err != nil || bytes.Count(events, []byte(`"agent_ended"`)) != 12 {
		t.Errorf("the events: %s, %v", events, err)
	}
	if here, there := s.ledger("here"), s.ledger("there"); there.Paid.Calls != 30 || there.Paid != here.Paid || there.Doubt.Calls != 0 {
		t.Errorf("the ledger has %+v and %d in doubt; here it has %+v", there.Paid, there.Doubt.Calls, here.Paid)
	}

	few := plainSuite(6, simulated, 4)
	few["suite.yaml"] += "budget: {calls: 4}\n"
	s.write(few)
	s.write(map[string]string{".env": "KEY=secret"})
	s.fails(s.byWorkers("spent"), exit.Stopped, "\nthe suite's budget is spent after 4 of 6 runs", "warning: workers get 6 files (", "), without .env"+in)
	if l := s.ledger("spent"); l.Paid.Calls != 4 || l.Doubt.Calls != 0 {
		t.Errorf("%d calls are paid and %d in doubt, want 4 and 0", l.Paid.Calls, l.Doubt.Calls)
	}
	s.write(map[string]string{".gitignore": "*.jsonl\n"})
	s.fails(s.byWorkers("ignored"), exit.WrongUsage, "may hold secrets: tasks.jsonl\nhint: send it by an exception in .gitignore, such as !tasks.jsonl")

	s.endWorkers() // they send their last spans
	want := map[string]int{
		" > suite simulated": 1, "suite simulated > invoke_agent once": 6, "suite simulated > invoke_agent twice": 6,
		"invoke_agent once > iteration": 6, "invoke_agent twice > iteration": 12, "iteration > chat m": 18,
		"suite simulated > evaluate judged": 12, "evaluate judged > chat canned": 12, "invoke_agent once > scores": 6, "invoke_agent twice > scores": 6,
	}
	if got := spans.of("suite simulated"); !maps.Equal(got, want) {
		t.Errorf("the spans are\n%v, want\n%v", got, want)
	}
}

// collected are the spans that a collector was sent, by whatever process.
type collected struct {
	mu    sync.Mutex
	spans []*trace.Span
}

// collect starts a collector, which all processes of a site then know.
func (s *site) collect() *collected {
	c := &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		var traces trace.TracesData
		if err := proto.Unmarshal(body, &traces); err != nil {
			s.Error(err)
		}
		for _, of := range traces.ResourceSpans {
			c.spans = append(c.spans, of.ScopeSpans[0].Spans...)
		}
	}))
	s.Cleanup(server.Close)
	s.env = append(s.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	return c
}

// of counts the spans of the trace that has a span, by the names of their parents and their own.
func (c *collected) of(root string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, id, found := map[string]string{}, "", map[string]int{}
	for _, span := range c.spans {
		names[string(span.SpanId)] = span.Name
		if span.Name == root {
			id = string(span.TraceId)
		}
	}
	for _, span := range c.spans {
		if string(span.TraceId) == id {
			found[names[string(span.ParentSpanId)]+" > "+span.Name]++
		}
	}
	return found
}

// The program says what is wrong in one line, with a hint, and ends with the code for it.
func TestTheProgramSaysWhatIsWrong(t *testing.T) {
	files := plainSuite(2, "{provider: simulate}", 1)
	s := newSite(t, sharedServer, files)
	run, worker := []string{"run", "suite.yaml", "--executor", "temporal"}, []string{"worker"}
	for _, c := range []struct {
		command       []string
		namespace, at string // at: the store
		code          int
		want, hint    string
	}{
		{worker, "absent", s.store, exit.NotMeasured, "has no namespace absent", "temporal operator namespace create --namespace absent"},
		{run, "default", "suite.yaml/in", exit.NotMeasured, "the store suite.yaml/in cannot be used", "nothing was run"},
		{worker, "default", "", exit.WrongUsage, "--store is missing", "a folder that all machines share"},
		{[]string{"run", "-", "--executor", "temporal"}, "default", s.store, exit.WrongUsage, "a suite from stdin has no folder", "write it to a file"},
		{append(run, "--worker-timeout", "1s"), "default", s.store, exit.WrongUsage, "--worker-timeout 1s: want at least 2s", "twice a second"},
		{append(worker, "--store-timeout", "1ms"), "default", s.store, exit.WrongUsage, "--store-timeout 1ms: want at least 1s", "is the default"},
		{append(worker, "--concurrency", "0"), "default", s.store, exit.WrongUsage, "--concurrency 0: want at least 1", "one after the other"},
	} {
		run := s.command(append(c.command, "--address", s.Address, "--namespace", c.namespace, "--store", c.at)...)
		run.Stdin = strings.NewReader(files["suite.yaml"])
		s.fails(run, c.code, "agentbench: ", c.want, "\nhint: ", c.hint)
	}
}

// A worker whose environment makes another suite of the same files refuses to run it, and says
// so once: nothing was run.
func TestAWorkerWithAnotherEnvironment(t *testing.T) {
	t.Parallel()
	files := plainSuite(2, "{provider: simulate}", 1)
	files["suite.yaml"] = "roots: {data: {env: QUESTIONS}}\n" + strings.Replace(files["suite.yaml"], "tasks: tasks.jsonl", "tasks: data:/tasks.jsonl", 1)
	files["other/tasks.jsonl"] = tasks(3)
	s := newSite(t, sharedServer, files)
	s.env = []string{"QUESTIONS=" + filepath.Join(s.dir, "suite/other")}
	s.startWorker(0)
	s.env = []string{"QUESTIONS=" + filepath.Join(s.dir, "suite")}
	s.fails(s.byWorkers("there"), exit.NotMeasured, "the suite is another one on this machine", "hint: ")
	if made := s.files(filepath.Join(s.store, "runs")); len(made) > 0 {
		t.Errorf("%v was run", made)
	}
}

// A workspace may begin with a commit of the repository that the suite's folder is.
func TestARepositoryTravels(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	s := newSite(t, sharedServer, map[string]string{
		"suite.yaml":  "suite: s\ntasks: [{id: t, input: i}]\nconfigurations: [{name: a, loop: a.loop.yaml}]\n",
		"a.loop.yaml": "loop: a\nworkspace: {from: {git: '{{ \".\" }}', ref: main}}\nagent: {command: [ls]}\nprompt: p\nterminate: {max_iterations: 1}\n",
		"file":        "committed",
	})
	for _, args := range []string{"init -q -b main", "add -A", "-c user.name=a -c user.email=a@example.com commit -q -m a"} {
		c := exec.Command(git, strings.Fields(args)...)
		c.Dir = filepath.Join(s.dir, "suite")
		s.must(c)
	}
	s.startWorker(0)
	s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
	s.must(s.byWorkers("there"))
	if here, there := s.records("here", timeless), s.records("there", timeless); len(here) != 1 || !maps.Equal(here, there) {
		t.Errorf("here %v, there %v", here, there)
	}
}

// A coordinator that is lost with the server and its data leaves a budget that counts as spent,
// until repair releases it: then the same command makes the rest.
func TestRepairReleasesWhatALostServerHeld(t *testing.T) {
	t.Parallel()
	const runs = 8
	server := func(t testing.TB) *devServer { return ownServer(t, "") }
	files := plainSuite(runs, strings.Replace(simulated, "simulate,", "simulate, sleep: true, latency: {median: 300ms},", 1), 2)
	files["suite.yaml"] += "budget: {calls: 100}\n"
	s := newSite(t, server, files)
	s.startWorker(0)
	c := s.byWorkers("there")
	s.begin(c)
	await(t, "a run is done", func() bool { return s.done("there") >= 1 })
	_ = c.Process.Kill()
	_ = c.Wait()
	s.kill()
	if err := s.start(); err != nil { // in memory: it knows nothing
		t.Fatal(err)
	}
	s.fails(s.byWorkers("there"), exit.Stopped, "all that was left of the budget counts as spent; agentbench repair --release")
	s.must(s.command("repair", "there", "--release"))
	s.must(s.byWorkers("there"))
	if n := len(s.records("there", timeless)); n != runs {
		t.Errorf("%d of %d runs are there", n, runs)
	}
}
