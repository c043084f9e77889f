package openai

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
)

// offered is a tool that the model may call.
type offered struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolCall is a call that the model made.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// noParameters is the schema of a tool that declares none: there are servers that
// refuse a tool without one.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func offers(tools []model.Tool) []offered {
	all := make([]offered, len(tools))
	for i := range tools {
		o := &all[i]
		o.Type, o.Function.Name, o.Function.Description = "function", tools[i].Name, tools[i].Description
		if o.Function.Parameters = tools[i].Parameters; len(o.Function.Parameters) == 0 {
			o.Function.Parameters = noParameters
		}
	}
	return all
}

// choiceOf is a word of the API, or the tool of that name; nil where nothing is
// said.
func choiceOf(choice string) any {
	switch choice {
	case "":
		return nil
	case "auto", "none", "required":
		return choice
	}
	return openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: choice}}
}

// messageOf keeps the content of every message, also an empty one, unless an
// assistant has only called tools.
func messageOf(said *model.Message) message {
	m := message{Role: said.Role, Text: &said.Text, ToolCallID: said.ToolCallID}
	for _, call := range said.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: call.ID, Type: "function", Function: functionCall{call.Name, call.Arguments}})
	}
	if said.Text == "" && m.ToolCalls != nil {
		m.Text = nil
	}
	return m
}

// callsOf are the calls of an answer, with IDs.
func callsOf(said []toolCall) []model.ToolCall {
	if len(said) == 0 {
		return nil
	}
	calls := make([]model.ToolCall, len(said))
	for i := range said {
		calls[i] = model.ToolCall{ID: said[i].ID, Name: said[i].Function.Name, Arguments: said[i].Function.Arguments}
	}
	model.Identify(calls)
	return calls
}
