// Package anthropic calls servers that speak Anthropic's Messages API. New makes a model:
// a request becomes a body, package wire sends it and reads the answer, and the answer becomes a reply with its usage
// (answer.go).
//
// Anthropic's SDK is a peer of the tests and no part of the program. A call of the SDK alone takes more processor time than one
// through all of agentbench, it refuses whole answers for a number that is written in another way, and it takes a stream
// that was cut for a whole one. What would be left of it, an address and three headers, cost 4.7 MB of the binary and 0.5 ms
// of every start (docs/benchmarks.md). The tests hold address and headers to those of its client, and bodies and streams
// to what its types read of them; its client is asked against our mock server.
//
// It is no stable API.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
)

// DefaultURL is Anthropic's own server.
const DefaultURL = "https://api.anthropic.com"

// version is that of the API.
const version = "2023-06-01"

// DefaultMaxTokens is the limit of output tokens where a request has none, for the API wants one: what a server writes
// within ten minutes. A budget of thinking comes on top.
const DefaultMaxTokens = 16384

// Model calls one model of one server.
type Model struct{ line *wire.Line }

// New makes a model. It fails on an invalid address. An address may end in /v1.
func New(o wire.Options) (*Model, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultURL)
	line, err := wire.New(o, func(address, key string, client *wire.Caught) error {
		address = strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1") + "/v1/messages"
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "application/json")
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Anthropic-Version", version)
		if key != "" {
			request.Header.Set("X-Api-Key", key)
		}
		_, err = client.Do(request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Model{line: line}, nil
}

// Call sends one request and waits for the whole answer.
func (m *Model) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	return wire.Protocol[message]{
		Name: model.Messages, Body: m.body, Fold: fold, Reply: m.reply,
		Empty: func(a *message) bool { return a.Content.blocks == nil },
	}.Call(ctx, m.line, request)
}

// messagesRequest is the body of a call.
type messagesRequest struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       []*part       `json:"system,omitempty"`
	Messages     []said        `json:"messages"`
	Stream       bool          `json:"stream,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	ServiceTier  string        `json:"service_tier,omitempty"`
}

// said is a message of the conversation. Of its content each is a *part, or a block as the provider gave it: a json.RawMessage.
type said struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// part is a block of content that is sent: a text, an image, a call, or a call's result.
type part struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []*part         `json:"content,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// onlyJSON asks a model for JSON in words: the API accepts no JSON mode without a schema.
const onlyJSON = "Reply with one JSON value and nothing else: no text before or after it, and no code fences."

