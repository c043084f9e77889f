package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/proxy"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

const answer = `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`

// flaky is a server that fails at first, and tells how often it was asked.
func flaky(t *testing.T, failures int64) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= failures {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// run makes one run of one call at the server.
func run(t *testing.T, address, options string, budget *pace.Budget) *record.Run {
	t.Helper()
	return runWith(t, address, options, BuildOptions{Budget: budget})
}

func runWith(t *testing.T, address, options string, o BuildOptions) *record.Run {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels: {m: {provider: openai, base_url: \"" + address + "\", price: free" + options + "}}\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\nterminate: {max_iterations: 1}\n")},
	}
	o.Getenv = nothing
	_, loops := builtWith(t, files, o)
	return loops[0].Run(context.Background(), "r", &spec.Task{ID: "t"}, 1, nil)
}

// Connections serve all runs, and are closed with what these keep together.
func TestConnectionsAreClosedAfterTheLastRun(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	states := make(chan http.ConnState, 100)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) { states <- state }
	server.Start()
	t.Cleanup(server.Close)
	var shared Shared
	if r := runWith(t, server.URL, "", BuildOptions{Shared: &shared}); r.Outcome.Status != record.Completed {
		t.Fatalf("%+v", r.Outcome)
	}
	for state := range states {
		if state == http.StateClosed {
			t.Fatal("the connection was closed during the runs")
		}
		if state == http.StateIdle {
			break
		}
	}
	shared.Close()
	if state := <-states; state != http.StateClosed {
		t.Errorf("the connection is %v", state)
	}
}

// P7: where the budget has room for two calls there is no third attempt.
func TestF40_RetriesKeepToTheBudget(t *testing.T) {
	address, asked := flaky(t, 10)
	budget := pace.OfSuite(spec.SuiteBudget{Calls: 2})
	r := run(t, address, "", budget)
	if asked.Load() != 2 || budget.Spent().Calls != 2 || r.Outcome.Reason != record.ReasonSuiteBudget {
		t.Errorf("%d attempts, spent %+v, %+v", asked.Load(), budget.Spent(), r.Outcome)
	}
}

// F15: a prompt that is too long is the loop's doing: it is asked once, and the
// run counts as failed.
func TestF15_TooLongAPromptIsTheLoopsFailure(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"maximum context length is 8 tokens","code":"context_length_exceeded"}}`)
	}))
	defer server.Close()
	r := run(t, server.URL, "", pace.OfSuite(spec.SuiteBudget{}))
	o := r.Outcome
	if asked.Load() != 1 || o.Status != record.Failed || !o.Counts() || o.Error == nil || o.Error.Class != record.ContextLength {
		t.Errorf("asked %d times, %+v, error %v", asked.Load(), o, o.Error)
	}
}

func TestDeclaredRetries(t *testing.T) {
	for options, want := range map[string]int64{"": 4, ", retries: 0": 1, ", retries: 5": 6} {
		address, asked := flaky(t, 10)
		r := run(t, address, options, pace.OfSuite(spec.SuiteBudget{}))
		if asked.Load() != want || r.Outcome.Status != record.Faulted {
			t.Errorf("%q: %d attempts, want %d; %+v", options, asked.Load(), want, r.Outcome)
		}
	}
}

// Who tells of the progress knows the gate through which the calls go.
func TestGatesCanBeWatched(t *testing.T) {
	arrived, answered := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answered
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	var gates []*pace.Gate
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o := BuildOptions{Budget: pace.OfSuite(spec.SuiteBudget{}), Gate: func(_ string, g *pace.Gate) { gates = append(gates, g) }}
		runWith(t, server.URL, "", o)
	}()
	<-arrived
	if len(gates) != 1 || gates[0].Status().InFlight != 1 {
		t.Errorf("%d gates", len(gates))
	}
	close(answered)
	<-ended
	if status := gates[0].Status(); status.InFlight != 0 {
		t.Errorf("%+v", status)
	}
}

// An endpoint that is declared as an agent is asked with its headers, and replay
// knows what it would have been sent.
func TestEndpointsAreAgents(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret-word" || !strings.Contains(string(given), `"prompt":"go`) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, `{"output": "done", "usage": {"calls": 1, "input_tokens": 5, "output_tokens": 2, "cost_usd": 0.5}}`)
	}))
	defer server.Close()
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nconfigurations:\n- {name: recorded, loop: l.yaml}\n- {name: tighter, loop: l.yaml, set: {terminate.max_iterations: 2}}\n- {name: other, loop: l.yaml, set: {prompt: go on}}\n")},
		"l.yaml": {Data: []byte("loop: l\nagent:\n  http: " + server.URL + "\n  headers: {Authorization: {env: KEY, prefix: 'Bearer '}}\nprompt: go\nterminate: {max_iterations: 3}\n")},
	}
	doc, loops := builtWith(t, files, BuildOptions{Getenv: func(name string) string { return map[string]string{"KEY": "secret-word"}[name] }})
	task := &spec.Task{ID: "t", Input: "x"}
	recorded := loops[0].Run(t.Context(), "r", task, 1, nil)
	if recorded.Outcome.Reason != record.ReasonMaxIterations || string(recorded.Output()) != `"done"` || recorded.Usage.Calls != 3 || recorded.Usage.Cost != 3*record.USD/2 {
		t.Fatalf("%+v used %+v", recorded.Outcome, recorded.Usage)
	}
	if call := recorded.Iterations[0].Calls[0]; call.Role != record.RoleHTTP || call.Request == "" {
		t.Errorf("the call is %+v", call)
	}
	for i, want := range map[int]replay.Label{1: replay.PointExact, 2: replay.NeedsCalls} {
		r := Replay(doc.Suite.Resolved[0].Loop, doc.Suite.Resolved[i].Loop)
		if result := r.Run(t.Context(), recorded, task); result.Label() != want {
			t.Errorf("%s: %s (%s)", doc.Suite.Resolved[i].Name, result.Label(), result.Why)
		}
	}
}

