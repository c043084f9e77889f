package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

const canary = wiretest.Canary

var serve, hello, shows, must, equal = wiretest.Serve, wiretest.Hello, wiretest.Shows, wiretest.Must, wiretest.Equal

func connect(t testing.TB, o wire.Options) *Model { return wiretest.Connect(t, o, New) }

// asked is what the client makes of an answer.
func asked(t testing.TB, o wire.Options, answer string) (*model.Reply, error) {
	t.Helper()
	return wiretest.Answered(t, o, New, answer)
}

const goodAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"because","signature":"Zm9v/+=="},{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":8,"cache_read_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":3},"output_tokens":20,"output_tokens_details":{"thinking_tokens":5},"server_tool_use":{"web_search_requests":2,"web_fetch_requests":0},"service_tier":"standard"}}`

// goodReply is what the good answer says.
func goodReply() *model.Reply {
	return &model.Reply{
		Text: "hi", Thinking: "because", Finish: "stop", Duration: time.Second,
		Blocks:   json.RawMessage(`[{"type":"thinking","thinking":"because","signature":"Zm9v/+=="},{"type":"text","text":"hi"}]`),
		Usage:    record.Usage{Calls: 1, InputTokens: 30, CachedTokens: 10, CacheWriteTokens: 5, CacheWrite1hTokens: 3, OutputTokens: 20, ReasoningTokens: 5},
		Reported: json.RawMessage(`{"server_tool_use.web_search_requests":2}`),
	}
}

// A streamed answer is the same reply as a whole one.
func TestReply(t *testing.T) {
	for answer, stream := range map[string]bool{goodAnswer: false, goodStream: true} {
		got, err := asked(t, wire.Options{Stream: stream, Now: wiretest.Ticking(time.Second)}, answer)
		must(t, err)
		want := goodReply()
		if stream {
			got.Blocks, want.Blocks = sorted(t, got.Blocks), sorted(t, want.Blocks)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("streamed %v: got  %+v\nwant %+v", stream, got, want)
		}
	}
}

// answered is the reply to an answer with that content.
func answered(t *testing.T, content, stop string) *model.Reply {
	t.Helper()
	answer := fmt.Sprintf(`{"type":"message","model":"m","content":%s,"stop_reason":%q}`, content, stop)
	got, err := asked(t, wire.Options{}, answer)
	must(t, err)
	return got
}

// Blocks are kept where text and calls do not tell everything that was said, and only there.
func TestReplies(t *testing.T) {
	const call, second = `{"type":"tool_use","id":"a","name":"f","input":{"x":1},"caller":{"type":"direct"}}`, `{"type":"tool_use","id":"b","name":"g","input":{}}`
	calls := []model.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}}
	for name, c := range map[string]struct {
		content, stop string
		want          model.Reply
		kept          bool
	}{
		"a text":                   {`[{"type":"text","text":"a","citations":null}]`, "end_turn", model.Reply{Text: "a", Finish: "stop"}, false},
		"two texts":                {`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "stop_sequence", model.Reply{Text: "ab", Finish: "stop"}, false},
		"nothing":                  {`[]`, "end_turn", model.Reply{Finish: "stop"}, false},
		"cut at its limit":         {`[{"type":"text","text":"half"}]`, "max_tokens", model.Reply{Text: "half", Finish: "length"}, false},
		"the window is full":       {`[{"type":"text","text":"half"}]`, "model_context_window_exceeded", model.Reply{Text: "half", Finish: "length"}, false},
		"refused":                  {`[]`, "refusal", model.Reply{Finish: "content_filter"}, false},
		"paused":                   {`[{"type":"text","text":"a"}]`, "pause_turn", model.Reply{Text: "a", Finish: "pause_turn"}, false},
		"a reason of later":        {`[{"type":"text","text":"a"}]`, "bored", model.Reply{Text: "a", Finish: "bored"}, false},
		"a call":                   {`[` + call + `]`, "tool_use", model.Reply{ToolCalls: calls, Finish: "tool_calls"}, false},
		"a text and calls":         {`[{"type":"text","text":"a"},` + call + `,` + second + `]`, "tool_use", model.Reply{Text: "a", ToolCalls: append(calls, model.ToolCall{ID: "b", Name: "g", Arguments: "{}"}), Finish: "tool_calls"}, false},
		"a call without input":     {`[{"type":"tool_use","id":"a","name":"f"}]`, "tool_use", model.Reply{ToolCalls: []model.ToolCall{{ID: "a", Name: "f"}}, Finish: "tool_calls"}, false},
		"calls of one ID":          {`[` + call + `,` + call + `]`, "tool_use", model.Reply{ToolCalls: append(calls, model.ToolCall{ID: "a_2", Name: "f", Arguments: `{"x":1}`}), Finish: "tool_calls"}, false},
		"a text behind a call":     {`[` + call + `,{"type":"text","text":"a"}]`, "tool_use", model.Reply{Text: "a", ToolCalls: calls, Finish: "tool_calls"}, true},
		"a call of a program":      {`[{"type":"tool_use","id":"a","name":"f","input":{"x":1},"caller":{"type":"code_execution","tool_id":"t"}}]`, "tool_use", model.Reply{ToolCalls: calls, Finish: "tool_calls"}, true},
		"a call of a toolset":      {`[{"type":"tool_use","id":"a","name":"f","input":{"x":1},"toolset_name":"browser"}]`, "tool_use", model.Reply{ToolCalls: calls, Finish: "tool_calls"}, true},
		"sources":                  {`[{"type":"text","text":"a","citations":[{"type":"page_location"}]}]`, "end_turn", model.Reply{Text: "a", Finish: "stop"}, true},
		"thoughts of which hidden": {`[{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"b","signature":"s"},{"type":"text","text":"a"},{"type":"thinking","thinking":"c","signature":"s"}]`, "end_turn", model.Reply{Text: "a", Thinking: "b\n\nc", Finish: "stop"}, true},
		"blocks of later":          {`[{"type":"dream","text":7},{"type":"text","text":"a <b>"}]`, "end_turn", model.Reply{Text: "a <b>", Finish: "stop"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := answered(t, c.content, c.stop)
			got.Duration, got.Usage = 0, record.Usage{}
			if kept := string(got.Blocks); c.kept != (kept != "") || c.kept && kept != c.content {
				t.Errorf("kept %s", kept)
			}
			if got.Blocks = nil; !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

// F24: usage that cannot be is replaced by an estimate, and marked. Input has what was read from the cache and written into it.
func TestUsage(t *testing.T) {
	estimated := record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, Estimated: 1}
	for said, want := range map[string]record.Usage{
		`null`: estimated, `{}`: estimated, `"5"`: estimated, `[5]`: estimated,
		`{"input_tokens":0,"output_tokens":0}`:                                                      estimated,
		`{"input_tokens":-5,"output_tokens":3}`:                                                     estimated,
		`{"input_tokens":5,"output_tokens":-3}`:                                                     estimated,
		`{"input_tokens":5,"output_tokens":0}`:                                                      estimated,
		`{"input_tokens":5}`:                                                                        estimated,
		`{"input_tokens":5.5,"output_tokens":4}`:                                                    estimated,
		`{"input_tokens":5000000000000,"output_tokens":4}`:                                          estimated,
		`{"input_tokens":5,"output_tokens":4,"cache_read_input_tokens":-1}`:                         estimated,
		`{"input_tokens":5,"output_tokens":4,"cache_creation_input_tokens":-1}`:                     estimated,
		`{"input_tokens":5,"output_tokens":4,"cache_read_input_tokens":9223372036854775807}`:        estimated,
		`{"input_tokens":5,"output_tokens":4,"cache_creation":{"ephemeral_1h_input_tokens":-2}}`:    estimated,
		`{"input_tokens":5,"output_tokens":4}`:                                                      {Calls: 1, InputTokens: 5, OutputTokens: 4},
		`{"input_tokens":"5","output_tokens":4.0}`:                                                  {Calls: 1, InputTokens: 5, OutputTokens: 4},
		`{"input_tokens":5,"output_tokens":4,"cache_creation":"none","output_tokens_details":null}`: {Calls: 1, InputTokens: 5, OutputTokens: 4},
		`{"input_tokens":0,"output_tokens":4,"cache_read_input_tokens":7}`:                          {Calls: 1, InputTokens: 7, CachedTokens: 7, OutputTokens: 4},
		`{"input_tokens":1,"output_tokens":4,"cache_creation_input_tokens":6}`:                      {Calls: 1, InputTokens: 7, CacheWriteTokens: 6, OutputTokens: 4},
		`{"input_tokens":1,"output_tokens":4,"cache_creation_input_tokens":6,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":4}}`: {Calls: 1, InputTokens: 7, CacheWriteTokens: 2, CacheWrite1hTokens: 4, OutputTokens: 4},
		`{"input_tokens":1,"output_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":4}}`:                                 {Calls: 1, InputTokens: 7, CacheWriteTokens: 2, CacheWrite1hTokens: 4, OutputTokens: 4},
		`{"input_tokens":1,"output_tokens":4,"output_tokens_details":{"thinking_tokens":9}}`:                                                                  {Calls: 1, InputTokens: 1, OutputTokens: 4, ReasoningTokens: 4},
	} {
		answer := `{"content":[{"type":"text","text":"0123456789"}],"stop_reason":"end_turn","usage":` + said + `}`
		if got, err := asked(t, wire.Options{}, answer); err != nil || got.Usage != want {
			t.Errorf("%s: got %+v, %v, want %+v", said, got, err, want)
		}
	}
	const split = `{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":0,"cache_creation_input_tokens":6,"service_tier":"priority","iterations":[1],"x":{"y":{"z":1.5}}}}`
	got, err := asked(t, wire.Options{CacheTTL: "1h"}, split)
	if err != nil || got.Usage != (record.Usage{Calls: 1, InputTokens: 7, CacheWrite1hTokens: 6}) || got.Tier != "priority" || string(got.Reported) != `{"x.y.z":1.5}` {
		t.Errorf("got %+v, %v", got, err)
	}
}

func capture(t *testing.T, o wire.Options, request *model.Request) wiretest.Sent {
	t.Helper()
	answer := goodAnswer
	if o.Stream {
		answer = goodStream
	}
	got := wiretest.Capture(t, o, New, request, answer)
	theSDKReads(t, got.Text)
	return got
}

// theSDKReads fails the test if a body says anything that the SDK's own type of a request does not know, or knows otherwise.
func theSDKReads(t *testing.T, body []byte) {
	t.Helper()
	var read anthropic.MessageNewParams
	if err := json.Unmarshal(body, &read); err != nil {
		t.Errorf("the SDK does not read %s: %v", body, err)
		return
	}
	again, err := json.Marshal(read)
	must(t, err)
	var ours, theirs map[string]any
	_, _ = json.Unmarshal(body, &ours), json.Unmarshal(again, &theirs)
	delete(ours, "stream") // which its client adds
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("the SDK reads\n%s\nof\n%s", again, body)
	}
}

