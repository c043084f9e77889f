package stop

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/spectest"
)

// load gives the rules of a loop of which only what matters is written.
func load(t testing.TB, text string) *Rules {
	t.Helper()
	var loop strings.Builder
	for key, line := range map[string]string{
		"agent:":      "agent: {model: m, reply: json, tools: [{builtin: task_completion}]}\n",
		"prompt:":     "prompt: hello\n",
		"evaluate:":   "evaluate: {confidence: double(output.c), passed: output.p == true}\n",
		"strategies:": "",
	} {
		if !strings.Contains(text, key) && (key != "prompt:" || !strings.Contains(text, "phases:")) {
			loop.WriteString(line)
		}
	}
	loop.WriteString(strings.ReplaceAll(text, "\t", "  "))
	return Compile(spectest.Loop(t, loop.String()))
}

// history writes iterations as words: a number is a confidence; "p" after it
// says that it passed; x is a failure of the agent and x:name one with that
// message; ! is a fault of the infrastructure; _ is before the first evaluated
// phase; words after a slash are tool calls, those of the next step after each >,
// where . is a step without any; ! and a text after a call are its error; =text
// sets the output, to the JSON that stands there or else to the text.
func history(words string) []*record.Iteration {
	var all []*record.Iteration
	for i, word := range strings.Fields(words) {
		it := iteration(word)
		it.N = i + 1
		it.Start, it.End, it.Working = time.Duration(i)*time.Second, time.Duration(i+1)*time.Second, time.Second
		it.Calls = []record.Call{{Role: record.RoleAgent, Usage: record.Usage{Calls: 1, InputTokens: 60, OutputTokens: 40, Cost: record.USD / 100}}}
		if it.Output == nil && it.Error == nil {
			it.Output = []byte(`{"n": ` + strconv.Itoa(i) + `}`)
		}
		all = append(all, it)
	}
	return all
}

func iteration(word string) *record.Iteration {
	it := &record.Iteration{}
	if before, output, ok := strings.Cut(word, "="); ok {
		word, it.Output = before, []byte(strconv.Quote(output))
		if json.Valid([]byte(output)) {
			it.Output = []byte(output)
		}
	}
	if before, tools, ok := strings.Cut(word, "/"); ok {
		word = before
		for step := range strings.SplitSeq(tools, ">") {
			calls := toolCallsOf(step)
			it.ToolCalls = append(it.ToolCalls, calls...)
			it.Steps = append(it.Steps, record.Step{Text: step, Tools: len(calls)})
		}
	}
	switch kind, message, _ := strings.Cut(word, ":"); kind {
	case "x":
		it.Error = &record.Error{Class: record.Program, Message: message}
	case "!":
		it.Error = &record.Error{Class: record.Server, Message: message}
	case "_":
		it.Skipped = true
	default:
		number, passed := strings.CutSuffix(word, "p")
		confidence, err := strconv.ParseFloat(number, 64)
		if err != nil {
			panic(err)
		}
		it.Evaluation = &record.Evaluation{Confidence: confidence, Passed: passed}
	}
	return it
}

func toolCallsOf(step string) (calls []record.ToolCall) {
	if step == "." {
		return nil
	}
	for tool := range strings.SplitSeq(step, "+") {
		tool, message, failed := strings.Cut(tool, "!")
		name, arguments, _ := strings.Cut(tool, ":")
		call := record.ToolCall{Tool: name, Arguments: []byte(arguments)}
		if failed {
			call.Error = &record.Error{Class: record.Tool, Message: message}
		}
		calls = append(calls, call)
	}
	return calls
}

// upTo is what is there of an iteration after so many steps.
func upTo(it *record.Iteration, steps int) *record.Iteration {
	part := *it
	part.Steps, part.ToolCalls, part.Evaluation, part.Error = it.Steps[:steps], nil, nil, nil
	for i := range part.Steps {
		part.ToolCalls = it.ToolCalls[:len(part.ToolCalls)+part.Steps[i].Tools]
	}
	return &part
}

// lived is an iteration as a run makes it that looks at its steps.
func lived(s *State, it *record.Iteration) *record.Iteration {
	watch := s.StepGuards()
	for n := 1; n < len(it.Steps) && watch != nil; n++ {
		part := upTo(it, n)
		if reason := watch.Step(part); reason != "" {
			part.Cut = string(reason)
			return part
		}
	}
	return it
}

