package dialect

import (
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
)

// What is sent of a tool that declares no parameters: servers want an object.
var (
	anyObject = json.RawMessage(`{"type":"object","properties":{}}`)
	aTask     = json.RawMessage(`{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}`)
)

// Tool is what is told of a tool. Where it declares no Parameters, servers are sent an empty object of them.
type Tool struct {
	model.Tool
	Server   string // of MCP; "" is a tool of the suite's own
	Delegate bool   // it is another agent, to which the argument `task` is handed
}

// Tools are what a request says of the tools; nil where the system prompt does.
func (d Dialect) Tools(defined []Tool) []model.Tool {
	if !d.native() || len(defined) == 0 {
		return nil
	}
	tools := make([]model.Tool, len(defined))
	for i := range defined {
		t := &defined[i]
		tools[i] = model.Tool{Name: t.Name, Description: t.Description, Parameters: parameters(t)}
	}
	return tools
}

func parameters(t *Tool) json.RawMessage {
	switch {
	case len(t.Parameters) > 0:
		return compact(t.Parameters)
	case t.Delegate:
		return aTask
	}
	return anyObject
}

func nativeCalls(written []model.ToolCall) []Call {
	var calls []Call
	for i := range written {
		w := &written[i]
		call := Call{ID: w.ID, Tool: w.Name}
		value, fault := wholeValue(w.Arguments)
		if fault != "" {
			call.Arguments, call.Fault = quoted(w.Arguments), "the arguments are "+fault
		} else {
			call.Arguments, call.Fault = arguments(value)
		}
		if call.Tool == "" && call.Fault == "" {
			call.Fault = "the call names no tool"
		}
		calls = append(calls, call)
	}
	return calls
}
