package replay

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// coding is the loop of a program that calls a model, with more keys.
func coding(t *testing.T, agent, rest string) *spec.Loop {
	t.Helper()
	if !strings.Contains(rest, "evaluate:") {
		rest += "evaluate: {test: [tests]}\n"
	}
	return spectest.Document(t, "s.yaml", map[string]string{
		"s.yaml": "suite: s\ntasks: [{id: a, input: x}]\nmodels: {m: {provider: script, price: free, responses: [x]}}\nconfigurations: [{name: c, loop: l.yaml}]\n",
		"l.yaml": "loop: l\nworkspace: {snapshot: step}\nagent: {command: [agent, \"{{ task.input }}\"], models: {default: m}" + agent + "}\n" + rest,
	}).Suite.Configuration("c").Loop
}

const second = time.Second

// programRun is a run of two iterations, in each of which the program took 10 s and made three calls. Its answers
// begin half a second after a call arrives, and end after a second. Trees are by second.
func programRun(trees ...string) *record.Run {
	run := &record.Run{ID: "c/a/1", Configuration: "c", Task: "a", Trial: 1, Seed: "seed", Elapsed: 20 * second}
	for n := range 2 {
		start := time.Duration(n) * 10 * second
		it := record.Iteration{
			N: n + 1, Request: "r", Start: start, End: start + 10*second, Working: 10 * second, Workspace: &record.Workspace{Tree: trees[4*n+3]},
			Output: []byte(`"x"`), Evaluation: &record.Evaluation{Confidence: 0.1},
			Calls: []record.Call{{Role: record.RoleProgram, Model: "agent", Request: "r", Start: start, Duration: 10 * second}},
		}
		for i := range 3 {
			arrived := start + time.Duration(3*i+1)*second
			it.Calls = append(it.Calls, record.Call{
				Role: record.RoleAgent, Model: "m", Conversation: "main", Kind: record.MainCall, Step: 3*n + i + 1, Tree: trees[4*n+i],
				Arrived: arrived, Start: arrived, FirstByte: arrived + second/2, Ended: arrived + second, Duration: second, Usage: record.Usage{Calls: 1, OutputTokens: 10},
			})
		}
		run.Iterations = append(run.Iterations, it)
	}
	run.Outcome = record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Fired: "max_iterations", Returned: 1}
	return run
}

// tested evaluates states: it remembers them.
type tested struct{ trees []string }

func (s *tested) Evaluate(_ context.Context, _ *record.Run, _ *spec.Task, it *record.Iteration, _ *stop.State) (*record.Evaluation, *record.Error, time.Duration, bool) {
	s.trees = append(s.trees, it.Workspace.Tree)
	return &record.Evaluation{Confidence: 0.5}, nil, 0, true
}

var apart = []string{"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"}

// A timeout of the loop that falls into a program leaves the state that the latest call found, as long as its answer
// had not begun; after that, if the next state is the same. Else the score has bounds.
func TestTimeoutsOfPrograms(t *testing.T) {
	recorded := coding(t, "", "terminate: {max_iterations: 2}\n")
	equal := []string{"t1", "t2", "t2", "t4", "t4", "t6", "t7", "t8"}
	for _, c := range []struct {
		name   string
		trees  []string
		at     string
		tree   string // "": bounded
		tokens int64  // at most
	}{
		{"while a call waits", apart, "4.2s", "t2", 20},
		{"while its answer comes", apart, "4.7s", "", 0},
		{"between equal states", equal, "5.5s", "t2", 20},
		{"between others", apart, "5.5s", "", 0},
		{"before the first call, where nothing had changed", []string{"seed", "t2", "t3", "t4", "t4", "t6", "t7", "t8"}, "0.5s", "seed", 0},
		{"before the first call", apart, "0.5s", "", 0},
		{"in the second iteration", apart, "14.2s", "t6", 50},
		{"after the last call, where nothing changed any more", []string{"t1", "t2", "t3", "t3", "t4", "t6", "t7", "t8"}, "9s", "t3", 30},
		{"at the beginning of the second iteration", []string{"t1", "t2", "t3", "t4", "t4", "t6", "t7", "t8"}, "10.5s", "t4", 30},
	} {
		target := coding(t, "", "terminate: {any: [{max_iterations: 2}, {timeout: {after: "+c.at+", cancel: true}}]}\n")
		states := &tested{}
		result := New(recorded, target, Options{States: states}).Run(t.Context(), programRun(c.trees...), &spec.Task{ID: "a"})
		switch {
		case c.tree == "":
			if result.Verdict != Censored || result.Label() != Bounded {
				t.Errorf("%s: %s: %s", c.name, result.Verdict, result.Why)
			}
		case result.Verdict != Exact || result.Outcome.Reason != record.ReasonTimeout || len(states.trees) != 1 || states.trees[0] != c.tree || result.Usage.Most.OutputTokens != c.tokens:
			t.Errorf("%s: %s (%s), %s, evaluated %q, %+v; want %s and %d tokens", c.name, result.Verdict, result.Why, result.Outcome.Reason, states.trees, result.Usage.Most, c.tree, c.tokens)
		}
	}
}

