package mockserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// post sends a body to a server in this process, in any of its protocols.
func post(s *Server, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	if path == "/v1/messages" || path == "/v1/messages/count_tokens" {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	s.ServeHTTP(w, r)
	return w
}

// talker is a server whose one reply has thoughts, text and a call.
func talker(t *testing.T, o Options) *Server {
	t.Helper()
	rules, faults := ParseRules("r.yaml", []byte(`[{thinking: Hm., reply: Look, tools: [{name: look, arguments: {at: sky}}]}]`))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	o.Rules, o.Now, o.Chunk = rules, fixed, 8
	return New(o)
}

const (
	askMessages  = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`
	askResponses = `{"model":"m","input":"Hi"}`
)

func streamed(body string) string { return strings.TrimSuffix(body, "}") + `,"stream":true}` }

// sameFrames compares a stream with what is wanted of it, one frame in a line, whatever the
// answer's own number is.
func sameFrames(t *testing.T, got *httptest.ResponseRecorder, number string, want []string) {
	t.Helper()
	if got.Code != 200 || got.Header().Get("Content-Type") != "text/event-stream" || !got.Flushed {
		t.Fatalf("status %d, %v: %s", got.Code, got.Header(), got.Body)
	}
	text := strings.ReplaceAll(got.Body.String(), number, "ID")
	frames := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n")
	for i := range max(len(frames), len(want)) {
		var has, wants string
		if i < len(frames) {
			has = frames[i]
		}
		if i < len(want) {
			wants = want[i]
		}
		if has != wants {
			t.Errorf("frame %d is\n%s\nwant\n%s", i, has, wants)
		}
	}
}

// event is a frame with a name.
func event(name, data string) string { return "event: " + name + "\ndata: " + data }

// The events are those that Anthropic sends, in its order.
func TestMessagesStream(t *testing.T) {
	got := post(talker(t, Options{}), "/v1/messages", streamed(askMessages))
	id := strings.TrimPrefix(got.Header().Get("Request-Id"), "req_")
	const seal = "3a8VNuAxFYBhVcPYSG0u"
	sameFrames(t, got, id, []string{
		event("message_start", `{"type":"message_start","message":{"model":"m","id":"msg_ID","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"output_tokens_details":{"thinking_tokens":1},"service_tier":"standard","inference_geo":"not_available"}}}`),
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`),
		event("ping", `{"type": "ping"}`),
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`),
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"`+seal+`"}}`),
		event("content_block_stop", `{"type":"content_block_stop","index":0}`),
		event("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`),
		event("content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Look"}}`),
		event("content_block_stop", `{"type":"content_block_stop","index":1}`),
		event("content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_`+id[:16]+`0","name":"look","input":{},"caller":{"type":"direct"}}}`),
		event("content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`),
		event("content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"at\":\"s"}}`),
		event("content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"ky\"}"}}`),
		event("content_block_stop", `{"type":"content_block_stop","index":2}`),
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":6,"output_tokens_details":{"thinking_tokens":1}}}`),
		event("message_stop", `{"type":"message_stop"}`),
	})
}

