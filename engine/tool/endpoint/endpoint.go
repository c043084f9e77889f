// Package endpoint decides how an HTTP endpoint is a tool: the arguments are
// posted as JSON, what is answered is the result.
package endpoint

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/post"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// Tool is an endpoint.
type Tool struct {
	Defined  tool.Definition
	Endpoint post.Endpoint
}

// Definition is what was declared.
func (t *Tool) Definition() tool.Definition { return t.Defined }

// Use posts the arguments once.
func (t *Tool) Use(ctx context.Context, use *tool.Use) (tool.Result, error) {
	body := use.Arguments
	if len(body) == 0 {
		body = []byte("{}")
	}
	answer, err := t.Endpoint.Post(ctx, body)
	if err == nil {
		result, wrong := tool.Answer(answer.Body)
		result.Duration = answer.Duration
		return result, wrong
	}
	if why, ok := errors.AsType[*record.Error](err); ok {
		err = &record.Error{Class: record.Tool, Message: why.Message}
	}
	return tool.Result{Duration: answer.Duration}, err
}
