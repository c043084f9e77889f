package replay

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
	"pgregory.net/rapid"
)

const plainLoop = "agent: {model: m}\nprompt: hello\nevaluate: {confidence: '0.5'}\n"

// What check and plan say of a parameter before anything runs.
func TestParametersThatCanBeReplayed(t *testing.T) {
	phases := "agent: {model: m}\nphases:\n- {name: plan, prompt: p, max_iterations: 2}\n- {name: act, prompt: q, max_iterations: 3, agent: {timeout: 5s}}\n"
	for _, c := range []struct {
		name, loop, path string
		class            Class
		why              string
	}{
		{"a limit", plainLoop + "max_iterations: 3", "terminate.max_iterations", Replayed, "only when a run stops"},
		{"a threshold", plainLoop + "terminate: {confidence: {threshold: 0.8}}", "terminate.confidence.threshold", Replayed, ""},
		{"a guard", plainLoop, "guards.absolute_max_iterations", Replayed, ""},
		{"a prompt that reads the limit", "agent: {model: m}\nprompt: '{{ param.max_iterations }} left'\nmax_iterations: 3", "terminate.max_iterations", Calls, "the prompt reads it, so the agent knows it"},
		{"a system prompt that reads all parameters", "agent: {model: m, system: '{{ size(param) }}'}\nprompt: p\nmax_iterations: 3", "terminate.max_iterations", Calls, "reads it"},
		{"a prompt that reads a section", "agent: {model: m}\nprompt: '{{ size(param.terminate) }}'\nmax_iterations: 3", "terminate.max_iterations", Calls, "reads it"},
		{"a prompt that reads another", "agent: {model: m, temperature: 0.5}\nprompt: '{{ param.temperature }} left'\nmax_iterations: 3", "terminate.max_iterations", Replayed, ""},
		{"a limit that a judge is told", "agent: {model: m}\nprompt: p\nmax_iterations: 3\nevaluate: {judge: {model: j, rubric: 'after {{ param.max_iterations }}'}}", "terminate.max_iterations", Calls, "the evaluation reads it"},
		{"a limit that the evaluation reads", "agent: {model: m}\nprompt: p\nmax_iterations: 3\nevaluate: {confidence: 'iteration < param.max_iterations ? 0.1 : 0.9'}", "terminate.max_iterations", JudgedAgain, "the evaluation reads it"},
		{"a limit that a condition reads", plainLoop + "terminate: {max_iterations: 3, when: iteration > param.max_iterations - 1}", "terminate.max_iterations", Replayed, ""},
		{"a phase that another follows", phases, "phases.plan.max_iterations", Partly, `runs that left "plan" before the limit are exact`},
		{"the last phase", phases, "phases.act.max_iterations", Replayed, "the last phase"},
		{"the until of a phase", phases, "phases.plan.until", Partly, ""},
		{"a phase's prompt", phases, "phases.act.prompt", Calls, "sent"},
		{"a phase's call timeout", phases, "phases.act.agent.timeout", Partly, "less than both limits"},
		{"the temperature", plainLoop, "agent.temperature", Calls, "sent"},
		{"the limit of steps", "agent: {model: m, tools: [{builtin: task_completion}], max_steps: 4}\nprompt: p", "agent.max_steps", Partly, "before both limits"},
		{"the memory", "agent: {model: m, memory: {max_tokens: 4000}}\nprompt: p", "agent.memory.max_tokens", Partly, "leave out the same"},
		{"the timeout of a tool", "agent: {model: m, tools: [{name: t, command: [cat], timeout: 5s}]}\nprompt: p", "agent.tools.t.timeout", Partly, "took less than both"},
		{"a tool", "agent: {model: m, tools: [{name: t, command: [cat]}]}\nprompt: p", "agent.tools.t.retries", Calls, "sent"},
		{"a guard over steps", "agent: {model: m, tools: [{builtin: task_completion}]}\nprompt: p\nguards: {stagnation: {window: 3, scope: step}}", "guards.stagnation.window", Replayed, "whole records"},
		{"a guard over errors of tools", "agent: {model: m, tools: [{builtin: task_completion}]}\nprompt: p\nguards: {circuit_breaker: {threshold: 3}}", "guards.circuit_breaker.threshold", Replayed, "whole records"},
		{"a guard over iterations", "agent: {model: m, tools: [{builtin: task_completion}]}\nprompt: p\nguards: {stagnation: {window: 3}}", "guards.stagnation.window", Replayed, "only when a run stops"},
		{"warn_remaining", "agent: {model: m, warn_remaining: 2}\nprompt: p\nmax_iterations: 3", "agent.warn_remaining", Calls, "how many steps remain"},
		{"a limit that an agent with tools is not warned of", "agent: {model: m, warn_remaining: 2, tools: [{builtin: converse}]}\nprompt: p\nmax_iterations: 3", "terminate.max_iterations", Replayed, ""},
		{"steps the agent is warned of", "agent: {model: m, warn_remaining: 2, tools: [{builtin: converse}]}\nprompt: p", "agent.max_steps", Partly, "before warn_remaining announces"},
		{"a limit the agent is warned of", "agent: {model: m, warn_remaining: 2}\nprompt: p\nmax_iterations: 3", "terminate.max_iterations", Calls, "warn_remaining"},
		{"a named limit the agent is warned of", "agent: {model: m, warn_remaining: 2}\nprompt: p\nterminate: {any: [{name: cap, max_iterations: 3}]}", "terminate.cap", Calls, "warn_remaining"},
		{"a timeout", plainLoop + "terminate: {timeout: 9s}", "terminate.timeout.after", Replayed, "an interval"},
		{"a hard budget", plainLoop + "guards: {budget: {calls: 3, hard: true}}", "guards.budget.calls", Replayed, "under a hard budget too"},
		{"min_delta", plainLoop + "terminate: {no_improvement: {patience: 2, min_delta: 0.1}}", "terminate.no_improvement.min_delta", Replayed, ""},
		{"min_delta that a prompt sees", "agent: {model: m}\nprompt: '{{ since_improvement }}'\nevaluate: {confidence: '0.5'}\nterminate: {no_improvement: {patience: 2, min_delta: 0.1}}", "terminate.no_improvement.min_delta", Calls, "counts by min_delta"},
		{"a weight", "agent: {model: m}\nprompt: p\nevaluate: {checks: [{name: short, expr: 'true', weight: 2.0}]}", "evaluate.checks.short.weight", JudgedAgain, "without calls"},
		{"a weight behind a prompt that reads feedback", "agent: {model: m}\nprompt: '{{ feedback }}'\nevaluate: {checks: [{name: short, expr: 'true', weight: 2.0}]}", "evaluate.checks.short.weight", Partly, "reads what the evaluation says"},
		{"a weight beside a judge", "agent: {model: m}\nprompt: p\nevaluate: {judge: {model: j, rubric: r}, checks: [{name: short, expr: 'true', weight: 2.0}]}", "evaluate.checks.short.weight", Calls, "a judge"},
		{"the judge's temperature", "agent: {model: m}\nprompt: p\nevaluate: {judge: {model: j, rubric: r, temperature: 0.5}}", "evaluate.judge.temperature", Calls, "asked"},
		{"from which phase on is evaluated", phases + "evaluate: {confidence: '0.5', from_phase: act}\n", "evaluate.from_phase", Partly, "did not evaluate"},
		{"a short path", "agent: {model: m}\nprompt: '{{ param.terminate.max_iterations }} left'\nmax_iterations: 3", "max_iterations", Calls, "the prompt reads it"},
		{"a success by a tool", "agent: {model: m, tools: [{builtin: task_completion}]}\nprompt: p", "agent.tools.task_completion.success", Replayed, "is a success"},
		{"on_error", plainLoop, "on_error.continue_if", Replayed, ""},
		{"the pattern", plainLoop + "pattern: improvement", "pattern", Calls, "several things"},
		{"a strategy that another follows", "agent: {model: m}\npattern: multi_strategy\nevaluate: {confidence: '0.5'}\nstrategies: [{name: a.b, prompt: p}, {name: c, prompt: q}]", "strategies.a.b.max_iterations", Partly, "another strategy follows"},
	} {
		got := AnalysePath(spectest.Loop(t, c.loop), c.path)
		if got.Class != c.class || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %s is %q (%s), want %q (%s)", c.name, c.path, got.Class, got.Why, c.class, c.why)
		}
	}
}

