package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

var must = propertytest.Must

// handedTo makes the delegate that the loop of a suite declares. Models are those
// of the suite, research is the loop that serves.
func handedTo(t *testing.T, models, research, declared string) tool.Tool {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml":        {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels: " + models + "\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml":        {Data: []byte("loop: l\nagent: {model: m, delegates: [{name: research, loop: research.yaml" + declared + "}]}\nprompt: go\n")},
		"research.yaml": {Data: []byte("loop: research\n" + research)},
	}
	doc := loaded(t, files)
	made, err := NewParts(doc, BuildOptions{Getenv: nothing})
	must(t, err)
	l := doc.Suite.Resolved[0].Loop
	delegates, err := made.delegates(l, l.Agent)
	if err != nil || len(delegates) != 1 {
		t.Fatal(err, delegates)
	}
	return delegates[0]
}

// handing is a use that hands over a task.
func handing(task string) *tool.Use {
	arguments, _ := json.Marshal(map[string]string{"task": task})
	return &tool.Use{Arguments: arguments, Task: &spec.Task{ID: "t", Input: "x", Vars: spec.JSON{}}, Trial: 1, Number: 3}
}

const (
	oneModel = "{m: {provider: script, price: {input: 1000, output: 1000}, after_last: error, responses: [one, two, three, four, five]}}"
	onePass  = looking + "terminate: {max_iterations: 1}\n"
	looking  = "agent: {model: m}\nprompt: 'look for {{ task.input }} of {{ task.id }}'\n"
)

// A task is handed to a loop, whose output is the result and whose calls are the
// delegate's.
func TestS4_6_ALoopTakesATask(t *testing.T) {
	d := handedTo(t, oneModel, onePass, ", description: finds things")
	defined := d.Definition
	if !defined.Delegate || defined.Name != "research" || defined.Description != "finds things" || !strings.Contains(string(defined.Parameters), `"task"`) {
		t.Errorf("%+v", defined)
	}
	use := handing("numbers")
	use.Calls = map[string]int{"m": 2}
	result, err := d.Use(t.Context(), use)
	if err != nil || string(result.Content) != `"three"` || use.Calls["m"] != 3 {
		t.Fatalf("%v, %s, %v", err, result.Content, use.Calls)
	}
	call := result.Calls[0]
	if len(result.Calls) != 1 || call.Role != record.RoleDelegate || call.Delegate != "research" || call.Model != "m" || call.Usage.Calls != 1 || call.Usage.Cost == 0 {
		t.Errorf("calls %+v", result.Calls)
	}
	if run := result.Run; run.Task != "t" || run.ID != "research/3" || run.Configuration != "research" || len(run.Iterations) != 1 || run.Iterations[0].Request != call.Request {
		t.Errorf("run %+v", run)
	}
	other, err := handedTo(t, oneModel, onePass, "").Use(t.Context(), handing("words"))
	if err != nil || other.Calls[0].Request == call.Request {
		t.Errorf("another task is another request: %v, %+v", err, other.Calls)
	}
}

func TestHowDelegatesEnd(t *testing.T) {
	const failing = "{m: {provider: simulate, price: free, errors: 1.0, tokens: {input: 10, output: 10}}}"
	for name, c := range map[string]struct {
		models, research string
		class            record.ErrorClass
		told             string
	}{
		"a fault is the run's":      {failing, onePass, record.Server, `delegate "research": `},
		"a failure is told":         {"{m: {provider: script, price: free, responses: ['']}}", onePass, record.Tool, "the delegate research failed: no_answer"},
		"a script that is over":     {"{m: {provider: script, price: free, responses: [a]}}", looking, record.Exhausted, "has 1 reply"},
		"its own budget ends it":    {oneModel, looking + "terminate: {max_iterations: 9}\nguards: {budget: {calls: 2}}\n", "", ""},
		"its own hard budget, too":  {oneModel, looking + "terminate: {max_iterations: 9}\nguards: {budget: {calls: 2, hard: true}}\n", "", ""},
		"an expression that failed": {oneModel, "agent: {model: m}\nprompt: 'go {{ string(1 / (iteration * 0)) }}'\n", record.Expression, "division by zero"},
	} {
		result, err := handedTo(t, c.models, c.research, "").Use(t.Context(), handing("x"))
		var failed *record.Error
		if errors.As(err, &failed); failed == nil {
			failed = &record.Error{}
		}
		if failed.Class != c.class || !strings.Contains(failed.Message, c.told) || result.Run == nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.class == "" && (len(result.Calls) != 2 || string(result.Content) != `"two"`) {
			t.Errorf("%s: %d calls gave %s", name, len(result.Calls), result.Content)
		}
	}
}

