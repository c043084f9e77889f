package anthropic

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

// sse is one event of a stream; its data have a type, too.
func sse(name, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return "event: " + name + "\ndata: {\"type\":\"" + name + `"` + fields + "}\n\n"
}

func open(index int, block string) string {
	return sse("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block))
}

func more(index int, delta string) string {
	return sse("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{%s}`, index, delta))
}

func closed(index int) string { return sse("content_block_stop", fmt.Sprintf(`"index":%d`, index)) }

func stopped(reason string) string {
	return sse("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":20,"output_tokens_details":{"thinking_tokens":5},"server_tool_use":{"web_search_requests":2,"web_fetch_requests":0}}`)
}

var (
	begun = sse("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":8,"cache_read_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":3},"output_tokens":1,"service_tier":"standard"}}`)
	end   = sse("message_stop", "")

	thinkingHi = open(0, `{"type":"thinking","thinking":"","signature":""}`) + more(0, `"type":"thinking_delta","thinking":"be"`) + sse("ping", "") +
		more(0, `"type":"thinking_delta","thinking":"cause"`) + more(0, `"type":"signature_delta","signature":"Zm9v/+=="`) + closed(0)
	hi = open(1, `{"type":"text","text":""}`) + more(1, `"type":"text_delta","text":"h"`) + more(1, `"type":"text_delta","text":"i"`) + closed(1)

	goodStream = begun + thinkingHi + hi + stopped("end_turn") + end
)

// sorted is JSON whose keys are sorted: only what comes whole has them as the provider wrote them.
func sorted(t *testing.T, text json.RawMessage) json.RawMessage {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	var value any
	must(t, json.Unmarshal(text, &value))
	text, _ = encoded(value)
	return text
}

// Each stream and the whole answer beside it are the same reply, and the SDK's own types read the stream like that, too.
func TestStreamsAndWholeAnswersAreAlike(t *testing.T) {
	const toolStart = `{"type":"tool_use","id":"a","name":"f","input":{}}`
	for name, c := range map[string]struct{ stream, content, stop string }{
		"texts": {open(0, `{"type":"text","text":"a"}`) + more(0, `"type":"text_delta","text":"b"`) + closed(0) + open(1, `{"type":"text","text":""}`) + closed(1),
			`[{"type":"text","text":"ab"},{"type":"text","text":""}]`, "end_turn"},
		"nothing": {"", `[]`, "end_turn"},
		"calls": {open(0, toolStart) + more(0, `"type":"input_json_delta","partial_json":""`) + more(0, `"type":"input_json_delta","partial_json":"{\"x\": "`) + more(0, `"type":"input_json_delta","partial_json":"[1, 2]}"`) + closed(0) + open(1, `{"type":"tool_use","id":"b","name":"g","input":{}}`) + closed(1),
			`[{"type":"tool_use","id":"a","name":"f","input":{"x": [1, 2]}},{"type":"tool_use","id":"b","name":"g","input":{}}]`, "tool_use"},
		"calls that interleave": {open(0, toolStart) + open(1, `{"type":"tool_use","id":"b","name":"g","input":{}}`) + more(1, `"type":"input_json_delta","partial_json":"{}"`) + more(0, `"type":"input_json_delta","partial_json":"{\"x\":1}"`) + closed(1) + closed(0),
			`[{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}]`, "tool_use"},
		"hidden thoughts and a call": {open(0, `{"type":"redacted_thinking","data":"x<y>"}`) + closed(0) + open(1, toolStart) + more(1, `"type":"input_json_delta","partial_json":"{\"x\":\"<\\u00e4>\"}"`) + closed(1),
			`[{"type":"redacted_thinking","data":"x<y>"},{"type":"tool_use","id":"a","name":"f","input":{"x":"<\u00e4>"}}]`, "tool_use"},
		"thoughts that are not shown": {open(0, `{"type":"thinking","thinking":"","signature":""}`) + more(0, `"type":"signature_delta","signature":"Zm"`) +
			more(0, `"type":"signature_delta","signature":"9v"`) + closed(0),
			`[{"type":"thinking","thinking":"","signature":"Zm9v"}]`, "max_tokens"},
		"sources": {open(0, `{"type":"text","text":"","citations":[]}`) + more(0, `"type":"citations_delta","citation":{"type":"page_location","cited_text":"a"}`) + more(0, `"type":"text_delta","text":"a"`) + closed(0),
			`[{"type":"text","text":"a","citations":[{"type":"page_location","cited_text":"a"}]}]`, "end_turn"},
		"a search": {open(0, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`) + more(0, `"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"`) + closed(0) + open(1, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`) + closed(1) + open(2, `{"type":"text","text":"found"}`) + closed(2),
			`[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"found"}]`, "pause_turn"},
		"odd texts": {open(0, `{"type":"thinking","thinking":"","signature":""}`) + more(0, `"type":"thinking_delta","thinking":"\u2028\"\\<&>"`) + closed(0),
			`[{"type":"thinking","thinking":"\u2028\"\\<&>","signature":""}]`, "refusal"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := begun + c.stream + stopped(c.stop) + end
			got, err := asked(t, wire.Options{Stream: true}, stream)
			must(t, err)
			want := answered(t, c.content, c.stop)
			got.Blocks, want.Blocks = sorted(t, got.Blocks), sorted(t, want.Blocks)
			got.Duration, got.Usage, got.Reported, want.Duration, want.Usage = 0, record.Usage{}, nil, 0, record.Usage{}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("streamed %+v\nwhole    %+v", got, want)
			}
			theSDKFolds(t, stream, got)
		})
	}
}

