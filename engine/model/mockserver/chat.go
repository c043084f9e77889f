package mockserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// chat is the chat completions API of OpenAI.
type chat struct{ openAI }

// chatRequest is what is read of a body; the rest is only hashed.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	ResponseFormat      struct {
		Type string `json:"type"`
	} `json:"response_format"`
	ServiceTier string `json:"service_tier"`
	Tools       []struct {
		Function json.RawMessage `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string                `json:"role"`
	Content    textOrParts[chatPart] `json:"content"`
	ToolCalls  []toolCall            `json:"tool_calls"`
	ToolCallID string                `json:"tool_call_id"`
}

// chatPart is a part of a message.
type chatPart struct {
	Text  string          `json:"text"`
	Image json.RawMessage `json:"image_url,omitempty"`
	mark
}

// text is what is said in a message.
func (m *chatMessage) text() string {
	text := m.Content.text
	for i := range m.Content.parts {
		text += m.Content.parts[i].Text
	}
	return text
}

func (m *chatMessage) calls() (bytes int) {
	for _, call := range m.ToolCalls {
		bytes += len(call.Function.Name) + len(call.Function.Arguments)
	}
	return bytes
}

// chatOwn is what only the writer of chat completions needs of a request.
type chatOwn struct{ withUsage bool }

func (chat) read(r *request, body []byte, _ http.Header) *problem {
	var c chatRequest
	if err := json.Unmarshal(body, &c); err != nil {
		return notJSON(err)
	}
	switch {
	case c.Model == "":
		return invalid("model", "missing_required_parameter", "you must provide a model parameter")
	case c.Messages == nil:
		return missing("messages")
	case len(c.Messages) == 0:
		return invalid("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1")
	}
	if refused := c.refuse(); refused != nil {
		return refused
	}
	*r = request{
		model: c.Model, stream: c.Stream, maxOutput: max(c.MaxTokens, c.MaxCompletionTokens), tier: c.ServiceTier,
		json: c.ResponseFormat.Type != "" && c.ResponseFormat.Type != "text", callID: "call_",
		turns: make([]turn, 0, len(c.Messages)), own: chatOwn{c.StreamOptions.IncludeUsage}, hash: r.hash,
	}
	for i := range c.Tools {
		r.tools += len(c.Tools[i].Function)
	}
	for i := range c.Messages {
		text := c.Messages[i].text()
		r.turns = append(r.turns, turn{c.Messages[i].Role, text, len(text) + c.Messages[i].calls()})
	}
	if isMarked(body) {
		c.cache(&r.cached, r.tools)
	}
	return nil
}

// refuse says what is wrong with the conversation; nil: nothing is.
func (c *chatRequest) refuse() *problem {
	called := map[string]bool{}
	for i := range c.Messages {
		m := &c.Messages[i]
		switch m.Role {
		case "system", "developer", "user", "function":
		case "assistant":
			for _, call := range m.ToolCalls {
				called[call.ID] = true
			}
		case "tool":
			if !called[m.ToolCallID] {
				return invalid(fmt.Sprintf("messages.[%d].role", i), "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
		default:
			return invalid(fmt.Sprintf("messages[%d].role", i), "invalid_value", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
		}
	}
	return nil
}

// cache is the prompt as a cache sees it.
func (c *chatRequest) cache(to *cached, bytes int) {
	to.add([]any{c.Model, c.Tools}, bytes, &mark{})
	for i := range c.Messages {
		m := &c.Messages[i]
		if m.Content.parts == nil {
			bytes += len(m.Content.text)
			to.add([]any{m.Role, m.Content.text}, bytes, &mark{})
		}
		for j := range m.Content.parts {
			p := &m.Content.parts[j]
			bytes += len(p.Text)
			to.add([]any{m.Role, p.Text, p.Image}, bytes, &p.mark)
		}
		if m.ToolCalls != nil {
			bytes += m.calls()
			to.add(m.ToolCalls, bytes, &mark{})
		}
	}
}

// completion is an answer in the API's shape. Where faults make it break the
// API's promises, fields are nil.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Tier    string   `json:"service_tier,omitempty"`
	Choices []choice `json:"choices"`
	Usage   *tokens  `json:"usage,omitempty"`
}

type choice struct {
	Index    int       `json:"index"`
	Message  *spoken   `json:"message,omitempty"` // of a whole answer
	Delta    *spoken   `json:"delta,omitempty"`   // of a chunk
	Logprobs *struct{} `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
}

