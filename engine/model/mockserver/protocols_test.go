package mockserver

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
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