// theSDKFolds fails the test if the SDK makes another message of a stream.
func theSDKFolds(t *testing.T, stream string, got *model.Reply) {
	t.Helper()
	var theirs anthropic.Message
	err := wire.Events(bufio.NewReader(strings.NewReader(stream)), func(name string, data []byte) (bool, error) {
		var e anthropic.MessageStreamEventUnion
		if name == "ping" {
			return false, nil
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return false, err
		}
		return false, theirs.Accumulate(e)
	})
	must(t, err)
	var text, thinking string
	var calls []model.ToolCall
	for _, b := range theirs.Content {
		switch b.Type {
		case "text":
			text += b.Text
		case "thinking":
			thinking += b.Thinking
		case "tool_use":
			calls = append(calls, model.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(compact(b.Input))})
		}
	}
	if text != got.Text || thinking != got.Thinking || !reflect.DeepEqual(calls, got.ToolCalls) {
		t.Errorf("the SDK reads %q, %q, %+v; got %+v", text, thinking, calls, got)
	}
	if got.Blocks != nil {
		var whole struct{ Content any }
		must(t, json.Unmarshal([]byte(theirs.RawJSON()), &whole))
		equal(t, whole.Content, string(got.Blocks))
	}
}

// What the API may add is passed over: events, blocks and parts of blocks. Blocks of which something is not known are not kept.
func TestStreamsOfLaterVersions(t *testing.T) {
	const block = `{"type":"dream","text":7}`
	for name, c := range map[string]struct {
		stream string
		kept   string
	}{
		"an event":          {begun + sse("message_mood", `"index":"x","delta":5`) + thinkingHi + hi, string(goodReply().Blocks)},
		"an odd event":      {begun + "event: mood\ndata: fine\n\n" + thinkingHi + hi, string(goodReply().Blocks)},
		"events unnamed":    {strings.ReplaceAll(begun+thinkingHi+hi, "event: ", ": "), string(goodReply().Blocks)},
		"a block":           {begun + open(0, block) + closed(0) + hi, `[` + block + `,{"type":"text","text":"hi"}]`},
		"a part of a block": {begun + open(0, block) + more(0, `"type":"dream_delta","dream":"x"`) + closed(0) + hi, ""},
	} {
		got, err := asked(t, wire.Options{Stream: true}, c.stream+stopped("end_turn")+end)
		if err != nil || got.Text != "hi" || string(sorted(t, got.Blocks)) != string(sorted(t, []byte(c.kept))) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// F20, P11: the forms in which streams are cut or mixed up; none is ever a reply.
func TestF20_CutStreams(t *testing.T) {
	half := begun + open(0, `{"type":"text","text":""}`) + more(0, `"type":"text_delta","text":"half an ans"`)
	failed := func(kind string) string {
		return sse("error", `"error":{"type":"`+kind+`","message":"told"}`)
	}
	for name, c := range map[string]struct {
		stream string
		class  record.ErrorClass
	}{
		"the end in a block":         {half, record.Incomplete},
		"half an event":              {half + `data: {"type":"content_block_del`, record.Incomplete},
		"half a word":                {half + `dat`, record.Incomplete},
		"no message_delta":           {half + closed(0) + end, record.Incomplete},
		"no message_stop":            {half + closed(0) + stopped("end_turn"), record.Incomplete},
		"a block that is not ended":  {half + stopped("end_turn") + end, record.Incomplete},
		"overloaded":                 {half + failed("overloaded_error"), record.Incomplete},
		"an error of the API":        {half + failed("api_error"), record.Incomplete},
		"an error as text":           {half + "event: error\ndata: upstream died\n\n", record.Incomplete},
		"a rate limit":               {half + failed("rate_limit_error"), record.RateLimit},
		"no money":                   {failed("billing_error"), record.Quota},
		"JSON instead":               {goodAnswer, record.Incomplete},
		"nothing but comments":       {": keep-alive\n\n", record.Incomplete},
		"nothing but pings":          {sse("ping", ""), record.Incomplete},
		"no beginning":               {strings.TrimPrefix(goodStream, begun), record.BadResponse},
		"an end at once":             {end, record.BadResponse},
		"two beginnings":             {begun + goodStream, record.BadResponse},
		"a block out of order":       {begun + hi + stopped("end_turn") + end, record.BadResponse},
		"a block with another index": {begun + open(1, `{"type":"text","text":"x"}`) + closed(0) + stopped("end_turn") + end, record.BadResponse},
		"a block twice":              {begun + thinkingHi + thinkingHi + stopped("end_turn") + end, record.BadResponse},
		"a part of no block":         {begun + more(0, `"type":"text_delta","text":"x"`), record.BadResponse},
		"a part of an ended block":   {begun + thinkingHi + more(0, `"type":"thinking_delta","thinking":"x"`), record.BadResponse},
		"a part of a negative one":   {begun + more(-1, `"type":"text_delta","text":"x"`), record.BadResponse},
		"an end of no block":         {begun + closed(3), record.BadResponse},
		"no index":                   {begun + sse("content_block_start", `"content_block":{"type":"text","text":""}`), record.BadResponse},
		"no block":                   {begun + sse("content_block_start", `"index":0`), record.BadResponse},
		"a block behind the end":     {begun + thinkingHi + stopped("end_turn") + hi + end, record.BadResponse},
		"an event that is no JSON":   {half + "event: content_block_delta\ndata: {\"type\":\n\n" + end, record.BadResponse},
		"an event of other types":    {half + sse("content_block_delta", `"index":0,"delta":"x"`) + end, record.BadResponse},
		"an event without a type":    {half + "data: {}\n\n" + end, record.BadResponse},
		"HTML instead":               {"<html>log in</html>", record.BadResponse},
		"nothing":                    {"", record.BadResponse},
		"an error instead":           {`{"type":"error","error":{"type":"api_error","message":"no slot"}}`, record.BadResponse},
	} {
		t.Run(name, func(t *testing.T) {
			shows(t, connect(t, wire.Options{BaseURL: "http://here", Transport: wiretest.Only(c.stream), Stream: true}), c.class, "")
		})
	}
}

// F20: cut at any byte before its last event, a stream is never an answer.
func TestF20_CutAnywhere(t *testing.T) {
	whole := strings.TrimSuffix(goodStream, "\n\n")
	for n := range whole {
		if answer, err := fold(bufio.NewReader(strings.NewReader(whole[:n]))); err == nil {
			t.Errorf("cut at byte %d: %+v", n, answer)
		}
	}
	if _, err := fold(bufio.NewReader(strings.NewReader(whole))); err != nil {
		t.Errorf("with its last event: %v", err)
	}
}

// F24: what a stream reports grows. A number that is smaller than one before is not believed.
func TestF24_UsageOfStreams(t *testing.T) {
	usage := func(fields string) string {
		return sse("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":`+fields)
	}
	for said, want := range map[string]record.Usage{
		usage(`{"output_tokens":20}`):                                {Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 5, CacheWrite1hTokens: 3, OutputTokens: 20},
		usage(`{"output_tokens":7}`) + usage(`{"output_tokens":20}`): {Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 5, CacheWrite1hTokens: 3, OutputTokens: 20},
		usage(`{"output_tokens":20}`) + usage(`{"output_tokens":7,"input_tokens":0,"cache_read_input_tokens":null}`): {Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 5, CacheWrite1hTokens: 3, OutputTokens: 20},
		usage(`{"output_tokens":20,"input_tokens":13,"cache_creation_input_tokens":9}`):                              {Calls: 1, InputTokens: 32, CachedTokens: 10, CacheWriteTokens: 6, CacheWrite1hTokens: 3, OutputTokens: 20},
		sse("message_delta", `"delta":{"stop_reason":"end_turn"}`):                                                   {Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 5, CacheWrite1hTokens: 3, OutputTokens: 1},
		usage(`"many"`): {Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 5, CacheWrite1hTokens: 3, OutputTokens: 1},
	} {
		got, err := asked(t, wire.Options{Stream: true}, begun+thinkingHi+hi+said+end)
		if err != nil || got.Usage != want {
			t.Errorf("%s: got %+v, %v, want %+v", said, got, err, want)
		}
	}
}

// FuzzFold: whatever comes, a stream is an answer that is complete, or an error with a class.
func FuzzFold(f *testing.F) {
	f.Add(goodStream)
	f.Add(begun + open(0, `{"type":"tool_use","id":"a","name":"f","input":{}}`) + more(0, `"type":"input_json_delta","partial_json":"{"`) + closed(0) + stopped("max_tokens") + end)
	f.Add(begun + open(0, `{"type":"text"}`) + more(0, `"type":"citations_delta","citation":{}`) + closed(0) + stopped("bored") + end)
	f.Add(begun + open(0, `{"text":"a","type":"dream","x":[1, 2]}`) + closed(0) + stopped("end_turn") + end)
	f.Add("event: error\ndata: x\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		answer, err := fold(bufio.NewReader(strings.NewReader(stream)))
		var failed *record.Error
		switch {
		case err != nil && !errors.As(err, &failed):
			t.Errorf("%q: no class: %v", stream, err)
		case err == nil && (answer.StopReason == "" || answer.Content.blocks == nil || answer.Content.given != nil && !json.Valid(answer.Content.given)):
			t.Errorf("%q gives %+v, %s", stream, answer, answer.Content.given)
		}
	})
}