// spoken is a message of the assistant, or the part of one that a chunk holds.
type spoken struct {
	Role      string     `json:"role,omitempty"`
	Content   any        `json:"content,omitempty"` // string or null
	Thinking  string     `json:"reasoning_content,omitempty"`
	Refusal   any        `json:"refusal,omitempty"` // string or null
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// null is a value that is written as null, where nil would be left out.
var null = json.RawMessage("null")

type toolCall struct {
	Index    *int   `json:"index,omitempty"` // of a chunk
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// tokens is a usage in the words of chat completions.
type tokens struct{ *usage }

// MarshalJSON writes the numbers in their form.
func (t tokens) MarshalJSON() ([]byte, error) {
	as := cmp.Or(t.as, "%d")
	text := fmt.Appendf(nil, `{"prompt_tokens":`+as+`,"completion_tokens":`+as+`,"total_tokens":`+as, t.input, t.output, t.input+t.output)
	if written := t.written + t.written1h; written > 0 {
		text = fmt.Appendf(text, `,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}`, t.cached, written)
	} else if t.cached > 0 {
		text = fmt.Appendf(text, `,"prompt_tokens_details":{"cached_tokens":%d}`, t.cached)
	}
	return append(text, '}'), nil
}

func (chat) whole(a *answer) any { return a.completion() }

func (a *answer) completion() *completion {
	c := &completion{
		ID: "chatcmpl-" + a.id, Object: "chat.completion", Created: a.created, Model: a.model, Tier: tierOf(a.tier), Choices: []choice{},
	}
	if a.usage != nil {
		c.Usage = &tokens{a.usage}
	}
	if a.content == noParts {
		return c
	}
	c.Choices = append(c.Choices, choice{Message: a.spoken(), Finish: nullable(a.finish)})
	if a.second == none {
		return c
	}
	second := choice{Index: 1, Message: &spoken{Role: "assistant", Content: secondText, Refusal: null}, Finish: nullable("stop")}
	if a.second == before {
		c.Choices = []choice{second, c.Choices[0]}
	} else {
		c.Choices = append(c.Choices, second)
	}
	return c
}

func (a *answer) spoken() *spoken {
	said := &spoken{Role: "assistant", Content: a.text, Thinking: a.thinking, Refusal: null}
	for _, tool := range a.calls {
		call := toolCall{ID: tool.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = tool.Name, tool.Arguments
		said.ToolCalls = append(said.ToolCalls, call)
	}
	if a.content == isNull || a.text == "" && len(a.calls) > 0 {
		said.Content = null
	}
	if a.refusal != "" {
		said.Content, said.Refusal = null, a.refusal
	}
	return said
}

func (chat) stream(a *answer, part int) [][]byte {
	own, _ := a.own.(chatOwn)
	chunks := a.completion().chunks(part)
	if own.withUsage && a.usage != nil {
		last := a.completion().chunk()
		last.Usage = &tokens{a.ended().usage}
		if chunks = append(chunks, last); a.shrinks {
			chunks[0].Usage = &tokens{a.usage}
		}
	}
	frames := make([][]byte, 0, len(chunks)+1)
	for _, chunk := range chunks {
		frames = append(frames, frame("", chunk))
	}
	return append(a.disordered(frames, `"finish_reason":"`), []byte("data: [DONE]\n\n"))
}

func (c chat) broken(_ *answer, _ int, event bool) []byte {
	return brokenBy(c, "500", event)
}

// brokenBy is the frame in which a vendor tells that a stream fails, by name or without one.
func brokenBy(v vendor, status string, named bool) []byte {
	name := ""
	if named {
		name = "error"
	}
	return frame(name, v.refuse(v.problem(status), ""))
}

// chunks are the completion as a stream tells it, without its usage.
func (c *completion) chunks(size int) []*completion {
	var all []*completion
	for i := range c.Choices {
		for _, delta := range deltas(c.Choices[i].Message, size) {
			all = append(all, c.chunk(choice{Index: c.Choices[i].Index, Delta: delta}))
		}
		all = append(all, c.chunk(choice{Index: c.Choices[i].Index, Delta: &spoken{}, Finish: c.Choices[i].Finish}))
	}
	return all
}

func (c *completion) chunk(choices ...choice) *completion {
	if choices == nil {
		choices = []choice{}
	}
	return &completion{ID: c.ID, Object: "chat.completion.chunk", Created: c.Created, Model: c.Model, Tier: c.Tier, Choices: choices}
}

// deltas are the parts of a message: who speaks, thoughts, text, calls of tools.
func deltas(said *spoken, size int) []*spoken {
	first := &spoken{Role: said.Role, Content: ""}
	text, ok := said.Content.(string)
	if !ok {
		first.Content = said.Content
	}
	all := []*spoken{first}
	for _, part := range parts(said.Thinking, size) {
		all = append(all, &spoken{Thinking: part})
	}
	for _, part := range parts(text, size) {
		all = append(all, &spoken{Content: part})
	}
	if refusal, ok := said.Refusal.(string); ok {
		all = append(all, &spoken{Refusal: refusal})
	}
	for i, call := range said.ToolCalls {
		opened, filled := call, toolCall{Index: &i}
		opened.Index, opened.Function.Arguments = &i, ""
		filled.Function.Arguments = call.Function.Arguments
		all = append(all, &spoken{ToolCalls: []toolCall{opened}}, &spoken{ToolCalls: []toolCall{filled}})
	}
	return all
}

// openAI words what both of its protocols say alike.
type openAI struct{}

// apiError is an error in OpenAI's shape.
type apiError struct {
	Message string  `json:"message"`
	Type    *string `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (openAI) refuse(p *problem, _ string) any {
	return map[string]*apiError{"error": p.body()}
}

func (p *problem) body() *apiError {
	return &apiError{p.message, nullable(p.kind), nullable(p.param), nullable(p.code)}
}

func invalid(param, code, format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...), param, code}
}

func missing(param string) *problem {
	return invalid(param, "missing_required_parameter", "Missing required parameter: '%s'", param)
}

func notJSON(err error) *problem {
	return invalid("", "invalid_json", "We could not parse the JSON body of your request: %v", err)
}

// nullable is null for no text.
func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (openAI) problem(name string) *problem {
	switch name {
	case "quota":
		return &problem{429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", "", "insufficient_quota"}
	case "context":
		return invalid("messages", "context_length_exceeded", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.")
	case "filter":
		return &problem{400, "", "The response was filtered due to the prompt triggering the content management policy.", "prompt", "content_filter"}
	case "401":
		return &problem{401, "invalid_request_error", "Incorrect API key provided.", "", "invalid_api_key"}
	case "403":
		return &problem{403, "invalid_request_error", "You are not allowed to use this model.", "", ""}
	case "404":
		return &problem{404, "invalid_request_error", "The model does not exist or you do not have access to it.", "", "model_not_found"}
	case "429":
		return &problem{429, "requests", "Rate limit reached.", "", "rate_limit_exceeded"}
	case "500":
		return &problem{500, "server_error", "The server had an error while processing your request", "", ""}
	}
	status, _ := strconv.Atoi(name)
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return &problem{status, kind, statusText(name), "", ""}
}

func (openAI) tooFast(what string, limit int, asked float64, wait time.Duration) *problem {
	return &problem{
		429, what, fmt.Sprintf("Rate limit reached for %s per min: Limit %d, Requested %.0f. Please try again in %v.", what, limit, asked, wait),
		"", "rate_limit_exceeded",
	}
}

func (openAI) identify(header http.Header, id string) { header.Set("X-Request-Id", id) }

// limits writes the x-ratelimit headers: the reset is when nothing is used.
func (v openAI) limits(header http.Header, l limits) {
	header.Set("X-Ratelimit-Limit-"+l.what, strconv.Itoa(l.limit))
	header.Set("X-Ratelimit-Remaining-"+l.what, strconv.FormatInt(l.remaining, 10))
	v.reset(header, l.what, l.full.Round(time.Millisecond).String())
}

func (openAI) reset(header http.Header, what, when string) {
	header.Set("X-Ratelimit-Reset-"+what, when)
}

func (openAI) key(header http.Header) (key, missing string) {
	return strings.TrimPrefix(header.Get("Authorization"), "Bearer "),
		"You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
}

func (openAI) models(names []string) any {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := make([]entry, len(names))
	for i, name := range names {
		data[i] = entry{name, "model", madeAt.Unix(), "agentbench"}
	}
	return map[string]any{"object": "list", "data": data}
}

// madeAt is when the models of the mock were made.
var madeAt = time.Unix(1_700_000_000, 0).UTC()

// tierOf is the tier that answers a request for one: automatic is the usual one.
func tierOf(asked string) string {
	if asked == "auto" {
		return "default"
	}
	return asked
}