// body encodes a request. The API knows no seed.
func (m *Model) body(request *model.Request) ([]byte, error) {
	body := messagesRequest{
		Model: m.line.Name, MaxTokens: cmp.Or(request.MaxOutputTokens, DefaultMaxTokens), Messages: []said{},
		Stream: m.line.Stream, Temperature: request.Temperature, TopP: request.TopP, ServiceTier: m.line.Tier,
	}
	for i := range request.Messages {
		body.add(&request.Messages[i])
	}
	if request.JSON {
		body.System = append(body.System, text(onlyJSON))
	}
	if len(request.Tools) > 0 { // a server refuses a choice among none
		body.Tools, body.ToolChoice = offers(request.Tools), choiceOf(request.ToolChoice)
	}
	switch t := m.line.Thinking; {
	case t != nil && t.Adaptive:
		body.Thinking = &thinking{Type: "adaptive", Display: t.Display}
	case t != nil && body.unthought():
	case t != nil:
		body.Thinking = &thinking{"enabled", t.BudgetTokens, t.Display}
		if request.MaxOutputTokens == 0 {
			body.MaxTokens += t.BudgetTokens
		}
	case m.line.Effort == "none":
		body.Thinking = &thinking{Type: "disabled"}
	}
	if m.line.Effort != "" && m.line.Effort != "none" {
		body.OutputConfig = &outputConfig{m.line.Effort}
	}
	m.markCached(&body)
	text, err := encoded(&body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return text, nil
}

// encoded is a value as JSON, in which the blocks of the provider stay as they were.
func encoded(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// markCached sets the breakpoints of the provider's cache: at the end of the system prompt, of the tools, and of what
// the user said last. A server takes four at most.
func (m *Model) markCached(body *messagesRequest) {
	caches := func(part string) bool {
		return slices.Contains(m.line.Cache, part) || slices.Contains(m.line.Cache, "auto")
	}
	mark := &cacheControl{Type: "ephemeral"}
	if m.line.CacheTTL != "5m" {
		mark.TTL = m.line.CacheTTL
	}
	if n := len(body.System); n > 0 && caches("system") {
		body.System[n-1].CacheControl = mark
	}
	if n := len(body.Tools); n > 0 && caches("tools") {
		body.Tools[n-1].CacheControl = mark
	}
	if !caches("conversation") {
		return
	}
	for i := range slices.Backward(body.Messages) {
		if of := &body.Messages[i]; of.Role == userRole {
			of.Content[len(of.Content)-1].(*part).CacheControl = mark // blocks as they were given are the assistant's
			return
		}
	}
}

// unthought reports whether the request continues a turn that called tools and did not begin with thinking: its reply was changed
// since then, or is of another model. A server refuses to think in the middle of such a turn, or leaves it off itself.
func (r *messagesRequest) unthought() bool {
	var first any // of the turn
	for i := range slices.Backward(r.Messages) {
		begins := r.Messages[i].Content[0]
		if r.Messages[i].Role == assistantRole {
			first = begins
		} else if begins.(*part).Type != "tool_result" {
			break // what the user says begins a turn
		}
	}
	raw, given := first.(json.RawMessage)
	var b block
	return first != nil && (!given || json.Unmarshal(raw, &b) != nil || b.Type != thinkingType && b.Type != redactedThinking)
}

const (
	userRole      = "user"
	assistantRole = "assistant"
)

// add appends a message. What is said of system messages belongs to the system prompt, wherever they stand; the results of tools are
// the user's. Messages of one role that follow one another are one, as the results of one turn have to be.
func (r *messagesRequest) add(m *model.Message) {
	var content []any
	role := userRole
	switch m.Role {
	case "system":
		if !blank(m.Text) {
			r.System = append(r.System, text(m.Text))
		}
		return
	case "tool":
		result := &part{Type: "tool_result", ToolUseID: m.ToolCallID}
		if !blank(m.Text) {
			result.Content = []*part{text(m.Text)}
		}
		content = []any{result}
	case assistantRole:
		role = assistantRole
		if content = given(m); content == nil {
			content = written(m)
		}
	default:
		for i := range m.Images {
			content = append(content, &part{Type: "image", Source: &source{"base64", m.Images[i].Type, m.Images[i].Data}})
		}
		if !blank(m.Text) {
			content = append(content, text(m.Text))
		}
	}
	if len(content) == 0 {
		return // a server refuses a message without content
	}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == role {
		r.Messages[n-1].Content = append(r.Messages[n-1].Content, content...)
		return
	}
	r.Messages = append(r.Messages, said{role, content})
}

func text(of string) *part { return &part{Type: "text", Text: of} }

// blank texts are refused by the server.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// written is an assistant's message made of its text and calls.
func written(m *model.Message) (content []any) {
	if !blank(m.Text) {
		content = append(content, text(m.Text))
	}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		input := json.RawMessage(call.Arguments)
		if !isObject(input) {
			input = json.RawMessage("{}") // a server refuses anything else
		}
		content = append(content, &part{Type: "tool_use", ID: call.ID, Name: call.Name, Input: input})
	}
	return content
}

func isObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) && json.Valid(raw)
}

// given is an assistant's message as the provider gave it, nil where it is not that message any more: its calls are others, or its
// blocks are of another API. Texts without content are left out, because a server refuses them.
func given(m *model.Message) (content []any) {
	var blocks []json.RawMessage
	if m.Blocks == nil || json.Unmarshal(m.Blocks, &blocks) != nil {
		return nil
	}
	calls, known := m.ToolCalls, false
	for _, raw := range blocks {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			return nil
		}
		known = known || b.known()
		if b.Type == toolUse {
			if len(calls) == 0 || calls[0].ID != b.ID {
				return nil
			}
			calls = calls[1:]
		}
		if b.Type != textType || !blank(b.Text) {
			content = append(content, raw)
		}
	}
	if len(calls) > 0 || !known {
		return nil
	}
	return content
}

func offers(tools []model.Tool) []tool {
	all := make([]tool, len(tools))
	for i := range tools {
		all[i] = tool{Name: tools[i].Name, Description: tools[i].Description, InputSchema: tools[i].Parameters}
		if len(all[i].InputSchema) == 0 {
			all[i].InputSchema = wire.NoParameters
		}
	}
	return all
}

// choiceOf is a word of the API, or the tool of that name; nil where nothing is said.
func choiceOf(choice string) *toolChoice {
	switch choice {
	case "":
		return nil
	case "auto", "none":
		return &toolChoice{Type: choice}
	case "required":
		return &toolChoice{Type: "any"}
	}
	return &toolChoice{"tool", choice}
}
