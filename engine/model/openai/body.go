package openai

import (
	"encoding/json"
	"fmt"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
)

// chatRequest is the body of a call. That of go-openai, which is sent nowhere,
// would leave out zeros, such as a temperature of 0, and empty texts, refuse
// models and settings by their names, and encode every text three times.
type chatRequest struct {
	Model               string                               `json:"model"`
	Messages            []message                            `json:"messages"`
	Stream              bool                                 `json:"stream"`
	StreamOptions       *openai.StreamOptions                `json:"stream_options,omitempty"`
	Temperature         *float64                             `json:"temperature,omitempty"`
	TopP                *float64                             `json:"top_p,omitempty"`
	Seed                *int64                               `json:"seed,omitempty"`
	MaxTokens           int                                  `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                                  `json:"max_completion_tokens,omitempty"`
	ResponseFormat      *openai.ChatCompletionResponseFormat `json:"response_format,omitempty"`
	Tools               []offered                            `json:"tools,omitempty"`
	ToolChoice          any                                  `json:"tool_choice,omitempty"`
}

type message struct {
	Role       string     `json:"role"`
	Text       *string    `json:"content"` // null where a message is only calls
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// body encodes a request.
func (m *Model) body(request *model.Request) ([]byte, error) {
	body := chatRequest{
		Model:    m.options.Name,
		Messages: make([]message, len(request.Messages)),
		Stream:   m.options.Stream, Temperature: request.Temperature, TopP: request.TopP, Seed: request.Seed,
	}
	for i := range request.Messages {
		body.Messages[i] = messageOf(&request.Messages[i])
	}
	if len(request.Tools) > 0 { // a server refuses a choice among none
		body.Tools, body.ToolChoice = offers(request.Tools), choiceOf(request.ToolChoice)
	}
	if m.options.Stream {
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
