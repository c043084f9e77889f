package replay

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// What differs in more than when it stops is not served; what is read by the
// path is part of it.
func TestWhatLimitsServe(t *testing.T) {
	plain := plainLoop + "max_iterations: 4\n"
	reads := "agent: {model: m}\nprompt: '{{ param.style }} {{ since_improvement }}'\nevaluate: {confidence: '0.5'}\n"
	left := "agent: {model: m}\nprompt: '{{ param.max_iterations }} left'\nevaluate: {confidence: '0.5'}\n"
	warned := "agent: {model: m, warn_remaining: 2}\nprompt: hello\nevaluate: {confidence: '0.5'}\n"
	for _, c := range []struct{ name, loop, target, why string }{
		{"itself", plain, plain, ""},
		{"conditions and guards", plain, plainLoop + "terminate: {no_improvement: {patience: 2}, timeout: {after: 5s, cancel: false}}\nguards: {stagnation: {window: 2}}\n", ""},
		{"the model", plain, strings.Replace(plain, "model: m", "model: n", 1), "agent.model differs"},
		{"the prompt", plain, strings.Replace(plain, "hello", "hi", 1), "prompt differs"},
		{"the evaluation", plain, strings.Replace(plain, "0.5", "0.6", 1), "evaluate.confidence differs"},
		{"on_error", plain, plain + "on_error: {continue_if: 'true'}\n", "on_error.continue_if differs"},
		{"a timeout that cancels", plain, plain + "terminate: {timeout: 5s}\n", "cancel"},
		{"the same timeout", plain + "terminate: {timeout: 5s}\n", plain + "terminate: {timeout: 5s, no_improvement: {patience: 2}}\n", ""},
		{"a limit that the prompt reads", left + "max_iterations: 4\n", left + "max_iterations: 5\n", "param.max_iterations"},
		{"a limit that it does not read", left + "max_iterations: 4\n", left + "max_iterations: 4\nguards: {stagnation: {window: 2}}\n", ""},
		{"since_improvement in the prompt", strings.Replace(reads, "{{ param.style }}", "", 1) + "max_iterations: 4\n", strings.Replace(reads, "{{ param.style }}", "", 1) + "max_iterations: 5\n", "since_improvement"},
		{"warnings", warned + "max_iterations: 4\n", warned + "max_iterations: 5\n", "warn_remaining"},
	} {
		why := NewLimits(spectest.Loop(t, c.loop)).Serves(spectest.Loop(t, c.target))
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
	}
}

func TestPathsThatAreApart(t *testing.T) {
	phases := "agent: {model: m}\nphases:\n- {name: plan, prompt: p, max_iterations: 2}\n- {name: act, prompt: q, max_iterations: 3}\n"
	checked := "agent: {model: m}\nprompt: p\nevaluate: {checks: [{name: a, expr: 'true'}]}\nmax_iterations: 2\n"
	tools := strings.Replace(plainLoop, "model: m", "model: m, tools: [{name: t, command: [x]}]", 1)
	for _, c := range []struct{ name, recorded, target, why string }{
		{"limits", plainLoop + "max_iterations: 4\n", plainLoop + "terminate: {no_improvement: {patience: 2}, timeout: 5s}\n", ""},
		{"the last phase's limit", phases, strings.Replace(phases, "max_iterations: 3", "max_iterations: 1", 1), ""},
		{"a phase's limit", phases, strings.Replace(phases, "max_iterations: 2", "max_iterations: 1", 1), `max_iterations of "plan" differs`},
		{"a phase's end", phases, strings.Replace(phases, "max_iterations: 2", "max_iterations: 2, until: 'iteration > 1'", 1), `until of "plan" differs`},
		{"a phase's name", phases, strings.Replace(phases, "name: plan", "name: think", 1), "think"},
		{"no phases", phases, plainLoop, "the recorded loop evaluates nothing"},
		{"the model", plainLoop, strings.Replace(plainLoop, "model: m", "model: n", 1), "agent.model differs"},
		{"the call's timeout", plainLoop, strings.Replace(plainLoop, "model: m", "model: m, timeout: 5s", 1), "agent.timeout differs"},
		{"the form of replies", "agent: {model: m, reply: json}\nprompt: p\n", "agent: {model: m}\nprompt: p\n", "outputs are texts in one of the loops only"},
		{"what passes", checked, checked + "pattern: checklist\n", "the pattern decides otherwise on what passed"},
		{"a tool's timeout", tools, strings.Replace(tools, "[x]", "[x], timeout: 5s", 1), "agent.tools differs"},
		{"the evaluation", plainLoop, strings.Replace(plainLoop, "0.5", "0.6", 1), "evaluate.confidence differs"},
		{"no evaluation", plainLoop, "agent: {model: m}\nprompt: hello\n", "nothing is evaluated"},
	} {
		why := Apart(spectest.Loop(t, c.recorded), spectest.Loop(t, c.target))
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
	}
}

// A call that a smaller budget refuses where the record ends is compared, too: another request needs another reservation.
func TestARefusedCallAtTheEndIsCompared(t *testing.T) {
	hard := func(usd float64) *spec.Loop {
		return spectest.Loop(t, plainLoop+fmt.Sprintf("terminate: {confidence: off}\nguards: {budget: {cost_usd: %v, hard: true}}\n", usd))
	}
	reserved, o := record.Usage{Calls: 1, Cost: 2 * record.USD}, Options{Renderer: sender{}} // which always sends "r"; a call costs a dollar
	run := recordedRun(record.ReasonBudgetCost, 0.2, 0.4)
	for i := range run.Iterations {
		it := &run.Iterations[i]
		it.Request, it.Calls[0].Reserved = "r", &reserved
	}
	for request, want := range map[string]Verdict{"r": Exact, "other": Branches} {
		run.Next = &record.Next{Request: request, Reserved: &reserved}
		path := pathUnder(New(hard(9), Endless(hard(3.5)), o), hard(3.5), Recorded{Run: run, Task: task})
		got, whole := NewStops(hard(3.5)).Along(&path), New(hard(9), hard(3.5), o).Run(context.Background(), run, task)
		if got.Verdict != want || got.Iterations != 2 || !reflect.DeepEqual(got, whole) {
			t.Errorf("the next request is %q: %+v, want %+v", request, got, whole)
		}
	}
}
