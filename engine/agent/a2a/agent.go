package a2a

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// Agent is a remote agent that executes iterations. Those of one run are one
// conversation with it, as long as the agent knows conversations.
type Agent struct {
	Client *Client
	Spec   *spec.Agent // of the stage, overrides applied
}

// Execute sends the prompt and takes the answer as the output. A question
// ends the run: no user is there to answer it.
func (a *Agent) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	said := words(turn)
	result := agent.Result{Request: a.Client.Hash(said)}
	conversation := a.Client.conversation(ctx)
	answer, call, err := a.Client.asked(ctx, said, *conversation.Load())
	if call != nil {
		call.Role = record.RoleA2A
		result.Calls = []record.Call{*call}
	}
	if err != nil {
		return result, err
	}
	if answer.Context != "" { // without it, the answer is of the conversation before
		conversation.Store(&answer.Context)
	}
	result.SetReply(answer.reply(a.Spec.Reply), a.Spec.Reply)
	if answer.Asks() {
		result.Ended = &record.Ended{Reason: string(record.ReasonQuestionAsked), Output: result.Output}
		return result, nil
	}
	result.Ended, err = agent.FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what the agent would be sent.
func (a *Agent) Sends(turn *agent.Turn) (hash string, err error) {
	return a.Client.Hash(words(turn)), nil
}

// words are what the agent is sent: the prompt, or the task's input where the loop
// has none.
func words(turn *agent.Turn) string {
	if turn.Prompt != "" {
		return turn.Prompt
	}
	if text, ok := turn.Task.Input.(string); ok {
		return text
	}
	return fmt.Sprint(turn.Task.Input)
}

// asked sends a task and makes the record of the call, which is nil where a budget
// had no room for it. How many calls the agent makes itself is unknown.
func (c *Client) asked(ctx context.Context, text, conversation string) (Answer, *record.Call, error) {
	settle, reserved, err := pace.BudgetCall(ctx, c.options.Budget)
	if err != nil {
		return Answer{}, nil, err
	}
	unsent := false
	defer func() { settle(unsent) }()
	watched, sending := external.Watch(ctx)
	answer, took, err := c.Send(watched, text, conversation)
	unsent = err != nil && !sending.Began()
	call := &record.Call{
		Model: c.address.Host, Request: c.Hash(text), Usage: record.Usage{Calls: 1, Unreported: 1}, Reserved: reserved, Duration: took,
	}
	if err == nil && answer.Text == "" {
		err = record.Errorf(record.NoAnswer, "the remote agent's answer is empty")
	}
	errors.As(err, &call.Error)
	return answer, call, err
}

// conversationKey is the agent: clients of several phases speak to one.
type conversationKey struct{ address string }

// conversation is the name that the agent gave its conversation with the context's run;
// outside of a run every task begins a new one.
func (c *Client) conversation(ctx context.Context) *atomic.Pointer[string] {
	kept, _ := tool.RunOf(ctx).Keep(conversationKey{c.options.Address}, func() (any, func(), error) {
		name := new(atomic.Pointer[string])
		name.Store(new(string))
		return name, nil, nil
	})
	return kept.(*atomic.Pointer[string])
}

// Delegate is a remote agent as a tool, to which another agent hands tasks. Every task is a
// conversation of its own. A question is an answer: the other agent can hand the task
// over again with what was missing. A failure of the remote agent is an error of the tool.
func (c *Client) Delegate(name, description string) tool.Tool {
	return tool.Tool{Definition: tool.Delegation(name, description), Use: func(ctx context.Context, use *tool.Use) (tool.Result, error) {
		answer, call, err := c.asked(ctx, use.Handed(), "")
		if call == nil {
			return tool.Result{}, err
		}
		call.Role, call.Delegate = record.RoleDelegate, name
		result := tool.Result{Duration: call.Duration, Calls: []record.Call{*call}}
		var failed *record.Error
		if errors.As(err, &failed) {
			return result, record.Errorf(record.Tool, "%v", failed)
		}
		if err == nil {
			result.Content = answer.content()
		}
		return result, err
	}}
}