// play folds iterations until the run stops; ok is false where it never does.
func play(r *Rules, iterations []*record.Iteration) (n int, outcome record.Outcome, ok bool) {
	s := r.Start(&spec.Task{ID: "t"}, nil)
	for i, it := range iterations {
		step := s.Next()
		it.Phase, it.Strategy = step.Phase, step.Strategy
		if d := s.Fold(lived(s, it)); d.Stop {
			return i + 1, d.Outcome, true
		}
	}
	return len(iterations), record.Outcome{}, false
}

// decision is a case: after which iteration a history stops, and why.
type decision struct {
	name     string
	loop     string
	history  string
	stops    int // 0: it does not
	reason   record.Reason
	fired    string
	success  bool
	returned int
}

func decide(t *testing.T, cases []decision) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n, outcome, ok := play(load(t, c.loop), history(c.history))
			if c.stops == 0 {
				if ok {
					t.Fatalf("stopped after %d for %s, want it to go on", n, outcome.Reason)
				}
				return
			}
			if !ok || n != c.stops || outcome.Reason != c.reason {
				t.Fatalf("stopped %v after %d for %q, want after %d for %q", ok, n, outcome.Reason, c.stops, c.reason)
			}
			if c.fired != "" && outcome.Fired != c.fired {
				t.Errorf("fired %q, want %q", outcome.Fired, c.fired)
			}
			if outcome.Success != c.success {
				t.Errorf("success %v, want %v", outcome.Success, c.success)
			}
			if c.returned != 0 && outcome.Returned != c.returned {
				t.Errorf("returned iteration %d, want %d", outcome.Returned, c.returned)
			}
		})
	}
}

func TestS1_5_Conditions(t *testing.T) {
	decide(t, []decision{
		{"a confidence at the threshold", "terminate: {confidence: {threshold: 0.8}}", "0.5 0.8", 2, record.ReasonConfidence, "confidence", true, 2},
		{"a confidence below it", "terminate: {confidence: {threshold: 0.8}}", "0.5 0.79", 0, "", "", false, 0},
		{"a confidence before min_iterations", "terminate: {confidence: {threshold: 0.8, min_iterations: 3}}", "0.9 0.9 0.9", 3, record.ReasonConfidence, "", true, 1},
		{"a confidence that fell again before min_iterations", "terminate: {confidence: {threshold: 0.8, min_iterations: 2}}", "0.9 0.5", 0, "", "", false, 0},
		{"max_iterations", "terminate: {max_iterations: 2}", "0.1 0.9 0.9", 2, record.ReasonMaxIterations, "max_iterations", true, 2},
		{"a timeout at its very moment", "terminate: {timeout: 2s}", "0.1 0.1 0.1", 2, record.ReasonTimeout, "timeout", false, 1},
		{"patience 1", "terminate: {no_improvement: {patience: 1}}", "0.5 0.6 0.6", 3, record.ReasonNoImprovement, "", false, 2},
		{"patience 2 is reset by an improvement", "terminate: {no_improvement: {patience: 2}}", "0.5 0.4 0.6 0.5 0.6", 5, record.ReasonNoImprovement, "", false, 3},
		{"the reference moves only with an improvement", "terminate: {no_improvement: {patience: 2, min_delta: 0.1}}", "0.5 0.58 0.66 0.7", 0, "", "", false, 0},
		{"a failed iteration does not improve", "terminate: {no_improvement: {patience: 2}}\non_error: {continue_if: true}", "0.5 x 0.4", 3, record.ReasonNoImprovement, "", false, 1},
		{"a first iteration that failed is no reference", "terminate: {no_improvement: {patience: 2}}\non_error: {continue_if: true}", "x 0.0 0.1", 0, "", "", false, 0},
		{"when", "terminate: {when: usage.tokens > 150}", "0.1 0.2", 2, "when:when", "when", false, 2},
		{"any takes the first of its children as the reason", "terminate: {any: [{max_iterations: 5}, {no_improvement: {patience: 1}}, {confidence: {threshold: 0.3}}]}", "0.5 0.4", 1, record.ReasonConfidence, "", true, 1},
		{"all wants every child at the same iteration", "terminate: {all: [{confidence: {threshold: 0.8}}, {no_improvement: {patience: 1}}]}", "0.9 0.5 0.9", 3, record.ReasonConfidence, "all", true, 1},
		{"all is not latched", "terminate: {all: [{confidence: {threshold: 0.8}}, {when: iteration >= 2}]}", "0.9 0.5", 0, "", "", false, 0},
		{"a named nested all", "terminate: {any: [{name: good-and-dear, all: [{confidence: {threshold: 0.9}}, {when: usage.cost_usd > 0.015}]}]}", "0.95 0.95", 2, record.ReasonConfidence, "good-and-dear", true, 1},
		{"off never holds", "terminate: {confidence: off, max_iterations: 3}", "0.9 0.9 0.9", 3, record.ReasonMaxIterations, "", true, 1},
		{"what holds earlier stops earlier, whatever its place in the order", "guards: {absolute_max_iterations: 1}\nterminate: {confidence: {threshold: 0.5}}", "0.1 0.9", 1, record.ReasonAbsolute, "", false, 1},
		{"what a task does not declare is empty, not null", "terminate: {when: \"!('x' in task.vars) && size(task.metadata) == 0\"}", "0.1", 1, "when:when", "", false, 1},
	})
}

