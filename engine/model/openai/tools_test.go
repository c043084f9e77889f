package openai

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// conversation is a request with everything of tools in it.
func conversation(choice string) *model.Request {
	return &model.Request{
		Messages: []model.Message{
			{Role: "user", Text: "weather?"},
			{Role: "assistant", ToolCalls: []model.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city": "Rome"}`}, {ID: "b", Name: "time", Arguments: `{"zone":`}}},
			{Role: "tool", Text: "rain", ToolCallID: "a"},
			{Role: "tool", Text: "", ToolCallID: "b"},
			{Role: "assistant", Text: "Again.", ToolCalls: []model.ToolCall{{ID: "c", Name: "time", Arguments: "{}"}}},
			{Role: "tool", Text: "noon", ToolCallID: "c"},
			{Role: "assistant", Text: ""},
		},
		Tools: []model.Tool{
			{Name: "weather", Description: "of a city", Parameters: []byte(`{"type":"object","required":["city"]}`)},
			{Name: "time"},
		},
		ToolChoice: choice,
	}
}

// What a server is sent of tools: no content is ever left out, for a server would
// refuse the message, and arguments stay as the model wrote them.
func TestToolsAreSent(t *testing.T) {
	const want = `{"model": "m", "stream": false, "messages": [
		{"role": "user", "content": "weather?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Rome\"}"}},
			{"id": "b", "type": "function", "function": {"name": "time", "arguments": "{\"zone\":"}}]},
		{"role": "tool", "content": "rain", "tool_call_id": "a"},
		{"role": "tool", "content": "", "tool_call_id": "b"},
		{"role": "assistant", "content": "Again.", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "time", "arguments": "{}"}}]},
		{"role": "tool", "content": "noon", "tool_call_id": "c"},
		{"role": "assistant", "content": ""}],
		"tools": [
			{"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": {"type": "object", "required": ["city"]}}},
			{"type": "function", "function": {"name": "time", "parameters": {"type": "object", "properties": {}}}}]}`
	for choice, told := range map[string]string{
		"": `null`, "auto": `"auto"`, "none": `"none"`, "required": `"required"`, "weather": `{"type": "function", "function": {"name": "weather"}}`,
	} {
		got := capture(t, wire.Options{}, conversation(choice)).Body
		equal(t, got["tool_choice"], told)
		delete(got, "tool_choice")
		equal(t, got, want)
	}
}

func calling(id, name, arguments string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// F25: what comes beside the calls, and calls without an ID or with the same one.
func TestF25_AnswersWithToolCalls(t *testing.T) {
	const form = `{"choices":[{"message":{"role":"assistant",%s},"finish_reason":%q}]}`
	const f, g = `{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}`, `{"type":"function","function":{"name":"g","arguments":""}}`
	for name, c := range map[string]struct {
		message, finish, text string
		calls                 []model.ToolCall
	}{
		"no content":             {`"content":null,"tool_calls":[` + f + `]`, "tool_calls", "", []model.ToolCall{calling("1", "f", `{"a": 1}`)}},
		"content left out":       {`"tool_calls":[` + f + `]`, "tool_calls", "", []model.ToolCall{calling("1", "f", `{"a": 1}`)}},
		"stop in spite of calls": {`"content":null,"tool_calls":[` + f + `]`, "stop", "", []model.ToolCall{calling("1", "f", `{"a": 1}`)}},
		"content besides":        {`"content":"hm","tool_calls":[` + f + `]`, "tool_calls", "hm", []model.ToolCall{calling("1", "f", `{"a": 1}`)}},
		"no ID":                  {`"content":null,"tool_calls":[` + f + "," + g + `]`, "tool_calls", "", []model.ToolCall{calling("1", "f", `{"a": 1}`), calling("call_2", "g", "")}},
		"the same ID":            {`"content":null,"tool_calls":[` + f + "," + f + `]`, "tool_calls", "", []model.ToolCall{calling("1", "f", `{"a": 1}`), calling("1_2", "f", `{"a": 1}`)}},
		"none":                   {`"content":"hm","tool_calls":[]`, "stop", "hm", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := answered(t, false, fmt.Sprintf(form, c.message, c.finish))
			must(t, err)
			if got.Text != c.text || got.Finish != c.finish || !reflect.DeepEqual(got.ToolCalls, c.calls) {
				t.Errorf("got %+v", got)
			}
			if written := model.EstimateTokens(len(c.text)) > 0 || c.calls != nil; (got.Usage.OutputTokens > 0) != written {
				t.Errorf("calls are not counted: %+v", got.Usage)
			}
		})
	}
}

// The forms in which servers stream calls.
func TestStreamedToolCalls(t *testing.T) {
	both := []model.ToolCall{calling("1", "f", `{"a": 1}`), calling("2", "g", `{}`)}
	for name, c := range map[string]struct {
		deltas []string
		want   []model.ToolCall
	}{
		"at once": {[]string{`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\": 1}"}},{"index":1,"id":"2","function":{"name":"g","arguments":"{}"}}`}, both},
		"no index": {[]string{
			`{"id":"1","function":{"name":"f","arguments":"{\"a\""}}`, `{"function":{"arguments":": 1}"}}`, `{"id":"2","function":{"name":"g","arguments":"{}"}}`,
		}, both},
		"one index for all": {[]string{
			`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\": 1}"}}`, `{"index":0,"id":"2","function":{"name":"g","arguments":"{"}}`, `{"index":0,"function":{"arguments":"}"}}`,
		}, both},
		"ID and name with every part": {[]string{
			`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}`, `{"index":0,"id":"1","function":{"name":"f","arguments":": 1}"}}`,
			`{"index":1,"id":"2","function":{"name":"g","arguments":"{}"}}`,
		}, both},
		"a name in parts": {[]string{`{"index":0,"id":"1","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather","arguments":"{}"}}`}, []model.ToolCall{calling("1", "get_weather", "{}")}},
		"no ID":           {[]string{`{"index":0,"function":{"name":"f","arguments":"{}"}}`, `{"index":1,"function":{"name":"f","arguments":"{}"}}`}, []model.ToolCall{calling("call_1", "f", "{}"), calling("call_2", "f", "{}")}},
	} {
		t.Run(name, func(t *testing.T) {
			stream := delta(`"role":"assistant","content":null`)
			for _, calls := range c.deltas {
				stream += delta(`"tool_calls":[` + calls + `]`)
			}
			stream += event(strings.Replace(finished, "stop", "tool_calls", 1)) + event("[DONE]")
			got, err := answered(t, true, stream)
			must(t, err)
			if got.Text != "" || got.Finish != "tool_calls" || !reflect.DeepEqual(got.ToolCalls, c.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// However a server parts its calls, they are joined as they were.
func TestCallsAreJoined(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "calls")
		want, next := make([]toolCall, n), make([]int, n)
		parts := make([][]callDelta, n)
		for i := range want {
			want[i] = toolCall{ID: fmt.Sprint("id", i), Type: "function", Function: functionCall{Name: rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name")}}
			first := callDelta{Index: &i, ID: want[i].ID}
			first.Function.Name = want[i].Function.Name
			parts[i] = []callDelta{first}
			for _, text := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "arguments") {
				part := callDelta{Index: &i}
				part.Function.Arguments = text
				parts[i], want[i].Function.Arguments = append(parts[i], part), want[i].Function.Arguments+text
			}
		}
		var got calls
		for left := true; left; {
			left = false
			for _, i := range rapid.Permutation([]int{0, 1, 2, 3}[:n]).Draw(t, "order") {
				if next[i] < len(parts[i]) {
					got.add(&parts[i][next[i]])
					next[i]++
					left = true
				}
			}
		}
		if whole := got.whole(); !reflect.DeepEqual(whole, want) {
			t.Fatalf("got  %+v\nwant %+v", whole, want)
		}
	})
}
