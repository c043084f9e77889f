package stop

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// load gives the rules of a loop of which only what matters is written.
func load(t testing.TB, text string) *Rules {
	t.Helper()
	var loop strings.Builder
	loop.WriteString("loop: test\n")
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
	files := fstest.MapFS{"test.loop.yaml": {Data: []byte(loop.String())}}
	doc, faults := spec.LoadFS(files, "test.loop.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatalf("%v\n%s", err, loop.String())
	}
	return Compile(doc.Loop)
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
	watch := s.Watch()
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
	})
}

// TestATaskWithoutVarsHasNone: what a task does not declare is empty, not null,
// in the loop as in scorers.
func TestATaskWithoutVarsHasNone(t *testing.T) {
	decide(t, []decision{
		{"vars and metadata", "terminate: {when: \"!('x' in task.vars) && size(task.metadata) == 0\"}", "0.1", 1, "when:when", "", false, 1},
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
		if got := all.(historyList).At(i).(iterationFields).Field("adaptation"); got != want {
			t.Errorf("iteration %d: %q, want %q", i+1, got, want)
		}
	}
	if took := all.(historyList).At(1).(iterationFields).Field("duration"); took != time.Second {
		t.Errorf("the second iteration took %v, want 1s", took)
	}
}
