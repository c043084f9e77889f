package mockserver

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/anthropic"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/spec"
)

// eventsOf are the names of a stream's events, where a row of equal ones is one, and the last event. The names of chat completions are
// what a chunk tells.
func eventsOf(t *testing.T, w *httptest.ResponseRecorder) (names []string, last string) {
	t.Helper()
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || !w.Flushed {
		t.Fatalf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
	for frame := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		name, data, named := strings.Cut(strings.TrimPrefix(frame, "event: "), "\ndata: ")
		if !named {
			data = strings.TrimPrefix(frame, "data: ")
			name = cmp.Or(regexp.MustCompile(`"(reasoning_)?content":|"tool_calls":|"finish_reason":"|"usage":`).FindString(data), data)
		}
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		last = data
	}
	return names, last
}

// talker is a server whose one reply has thoughts, text and a call.
func talker(t *testing.T) *Server {
	return New(Options{Now: fixed, Chunk: 8, Rules: rulesOf(t, `[{replies: [{thinking: Hm., text: Look, tool_calls: [{name: look, arguments: {at: sky}}]}]}]`)})
}

func expectStream(t *testing.T, path, more string, want []string, ends string) {
	t.Helper()
	got, last := eventsOf(t, post(talker(t), path, asking(path, "Hi", streamed+more)))
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if last = regexp.MustCompile(`[0-9a-f]{16,}`).ReplaceAllString(last, "ID"); last != ends {
		t.Errorf("the stream ends with\n%s\nwant\n%s", last, ends)
	}
}

func TestChatStream(t *testing.T) {
	expectStream(t, chatPath, `,"stream_options":{"include_usage":true}`, []string{
		`"content":`, `"reasoning_content":`, `"content":`, `"tool_calls":`, `"finish_reason":"`, `"usage":`, "[DONE]",
	}, "[DONE]")
}

// The events are those that Anthropic sends, in its order.
func TestMessagesStream(t *testing.T) {
	expectStream(t, messagesPath, "", []string{
		"message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop", "content_block_start", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop",
	}, `{"type":"message_stop"}`)
}

// The events are those that OpenAI sends, in its order; the last one is the whole answer.
func TestResponsesStream(t *testing.T) {
	const item, reasoning, text = "response.output_item.", "response.reasoning_summary_", "response.output_text."
	expectStream(t, responsesPath, "", []string{
		"response.created", "response.in_progress",
		item + "added", reasoning + "part.added", reasoning + "text.delta", reasoning + "text.done", reasoning + "part.done", item + "done",
		item + "added", "response.content_part.added", text + "delta", text + "done", "response.content_part.done", item + "done",
		item + "added", "response.function_call_arguments.delta", "response.function_call_arguments.done", item + "done",
		"response.completed",
	}, `{"response":{"created_at":1767323045,"error":null,"id":"resp_ID","incomplete_details":null,"instructions":null,"metadata":{},`+
		`"model":"m","object":"response","output":[`+
		`{"encrypted_content":"bnLZXLS0/hZO5nf43c5L","id":"rs_ID","summary":[{"text":"Hm.","type":"summary_text"}],"type":"reasoning"},`+
		`{"content":[{"annotations":[],"logprobs":[],"text":"Look","type":"output_text"}],"id":"msg_ID","role":"assistant","status":"completed","type":"message"},`+
		`{"arguments":"{\"at\":\"sky\"}","call_id":"call_ID","id":"fc_ID","name":"look","status":"completed","type":"function_call"}],`+
		`"parallel_tool_calls":true,"status":"completed","temperature":1,"tool_choice":"auto","tools":[],"top_p":1,`+
		`"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":7}},`+
		`"sequence_number":19,"type":"response.completed"}`)
}

// RoundTrip lets clients reach the server without a network.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// clients are ours, for each protocol.
func clients(t testing.TB, s *Server, stream bool) map[model.Protocol]model.Model {
	t.Helper()
	o := wire.Options{Name: "m", BaseURL: "http://mock/v1", Key: "k", Stream: stream, Transport: s}
	chat, err1 := openai.New(o)
	responses, err2 := openai.NewResponses(o)
	messages, err3 := anthropic.New(o)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	return map[model.Protocol]model.Model{model.Chat: chat, model.Responses: responses, model.Messages: messages}
}

// Our clients understand any reply, in each protocol, whole and as a stream of chunks of any size; in the next turn the server takes it
// back and gives the next step.
func TestClientsUnderstandEveryReply(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		first := spec.Answer{Text: rapid.String().Draw(rt, "text"), Thinking: rapid.String().Draw(rt, "thinking")}
		for range rapid.IntRange(0, 2).Draw(rt, "calls") {
			arguments, _ := json.Marshal(map[string]string{"q": rapid.String().Draw(rt, "argument")}) // of texts
			first.ToolCalls = append(first.ToolCalls, spec.AnswerCall{Name: "look", Arguments: string(arguments)})
		}
		s := New(Options{Rules: []Rule{{Steps: spec.Replies{first, {Text: "then"}, {Text: "too far"}}}}, Chunk: rapid.IntRange(1, 9).Draw(rt, "chunk")})
		for _, stream := range []bool{false, true} {
			for p, client := range clients(t, s, stream) {
				request := &model.Request{Messages: []model.Message{{Role: "user", Text: "Hi"}}, Tools: []model.Tool{{Name: "look"}}}
				reply, err := client.Call(t.Context(), request)
				if err != nil || reply.Text != first.Text || reply.Thinking != first.Thinking || len(reply.ToolCalls) != len(first.ToolCalls) || reply.Usage.Estimated > 0 {
					rt.Fatalf("%s, stream %v: got %+v, %v; want %+v", p, stream, reply, err, first)
				}
				request.Messages = append(request.Messages, model.Message{Role: "assistant", Text: reply.Text, ToolCalls: reply.ToolCalls, Blocks: reply.Blocks})
				for i, call := range reply.ToolCalls {
					if call.Arguments != first.ToolCalls[i].Arguments || call.Name != "look" {
						rt.Fatalf("%s, stream %v: %+v", p, stream, call)
					}
					request.Messages = append(request.Messages, model.Message{Role: "tool", ToolCallID: call.ID, Text: "found"})
				}
				if reply.ToolCalls == nil {
					request.Messages = append(request.Messages, model.Message{Role: "user", Text: "and?"})
				}
				if reply, err = client.Call(t.Context(), request); err != nil || reply.Text != "then" || reply.Finish != "stop" {
					rt.Fatalf("%s, stream %v: the next step is %+v, %v", p, stream, reply, err)
				}
			}
		}
	})
}