// The timeout of a delegate cancels its loop where time passes, and ends it where
// it only passes as-if. A hard budget of the run is charged for the calls that the record has.
func TestATimeoutCancelsTheLoop(t *testing.T) {
	for _, sleeps := range []string{"true", "false"} {
		synctest.Test(t, func(t *testing.T) {
			models := "{m: {provider: script, price: free, latency: {median: 2s}, sleep: " + sleeps + ", responses: [a, b, c]}}"
			begin := time.Now()
			d := handedTo(t, models, looking+"terminate: {max_iterations: 3}\nguards: {budget: {calls: 9, hard: true}}\n", ", timeout: 3s")
			budget := pace.NewBudget(pace.Run, pace.Limits{Calls: 5})
			result, err := d.Use(pace.WithRun(t.Context(), budget), handing("x"))
			if spent := budget.Spent().Calls; spent != int64(len(result.Calls)) {
				t.Errorf("sleep %s: %d calls are charged, %d recorded", sleeps, spent, len(result.Calls))
			}
			if err == nil || err.Error() != "tool: the delegate research timed out after 3s" {
				t.Errorf("sleep %s: %v", sleeps, err)
			}
			if result.Duration != 3*time.Second || len(result.Calls) != 2 || result.Content != nil {
				t.Errorf("sleep %s: %v, %d calls, %s", sleeps, result.Duration, len(result.Calls), result.Content)
			}
			if took := time.Since(begin); took > 3*time.Second || sleeps == "true" && took < 3*time.Second {
				t.Errorf("sleep %s: it took %v", sleeps, took)
			}
		})
	}
}

// Whoever ends the run ends its delegates, with the same reason.
func TestTheEndOfARunEndsItsDelegates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := handedTo(t, "{m: {provider: script, price: free, latency: {median: 2s}, sleep: true, responses: [a]}}", onePass, "")
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		if _, err := d.Use(ctx, handing("x")); err != enough {
			t.Error(err)
		}
	})
}

// F37: however many tasks are handed over at once, the calls of all are in one
// budget.
func TestF37_ABombOfTasksStaysInTheBudget(t *testing.T) {
	models := "{m: {provider: script, price: free, after_last: repeat, responses: [a]}}"
	d := handedTo(t, models, looking+"terminate: {max_iterations: 10}\nguards: {budget: {calls: 7, hard: true}}\n", "")
	budget := pace.NewBudget(pace.Run, pace.Limits{Calls: 20})
	ctx := pace.WithRun(t.Context(), budget)
	results := make([]tool.Result, 50)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i], _ = d.Use(ctx, handing(fmt.Sprint(i))) })
	}
	all.Wait()
	made := 0
	for i := range results {
		if made += len(results[i].Calls); len(results[i].Calls) > 7 {
			t.Errorf("task %d made %d calls; its own budget has 7", i, len(results[i].Calls))
		}
	}
	if made != 20 || budget.Spent().Calls != 20 {
		t.Errorf("%d calls were made and %d paid, of a budget of 20", made, budget.Spent().Calls)
	}
}

// The suite's budget ends whoever handed a task over, too: what a delegate could
// not do for want of money is no answer.
func TestTheSuitesBudgetEndsWhoHandedOver(t *testing.T) {
	d := &delegate{declared: &spec.Delegate{Name: "research"}}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	run := &record.Run{Outcome: record.Outcome{Status: record.Cancelled, Reason: record.ReasonSuiteBudget}}
	var s interface{ StopReason() record.Reason }
	if err := d.outcome(ctx, run); !errors.As(err, &s) || s.StopReason() != record.ReasonSuiteBudget {
		t.Error(err)
	}
}

// F37: delegates of delegates end at a depth of five, however they came about.
func TestF37_DepthOfDelegates(t *testing.T) {
	d := handedTo(t, oneModel, onePass, "")
	for depth := range 7 {
		ctx := context.WithValue(t.Context(), depthKey{}, depth)
		_, err := d.Use(ctx, handing("x"))
		if (err == nil) != (depth < 5) {
			t.Errorf("at depth %d: %v", depth, err)
		}
	}
}

