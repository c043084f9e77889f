package mockserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// messages is the Messages API of Anthropic.
type messages struct {
	anthropic
	counting bool // only the tokens of requests
}

// versionHeader is what every client of Anthropic sends.
const versionHeader = "Anthropic-Version"

// messagesRequest is what is read of a body; the rest is only hashed.
type messagesRequest struct {
	Model        string             `json:"model"`
	MaxTokens    *int               `json:"max_tokens"`
	System       textOrParts[block] `json:"system"`
	Messages     []anthropicMessage `json:"messages"`
	Tools        []anthropicTool    `json:"tools"`
	Stream       bool               `json:"stream"`
	ServiceTier  string             `json:"service_tier"`
	OutputConfig struct {
		Format struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"output_config"`
	Thinking struct {
		Type    string `json:"type"`
		Budget  int    `json:"budget_tokens"`
		Display string `json:"display"`
	} `json:"thinking"`
	mark // of the whole prompt
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	mark
}

type anthropicMessage struct {
	Role    string             `json:"role"`
	Content textOrParts[block] `json:"content"`
}

// block is a part of a message that is asked.
type block struct {
	Type      string             `json:"type"`
	Text      string             `json:"text"`
	Thinking  string             `json:"thinking"`
	Signature string             `json:"signature"`
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Input     json.RawMessage    `json:"input"`
	ToolUseID string             `json:"tool_use_id"`
	Content   textOrParts[block] `json:"content"`
	Source    json.RawMessage    `json:"source"`
	mark
}

// bytes is the length of what a model reads of a block.
func (b *block) bytes() int {
	all := len(b.Text) + len(b.Thinking) + len(b.Name) + len(b.Input) + len(b.Content.text)
	for i := range b.Content.parts {
		all += b.Content.parts[i].bytes()
	}
	return all
}

// messagesOwn is what only the writer of messages needs of a request.
type messagesOwn struct{ hidden bool } // hidden: thoughts are not told

func (m messages) read(r *request, body []byte, header http.Header) *problem {
	if header.Get(versionHeader) == "" {
		return m.invalid("anthropic-version: header is required")
	}
	var asked messagesRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		return m.invalid("The request body is not valid JSON: %v", err)
	}
	if refused := m.check(&asked); refused != nil {
		return refused
	}
	*r = request{
		model: asked.Model, stream: asked.Stream, json: asked.OutputConfig.Format.Type == "json_schema",
		tier: asked.ServiceTier, callID: "toolu_", own: messagesOwn{asked.Thinking.Display == "omitted"}, hash: r.hash,
	}
	if asked.MaxTokens != nil {
		r.maxOutput = *asked.MaxTokens
	}
	for i := range asked.Tools {
		r.tools += asked.Tools[i].bytes()
	}
	if asked.System.text != "" || asked.System.parts != nil {
		m.tell(r, "system", &asked.System)
	}
	for i := range asked.Messages {
		m.tell(r, asked.Messages[i].Role, &asked.Messages[i].Content)
	}
	if isMarked(body) {
		asked.cache(&r.cached)
	}
	if marks := r.cached.marks; marks > mostMarks {
		return m.invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", mostMarks, marks)
	}
	return nil
}

func (t *anthropicTool) bytes() int { return len(t.Name) + len(t.Description) + len(t.Schema) }

// check says what is wrong with a request; nil: nothing is.
func (m messages) check(asked *messagesRequest) *problem {
	most := asked.MaxTokens
	switch {
	case asked.Model == "":
		return m.invalid("model: Field required")
	case m.counting:
	case most == nil:
		return m.invalid("max_tokens: Field required")
	case *most < 1:
		return m.invalid("max_tokens: Input should be greater than or equal to 1")
	case asked.Thinking.Type == "enabled" && asked.Thinking.Budget < 1024:
		return m.invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case asked.Thinking.Type == "enabled" && asked.Thinking.Budget >= *most:
		return m.invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	switch {
	case asked.Messages == nil:
		return m.invalid("messages: Field required")
	case len(asked.Messages) == 0:
		return m.invalid("messages: at least one message is required")
	}
	for i := range asked.System.parts {
		if b := &asked.System.parts[i]; b.Type == "text" && b.Text == "" {
			return m.invalid("system: text content blocks must be non-empty")
		}
	}
	var before *anthropicMessage
	for i := range asked.Messages {
		if refused := m.checkMessage(&asked.Messages[i], before, i); refused != nil {
			return refused
		}
		before = &asked.Messages[i]
	}
	return m.unanswered(before, nil, len(asked.Messages))
}

// mostMarks is how many prefixes a request may have cached.
const mostMarks = 4

// checkMessage says what is wrong with the message of a place, after the one before it.
func (m messages) checkMessage(said, before *anthropicMessage, place int) *problem {
	switch said.Role {
	case "user", "assistant", "system":
	default:
		return m.invalid("messages.%d.role: Input should be 'user', 'assistant' or 'system'", place)
	}
	if said.Role == "user" && said.Content.text == "" && len(said.Content.parts) == 0 {
		return m.invalid("messages.%d: user messages must have non-empty content", place)
	}
	if refused := m.unanswered(before, said, place); refused != nil {
		return refused
	}
	for i := range said.Content.parts {
		b := &said.Content.parts[i]
		at := fmt.Sprintf("messages.%d.content.%d", place, i)
		switch thoughts, ok := unseal(b.Signature); {
		case b.Type == "text" && b.Text == "":
			return m.invalid("messages: text content blocks must be non-empty")
		case b.Type == "thinking" && (!ok || b.Thinking != "" && b.Thinking != thoughts):
			return m.invalid("%s: Invalid `signature` in `thinking` block", at)
		case b.Type == "tool_result" && !before.calls(b.ToolUseID):
			return m.invalid("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", at, b.ToolUseID)
		}
	}
	return nil
}

// unanswered refuses calls of a message whose results are not in the next one.
func (m messages) unanswered(before, next *anthropicMessage, place int) *problem {
	if before == nil {
		return nil
	}
	for i := range before.Content.parts {
		if b := &before.Content.parts[i]; b.Type == "tool_use" && !next.answers(b.ID) {
			return m.invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", place-1, b.ID)
		}
	}
	return nil
}

func (a *anthropicMessage) calls(id string) bool {
	return a != nil && slices.ContainsFunc(a.Content.parts, func(b block) bool { return b.Type == "tool_use" && b.ID == id })
}

func (a *anthropicMessage) answers(id string) bool {
	return a != nil && slices.ContainsFunc(a.Content.parts, func(b block) bool { return b.Type == "tool_result" && b.ToolUseID == id })
}

// cache is the prompt as a cache sees it: tools, system, messages.
func (r *messagesRequest) cache(to *cached) {
	bytes := 0
	to.add(r.Model, bytes, &mark{})
	add := func(role string, said *textOrParts[block]) {
		if said.parts == nil && said.text != "" {
			bytes += len(said.text)
			to.add([]string{role, said.text}, bytes, &mark{})
		}
		for i := range said.parts {
			b := said.parts[i]
			bytes += b.bytes()
			asked := b.mark
			b.mark = mark{}
			to.add([]any{role, b}, bytes, &asked)
		}
	}
	for i := range r.Tools {
		t := r.Tools[i]
		bytes += t.bytes()
		asked := t.mark
		t.mark = mark{}
		to.add(t, bytes, &asked)
	}
	add("system", &r.System)
	for i := range r.Messages {
		add(r.Messages[i].Role, &r.Messages[i].Content)
	}
	to.keep(&r.mark)
}

// tell adds a message to the conversation. What the user gives back of tools are turns of
// their own.
func (messages) tell(r *request, role string, content *textOrParts[block]) {
	if content.parts == nil {
		r.say(role, content.text, len(content.text))
		return
	}
	text, bytes := "", 0
	for i := range content.parts {
		b := &content.parts[i]
		if b.Type == "tool_result" {
			r.say("tool", b.Content.text, b.bytes())
			continue
		}
		text, bytes = text+b.Text, bytes+b.bytes()
	}
	if bytes > 0 || role != "user" {
		r.say(role, text, bytes)
	}
}

// message is an answer in the API's shape. Where faults make it break the API's
// promises, fields are nil.
type message struct {
	Model        string          `json:"model"`
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Role         string          `json:"role"`
	Content      []any           `json:"content"`
	StopReason   *string         `json:"stop_reason"`
	StopSequence *string         `json:"stop_sequence"`
	StopDetails  *stopDetails    `json:"stop_details"`
	Usage        json.RawMessage `json:"usage,omitempty"`
}

type stopDetails struct {
	Type        string  `json:"type"`
	Category    *string `json:"category"`
	Explanation string  `json:"explanation"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type toolBlock struct {
	Type   string          `json:"type"`
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Caller map[string]any  `json:"caller"`

	written string // the input as the model wrote it
}

var direct = map[string]any{"type": "direct"}

func (m messages) whole(a *answer) any {
	said := m.message(a)
	said.StopReason, said.StopDetails = stopReason(a)
	said.Content = []any{}
	switch {
	case a.content == isNull:
		said.Content = nil
	case a.content == noParts || a.refusal != "":
	default:
		said.Content = m.blocks(a)
	}
	return said
}

// message is an answer without what it says.
func (messages) message(a *answer) *message {
	return &message{Model: a.model, ID: "msg_" + a.id, Type: "message", Role: "assistant", Content: []any{}, Usage: a.anthropicUsage(true, a.outputTokens())}
}

// blocks are what an answer says.
func (messages) blocks(a *answer) []any {
	own, _ := a.own.(messagesOwn)
	var all []any
	if a.thinking != "" {
		block := thinkingBlock{"thinking", a.thinking, seal(a.thinking)}
		if own.hidden {
			block.Thinking = ""
		}
		all = append(all, block)
	}
	if a.text != "" || len(a.calls) == 0 {
		all = append(all, textBlock{"text", a.text})
	}
	for _, call := range a.calls {
		input := json.RawMessage(call.Arguments)
		if !json.Valid(input) {
			input, _ = json.Marshal(call.Arguments) // a string
		}
		all = append(all, toolBlock{"tool_use", call.ID, call.Name, input, direct, call.Arguments})
	}
	return all
}

// stopReason is why an answer ends, in Anthropic's words.
func stopReason(a *answer) (*string, *stopDetails) {
	if a.refusal != "" && a.finish != "" {
		return nullable("refusal"), &stopDetails{Type: "refusal", Explanation: a.refusal}
	}
	switch a.finish {
	case "stop":
		return nullable("end_turn"), nil
	case "length":
		return nullable("max_tokens"), nil
	case "tool_calls":
		return nullable("tool_use"), nil
	case "content_filter":
		return nullable("refusal"), &stopDetails{Type: "refusal"}
	}
	return nullable(a.finish), nil
}

// anthropicUsage writes the usage, as a message begins with it or as it ends: nil where it is not told.
func (a *answer) anthropicUsage(whole bool, output int64) json.RawMessage {
	u := a.usage
	if u == nil {
		return nil
	}
	as := cmp.Or(u.as, "%d")
	text := fmt.Appendf(nil, `{"input_tokens":`+as+`,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d`,
		u.input-u.cached-u.written-u.written1h, u.written+u.written1h, u.cached)
	if whole {
		text = fmt.Appendf(text, `,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d}`, u.written, u.written1h)
	}
	text = fmt.Appendf(text, `,"output_tokens":`+as+`,"output_tokens_details":{"thinking_tokens":%d}`, output, min(u.thinking, output))
	if whole {
		tier := a.tier
		if tier == "" || tier == "auto" || tier == "standard_only" {
			tier = "standard"
		}
		text = fmt.Appendf(text, `,"service_tier":%q,"inference_geo":"not_available"`, tier)
	}
	return append(text, '}')
}

// messageEvent is an event of a stream.
type messageEvent struct {
	Type    string          `json:"type"`
	Message *message        `json:"message,omitempty"`
	Index   *int            `json:"index,omitempty"`
	Block   any             `json:"content_block,omitempty"`
	Delta   any             `json:"delta,omitempty"`
	Usage   json.RawMessage `json:"usage,omitempty"`
}

// blockDelta is the part of a block that an event holds.
type blockDelta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
	JSON      *string `json:"partial_json,omitempty"`
}

type messageDelta struct {
	StopReason   *string      `json:"stop_reason"`
	StopSequence *string      `json:"stop_sequence"`
	StopDetails  *stopDetails `json:"stop_details"`
}

func (m messages) stream(a *answer, part int) [][]byte {
	var frames [][]byte
	tell := func(e messageEvent) { frames = append(frames, frame(e.Type, e)) }
	begun := m.message(a)
	if !a.shrinks {
		begun.Usage = a.anthropicUsage(true, min(1, a.outputTokens()))
	}
	tell(messageEvent{Type: "message_start", Message: begun})
	if a.content == present && a.refusal == "" {
		for i, block := range m.blocks(a) {
			opened, deltas := open(block, a, i, part)
			tell(messageEvent{Type: "content_block_start", Index: &i, Block: opened})
			if i == 0 {
				frames = append(frames, []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"))
			}
			for _, delta := range deltas {
				tell(messageEvent{Type: "content_block_delta", Index: &i, Delta: delta})
			}
			tell(messageEvent{Type: "content_block_stop", Index: &i})
		}
	}
	var end messageDelta
	end.StopReason, end.StopDetails = stopReason(a)
	last := a.ended()
	tell(messageEvent{Type: "message_delta", Delta: end, Usage: last.anthropicUsage(false, last.outputTokens())})
	tell(messageEvent{Type: "message_stop"})
	return a.disordered(frames, "event: content_block_stop\n")
}

// open is a block as its first event shows it, and the deltas that fill it.
func open(block any, a *answer, place, part int) (opened any, deltas []blockDelta) {
	switch b := block.(type) {
	case thinkingBlock:
		for _, text := range parts(b.Thinking, part) {
			deltas = append(deltas, blockDelta{Type: "thinking_delta", Thinking: &text})
		}
		deltas = append(deltas, blockDelta{Type: "signature_delta", Signature: &b.Signature})
		return thinkingBlock{Type: "thinking"}, deltas
	case textBlock:
		for _, text := range parts(b.Text, part) {
			deltas = append(deltas, blockDelta{Type: "text_delta", Text: &text})
		}
		return textBlock{Type: "text"}, deltas
	case toolBlock:
		deltas = append(deltas, blockDelta{Type: "input_json_delta", JSON: new("")})
		for _, text := range parts(b.written, part) {
			deltas = append(deltas, blockDelta{Type: "input_json_delta", JSON: &text})
		}
		b.Input = json.RawMessage("{}")
		return b, deltas
	}
	return block, nil
}

func (m messages) broken(_ *answer, _ int, event bool) []byte {
	return brokenBy(m, "529", event)
}

// anthropic words errors and limits.
type anthropic struct{}

type anthropicError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id,omitempty"`
}

func (anthropic) refuse(p *problem, id string) any {
	told := anthropicError{Type: "error", RequestID: id}
	told.Error.Type, told.Error.Message = p.kind, p.message
	return told
}

func (anthropic) invalid(format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

func (w anthropic) problem(name string) *problem {
	switch name {
	case "quota":
		return w.invalid("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case "context":
		return w.invalid("prompt is too long: 210000 tokens > 200000 maximum")
	case "filter":
		return w.invalid("Output blocked by content filtering policy")
	}
	kinds := map[string][2]string{
		"401": {"authentication_error", "invalid x-api-key"},
		"402": {"billing_error", "There is an issue with your billing or payment information."},
		"403": {"permission_error", "Your API key does not have permission to use the specified resource."},
		"404": {"not_found_error", "model: not found"},
		"408": {"timeout_error", "The request timed out."},
		"413": {"request_too_large", "Request exceeds the maximum size"},
		"429": {"rate_limit_error", "This request would exceed the rate limit of your organization."},
		"500": {"api_error", "Internal server error"},
		"504": {"timeout_error", "The request timed out while processing."},
		"529": {"overloaded_error", "Overloaded"},
	}
	status, _ := strconv.Atoi(name)
	if words, ok := kinds[name]; ok {
		return &problem{status: status, kind: words[0], message: words[1]}
	}
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "api_error"
	}
	return &problem{status: status, kind: kind, message: statusText(name)}
}

func (anthropic) tooFast(what string, limit int, _ float64, _ time.Duration) *problem {
	return &problem{status: 429, kind: "rate_limit_error", message: fmt.Sprintf("This request would exceed your organization's rate limit of %d %s per minute.", limit, what)}
}

func (anthropic) identify(header http.Header, id string) { header.Set("Request-Id", id) }

// limits writes the anthropic-ratelimit headers: the reset is when nothing is used.
func (v anthropic) limits(header http.Header, l limits) {
	header.Set("Anthropic-Ratelimit-"+l.what+"-Limit", strconv.Itoa(l.limit))
	header.Set("Anthropic-Ratelimit-"+l.what+"-Remaining", strconv.FormatInt(l.remaining, 10))
	v.reset(header, l.what, l.now.Add(l.full+time.Second-1).UTC().Truncate(time.Second).Format(time.RFC3339))
}

func (anthropic) reset(header http.Header, what, when string) {
	header.Set("Anthropic-Ratelimit-"+what+"-Reset", when)
}

func (anthropic) key(header http.Header) (key, missing string) {
	return cmp.Or(header.Get("X-Api-Key"), strings.TrimPrefix(header.Get("Authorization"), "Bearer ")), "x-api-key header is required"
}

func (anthropic) models(names []string) any {
	type entry struct {
		Type      string    `json:"type"`
		ID        string    `json:"id"`
		Name      string    `json:"display_name"`
		CreatedAt time.Time `json:"created_at"`
	}
	data := make([]entry, len(names))
	for i, name := range names {
		data[i] = entry{"model", name, name, madeAt}
	}
	page := map[string]any{"data": data, "has_more": false, "first_id": nil, "last_id": nil}
	if len(names) > 0 {
		page["first_id"], page["last_id"] = names[0], names[len(names)-1]
	}
	return page
}