// agent.timeout kills a program, whose iteration fails: the run that ends with it is exact, one that continues needs calls
// from the next iteration.
func TestAgentTimeoutOfPrograms(t *testing.T) {
	for _, c := range []struct {
		name, was, is, rest string
		verdict             Verdict
		at                  int
		reason              record.Reason
		least, most         int64 // tokens
	}{
		{"it kills the first iteration", "", ", timeout: 5s", "terminate: {max_iterations: 2}\n", Exact, 0, record.ReasonError, 20, 20},
		{"while a call is in flight", "", ", timeout: 4700ms", "terminate: {max_iterations: 2}\n", Exact, 0, record.ReasonError, 10, 20},
		{"the loop continues", "", ", timeout: 5s", "terminate: {max_iterations: 2}\non_error: {continue_if: 'true'}\n", Branches, 2, "", 20, 20},
		{"it is longer than any program took", "", ", timeout: 11s", "terminate: {max_iterations: 2}\n", Exact, 0, record.ReasonMaxIterations, 60, 60},
		{"the recorded one was as long", ", timeout: 20s", ", timeout: 5s", "terminate: {max_iterations: 2}\n", Exact, 0, record.ReasonError, 20, 20},
		{"the recorded one killed it", ", timeout: 10s", ", timeout: 11s", "terminate: {max_iterations: 2}\n", Branches, 1, "", 0, 0},
		{"a limit of steps comes first", "", ", timeout: 5s", "terminate: {max_iterations: 2}\nguards: {budget: {steps: 1}}\n", Exact, 0, record.ReasonBudgetSteps, 10, 10},
		{"a limit of steps comes later", "", ", timeout: 3s", "terminate: {max_iterations: 2}\nguards: {budget: {steps: 1}}\n", Exact, 0, record.ReasonError, 10, 10},
	} {
		result := New(coding(t, c.was, c.rest), coding(t, c.is, c.rest), Options{States: &tested{}}).Run(t.Context(), programRun(apart...), &spec.Task{ID: "a"})
		if result.Verdict != c.verdict || result.At != c.at || c.verdict == Exact && result.Outcome.Reason != c.reason ||
			result.Usage.Least.OutputTokens != c.least || result.Usage.Most.OutputTokens != c.most {
			t.Errorf("%s: %s at %d (%s), %s, %d to %d tokens", c.name, result.Verdict, result.At, result.Why, result.Outcome.Reason, result.Usage.Least.OutputTokens, result.Usage.Most.OutputTokens)
		}
	}
}

