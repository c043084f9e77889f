package anthropic

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
	{"no stop_reason", `{"type":"message","content":[{"type":"text","text":"half an ans"}]}`, record.Incomplete, "stop_reason"},
	{"stop_reason null", `{"type":"message","content":[{"type":"text","text":"half"}],"stop_reason":null}`, record.Incomplete, "stop_reason"},
	{"no content", `{"type":"message","stop_reason":"end_turn"}`, record.BadResponse, "no content"},
	{"content null", `{"type":"message","content":null,"stop_reason":"end_turn"}`, record.BadResponse, "no content"},
	{"content as text", `{"type":"message","content":"hi","stop_reason":"end_turn"}`, record.BadResponse, "not what the API promises"},
	{"a block of other types", `{"content":[{"type":"text","text":5}],"stop_reason":"end_turn"}`, record.BadResponse, "not what the API promises"},
	{"a block without a type", `{"content":[{"text":{}}],"stop_reason":"end_turn"}`, record.BadResponse, "not what the API promises"},
	{"an error", `{"type":"error","error":{"type":"api_error","message":"upstream died"}}`, record.BadResponse, "upstream died"},
	{"a rate limit", `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, record.RateLimit, "slow down"},
	{"too long a request", `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, record.ContextLength, "maximum size"},
}

// F21: every one has its class.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			shows(t, connect(t, wire.Options{BaseURL: "http://here", Transport: wiretest.Only(f.answer)}), f.class, f.says)
		})
	}
}

// F21, F25: any answer with status 200, streamed or not, is a whole reply that can be paid for and sent back, or an
// error with a class.
func FuzzAnswer(f *testing.F) {
	for _, fault := range faults {
		f.Add(fault.answer)
	}
	f.Add(goodAnswer)
	f.Add(goodStream)
	for _, block := range []string{
		`null`, `{"type":"tool_use","id":"","name":"f","input":"x"}`, `{"type":"dream","id":5}`, `{"type":"thinking","thinking":"a","signature":null}`,
	} {
		f.Add(`{"content":[` + block + `,{"type":"text","text":"a","citations":[{}]}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":-1,"x":{"y":1e300}}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, stream := range []bool{false, true} {
			reply, err := asked(t, wire.Options{Stream: stream}, text)
			wiretest.Sound(t, reply, err)
			if err == nil && reply.Blocks != nil && !isArray(reply.Blocks) {
				t.Errorf("blocks %s", reply.Blocks)
			}
		}
	})
}

func isArray(raw []byte) bool {
	return len(raw) > 0 && raw[0] == '[' && isObject([]byte(`{"a":`+string(raw)+`}`))
}
