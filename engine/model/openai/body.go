package openai

import (
	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
)

// body is what go-openai can say of a request. What it would leave out, such as
// a temperature of 0, or check by the model's name, is in fields.
func (m *Model) body(request *model.Request) openai.ChatCompletionRequest {
	body := openai.ChatCompletionRequest{
		Model:    m.options.Name,
		Messages: make([]openai.ChatCompletionMessage, len(request.Messages)),
	}
	for i, message := range request.Messages {
		body.Messages[i] = openai.ChatCompletionMessage{Role: message.Role, Content: message.Text}
	}
	if request.JSON {
		body.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return body
}

// fields are merged into the body on the wire.
func (m *Model) fields(request *model.Request) map[string]any {
	fields := map[string]any{}
	if m.options.Stream {
		fields["stream"] = true
		fields["stream_options"] = map[string]any{"include_usage": true}
	}
	if request.Temperature != nil {
		fields["temperature"] = *request.Temperature
	}
	if request.TopP != nil {
		fields["top_p"] = *request.TopP
	}
	if request.Seed != nil {
		fields["seed"] = *request.Seed
	}
	if n := request.MaxOutputTokens; n > 0 && m.completionLimit {
		fields["max_completion_tokens"] = n
	} else if n > 0 {
		fields["max_tokens"] = n
	}
	return fields
}