// agent.max_steps ends an iteration of a program: exact where that is the last one, else calls are needed from the next one.
func TestMaxStepsOfPrograms(t *testing.T) {
	ended := func() *record.Run { // by a limit of three steps, twice
		run := programRun(apart...)
		for i := range run.Iterations {
			run.Iterations[i].Cut = "max_steps"
		}
		return run
	}
	sub := programRun(apart...)
	sub.Iterations[0].Calls[2].Kind, sub.Iterations[1].Calls[1].Kind = record.AgentCall, record.AgentCall
	second := programRun(apart...) // it names no conversations
	second.Iterations[0].Calls[2].Conversation, second.Iterations[1].Calls[1].Conversation = "main2", "main3"
	tooLong := programRun(apart...)
	tooLong.Iterations[0].Calls[2].Step = 0
	for _, c := range []struct {
		name, was, is, rest string
		run                 *record.Run
		verdict             Verdict
		at                  int
		tokens              int64
		trees               string
	}{
		{"it ends the only iteration", "", ", max_steps: 2", "terminate: {max_iterations: 1}\n", programRun(apart...), Exact, 0, 20, "t3"},
		{"its evaluation ends the loop", "", ", max_steps: 2", "terminate: {any: [{max_iterations: 2}, {confidence: {threshold: 0.5}}]}\n", programRun(apart...), Exact, 0, 20, "t3"},
		{"the program continues when its calls are refused", ", on_limit: refuse", ", max_steps: 2, on_limit: refuse", "terminate: {max_iterations: 1}\n", programRun(apart...), Branches, 1, 0, ""},
		{"the loop goes on", "", ", max_steps: 2", "terminate: {max_iterations: 2}\n", programRun(apart...), Branches, 2, 20, "t3"},
		{"no iteration reaches it", "", ", max_steps: 3", "terminate: {max_iterations: 2}\n", programRun(apart...), Exact, 0, 60, ""},
		{"the run's limit ends the run in the second iteration", "", ", max_steps: 3", "terminate: {max_iterations: 2}\nguards: {budget: {steps: 4}}\n", programRun(apart...), Exact, 0, 40, "t6"},
		{"both refuse a call: the iteration ends, and so does the run", "", ", max_steps: 2", "terminate: {max_iterations: 2}\nguards: {budget: {steps: 2}}\n", programRun(apart...), Exact, 0, 20, "t3"},
		{"the main conversation made fewer", "", ", max_steps: 2, steps_of: main", "terminate: {max_iterations: 2}\n", sub, Exact, 0, 60, ""},
		{"the main conversation made as many", "", ", max_steps: 1, steps_of: main", "terminate: {max_iterations: 1}\n", sub, Exact, 0, 20, "t3"},
		{"a second conversation may be a sub-agent's", "", ", max_steps: 2, steps_of: main", "terminate: {max_iterations: 1}\n", second, Branches, 1, 0, ""},
		{"the limit comes before it", "", ", max_steps: 1, steps_of: main", "terminate: {max_iterations: 1}\n", sub, Exact, 0, 20, "t3"},
		{"and does not matter where all count", "", ", max_steps: 2", "terminate: {max_iterations: 1}\n", second, Exact, 0, 20, "t3"},
		{"a call that was too long is no step", "", ", max_steps: 2", "terminate: {max_iterations: 1}\n", tooLong, Exact, 0, 30, ""},
		{"but is refused as one", "", ", max_steps: 1", "terminate: {max_iterations: 1}\n", tooLong, Exact, 0, 10, "t2"},
		{"the recorded one is the same", ", max_steps: 3", ", max_steps: 3", "terminate: {max_iterations: 2}\n", ended(), Exact, 0, 60, ""},
		{"the recorded one was looser", ", max_steps: 3", ", max_steps: 1", "terminate: {max_iterations: 1}\n", ended(), Exact, 0, 10, "t2"},
		{"the recorded one was tighter", ", max_steps: 3", ", max_steps: 4", "terminate: {max_iterations: 2}\n", ended(), Branches, 1, 0, ""},
		{"the recorded one counted the main conversation", ", max_steps: 3, steps_of: main", ", max_steps: 3", "terminate: {max_iterations: 2}\n", ended(), Exact, 0, 60, ""},
		{"the refused call may be of a sub-agent", ", max_steps: 3", ", max_steps: 3, steps_of: main", "terminate: {max_iterations: 2}\n", ended(), Branches, 1, 0, ""},
	} {
		states := &tested{}
		result := New(coding(t, c.was, c.rest), coding(t, c.is, c.rest), Options{States: states}).Run(t.Context(), c.run, &spec.Task{ID: "a"})
		if result.Verdict != c.verdict || result.At != c.at || result.Usage.Most.OutputTokens != c.tokens || strings.Join(states.trees, " ") != c.trees {
			t.Errorf("%s: %s at %d (%s), %d tokens, evaluated %q", c.name, result.Verdict, result.At, result.Why, result.Usage.Most.OutputTokens, states.trees)
		}
	}
}

