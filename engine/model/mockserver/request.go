package mockserver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agentbench/agentbench/engine/model"
)

// mostRequest is the longest body that is read, in bytes.
const mostRequest = 32 << 20

// chatRequest is what the server reads of a body; the rest is only hashed.
type chatRequest struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	ResponseFormat      struct {
		Type string `json:"type"`
	} `json:"response_format"`
	Tools []struct {
		Function json.RawMessage `json:"function"`
	} `json:"tools"`

	hash uint64 // of the whole body
	nth  int    // how many equal requests came before, this one included
}

type message struct {
	Role      string     `json:"role"`
	Content   content    `json:"content"`
	ToolCalls []toolCall `json:"tool_calls"`
}

// content is a message's text, which comes as text or in parts.
type content string

// UnmarshalJSON takes text, a list of parts, or null.
func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		*c += content(part.Text)
	}
	return nil
}

// read gives the request, or the status and the error that answer a bad one.
func read(w http.ResponseWriter, r *http.Request) (*chatRequest, int, *apiError) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return nil, http.StatusRequestEntityTooLarge, invalid("", "", "The request is longer than %d bytes", mostRequest)
	} else if err != nil {
		return nil, http.StatusBadRequest, invalid("", "", "The request could not be read")
	}
	sum := sha256.Sum256(text)
	request := &chatRequest{hash: binary.BigEndian.Uint64(sum[:8])}
	if err := json.Unmarshal(text, request); err != nil {
		return nil, http.StatusBadRequest, invalid("", "invalid_json", "We could not parse the JSON body of your request: %v", err)
	}
	if refused := request.refuse(); refused != nil {
		return nil, http.StatusBadRequest, refused
	}
	return request, 0, nil
}

// refuse says what makes a request invalid; nil: nothing does.
func (r *chatRequest) refuse() *apiError {
	switch {
	case r.Model == "":
		return invalid("model", "missing_required_parameter", "you must provide a model parameter")
	case r.Messages == nil:
		return invalid("messages", "missing_required_parameter", "Missing required parameter: 'messages'")
	case len(r.Messages) == 0:
		return invalid("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1")
	}
	return nil
}

// lastUser is the text of the last message of the user.
func (r *chatRequest) lastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return string(r.Messages[i].Content)
		}
	}
	return ""
}

// steps is how often the assistant has replied since the first message of the user
// that the rule matches.
func (r *chatRequest) steps(ctx context.Context, rule *Rule) (steps int, err error) {
	begun := false
	for i := range r.Messages {
		switch m := &r.Messages[i]; m.Role {
		case "user":
			if begun {
				continue
			}
			if begun, err = rule.matches(ctx, string(m.Content)); err != nil {
				return 0, err
			}
		case "assistant":
			if begun {
				steps++
			}
		}
	}
	return steps, nil
}

func (r *chatRequest) inputTokens() int64 {
	bytes := 0
	for i := range r.Messages {
		bytes += len(r.Messages[i].Content)
		for _, call := range r.Messages[i].ToolCalls {
			bytes += len(call.Function.Name) + len(call.Function.Arguments)
		}
	}
	for i := range r.Tools {
		bytes += len(r.Tools[i].Function)
	}
	return max(1, model.EstimateTokens(bytes))
}

// maxOutput is the most tokens of output, 0 where the request does not say.
func (r *chatRequest) maxOutput() int { return max(r.MaxTokens, r.MaxCompletionTokens) }

// apiError is an error in the API's shape.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) body() map[string]*apiError { return map[string]*apiError{"error": e} }

func invalid(param, code, format string, args ...any) *apiError {
	return &apiError{fmt.Sprintf(format, args...), "invalid_request_error", nullable(param), nullable(code)}
}

// nullable is null for no text.
func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
