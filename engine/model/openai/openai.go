// Package openai calls servers that speak OpenAI's chat completions API (New) or its Responses API
// (NewResponses). A request becomes a body, package wire sends it and reads the answer, and the
// answer becomes a reply with its usage (answer.go).
//
// go-openai makes the request's address and headers. Its body is not used: it would leave out zeros, such as a temperature of
// 0, and empty texts, refuse models and settings by their names, and encode every text three times. Nor are its answers: it
// refuses whole ones for a number that is written in another way, and takes a stream that was cut for a whole one.
//
// OpenAI's own library, openai-go, would add 18 MB to the binary (a program of two calls: 24.8 MB, with go-openai 6.4 MB), as
// a second one for the same server.
//
// It is no stable API.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// DefaultURL is OpenAI's own server.
const DefaultURL = "https://api.openai.com/v1"

// Model calls one model of one server.
type Model struct {
	line *wire.Line
	// completionLimit: the server wants max_completion_tokens, not max_tokens.
	completionLimit bool
}

// New makes a model. It fails on an invalid address.
func New(o wire.Options) (*Model, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultURL)
	line, err := wire.New(o, func(address, key string, client *wire.Caught) error {
		config := openai.DefaultConfig(key)
		config.BaseURL, config.HTTPClient = address, client
		_, err := openai.NewClientWithConfig(config).CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Model{line: line, completionLimit: o.Quirks.CompletionLimit || line.Host == "api.openai.com" || reasons(o.Name)}, nil
}

// Call sends one request and waits for the whole answer.
func (m *Model) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	return wire.Protocol[completion]{
		Name: model.Chat, Body: m.body, Fold: fold, Reply: m.reply,
		Empty: func(c *completion) bool { return len(c.Choices) == 0 },
	}.Call(ctx, m.line, request)
}

// reasons tells by its name that a model counts its reasoning as output, and so
// knows only the newer name of the limit.
func reasons(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(family string) bool { return strings.HasPrefix(name, family) })
}

