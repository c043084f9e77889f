package mockserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
)

// decodeMessages reads a request of Anthropic's Messages.
func decodeMessages(body []byte) (*turn, error) {
	t, err := decodePrompt(body)
	if err == nil && t.MaxOutputTokens < 1 {
		return nil, missing("max_tokens")
	}
	return t, err
}

// decodePrompt reads a request whose reply may have no limit: one that is to be counted.
func decodePrompt(body []byte) (*turn, error) {
	var asked struct {
		Model        string
		System       content
		Messages     []part
		Tools        []json.RawMessage
		MaxTokens    int `json:"max_tokens"`
		Stream       bool
		OutputConfig struct {
			Format struct{ Type string }
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, notJSON(err)
	}
	t := &turn{name: asked.Model, stream: asked.Stream}
	t.MaxOutputTokens, t.JSON = asked.MaxTokens, asked.OutputConfig.Format.Type == "json_schema"
	t.offer(asked.Tools)
	if asked.System != nil {
		t.say("system", asked.System.text())
	}
	for _, m := range asked.Messages {
		t.message(m.Role, m.Content)
	}
	return t, t.check("messages")
}

// message adds a message of Anthropic. The results of tools in it are messages of their own.
func (t *turn) message(role string, said content) {
	var calls []model.ToolCall
	results := 0
	for _, p := range said {
		switch p.Type {
		case "tool_use":
			calls = append(calls, model.ToolCall{Name: p.Name, Arguments: string(p.Input)})
		case "tool_result":
			t.say("tool", p.Content.text())
			results++
		}
	}
	if text := said.text(); text != "" || results == 0 {
		t.say(role, text, calls...)
	}
}

// block is a part of an answer: as it is, as a stream begins it, and the text that a stream adds in deltas.
type block struct {
	whole, begun object
	text         string
	delta, field string // the type of a delta, and its field with a piece of the text
	last         object // the last delta, or nil
}

func (a *answer) blocks() (all []block) {
	if a.Thinking != "" {
		signature := seal(a.Thinking)
		all = append(all, block{
			object{"type": "thinking", "thinking": a.Thinking, "signature": signature}, object{"type": "thinking", "thinking": "", "signature": ""},
			a.Thinking, "thinking_delta", "thinking", object{"type": "signature_delta", "signature": signature},
		})
	}
	if a.Text != "" || a.ToolCalls == nil && a.Finish != "content_filter" {
		all = append(all, block{object{"type": "text", "text": a.Text}, object{"type": "text", "text": ""}, a.Text, "text_delta", "text", nil})
	}
	for _, call := range a.ToolCalls {
		input := json.RawMessage(call.Arguments)
		if !json.Valid(input) {
			input, _ = json.Marshal(call.Arguments) // a text
		}
		whole := object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": input}
		all = append(all, block{whole, with(whole, object{"input": object{}}), call.Arguments, "input_json_delta", "partial_json", nil})
	}
	return all
}

// seal is the signature or encrypted content that a provider adds to thoughts and expects back.
func seal(thoughts string) string {
	sum := sha256.Sum256([]byte(thoughts))
	return base64.StdEncoding.EncodeToString(sum[:15])
}

// stopReasons are Anthropic's words for reasons to finish. Others are the same.
var stopReasons = map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}

func (a *answer) stopReason() string {
	if reason, known := stopReasons[a.Finish]; known {
		return reason
	}
	return a.Finish
}

// message is an answer with these blocks; a stream begins with none of them, and does not yet say why it ends.
func (a *answer) message(content []object, stopReason any, output int64) object {
	return object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.name, "content": content,
		"stop_reason": stopReason, "stop_sequence": nil, "usage": a.messageUsage(output),
	}
}

func (a *answer) messageUsage(output int64) object {
	return object{
		"input_tokens": a.Usage.InputTokens, "output_tokens": output, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
		"service_tier": "standard",
	}
}

// wholeMessage is a message.
func wholeMessage(a *answer) object {
	content := []object{}
	for _, b := range a.blocks() {
		content = append(content, b.whole)
	}
	return a.message(content, a.stopReason(), a.Usage.OutputTokens)
}

// streamMessage is a message in events: its begin, each block, and its end with the usage.
func streamMessage(a *answer, size int) (frames [][]byte) {
	send := func(name string, fields object) {
		fields["type"] = name
		frames = append(frames, frame(name, fields))
	}
	send("message_start", object{"message": a.message([]object{}, nil, min(1, a.Usage.OutputTokens))})
	for i, b := range a.blocks() {
		send("content_block_start", object{"index": i, "content_block": b.begun})
		if i == 0 {
			send("ping", object{})
		}
		for _, text := range chunks(b.text, size) {
			send("content_block_delta", object{"index": i, "delta": object{"type": b.delta, b.field: text}})
		}
		if b.last != nil {
			send("content_block_delta", object{"index": i, "delta": b.last})
		}
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"delta": object{"stop_reason": a.stopReason(), "stop_sequence": nil}, "usage": a.messageUsage(a.Usage.OutputTokens)})
	send("message_stop", object{})
	return frames
}