// TestS2_4_TaskCompletionIsASuccess: the agent says that the task is done, and the
// loop believes it, unless it says otherwise.
func TestS2_4_TaskCompletionIsASuccess(t *testing.T) {
	const own = "agent: {model: m, reply: json, tools: [{name: submit, cel: 'true', breaks_loop: true%s}]}\n"
	for _, c := range []struct {
		name, loop, tool, reason string
		want                     bool
	}{
		{"task_completion", "", "task_completion", "tool_ended", true},
		{"switched off", "agent: {model: m, reply: json, tools: [{builtin: task_completion, success: false}]}\n", "task_completion", "tool_ended", false},
		{"another tool that ends the run", strings.Replace(own, "%s", "", 1), "submit", "tool_ended", false},
		{"another tool, switched on", strings.Replace(own, "%s", ", success: true", 1), "submit", "tool_ended", true},
		{"a question", "agent: {model: m, reply: json, tools: [{builtin: task_completion}, {builtin: ask_question}]}\n", "ask_question", "question_asked", false},
		{"the agent, by no tool", "", "", "capability", false},
		{"a tool of that name that the loop does not have", "agent: {model: m, reply: json}\n", "task_completion", "tool_ended", false},
		{"under multi_strategy", "pattern: multi_strategy\nstrategies: [{name: a}, {name: b}]\n", "task_completion", "tool_ended", true},
		{"only in the strategy that has it", "agent: {model: m, reply: json, tools: [{builtin: task_completion}]}\npattern: multi_strategy\nstrategies: [{name: a, agent: {tools: []}}, {name: b}]\n", "task_completion", "tool_ended", false},
	} {
		it := history("0.1")[0]
		if strings.Contains(c.loop, "strategies") {
			it.Strategy = "a"
		}
		it.Ended = &record.Ended{Reason: c.reason, Tool: c.tool, Output: it.Output}
		state := load(t, c.loop).Start(nil, nil)
		d := state.Fold(it)
		if !d.Stop || string(d.Outcome.Reason) != c.reason || d.Outcome.Success != c.want || d.Outcome.Returned != 1 {
			t.Errorf("%s: %+v, want success %v", c.name, d.Outcome, c.want)
		}
		if believed := math.IsInf(state.Believed(), 1); believed != c.want {
			t.Errorf("%s: believed at every threshold: %v", c.name, believed)
		}
	}
	failed := history("x")[0]
	failed.Ended = &record.Ended{Reason: "tool_ended", Tool: "task_completion"}
	if d := load(t, "").Start(nil, nil).Fold(failed); d.Outcome.Success {
		t.Errorf("an iteration that failed: %+v", d.Outcome)
	}
}

// What a record says that was adapted is what its own rules said: others go by
// theirs.
func TestTheHistoryHasTheAdaptationsOfItsRules(t *testing.T) {
	iterations := history("0.1 0.2")
	iterations[0].Adaptation = "next phase: act"
	s := load(t, "").Start(nil, nil)
	s.Fold(iterations[0])
	s.Append(iterations[1], nil)
	all, _ := s.Lookup("history")
	for i, want := range []string{"general refinement", ""} {
		if got := all.([]any)[i].(iterationFields).Field("adaptation"); got != want {
			t.Errorf("iteration %d: %q, want %q", i+1, got, want)
		}
	}
	if took := all.([]any)[1].(iterationFields).Field("duration"); took != time.Second {
		t.Errorf("the second iteration took %v, want 1s", took)
	}
}