// chatRequest is the body of a call.
type chatRequest struct {
	Model               string                               `json:"model"`
	Messages            []message                            `json:"messages"`
	Stream              bool                                 `json:"stream"`
	StreamOptions       *openai.StreamOptions                `json:"stream_options,omitempty"`
	Temperature         *float64                             `json:"temperature,omitempty"`
	TopP                *float64                             `json:"top_p,omitempty"`
	Seed                *int64                               `json:"seed,omitempty"`
	RandomSeed          *int64                               `json:"random_seed,omitempty"`
	MaxTokens           int                                  `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                                  `json:"max_completion_tokens,omitempty"`
	ResponseFormat      *openai.ChatCompletionResponseFormat `json:"response_format,omitempty"`
	Tools               []offered                            `json:"tools,omitempty"`
	ToolChoice          any                                  `json:"tool_choice,omitempty"`
	ReasoningEffort     string                               `json:"reasoning_effort,omitempty"`
	ServiceTier         string                               `json:"service_tier,omitempty"`
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a text, parts, or null where a message is only calls
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// body encodes a request.
func (m *Model) body(request *model.Request) ([]byte, error) {
	body := chatRequest{
		Model:    m.line.Name,
		Messages: make([]message, len(request.Messages)),
		Stream:   m.line.Stream, Temperature: request.Temperature, TopP: request.TopP, Seed: request.Seed,
		ReasoningEffort: m.line.Effort, ServiceTier: m.line.Tier,
	}
	for i := range request.Messages {
		body.Messages[i] = messageOf(&request.Messages[i])
	}
	if len(request.Tools) > 0 { // a server refuses a choice among none
		body.Tools, body.ToolChoice = offers(request.Tools), choiceOf(request.ToolChoice)
	}
	if q := m.line.Quirks; q.NoSeed {
		body.Seed = nil
	} else if q.RandomSeed {
		body.Seed, body.RandomSeed = nil, request.Seed
	}
	if m.line.Stream && !m.line.Quirks.NoStreamOptions {
		body.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if m.completionLimit {
		body.MaxCompletionTokens = request.MaxOutputTokens
	} else {
		body.MaxTokens = request.MaxOutputTokens
	}
	if request.JSON {
		body.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	text, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return text, nil
}

// offered is a tool that the model may call.
type offered struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolCall is a call that the model made.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func offers(tools []model.Tool) []offered {
	all := make([]offered, len(tools))
	for i := range tools {
		o := &all[i]
		o.Type, o.Function.Name, o.Function.Description = "function", tools[i].Name, tools[i].Description
		if o.Function.Parameters = tools[i].Parameters; len(o.Function.Parameters) == 0 {
			o.Function.Parameters = wire.NoParameters
		}
	}
	return all
}

// choiceOf is a word of the API, or the tool of that name; nil where nothing is
// said.
func choiceOf(choice string) any {
	switch choice {
	case "":
		return nil
	case "auto", "none", "required":
		return choice
	}
	return openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: choice}}
}

// messageOf keeps the content of every message, also an empty one, unless an
// assistant has only called tools.
func messageOf(said *model.Message) message {
	m := message{Role: said.Role, Content: &said.Text, ToolCallID: said.ToolCallID}
	for _, call := range said.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: call.ID, Type: "function", Function: functionCall{call.Name, call.Arguments}})
	}
	if said.Text == "" && m.ToolCalls != nil {
		m.Content = nil
	}
	if said.Images != nil {
		m.Content = partsOf(said)
	}
	return m
}

// partsOf are a text and the images that come with it.
func partsOf(said *model.Message) []openai.ChatMessagePart {
	var parts []openai.ChatMessagePart
	if said.Text != "" {
		parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: said.Text})
	}
	for i := range said.Images {
		parts = append(parts, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: said.Images[i].DataURL()},
		})
	}
	return parts
}

// callsOf are the calls of an answer, with IDs.
func callsOf(said []toolCall) []model.ToolCall {
	if len(said) == 0 {
		return nil
	}
	calls := make([]model.ToolCall, len(said))
	for i := range said {
		calls[i] = model.ToolCall{ID: said[i].ID, Name: said[i].Function.Name, Arguments: said[i].Function.Arguments}
	}
	model.Identify(calls)
	return calls
}

// counted are the names in a usage that record.Usage has, and their sums.
var counted = []string{
	"prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens",
	"prompt_tokens_details.cached_tokens", "prompt_tokens_details.cache_write_tokens", "completion_tokens_details.reasoning_tokens",
}

// tierOf is the service tier that a server reports, "" for the usual one.
func tierOf(reported string) string {
	if reported == "default" {
		return ""
	}
	return wire.Shorten(reported)
}

// usage believes the server where what it says can be.
func (m *Model) usage(said wire.Usage, input, output int64) record.Usage {
	hits, cached := said.Tokens("prompt_cache_hit_tokens"), said.Tokens("prompt_tokens_details.cached_tokens")
	used := record.Usage{
		Calls: 1, InputTokens: said.Tokens("prompt_tokens"), OutputTokens: said.Tokens("completion_tokens"),
		CachedTokens: max(hits, cached), CacheWriteTokens: said.Tokens("prompt_tokens_details.cache_write_tokens"),
		ReasoningTokens: said.Tokens("completion_tokens_details.reasoning_tokens"),
	}
	if total := said.Tokens("total_tokens"); total <= 2*wire.MostTokens {
		used = used.WithTotal(total)
	}
	used.ReasoningTokens = max(0, min(used.ReasoningTokens, used.OutputTokens))
	plausible := said.Tells("prompt_tokens", "completion_tokens") && min(hits, cached) >= 0 && wire.Plausible(used, output)
	return m.line.Used(used, plausible, input, output)
}
