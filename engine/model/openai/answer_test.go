package openai

import (
	"encoding/json"
	"reflect"
	"testing"
)

var answers = []string{
	`{"id":"a","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"42","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
	" {\n \"choices\" : [ { \"index\": 1.0, \"message\": { \"content\": \"a\\n\\\"b\\\" \\\\\" , \"reasoning\": \"r\" } , \"finish_reason\": \"length\" } , null ],\r\n\t\"usage\": { \"prompt_tokens_details\": {\"cached_tokens\": 3, \"more\": [1, {\"x\": \"}\"}]}, \"prompt_tokens\": \"12\" } } \n",
	`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}],"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":[1]}"}}],"reasoning_content":7},"finish_reason":"tool_calls"}],"service_tier":"flex"}`,
	`{"error":{"message":"no"},"choices":null,"usage":null,"model":null}`,
	`{}`, `null`, ` [] `, `"a"`, `7`, ``, ` `, `{"choices":[]}`, `{"choices":[],"choices":[{"finish_reason":"a"}]}`, `{"choices":[[]]}`, `{"MODEL":"a"}`, `{"mod\u0065l":"a"}`,
}

// What is read without encoding/json is what that would read, whatever is wrong with an answer.
func TestAnswersAreReadAsByEncodingJSON(t *testing.T) {
	same := func(answer string) {
		t.Helper()
		got, want := completionOf([]byte(answer)), &completion{}
		if json.Unmarshal([]byte(answer), want) != nil {
			want = nil
		}
		if got != nil && want != nil && len(got.Choices)+len(want.Choices) == 0 {
			got.Choices, want.Choices = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", answer, got, want)
		}
	}
	for _, answer := range answers {
		same(answer)
		for at := range len(answer) {
			same(answer[:at])
			same(answer[:at] + answer[at+1:])
			for _, other := range []string{`"`, `\`, "{", "}", "[", "]", ":", ",", "1", "n", " ", "A", "é", "\xff"} {
				same(answer[:at] + other + answer[at+1:])
				same(answer[:at] + other + answer[at:])
			}
		}
	}
}