// In a loop each server has one name, in all stages, and no other has it.
func TestServersHaveNamesOfTheirOwn(t *testing.T) {
	m := &Parts{servers: map[*spec.Loop]*serverNames{}}
	one, other := &spec.Loop{}, &spec.Loop{}
	files := spec.Tool{MCP: &spec.MCP{Command: []string{"/usr/bin/npx", "files"}}}
	mail := spec.Tool{MCP: &spec.MCP{Command: []string{"npx", "mail"}}}
	remote := spec.Tool{MCP: &spec.MCP{URL: "http://localhost:8080/mcp"}}
	named := spec.Tool{Name: "npx", MCP: &spec.MCP{URL: "http://localhost:8081/mcp"}}
	for i, c := range []struct {
		loop *spec.Loop
		tool spec.Tool
		want string
	}{
		{one, files, "npx"}, {one, mail, "npx-2"}, {one, files, "npx"}, {one, remote, "localhost:8080"}, {one, named, "npx-3"},
		{one, mail, "npx-2"}, {other, mail, "npx"},
	} {
		if got := m.serverName(c.loop, &c.tool); got != c.want {
			t.Errorf("%d: got %q, want %q", i, got, c.want)
		}
	}
}

// told is a limit that an agent may be told, with the value under which runs are
// recorded and a tighter one.
type told struct{ path, recorded, target, literal string }

var toldLimits = []told{
	{"terminate.max_iterations", "5", "3", "5"},
	{"terminate.confidence.threshold", "0.9", "0.4", "0.9"},
	{"terminate.no_improvement.patience", "5", "3", "5"},
	{"terminate.timeout.after", "3h", "2h", "duration('3h')"},
	{"guards.absolute_max_iterations", "9", "7", "9"},
	{"guards.budget.calls", "20", "3", "20"},
}