// withTools is a run of one iteration whose program used a tool in each of five steps, of two conversations: those of the sub-agent are
// whole while the main one's second step waits for it.
func withTools() *record.Run {
	run := programRun(apart...)
	run.Iterations = run.Iterations[:1]
	it := &run.Iterations[0]
	it.Calls = it.Calls[:1]
	for i, in := range []string{"main", "main", "sub1", "sub1", "main"} {
		kind, arrived := record.MainCall, time.Duration(i+1)*second
		if in == "sub1" {
			kind = record.AgentCall
		}
		it.Calls = append(it.Calls, record.Call{
			Role: record.RoleAgent, Model: "m", Conversation: in, Kind: kind, Step: i + 1, Tree: apart[i],
			Arrived: arrived, Start: arrived, FirstByte: arrived + second/4, Ended: arrived + second/2, Duration: second / 2, Usage: record.Usage{Calls: 1, OutputTokens: 10},
		})
	}
	for _, at := range []int{2, 4, 3, 5, 6} { // the last two were not followed
		it.Steps = append(it.Steps, record.Step{Call: at, Tools: 1})
		tool := record.ToolCall{Tool: "sh", Arguments: []byte(`{}`), Start: it.Calls[at-1].Ended}
		if len(it.Steps) <= 3 {
			tool.Result = []byte(`"x"`)
		}
		it.ToolCalls = append(it.ToolCalls, tool)
	}
	return run
}

// A guard that looks at steps ends a recorded program where it would have ended a live one: at the call that arrives when the step is
// whole that fulfils it.
func TestStepGuardsOfPrograms(t *testing.T) {
	stepless := withTools()
	stepless.Iterations[0].Steps, stepless.Iterations[0].ToolCalls = nil, nil
	ended := func(in string) *record.Run { // by a guard, at a call that would have been the sixth
		run := withTools()
		if in == "main" { // its last step was followed
			it := &run.Iterations[0]
			it.Steps[3], it.Steps[4] = it.Steps[4], it.Steps[3]
			it.ToolCalls[3], it.ToolCalls[4] = it.ToolCalls[4], it.ToolCalls[3]
		}
		run.Iterations[0].Cut, run.Next = string(record.ReasonStagnation), &record.Next{Kind: record.MainCall, Conversation: in, Arrived: 6 * second}
		run.Outcome.Reason, run.Outcome.Class = record.ReasonStagnation, record.ByGuard
		return run
	}
	stagnation := func(times string) string {
		return "terminate: {max_iterations: 1}\nguards: {stagnation: {window: " + times + ", scope: step}}\n"
	}
	for _, c := range []struct {
		name, rest string
		run        *record.Run
		verdict    Verdict
		reason     record.Reason
		tokens     int64
		steps      int
		tree       string
	}{
		{"the second step of the main conversation is whole when it goes on", "terminate: {max_iterations: 1}\nguards: {consecutive: {when: 'true', times: 1, scope: step}}\n", withTools(), Exact, record.ReasonConsecutive, 10, 1, "t2"},
		{"a step of the sub-agent comes second", stagnation("2"), withTools(), Exact, record.ReasonStagnation, 30, 3, "t4"},
		{"the step that waited comes third", stagnation("3"), withTools(), Exact, record.ReasonStagnation, 40, 4, "t5"},
		{"the last two are whole when the program has ended", strings.Replace(stagnation("5"), "1", "2", 1), withTools(), Exact, record.ReasonStagnation, 50, 5, ""},
		{"there are not so many", stagnation("6"), withTools(), Exact, record.ReasonMaxIterations, 50, 5, ""},
		{"a limit of steps comes first", "terminate: {max_iterations: 1}\nguards: {budget: {steps: 2}, stagnation: {window: 2, scope: step}}\n", withTools(), Exact, record.ReasonBudgetSteps, 20, 2, "t3"},
		{"with on_limit: refuse it would continue", stagnation("2"), withTools(), Branches, "", 0, 0, ""},
		{"the recording has no tools", stagnation("2"), stepless, Branches, "", 0, 0, ""},
		{"the recording has no tools, and no guard asks", "terminate: {max_iterations: 1}\n", stepless, Exact, record.ReasonMaxIterations, 50, 0, ""},
		{"the guard that ended the recording", stagnation("4"), ended("main"), Exact, record.ReasonStagnation, 50, 5, ""},
		{"a looser one", stagnation("5"), ended("main"), Censored, "", 0, 0, ""},
		{"a looser one, where the sub-agent went on", stagnation("4"), ended("main2"), Censored, "", 0, 0, ""},
	} {
		agent := ""
		if strings.HasPrefix(c.name, "with on_limit") {
			agent = ", on_limit: refuse"
		}
		states := &tested{}
		target := coding(t, agent, c.rest)
		r := New(coding(t, agent, "terminate: {max_iterations: 1}\n"), target, Options{States: states})
		result := r.Run(t.Context(), c.run, &spec.Task{ID: "a"})
		if result.Verdict != c.verdict || result.Verdict == Exact && result.Outcome.Reason != c.reason || result.Usage.Most.OutputTokens != c.tokens || strings.Join(states.trees, " ") != c.tree {
			t.Errorf("%s: %s (%s), %s, %d tokens, evaluated %q", c.name, result.Verdict, result.Why, result.Outcome.Reason, result.Usage.Most.OutputTokens, states.trees)
		}
		if result.Verdict == Exact && result.Usage.Most.ToolCalls != int64(c.steps) {
			t.Errorf("%s: %d tool calls, want %d", c.name, result.Usage.Most.ToolCalls, c.steps)
		}
	}
}