// TestOrderOfDecision takes away, one after the other, whatever gives the
// reason of a run at whose second iteration everything holds at once.
func TestOrderOfDecision(t *testing.T) {
	const loop = `guards: {circuit_breaker: {threshold: 1}, stagnation: {window: 2}, repeated_output: true, degradation: {window: 2},
  repeated: {of: output, times: 2}, consecutive: {when: 'true', times: 2}, budget: {tokens: 200, calls: 2, cost_usd: 0.02}, absolute_max_iterations: 2}
evaluate: {confidence: 0.5, passed: 'false'}
phases: [{name: only, prompt: p, max_iterations: 2}]
terminate: {max_iterations: 2, timeout: 2s, no_improvement: {patience: 1}, consecutive: {when: 'true', times: 2}, repeated: {of: output, times: 2}, when: iteration == 2, confidence: {threshold: 0.1, min_iterations: 2}}
`
	rules := load(t, loop)
	iterations := history("0.5/a=x 0.4p/a=x")
	last := iterations[1]
	last.Ended = &record.Ended{Reason: string(record.ReasonFinalResponse)}
	last.Cut = string(record.ReasonSuiteBudget)

	expect := func(want record.Reason) {
		t.Helper()
		if _, outcome, _ := play(rules, iterations); outcome.Reason != want {
			t.Errorf("the reason is %s, want %s", outcome.Reason, want)
		}
	}
	expect(record.ReasonSuiteBudget)
	last.Cut = string(record.ReasonCancelled)
	expect(record.ReasonCancelled)
	last.Cut = ""
	last.Error = &record.Error{Class: record.Program, Message: "x"}
	rules.continueIf = compiled(t, "false", expr.WantBool)
	expect(record.ReasonError)
	last.Error = nil
	expect(record.ReasonPassed)
	last.Evaluation.Passed = false
	expect(record.ReasonFinalResponse)
	last.Ended = nil
	for _, want := range []record.Reason{
		record.ReasonConfidence, "when:when", record.ReasonRepeated, record.ReasonConsecutive, record.ReasonNoImprovement, record.ReasonTimeout,
	} {
		expect(want)
		rules.tree = rules.tree[1:]
	}
	expect(record.ReasonPhasesComplete)
	rules.phases = []spec.Phase{{Name: "only"}}
	expect(record.ReasonMaxIterations)
	rules.maxima = nil
	for _, want := range []record.Reason{
		record.ReasonStagnation, record.ReasonRepeatedOutput, record.ReasonDegradation, record.ReasonRepeated, record.ReasonConsecutive,
		record.ReasonBudgetTokens, record.ReasonBudgetCalls, record.ReasonBudgetCost, record.ReasonAbsolute,
	} {
		rules.guards = slices.DeleteFunc(rules.guards, func(i int) bool { return rules.leaves[i].reason == record.ReasonCircuitBreaker })
		expect(want)
		rules.guards = rules.guards[1:]
	}
}

func TestAllLeavesThatHeldAreRecorded(t *testing.T) {
	_, outcome, _ := play(load(t, "terminate: {confidence: {threshold: 0.5}, max_iterations: 1, timeout: 1s}"), history("0.6"))
	if want := []string{"confidence", "timeout", "max_iterations"}; !slices.Equal(outcome.Held, want) {
		t.Errorf("held %v, want %v", outcome.Held, want)
	}
}

func TestAnExpressionThatFailsStopsTheRun(t *testing.T) {
	for _, loop := range []string{
		"terminate: {when: output.missing > 1.0}",
		"terminate: {repeated: {of: output.missing, times: 2}}",
		"phases: [{name: a, prompt: p, until: output.missing == 1.0}, {name: b, prompt: p}]",
		"guards: {consecutive: {when: output.missing == 1.0, times: 2}}",
	} {
		n, outcome, ok := play(load(t, loop), history("0.5"))
		if !ok || n != 1 || outcome.Reason != record.ReasonError || outcome.Status != record.Faulted || outcome.Error.Class != record.Expression {
			t.Errorf("%s: stopped %v with %+v, want a fault of the expression", loop, ok, outcome)
		}
	}
	_, outcome, _ := play(load(t, "terminate: {when: output.missing > 1.0}"), history("0.5p"))
	if outcome.Reason != record.ReasonPassed {
		t.Errorf("a run that passed stops for %s", outcome.Reason)
	}
}

