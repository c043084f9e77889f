package openai

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

const (
	thought  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"because"}],"encrypted_content":"gAAA=","status":"completed"}`
	message1 = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}`
	called1  = `{"id":"fc_1","type":"function_call","call_id":"call_a","name":"weather","arguments":"{\"city\": \"Rome\"}","status":"completed"}`

	usageOfResponses = `{"input_tokens":30,"input_tokens_details":{"cached_tokens":10,"cache_write_tokens":4},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":50}`
)

// responseOf is an answer with these items.
func responseOf(status string, items ...string) string {
	return `{"id":"resp_1","object":"response","created_at":1,"status":"` + status + `","model":"m","error":null,"incomplete_details":null,"output":[` +
		strings.Join(items, ",") + `],"service_tier":"default","usage":` + usageOfResponses + `}`
}

// events number the events of a stream, and name them as the server does.
func events(all ...string) (stream string) {
	for i, data := range all {
		kind, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		stream += "event: " + kind + "\n" + event(strings.Replace(data, "{", fmt.Sprintf(`{"sequence_number":%d,`, i), 1))
	}
	return stream
}

func ended(response string) string {
	return `{"type":"response.completed","response":` + response + `}`
}

var (
	wholeResponse    = responseOf("completed", thought, message1, called1)
	eventsOfResponse = []string{
		`{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}`,
		`{"type":"response.in_progress","response":{"id":"resp_1","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
		`{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"because"}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + thought + `}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","content":[]}}`,
		`{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"h","logprobs":[],"obfuscation":"x7"}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"i"}`,
		`{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"hi"}`,
		`{"type":"response.a_new_one","output_index":"all","delta":{"x":1}}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"weather","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"city\": "}`,
		`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"Rome\"}"}`,
		`{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"city\": \"Rome\"}"}`,
		`{"type":"response.output_item.done","output_index":2,"item":` + called1 + `}`,
		ended(wholeResponse),
	}
	streamedResponse = events(eventsOfResponse...)
)

// answeredResponses is what the client of Responses makes of an answer.
func answeredResponses(t testing.TB, stream bool, answer string) (*model.Reply, error) {
	t.Helper()
	return wiretest.Answered(t, wire.Options{Stream: stream}, NewResponses, answer)
}

// A streamed answer is the same reply as a whole one.
func TestReplyOfResponses(t *testing.T) {
	want := &model.Reply{
		Text: "hi", Thinking: "because", Finish: "tool_calls", Duration: time.Second,
		ToolCalls: []model.ToolCall{{ID: "call_a", Name: "weather", Arguments: `{"city": "Rome"}`}},
		Blocks:    json.RawMessage("[" + thought + "," + message1 + "," + called1 + "]"),
		Usage:     record.Usage{Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 4, OutputTokens: 20, ReasoningTokens: 5},
	}
	for _, answer := range []string{wholeResponse, streamedResponse, strings.ReplaceAll(streamedResponse, "\n", "\r\n"), streamedResponse + event("[DONE]")} {
		got, err := wiretest.Answered(t, wire.Options{Stream: answer != wholeResponse, Now: ticking(time.Second)}, NewResponses, answer)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
	}
}

