// Package agent executes iterations: Agent.Execute makes one. An agent is a model that is asked
// once, or one that converses, with tools, delegates, a memory or a user; a program;
// an endpoint. Remote agents are beneath it, in a2a, and what a model reads and writes
// of tools in dialect.
//
// It is no stable API.
package agent

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Agent executes iterations. Implementations are safe for concurrent use.
//
// An error is a *record.Error, model.ErrEnded (the agent ends the run before
// the iteration), or the context's error. The Result may hold calls that were
// made before the error.
type Agent interface {
	Execute(ctx context.Context, turn *Turn) (Result, error)
}

// Sender is an agent that knows what it would send without doing so: the hash that the
// result's Request would be.
type Sender interface {
	Sends(turn *Turn) (hash string, err error)
}

// Turn is what an agent is given for one iteration.
type Turn struct {
	Task      *spec.Task
	Trial     int
	Iteration int // from 1
	Phase     string
	Strategy  string
	System    string
	Prompt    string
	Images    []model.Image  // of the task; they come with the prompt
	Elapsed   time.Duration  // virtual time since the start of the run
	Calls     map[string]int // calls of each model so far in the run; Execute counts on
	ToolCalls int            // calls of tools so far in the run
	// Earlier are the run's iterations so far: what a memory is made of. They are
	// only read.
	Earlier []record.Iteration
	// Servers are those whose tools the run knows already; an agent that asks
	// another one adds it to the Result. A replay has them of the record.
	Servers []record.ToolServer
	// Remaining is how many iterations the loop's limit leaves, this one included;
	// 0: it has none. Only an agent that makes one step in each knows it.
	Remaining int
	// AfterStep is called after every whole step of a conversing agent with the result
	// so far, whose last step it is. Where it gives a reason, the agent makes no
	// further step and the result is Cut; nil: never called.
	AfterStep func(sofar *Result) (cut record.Reason)
	// BeforeCall is called when a call of a program arrives, with the steps of the iteration that are whole by then, and their
	// tools. It gives the reason for which the call is not made, "": it is; nil: nothing looks at steps.
	BeforeCall func(steps []record.Step, tools []record.ToolCall) (refused record.Reason)
	// Late reports whether a timeout of the loop has passed in an iteration that took so
	// long, of which so much was waited, so that nothing more begins. Nil: none has.
	Late func(took, waited time.Duration) bool
	// Workspace is the folder of the run, in which a program works; nil: the loop has none.
	Workspace *Workspace
	// Scope has what expressions see. A program reads of it, as JSON: task
	// (without target), iteration, phase, strategy, feedback, previous, best.
	Scope expr.Scope
}

// Result is what an iteration gave.
type Result struct {
	Request  string          // hash of what was sent
	Output   json.RawMessage // JSON: a string for a text reply
	Bytes    []byte          // what was written as output, where it is not UTF-8
	Value    any             // the output as expressions see it
	Fault    string          // why a reply that should be JSON is not; Output is then the text
	Thinking string
	// Calls and ToolCalls begin as long after the start of the iteration as their
	// Start says. Where Took is 0 the calls follow one another instead.
	Calls     []record.Call
	ToolCalls []record.ToolCall
	Took      time.Duration       // virtual time
	Waited    time.Duration       // part of Took: for rate limits and the like
	Prompt    string              // what a conversing agent was given
	Steps     []record.Step       // of a conversing agent
	Servers   []record.ToolServer // that were asked for their tools in this iteration
	Cut       record.Reason       // why AfterStep ended it, "": it did not
	// Unanswered is the request of a conversing agent to which its model had nothing
	// more to give.
	Unanswered *record.Next
	Ended      *record.Ended
	// Workspace is the state in which a program left its folder; nil: it has none.
	Workspace *record.Workspace
	// Confidence is a program's in its own output, nil if it gave none.
	Confidence *float64
}

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
	request := turn.request(c.Spec, c.ModelName)
	request.JSON = c.Spec.Reply == spec.ReplyJSON
	if turn.System != "" {
		request.Messages = append(request.Messages, model.Message{Role: "system", Text: turn.System})
	}
	request.Messages = append(request.Messages, model.Message{Role: "user", Text: turn.Prompt, Images: turn.Images})
	return request
}

