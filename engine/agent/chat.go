package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/telemetry"
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
	reply, call, err := Ask(ctx, Asked{
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

// Asked is one call of a model, on behalf of an agent or a judge.
type Asked struct {
	Model   model.Model
	Name    string // in the suite
	Role    record.Role
	Hash    string // of the request
	Request *model.Request
	Timeout time.Duration  // of the call, as-if, without what it waits; 0: none
	Calls   map[string]int // of each model so far in the run; counted on where the call was made
}

// Ask makes a call and its record, which is nil where no call was made.
func Ask(ctx context.Context, a Asked) (*model.Reply, *record.Call, error) {
	ctx, span := telemetry.StartChat(ctx, a.Name, a.Role, a.Request)
	reply, call, err := a.ask(ctx)
	span.End(reply, call, err)
	return reply, call, err
}

func (a *Asked) ask(ctx context.Context) (*model.Reply, *record.Call, error) {
	calling, cancel := ctx, context.CancelFunc(func() {})
	if a.Timeout > 0 {
		calling, cancel = model.WithWorkingTime(ctx, a.Timeout, context.DeadlineExceeded)
	}
	defer cancel()
	reply, err := a.Model.Call(calling, a.Request)
	if errors.Is(err, model.ErrEnded) || errors.Is(err, model.ErrRefused) {
		return nil, nil, err
	}
	if a.Calls != nil {
		a.Calls[a.Name]++
	}
	call := &record.Call{Role: a.Role, Model: a.Name, Request: a.Hash}
	if err == nil {
		call.Usage, call.Reserved, call.Finish = reply.Usage, reply.Reserved, reply.Finish
		call.Answered = reply.Answered
		call.Duration, call.Waited = reply.Duration, reply.Waited
		call.Attempts, call.Unsent, call.Cached = reply.Attempts, reply.Unsent, reply.Cached
		err = a.late(call)
	} else {
		err = a.failed(ctx, calling, call, err)
	}
	return reply, call, err
}

// late turns a call that took longer than allowed into a timeout, also where
// its time only passed as-if.
func (a *Asked) late(call *record.Call) error {
	if a.Timeout <= 0 || call.Duration <= a.Timeout {
		return nil
	}
	call.Duration = a.Timeout
	call.Error = a.timedOut()
	return call.Error
}

func (a *Asked) timedOut() *record.Error {
	return &record.Error{Class: record.CallTimeout, Message: fmt.Sprintf("the call took longer than %v", a.Timeout)}
}

// reserved records what the run's own budget made of a call that failed.
func reserved(call *record.Call, err error) {
	var u *model.Unanswered
	if !errors.As(err, &u) {
		return
	}
	call.Reserved = &u.Reserved
	if u.Charged != call.Usage {
		call.Charged = &u.Charged
	}
}

// failed records a call that gave no reply. An error of no known class is one
// of agentbench, unless the context ended.
func (a *Asked) failed(ctx, calling context.Context, call *record.Call, err error) error {
	call.Duration, call.Usage = model.Failure(err)
	var told *model.CallError
	if errors.As(err, &told) {
		call.Waited, call.Attempts, call.Unsent = told.Waited, told.Attempts, told.Unsent
	}
	reserved(call, err)
	if a.Timeout > 0 && call.Duration > a.Timeout {
		call.Duration = a.Timeout
	}
	switch {
	case errors.As(err, &call.Error):
	case ctx.Err() != nil:
		return err
	case calling.Err() != nil:
		call.Duration, call.Error = a.Timeout, a.timedOut()
		return call.Error
	default:
		call.Error = &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return err
}
