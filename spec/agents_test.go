package spec

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
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

// What has no value in a loop moves its hash as well: what agents have, scripts of programs and of tools, delegates.
func TestHashOfAgents(t *testing.T) {
	const with = "agent: {model: m, %stools: [{name: t, command: [cat, a.sh]}], delegates: [{name: d, a2a: \"http://localhost\"}]}\nprompt: p\nphases: [{name: a%s}, {name: b%s}]\n"
	program := "agent: {command: [sh, a.sh, /etc/passwd, ../s.yaml]}\n"
	delegating := "agent: {model: m, delegates: [{name: d, loop: d.yaml}]}\nprompt: p\n"
	seen := map[string]string{}
	for _, c := range []struct{ loop, script, delegate string }{
		{loop: fmt.Sprintf(with, "", "", "")},
		{loop: fmt.Sprintf(with, "", "", ""), script: "two"},
		{loop: fmt.Sprintf(with, "memory: {}, ", "", "")},
		{loop: fmt.Sprintf(with, "", ", tools: []", "")},
		{loop: fmt.Sprintf(with, "", "", ", tools: []")},
		{loop: fmt.Sprintf(with, "", ", agent: {delegates: []}", "")},
		{loop: "agent: {model: m, tools: [{name: t, http: \"http://localhost\", headers: {A: b}}]}\nprompt: p\n"},
		{loop: "agent: {model: m, tools: [{name: t, http: \"http://localhost\", headers: {A: {env: b}}}]}\nprompt: p\n"},
		{loop: program},
		{loop: program, script: "two"},
		{loop: delegating},
		{loop: delegating, delegate: "q"},
	} {
		hash := func() string {
			return loaded(t, "l.yaml", "loop: l\n"+c.loop, "a.sh", c.script, "d.yaml", "loop: d\nagent: {model: m}\nprompt: p"+c.delegate+"\n").Loop.hash
		}
		one := hash()
		if other, taken := seen[one]; taken || one != hash() {
			t.Errorf("the hash of %q is not its own: %q", c, other)
		}
		seen[one] = c.loop
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
	expect.Equal(t, "result", got, want)
	d.Loop.User = &User{}
	if steps := d.Loop.Steps(d.Loop.Stages()[0].Agent); steps != 100 {
		t.Errorf("with a user: %d steps", steps)
	}
}

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	value, err := expr.ParseJSON([]byte(text))
	must(t, err)
	return value
}