// forms are all ways in which an expression can read a parameter.
func (l told) forms() []string {
	segments := strings.Split(l.path, ".")
	below := "section"
	for _, s := range segments[1:] {
		below += fmt.Sprintf("[%q]", s)
	}
	short := segments[len(segments)-1]
	indexed := `param`
	for _, s := range segments {
		indexed += fmt.Sprintf("[%q]", s)
	}
	return []string{
		"param." + l.path,
		"param." + short,
		fmt.Sprintf("param[%q]", l.path),
		fmt.Sprintf("param[%q]", short),
		indexed,
		"param.?" + short + ".orValue(null)",
		fmt.Sprintf("param[?%q].orValue(null)", l.path),
		fmt.Sprintf("param[%q + %q]", l.path[:4], l.path[4:]),
		fmt.Sprintf("[param.%s].map(section, %s)[0]", segments[0], below),
		fmt.Sprintf("[param].map(p, p[%q])[0]", l.path),
		fmt.Sprintf("{'a': param}.a[%q]", l.path),
		fmt.Sprintf("param.filter(k, k == %q).map(k, param[k])[0]", l.path),
		fmt.Sprintf("[1].map(param, .param[%q])[0]", l.path),
	}
}

const (
	toldLimitsOf = "terminate: {confidence: {threshold: 0.95}, max_iterations: 7, no_improvement: {patience: 6}, timeout: 4h}\nguards: {absolute_max_iterations: 8, budget: {calls: 30}}\n"
	toldJudged   = "evaluate: {confidence: double(size(output)) / 10.0}\n" + toldLimitsOf
)

// toldPlaces are all places from which what they read reaches the agent or the
// judge: X is read, V is whether it has the value of the recording.
var toldPlaces = map[string]string{
	"prompt":         "agent: {model: m}\nprompt: \"{{ X }}\"\n" + toldJudged,
	"whole param":    "agent: {model: m}\nprompt: \"{{ size(param) }}{{ X }}\"\n" + toldJudged,
	"system":         "agent: {model: m, system: \"{{ X }}\"}\nprompt: p\n" + toldJudged,
	"phase":          "agent: {model: m}\nphases: [{name: a, prompt: \"{{ X }}\"}]\n" + toldJudged,
	"phase's system": "agent: {model: m}\nphases: [{name: a, prompt: p, agent: {system: \"{{ X }}\"}}]\n" + toldJudged,
	"strategy":       "agent: {model: m}\npattern: multi_strategy\nstrategies: [{name: a, prompt: \"{{ X }}\", max_iterations: 6}]\n" + toldJudged,
	"late prompt":    "agent: {model: m}\nprompt: \"{{ iteration < 1 ? 'go' : V ? 'a' : 'b' }}\"\n" + toldJudged,
	"rubric":         "agent: {model: m}\nprompt: p\nevaluate: {judge: {model: j, rubric: \"{{ X }}\"}}\n" + toldLimitsOf,
	"feedback":       "agent: {model: m}\nprompt: '{{ feedback }}'\nevaluate: {confidence: '0.1', feedback: \"V ? 'a' : 'b'\"}\n" + toldLimitsOf,
	"a check":        "agent: {model: m}\nprompt: '{{ feedback }}'\nevaluate: {checks: [{name: a, expr: \"V\", feedback: no}, {name: b, expr: 'false', feedback: never}]}\n" + toldLimitsOf,
	"improvements":   "agent: {model: m}\nprompt: '{{ size(improvements) }}'\nevaluate: {checks: [{name: a, expr: \"V\", feedback: no}, {name: b, expr: 'false', feedback: never}]}\n" + toldLimitsOf,
	"failing":        "agent: {model: m}\nprompt: '{{ size(failing) }}'\nevaluate: {checks: [{name: a, expr: \"V\"}, {name: b, expr: 'false'}]}\n" + toldLimitsOf,
	"confidence":     "agent: {model: m}\nprompt: '{{ confidence }}'\nevaluate: {confidence: \"V ? 0.1 : 0.2\"}\n" + toldLimitsOf,
	"previous":       "agent: {model: m}\nprompt: '{{ previous == null ? 0.0 : previous.confidence }}'\nevaluate: {confidence: \"V ? 0.1 : 0.2\"}\n" + toldLimitsOf,
	"best":           "agent: {model: m}\nprompt: '{{ best == null ? 0.0 : best.confidence }}'\nevaluate: {confidence: \"V ? 0.1 : 0.2\"}\n" + toldLimitsOf,
	"history":        "agent: {model: m}\nprompt: '{{ size(history) > 0 ? string(history[0].feedback) : string(0) }}'\nevaluate: {confidence: '0.1', feedback: \"V ? 'a' : 'b'\"}\n" + toldLimitsOf,
}

