package mockserver

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// taskHeader names the task of a request to a model of a suite: a script with replies for each task finds them by it, and a
// simulated model is as good as it is at that task. Without it the task is the conversation's first message.
const taskHeader = "X-Agentbench-Task"

// askOffline lets a model of a suite reply. Which reply of a script it is follows from the request alone: the first to a
// conversation without an assistant's message, the next after one of these.
func (x *exchange) askOffline(m model.Model, header http.Header) (refused *problem) {
	asked := x.request.neutral()
	asked.Draw = model.Draw{Task: header.Get(taskHeader), Trial: 1, Iteration: 1}
	for i := range x.request.turns {
		switch t := &x.request.turns[i]; t.role {
		case "assistant":
			asked.Draw.Call++
			asked.Draw.Iteration++
		case "user":
			asked.Draw.Task = cmp.Or(asked.Draw.Task, t.text)
		}
	}
	reply, err := m.Call(x.ctx, asked)
	if err != nil {
		status := "400"
		if failed, ok := errors.AsType[*model.CallError](err); ok && failed.Cause.Class == record.Server {
			status = "500"
		}
		refused = x.protocol.problem(status)
		refused.message = err.Error()
		return refused
	}
	x.offline = offlineReplyOf(reply)
	return nil
}

// neutral is the request as a model is asked that calls no server.
func (r *request) neutral() *model.Request {
	asked := &model.Request{MaxOutputTokens: r.maxOutput, JSON: r.json}
	for i := range r.turns {
		asked.Messages = append(asked.Messages, model.Message{Role: r.turns[i].role, Text: r.turns[i].text})
	}
	return asked
}

// offlineReply is what a model of a suite said, and what it used.
type offlineReply struct {
	Reply
	used record.Usage
}

func offlineReplyOf(reply *model.Reply) *offlineReply {
	made := Reply{Text: reply.Text, Thinking: reply.Thinking, Finish: reply.Finish}
	for _, call := range reply.ToolCalls {
		made.Tools = append(made.Tools, Tool{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return &offlineReply{made, reply.Usage}
}

// have makes the input so many tokens, of which a cache has the share that it had.
func (u *usage) have(input int64) {
	for _, part := range []*int64{&u.cached, &u.written, &u.written1h} {
		if u.input > 0 {
			*part = *part * input / u.input
		}
	}
	u.input = input
}

// answer is the reply with the tokens that the suite declares, if it does.
func (o *offlineReply) answer(s *Server, r *request) *answer {
	a := s.complete(r, o.Reply)
	if o.used.Estimated == 0 {
		a.usage.have(o.used.InputTokens)
		a.usage.output = max(o.used.OutputTokens, a.usage.thinking)
	}
	return a
}