// The events are those that OpenAI sends, in its order.
func TestResponsesStream(t *testing.T) {
	got := post(talker(t, Options{}), "/v1/responses", streamed(askResponses))
	id := strings.TrimPrefix(got.Header().Get("X-Request-Id"), "req_")
	const seal = "3a8VNuAxFYBhVcPYSG0u"
	response := func(status, completed, output, tier, usage string) string {
		return `{"id":"resp_ID","object":"response","created_at":1767323045,"status":"` + status + `","background":false,"completed_at":` + completed +
			`,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"m","output":[` + output +
			`],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"service_tier":"` + tier +
			`","store":true,"temperature":1,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_p":1,"truncation":"disabled","usage":` + usage +
			`,"user":null,"metadata":{}}`
	}
	begun := response("in_progress", "null", "", "auto", "null")
	thought := `{"id":"rs_ID","type":"reasoning","encrypted_content":"` + seal + `","summary":[{"type":"summary_text","text":"Hm."}]}`
	text := `{"type":"output_text","annotations":[],"logprobs":[],"text":"Look"}`
	spoken := `{"id":"msg_ID","type":"message","status":"completed","content":[` + text + `],"role":"assistant"}`
	call := `{"id":"fc_ID0","type":"function_call","status":"completed","arguments":"{\"at\":\"sky\"}","call_id":"call_` + id[:16] + `0","name":"look"}`
	const usage = `{"input_tokens":1,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":7}`
	var want []string
	for _, e := range [][2]string{
		{"response.created", `"response":` + begun},
		{"response.in_progress", `"response":` + begun},
		{"response.output_item.added", `"item":{"id":"rs_ID","type":"reasoning","encrypted_content":"` + seal + `","summary":[]},"output_index":0`},
		{"response.reasoning_summary_part.added", `"item_id":"rs_ID","output_index":0,"part":{"type":"summary_text","text":""},SEQ,"summary_index":0`},
		{"response.reasoning_summary_text.delta", `"delta":"Hm.","item_id":"rs_ID","output_index":0,SEQ,"summary_index":0`},
		{"response.reasoning_summary_text.done", `"item_id":"rs_ID","output_index":0,SEQ,"summary_index":0,"text":"Hm."`},
		{"response.reasoning_summary_part.done", `"item_id":"rs_ID","output_index":0,"part":{"type":"summary_text","text":"Hm."},SEQ,"summary_index":0`},
		{"response.output_item.done", `"item":` + thought + `,"output_index":0`},
		{"response.output_item.added", `"item":{"id":"msg_ID","type":"message","status":"in_progress","content":[],"role":"assistant"},"output_index":1`},
		{"response.content_part.added", `"content_index":0,"item_id":"msg_ID","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`},
		{"response.output_text.delta", `"content_index":0,"delta":"Look","item_id":"msg_ID","logprobs":[],"output_index":1`},
		{"response.output_text.done", `"content_index":0,"item_id":"msg_ID","logprobs":[],"output_index":1,SEQ,"text":"Look"`},
		{"response.content_part.done", `"content_index":0,"item_id":"msg_ID","output_index":1,"part":` + text},
		{"response.output_item.done", `"item":` + spoken + `,"output_index":1`},
		{"response.output_item.added", `"item":{"id":"fc_ID0","type":"function_call","status":"in_progress","arguments":"","call_id":"call_` + id[:16] + `0","name":"look"},"output_index":2`},
		{"response.function_call_arguments.delta", `"delta":"{\"at\":\"s","item_id":"fc_ID0","output_index":2`},
		{"response.function_call_arguments.delta", `"delta":"ky\"}","item_id":"fc_ID0","output_index":2`},
		{"response.function_call_arguments.done", `"arguments":"{\"at\":\"sky\"}","item_id":"fc_ID0","name":"look","output_index":2`},
		{"response.output_item.done", `"item":` + call + `,"output_index":2`},
		{"response.completed", `"response":` + response("completed", "1767323045", thought+","+spoken+","+call, "default", usage)},
	} {
		number := `"sequence_number":` + strconv.Itoa(len(want))
		data := strings.Replace(e[1], "SEQ", number, 1)
		if data == e[1] {
			data += "," + number
		}
		want = append(want, event(e[0], `{"type":"`+e[0]+`",`+data+`}`))
	}
	sameFrames(t, got, id, want)
}

