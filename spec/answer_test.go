package spec

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	value, err := expr.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
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
