package mockserver

import (
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
)

// decodeChat reads a request of OpenAI's chat completions.
func decodeChat(body []byte) (*turn, error) {
	var asked struct {
		Model    string
		Messages []struct {
			Role      string
			Content   content
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools               []json.RawMessage
		MaxTokens           int `json:"max_tokens"`
		MaxCompletionTokens int `json:"max_completion_tokens"`
		Stream              bool
		StreamOptions       struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		ResponseFormat struct{ Type string } `json:"response_format"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, notJSON(err)
	}
	t := &turn{name: asked.Model, stream: asked.Stream, usage: asked.StreamOptions.IncludeUsage}
	t.MaxOutputTokens = max(asked.MaxTokens, asked.MaxCompletionTokens)
	t.JSON = asked.ResponseFormat.Type != "" && asked.ResponseFormat.Type != "text"
	t.offer(asked.Tools)
	for _, m := range asked.Messages {
		var calls []model.ToolCall
		for _, call := range m.ToolCalls {
			calls = append(calls, model.ToolCall{Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		t.say(m.Role, m.Content.text(), calls...)
	}
	return t, t.check("messages")
}

// completion is an answer, or a chunk of one.
func (a *answer) completion(kind string, choices ...object) object {
	if choices == nil {
		choices = []object{}
	}
	return object{"id": "chatcmpl-" + a.id, "object": kind, "created": a.created.Unix(), "model": a.name, "choices": choices}
}

func (a *answer) chatUsage() object {
	u := &a.Usage
	return object{"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "total_tokens": u.InputTokens + u.OutputTokens}
}

// wholeChat is a chat completion.
func wholeChat(a *answer) object {
	message := object{"role": "assistant", "content": a.Text, "refusal": nil}
	if a.Text == "" && a.ToolCalls != nil {
		message["content"] = nil
	}
	if a.Thinking != "" {
		message["reasoning_content"] = a.Thinking
	}
	var calls []object
	for _, call := range a.ToolCalls {
		calls = append(calls, chatCall(call, call.Arguments))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	c := a.completion("chat.completion", object{"index": 0, "message": message, "logprobs": nil, "finish_reason": a.Finish})
	c["usage"] = a.chatUsage()
	return c
}

func chatCall(call model.ToolCall, arguments string) object {
	return object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": arguments}}
}

// streamChat is a chat completion in chunks: who speaks, thoughts, text, calls of tools, why it ends, and the usage if it
// was asked for.
func streamChat(a *answer, size int) (frames [][]byte) {
	send := func(delta object, finish any) {
		choice := object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}
		frames = append(frames, frame("", a.completion("chat.completion.chunk", choice)))
	}
	first := object{"role": "assistant", "content": ""}
	if a.Text == "" && a.ToolCalls != nil {
		first["content"] = nil
	}
	send(first, nil)
	for _, text := range chunks(a.Thinking, size) {
		send(object{"reasoning_content": text}, nil)
	}
	for _, text := range chunks(a.Text, size) {
		send(object{"content": text}, nil)
	}
	for i, call := range a.ToolCalls {
		begun := chatCall(call, "")
		begun["index"] = i
		send(object{"tool_calls": []object{begun}}, nil)
		for _, text := range chunks(call.Arguments, size) {
			send(object{"tool_calls": []object{{"index": i, "function": object{"arguments": text}}}}, nil)
		}
	}
	send(object{}, a.Finish)
	if a.usage {
		last := a.completion("chat.completion.chunk")
		last["usage"] = a.chatUsage()
		frames = append(frames, frame("", last))
	}
	return append(frames, []byte("data: [DONE]\n\n"))
}