// What the SDKs of the vendors call mistakes, the server refuses in their words.
func TestMistakesAreRefusedInTheWordsOfTheVendor(t *testing.T) {
	ours := seal("Hm.")
	for _, c := range []struct{ path, body, says string }{
		{"/v1/messages", `{`, "The request body is not valid JSON"},
		{"/v1/messages", `{"max_tokens":1,"messages":[]}`, "model: Field required"},
		{"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens: Field required"},
		{"/v1/messages", `{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`, "max_tokens: Input should be greater than or equal to 1"},
		{"/v1/messages", `{"model":"m","max_tokens":1}`, "messages: Field required"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[]}`, "messages: at least one message is required"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"x"}]}`, "messages.0.role: Input should be 'user', 'assistant' or 'system'"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":""}]}`, "messages.0: user messages must have non-empty content"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "messages: text content blocks must be non-empty"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"system":[{"type":"text","text":""}],"messages":[{"role":"user","content":"x"}]}`, "system: text content blocks must be non-empty"},
		{"/v1/messages", `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":100},"messages":[{"role":"user","content":"x"}]}`, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		{"/v1/messages", `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"x"}]}`, "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`, "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a."},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":"y"}]}`, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a."},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}`, "messages.1: `tool_use` ids were found without"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"abc"}]},{"role":"user","content":"y"}]}`, "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"Ha.","signature":"` + ours + `"}]},{"role":"user","content":"y"}]}`, "messages.1.content.0: Invalid `signature`"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"QUFBQUFBQUFBQUFBSG0u"}]},{"role":"user","content":"y"}]}`, "messages.1.content.0: Invalid `signature`"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"/v1/messages/count_tokens", `{"model":"m"}`, "messages: Field required"},

		{"/v1/responses", `[`, "We could not parse the JSON body"},
		{"/v1/responses", `{"input":"x"}`, "Missing required parameter: 'model'"},
		{"/v1/responses", `{"model":"m"}`, "Missing required parameter: 'input'"},
		{"/v1/responses", `{"model":"m","input":"x","max_output_tokens":15}`, "Expected a value >= 16, but got 15 instead."},
		{"/v1/responses", `{"model":"m","input":"x","previous_response_id":"resp_1"}`, "Previous response with id 'resp_1' not found."},
		{"/v1/responses", `{"model":"m","input":[{"role":"tool","content":"x"}]}`, "Invalid value: 'tool'."},
		{"/v1/responses", `{"model":"m","input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`, "No tool call found for function call output with call_id a."},
		{"/v1/responses", `{"model":"m","input":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`, "No tool output found for function call a."},
		{"/v1/responses", `{"model":"m","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}]}`, "could not be verified"},

		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"robot","content":"x"}]}`, "Invalid value: 'robot'."},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, "messages with role 'tool' must be a response to"},
	} {
		w := post(New(Options{}), c.path, c.body)
		var told struct {
			Type  string
			Error apiError
		}
		err := json.Unmarshal(w.Body.Bytes(), &told)
		if err != nil || w.Code != 400 || *told.Error.Type != "invalid_request_error" || !strings.Contains(told.Error.Message, c.says) {
			t.Errorf("%s: status %d, %s\nwant %s", c.body, w.Code, w.Body, c.says)
		}
		if ofAnthropic := strings.HasPrefix(c.path, "/v1/messages"); ofAnthropic != (told.Type == "error") {
			t.Errorf("%s: the shape is %s", c.path, w.Body)
		}
	}
	w := httptest.NewRecorder()
	New(Options{}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(askMessages)))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "anthropic-version: header is required") {
		t.Errorf("without a version: status %d, %s", w.Code, w.Body)
	}
}

// What the server said is taken back as it was, thoughts and calls included.
func TestConversationsGoOn(t *testing.T) {
	rules, faults := ParseRules("r.yaml", []byte(`[{match: Hi, steps: [{thinking: Hm., tools: [{name: look}, {name: hear}]}, {thinking: Ah., reply: It rains.}, Too far.]}]`))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	for _, hidden := range []string{"", `,"thinking":{"type":"adaptive","display":"omitted"}`} {
		s := New(Options{Rules: rules})
		var said struct{ Content json.RawMessage }
		first := post(s, "/v1/messages", strings.Replace(askMessages, `,"messages"`, hidden+`,"messages"`, 1))
		if err := json.Unmarshal(first.Body.Bytes(), &said); err != nil || strings.Contains(string(said.Content), "Hm.") != (hidden == "") {
			t.Fatalf("%v: %s", err, first.Body)
		}
		ids := regexp.MustCompile(`toolu_\w+`).FindAllString(string(said.Content), -1)
		if len(ids) != 2 {
			t.Fatalf("%s", said.Content)
		}
		second := post(s, "/v1/messages", `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":`+string(said.Content)+
			`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+ids[0]+`","content":"a"},{"type":"tool_result","tool_use_id":"`+ids[1]+`","content":[{"type":"text","text":"b"}]}]}]}`)
		if !strings.Contains(second.Body.String(), `{"type":"text","text":"It rains."}`) {
			t.Errorf("the second answer is %s", second.Body)
		}
	}
	s := New(Options{Rules: rules})
	var said struct{ Output []json.RawMessage }
	first := post(s, "/v1/responses", askResponses)
	if err := json.Unmarshal(first.Body.Bytes(), &said); err != nil || len(said.Output) != 3 {
		t.Fatalf("%v: %s", err, first.Body)
	}
	input := `{"role":"user","content":"Hi"}`
	for _, item := range said.Output {
		input += "," + string(item)
	}
	for _, id := range regexp.MustCompile(`"call_[0-9a-f]+"`).FindAllString(first.Body.String(), -1) {
		input += `,{"type":"function_call_output","call_id":` + id + `,"output":"x"}`
	}
	if second := post(s, "/v1/responses", `{"model":"m","input":[`+input+`]}`); !strings.Contains(second.Body.String(), `"text":"It rains."`) {
		t.Errorf("the second answer is %s", second.Body)
	}
}