// A loop that a script or a simulated model answers in takes one task after the
// other: its replies depend on how many calls were made before.
func TestWhichDelegatesFollowOneAnother(t *testing.T) {
	for models, serial := range map[string]bool{
		oneModel: true,
		"{m: {provider: openai, base_url: 'http://127.0.0.1:1', price: free}}": false,
	} {
		if got := handedTo(t, models, onePass, "").Serial; got != serial {
			t.Errorf("%s: serial %v", models, got)
		}
	}
}

// The models of delegates are a loop's own: keys are looked for before it runs,
// and what is simulated is said.
func TestModelsOfDelegates(t *testing.T) {
	models := "{m: {provider: openai, api_key_env: MISSING}}"
	files := fstest.MapFS{
		"s.yaml":        {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels: " + models + "\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml":        {Data: []byte("loop: l\nagent: {model: m, delegates: [{name: research, loop: research.yaml}]}\nprompt: go\n")},
		"research.yaml": {Data: []byte("loop: research\n" + onePass)},
	}
	doc := loaded(t, files)
	l := doc.Suite.Resolved[0].Loop
	made, _ := NewParts(doc, BuildOptions{Getenv: nothing})
	if _, err := made.delegates(l, l.Agent); err == nil || !strings.Contains(err.Error(), `delegate "research": model "m" needs a key: the environment variable MISSING`) {
		t.Error(err)
	}
	if used := Used(l); len(used) != 2 {
		t.Errorf("used %v", used)
	}
}

// Remote agents get the headers that are declared; a variable that is not set is
// told before anything runs.
func TestHeadersOfRemoteAgents(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"url":"/rpc"}`)
			return
		}
		got = r.Header
		fmt.Fprint(w, `{"id":"1","result":{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"hi"}]}}`)
	}))
	t.Cleanup(server.Close)
	const declared = "{Authorization: {env: AUDITOR_KEY, prefix: 'Bearer '}, X-Team: a}"
	for key, want := range map[string]string{"0123456789": "", "": "the environment variable AUDITOR_KEY, which is to hold the header Authorization, is not set"} {
		files := fstest.MapFS{
			"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels: " + oneModel + "\nconfigurations: [{name: c, loop: l.yaml}, {name: d, loop: r.yaml}]\n")},
			"l.yaml": {Data: []byte("loop: l\nagent: {model: m, delegates: [{name: auditor, a2a: '" + server.URL + "', headers: " + declared + "}]}\nprompt: go\n")},
			"r.yaml": {Data: []byte("loop: r\nagent: {a2a: '" + server.URL + "', headers: " + declared + "}\nterminate: {max_iterations: 1}\n")},
		}
		doc := loaded(t, files)
		made, _ := NewParts(doc, BuildOptions{Getenv: func(string) string { return key }})
		delegates, err := made.delegates(nil, doc.Suite.Resolved[0].Loop.Agent)
		remote, ofAgent := made.loop(&doc.Suite.Resolved[1])
		if want != "" {
			if err == nil || ofAgent == nil || !strings.Contains(err.Error(), `delegate "auditor": `+want) || !strings.Contains(ofAgent.Error(), want) {
				t.Errorf("%v, %v", err, ofAgent)
			}
			continue
		}
		if err != nil || ofAgent != nil {
			t.Fatal(err, ofAgent)
		}
		if result, err := delegates[0].Use(t.Context(), handing("x")); err != nil || string(result.Content) != `"hi"` {
			t.Errorf("%v, %s", err, result.Content)
		}
		if got.Get("Authorization") != "Bearer 0123456789" || got.Get("X-Team") != "a" {
			t.Errorf("headers %v", got)
		}
		run := remote.Run(t.Context(), "r", &spec.Task{ID: "t", Input: "x"}, 1, nil)
		if string(run.Output()) != `"hi"` || run.Usage.Calls != 1 || run.Iterations[0].Calls[0].Role != record.RoleA2A {
			t.Errorf("%+v", run)
		}
	}
}

// nothing is an environment without variables.
func nothing(string) string { return "" }

// loaded is the suite of s.yaml.
func loaded(t *testing.T, files fstest.MapFS) *spec.Document {
	t.Helper()
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	must(t, faults.Err())
	return doc
}

// built has the loops of s.yaml, for an environment without variables.
func built(t *testing.T, files fstest.MapFS) (*spec.Document, []*loop.Loop) {
	t.Helper()
	return builtWith(t, files, BuildOptions{Getenv: nothing})
}

func builtWith(t *testing.T, files fstest.MapFS, o BuildOptions) (*spec.Document, []*loop.Loop) {
	t.Helper()
	doc := loaded(t, files)
	loops, err := Loops(doc, doc.Suite.Resolved, o)
	must(t, err)
	return doc, loops
}

// delegating runs a loop that hands tasks to another, with the models and the rest
// of its agent and of itself as given.
func delegating(t *testing.T, models, agent, rest string) *record.Run {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml":        {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels:\n" + models + "\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml":        {Data: []byte("loop: l\nagent: {model: m, " + agent + "delegates: [{name: research, loop: research.yaml}]}\nprompt: go\n" + rest)},
		"research.yaml": {Data: []byte("loop: research\nagent: {model: reader}\nprompt: 'look for {{ task.input }}'\nterminate: {max_iterations: 2}\n")},
	}
	_, loops := built(t, files)
	return loops[0].Run(t.Context(), "r", &spec.Task{ID: "t", Input: "x"}, 1, nil)
}

const (
	once    = "terminate: {max_iterations: 1}\n"
	reading = "  reader: {provider: script, price: free, latency: {median: 1s}, after_last: repeat, responses: [one, two, three]}"
)

func asking(replies string) string {
	return "  m: {provider: script, price: free, latency: {median: 1s}, after_last: repeat, responses: [" + replies + "]}\n"
}

// In every format of calls a task is handed over, and its result is told; the
// calls and the time of whoever took it are the run's.
func TestS4_6_TasksAreHandedOver(t *testing.T) {
	for format, call := range map[string]string{
		"native": `{tool_calls: [{name: research, arguments: {task: numbers}}]}`,
		"fenced": `"so:\n` + "```delegate\\n" + `{\"agent\": \"research\", \"task\": \"numbers\"}\n` + "```" + `"`,
		"xml":    `'<tool>{"server_name": "agents", "tool_name": "research", "arguments": {"task": "numbers"}}</tool>'`,
	} {
		run := delegating(t, asking(call+", done")+reading, "tool_calls: "+format+", ", once)
		it := run.Iterations[0]
		if string(run.Output()) != `"done"` || len(it.ToolCalls) != 1 || string(it.ToolCalls[0].Result) != `"two"` || it.ToolCalls[0].Delegate != "research" {
			t.Fatalf("%s: %s, %+v", format, run.Output(), it.ToolCalls)
		}
		var roles []string
		for _, c := range it.Calls {
			roles = append(roles, fmt.Sprintf("%s %v", c.Role, c.Start))
		}
		if got, want := strings.Join(roles, ", "), "agent 0s, delegate 1s, delegate 2s, agent 3s"; got != want {
			t.Errorf("%s: calls %s, want %s", format, got, want)
		}
		if run.Usage.Calls != 4 || run.Elapsed.Seconds() != 4 || run.Usage.ToolCalls != 1 {
			t.Errorf("%s: used %+v in %v", format, run.Usage, run.Elapsed)
		}
	}
}