func float(n float64) *float64 { return &n }

func TestBody(t *testing.T) {
	const user = `[{"role":"user","content":[{"type":"text","text":"hello"}]}]`
	seed := int64(1)
	for name, c := range map[string]struct {
		options wire.Options
		request model.Request
		want    string // beside the model
	}{
		"nothing set":      {wire.Options{}, model.Request{}, `"max_tokens":16384,"messages":` + user},
		"zeros, no seed":   {wire.Options{}, model.Request{Temperature: float(0), TopP: float(0), Seed: &seed, MaxOutputTokens: 7}, `"max_tokens":7,"temperature":0,"top_p":0,"messages":` + user},
		"streamed":         {wire.Options{Stream: true}, model.Request{}, `"max_tokens":16384,"stream":true,"messages":` + user},
		"JSON":             {wire.Options{}, model.Request{JSON: true}, `"max_tokens":16384,"messages":` + user + `,"system":[{"type":"text","text":"` + onlyJSON + `"}]`},
		"a budget":         {wire.Options{Thinking: &spec.Thinking{BudgetTokens: 2048}}, model.Request{}, `"max_tokens":18432,"thinking":{"type":"enabled","budget_tokens":2048},"messages":` + user},
		"within a limit":   {wire.Options{Thinking: &spec.Thinking{BudgetTokens: 2048}}, model.Request{MaxOutputTokens: 4096}, `"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":2048},"messages":` + user},
		"adaptive, effort": {wire.Options{Thinking: &spec.Thinking{Adaptive: true, Display: "summarized"}, Effort: "high", Tier: "standard_only"}, model.Request{}, `"max_tokens":16384,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"service_tier":"standard_only","messages":` + user},
		"no effort":        {wire.Options{Effort: "none"}, model.Request{}, `"max_tokens":16384,"thinking":{"type":"disabled"},"messages":` + user},
		"a choice of none": {wire.Options{}, model.Request{ToolChoice: "auto"}, `"max_tokens":16384,"messages":` + user},
	} {
		t.Run(name, func(t *testing.T) {
			request := c.request
			request.Messages = hello().Messages
			equal(t, capture(t, c.options, &request).Body, `{"model":"m",`+c.want+`}`)
		})
	}
}