// The first time a prefix is written, then it is read, whatever comes after it.
func TestPromptsAreCached(t *testing.T) {
	type counts struct{ input, read, written5m, written1h int64 }
	const long = `{"type":"text","text":"0123456789abcdef"%s}`
	text := func(mark string) string { return fmt.Sprintf(long, mark) }
	const five, hour = `,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	ask := func(system, first, rest string) string {
		return `{"model":"m","max_tokens":9,"system":[` + system + `],"messages":[{"role":"user","content":[` + first + `]}` + rest + `]}`
	}
	more := `,{"role":"assistant","content":"abcd"},{"role":"user","content":[` + text(five) + `]}`
	s := New(Options{})
	for i, c := range []struct {
		body string
		want counts
	}{
		{ask(text(""), text(""), ""), counts{8, 0, 0, 0}},
		{ask(text(hour), text(five), ""), counts{0, 0, 4, 4}},
		{ask(text(hour), text(five), ""), counts{0, 8, 0, 0}},
		{ask(text(hour), `{"type":"text","text":"else"}`, ""), counts{1, 4, 0, 0}},
		{ask(text(hour), text(""), more), counts{0, 8, 5, 0}}, // what was marked before is found behind the new mark
		{ask(text(hour), text(""), more), counts{0, 13, 0, 0}},
		{strings.Replace(ask(text(hour), text(""), more), `"model":"m"`, `"model":"n"`, 1), counts{0, 0, 9, 4}},
		{`{"model":"m","max_tokens":9,"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"01234567"}]}`, counts{0, 0, 2, 0}},
		{`{"model":"m","max_tokens":9,"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"01234567"}]}`, counts{0, 2, 0, 0}},
	} {
		var answer struct {
			Usage struct {
				Input   int64 `json:"input_tokens"`
				Read    int64 `json:"cache_read_input_tokens"`
				Written int64 `json:"cache_creation_input_tokens"`
				Of      struct {
					Five int64 `json:"ephemeral_5m_input_tokens"`
					Hour int64 `json:"ephemeral_1h_input_tokens"`
				} `json:"cache_creation"`
			}
		}
		w := post(s, "/v1/messages", c.body)
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
			t.Fatalf("%v: %s", err, w.Body)
		}
		u := answer.Usage
		if got := (counts{u.Input, u.Read, u.Of.Five, u.Of.Hour}); got != c.want || u.Written != u.Of.Five+u.Of.Hour {
			t.Errorf("request %d: got %+v, want %+v", i, u, c.want)
		}
	}
	s.reset()
	for i, want := range []string{`"cached_tokens":0,"cache_write_tokens":4`, `"cached_tokens":4,"cache_write_tokens":0`, `{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":4}}`, `"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}`} {
		parts := `"content":[{"type":"text","text":"0123456789abcdef","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"text","text":"more"}]}]}`
		path, body := "/v1/responses", `{"model":"m","input":[{"role":"user",`+parts
		if i > 1 {
			path, body = "/v1/chat/completions", `{"model":"m","messages":[{"role":"user",`+parts
		}
		if w := post(s, path, body); !strings.Contains(w.Body.String(), want) {
			t.Errorf("got %s\nwant %s", w.Body, want)
		}
	}
}

