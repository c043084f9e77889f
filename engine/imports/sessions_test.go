package imports_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
)

// The messages of a session, of its subagent, and the error that one may end with.
const (
	sessionBegins = `{"type":"user","sessionId":"s","timestamp":"2026-01-02T10:00:00Z","isSidechain":false,"message":{"role":"user","content":"Fix it."}}
{"type":"assistant","sessionId":"s","timestamp":"2026-01-02T10:00:02Z","isSidechain":false,"requestId":"r1","message":{"id":"m1","role":"assistant","model":"big","content":[{"type":"tool_use","id":"t1","name":"Task","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":50,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":10}}}
`
	subagent = `{"type":"user","sessionId":"s","agentId":"a1","timestamp":"2026-01-02T10:00:03Z","isSidechain":true,"message":{"role":"user","content":"Find it."}}
{"type":"assistant","sessionId":"s","agentId":"a1","timestamp":"2026-01-02T10:00:04Z","isSidechain":true,"requestId":"r9","message":{"id":"m9","role":"assistant","model":"small","content":[{"type":"text","text":"f.go"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}}
`
	sessionEnds = `{"type":"user","sessionId":"s","timestamp":"2026-01-02T10:00:05Z","isSidechain":false,"message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"f.go"}]}}
{"type":"assistant","sessionId":"s","timestamp":"2026-01-02T10:00:07Z","isSidechain":false,"requestId":"r2","message":{"id":"m2","role":"assistant","model":"big","content":[{"type":"text","text":"Fixed."}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":20},"output_tokens":6}}}
`
	apiError = `{"type":"assistant","sessionId":"s","timestamp":"2026-01-02T10:00:08Z","isSidechain":false,"isApiErrorMessage":true,"error":"rate_limit","message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"You have hit your limit"}],"stop_reason":"stop_sequence","usage":{"input_tokens":0,"output_tokens":0}}}
`
)

func session(t *testing.T, text string, beside ...string) *record.Run {
	t.Helper()
	var files []imports.File
	for _, other := range beside {
		files = append(files, imports.File{Name: "s/subagents/agent-a1.jsonl", Reader: strings.NewReader(other)})
	}
	var runs []*record.Run
	for imported, err := range imports.New(mapping(t, "claude-code")).Read("s.jsonl", strings.NewReader(text), files...) {
		must(t, err)
		runs = append(runs, imported.Run)
	}
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

func TestSubagentsCountOnceInBothLayouts(t *testing.T) {
	together, apart := session(t, sessionBegins+subagent+sessionEnds), session(t, sessionBegins+sessionEnds, subagent)
	if !reflect.DeepEqual(together, apart) {
		t.Errorf("in one file:\n%+v\nin a file of its own:\n%+v", together, apart)
	}
	want := record.Usage{Calls: 3, InputTokens: 185, CachedTokens: 50, CacheWriteTokens: 100, CacheWrite1hTokens: 20, OutputTokens: 18, ToolCalls: 1, Unpriced: 3}
	if together.Usage != want {
		t.Errorf("used %+v, want %+v", together.Usage, want)
	}
	if got := string(together.Iterations[0].ToolCalls[0].Result); got != `"f.go"` {
		t.Errorf("the result that came after the subagent: %s", got)
	}
}

func TestASessionThatEndsWithAnErrorOfTheAPIIsAFault(t *testing.T) {
	if o := session(t, sessionBegins+subagent+sessionEnds).Outcome; o.Reason != record.ReasonFinalResponse {
		t.Errorf("%+v", o)
	}
	o := session(t, sessionBegins+subagent+sessionEnds+apiError).Outcome
	if o.Status != record.Faulted || o.Error == nil || o.Error.Class != record.RateLimit || o.Error.Message != "You have hit your limit" {
		t.Errorf("%+v", o)
	}
	if o := session(t, apiError+sessionBegins+sessionEnds).Outcome; o.Status != record.Completed {
		t.Errorf("it went on: %+v", o)
	}
}
