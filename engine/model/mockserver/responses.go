package mockserver

import (
	"encoding/json"
	"fmt"

	"github.com/agentbench/agentbench/engine/model"
)

// decodeResponses reads a request of OpenAI's Responses.
func decodeResponses(body []byte) (*turn, error) {
	var asked struct {
		Model           string
		Instructions    string
		Input           content
		Tools           []json.RawMessage
		MaxOutputTokens int `json:"max_output_tokens"`
		Stream          bool
		Text            struct {
			Format struct{ Type string }
		}
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, notJSON(err)
	}
	t := &turn{name: asked.Model, stream: asked.Stream}
	t.MaxOutputTokens = asked.MaxOutputTokens
	t.JSON = asked.Text.Format.Type != "" && asked.Text.Format.Type != "text"
	t.offer(asked.Tools)
	if asked.Instructions != "" {
		t.say("system", asked.Instructions)
	}
	for _, item := range asked.Input {
		switch item.Type {
		case "text": // the input is one
			t.say("user", item.Text)
		case "", "message":
			t.say(item.Role, item.Content.text())
		case "function_call":
			t.say("assistant", "", model.ToolCall{Name: item.Name, Arguments: item.Arguments})
		case "function_call_output":
			t.say("tool", item.Output.text())
		}
	}
	return t, t.check("input")
}

// item is a part of an answer: as it is, as a stream begins it, and the text that a stream tells in pieces.
type item struct {
	whole, begun object
	text         string
	event        string                   // of a piece, without its end
	field        string                   // of the event that has the whole text
	at           string                   // which part of the item the text is; "": it is not in a part
	partEvent    string                   // of a part
	part         func(text string) object // nil: the text is not in a part
}

func (a *answer) items() (all []item) {
	status := "completed"
	if a.Finish == "length" || a.Finish == "content_filter" {
		status = "incomplete"
	}
	if a.Thinking != "" {
		part := func(text string) object { return object{"type": "summary_text", "text": text} }
		whole := object{"id": "rs_" + a.id, "type": "reasoning", "encrypted_content": seal(a.Thinking), "summary": []object{part(a.Thinking)}}
		all = append(all, item{
			whole, with(whole, object{"summary": []object{}}), a.Thinking, "response.reasoning_summary_text", "text", "summary_index",
			"response.reasoning_summary_part", part,
		})
	}
	if a.Text != "" || a.ToolCalls == nil && a.Finish != "content_filter" {
		part := func(text string) object {
			return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
		}
		whole := object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": status, "content": []object{part(a.Text)}}
		all = append(all, item{
			whole, with(whole, object{"status": "in_progress", "content": []object{}}), a.Text, "response.output_text", "text", "content_index",
			"response.content_part", part,
		})
	}
	for i, call := range a.ToolCalls {
		whole := object{
			"id": fmt.Sprintf("fc_%s%d", a.id, i), "type": "function_call", "status": "completed", "call_id": call.ID, "name": call.Name, "arguments": call.Arguments,
		}
		all = append(all, item{
			whole: whole, begun: with(whole, object{"status": "in_progress", "arguments": ""}), text: call.Arguments,
			event: "response.function_call_arguments", field: "arguments",
		})
	}
	return all
}

// response is an answer that is in progress.
func (a *answer) response() object {
	return object{
		"id": "resp_" + a.id, "object": "response", "created_at": a.created.Unix(), "status": "in_progress", "model": a.name, "output": []object{},
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true, "temperature": 1,
		"tool_choice": "auto", "tools": []object{}, "top_p": 1, "usage": nil,
	}
}

// wholeResponse is a response.
func wholeResponse(a *answer) object {
	u := &a.Usage
	output := []object{}
	for _, it := range a.items() {
		output = append(output, it.whole)
	}
	r := with(a.response(), object{"status": "completed", "output": output, "usage": object{
		"input_tokens": u.InputTokens, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": u.OutputTokens,
		"output_tokens_details": object{"reasoning_tokens": u.ReasoningTokens}, "total_tokens": u.InputTokens + u.OutputTokens,
	}})
	switch a.Finish {
	case "length":
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	case "content_filter":
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	}
	return r
}

// streamResponse is a response in events: its begin, each item, and the whole response.
func streamResponse(a *answer, size int) (frames [][]byte) {
	send := func(name string, fields, more object) {
		numbered := object{"type": name, "sequence_number": len(frames)}
		frames = append(frames, frame(name, with(with(numbered, fields), more)))
	}
	send("response.created", object{"response": a.response()}, nil)
	send("response.in_progress", object{"response": a.response()}, nil)
	for i, it := range a.items() {
		item, place := object{"output_index": i}, object{"output_index": i, "item_id": it.whole["id"]}
		send("response.output_item.added", item, object{"item": it.begun})
		if it.part != nil {
			place[it.at] = 0
			send(it.partEvent+".added", place, object{"part": it.part("")})
		}
		for _, text := range chunks(it.text, size) {
			send(it.event+".delta", place, object{"delta": text})
		}
		send(it.event+".done", place, object{it.field: it.text})
		if it.part != nil {
			send(it.partEvent+".done", place, object{"part": it.part(it.text)})
		}
		send("response.output_item.done", item, object{"item": it.whole})
	}
	end := wholeResponse(a)
	send(fmt.Sprintf("response.%s", end["status"]), object{"response": end}, nil)
	return frames
}