const thoughts = `[{"type":"thinking","thinking":"a < b","signature":"Zm9v"},{"type":"text","text":""},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"b","name":"time","input":{}}]`

// conversation is a request with everything of tools in it.
func conversation() *model.Request {
	return &model.Request{
		Messages: []model.Message{
			{Role: "system", Text: "be kind"}, {Role: "system", Text: " "}, {Role: "system", Text: "be short"},
			{Role: "user", Text: "weather?"}, {Role: "user", Text: "in Rome", Images: []model.Image{{Type: "image/png", Data: []byte("png")}}},
			{Role: "assistant", Text: "said", Blocks: json.RawMessage(thoughts), ToolCalls: []model.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Rome"}`}, {ID: "b", Name: "time", Arguments: `{}`}}},
			{Role: "tool", Text: "rain", ToolCallID: "a"},
			{Role: "tool", Text: "", ToolCallID: "b"},
			{Role: "user", Text: "and now?"},
			{Role: "assistant", Text: "Again.", ToolCalls: []model.ToolCall{{ID: "c", Name: "time", Arguments: `{"zone":`}, {ID: "d", Name: "time", Arguments: `[1]`}}},
			{Role: "tool", Text: "noon", ToolCallID: "c"},
			{Role: "tool", Text: "noon", ToolCallID: "d"},
			{Role: "assistant", Text: ""},
			{Role: "user", Text: "thanks"},
		},
		Tools: []model.Tool{
			{Name: "weather", Description: "of a city", Parameters: []byte(`{"type":"object","required":["city"]}`)},
			{Name: "time"},
		},
	}
}

const sentConversation = `{"model":"m","max_tokens":16384,
	"system":[{"type":"text","text":"be kind"},{"type":"text","text":"be short"%[1]s}],
	"messages":[
		{"role":"user","content":[{"type":"text","text":"weather?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"text","text":"in Rome"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"a < b","signature":"Zm9v"},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"b","name":"time","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"rain"}]},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"and now?"}]},
		{"role":"assistant","content":[{"type":"text","text":"Again."},{"type":"tool_use","id":"c","name":"time","input":{}},{"type":"tool_use","id":"d","name":"time","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"noon"}]},{"type":"tool_result","tool_use_id":"d","content":[{"type":"text","text":"noon"}]},{"type":"text","text":"thanks"%[3]s}]}],
	"tools":[
		{"name":"weather","description":"of a city","input_schema":{"type":"object","required":["city"]}},
		{"name":"time","input_schema":{"type":"object","properties":{}}%[2]s}]%[4]s}`

func TestToolsAreSent(t *testing.T) {
	for choice, told := range map[string]string{
		"": "", "auto": `{"type":"auto"}`, "none": `{"type":"none"}`, "required": `{"type":"any"}`, "weather": `{"type":"tool","name":"weather"}`,
	} {
		request := conversation()
		request.ToolChoice = choice
		if told != "" {
			told = `,"tool_choice":` + told
		}
		got := capture(t, wire.Options{}, request)
		equal(t, got.Body, fmt.Sprintf(sentConversation, "", "", "", told))
		if !strings.Contains(string(got.Text), `"a < b"`) {
			t.Error("what the provider gave is written in another way")
		}
	}
}

// What is to be cached is marked at its end, and nothing else changes.
func TestCacheMarks(t *testing.T) {
	const mark, long = `,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	for name, c := range map[string]struct {
		marks                      []string
		ttl                        string
		system, tools, conversants string
	}{
		"nothing":             {nil, "1h", "", "", ""},
		"the system prompt":   {[]string{"system"}, "", mark, "", ""},
		"the tools":           {[]string{"tools"}, "5m", "", mark, ""},
		"the conversation":    {[]string{"conversation"}, "", "", "", mark},
		"all, for an hour":    {[]string{"auto"}, "1h", long, long, long},
		"the first and last":  {[]string{"system", "conversation"}, "", mark, "", mark},
		"everything by names": {[]string{"conversation", "tools", "system"}, "", mark, mark, mark},
	} {
		t.Run(name, func(t *testing.T) {
			got := capture(t, wire.Options{Cache: c.marks, CacheTTL: c.ttl}, conversation())
			equal(t, got.Body, fmt.Sprintf(sentConversation, c.system, c.tools, c.conversants, ""))
		})
	}
	last := hello()
	last.Messages = append(last.Messages, model.Message{Role: "assistant", Text: "{"})
	equal(t, capture(t, wire.Options{Cache: []string{"auto"}}, last).Body["messages"],
		`[{"role":"user","content":[{"type":"text","text":"hello"`+mark+`}]},{"role":"assistant","content":[{"type":"text","text":"{"}]}]`)
	capture(t, wire.Options{Cache: []string{"auto"}}, &model.Request{}) // nothing to mark
}

// Blocks are sent back only where they still are the message, and of this API.
func TestBlocksThatAreNotSent(t *testing.T) {
	calls := []model.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Rome"}`}, {ID: "b", Name: "time", Arguments: `{}`}}
	for name, m := range map[string]model.Message{
		"fewer calls":     {ToolCalls: calls[:1], Blocks: json.RawMessage(thoughts)},
		"no calls":        {Text: "x", Blocks: json.RawMessage(thoughts)},
		"another ID":      {ToolCalls: []model.ToolCall{calls[0], {ID: "c", Name: "time", Arguments: `{}`}}, Blocks: json.RawMessage(thoughts)},
		"more calls":      {ToolCalls: append(calls[:2:2], model.ToolCall{ID: "c"}), Blocks: json.RawMessage(thoughts)},
		"another API's":   {Text: "x", Blocks: json.RawMessage(`[{"type":"reasoning","id":"rs_1","encrypted_content":"x"},{"type":"message","content":[]}]`)},
		"an object":       {Text: "x", Blocks: json.RawMessage(`{"type":"text"}`)},
		"odd types":       {Text: "x", Blocks: json.RawMessage(`[{"type":"text","text":5}]`)},
		"nothing in them": {Text: "x", Blocks: json.RawMessage(`[{"type":"text","text":""}]`)},
	} {
		m.Role = "assistant"
		body := messagesRequest{}
		body.add(&m)
		m.Blocks = nil
		want := messagesRequest{}
		want.add(&m)
		if !reflect.DeepEqual(body, want) {
			t.Errorf("%s: got %+v, want %+v", name, body.Messages, want.Messages)
		}
	}
}