// A reply is a text, an object of ours, or a message as the API has it.
func TestAnswersWithToolCalls(t *testing.T) {
	lookup := []AnswerCall{{ID: "c1", Name: "lookup", Arguments: `{"q":"x"}`}}
	for text, want := range map[string]Answer{
		`"plain"`:                           {Text: "plain"},
		`{"text": "a", "thinking": "b"}`:    {Text: "a", Thinking: "b"},
		`{"content": "a"}`:                  {Text: "a"},
		`{"text": "a", "finish": "length"}`: {Text: "a", Finish: "length"},
		`{"tool_calls": [{"id": "c1", "name": "lookup", "arguments": {"q": "x"}}]}`:                                                                              {ToolCalls: lookup},
		`{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{\"q\":\"x\"}"}}]}`: {ToolCalls: lookup},
		`{"role": "assistant", "content": "a", "tool_calls": null, "cost": 3}`:                                                                                   {Text: "a"},
		`{"text": "a", "tool_calls": [{"name": "f"}, {"name": "g", "arguments": "not JSON"}]}`: {
			Text: "a", ToolCalls: []AnswerCall{{Name: "f", Arguments: "{}"}, {Name: "g", Arguments: "not JSON"}},
		},
		`{"reasoning_content": "b", "content": ""}`: {Thinking: "b"},
	} {
		got, err := answerOf(fromJSON(t, text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

// Objects that a model is to reply as they are stay what they were.
func TestAnswersThatAreJSON(t *testing.T) {
	for _, text := range []string{
		`{"answer":42}`, `{"content":"a","score":1}`, `{"thinking":"b","answer":"c"}`, `{"finish":"x"}`, `{"role":"user","content":"a","name":"n"}`, `[{"tool_calls":[]}]`, `42`, `null`,
	} {
		got, err := answerOf(fromJSON(t, text))
		if err != nil || !reflect.DeepEqual(got, Answer{Text: text}) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

func TestAnswersThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"text": "a", "content": "b"}`:            "write text or content, not both",
		`{"text": 5}`:                              "text is to be a text",
		`{"tool_calls": 3}`:                        "tool_calls is to be a list of {name, arguments}",
		`{"tool_calls": [{}, {}]}`:                 "tool call 1: it has no name",
		`{"tool_calls": [{"name": "f"}, "g"]}`:     "tool call 2: want {name, arguments}",
		`{"tool_calls": [{"name": 1}]}`:            "tool call 1: name is to be a text",
		`{"tool_calls": [{"function": "lookup"}]}`: "tool call 1: function is to hold {name, arguments}",
	} {
		if _, err := answerOf(fromJSON(t, text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A wrong reply is found where it stands: in the suite, in a file, in a variable.
func TestWrongAnswersHaveAPlace(t *testing.T) {
	suite := func(model string) string {
		return "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script" + model + "}}\nconfigurations: [{name: a, loop: l.yaml}]\n"
	}
	const loop, replies = "loop: l\nagent: {model: m}\nprompt: p\n", "\"a\"\n{\"tool_calls\": 3}\n"
	bad := fstest.MapFS{"s.yaml": {Data: []byte(suite(", responses: [a, {tool_calls: 3}]"))}, "l.yaml": {Data: []byte(loop)}}
	_, faults := LoadFS(bad, "s.yaml", Options{Env: onlyPath})
	if told := printed(faults); !strings.Contains(told, "s.yaml:3:47: tool_calls is to be a list") {
		t.Errorf("in a suite: %s", told)
	}
	for model, want := range map[string]string{
		", conversations: {main: []}":                     "want at least 1 item",
		", conversations: {main: [{tool_calls: 3}]}":      "tool_calls is to be a list",
		", conversations: {main: [a]}, responses: [a]":    "\"conversations\" excludes responses",
		`, conversations: {"[": [a]}`:                     "invalid pattern",
		", conversations: {main: [a]}, reserve_output: 0": "want a whole number of at least 1, got 0",
	} {
		bad["s.yaml"].Data = []byte(suite(model))
		if _, faults := LoadFS(bad, "s.yaml", Options{Env: onlyPath}); faults.Err() == nil || !strings.Contains(printed(faults), want) {
			t.Errorf("%s: %s", model, printed(faults))
		}
	}
	env := map[string]string{"AGENTBENCH_MOCK_RESPONSES": `["a", {"tool_calls": [{}]}]`}
	for model, want := range map[string]string{
		", responses: r.jsonl": "r.jsonl:2:1: tool_calls is to be a list",
		"":                     "$AGENTBENCH_MOCK_RESPONSES:1:1: reply 2: tool call 1: it has no name",
		", files: [r.jsonl], key: string(line), answers: '[row]'": "s.yaml:3:",
	} {
		d := loadedWith(t, Options{Env: func(name string) string { return env[name] }}, "s.yaml", suite(model), "l.yaml", loop, "r.jsonl", replies)
		_, err := d.Answers("m")
		var fault source.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Error(), want) {
			t.Errorf("%s: got %v, want %s", model, err, want)
		}
	}
}

// F41: a price in the suite wins over the file's; the file's is found by the provider's name of the model, and the
// resolved suite shows it. The prices have a date if any is used.
func TestF41_PricesOfTheFile(t *testing.T) {
	files := fstest.MapFS{
		"l.yaml":      {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
		"prices.yaml": {Data: []byte("as_of: 2026-11-01\nprices: {gpt-4o: {input: 2.5, cached_input: 1.25, output: 10}, m: free}\n")},
	}
	load := func(models string) *Suite {
		files["suite.yaml"] = &fstest.MapFile{Data: []byte("suite: s\ntasks: [{input: x}]\nprices: prices.yaml\nmodels: {m: " + models +
			"}\nconfigurations: [{name: a, loop: l.yaml}]\n")}
		doc, faults := LoadFS(files, "suite.yaml", Options{})
		must(t, faults.Err())
		return doc.Suite
	}
	for name, c := range map[string]struct {
		model string
		input float64
		free  bool
		asOf  string
	}{
		"by the provider's name": {"{provider: openai, name: gpt-4o}", 2.5, false, "2026-11-01"},
		"by the key":             {"{provider: openai}", 0, true, "2026-11-01"},
		"the suite's own wins":   {"{provider: openai, name: gpt-4o, price: {input: 1, output: 1}}", 1, false, ""},
	} {
		s := load(c.model)
		m, _ := s.Models.Get("m")
		if m.Price == nil || m.Price.Input != c.input || m.Price.Free != c.free || s.PricesAsOf != c.asOf {
			t.Errorf("%s: %+v as of %q", name, m.Price, s.PricesAsOf)
		}
		if s.Tree.Get("models").Get("m").Get("price") == nil {
			t.Errorf("%s: the resolved suite shows no price", name)
		}
	}
	if s := load("{provider: openai, name: unknown}"); s.Models[0].Value.Price != nil || s.PricesAsOf != "" {
		t.Errorf("an unknown model has the price %+v as of %q", s.Models[0].Value.Price, s.PricesAsOf)
	}
}

// A date has the form that the schema says.
func TestF41_DatesOfPrices(t *testing.T) {
	for text, ok := range map[string]bool{
		"2026-11-01": true, `"2026-11-01"`: true, "2026-02-30": false, "2026-1-1": false, "1 November 2026": false, "20261101": false, "2026": false,
	} {
		tree, _ := source.Parse(source.NewFile("p.yaml", []byte("as_of: "+text+"\nprices: {m: free}\n")))
		faults := source.Decode(tree, &PriceFile{})
		if (faults.Err() == nil) != ok {
			t.Errorf("%s: %v", text, faults)
		}
	}
}

// A provider by name has an address, a variable for its key, a row in docs/providers.md, and a place in the schema.
func TestProvidersByName(t *testing.T) {
	text, err := os.ReadFile("../docs/providers.md")
	must(t, err)
	field, _ := reflect.TypeFor[Model]().FieldByName("Provider")
	names := strings.Split(field.Tag.Get("enum"), "|")
	var want []string
	for _, s := range Servers() {
		want = append(want, s.Provider)
		row := fmt.Sprintf("| `%s` | %s | `%s`%s |", s.Provider, cmp.Or(map[string]string{"openai": "`https://api.openai.com/v1`", "azure": "yours: `base_url`"}[s.Provider], "`"+s.BaseURL+"`"), s.KeyEnv, map[bool]string{true: ", optional"}[s.Keyless])
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/providers.md lacks %s", row)
		}
		if (s.BaseURL == "") != (s.Provider == "openai" || s.Provider == "azure") || s.KeyEnv == "" {
			t.Errorf("%+v", s)
		}
	}
	if want = append(want, "script", "simulate"); !slices.Equal(names, want) {
		t.Errorf("the schema has %v, want %v", names, want)
	}
	for name, c := range map[string]struct {
		model Model
		want  Server
	}{
		"openai":              {Model{}, Server{Provider: "openai", KeyEnv: "OPENAI_API_KEY"}},
		"any server":          {Model{BaseURL: "http://x/v1"}, Server{Provider: "openai", BaseURL: "http://x/v1", KeyEnv: "OPENAI_API_KEY", Keyless: true}},
		"a key of its own":    {Model{BaseURL: "http://x/v1", APIKeyEnv: "K"}, Server{Provider: "openai", BaseURL: "http://x/v1", KeyEnv: "K"}},
		"ollama":              {Model{Provider: "ollama"}, Server{Provider: "ollama", BaseURL: "http://localhost:11434/v1", KeyEnv: "OLLAMA_API_KEY", Keyless: true}},
		"ollama, elsewhere":   {Model{Provider: "ollama", BaseURL: "http://gpu:11434/v1"}, Server{Provider: "ollama", BaseURL: "http://gpu:11434/v1", KeyEnv: "OLLAMA_API_KEY", Keyless: true}},
		"a proxy before groq": {Model{Provider: "groq", BaseURL: "http://proxy/v1"}, Server{Provider: "groq", BaseURL: "http://proxy/v1", KeyEnv: "GROQ_API_KEY"}},
	} {
		c.model.Provider = cmp.Or(c.model.Provider, "openai")
		c.want.Protocol = ChatProtocol
		if got, calls := c.model.Server(); !calls || got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for provider, want := range map[string]Protocol{"openai_responses": ResponsesProtocol, "anthropic": MessagesProtocol} {
		if got, calls := (&Model{Provider: provider, BaseURL: "http://x"}).Server(); !calls || got.Protocol != want || !got.Keyless {
			t.Errorf("%s: %+v", provider, got)
		}
	}
	if _, calls := (&Model{Provider: "script"}).Server(); calls {
		t.Error("a script is no server")
	}
}
