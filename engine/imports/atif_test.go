package imports_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

// members are the keys of each object of ATIF-v1.7, required ones first, up to the bar. An object may have
// no others: the schema of harbor-framework/harbor (rfcs/0001-trajectory-format.md) forbids them.
var members = map[string][]string{
	"trajectory": {"schema_version", "agent", "steps", "|", "session_id", "trajectory_id", "notes", "final_metrics", "continued_trajectory_ref", "extra", "subagent_trajectories"},
	"agent":      {"name", "version", "|", "model_name", "tool_definitions", "extra"},
	"step": {"step_id", "source", "message", "|", "timestamp", "model_name", "reasoning_effort", "reasoning_content", "tool_calls", "observation", "metrics", "is_copied_context",
		"llm_call_count", "extra"},
	"tool call":     {"tool_call_id", "function_name", "arguments", "|", "extra"},
	"observation":   {"results"},
	"result":        {"|", "source_call_id", "content", "subagent_trajectory_ref", "extra"},
	"ref":           {"|", "trajectory_id", "trajectory_path", "session_id", "extra"},
	"metrics":       {"|", "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids", "completion_token_ids", "logprobs", "extra"},
	"final metrics": {"|", "total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd", "total_steps", "extra"},
	"part":          {"type", "|", "text", "source"},
	"image":         {"media_type", "path"},
}

// checking finds what is wrong with a document of ATIF-v1.7.
type checking struct{ wrong []string }

func (c *checking) fault(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// object checks the keys of an object, and drops those that are null.
func (c *checking) object(kind string, v any) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		c.fault("the %s is %T", kind, v)
		return nil
	}
	required := true
	for _, key := range members[kind] {
		if required = required && key != "|"; required && o[key] == nil {
			c.fault("the %s lacks %s", kind, key)
		}
	}
	for key := range o {
		if key == "|" || !slices.Contains(members[kind], key) {
			c.fault("the %s has %s", kind, key)
		}
	}
	return o
}

func (c *checking) each(v any, do func(any)) {
	list, ok := v.([]any)
	if v != nil && !ok {
		c.fault("want a list, got %T", v)
	}
	for _, item := range list {
		do(item)
	}
}

func want[T any](c *checking, what string, v any) (value T) {
	value, ok := v.(T)
	if v != nil && !ok {
		c.fault("%s is %T", what, v)
	}
	return value
}

func (c *checking) content(v any) {
	if _, isText := v.(string); isText || v == nil {
		return
	}
	c.each(v, func(v any) {
		part := c.object("part", v)
		switch text, isText := part["text"].(string); part["type"] {
		case "text":
			if !isText || part["source"] != nil {
				c.fault("a text part with %q and %v", text, part["source"])
			}
		case "image":
			image := c.object("image", part["source"])
			if media, _ := image["media_type"].(string); isText || !strings.HasPrefix(media, "image/") {
				c.fault("an image part of %v", part)
			}
		default:
			c.fault("a part of type %v", part["type"])
		}
	})
}

func (c *checking) trajectory(v any, embedded bool) {
	t := c.object("trajectory", v)
	if version := t["schema_version"]; version != "ATIF-v1.7" {
		c.fault("schema_version %v", version)
	}
	agent := c.object("agent", t["agent"])
	want[string](c, "agent.name", agent["name"])
	want[string](c, "agent.version", agent["version"])
	want[string](c, "agent.model_name", agent["model_name"])
	if steps, _ := t["steps"].([]any); len(steps) == 0 {
		c.fault("no steps")
	}
	n := 0.0
	c.each(t["steps"], func(v any) {
		n++
		c.step(v, n)
	})
	if t["final_metrics"] != nil {
		c.object("final metrics", t["final_metrics"])
	}
	if t["trajectory_id"] == nil && embedded {
		c.fault("an embedded trajectory without an id")
	}
	ids := map[any]bool{}
	c.each(t["subagent_trajectories"], func(v any) {
		c.trajectory(v, true)
		id := v.(map[string]any)["trajectory_id"]
		if ids[id] {
			c.fault("trajectory_id %v is there twice", id)
		}
		ids[id] = true
	})
}