// What a delegate's program calls makes its agent no program.
func TestAProgramOfADelegate(t *testing.T) {
	it := record.Iteration{Steps: []record.Step{{Call: 1}}, Calls: []record.Call{{Role: record.RoleAgent}, {Role: record.RoleDelegate, Conversation: "main", Kind: record.MainCall, Step: 1, Ended: 1}}}
	if it.OfProgram() || it.ToolsUnknown() || it.StepCount() != 1 || it.MainStepCount() != 0 {
		t.Errorf("of a program %v, tools unknown %v, %d steps, %d of the main conversation", it.OfProgram(), it.ToolsUnknown(), it.StepCount(), it.MainStepCount())
	}
}

// Without a workspace a timeout drops what came after it as well.
func TestATimeoutDropsToolsOfPrograms(t *testing.T) {
	run := withTools()
	run.Iterations[0].Workspace = nil
	target := coding(t, "", "terminate: {any: [{max_iterations: 1}, {timeout: {after: 2.2s, cancel: true}}]}\n")
	result := New(coding(t, "", "terminate: {max_iterations: 1}\n"), target, Options{}).Run(t.Context(), run, &spec.Task{ID: "a"})
	if result.Verdict != Exact || result.Outcome.Reason != record.ReasonTimeout || result.Usage.Most.ToolCalls != 1 {
		t.Errorf("%s: %s, %+v", result.Verdict, result.Outcome.Reason, result.Usage.Most)
	}
}

func TestEvaluationsByState(t *testing.T) {
	for evaluate, same := range map[string]bool{
		"{test: [tests]}": true, "{test: [tests], passed: size(workspace.changed) > 0}": true, "{passed: iteration_tool_calls < 3}": false, "{confidence: 1.0 / double(1 + usage.calls)}": false,
	} {
		if EvaluatesByState(coding(t, "", "evaluate: "+evaluate+"\n")) != same {
			t.Errorf("%s: %v", evaluate, !same)
		}
	}
}

// A limit that ends a program while other calls are in flight leaves bounds: at least their input, at most what was reserved for
// them. The run as it is left behind has them.
func TestCallsInFlightWhereALimitCutsHaveBounds(t *testing.T) {
	recorded := coding(t, "", "terminate: {max_iterations: 2}\n")
	target := coding(t, "", "terminate: {max_iterations: 2}\nguards: {budget: {steps: 2}}\n")
	run := programRun(apart...)
	calls := run.Iterations[0].Calls
	calls[2].Conversation, calls[2].Kind, calls[2].Ended = "sub1", record.AgentCall, 9*second
	for i := 1; i < len(calls); i++ {
		calls[i].InputCost, calls[i].Reserved = 5, &record.Usage{Calls: 1, InputTokens: 50, OutputTokens: 40, Cost: 85}
		calls[i].Usage = record.Usage{Calls: 1, InputTokens: 60, OutputTokens: 10, Cost: 20}
	}
	replayed := New(recorded, target, Options{States: &tested{}})
	result, made := replayed.AsIf(t.Context(), run, &spec.Task{ID: "a"})
	least := record.Usage{Calls: 2, InputTokens: 110, OutputTokens: 10, Cost: 25, Cut: 1, OpenTokens: 40, OpenCost: 80}
	if result.Verdict != Exact || result.Outcome.Reason != record.ReasonBudgetSteps || result.Usage != SpanOf(least) {
		t.Fatalf("%s (%s) by %s, %+v; want from %+v", result.Verdict, result.Why, result.Outcome.Reason, result.Usage, least)
	}
	if most := result.Usage.Most; most.OutputTokens != 50 || most.Cost != 105 {
		t.Errorf("at most %+v", most)
	}
	if made.Usage != least {
		t.Errorf("the run has %+v", made.Usage)
	}
}
