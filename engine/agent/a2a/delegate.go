package a2a

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec/expr"
)

// Delegate is a remote agent that another agent hands tasks to. Every task is a
// conversation of its own.
type Delegate struct {
	Client      *Client
	Name        string
	Description string
}

// Definition is what the other agent is told of it.
func (d *Delegate) Definition() tool.Definition { return tool.Delegation(d.Name, d.Description) }

// Use hands the task over. A question of the agent is its answer: who handed the
// task over can do so again with what was missing. What goes wrong with the agent
// is told as an error of the tool.
func (d *Delegate) Use(ctx context.Context, use *tool.Use) (tool.Result, error) {
	answer, call, err := d.Client.asked(ctx, use.Handed(), "")
	if call == nil {
		return tool.Result{}, err
	}
	call.Role, call.Delegate = record.RoleDelegate, d.Name
	result := tool.Result{Duration: call.Duration, Calls: []record.Call{*call}}
	var failed *record.Error
	if errors.As(err, &failed) {
		return result, failure(record.Tool, "%s", failed.Error())
	}
	if err == nil {
		result.Content = answer.content()
	}
	return result, err
}

// content is data where the answer is nothing else, and text otherwise.
func (a *Answer) content() json.RawMessage {
	if len(a.Data) == 1 && !a.Prose {
		return a.Data[0]
	}
	text, _ := expr.AppendJSON(nil, a.Text) // a string always is JSON
	return text
}
