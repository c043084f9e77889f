// Package agent decides what executes one iteration of a loop: a model that is asked
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

// Sender is an agent that can tell what it would send without doing so: the hash
// that the result's Request would be.
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
	Elapsed   time.Duration  // as-if, since the start of the run
	Calls     map[string]int // calls of each model so far in the run; Execute counts on
	ToolCalls int            // calls of tools so far in the run
	// Earlier are the run's iterations so far: what a memory is made of. They are
	// only read.
	Earlier []record.Iteration
	// Servers are those whose tools the run knows already; an agent that asks
	// another one adds it to the Result. A replay has them of the record.
	Servers []record.ToolServer
	// Remaining is how many iterations the loop's limit leaves, this one included;
	// 0: it has none. An agent is told of it that makes one step in each.
	Remaining int
	// AfterStep is told of every whole step of a conversing agent: the result so
	// far, whose last step it is. Where it gives a reason, the agent makes no
	// further step and the result is Cut; nil: nobody wants to know.
	AfterStep func(sofar *Result) (cut record.Reason)
	// Late says that nothing more begins in an iteration that took so long, of which
	// so much was waited, because a timeout of the loop has passed. Nil: none has.
	Late func(took, waited time.Duration) bool
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
	Fault    string          // why a reply that was to be JSON is not; Output is then the text
	Thinking string
	// Calls and ToolCalls begin as long after the start of the iteration as their
	// Start says. Where Took is 0 the calls follow one another instead.
	Calls     []record.Call
	ToolCalls []record.ToolCall
	Took      time.Duration       // as-if
	Waited    time.Duration       // part of Took: for rate limits and the like
	Prompt    string              // what a conversing agent was given
	Steps     []record.Step       // of a conversing agent
	Servers   []record.ToolServer // that were asked for their tools in this iteration
	Cut       record.Reason       // why AfterStep ended it, "": it did not
	// Unanswered is the request to which whoever is behind a conversing agent had
	// nothing more to give.
	Unanswered *record.Next
	Ended      *record.Ended
	// Confidence is what a program said of its own output, nil if it did not.
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

// unusable says why a reply gives no output and calls nothing.
func unusable(reply *model.Reply) error {
	switch {
	case reply.Finish == "content_filter":
		return &record.Error{Class: record.ContentFilter, Message: "the server's content filter stopped the reply"}
	case len(reply.ToolCalls) > 0 || !blank(reply.Text):
		return nil
	case reply.Finish == "length":
		return &record.Error{Class: record.NoAnswer, Message: "the reply is empty: the model spent its output tokens before it answered"}
	}
	return &record.Error{Class: record.NoAnswer, Message: "the reply is empty"}
}

// reply makes a model's reply the output.
func (r *Result) reply(text, finish string, reply spec.Reply) {
	r.Fault = ""
	r.SetReply(text, reply)
	if r.Fault != "" && finish == "length" {
		r.Fault += " (it was cut at its limit of output tokens)"
	}
}

// give makes what a tool gave the output: a text is taken for a reply.
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

// SetReply makes the output of what an agent replied: a text, or its JSON value.
func (r *Result) SetReply(text string, reply spec.Reply) {
	if reply == spec.ReplyJSON {
		r.setJSON(text)
		return
	}
	r.setText(text)
}

// setText makes a text the output.
func (r *Result) setText(text string) {
	r.Value = text
	r.Output, _ = expr.AppendJSON(make([]byte, 0, len(text)+2), text) // a string always is JSON
}

// setJSON makes a reply's JSON value the output. Where it is not JSON the text
// is the output, and Fault says why.
func (r *Result) setJSON(text string) {
	inner := model.Unfence(text)
	value, err := expr.ParseJSON([]byte(inner))
	if err != nil {
		r.setText(text)
		r.Fault = "the reply is not JSON: " + err.Error()
		return
	}
	r.Value = value
	r.Output = encode(inner, value)
}

// encode keeps the JSON as it was written, which keeps numbers of any length,
// but for what is not UTF-8.
func encode(text string, value any) json.RawMessage {
	if utf8.ValidString(text) {
		return json.RawMessage(text)
	}
	encoded, err := expr.AppendJSON(nil, value)
	if err != nil {
		return nil
	}
	return encoded
}

// FinalResponse says whether the output is the structured final response that
// the agent declares, and so ends the run. An expression that fails on the
// output, for instance at a missing field, says no; a reply that is not the JSON
// that it was to be is never the final response.
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