const toldSuite = `suite: s
tasks: [{id: t, input: x}]
models:
  m: {provider: script, price: free, responses: ["aaa", "bb", "a", "dddd", "ccc", "cc", "c"]}
  j: {provider: script, price: free, after_last: repeat, responses: ['{"confidence": 0.5, "feedback": "x"}']}
configurations:
- {name: recorded, loop: l.yaml, set: {PATH: RECORDED}}
- {name: target, loop: l.yaml, set: {PATH: TARGET}}
`

// An agent or a judge that is told a limit, from any place and in any way, is
// never said to be exact under another value where it would have been sent
// something else; and the analysis before anything runs says so.
func TestWhoIsToldALimitIsNeverExact(t *testing.T) {
	differing := map[string]int{}
	limits := toldLimits
	if raceEnabled || testing.Short() {
		limits = limits[:1]
	}
	for _, limit := range limits {
		for place := range toldPlaces {
			for _, form := range limit.forms() {
				name := fmt.Sprintf("%s of %s in %s", form, limit.path, place)
				if toldDiffers(t, name, limit, place, form) {
					differing[place]++
				}
			}
		}
	}
	for place := range toldPlaces {
		if all := len(limits) * len(toldLimits[0].forms()); differing[place] < all*3/4 {
			t.Errorf("%s: requests differ in %d of %d cases only: the test says little", place, differing[place], all)
		}
	}
}

// toldDiffers replays a loop that is told a limit, and says whether a live run
// was sent something else.
func toldDiffers(t *testing.T, name string, limit told, place, form string) bool {
	t.Helper()
	suite := strings.NewReplacer("PATH", limit.path, "RECORDED", limit.recorded, "TARGET", limit.target).Replace(toldSuite)
	form = strings.ReplaceAll(form, `"`, "'")
	loop := strings.NewReplacer("X", form, "V", fmt.Sprintf("(%s == %s)", form, limit.literal)).Replace(toldPlaces[place])
	files := fstest.MapFS{"s.yaml": {Data: []byte(suite)}, "l.yaml": {Data: []byte("loop: l\n" + loop)}}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil && strings.Contains(err.Error(), "the loop has no parameter") {
		return false // a short name of two parameters
	} else if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: nothing})
	must(t, err)
	task := &spec.Task{ID: "t", Input: "x"}
	recorded, live := loops[0].Run(t.Context(), "r", task, 1, nil), loops[1].Run(t.Context(), "r", task, 1, nil)
	before, after := doc.Suite.Resolved[0].Loop, doc.Suite.Resolved[1].Loop
	differs := sentOther(recorded, live)
	for how, r := range map[string]*replay.Replay{"rendered": Replay(before, after), "declared": replay.New(before, after, replay.Options{})} {
		if result := r.Run(t.Context(), recorded, task); differs && result.Label() < replay.NeedsCalls {
			t.Errorf("%s, %s: %s after %d iterations", name, how, result.Label(), result.Iterations)
		}
	}
	if p := replay.AnalysePath(before, limit.path); differs && p.Class == replay.Replayed {
		t.Errorf("%s: analysed as %s: %s", name, p.Class, p.Why)
	}
	return differs
}

// sentOther says whether the agent or the judge was sent something else in an
// iteration that both runs made.
func sentOther(a, b *record.Run) bool {
	for i := range min(len(a.Iterations), len(b.Iterations)) {
		x, y := &a.Iterations[i], &b.Iterations[i]
		if x.Request != y.Request || len(x.Calls) != len(y.Calls) {
			return true
		}
		for k := range x.Calls {
			if x.Calls[k].Request != y.Calls[k].Request {
				return true
			}
		}
	}
	return false
}

const replaySuite = `suite: s
tasks: [{id: t, input: x}]
models: {m: {provider: script, price: {input: 1000, output: 1000}, after_last: end, responses: ["a", "bb", "a", "dddd", "ccc", "ccccc"]}}
configurations:
- {name: recorded, loop: l.yaml, set: {SET}}
- {name: target, loop: l.yaml, set: {CHANGE}}
`

