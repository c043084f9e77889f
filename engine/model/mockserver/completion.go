package mockserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
)

// completion is an answer in the API's shape. Where faults make it break the
// API's promises, fields are nil.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
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

type tokens struct {
	Prompt, Completion, Total int64
	cached                    int64  // of the prompt; 0: it is not told
	as                        string // how a number is written; "": as a whole one
}

// MarshalJSON writes the numbers in their form.
func (t *tokens) MarshalJSON() ([]byte, error) {
	as := cmp.Or(t.as, "%d")
	text := fmt.Appendf(nil, `{"prompt_tokens":`+as+`,"completion_tokens":`+as+`,"total_tokens":`+as, t.Prompt, t.Completion, t.Total)
	if t.cached > 0 {
		text = fmt.Appendf(text, `,"prompt_tokens_details":{"cached_tokens":%d}`, t.cached)
	}
	return append(text, '}'), nil
}

// complete puts a reply into the API's shape. A reply that is longer than the
// request allows is cut, as a model would be.
func (s *Server) complete(request *chatRequest, reply Reply) *completion {
	id := s.identity(request)
	if most := 4 * request.maxOutput(); most > 0 && len(reply.Text) > most {
		reply.Text, reply.Finish = validPrefix(reply.Text, most), "length"
	}
	said := &spoken{Role: "assistant", Content: reply.Text, Thinking: reply.Thinking, Refusal: null}
	output := len(reply.Text) + len(reply.Thinking)
	for i, tool := range reply.Tools {
		call := toolCall{ID: cmp.Or(tool.ID, fmt.Sprintf("call_%s%d", id[:16], i)), Type: "function"}
		call.Function.Name, call.Function.Arguments = tool.Name, tool.Arguments
		said.ToolCalls = append(said.ToolCalls, call)
		output += len(tool.Name) + len(tool.Arguments)
	}
	if reply.Text == "" && len(reply.Tools) > 0 {
		said.Content = null
	}
	finish := reply.finish()
	used := &tokens{Prompt: request.inputTokens(), Completion: model.EstimateTokens(output)}
	used.Total = used.Prompt + used.Completion
	return &completion{
		ID: "chatcmpl-" + id, Object: "chat.completion", Created: s.options.Now().Unix(), Model: request.Model,
		Choices: []choice{{Message: said, Finish: &finish}}, Usage: used,
	}
}

// identity names an answer: equal requests have different ones, but the same in
// every run of the server.
func (s *Server) identity(request *chatRequest) string {
	a, b := draw(s.options.Seed, "identity", request)
	return fmt.Sprintf("%016x%016x", a, b)
}

// chunks are the completion as a stream tells it, the usage last if asked for.
func (c *completion) chunks(size int, withUsage bool) []*completion {
	var all []*completion
	for i := range c.Choices {
		for _, delta := range deltas(c.Choices[i].Message, size) {
			all = append(all, c.chunk(choice{Index: c.Choices[i].Index, Delta: delta}))
		}
		all = append(all, c.chunk(choice{Index: c.Choices[i].Index, Delta: &spoken{}, Finish: c.Choices[i].Finish}))
	}
	if withUsage && c.Usage != nil {
		last := c.chunk()
		last.Usage = c.Usage
		all = append(all, last)
	}
	return all
}

func (c *completion) chunk(choices ...choice) *completion {
	if choices == nil {
		choices = []choice{}
	}
	return &completion{ID: c.ID, Object: "chat.completion.chunk", Created: c.Created, Model: c.Model, Choices: choices}
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

// parts cuts a text into parts of so many bytes, at characters.
func parts(text string, size int) []string {
	var all []string
	for len(text) > size {
		part := validPrefix(text, size)
		if part == "" {
			_, width := utf8.DecodeRuneInString(text)
			part = text[:width]
		}
		all = append(all, part)
		text = text[len(part):]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

func validPrefix(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