func TestStopBefore(t *testing.T) {
	for reason, want := range map[record.Reason]record.Status{
		record.ReasonAgentEnded: record.Completed, record.ReasonCancelled: record.Cancelled,
		record.ReasonSuiteBudget: record.Cancelled, record.ReasonBudgetCalls: record.Completed,
	} {
		s := load(t, "").Start(&spec.Task{}, nil)
		s.Fold(history("0.9")[0])
		outcome := s.StopBefore(reason)
		if outcome.Status != want || outcome.Reason != reason || outcome.Returned != 1 || outcome.Success != (want == record.Completed) {
			t.Errorf("%s: %+v, want status %s and the best output", reason, outcome, want)
		}
	}
}

// Of two timeouts only the one that came holds. One on working time cuts before the calls in flight have worked so long.
func TestATimeoutHoldsWhereItCut(t *testing.T) {
	for loop, fired := range map[string]string{
		"terminate: {any: [{name: long, timeout: 9s}, {name: short, timeout: 2s}]}": "short",
		"terminate: {timeout: {after: 2s, working: true}}":                          "timeout",
	} {
		it := &record.Iteration{N: 1, Cut: "timeout", Working: time.Second, End: 2 * time.Second}
		d := load(t, loop).Start(&spec.Task{}, nil).Fold(it)
		if !d.Stop || d.Outcome.Reason != record.ReasonTimeout || d.Outcome.Fired != fired || len(d.Outcome.Held) != 1 {
			t.Errorf("%s: %+v", loop, d.Outcome)
		}
	}
}

// 0.29 USD is not 0.289999999999.
func TestBudgetsOfMoneyAreRounded(t *testing.T) {
	for usd, want := range map[float64]record.Money{0.29: 290_000_000_000, 0: 0, 1e-15: 1, 1e30: 1<<63 - 1} {
		if got := Dollars(usd); got != want {
			t.Errorf("%v USD are %d, want %d", usd, got, want)
		}
	}
	limits := LimitsOf(&spec.RunBudget{Calls: 2, Tokens: 100, CostUSD: 0.29})
	for name, c := range map[string]struct {
		usage record.Usage
		want  record.Reason
	}{
		"all of it":     {record.Usage{Calls: 2, InputTokens: 60, OutputTokens: 40, Cost: 290_000_000_000}, ""},
		"a call more":   {record.Usage{Calls: 3, InputTokens: 200}, record.ReasonBudgetCalls},
		"a token more":  {record.Usage{InputTokens: 101, Cost: record.USD}, record.ReasonBudgetTokens},
		"a little more": {record.Usage{Cost: 290_000_000_001}, record.ReasonBudgetCost},
	} {
		if got := limits.Short(c.usage); got != c.want {
			t.Errorf("%s: short of %q, want %q", name, got, c.want)
		}
	}
}

// What is left of an iteration that a timeout cut is cut at the same place again:
// what tools waited that are left out puts nothing off, and one that would have
// begun at the very end is left out.
func TestWhatWasCutIsCutAgainAtTheSamePlace(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		seconds := func(most int, what string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Second
		}
		rules := Compile(&spec.Loop{Terminate: spec.Tree{Any: []spec.Condition{{
			Kind:    spec.KindTimeout,
			Timeout: spec.Timeout{After: set(max(1, seconds(9, "after"))), Cancel: new(true), Working: rapid.Bool().Draw(t, "working")},
		}}}})
		it := &record.Iteration{N: 1, Calls: []record.Call{{Role: record.RoleAgent, Duration: time.Second}}}
		serial := time.Second
		for range rapid.IntRange(1, 5).Draw(t, "tools") {
			c := record.ToolCall{Tool: "t", Waited: seconds(3, "waited"), Start: time.Second}
			c.Duration = c.Waited + seconds(3, "working")
			if rapid.Bool().Draw(t, "serial") {
				c.Start, serial = serial, serial+c.Duration
			}
			it.ToolCalls = append(it.ToolCalls, c)
		}
		it.Steps = []record.Step{{Call: 1, Tools: len(it.ToolCalls)}}
		once := Clip(rules, it, 0)
		for _, c := range it.ToolCalls {
			if c.Start >= once.End {
				t.Fatalf("a tool began at %v, and all ended at %v", c.Start, once.End)
			}
		}
		left := len(it.ToolCalls)
		if twice := Clip(rules, it, 0); twice != once || len(it.ToolCalls) != left {
			t.Fatalf("%+v with %d tools, then %+v with %d", once, left, twice, len(it.ToolCalls))
		}
	})
}

