package tool

import (
	"encoding/json"
)

// handing is the schema of what a delegate is handed.
var handing = json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"What is to be done, with everything that is needed to do it."}},"required":["task"],"additionalProperties":false}`)

// Delegation is the definition of another agent that a task is handed to.
func Delegation(name, description string) Definition {
	return Definition{Name: name, Description: description, Parameters: handing, Delegate: true}
}

// Handed is the task that a use hands to a delegate.
func (u *Use) Handed() string {
	var arguments struct {
		Task string `json:"task"`
	}
	_ = json.Unmarshal(u.Arguments, &arguments) // they are valid against the schema
	return arguments.Task
}
