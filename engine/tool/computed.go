// Package computed decides how an expression is a tool: what it gives for the
// arguments is the result.

package tool

import (
	"context"
	"encoding/json"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Tool is an expression. It takes no as-if time.
type Computed struct {
	Defined    Definition
	Expression *spec.Expr
}

// Definition is what was declared.
func (t *Computed) Definition() Definition { return t.Defined }

// Use evaluates the expression. What is wrong with it on these arguments is told
// to whoever called it.
func (t *Computed) Use(ctx context.Context, use *Use) (Result, error) {
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
		return Result{Content: Text(text)}, nil
	}
	written, err := expr.AppendJSON(nil, value)
	if err != nil {
		return failed(ctx, err)
	}
	if _, object := value.(*expr.Object); object {
		return Answer(written)
	}
	return Result{Content: written}, nil
}

func failed(ctx context.Context, err error) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return Result{}, &record.Error{Class: record.Tool, Message: err.Error()}
}

// scope is what the expression sees.
type scope struct {
	args any
	use  *Use
}

// Lookup has args, task and call.
func (s scope) Lookup(name string) (any, bool) {
	switch name {
	case "args":
		return s.args, true
	case "task":
		return spec.TaskFields{Task: s.use.Task}, true
	case "call":
		return int64(s.use.Number), true
	}
	return nil, false
}
