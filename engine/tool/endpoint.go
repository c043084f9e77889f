// Package endpoint decides how an HTTP endpoint is a tool: the arguments are
// posted as JSON, what is answered is the result.

package tool

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
)

// Tool is an endpoint.
type Endpoint struct {
	Defined  Definition
	Endpoint external.Endpoint
}

// Definition is what was declared.
func (t *Endpoint) Definition() Definition { return t.Defined }

// Use posts the arguments once.
func (t *Endpoint) Use(ctx context.Context, use *Use) (Result, error) {
	body := use.Arguments
	if len(body) == 0 {
		body = []byte("{}")
	}
	answer, err := t.Endpoint.Post(ctx, body)
	if err == nil {
		result, wrong := Answer(answer.Body)
		result.Duration = answer.Duration
		return result, wrong
	}
	if why, ok := errors.AsType[*record.Error](err); ok {
		err = &record.Error{Class: record.Tool, Message: why.Message}
	}
	return Result{Duration: answer.Duration}, err
}