// What comes of statuses, and of items of each kind.
func TestAnswersOfResponses(t *testing.T) {
	incomplete := func(reason string, items ...string) string {
		return strings.Replace(responseOf("incomplete", items...), `"incomplete_details":null`, `"incomplete_details":{"reason":"`+reason+`"}`, 1)
	}
	failed := func(fault string) string {
		return strings.Replace(responseOf("failed"), `"error":null`, `"error":`+fault, 1)
	}
	said := func(fields, parts string) string {
		return `{"type":"message","role":"assistant"` + fields + `,"content":[` + parts + `]}`
	}
	text := func(of string) string { return `{"type":"output_text","text":"` + of + `"}` }
	for name, c := range map[string]struct {
		answer   string
		text     string // and Thinking behind |
		finish   string
		class    record.ErrorClass
		blocks   bool
		messages string // of an error
	}{
		"a text":                       {responseOf("completed", message1), "hi", "stop", "", false, ""},
		"an empty text":                {responseOf("completed", said("", text(""))), "", "stop", "", false, ""},
		"parts":                        {responseOf("completed", said("", text("a")+","+text("b"))), "ab", "stop", "", false, ""},
		"a call":                       {responseOf("completed", called1), "", "tool_calls", "", false, ""},
		"a text and a call":            {responseOf("completed", message1, called1), "hi", "tool_calls", "", false, ""},
		"two calls of one ID":          {responseOf("completed", called1, called1), "", "tool_calls", "", false, ""},
		"a call without an ID":         {responseOf("completed", strings.Replace(called1, `"call_id":"call_a",`, "", 1)), "", "tool_calls", "", false, ""},
		"a text behind a call":         {responseOf("completed", called1, message1), "hi", "tool_calls", "", true, ""},
		"two texts":                    {responseOf("completed", message1, message1), "hihi", "stop", "", true, ""},
		"a comment and an answer":      {responseOf("completed", said(`,"phase":"commentary"`, text("hm")), said(`,"phase":"final_answer"`, text("42"))), "42|hm", "stop", "", true, ""},
		"a comment and a call":         {responseOf("completed", said(`,"phase":"commentary"`, text("hm")), called1), "hm", "tool_calls", "", true, ""},
		"reasoning in words":           {responseOf("completed", `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"so"}]}`, message1), "hi|so", "stop", "", true, ""},
		"a search of the server's own": {responseOf("completed", `{"type":"web_search_call","id":"ws_1","status":"completed"}`, message1), "hi", "stop", "", true, ""},
		"cut at its limit":             {incomplete("max_output_tokens", message1), "hi", "length", "", false, ""},
		"nothing but thought":          {incomplete("max_output_tokens", thought), "|because", "length", "", true, ""},
		"filtered":                     {incomplete("content_filter"), "", "content_filter", "", false, ""},

		"another reason":    {incomplete("tired", message1), "", "", record.Incomplete, false, "tired"},
		"no status":         {`{"output":[` + message1 + `]}`, "", "", record.Incomplete, false, `the status ""`},
		"queued":            {responseOf("queued"), "", "", record.BadResponse, false, "queued"},
		"cancelled":         {responseOf("cancelled", message1), "", "", record.BadResponse, false, "cancelled"},
		"no message":        {responseOf("completed", thought), "", "", record.BadResponse, false, "no message"},
		"no items":          {responseOf("completed"), "", "", record.BadResponse, false, "no message"},
		"items of no type":  {`{"status":"completed","output":"none"}`, "", "", record.BadResponse, false, "not what the API promises"},
		"a refusal":         {responseOf("completed", said("", `{"type":"refusal","refusal":"I cannot help"}`)), "", "", record.ContentFilter, false, "I cannot help"},
		"failed":            {failed(`{"code":"server_error","message":"it broke"}`), "", "", record.Server, false, "it broke"},
		"a rate limit":      {failed(`{"code":"rate_limit_exceeded","message":"slow down"}`), "", "", record.RateLimit, false, "slow down"},
		"an image":          {failed(`{"code":"invalid_image_format","message":"no PNG"}`), "", "", record.InvalidRequest, false, "no PNG"},
		"a prompt":          {failed(`{"code":"invalid_prompt","message":"no"}`), "", "", record.InvalidRequest, false, "no"},
		"failed, no reason": {failed(`null`), "", "", record.Server, false, "no error was given"},
	} {
		for _, stream := range []bool{false, true} {
			answer := c.answer
			if stream {
				answer = events(ended(answer))
			}
			got, err := answeredResponses(t, stream, answer)
			var fault *record.Error
			if stream && c.class == record.Server {
				c.class = record.Incomplete
			}
			if c.class != "" {
				if !errors.As(err, &fault) || fault.Class != c.class || !strings.Contains(fault.Message, c.messages) {
					t.Errorf("%s, streamed %v: got %+v, %v; want %s", name, stream, got, err, c.class)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, streamed %v: %v", name, stream, err)
				continue
			}
			text, thinking, _ := strings.Cut(c.text, "|")
			if got.Text != text || got.Thinking != thinking || got.Finish != c.finish || (got.Blocks != nil) != c.blocks {
				t.Errorf("%s, streamed %v: got %+v", name, stream, got)
			}
		}
	}
}

// capturedOfResponses is what a server receives of a request.
func capturedOfResponses(t *testing.T, o wire.Options, request *model.Request) wiretest.Sent {
	t.Helper()
	o.BaseURL = "/v1"
	return wiretest.Capture(t, o, NewResponses, request, wholeResponse)
}

// Everything that a request holds is sent, and nothing else.
func TestRequestOfResponses(t *testing.T) {
	seed, zero := int64(7), 0.0
	full := conversation("weather")
	full.Messages = append([]model.Message{{Role: "system", Text: "be kind"}, {Role: "system", Text: "be brief"}}, full.Messages...)
	full.Messages[2].Images = []model.Image{{Type: "image/png", Data: []byte{1, 2}}}
	full.Messages = append(full.Messages, model.Message{Role: "system", Text: "late"})
	full.Temperature, full.TopP, full.Seed, full.MaxOutputTokens, full.JSON = &zero, &zero, &seed, 99, true
	full.Tools[0].Parameters = []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
	for name, c := range map[string]struct {
		o       wire.Options
		request *model.Request
		want    string
	}{
		"little": {wire.Options{}, hello(), `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}],"stream":false,"store":false}`},
		"a name that reasons": {wire.Options{Name: "gpt-5.2"}, hello(),
			`{"model":"gpt-5.2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}],"stream":false,"store":false,"include":["reasoning.encrypted_content"]}`},
		"everything": {wire.Options{Effort: "high", Tier: "flex"}, full, `{"model":"m","stream":false,"store":false,"instructions":"be kind\n\nbe brief","input":[
			{"type":"message","role":"user","content":[{"type":"input_text","text":"weather?"},{"type":"input_image","image_url":"data:image/png;base64,AQI=","detail":"auto"}]},
			{"type":"function_call","call_id":"a","name":"weather","arguments":"{\"city\": \"Rome\"}"},
			{"type":"function_call","call_id":"b","name":"time","arguments":"{\"zone\":"},
			{"type":"function_call_output","call_id":"a","output":"rain"},
			{"type":"function_call_output","call_id":"b","output":""},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Again."}]},
			{"type":"function_call","call_id":"c","name":"time","arguments":"{}"},
			{"type":"function_call_output","call_id":"c","output":"noon"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]},
			{"type":"message","role":"system","content":[{"type":"input_text","text":"late"}]}],
			"temperature":0,"top_p":0,"max_output_tokens":99,"text":{"format":{"type":"json_object"}},
			"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"],"service_tier":"flex",
			"tools":[{"type":"function","name":"weather","description":"of a city","strict":true,
			"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}},
			{"type":"function","name":"time","strict":false,"parameters":{"type":"object","properties":{}}}],
			"tool_choice":{"type":"function","name":"weather"}}`},
	} {
		got := capturedOfResponses(t, c.o, c.request)
		equal(t, got.Body, c.want)
		if got.Path != "/v1/responses" || got.Header.Get("Authorization") != "Bearer "+canary {
			t.Errorf("%s: sent to %s, %s", name, got.Path, got.Header)
		}
	}
	for choice, want := range map[string]any{"": nil, "auto": "auto", "none": "none", "required": "required"} {
		got := capturedOfResponses(t, wire.Options{Effort: "none"}, conversation(choice)).Body
		if equal(t, got["reasoning"], `{"effort": "none"}`); got["tool_choice"] != want {
			t.Errorf("%q: %v", choice, got["tool_choice"])
		}
	}
}

func TestStrictSchemas(t *testing.T) {
	const object = `{"type":"object","properties":{"a":%s},"required":["a"],"additionalProperties":false}`
	inner := `{"type":"string"}`
	for range 5 {
		inner = fmt.Sprintf(object, inner)
	}
	for schema, want := range map[string]bool{
		fmt.Sprintf(object, `{"type":"string","enum":["x"]}`):             true,
		fmt.Sprintf(object, `{"type":"array","items":{"type":"number"}}`): true,
		fmt.Sprintf(object, fmt.Sprintf(object, `{"type":"integer"}`)):    true,
		inner:                                                  true,
		fmt.Sprintf(object, inner):                             false, // too deep
		fmt.Sprintf(object, `{"type":"object"}`):               false,
		fmt.Sprintf(object, `{"type":"array"}`):                false,
		fmt.Sprintf(object, `{}`):                              false,
		fmt.Sprintf(object, `{"type":["string","null"]}`):      false,
		fmt.Sprintf(object, `{"type":"string","minLength":1}`): false,
		fmt.Sprintf(object, `true`):                            false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                  false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`: false,
		`{"type":"object","properties":{}}`: false,
		`{"type":"string"}`:                 false,
		`"additionalProperties"`:            false,
	} {
		if got := isStrict([]byte(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

// The blocks of a reply are sent back as they came, but for the ids of what the server did not store; where they are not
// those of the message, text and calls are.
func TestBlocksAreSentBack(t *testing.T) {
	const instead = `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","call_id":"call_a","name":"weather","arguments":"{}"}]`
	for blocks, want := range map[string]string{
		"[" + thought + "," + message1 + "," + called1 + "]": `[{"type":"reasoning","summary":[{"type":"summary_text","text":"because"}],"encrypted_content":"gAAA="},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]},
			{"type":"function_call","call_id":"call_a","name":"weather","arguments":"{\"city\": \"Rome\"}"}]`,
		`[{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"so"}]},` + called1 + `]`: `[
			{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"so"}]},
			{"type":"function_call","call_id":"call_a","name":"weather","arguments":"{\"city\": \"Rome\"}"}]`,
		`[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null},` + called1 + `]`: `[
			{"type":"function_call","call_id":"call_a","name":"weather","arguments":"{\"city\": \"Rome\"}"}]`,
		`[{"type":"message","role":"assistant","phase":"commentary","content":[]},` + called1 + `]`: `[
			{"type":"message","role":"assistant","phase":"commentary","content":[]},
			{"type":"function_call","call_id":"call_a","name":"weather","arguments":"{\"city\": \"Rome\"}"}]`,
		"[" + thought + "," + message1 + "]":                                        instead,
		"[" + thought + "," + strings.Replace(called1, "call_a", "call_b", 1) + "]": instead,
		"[" + called1 + "," + called1 + "]":                                         instead,
		`[{"type":"thinking","signature":"x"},{"type":"tool_use","id":"call_a"}]`:   instead,
		`{"type":"reasoning"}`:                                                      instead,
		`[7]`:                                                                       instead,
	} {
		request := hello()
		request.Messages = append(request.Messages, model.Message{
			Role: "assistant", Text: "hi", ToolCalls: []model.ToolCall{{ID: "call_a", Name: "weather", Arguments: "{}"}}, Blocks: json.RawMessage(blocks),
		})
		sent, _ := capturedOfResponses(t, wire.Options{}, request).Body["input"].([]any)
		equal(t, sent[1:], want)
	}
	other := model.Message{Role: "assistant", Text: "hi", Blocks: json.RawMessage(`[{"type":"thinking"},{"type":"text","text":"hi"}]`)}
	if items := sentBack(&other); items != nil {
		t.Errorf("the blocks of another protocol are sent: %v", items)
	}
}

// F24: usage that cannot be is replaced by an estimate; counters beyond the usual ones and the service tier are reported.
func TestUsageOfResponses(t *testing.T) {
	estimated := record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 1, Estimated: 1}
	for usage, c := range map[string]struct {
		want     record.Usage
		reported string
	}{
		usageOfResponses: {record.Usage{Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 4, OutputTokens: 20, ReasoningTokens: 5}, ""},
		`{"input_tokens":"30","output_tokens":2e1,"num_sources_used":3,"input_tokens_details":{"image_tokens":7,"text_tokens":0}}`: {
			record.Usage{Calls: 1, InputTokens: 30, OutputTokens: 20}, `{"input_tokens_details.image_tokens":7,"num_sources_used":3}`},
		`{"input_tokens":30,"output_tokens":20,"output_tokens_details":{"reasoning_tokens":-4}}`: {record.Usage{Calls: 1, InputTokens: 30, OutputTokens: 20}, ""},
		`{"input_tokens":3,"output_tokens":20,"input_tokens_details":{"cached_tokens":10}}`:      {estimated, ""},
		`{"input_tokens":30}`: {estimated, ""},
		`null`:                {estimated, ""},
		`"many"`:              {estimated, ""},
		`[1,2]`:               {estimated, ""},
		`{"input_tokens":{"a":1},"output_tokens":20,"cost":0.25,"huge":1e999}`: {estimated, `{"cost":0.25,"input_tokens.a":1}`},
	} {
		answer := strings.Replace(responseOf("completed", message1), usageOfResponses, usage, 1)
		got, err := answeredResponses(t, false, answer)
		if err != nil || got.Usage != c.want || string(got.Reported) != c.reported {
			t.Errorf("%s: got %+v, %s, %v; want %+v, %s", usage, got.Usage, got.Reported, err, c.want, c.reported)
		}
	}
	for said, want := range map[string]string{`"default"`: "", `"flex"`: "flex", `null`: "", `7`: ""} {
		answer := strings.Replace(responseOf("completed", message1), `"service_tier":"default"`, `"service_tier":`+said, 1)
		got, err := answeredResponses(t, false, answer)
		if err != nil || got.Tier != want {
			t.Errorf("%s: tier %q, %v", said, got.Tier, err)
		}
	}
}

// F20, P11: cut at any byte before its last event is whole, a stream is never a reply.
func TestF20_ResponsesCutAnywhere(t *testing.T) {
	end := len(strings.TrimRight(streamedResponse, "\n"))
	for n := range end {
		if r, err := foldResponse(bufio.NewReader(strings.NewReader(streamedResponse[:n]))); err == nil {
			t.Fatalf("cut at byte %d: %+v", n, r)
		}
	}
	if _, err := foldResponse(bufio.NewReader(strings.NewReader(streamedResponse[:end]))); err != nil {
		t.Errorf("with its last event: %v", err)
	}
}

// F20, F22: a stream that is cut, or tells an error, is one error, never half a reply.
func TestF20_StreamsOfResponsesThatFail(t *testing.T) {
	change := func(from, to string) string {
		if !strings.Contains(streamedResponse, from) {
			t.Fatalf("the stream lacks %s", from)
		}
		return strings.Replace(streamedResponse, from, to, 1)
	}
	for name, c := range map[string]struct {
		stream string
		class  record.ErrorClass
		says   string
	}{
		"no completion":         {events(eventsOfResponse[:17]...), record.Incomplete, "without response.completed"},
		"no completion, [DONE]": {events(eventsOfResponse[:17]...) + event("[DONE]"), record.Incomplete, "without response.completed"},
		"no JSON":               {change(`{"sequence_number":9`, `{"sequence_number":`), record.BadResponse, "not what the API promises"},
		"no response":           {events(`{"type":"response.completed"}`), record.BadResponse, "not what the API promises"},
		"an error":              {events(eventsOfResponse[0], `{"type":"error","code":"server_error","message":"it broke","param":null}`), record.Incomplete, "it broke"},
		"a rate limit":          {events(`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`), record.RateLimit, "slow down"},
		"an error within":       {events(`{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"pay"}}`), record.Quota, "pay"},
		"JSON instead":          {wholeResponse, record.Incomplete, "a stream was asked for"},
		"HTML instead":          {"<html>log in</html>", record.BadResponse, "log in"},
		"nothing":               {"", record.BadResponse, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			shows(t, connectResponses(t, wire.Options{BaseURL: "http://here", Transport: wiretest.Only(c.stream), Stream: true}), c.class, c.says)
		})
	}
}