// A turn that called tools without thinking continues without thinking: a server would refuse the request otherwise.
func TestThinkingWithinATurn(t *testing.T) {
	cut := conversation()
	cut.Messages[5].Blocks = nil
	said := conversation()
	said.Messages = append(said.Messages, model.Message{Role: "assistant", Text: "Bye."}, model.Message{Role: "user", Text: "Wait!"})
	said.Messages[5].Blocks = nil
	hidden := conversation()
	hidden.Messages[5].Blocks = json.RawMessage(strings.Replace(thoughts, `{"type":"thinking","thinking":"a < b","signature":"Zm9v"}`, `{"type":"redacted_thinking","data":"x"}`, 1))
	late := conversation()
	late.Messages[5].Blocks = json.RawMessage(`[{"type":"text","text":"x"},` + thoughts[1:])
	for name, c := range map[string]struct {
		request *model.Request
		thinks  bool
	}{
		"the whole turn": {conversation(), true}, "a turn without": {cut, false}, "the next turn": {said, true},
		"hidden": {hidden, true}, "not at first": {late, false}, "no turn": {hello(), true},
	} {
		budget := capture(t, wire.Options{Thinking: &spec.Thinking{BudgetTokens: 1024}}, c.request).Body
		adaptive := capture(t, wire.Options{Thinking: &spec.Thinking{Adaptive: true}}, c.request).Body
		if thinks := budget["thinking"] != nil; thinks != c.thinks || adaptive["thinking"] == nil {
			t.Errorf("%s: %v, %v", name, budget["thinking"], adaptive["thinking"])
		}
	}
}