// pair records a run under one configuration of a loop, and gives what another one
// makes of it, by replay and live.
func pair(t *testing.T, loop, set, change string) (replay.Result, *record.Run) {
	t.Helper()
	text := replaySuite
	for old, with := range map[string]string{"SET": set, "CHANGE": change} {
		text = replaced(text, old, with)
	}
	files := fstest.MapFS{"s.yaml": {Data: []byte(text)}, "l.yaml": {Data: []byte("loop: l\n" + loop)}}
	doc, loops := built(t, files)
	task := &spec.Task{ID: "t", Input: "x"}
	recorded := loops[0].Run(t.Context(), "r", task, 1, nil)
	live := loops[len(loops)-1].Run(t.Context(), "r", task, 1, nil)
	r := Replay(doc.Suite.Resolved[0].Loop, doc.Suite.Resolved[len(loops)-1].Loop)
	return r.Run(t.Context(), recorded, task), live
}

func replaced(text, old, with string) string { return strings.Replace(text, old, with, 1) }

const scored = "agent: {model: m}\nprompt: 'go {{ feedback }}'\nevaluate: {checks: [{name: long, expr: size(output) > 3, feedback: longer}, {name: c, expr: output.contains('c'), weight: 1.0}]}\nguards: {absolute_max_iterations: 20}\n"

const phased = "agent: {model: m}\nphases: [{name: plan, prompt: plan, max_iterations: 3, until: output == 'bb'}, {name: act, prompt: 'act on {{ outputs.plan }}', max_iterations: 2}]\n"

// Loops as they are declared and run: what replay says is what happens, and
// where the agent is told it says so.
func TestReplayOfDeclaredLoops(t *testing.T) {
	for _, c := range []struct {
		name, loop, set, change string
		label                   replay.Label
		iterations              int
	}{
		{"a tighter limit", scored, "terminate.max_iterations: 6", "terminate.max_iterations: 2", replay.PointExact, 2},
		{"a threshold", scored, "terminate.max_iterations: 6", "terminate.confidence.threshold: 0.5", replay.PointExact, 4},
		{"a budget", scored, "terminate.max_iterations: 6", "guards.budget.calls: 3", replay.PointExact, 3},
		{"beyond the record", scored, "terminate.max_iterations: 2", "terminate.max_iterations: 4", replay.Bounded, 2},
		{"the agent's own end", scored, "terminate.max_iterations: 9", "terminate.max_iterations: 8", replay.PointExact, 6},
		{"a weight", scored, "terminate.max_iterations: 6", "evaluate.checks.c.weight: 3.0, terminate.confidence.threshold: 0.7", replay.PointExact, 5},
		{"another prompt", scored, "terminate.max_iterations: 6", "prompt: other", replay.NeedsCalls, 0},
		{"a prompt that names the limit", replaced(scored, "go", "{{ param.max_iterations }}"), "terminate.max_iterations: 6", "terminate.max_iterations: 2", replay.NeedsCalls, 0},
		{"a prompt that names the limit late", replaced(scored, "go", "{{ iteration < 2 ? 0 : param.max_iterations }}"), "terminate.max_iterations: 6", "terminate.max_iterations: 2", replay.PointExact, 2},
		{"a phase that had ended before its new limit", phased, "phases.plan.max_iterations: 3", "phases.plan.max_iterations: 2", replay.PointExact, 4},
		{"a phase that is cut", phased, "phases.plan.max_iterations: 3", "phases.plan.max_iterations: 1", replay.NeedsCalls, 1},
		{"the last phase", phased, "phases.act.max_iterations: 2", "phases.act.max_iterations: 1", replay.PointExact, 3},
	} {
		r, live := pair(t, c.loop, c.set, c.change)
		if r.Label() != c.label || r.Iterations != c.iterations {
			t.Errorf("%s: %s after %d (%s), want %s after %d", c.name, r.Label(), r.Iterations, r.Why, c.label, c.iterations)
		}
		if r.Verdict == replay.Exact && (!reflect.DeepEqual(r.Outcome, live.Outcome) || r.Iterations != len(live.Iterations) || r.Usage.Most != live.Usage || !r.Usage.Point() || r.Elapsed != live.Elapsed) {
			t.Errorf("%s: replay %+v, live %+v", c.name, r, live.Outcome)
		}
	}
}

