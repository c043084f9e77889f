package mockserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
)

// turn is one request, in whichever protocol it came.
type turn struct {
	model.Request        // the conversation, the tools and the limit of the reply
	name          string // of the model
	stream        bool
	usage         bool              // the stream ends with the usage, where the protocol leaves the choice
	sum           [sha256.Size]byte // of the body
	id            string            // of the answer
}

// say adds a message. What the assistant says until another speaks is one message.
func (t *turn) say(role, text string, calls ...model.ToolCall) {
	if last := len(t.Messages) - 1; role == "assistant" && last >= 0 && t.Messages[last].Role == role {
		t.Messages[last].Text += text
		t.Messages[last].ToolCalls = append(t.Messages[last].ToolCalls, calls...)
		return
	}
	t.Messages = append(t.Messages, model.Message{Role: role, Text: text, ToolCalls: calls})
}

func (t *turn) offer(tools []json.RawMessage) {
	for _, tool := range tools {
		t.Tools = append(t.Tools, model.Tool{Parameters: tool})
	}
}

// lastUser is the last message of the user.
func (t *turn) lastUser() string {
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if t.Messages[i].Role == "user" {
			return t.Messages[i].Text
		}
	}
	return ""
}

// inputTokens estimates the tokens of the request, at least 1.
func (t *turn) inputTokens() int64 { return max(1, t.InputTokens()) }

// answer is a reply to a turn, as it goes over the wire.
type answer struct {
	*turn
	*model.Reply
	created time.Time
}

// answer completes a reply: one that is longer than the request allows is cut, as a model's is; calls of tools have
// identities, and tokens that the model does not declare are estimated.
func (t *turn) answer(reply *model.Reply, now time.Time) *answer {
	if most := 4 * t.MaxOutputTokens; most > 0 && len(reply.Text) > most {
		reply.Text, reply.Finish = prefix(reply.Text, most), "length"
	}
	written := len(reply.Text) + len(reply.Thinking)
	for i := range reply.ToolCalls {
		call := &reply.ToolCalls[i]
		call.ID = cmp.Or(call.ID, fmt.Sprintf("call_%.16s%d", t.id, i))
		written += len(call.Name) + len(call.Arguments)
	}
	u := &reply.Usage
	if u.Estimated > 0 {
		u.InputTokens, u.OutputTokens = t.inputTokens(), model.EstimateTokens(written)
	}
	u.ReasoningTokens = model.EstimateTokens(len(reply.Thinking))
	u.OutputTokens = max(u.OutputTokens, u.ReasoningTokens)
	return &answer{t, reply, now}
}

// protocol is one API.
type protocol struct {
	name   model.Protocol
	path   string
	list   string // the field of an answer that holds a list of what is said
	decode func(body []byte) (*turn, error)
	whole  func(a *answer) object
	stream func(a *answer, chunk int) [][]byte // the frames; a text has so many bytes in each
}

var protocols = map[model.Protocol]*protocol{
	model.Chat:      {model.Chat, "/chat/completions", "choices", decodeChat, wholeChat, streamChat},
	model.Responses: {model.Responses, "/responses", "output", decodeResponses, wholeResponse, streamResponse},
	model.Messages:  {model.Messages, "/messages", "content", decodeMessages, wholeMessage, streamMessage},
}

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// encode writes an answer as it was asked for: in one frame, or in those of a stream.
func (p *protocol) encode(a *answer, chunk int) (contentType string, frames [][]byte) {
	if a.stream {
		return typeStream, p.stream(a, chunk)
	}
	text, _ := json.Marshal(p.whole(a)) // plain data
	return typeJSON, [][]byte{append(text, '\n')}
}

// object is an object of JSON.
type object map[string]any

// with is an object with other fields besides or instead.
func with(o, fields object) object {
	o = maps.Clone(o)
	maps.Copy(o, fields)
	return o
}

// frame is an event of a stream; name "": it has none.
func frame(name string, value any) []byte {
	text, _ := json.Marshal(value) // plain data
	if name == "" {
		return fmt.Appendf(nil, "data: %s\n\n", text)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text)
}

// chunks cuts a text into parts of so many bytes, at characters.
func chunks(text string, size int) (all []string) {
	for len(text) > size {
		part := prefix(text, size)
		if part == "" {
			_, width := utf8.DecodeRuneInString(text)
			part = text[:width]
		}
		all, text = append(all, part), text[len(part):]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

// prefix is the begin of a text, so many bytes at most, which ends at a character.
func prefix(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// part is a piece of a conversation in any of the protocols: of a message, or an item beside messages.
type part struct {
	Type      string
	Role      string
	Text      string
	Content   content
	Name      string
	Arguments string          // of a function_call
	Input     json.RawMessage // of a tool_use
	Output    content         // of a function_call_output
}

// content is a list of parts. A text is one part of the type text.
type content []part

// UnmarshalJSON takes a text, a list of parts, or null.
func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return json.Unmarshal(raw, (*[]part)(c))
	}
	*c = content{{Type: "text"}}
	return json.Unmarshal(raw, &(*c)[0].Text)
}

func (c content) text() string {
	var b strings.Builder
	for i := range c {
		b.WriteString(c[i].Text)
	}
	return b.String()
}

// check is the error of a request that lacks what its protocol requires.
func (t *turn) check(messages string) error {
	switch {
	case t.name == "":
		return missing("model")
	case len(t.Messages) == 0:
		return missing(messages)
	}
	return nil
}

func missing(field string) error { return fmt.Errorf("%s: field required", field) }

func notJSON(err error) error { return fmt.Errorf("the request body is not valid JSON: %w", err) }

// problem is an error that is answered with a status.
type problem struct {
	status  int
	code    string // what clients may go by; "": that of the status
	message string // "": the text of the status
}

func (p *problem) Error() string { return p.message }

// problemOf is how an error is answered: with status 400, unless it has one of its own.
func problemOf(err error) *problem {
	if failed, ok := errors.AsType[*problem](err); ok {
		return failed
	}
	return &problem{status: http.StatusBadRequest, message: err.Error()}
}

// The words that vendors have for a status. What is not listed is an invalid request below 500, and the server's fault above.
var (
	codesOfOpenAI = map[int]string{401: "invalid_api_key", 402: "insufficient_quota", 404: "model_not_found", 429: "rate_limit_exceeded"}

	typesOfAnthropic = map[int]string{
		401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}
)

// errorBody is the error that the vendor of a protocol answers with.
func errorBody(p model.Protocol, r *problem, id string) object {
	message := cmp.Or(r.message, http.StatusText(r.status), "Overloaded") // 529 is Anthropic's own
	kind, ofServer := "invalid_request_error", "server_error"
	if p == model.Messages {
		ofServer = "api_error"
	}
	switch {
	case r.status >= 500:
		kind = ofServer
	case r.status == http.StatusTooManyRequests:
		kind = "requests"
	}
	if p == model.Messages {
		failed := object{"type": "error", "error": object{"type": cmp.Or(r.code, typesOfAnthropic[r.status], kind), "message": message}}
		if id != "" {
			failed["request_id"] = "req_" + id
		}
		return failed
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": nullable(cmp.Or(r.code, codesOfOpenAI[r.status]))}}
}

// nullable is null for no text.
func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}