func (c *checking) step(v any, n float64) {
	s := c.object("step", v)
	if s["step_id"] != n {
		c.fault("step_id %v where %v is due", s["step_id"], n)
	}
	c.content(s["message"])
	if at := want[string](c, "timestamp", s["timestamp"]); at != "" {
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
			c.fault("timestamp %v", err)
		}
	}
	switch s["source"] {
	case "agent":
		if s["llm_call_count"] == 0.0 && (s["metrics"] != nil || s["reasoning_content"] != nil) {
			c.fault("a step of no call with metrics or reasoning")
		}
	case "user", "system":
		for _, key := range []string{"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"} {
			if s[key] != nil {
				c.fault("a step of the %v with %s", s["source"], key)
			}
		}
	default:
		c.fault("a step of %v", s["source"])
	}
	ids := map[any]bool{}
	c.each(s["tool_calls"], func(v any) {
		call := c.object("tool call", v)
		ids[want[string](c, "tool_call_id", call["tool_call_id"])] = true
		want[string](c, "function_name", call["function_name"])
		want[map[string]any](c, "arguments", call["arguments"])
	})
	if s["metrics"] != nil {
		c.object("metrics", s["metrics"])
	}
	if s["observation"] == nil {
		return
	}
	c.each(c.object("observation", s["observation"])["results"], func(v any) {
		r := c.object("result", v)
		if id := r["source_call_id"]; id != nil && !ids[id] {
			c.fault("step %v: a result of call %v", n, id)
		}
		c.content(r["content"])
		c.each(r["subagent_trajectory_ref"], func(v any) {
			if ref := c.object("ref", v); ref["trajectory_id"] == nil && ref["trajectory_path"] == nil {
				c.fault("a reference to nothing")
			}
		})
	})
}

// exported writes a run as ATIF, which must be valid.
func exported(t testing.TB, run *record.Run, scores []record.Score) map[string]any {
	t.Helper()
	text, err := imports.ATIF(run, scores)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if document["schema_version"] == "ATIF-v1.7" {
		var c checking
		if c.trajectory(document, false); len(c.wrong) > 0 {
			t.Fatalf("not valid: %q\n%s", c.wrong, text)
		}
	}
	return document
}

// TestATIFIsGivenBack: a document that was imported is exported as it was, but for the
// sequence of the steps, which counts from 1.
func TestATIFIsGivenBack(t *testing.T) {
	for _, file := range []string{"testdata/atif/v1.4.json", "testdata/atif/v1.7.jsonl"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := read(t, imports.New(mapping(t, "atif")), file)
		documents := json.NewDecoder(bytes.NewReader(text))
		for _, i := range all {
			var want map[string]any
			if err := documents.Decode(&want); err != nil {
				t.Fatal(err)
			}
			if got := exported(t, i.Run, i.Scores); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got\n%v\nwant\n%v", i.Run.ID, got, want)
			}
		}
		if documents.More() {
			t.Errorf("%s: %d runs", file, len(all))
		}
	}
}

func TestATIF(t *testing.T) {
	im := imports.New(mapping(t, "atif"))
	got := tellAll(read(t, im, "testdata/atif/v1.4.json", "testdata/atif/v1.7.jsonl"))
	compare(t, got, []told{
		{
			ID: "harbor-agent:gemini-2.5-flash/025b810f-b3a2-4c67-93c0-fe7a142a947a/1", Reason: record.ReasonFinalResponse, Status: record.Completed, Elapsed: 5500 * time.Millisecond,
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
			ID: "lead/s-2/1", Reason: record.ReasonUnknown, Status: record.Completed,
			Iterations: []step{
				{Output: `[{"type":"text","text":"Asking."}]`, Tools: `delegate{"to":"viewer"}=[{"type":"text","text":"A cat."},{"type":"image","source":{"media_type":"image/jpeg","path":"images/2.jpg"}}]`,
					Usage: record.Usage{Calls: 2, InputTokens: 100, OutputTokens: 10, ToolCalls: 1, Unpriced: 2}},
				{Output: `""`, Tools: `submit{}="done"`, Usage: record.Usage{ToolCalls: 1}},
			},
			Usage: record.Usage{Calls: 2, InputTokens: 100, OutputTokens: 10, ToolCalls: 2, Unpriced: 2}, Scores: map[string]float64{},
		},
		{ // half of the tokens is not the tokens
			ID: "bare/s-3/1", Reason: record.ReasonFinalResponse, Status: record.Completed,
			Iterations: []step{{Output: `"I have nothing to say."`, Usage: record.Usage{Calls: 1, InputTokens: 7, Unreported: 1}}},
			Usage:      record.Usage{Calls: 1, InputTokens: 7, Cost: record.USD / 4, Uncounted: 1}, Scores: map[string]float64{},
		},
	})
	if n := im.Notes(); n.Orphans != 0 || len(n.Warnings) != 0 {
		t.Errorf("%+v", n)
	}
}