// What programs are given is rendered again, too.
func TestReplayOfPrograms(t *testing.T) {
	loop := "agent: {command: [sh, -c, 'cat > /dev/null; echo a']}\nprompt: 'go {{ param.max_iterations > 4 ? iteration : 7 }}'\n"
	r, live := pair(t, loop, "terminate.max_iterations: 4", "terminate.max_iterations: 2")
	if r.Verdict != replay.Exact || r.Iterations != 2 || r.Outcome.Reason != live.Outcome.Reason {
		t.Errorf("%+v, live %+v", r, live.Outcome)
	}
	if r, _ := pair(t, loop, "terminate.max_iterations: 5", "terminate.max_iterations: 2"); r.Verdict != replay.Branches || r.At != 1 {
		t.Errorf("another prompt: %+v", r)
	}
}

// played runs a loop, of which the pattern and what belongs to it are written, on a
// script of replies.
func played(t *testing.T, loop string, replies ...string) *record.Run {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml": {Data: fmt.Appendf(nil, "suite: s\ntasks: [{id: t, input: go}]\nmodels: {m: {provider: script, responses: [%s]}}\nconfigurations: [{name: c, loop: l.yaml}]\n", strings.Join(replies, ", "))},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: '{{ feedback }}'\n" + loop)},
	}
	doc, loops := built(t, files)
	return loops[0].Run(t.Context(), "c/t/1", onlyTask(t, doc), 1, nil)
}

// fiveLetters hold of "abcde"; of four letters the share of those that pass is 0.8.
const fiveLetters = `
evaluate:
  checks:
    - {name: a, expr: "output.contains('a')", feedback: write a}
    - {name: b, expr: "output.contains('b')", feedback: write b}
    - {name: c, expr: "output.contains('c')", feedback: write c}
    - {name: d, expr: "output.contains('d')", feedback: write d}
    - {name: e, expr: "output.contains('e')", feedback: write e}
`

// ended compares how a run ended, and what each iteration was found to be.
func endedWith(t *testing.T, name string, r *record.Run, reason record.Reason, success bool, returned int, verdicts string) {
	t.Helper()
	var got []string
	for _, it := range r.Iterations {
		got = append(got, fmt.Sprintf("%.2g %v", it.Evaluation.Confidence, it.Evaluation.Passed))
	}
	if found := strings.Join(got, ", "); found != verdicts {
		t.Errorf("%s: the iterations are %s, want %s", name, found, verdicts)
	}
	if o := r.Outcome; o.Reason != reason || o.Success != success || o.Returned != returned {
		t.Errorf("%s: ended by %s, success %v, returned %d; want %s, %v, %d", name, o.Reason, o.Success, o.Returned, reason, success, returned)
	}
}

// S1.3: a checklist passes with its last check, and with nothing less: not at a
// share of 0.8.
func TestS1_3_AChecklistPassesWithItsLastCheck(t *testing.T) {
	const checklist = "pattern: checklist\nmax_iterations: 3" + fiveLetters
	endedWith(t, "the third passes", played(t, checklist, "abc", "abcd", "abcde"),
		record.ReasonChecklistComplete, true, 3, "0.6 false, 0.8 false, 1 true")
	endedWith(t, "at once", played(t, checklist, "abcde", "a"), record.ReasonChecklistComplete, true, 1, "1 true")
	endedWith(t, "it never passes", played(t, checklist, "ab", "abc", "abc"),
		record.ReasonMaxIterations, false, 3, "0.4 false, 0.6 false, 0.6 false")
}

// S1.4: a strategy succeeds where all of its checks pass: 0.8 is enough only where
// there are none.
func TestS1_4_AStrategySucceedsWithAllOfItsChecks(t *testing.T) {
	const strategies = "pattern: multi_strategy\nstrategies: [{name: one}, {name: two}, {name: three}]"
	r := played(t, strategies+fiveLetters, "abcd", "abcde", "a")
	endedWith(t, "the second succeeds", r, record.ReasonStrategySucceeded, true, 2, "0.8 false, 1 true")
	if r.Iterations[1].Strategy != "two" {
		t.Errorf("strategy %s succeeded", r.Iterations[1].Strategy)
	}
	endedWith(t, "none succeeds", played(t, strategies+fiveLetters, "abcd", "abce", "abc"),
		record.ReasonStrategiesExhausted, false, 1, "0.8 false, 0.8 false, 0.6 false")
	endedWith(t, "confident beside a check that fails", played(t, strategies+fiveLetters+"  confidence: '0.95'\n", "abcd", "a", "b"),
		record.ReasonStrategiesExhausted, false, 1, "0.95 false, 0.95 false, 0.95 false")
	const byConfidence = strategies + "\nevaluate: {confidence: \"double(output)\"}\n"
	endedWith(t, "without checks", played(t, byConfidence, "'0.79'", "'0.8'", "'0.9'"),
		record.ReasonStrategySucceeded, true, 2, "0.79 false, 0.8 true")
}