// F22: events without numbers or places, or without pieces, are a reply all the same.
func TestF22_FormsOfStreamsOfResponses(t *testing.T) {
	bare := strings.NewReplacer(`"output_index":0,`, "", `"output_index":1,`, "", `"output_index":2,`, "")
	var unnumbered string
	for _, data := range eventsOfResponse {
		unnumbered += event(bare.Replace(data))
	}
	for name, stream := range map[string]string{
		"no numbers":     unnumbered,
		"only the last":  events(ended(wholeResponse)),
		"no pieces":      events(append(append([]string{}, eventsOfResponse[:8]...), eventsOfResponse[10:]...)...),
		"comments":       strings.ReplaceAll(streamedResponse, "\n\n", "\n\n: keep-alive\n\n"),
		"more behind it": streamedResponse + "garbage",
	} {
		got, err := answeredResponses(t, true, stream)
		if err != nil || got.Text != "hi" || len(got.ToolCalls) != 1 || got.Thinking != "because" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// FuzzFoldResponse: whatever comes, a stream is the answer that its last event holds, or an error with a class.
func FuzzFoldResponse(f *testing.F) {
	f.Add(streamedResponse)
	f.Add(events(ended(responseOf("completed", message1))))
	f.Add("data: {\"type\":\"response.output_text.delta\",\"output_index\":0}\n\n")
	f.Add("event: error\ndata: x\n\n")
	m, err := NewResponses(wire.Options{Name: "m", BaseURL: "http://here"})
	must(f, err)
	f.Fuzz(func(t *testing.T, stream string) {
		answer, err := foldResponse(bufio.NewReader(strings.NewReader(stream)))
		var failed *record.Error
		if err != nil {
			if !errors.As(err, &failed) || failed.Class == "" {
				t.Errorf("%q gives %v", stream, err)
			}
			return
		}
		reply, fault := m.reply(hello(), answer)
		if (reply == nil) == (fault == nil) || reply != nil && (reply.Finish == "" || reply.Blocks != nil && !json.Valid(reply.Blocks)) {
			t.Errorf("%q gives %+v, %v", stream, reply, fault)
		}
	})
}

// handled is a transport that a handler answers at once.
type handled http.HandlerFunc

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	h(answer, r)
	return answer.Result(), nil
}

// A server that summarises reasoning only for verified accounts is asked again without.
func TestSummariesThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []any
		transport := handled(func(w http.ResponseWriter, r *http.Request) {
			var got struct{ Reasoning map[string]any }
			_ = json.NewDecoder(r.Body).Decode(&got)
			asked = append(asked, got.Reasoning["summary"])
			if got.Reasoning["summary"] != nil {
				w.WriteHeader(400)
				fmt.Fprint(w, `{"error":{"message":"Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)
				return
			}
			fmt.Fprint(w, wholeResponse)
		})
		m := pace.Retry(connectResponses(t, wire.Options{BaseURL: "http://mock", Transport: transport, Effort: "low"}), pace.RetryOptions{})
		for range 2 {
			if _, err := m.Call(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
		}
		if want := []any{"auto", nil, nil}; !reflect.DeepEqual(asked, want) {
			t.Errorf("asked with %v", asked)
		}
	})
}

// A refusal is an error with the usage that is paid for.
func TestRefusalsHaveAUsage(t *testing.T) {
	chat := `{"choices":[{"message":{"content":null,"refusal":"I cannot help"},"finish_reason":"stop"}],"service_tier":"flex","usage":{"prompt_tokens":30,"completion_tokens":20}}`
	whole := strings.Replace(responseOf("completed", `{"type":"message","content":[{"type":"refusal","refusal":"I cannot help"}]}`), `"default"`, `"flex"`, 1)
	for name, m := range map[string]model.Model{
		"chat":      connect(t, wire.Options{BaseURL: serve(t, body(200, chat))}),
		"responses": connectResponses(t, wire.Options{BaseURL: serve(t, body(200, whole))}),
	} {
		_, err := m.Call(t.Context(), hello())
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Cause.Class != record.ContentFilter || failed.Reply == nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if got := failed.Reply; got.Usage.InputTokens != 30 || got.Usage.OutputTokens != 20 || got.Tier != "flex" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// F14: a key of another vendor is named, and where it belongs.
func TestF14_KeysOfOtherVendors(t *testing.T) {
	refused := body(401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`)
	const hint = "; OPENAI_API_KEY holds a key of Anthropic, which belongs in ANTHROPIC_API_KEY"
	for name, c := range map[string]struct {
		o    wire.Options
		says string
	}{
		"of Anthropic":     {wire.Options{Key: "sk-ant-api03-abcdefgh", KeyEnv: "OPENAI_API_KEY"}, hint},
		"its own":          {wire.Options{Key: "sk-proj-abcdefgh", KeyEnv: "OPENAI_API_KEY"}, ""},
		"of no known form": {wire.Options{Key: "abcdefgh", KeyEnv: "OPENAI_API_KEY"}, ""},
	} {
		c.o.BaseURL = serve(t, refused)
		_, err := connectResponses(t, c.o).Call(t.Context(), hello())
		if want := "auth: status 401: Incorrect API key provided" + c.says; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