func TestTheKeyIsDemanded(t *testing.T) {
	s := New(Options{Key: "right"})
	for _, c := range []struct {
		path, header, value string
		status              int
		says                string
	}{
		{"/v1/chat/completions", "Authorization", "Bearer right", 200, ""},
		{"/v1/chat/completions", "Authorization", "Bearer wrong", 401, `"code":"invalid_api_key"`},
		{"/v1/responses", "", "", 401, "You didn't provide an API key."},
		{"/v1/messages", "X-Api-Key", "right", 200, ""},
		{"/v1/messages", "Authorization", "Bearer right", 200, ""},
		{"/v1/messages", "X-Api-Key", "wrong", 401, `"type":"authentication_error","message":"invalid x-api-key"`},
		{"/v1/messages", "", "", 401, "x-api-key header is required"},
		{"/v1/messages/count_tokens", "", "", 401, "authentication_error"},
		{"/v1/models", "", "", 401, "authentication_error"},
	} {
		body := map[string]string{"/v1/responses": askResponses, "/v1/chat/completions": asking("x")}[c.path]
		method := "POST"
		if c.path == "/v1/models" {
			method = "GET"
		}
		r := httptest.NewRequest(method, c.path, strings.NewReader(cmp.Or(body, askMessages)))
		if body == "" {
			r.Header.Set("Anthropic-Version", "2023-06-01")
		}
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s with %s: status %d, %s", c.path, c.value, w.Code, w.Body)
		}
	}
}

func TestTokensAreCountedWithoutACall(t *testing.T) {
	s := New(Options{})
	w := post(s, "/v1/messages/count_tokens", `{"model":"m","system":"12345678","messages":[{"role":"user","content":"1234"}],"tools":[{"name":"abcd","input_schema":{}}]}`)
	if w.Body.String() != "{\"input_tokens\":5}\n" || s.Stats(0).Requests != 0 {
		t.Errorf("got %s, %+v", w.Body, s.Stats(0))
	}
}

func TestTiersAreTold(t *testing.T) {
	for _, c := range []struct{ path, body, asked, want string }{
		{"/v1/messages", askMessages, "", "standard"}, {"/v1/messages", askMessages, "auto", "standard"}, {"/v1/messages", askMessages, "priority", "priority"},
		{"/v1/responses", askResponses, "", "default"}, {"/v1/responses", askResponses, "auto", "default"}, {"/v1/responses", askResponses, "flex", "flex"},
		{"/v1/chat/completions", asking("x"), "flex", "flex"}, {"/v1/chat/completions", asking("x"), "auto", "default"},
	} {
		body := c.body
		if c.asked != "" {
			body = strings.Replace(body, `{`, `{"service_tier":"`+c.asked+`",`, 1)
		}
		for _, body := range []string{body, streamed(body)} {
			if w := post(New(Options{}), c.path, body); !strings.Contains(w.Body.String(), `"service_tier":"`+c.want+`"`) {
				t.Errorf("%s, %s: %s", c.path, c.asked, w.Body)
			}
		}
	}
}

// allProtocols are the paths with a request each.
var allProtocols = map[string]string{"/v1/chat/completions": asking("x"), "/v1/responses": askResponses, "/v1/messages": askMessages}