// Address and headers are those of Anthropic's SDK, but for what tells of the SDK itself and of this machine.
func TestHeadersAreThoseOfTheSDK(t *testing.T) {
	for _, stream := range []bool{false, true} {
		ours := capture(t, wire.Options{Stream: stream, Key: canary}, hello())
		var path string
		var theirs http.Header
		address := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { path, theirs = r.URL.Path, r.Header }))
		client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(address), option.WithAPIKey(canary), option.WithMaxRetries(0))
		params := anthropic.MessageNewParams{Model: "m", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("?"))}}
		if stream {
			client.Messages.NewStreaming(t.Context(), params).Next()
		} else {
			_, _ = client.Messages.New(t.Context(), params) // the answer is none
		}
		for name := range theirs {
			if strings.HasPrefix(name, "X-Stainless-") || name == "User-Agent" || name == "Content-Length" {
				delete(theirs, name)
			}
		}
		got := ours.Header.Clone()
		for _, name := range []string{"User-Agent", "Content-Length", "Idempotency-Key"} {
			got.Del(name)
		}
		if stream { // the SDK asks for JSON there, too
			got.Set("Accept", theirs.Get("Accept"))
		}
		if ours.Path != path || !reflect.DeepEqual(got, theirs) {
			t.Errorf("streamed %v: %s %v, want %s %v", stream, ours.Path, got, path, theirs)
		}
	}
}

