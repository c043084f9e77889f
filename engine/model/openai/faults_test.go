package openai

import (
	"testing"

	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

// Answers with status 200 that are no replies. What servers of any protocol do is in the tests of package wire.
var faults = []struct {
	name, answer string
	class        record.ErrorClass
	says         string
}{
	{"refusal", `{"choices":[{"message":{"role":"assistant","content":null,"refusal":"I can't help with that."},"finish_reason":"stop"}]}`, record.ContentFilter, "I can't help"},
	{"no finish_reason", `{"choices":[{"message":{"role":"assistant","content":"half an ans"}}]}`, record.Incomplete, "finish_reason"},
	{"finish_reason null", `{"choices":[{"message":{"role":"assistant","content":"half"},"finish_reason":null}]}`, record.Incomplete, "finish_reason"},
	{"200 with no choices", `{"id":"x","choices":[]}`, record.BadResponse, "no choices"},
	{"200 without content", `{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}`, record.BadResponse, "no content"},
	{"200 with other types", `{"choices":"none"}`, record.BadResponse, "not what the API promises"},
}

// F21: every one has its class, and no message the key.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			shows(t, connect(t, wire.Options{BaseURL: "http://here", Transport: wiretest.Only(f.answer)}), f.class, f.says)
		})
	}
}

// F21, F25: whatever comes with status 200 is a whole reply that can be paid
// for, or an error with a class.
func FuzzAnswer(f *testing.F) {
	for _, fault := range faults {
		f.Add(fault.answer)
	}
	f.Add(goodAnswer)
	f.Add(`{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
	for _, message := range []string{
		`{"content":"a","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":"{"}}]}`,
		`{"content":null,"tool_calls":[{"id":"1"},{"id":"1"}]}`, `{"role":7,"content":["x"]}`, `{"content":[{"type":"text","text":"a"},null]}`,
	} {
		f.Add(`{"model":"another","choices":[{"message":` + message + `,"finish_reason":"tool_calls"},{"index":0}],"usage":{"prompt_tokens":1,"completion_tokens":-1}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reply, err := answered(t, false, text)
		wiretest.Sound(t, reply, err)
	})
}