func TestEveryParameterIsAnalysed(t *testing.T) {
	l := spectest.Loop(t, plainLoop+"max_iterations: 3\nguards: {budget: {tokens: 5}}\n")
	classes := map[string]Class{}
	for _, p := range Analyse(l) {
		classes[p.Path] = p.Class
	}
	for path, class := range map[string]Class{"terminate.max_iterations": Replayed, "guards.budget.tokens": Replayed, "guards.absolute_max_iterations": Replayed, "agent.model": Calls} {
		if classes[path] != class {
			t.Errorf("%s is %q, want %q", path, classes[path], class)
		}
	}
}

// Where all that differs can be replayed by what is said of it, no run branches.
func TestTheAnalysisIsNeverLessCautious(t *testing.T) {
	cases := 0
	check(t, func(t *rapid.T) {
		w, one := drawWorld(t), drawLoop(t, true)
		other := changed(t, one)
		other.Param = one.Param // it is no parameter of the language
		for path := range New(one, other, Options{}).differ.values {
			if AnalysePath(one, path).Class != Replayed || AnalysePath(other, path).Class != Replayed {
				return
			}
		}
		if hard(other) && !hard(one) {
			return // as the sentence says
		}
		cases++
		r := New(one, other, Options{}).Run(t.Context(), w.run(one), task)
		if r.Verdict == Branches {
			t.Fatalf("branches at %d: %s", r.At, r.Why)
		}
	})
	if cases == 0 {
		t.Error("there was no case")
	}
}

func hard(l *spec.Loop) bool { return l.Guards.Budget != nil && l.Guards.Budget.Hard }