// A conversation is the same in each protocol.
func TestConversationsAreDecodedAlike(t *testing.T) {
	want := []model.Message{
		{Role: "system", Text: "Be kind."}, {Role: "user", Text: "Hi there"},
		{Role: "assistant", Text: "I look.", ToolCalls: []model.ToolCall{{Name: "look", Arguments: `{"at":1}`}}},
		{Role: "tool", Text: "rain"}, {Role: "user", Text: "and?"},
	}
	for p, body := range map[model.Protocol]string{
		model.Chat: `"max_completion_tokens":20,"messages":[{"role":"system","content":"Be kind."},
			{"role":"user","content":[{"type":"text","text":"Hi "},{"type":"text","text":"there"}]},
			{"role":"assistant","content":"I look.","tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},
			{"role":"tool","tool_call_id":"1","content":"rain"},{"role":"user","content":"and?"}]`,
		model.Responses: `"max_output_tokens":20,"instructions":"Be kind.","input":[{"role":"user","content":[{"type":"input_text","text":"Hi there"}]},
			{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
			{"type":"function_call","call_id":"1","name":"look","arguments":"{\"at\":1}"},
			{"type":"function_call_output","call_id":"1","output":"rain"},{"role":"user","content":"and?"}]`,
		model.Messages: `"max_tokens":20,"system":[{"type":"text","text":"Be kind."}],"messages":[{"role":"user","content":"Hi there"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"x"},{"type":"text","text":"I look."},
			{"type":"tool_use","id":"1","name":"look","input":{"at":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"rain"}]},{"type":"text","text":"and?"}]}]`,
	} {
		got, err := protocols[p].decode([]byte(`{"model":"m","stream":true,"tools":[{"name":"look"}],` + body + `}`))
		if err != nil || !reflect.DeepEqual(got.Messages, want) || got.name != "m" || !got.stream || got.MaxOutputTokens != 20 || len(got.Tools) != 1 {
			t.Errorf("%s: got %+v, %v", p, got, err)
		}
	}
}

// sink keeps what is passed on, and when the answer is said to be almost over.
type sink struct {
	written []string
	before  int // frames before the last one; -1: Last was not called
}

func (s *sink) Begin(int, map[string][]string) {}

func (s *sink) Last() { s.before = len(s.written) }

func (s *sink) Write(b []byte) (int, error) {
	s.written = append(s.written, string(b))
	return len(b), nil
}

// A model that calls no server answers a program as the server would.
func TestSpeaking(t *testing.T) {
	script := &offline.Script{Name: "m", All: []spec.Answer{{Text: "first"}}}
	speaking := Speaking(script, fixed)
	for _, p := range protocols {
		to := &sink{before: -1}
		body := asking("/v1"+p.path, "Hi", streamed)
		before, after, _ := strings.Cut(body, `"m"`)
		raw := &model.Raw{Protocol: p.name, Name: "m", Before: []byte(before), After: []byte(after), Answer: to}
		reply, err := speaking.Call(t.Context(), &model.Request{Raw: raw})
		if err != nil || to.before != len(to.written)-1 || to.before < 3 {
			t.Fatalf("%s: %v, %d of %d frames before the last", p.name, err, to.before, len(to.written))
		}
		if kept := string(reply.Raw.Body); kept != strings.Join(to.written, "") || !strings.Contains(kept, "first") {
			t.Errorf("%s: kept %s", p.name, kept)
		}
	}
	if reply, err := speaking.Call(t.Context(), &model.Request{}); err != nil || reply.Text != "first" || reply.Raw != nil {
		t.Errorf("not a program's: %+v, %v", reply, err)
	}
}

// No event waits for the next one: a client has each of them before the next is written.
func TestEventsAreSentAtOnce(t *testing.T) {
	for _, path := range paths {
		g := &gate{httptest.NewRecorder(), make(chan string)}
		go func() {
			New(Options{}).ServeHTTP(g, httptest.NewRequest("POST", path, strings.NewReader(asking(path, "x", streamed))))
			close(g.flushed)
		}()
		frames := 0
		for frame := range g.flushed {
			frames++
			if n := strings.Count(frame, "data: "); n != 1 {
				t.Errorf("%s: %d events at once: %s", path, n, frame)
			}
		}
		if frames < 4 {
			t.Errorf("%s: %d times flushed", path, frames)
		}
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