// A history that begins in the memory of another one goes as if it were alone.
func TestRestartForgets(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		rules, earlier, later := rulesOf(t, drawTree(t)...), drawHistory(t), drawHistory(t)
		fresh, used := rules.Start(nil, nil), rules.Start(nil, nil)
		for _, it := range earlier {
			if used.Fold(it).Stop {
				break
			}
		}
		used.Restart(&spec.Task{ID: "another"}, nil)
		if value, _ := used.Lookup("best"); value != nil || used.Len() != 0 {
			t.Fatalf("%d iterations are left, the best of which is %v", used.Len(), value)
		}
		for i, it := range later {
			want, got := fresh.Fold(it), used.Fold(it)
			if !reflect.DeepEqual(got, want) || fresh.Usage() != used.Usage() {
				t.Fatalf("iteration %d: %+v, want %+v", i+1, got, want)
			}
			if want.Stop {
				return
			}
		}
	})
}

// TestS2_1_RemainingIterations: what warnings near the limit go by.
func TestS2_1_RemainingIterations(t *testing.T) {
	const unlimited = "guards: {absolute_max_iterations: off}\n"
	const phases = "phases: [{name: a, prompt: x, max_iterations: 2}, {name: b, prompt: x, max_iterations: 1}]\n"
	for _, c := range []struct {
		loop, history string
		want          int
	}{
		{"", "", 10},
		{"", "0 0", 8},
		{"guards: {absolute_max_iterations: 3}", "0 0", 1},
		{"max_iterations: 5", "0", 4},
		{"terminate: {any: [{max_iterations: 5}, {any: [{max_iterations: 4}]}]}", "0", 3},
		{unlimited + "terminate: {all: [{max_iterations: 5}, {confidence: {threshold: 0.5}}]}", "0", 0},
		{unlimited, "0", 0},
		{phases, "", 3},
		{phases, "0 0", 1},
		{unlimited + "phases: [{name: a, prompt: x, until: passed}, {name: b, prompt: x, max_iterations: 1}]", "", 2}, // the derived limit
		{unlimited + "phases: [{name: a, prompt: x, until: confidence > 0.5}, {name: b, prompt: x, max_iterations: 2}]", "0 0.6", 1},
		{phases + "terminate: {max_iterations: 8}", "0 0", 1},
		{"pattern: multi_strategy\nstrategies: [{name: a, max_iterations: 2}, {name: b}]", "0", 2},
	} {
		s := load(t, c.loop).Start(nil, nil)
		for _, it := range history(c.history) {
			if s.Fold(it).Stop {
				t.Fatalf("%s: %s stops", c.loop, c.history)
			}
		}
		if got := s.Remaining(); got != c.want {
			t.Errorf("%s after %q: %d remain, want %d", c.loop, c.history, got, c.want)
		}
	}
}

var (
	docExample = regexp.MustCompile("(?s)```yaml\n(.*?)```\n```\n(.*?)```")
)

// TestLoopsDocument plays every history of docs/loops.md.
func TestLoopsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/loops.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := docExample.FindAllStringSubmatch(string(text), -1)
	if blocks := strings.Count(string(text), "```yaml"); len(examples) != blocks || blocks < 15 {
		t.Fatalf("%d of %d examples have histories", len(examples), blocks)
	}
	for _, example := range examples {
		rules := load(t, example[1])
		for line := range strings.Lines(example[2]) {
			words, want, ok := strings.Cut(strings.TrimSpace(line), "->")
			if !ok {
				t.Fatalf("%q says no result", line)
			}
			if got := playedOut(rules, words); got != strings.TrimSpace(want) {
				t.Errorf("%s%s gives %q, the document says %q", example[1], words, got, strings.TrimSpace(want))
			}
		}
	}
}

func playedOut(rules *Rules, words string) string {
	n, outcome, stopped := play(rules, history(words))
	if !stopped {
		return "continues"
	}
	return fmt.Sprintf("%s after %d, returns %d", outcome.Reason, n, outcome.Returned)
}