// What a fault makes of an answer, in the words of its protocol.
func TestFaultsInEachProtocol(t *testing.T) {
	const responses, messages = "/v1/responses", "/v1/messages"
	for _, c := range []struct {
		path, fault   string
		status        int
		whole, stream string // what is in the answer; "": what is in the whole one
	}{
		{responses, "quota", 429, `"code":"insufficient_quota"`, ""},
		{messages, "quota", 400, `"message":"Your credit balance is too low`, ""},
		{responses, "context", 400, `"param":"input","code":"context_length_exceeded"`, ""},
		{messages, "context", 400, `"message":"prompt is too long: `, ""},
		{responses, "context-anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long`, ""},
		{messages, "content-filter", 400, `"message":"Output blocked by content filtering policy"`, ""},
		{messages, "401", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_`, ""},
		{messages, "418", 418, `"type":"invalid_request_error","message":"I'm a teapot"`, ""},
		{messages, "503", 503, `"type":"api_error","message":"Service Unavailable"`, ""},
		{messages, "529", 529, `"type":"overloaded_error","message":"Overloaded"`, ""},
		{responses, "529", 529, `"type":"server_error"`, ""},
		{responses, "refusal", 200, `"content":[{"type":"refusal","refusal":"I'm sorry`, `"type":"response.refusal.delta"`},
		{messages, "refusal", 200, `"content":[],"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":null,"explanation":"I'm sorry`, `"delta":{"stop_reason":"refusal"`},
		{responses, "length", 200, `"status":"incomplete","background":false,"completed_at":null,"error":null,"incomplete_details":{"reason":"max_output_tokens"}`, `event: response.incomplete`},
		{messages, "length", 200, `"stop_reason":"max_tokens"`, ""},
		{responses, "no-finish", 200, `"status":"in_progress"`, `"type":"response.output_item.done"`},
		{messages, "no-finish", 200, `"stop_reason":null`, `"type":"message_stop"`},
		{responses, "no-choices", 200, `"output":[]`, ""},
		{messages, "no-choices", 200, `"content":[]`, ""},
		{responses, "null-content", 200, `"output":null`, ""},
		{messages, "null-content", 200, `"content":null`, `"message_stop"`},
		{responses, "usage-missing", 200, `"usage":null`, ""},
		{messages, "usage-missing", 200, `"stop_details":null}`, `"stop_details":null}}`},
		{responses, "usage-words", 200, `"input_tokens":"1 tokens"`, ""},
		{messages, "usage-words", 200, `"input_tokens":"1 tokens"`, ""},
		{messages, "usage-negative", 200, `"input_tokens":-5`, ""},
		{messages, "usage-cached", 200, `"cache_read_input_tokens":2`, ""},
		{responses, "usage-cached", 200, `"cached_tokens":2`, ""},
		{responses, "other-model", 200, `"model":"another-model"`, ""},
		{messages, "other-model", 200, `"model":"another-model"`, ""},
		{messages, "tool-without-id", 200, `{"type":"tool_use","name":"lookup"`, ""},
		{responses, "tool-without-id", 200, `"arguments":"{\"q\":\"x\"}","name":"lookup"`, ""},
		{responses, "error-200", 200, `{"error":{"message":"The server had an error`, ""},
		{messages, "error-200", 200, `{"type":"error","error":{"type":"api_error"`, ""},
		{responses, "cut-event", 200, "", `event: error` + "\n" + `data: {"type":"error","error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null},"sequence_number":`},
		{messages, "cut-event", 200, "", `event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{responses, "cut-error", 200, "", `event: response.failed`},
		{messages, "cut-error", 200, "", "\n\n" + `data: {"type":"error","error":{"type":"overloaded_error"`},
		{messages, "no-space", 200, `"end_turn"`, "event:message_start\ndata:{"},
	} {
		rated, err := ParseRated(c.fault)
		if err != nil {
			t.Fatal(err)
		}
		for _, stream := range []bool{false, true} {
			body, want := allProtocols[c.path], c.whole
			if stream {
				body, want = streamed(body), cmp.Or(c.stream, c.whole)
			}
			s := New(Options{Now: fixed, Faults: []Rated{rated}, Rules: []Rule{Texts("a reply of several words")}})
			if w := post(s, c.path, body); w.Code != c.status || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s, %s, stream %v: status %d\n%s\nwant %s", c.path, c.fault, stream, w.Code, w.Body, want)
			}
		}
	}
}

// Every kind of fault is shown in every protocol, and none lasts unless it is to. What is cut is cut everywhere: no
// protocol sends its last event.
func TestEveryFaultInEachProtocol(t *testing.T) {
	ends := map[string]string{"/v1/chat/completions": "[DONE]", "/v1/responses": "response.completed", "/v1/messages": "message_stop"}
	for _, kind := range Kinds() {
		switch kind.Name {
		case "hang", "stall", "close", "reset", "cut-reset", "huge-header", "transient", "slow", "trickle":
			continue // need a connection, or last
		}
		name := kind.Name
		if slices.Contains(kind.Options, "size") {
			name += ":size=1KB"
		}
		for path, body := range allProtocols {
			fault, err := ParseRated(name)
			if err != nil {
				t.Fatal(err)
			}
			s := New(Options{Now: fixed, Faults: []Rated{fault}, Rules: []Rule{Texts("a reply of several words")}})
			w := post(s, path, streamed(body))
			if s.Stats(0).Faults[kind.Name] != 1 && kind.Name != noFault {
				t.Errorf("%s, %s: %+v", path, name, s.Stats(0))
			}
			if w.Code == 200 && strings.HasPrefix(kind.Name, "cut") == strings.Contains(w.Body.String(), ends[path]) && kind.Class == record.Incomplete && kind.Name != "no-finish" {
				t.Errorf("%s, %s is not cut: %s", path, name, w.Body)
			}
		}
	}
}

// What a refusal says of its limits has the vendor's names.
func TestLimitsInTheWordsOfTheVendor(t *testing.T) {
	s := New(Options{Now: fixed, Limits: Limits{Requests: 60, Tokens: 6000, Burst: 1.0 / 60}})
	if w := post(s, "/v1/messages", askMessages); w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	w := post(s, "/v1/messages", askMessages)
	for name, want := range map[string]string{
		"Retry-After": "1", "Anthropic-Ratelimit-Requests-Limit": "60", "Anthropic-Ratelimit-Requests-Remaining": "0",
		"Anthropic-Ratelimit-Requests-Reset": "2026-01-02T03:04:06Z", "Anthropic-Ratelimit-Tokens-Limit": "6000",
		"Anthropic-Ratelimit-Tokens-Remaining": "49", "Anthropic-Ratelimit-Tokens-Reset": "2026-01-02T03:04:06Z", "X-Ratelimit-Limit-Requests": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if w.Code != 429 || !strings.Contains(w.Body.String(), `"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 60 requests per minute."`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	schedule, err := ParseSchedule("429:reset=2026-01-02T03:04:09Z")
	if err != nil {
		t.Fatal(err)
	}
	w = post(New(Options{Schedule: schedule}), "/v1/messages", askMessages)
	if got := w.Header().Get("Anthropic-Ratelimit-Requests-Reset"); got != "2026-01-02T03:04:09Z" {
		t.Errorf("the reset is %q", got)
	}
}

// gate is a client that sees each frame of a stream when it is flushed, and lets the server go on.
type gate struct {
	*httptest.ResponseRecorder
	flushed chan string
}

func (g *gate) Flush() {
	g.flushed <- g.Body.String()
	g.Body.Reset()
}

// No event waits for the next one: a client has each of them before the next is written.
func TestEventsAreSentAtOnce(t *testing.T) {
	for path, first := range map[string]string{"/v1/chat/completions": `data: {"id":"`, "/v1/responses": "event: response.created\n", "/v1/messages": "event: message_start\n"} {
		r := httptest.NewRequest("POST", path, strings.NewReader(streamed(allProtocols[path])))
		r.Header.Set("Anthropic-Version", "2023-06-01")
		g := &gate{httptest.NewRecorder(), make(chan string)}
		go func() {
			New(Options{}).ServeHTTP(g, r)
			close(g.flushed)
		}()
		begin, frames := <-g.flushed, 1
		for frame := range g.flushed {
			frames++
			if n := strings.Count(frame, "data: "); n != 1 {
				t.Errorf("%s: %d events at once: %s", path, n, frame)
			}
		}
		if !strings.HasPrefix(begin, first) || strings.Count(begin, "data: ") != 1 || frames < 4 {
			t.Errorf("%s: %d times flushed, the first is %s", path, frames, begin)
		}
	}
}

// No body makes the server fail, and its answers are JSON.
func FuzzProtocols(f *testing.F) {
	for path, body := range allProtocols {
		f.Add(path, body)
		f.Add(path, streamed(body))
	}
	f.Add("/v1/messages", `{"model":"m","max_tokens":9,"cache_control":{},"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"text":null}]}]},{"role":"assistant","content":null}]}`)
	f.Add("/v1/responses", `{"model":"m","input":[{"type":"reasoning","encrypted_content":"AAAAAAAAAAAAAAAA"},{"role":"user","content":[{"prompt_cache_breakpoint":{}}]}],"tools":[null]}`)
	f.Add("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"cache_control":{}},{}]},{"role":"assistant","tool_calls":[{}]}]}`)
	s := New(Options{Now: fixed})
	f.Fuzz(func(t *testing.T, path, body string) {
		if allProtocols[path] == "" {
			return
		}
		w := post(s, path, body)
		if w.Code != 200 && w.Code != 400 || w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