// A model that another declaration makes cheaper or slower is another one to the cache: compared with each other, each has answers of its own.
func TestWhatChangesTheCostOfAnAnswerIsPartOfItsKey(t *testing.T) {
	declared := []spec.Model{
		{},
		{ServiceTier: "flex"},
		{ServiceTier: "priority"},
		{Cache: []string{"auto"}},
		{Cache: []string{"system", "tools"}},
		{Cache: []string{"auto"}, CacheTTL: "1h"},
		{Effort: "low"},
		{Thinking: &spec.Thinking{Adaptive: true}},
	}
	seen := map[string]int{}
	for i := range declared {
		text := settings(&declared[i])
		if other, ok := seen[text]; ok {
			t.Errorf("declarations %d and %d have the same settings %q", other, i, text)
		}
		seen[text] = i
	}
	if one, other := settings(&spec.Model{Cache: []string{"tools", "system"}}), settings(&declared[4]); one != other {
		t.Errorf("the order of the marks changes the settings: %q and %q", one, other)
	}

	address, asked := flaky(t, 0)
	store := cache.Open(t.TempDir(), cache.Options{})
	for _, options := range []string{"", ", service_tier: flex", ", service_tier: flex", ""} {
		runWith(t, address, options, BuildOptions{Cache: store, CacheMode: cache.On})
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("%d calls of two tiers, each asked for twice; want 2", got)
	}
}

// A program's call passes the run's budget, the cache, retries and the suite's budget, as every other call.
func TestModelsBehindTheProxy(t *testing.T) {
	address, asked := flaky(t, 1)
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels:\n  coder: {provider: openai, base_url: \"" + address + "\", price: {input: 1, output: 2}, reserve_output: 50}\n" +
			"  canned: {provider: script, price: free, conversations: {main: [hello]}}\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: coder}\nprompt: p\n")},
	}
	doc := loaded(t, files)
	suite := pace.NewBudget(pace.Suite, pace.Limits{Calls: 10})
	m, err := NewParts(doc, BuildOptions{Getenv: nothing, Budget: suite, Cache: cache.Open(t.TempDir(), cache.Options{}), CacheMode: cache.On})
	must(t, err)
	names, err := m.behindProxy(source.Named[string]{{Key: "default", Value: "coder"}, {Key: "canned", Value: "canned"}})
	must(t, err)
	server := proxy.New(proxy.Options{})
	must(t, server.Listen())
	defer server.Close()
	for trial, want := range []record.Call{{Attempts: 2}, {Cached: true}} {
		ctx, end := m.begin(&spec.RunBudget{Tokens: 1000, Hard: true})(t.Context())
		defer end()
		session, err := server.Open(ctx, proxy.Run{Models: names, Draw: model.Draw{Task: "t", Trial: 1}})
		must(t, err)
		post := func(at, body string) string {
			request, _ := http.NewRequestWithContext(t.Context(), "POST", session.BaseURL+at, strings.NewReader(body))
			request.Header.Set("Authorization", "Bearer "+session.Token)
			request.Header.Set("Anthropic-Version", "2023-06-01")
			response, err := http.DefaultClient.Do(request)
			must(t, err)
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			return string(text)
		}
		if text := post("/v1/chat/completions", `{"model":"gpt","messages":[{"role":"user","content":"hi"}]}`); text != answer {
			t.Errorf("got %s", text)
		}
		if text := post("/v1/messages", `{"model":"canned","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`); !strings.Contains(text, `"text":"hello"`) {
			t.Errorf("got %s", text)
		}
		calls, _, _ := session.Made(0)
		c := &calls[0]
		if c.Cached != want.Cached || c.Attempts != want.Attempts || c.Usage.Cost != 3*record.USD/1e6+2*2*record.USD/1e6 || c.Reserved.OutputTokens != 50 || c.Model != "coder" || calls[1].Model != "canned" {
			t.Errorf("run %d: noted %+v", trial, c)
		}
		session.Close()
	}
	if paid := suite.Spent(); asked.Load() != 2 || paid.Calls != 4 {
		t.Errorf("asked %d times, paid %+v", asked.Load(), paid)
	}
}

