package trace

import (
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
)

// The shapes of messages are those of the conventions' JSON schemas.

type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  *string         `json:"response,omitempty"`
}

type definition struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// sent tells the instructions apart from the conversation.
func (l *list) sent(request *model.Request) {
	var instructions []part
	var conversation []message
	for i := range request.Messages {
		m := &request.Messages[i]
		if m.Role == "system" {
			instructions = append(instructions, part{Type: "text", Content: m.Text})
			continue
		}
		conversation = append(conversation, messageOf(m))
	}
	if instructions != nil {
		l.set("gen_ai.system_instructions", jsonOf(instructions))
	}
	l.set("gen_ai.input.messages", jsonOf(conversation))
	if len(request.Tools) > 0 {
		l.set("gen_ai.tool.definitions", jsonOf(definitions(request.Tools)))
	}
}

func messageOf(m *model.Message) message {
	if m.ToolCallID != "" {
		return message{Role: m.Role, Parts: []part{{Type: "tool_call_response", ID: m.ToolCallID, Response: &m.Text}}}
	}
	return message{Role: m.Role, Parts: parts("", m.Text, m.ToolCalls)}
}

// answered is what the model said, as a list of one message.
func answered(reply *model.Reply) string {
	return jsonOf([]message{{Role: "assistant", Parts: parts(reply.Thinking, reply.Text, reply.ToolCalls), Finish: reply.Finish}})
}

func parts(thinking, text string, calls []model.ToolCall) []part {
	all := []part{}
	if thinking != "" {
		all = append(all, part{Type: "reasoning", Content: thinking})
	}
	if text != "" {
		all = append(all, part{Type: "text", Content: text})
	}
	for _, call := range calls {
		all = append(all, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: written(call.Arguments)})
	}
	return all
}

// written are arguments as JSON, or as the text that they are instead.
func written(arguments string) json.RawMessage {
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	return json.RawMessage(jsonOf(arguments))
}

func definitions(tools []model.Tool) []definition {
	all := make([]definition, len(tools))
	for i, t := range tools {
		all[i] = definition{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	return all
}

// jsonOf is "" for what is no JSON: parameters that a server made up.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