// Nothing of this machine's environment is sent: neither a key nor an address of Anthropic's other tools.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "of the environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of the environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere.invalid")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Env: of the environment")
	var header http.Header
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		fmt.Fprint(w, goodAnswer)
	}))
	m, err := New(wire.Options{Name: "m", BaseURL: address})
	must(t, err)
	if _, err := m.Call(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(header); strings.Contains(text, "of the environment") || header["X-Api-Key"] != nil {
		t.Errorf("headers %s", text)
	}
}

// F14: a key of another vendor, and a model that is not there, are named.
func TestF14_WrongKeysAndModels(t *testing.T) {
	for name, c := range map[string]struct {
		status    int
		answer    string
		key, want string
	}{
		"a wrong key":            {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`, "sk-ant-api03-abcdefgh", "auth: status 401: invalid x-api-key"},
		"a key of OpenAI":        {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "sk-proj-abcdefgh", "auth: status 401: invalid x-api-key; ANTHROPIC_API_KEY holds a key of OpenAI, which belongs in OPENAI_API_KEY"},
		"an unknown model":       {404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, "", "invalid_request: status 404: model: claude-9"},
		"something that is gone": {404, `{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}`, "", `invalid_request: status 404: Not Found; asked for model "claude-9" at ADDRESS/v1/messages`},
	} {
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
		}))
		_, err := connect(t, wire.Options{BaseURL: address, Name: "claude-9", Key: c.key, KeyEnv: "ANTHROPIC_API_KEY"}).Call(t.Context(), hello())
		if want := strings.Replace(c.want, "ADDRESS", address, 1); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
