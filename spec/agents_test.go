package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const toolLoop = `loop: l
agent:
  model: m
  tools:
  - {name: calculator, command: [cat]}
  - {builtin: ask_question}
  - {name: files, mcp: {command: [cat]}}
  delegates: [{name: other, a2a: "http://localhost"}]
prompt: p
phases: [{name: plan}, {name: act, tools: [{name: look, command: [cat]}]}]
guards: {repeated: [{name: same, of: step.calls, times: 2, scope: step}]}
`

// What limits the behaviour of agents can be set, and so swept.
func TestSetPathsOfAgents(t *testing.T) {
	for set, want := range map[string]string{
		"agent.max_steps: 7":                         "7",
		"agent.memory.max_tokens: 900":               "900",
		"agent.warn_remaining: 2":                    "2",
		"agent.tool_calls: xml":                      "xml",
		"agent.tools.calculator.timeout: 3s":         "3s",
		"agent.tools.calculator.retries: 2":          "2",
		"agent.tools.files.timeout: 3s":              "3s",
		"agent.tools.files.mcp.shared: true":         "true",
		"agent.delegates.other.timeout: 9s":          "9s",
		"phases.act.tools.look.timeout: 4s":          "4s",
		"phases.plan.agent.max_steps: 2":             "2",
		"user.max_turns: 4, user.script: \"['a']\"":  "4",
		"guards.stagnation.times: 2":                 "2",
		"guards.stagnation.scope: step":              "step",
		"guards.stagnation.signature: normalized":    "normalized",
		"guards.repeated.same.window: 6":             "6",
		"guards.repeated.same.times: 3":              "3",
		"guards.circuit_breaker.threshold: 4":        "4",
		"agent.tools.ask_question.description: Ask!": "Ask!",
	} {
		loop := withSet(t, toolLoop, set)
		path, _, _ := strings.Cut(set, ":")
		if i := slices.IndexFunc(loop.Values(), func(v Value) bool { return v.Path == path }); i < 0 || fmt.Sprint(loop.Values()[i].Value) != want {
			t.Errorf("%s is not %s among %v", path, want, loop.Values())
		}
		if loop.hash == withSet(t, toolLoop, "").hash {
			t.Errorf("setting %s leaves the hash", set)
		}
	}
}

// What has no value in a loop moves its hash as well.
func TestHashOfAgents(t *testing.T) {
	base := "agent: {model: m, tools: [{name: t, command: [cat, a.sh]}], delegates: [{name: d, a2a: \"http://localhost\"}]}\nprompt: p\nphases: [{name: a}, {name: b}]\n"
	loops := []string{
		base,
		"agent: {model: m, memory: {}, tools: [{name: t, command: [cat, a.sh]}], delegates: [{name: d, a2a: \"http://localhost\"}]}\nprompt: p\nphases: [{name: a}, {name: b}]\n",
		"agent: {model: m, tools: [{name: t, command: [cat, a.sh]}], delegates: [{name: d, a2a: \"http://localhost\"}]}\nprompt: p\nphases: [{name: a, tools: []}, {name: b}]\n",
		"agent: {model: m, tools: [{name: t, command: [cat, a.sh]}], delegates: [{name: d, a2a: \"http://localhost\"}]}\nprompt: p\nphases: [{name: a}, {name: b, tools: []}]\n",
		"agent: {model: m, tools: [{name: t, command: [cat, a.sh]}], delegates: [{name: d, a2a: \"http://localhost\"}]}\nprompt: p\nphases: [{name: a, agent: {delegates: []}}, {name: b}]\n",
		"agent: {model: m, tools: [{name: t, http: \"http://localhost\", headers: {A: b}}]}\nprompt: p\n",
		"agent: {model: m, tools: [{name: t, http: \"http://localhost\", headers: {A: {env: b}}}]}\nprompt: p\n",
	}
	seen := map[string]string{}
	for _, text := range loops {
		d := loaded(t, "l.yaml", "loop: l\n"+text, "a.sh", "one")
		if other, taken := seen[d.Loop.hash]; taken {
			t.Errorf("one hash for\n%s\n%s", text, other)
		}
		seen[d.Loop.hash] = text
	}
	if d := loaded(t, "l.yaml", "loop: l\n"+base, "a.sh", "two"); seen[d.Loop.hash] != "" {
		t.Error("the hash does not follow the tool's script")
	}
}

// A phase's tools and agent stand for the loop's; a stage tells what its agent is, whole.
func TestStagesOfAgents(t *testing.T) {
	d := loaded(t, "l.yaml", `loop: l
agent: {model: m, tools: [{builtin: converse}], tool_choice: auto, delegates: [{name: d, a2a: "http://localhost"}]}
prompt: p
phases:
- {name: plan, tools: []}
- {name: act, agent: {tool_choice: none, max_steps: 9}}
- {name: alone, tools: [], agent: {delegates: []}}
- {name: other, agent: {command: [cat]}}
`)
	var got []string
	for _, s := range d.Loop.Stages() {
		got = append(got, fmt.Sprintf("%s %d %d %s %v %d", s.Name, len(s.Agent.Tools), len(s.Agent.Delegates), s.Agent.ToolChoice, d.Loop.Converses(s.Agent), d.Loop.Steps(s.Agent)))
	}
	want := []string{"plan 0 1 auto true 5", "act 1 1 none true 9", "alone 0 0 auto false 1", "other 1 1 auto false 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	d.Loop.User = &User{}
	if steps := d.Loop.Steps(d.Loop.Stages()[0].Agent); steps != 100 {
		t.Errorf("with a user: %d steps", steps)
	}
}
