package agent

import (
	"context"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
)

// Chat is an agent that sends a system prompt and a prompt to a model once an
// iteration. Every iteration is a new conversation.
type Chat struct {
	Model     model.Model
	ModelName string      // in the suite
	Spec      *spec.Agent // of the stage, overrides applied
}

// Execute makes one call.
func (c *Chat) Execute(ctx context.Context, turn *Turn) (Result, error) {
	request := c.request(turn)
	result := Result{Request: request.Hash(c.ModelName)}
	reply, call, err := trace.Ask(ctx, model.Asked{
		Model: c.Model, Name: c.ModelName, Role: record.RoleAgent, Hash: result.Request,
		Request: request, Timeout: c.Spec.Timeout, Calls: turn.Calls,
	})
	if call != nil {
		result.Calls = []record.Call{*call}
	}
	if err != nil {
		return result, err
	}
	result.Thinking = reply.Thinking
	if err := unusable(reply); err != nil {
		return result, err
	}
	result.reply(reply.Text, reply.Finish, c.Spec.Reply)
	result.Ended, err = FinalResponse(ctx, c.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of the request of a turn.
func (c *Chat) Sends(turn *Turn) (hash string, err error) {
	return c.request(turn).Hash(c.ModelName), nil
}

func (c *Chat) request(turn *Turn) *model.Request {
	request := &model.Request{
		Messages:        make([]model.Message, 0, 2),
		Temperature:     c.Spec.Temperature,
		TopP:            c.Spec.TopP,
		Seed:            c.Spec.Seed,
		MaxOutputTokens: c.Spec.MaxOutputTokens,
		JSON:            c.Spec.Reply == spec.ReplyJSON,
		Draw: model.Draw{
			Task: turn.Task.ID, Trial: turn.Trial, Call: turn.Calls[c.ModelName],
			Iteration: turn.Iteration, Of: spec.JudgedTask{Task: turn.Task},
		},
	}
	if turn.System != "" {
		request.Messages = append(request.Messages, model.Message{Role: "system", Text: turn.System})
	}
	request.Messages = append(request.Messages, model.Message{Role: "user", Text: turn.Prompt})
	return request
}
