package imports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
)

func TestATIF(t *testing.T) {
	im := imports.New(mapping(t, "atif"))
	got := tellAll(read(t, im, "testdata/atif/v1.4.json", "testdata/atif/v1.7.jsonl"))
	compare(t, got, []told{
		{
			ID: "harbor-agent:gemini-2.5-flash/025b810f-b3a2-4c67-93c0-fe7a142a947a/1", Elapsed: 5500 * time.Millisecond,
			Iterations: []step{
				{Output: `"I will search for both."`, End: 2 * time.Second,
					Tools: `financial_search{"ticker":"GOOGL","metric":"price"}="$185.35"financial_search{"ticker":"GOOGL","metric":"volume"}="1.5M shares"`,
					Usage: record.Usage{Calls: 1, InputTokens: 520, CachedTokens: 200, OutputTokens: 80, ReasoningTokens: 12, ToolCalls: 2, Cost: 450_000_000}},
				{Output: `"GOOGL trades at $185.35, with 1.5M shares."`, End: 5500 * time.Millisecond,
					Usage: record.Usage{Calls: 1, InputTokens: 600, OutputTokens: 44, Cost: 320_000_000}},
			},
			Usage:  record.Usage{Calls: 2, InputTokens: 1120, CachedTokens: 200, OutputTokens: 124, ToolCalls: 2, Cost: 770_000_000},
			Scores: map[string]float64{"reward": 1},
		},
		{ // a copied step is none of this run; no price, no times; what cut it is unknown
			ID: "lead/s-2/1", Reason: record.ReasonUnknown,
			Iterations: []step{
				{Output: `[{"type":"text","text":"Asking."}]`, Tools: `delegate{"to":"viewer"}=[{"type":"text","text":"A cat."},{"type":"image","source":{"media_type":"image/jpeg","path":"images/2.jpg"}}]`,
					Usage: record.Usage{Calls: 2, InputTokens: 100, OutputTokens: 10, ToolCalls: 1, Unpriced: 2}},
				{Output: `""`, Tools: `submit{}="done"`, Usage: record.Usage{ToolCalls: 1}},
			},
		},
		{ // half of the tokens is not the tokens
			ID:         "bare/s-3/1",
			Iterations: []step{{Output: `"I have nothing to say."`, Usage: record.Usage{Calls: 1, InputTokens: 7, Unreported: 1}}},
			Usage:      record.Usage{Calls: 1, InputTokens: 7, Cost: record.USD / 4, Uncounted: 1},
		},
	})
	if n := im.Notes(); n.Orphans != 0 || len(n.Warnings) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestATIFThatIsWrong(t *testing.T) {
	const head = `{"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": `
	for _, c := range []struct{ what, text, want string }{
		{"unknown version", `{"schema_version": "ATIF-v2.0", "steps": []}`, `f.json:1: unknown schema_version "ATIF-v2.0"; known are ATIF-v1.0 to ATIF-v1.8`},
		{"no version", `{"steps": []}`, `f.json:1: unknown schema_version null; known`},
		{"no steps", head + `null}`, `f.json:1: steps is not a list`},
		{"out of order", head + `[{"step_id": 2, "source": "agent", "message": "b"}, {"step_id": 1, "source": "agent", "message": "a"}]}`,
			`{What:step_id does not count 1, 2, 3 and so on: the steps are taken in the order of the file Runs:1 First:f.json:1}`},
		{"a result of no call", head + `[{"step_id": 1, "source": "agent", "message": "", "observation": {"results": [{"source_call_id": "x", "content": "lost"}]}}]}`, "Orphans:1"},
		{"the same session", head + `[]}` + head + `[]}`, `f.json:1: the same session as f.json:1: ["s",null,0,null]`},
		{"arguments that are text", head + `[{"step_id": 1, "source": "agent", "message": "", "tool_calls": [{"tool_call_id": "1", "function_name": "f", "arguments": "{\"a\":"}]}]}`,
			`f"{\"a\":"=`},
	} {
		im := imports.New(mapping(t, "atif"))
		var got strings.Builder
		for i, err := range im.Read("f.json", strings.NewReader(c.text)) {
			if err != nil {
				fmt.Fprintln(&got, err)
				continue
			}
			for _, s := range tell(i).Iterations {
				fmt.Fprintln(&got, s.Tools)
			}
		}
		fmt.Fprintf(&got, "%+v", im.Notes())
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: got %s", c.what, &got)
		}
	}
}