// What delegates use is of the run's budget: it ends the run after the iteration,
// and a hard one before a call that it has no room for.
func TestS4_6_TheBudgetOfARunIsThatOfItsDelegates(t *testing.T) {
	const call = `{tool_calls: [{name: research, arguments: {task: a}}, {name: research, arguments: {task: b}}]}`
	for name, c := range map[string]struct {
		budget string
		calls  int64
	}{
		"soft": {"{calls: 4}", 6}, // one step more, to an end of the iteration
		"hard": {"{calls: 4, hard: true}", 4},
	} {
		run := delegating(t, asking(call+", done")+reading, "", "guards: {budget: "+c.budget+"}\n")
		if run.Outcome.Reason != record.ReasonBudgetCalls || run.Usage.Calls != c.calls {
			t.Errorf("%s: %s after %d calls", name, run.Outcome.Reason, run.Usage.Calls)
		}
	}
}

// A fault of the infrastructure under a delegate is one of the run, which is told
// to be simulated where a delegate is.
func TestFaultsUnderADelegate(t *testing.T) {
	call := `{tool_calls: [{name: research, arguments: {task: a}}]}`
	run := delegating(t, asking(call+", done")+"  reader: {provider: simulate, price: free, errors: 1.0, tokens: {input: 1, output: 1}}", "", once)
	if run.Outcome.Status != record.Faulted || run.Outcome.Error == nil || run.Outcome.Error.Class != record.Server || !run.Simulated {
		t.Errorf("%+v, simulated %v", run.Outcome, run.Simulated)
	}
	if calls := run.Iterations[0].Calls; len(calls) != 2 || calls[1].Error == nil || calls[1].Role != record.RoleDelegate {
		t.Errorf("calls %+v", calls)
	}
	run = delegating(t, asking(call+", done")+"  reader: {provider: script, price: free, after_last: repeat, responses: ['']}", "", once)
	if run.Outcome.Status != record.Completed || string(run.Output()) != `"done"` || run.Iterations[0].ToolCalls[0].Error == nil {
		t.Errorf("a failure is told: %+v, %s", run.Outcome, run.Output())
	}
}

