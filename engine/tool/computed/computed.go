// Package computed decides how an expression is a tool: what it gives for the
// arguments is the result.
package computed

import (
	"context"
	"encoding/json"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Tool is an expression. It takes no as-if time.
type Tool struct {
	Defined    tool.Definition
	Expression *spec.Expr
}

// Definition is what was declared.
func (t *Tool) Definition() tool.Definition { return t.Defined }

// Use evaluates the expression. What is wrong with it on these arguments is told
// to whoever called it.
func (t *Tool) Use(ctx context.Context, use *tool.Use) (tool.Result, error) {
	arguments := use.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	given, err := expr.ParseJSON(arguments)
	if err != nil {
		return failed(ctx, err)
	}
	value, err := t.Expression.Value(ctx, scope{given, use})
	if err != nil {
		return failed(ctx, err)
	}
	if text, ok := value.(string); ok {
		return tool.Result{Content: tool.Text(text)}, nil
	}
	written, err := expr.AppendJSON(nil, value)
	if err != nil {
		return failed(ctx, err)
	}
	if _, object := value.(*expr.Object); object {
		return tool.Answer(written)
	}
	return tool.Result{Content: written}, nil
}

func failed(ctx context.Context, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	return tool.Result{}, &record.Error{Class: record.Tool, Message: err.Error()}
}

// scope is what the expression sees.
type scope struct {
	args any
	use  *tool.Use
}

// Lookup has args, task and call.
func (s scope) Lookup(name string) (any, bool) {
	switch name {
	case "args":
		return s.args, true
	case "task":
		return stop.TaskFields{Task: s.use.Task}, true
	case "call":
		return int64(s.use.Number), true
	}
	return nil, false
}