// request is one without messages, of the agent's next call of the model.
func (t *Turn) request(a *spec.Agent, modelName string) *model.Request {
	return &model.Request{
		Temperature: a.Temperature, TopP: a.TopP, Seed: a.Seed, MaxOutputTokens: a.MaxOutputTokens, Draw: t.draw(modelName),
	}
}

func (t *Turn) draw(modelName string) model.Draw {
	return model.Draw{
		Task: t.Task.ID, Trial: t.Trial, Call: t.Calls[modelName], Iteration: t.Iteration, Of: spec.JudgedTask{Task: t.Task},
	}
}

// unusable is why a reply gives no output and calls nothing, nil where it does.
func unusable(reply *model.Reply) error {
	switch {
	case reply.Finish == "content_filter":
		return record.Errorf(record.ContentFilter, "the server's content filter stopped the reply")
	case len(reply.ToolCalls) > 0 || !blank(reply.Text):
		return nil
	case reply.Finish == "length":
		return record.Errorf(record.NoAnswer, "the reply is empty: the model spent its output tokens before it answered")
	}
	return record.Errorf(record.NoAnswer, "the reply is empty")
}

func (r *Result) reply(text, finish string, reply spec.Reply) {
	r.Fault = ""
	r.SetReply(text, reply)
	if r.Fault != "" && finish == "length" {
		r.Fault += " (it was cut at its limit of output tokens)"
	}
}

// give makes what a tool gave the output; a text is read like a reply.
func (r *Result) give(content json.RawMessage, reply spec.Reply) {
	value, err := expr.ParseJSON(content)
	if text, ok := value.(string); ok && err == nil {
		r.reply(text, "", reply)
		return
	}
	if err == nil {
		r.Output, r.Value, r.Fault = content, value, ""
	}
}

// textOf is a text as it is, and any other JSON as it is written.
func textOf(content json.RawMessage) string {
	if value, err := expr.ParseJSON(content); err == nil {
		if text, ok := value.(string); ok {
			return text
		}
	}
	return string(content)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// SetReply makes the output of what an agent replied: a text, or its JSON value, as it
// was written, which keeps numbers of any length. Where the reply is to be JSON and is
// not, the text is the output and Fault is the reason.
func (r *Result) SetReply(text string, reply spec.Reply) {
	if reply == spec.ReplyJSON {
		inner := model.Unfence(text)
		value, err := expr.ParseJSON([]byte(inner))
		if err == nil {
			r.Value, r.Output = value, json.RawMessage(inner)
			if !utf8.ValidString(inner) {
				r.Output, _ = expr.AppendJSON(nil, value)
			}
			return
		}
		r.Fault = "the reply is not JSON: " + err.Error()
	}
	r.setText(text)
}

func (r *Result) setText(text string) {
	r.Value = text
	r.Output, _ = expr.AppendJSON(make([]byte, 0, len(text)+2), text) // a string always is JSON
}

// FinalResponse is how the run ends where the output is the structured final response
// that the agent declares; nil where it is not. Where the expression fails on the output,
// for instance at a missing field, or the reply is not the JSON that it was to be, it is not.
func FinalResponse(ctx context.Context, declared *spec.Agent, scope expr.Scope, result *Result) (*record.Ended, error) {
	if result.Ended != nil || declared == nil || declared.FinalResponse == nil || result.Fault != "" {
		return result.Ended, nil
	}
	final, err := declared.FinalResponse.Bool(ctx, withOutput{scope, result.Value})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || !final {
		return nil, nil
	}
	return &record.Ended{Reason: string(record.ReasonFinalResponse), Output: result.Output}, nil
}

// withOutput is a scope in which the iteration's output is already the last.
type withOutput struct {
	expr.Scope
	output any
}

func (s withOutput) Lookup(name string) (any, bool) {
	if name == "output" {
		return s.output, true
	}
	if s.Scope == nil {
		return nil, false
	}
	return s.Scope.Lookup(name)
}