// A proxy whose process was killed leaves its socket behind; the next one removes it, and none that is in use.
func TestSocketsOfKilledProxiesAreRemoved(t *testing.T) {
	temporary, err := os.MkdirTemp("", "t") // the path of a socket is short
	must(t, err)
	defer os.RemoveAll(temporary)
	folders := map[string]bool{"dead": false, "alive": true}
	for name, alive := range folders {
		dir := filepath.Join(temporary, socketFolder+name)
		must(t, os.Mkdir(dir, 0o700))
		listener, err := net.Listen("unix", filepath.Join(dir, "proxy.sock"))
		if err != nil {
			t.Skip(err)
		}
		if listener.(*net.UnixListener).SetUnlinkOnClose(alive); !alive {
			listener.Close()
		} else {
			defer listener.Close()
		}
	}
	removeAbandonedSockets(temporary)
	for name, alive := range folders {
		if _, err := os.Stat(filepath.Join(temporary, socketFolder+name)); (err == nil) != alive {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSocketsHaveShortPaths(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("x", 90)))
	if dir := socketRoot(); len(dir) > 60 {
		t.Errorf("sockets are in %s", dir)
	}
}

// Calls arrive, are answered and looked at by a guard at the same time: nobody waits for somebody who waits for him.
func TestCallsBesideEachOther(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer up.Close()
	made, err := openai.New(wire.Options{Name: "m", BaseURL: up.URL + "/v1", Key: "k", Transport: wire.NewTransport()})
	must(t, err)
	var free pace.LimitOptions
	coder := &proxy.Model{Name: "coder", Model: pace.LimitRun(pace.Retry(pace.Limit(made, nil, free), pace.RetryOptions{Retries: -1}), free), Speaks: model.Chat, Pricing: free}
	server := proxy.New(proxy.Options{})
	must(t, server.Listen())
	defer server.Close()
	s := &access{of: &programModels{}, made: programCalls{}, trees: map[time.Duration]string{}, clock: time.Now}
	s.Session, err = server.Open(t.Context(), proxy.Run{Models: []proxy.Name{{Asked: "default", Model: coder}}, Clock: s.clocked, Arrived: s.arrived, Ended: s.ended, Ask: s.ask})
	must(t, err)
	var seen atomic.Int64
	turn := &agent.Turn{Iteration: 1, BeforeCall: func(steps []record.Step, _ []record.ToolCall) record.Reason {
		seen.Store(int64(len(steps)))
		return ""
	}}
	running, err := s.Start(t.Context(), turn, external.Program{Argv: []string{"sleep", "1000"}}, nil)
	if err != nil {
		t.Skip(err)
	}
	const conversations, calls = 8, 10
	var together sync.WaitGroup
	for i := range conversations {
		together.Go(func() {
			for range calls {
				request, _ := http.NewRequest("POST", s.BaseURL+"/v1/chat/completions", strings.NewReader(`{"model":"x","messages":[{"role":"user","content":"hi"}]}`))
				request.Header.Set("Authorization", "Bearer "+s.Token)
				request.Header.Set("X-Session-Id", fmt.Sprint("c", i))
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() { together.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the calls wait for each other")
	}
	running.Kill(errors.New("over"))
	_, _ = running.Wait()
	if of := s.Stopped(turn, nil); len(of.Calls) != conversations*calls || len(of.Steps) != conversations*calls || seen.Load() < conversations*calls-2*conversations {
		t.Errorf("%d calls, %d steps, %d of them seen", len(of.Calls), len(of.Steps), seen.Load())
	}
	s.Close()
}