// native is a run that agentbench made: it talks, uses tools, hands a task to a delegate, and fails once.
func native() *record.Run {
	call := func(start, took time.Duration, in, out int64) record.Call {
		return record.Call{Role: record.RoleAgent, Model: "small", Start: start, Duration: took,
			Usage: record.Usage{Calls: 1, InputTokens: in, CachedTokens: in / 2, CacheWriteTokens: 2, CacheWrite1hTokens: 1, OutputTokens: out, ReasoningTokens: 1, Cost: record.Money(in * 1_000_000)}}
	}
	other := call(5*time.Second, time.Second, 8, 4)
	other.Model = "large"
	run := &record.Run{
		Version: record.Version, ID: record.RunID("default", "a task", 2), Configuration: "default", Task: "a task", Trial: 2, Loop: "0123",
		Outcome:  record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Fired: "max_iterations", Returned: 2},
		Volatile: record.Volatile{Started: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
		Iterations: []record.Iteration{
			{
				N: 1, Prompt: "How much?", Output: json.RawMessage(`{"sum": 4}`), Start: 0, End: 5 * time.Second,
				Calls: []record.Call{call(0, time.Second, 10, 2), {Role: record.RoleJudge, Usage: record.Usage{Calls: 1, InputTokens: 5}}, call(3*time.Second, 2*time.Second, 20, 3)},
				Steps: []record.Step{{Text: "Let me see.", Thinking: "hm", Call: 1, Tools: 2}, {Text: "It is 4.", Call: 3, Tools: 1, User: "Thanks"}},
				ToolCalls: []record.ToolCall{
					{Tool: "add", ID: "c1", Arguments: json.RawMessage(`{"a":2}`), Result: json.RawMessage(`{"sum":4}`)},
					{Tool: "add", Arguments: json.RawMessage(`"no json"`), Error: &record.Error{Class: record.BadCall, Message: "invalid arguments"}},
					{Tool: "ask", ID: "c2", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(`"yes"`),
						Delegated: &record.Run{ID: "expert/x/1", Configuration: "expert", Iterations: []record.Iteration{{N: 1, Output: json.RawMessage(`"yes"`)}}}},
				},
				Evaluation: &record.Evaluation{Confidence: 0.25, Feedback: "more"},
			},
			{N: 2, Output: json.RawMessage(`"4"`), Thinking: "sure", Calls: []record.Call{other}, Start: 5 * time.Second, End: 6 * time.Second},
		},
		Elapsed: 6 * time.Second, Judging: record.Usage{Calls: 1, InputTokens: 5},
	}
	for i := range run.Iterations {
		agent, _ := run.Iterations[i].Spent()
		run.Usage = run.Usage.Plus(agent)
	}
	return run
}

