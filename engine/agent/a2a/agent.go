package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

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

// unreported is the usage of a task: a call whose own calls nobody tells of.
var unreported = record.Usage{Calls: 1, Unreported: 1}

// Execute hands the prompt over and takes the answer as the output. A question
// ends the run: nobody is there to answer it.
func (a *Agent) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	said := words(turn)
	result := agent.Result{Request: a.Client.Hash(said)}
	talk := a.Client.talk(ctx)
	answer, call, err := a.Client.asked(ctx, said, talk.id())
	if call != nil {
		call.Role = record.RoleA2A
		result.Calls = []record.Call{*call}
	}
	if err != nil {
		return result, err
	}
	talk.goOn(answer.Context)
	result.SetReply(answer.reply(a.Spec.Reply), a.Spec.Reply)
	if answer.Asks() {
		result.Ended = &record.Ended{Reason: string(record.ReasonQuestionAsked), Output: result.Output}
		return result, nil
	}
	result.Ended, err = agent.FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what the agent would be told.
func (a *Agent) Sends(turn *agent.Turn) (hash string, err error) {
	return a.Client.Hash(words(turn)), nil
}

// words are what the agent is told: the prompt, or the task's input where the loop
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

// asked hands over a task and makes the record of it, which is nil where a budget
// had no room for it.
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
	call := &record.Call{Model: c.Name(), Request: c.Hash(text), Usage: unreported, Reserved: reserved, Duration: took}
	if err == nil && answer.Text == "" {
		err = failure(record.NoAnswer, "the remote agent's answer is empty")
	}
	errors.As(err, &call.Error)
	return answer, call, err
}

// reply is the text of an answer; where it is to be JSON and one part of it is
// data, that is.
func (a *Answer) reply(want spec.Reply) string {
	if want == spec.ReplyJSON && len(a.Data) == 1 {
		return string(a.Data[0])
	}
	return a.Text
}

// talk is the conversation of a run with an agent.
type talk struct {
	mu   sync.Mutex
	name string // as the agent calls it
}

// talkKey is the agent: clients of several phases speak to one.
type talkKey struct{ address string }

// talk is that of the context's run; outside of a run every task begins one.
func (c *Client) talk(ctx context.Context) *talk {
	run := tool.RunOf(ctx)
	if run == nil {
		return &talk{}
	}
	kept, _ := run.Keep(talkKey{c.options.Address}, func() (any, func(), error) { return &talk{}, nil, nil })
	return kept.(*talk)
}

func (t *talk) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.name
}

// goOn notes the conversation that an answer is of; one that does not say is of
// that before.
func (t *talk) goOn(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name = cmp.Or(name, t.name)
}
