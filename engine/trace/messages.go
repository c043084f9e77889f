package trace

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"

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

// sent adds the instructions, the conversation and the tools of a request.
func (l *list) sent(request *model.Request) {
	var instructions []part
	var conversation []message
	for i := range request.Messages {
		switch m := &request.Messages[i]; {
		case m.Role == "system":
			instructions = append(instructions, part{Type: "text", Content: m.Text})
		case m.ToolCallID != "":
			response := part{Type: "tool_call_response", ID: m.ToolCallID, Response: &m.Text}
			conversation = append(conversation, message{Role: m.Role, Parts: []part{response}})
		default:
			conversation = append(conversation, message{Role: m.Role, Parts: parts("", m.Text, m.ToolCalls)})
		}
	}
	if instructions != nil {
		l.json("gen_ai.system_instructions", instructions)
	}
	l.json("gen_ai.input.messages", conversation)
	if len(request.Tools) == 0 {
		return
	}
	tools := make([]definition, len(request.Tools))
	for i, t := range request.Tools {
		tools[i] = definition{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	l.json("gen_ai.tool.definitions", tools)
}

// answered adds the answer of a model.
func (l *list) answered(reply *model.Reply) {
	said := message{Role: "assistant", Parts: parts(reply.Thinking, reply.Text, reply.ToolCalls), Finish: reply.Finish}
	l.json("gen_ai.output.messages", []message{said})
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
		arguments := json.RawMessage(call.Arguments)
		if !json.Valid(arguments) {
			arguments, _ = json.Marshal(call.Arguments) // as the text that they are
		}
		all = append(all, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: arguments})
	}
	return all
}

// json adds a value as JSON. Parameters of a tool that are no JSON, which its server made up, leave it empty.
func (l *list) json(key string, value any) {
	text, _ := json.Marshal(value)
	l.add(attribute.String(key, string(text)))
}