// TestATIFOfARun: what is exported of a run of agentbench is imported as the same run, as
// far as both formats know it.
func TestATIFOfARun(t *testing.T) {
	run := native()
	document := exported(t, run, []record.Score{{Run: run.ID, Name: "right", Value: 0.5}, {Run: run.ID, Name: "style", Unscored: "no judge"}})
	text, _ := json.Marshal(document)
	if !bytes.Contains(text, []byte(`"model_name":"small"`)) || !bytes.Contains(text, []byte(`"model_name":"large"`)) {
		t.Errorf("models: %s", text)
	}
	im := imports.New(mapping(t, "atif"))
	for i, err := range im.Read("f.json", bytes.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		want := tell(&imports.Imported{Run: run, Scores: []record.Score{{Name: "right", Value: 0.5}, {Name: "style", Unscored: "x"}}})
		want.Iterations[0].Output = `{"sum":4}`
		want.Iterations[0].Tools = strings.Replace(want.Iterations[0].Tools, `"no json"=`, `"no json"="invalid arguments"`, 1)
		compare(t, []told{tell(i)}, []told{want})
		if i.Run.Iterations[1].Thinking != "sure" || !i.Run.Volatile.Started.Equal(run.Volatile.Started) || i.Run.Trial != 2 {
			t.Errorf("%+v", i.Run)
		}
		if again := exported(t, i.Run, i.Scores); !reflect.DeepEqual(again, document) {
			t.Errorf("exported again: got\n%v\nwant\n%v", again, document)
		}
	}
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

// drawATIF draws a document with whatever the schema allows, most of it optional.
func drawATIF(t *rapid.T) map[string]any {
	maybe := func(o map[string]any, key string, value func() any) {
		if rapid.Bool().Draw(t, key) {
			o[key] = value()
		}
	}
	text := func() any { return rapid.SampledFrom([]string{"", "a", "é\n"}).Draw(t, "text") }
	whole := func() any { return float64(rapid.IntRange(0, 1000).Draw(t, "whole")) }
	object := func() any { return map[string]any{"k": text()} }
	message := func() any {
		if rapid.Bool().Draw(t, "parts") {
			return []any{map[string]any{"type": "text", "text": text()}, map[string]any{"type": "image", "source": map[string]any{"media_type": "image/png", "path": "p"}}}
		}
		return text()
	}
	var steps []any
	for n := range rapid.IntRange(1, 5).Draw(t, "steps") {
		s := map[string]any{"step_id": float64(n + 1), "source": rapid.SampledFrom([]string{"agent", "agent", "user", "system"}).Draw(t, "source"), "message": message()}
		steps = append(steps, s)
		maybe(s, "extra", object)
		maybe(s, "timestamp", func() any { return fmt.Sprintf("2026-01-31T12:00:%02d.5Z", rapid.IntRange(0, 59).Draw(t, "second")) })
		maybe(s, "is_copied_context", func() any { return rapid.Bool().Draw(t, "copied") })
		if s["source"] != "agent" {
			continue
		}
		maybe(s, "model_name", text)
		maybe(s, "llm_call_count", func() any { return float64(rapid.IntRange(0, 2).Draw(t, "calls")) })
		if s["llm_call_count"] != 0.0 {
			maybe(s, "reasoning_content", func() any { return "hm" })
			maybe(s, "metrics", func() any {
				m := map[string]any{}
				for _, key := range []string{"prompt_tokens", "completion_tokens", "cached_tokens"} {
					maybe(m, key, whole)
				}
				maybe(m, "cost_usd", func() any { return rapid.SampledFrom([]float64{0, 0.1, 1e-13}).Draw(t, "usd") })
				return m
			})
		}
		var calls, results []any
		for n := range rapid.IntRange(0, 2).Draw(t, "tool calls") {
			call := map[string]any{"tool_call_id": fmt.Sprint("c", n), "function_name": "f", "arguments": object()}
			maybe(call, "extra", object)
			calls = append(calls, call)
			if rapid.Bool().Draw(t, "answered") {
				result := map[string]any{"source_call_id": call["tool_call_id"]}
				maybe(result, "content", message)
				maybe(result, "extra", object)
				results = append(results, result)
			}
		}
		if calls != nil {
			s["tool_calls"] = calls
		}
		if results != nil {
			if rapid.Bool().Draw(t, "reversed") {
				slices.Reverse(results)
			}
			s["observation"] = map[string]any{"results": results}
		}
	}
	d := map[string]any{"schema_version": "ATIF-v1.7", "agent": map[string]any{"name": "a", "version": "1"}, "steps": steps}
	for _, key := range []string{"session_id", "trajectory_id", "notes", "continued_trajectory_ref"} {
		maybe(d, key, text)
	}
	maybe(d, "extra", object)
	maybe(d, "final_metrics", func() any { return map[string]any{"total_prompt_tokens": whole()} })
	return d
}

// TestATIFRoundTrip: any valid document is given back as it was.
func TestATIFRoundTrip(t *testing.T) {
	m := mapping(t, "atif")
	propertytest.Check(t, func(r *rapid.T) {
		document := drawATIF(r)
		var c checking
		if c.trajectory(document, false); len(c.wrong) > 0 {
			r.Fatalf("drawn wrong: %q", c.wrong)
		}
		text, err := json.Marshal(document)
		if err != nil {
			r.Fatal(err)
		}
		n := 0
		for i, err := range imports.New(m).Read("f.json", bytes.NewReader(text)) {
			if n++; err != nil {
				r.Fatalf("%v\n%s", err, text)
			}
			if got := exported(t, i.Run, i.Scores); !reflect.DeepEqual(got, document) {
				again, _ := json.Marshal(got)
				r.Fatalf("got  %s\nwant %s", again, text)
			}
		}
		if n != 1 {
			r.Fatalf("%d runs", n)
		}
	})
}