const talking = `suite: s
tasks: [{id: t, input: go, vars: {says: [why, "enough ###STOP###"]}}]
models:
  m:
    provider: script
    responses:
      - {tool_calls: [{name: add, arguments: {a: 1}}]}
      - a plan
      - a better plan
      - {tool_calls: [{name: add, arguments: {a: 1}}, {name: add, arguments: {a: x}}]}
      - "2"
configurations: [{name: c, loop: l.yaml}]
`

const inPhases = `loop: l
agent:
  model: m
  system: be brief
  memory: {max_tokens: 1000}
  max_steps: 4
  warn_remaining: 2
  tools: [{name: add, parameters: {type: object, properties: {a: {type: number}}}, cel: args.a + 1.0}]
prompt: '{{ task.input }} {{ phase }}'
user: {script: task.vars.says}
phases:
  - {name: plan, tools: [], max_iterations: 1}
  - {name: act, max_iterations: 1}
`

// A loop as it is written converses, and its record has the whole of it: phases
// have their own tools, the memory goes on, the user answers, and the last
// steps are warned of. Without network, what was sent is told again.
func TestALoopConverses(t *testing.T) {
	files := fstest.MapFS{"s.yaml": {Data: []byte(talking)}, "l.yaml": {Data: []byte(inPhases)}}
	doc, loops := built(t, files)
	task := onlyTask(t, doc)
	run := loops[0].Run(t.Context(), "c/t/1", task, 1, nil)
	if run.Outcome.Reason != record.ReasonPhasesComplete || len(run.Iterations) != 2 {
		t.Fatalf("%+v", run.Outcome)
	}
	plan, act := run.Iterations[0], run.Iterations[1]
	if e := plan.ToolCalls[0].Error; e == nil || e.Class != record.BadCall || plan.Steps[1].User != "why" || plan.Steps[2].User != "enough ###STOP###" {
		t.Errorf("in the phase without tools: %+v, steps %+v", plan.ToolCalls, plan.Steps)
	}
	if string(act.ToolCalls[0].Result) != "2" || act.ToolCalls[1].Error == nil || string(run.Output()) != `"2"` {
		t.Errorf("in the phase with tools: %+v, output %s", act.ToolCalls, run.Output())
	}
	told := Offline(doc.Suite.Resolved[0].Loop)
	state := told.Rules.Start(task, told.Param)
	for i := range run.Iterations {
		trace, ok, err := told.Retrace(t.Context(), task, state.Next(), state, run)
		if err != nil || !ok || !trace.Over || len(trace.Requests) != len(run.Iterations[i].Steps) {
			t.Fatalf("iteration %d is told as %+v, %v", i+1, trace, err)
		}
		for k, request := range trace.Requests {
			if call := run.Iterations[i].Calls[run.Iterations[i].Steps[k].Call-1]; call.Request != request {
				t.Errorf("step %d of iteration %d sends another request", k+1, i+1)
			}
		}
		state.Fold(&run.Iterations[i])
	}
}

// onlyTask is the first task of a suite.
func onlyTask(t *testing.T, doc *spec.Document) *spec.Task {
	t.Helper()
	for task, err := range doc.Tasks() {
		must(t, err)
		return task
	}
	t.Fatal("the suite has no task")
	return nil
}
