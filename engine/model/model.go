// Package model decides what a model is to the rest of agentbench: something
// that answers one request with one reply. The providers are beneath it:
// openai, script, simulate; cache, retry, limit and gate wrap any of them.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// Model answers requests. Implementations are safe for concurrent use.
//
// An error is, to errors.As, a *record.Error where its class is known (often
// inside a *CallError, which knows more), or it is ErrEnded or the context's
// cause.
type Model interface {
	Call(ctx context.Context, request *Request) (*Reply, error)
}

// ErrEnded says that the agent behind a model has nothing more to give: the run
// ends before the iteration, and no call is counted.
var ErrEnded = errors.New("the agent has nothing more to give")

// ErrRefused says that a call was not made, for instance because a budget has
// no room for it.
var ErrRefused = errors.New("the call was not made")

// Request is everything that is sent, and for which draw.
type Request struct {
	Messages        []Message
	Tools           []Tool // that may be called natively; nil: none
	ToolChoice      string // auto, none, required or the name of a tool; "": the server's default
	Temperature     *float64
	TopP            *float64
	Seed            *int64
	MaxOutputTokens int  // 0: the server's default
	JSON            bool // the reply is to be one JSON value
	Draw            Draw
	// Idempotency is the same for all attempts of one call and of no other, so
	// that a server may know them; "": none is sent.
	Idempotency string
}

// Message is one message of a conversation.
type Message struct {
	Role string // system, user, assistant, tool
	Text string
	// ToolCalls are the calls of an assistant's message, where they are native.
	ToolCalls []ToolCall
	// ToolCallID says which call a tool's message answers.
	ToolCallID string
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
}

// ToolCall is a call that a model makes natively.
type ToolCall struct {
	ID        string // which a tool's message names
	Name      string
	Arguments string // as the model wrote them: JSON, if it did well
}

// Draw tells which of several equal requests this one is: equal requests of
// different tasks, trials or moments of a run are different draws.
type Draw struct {
	Task      string
	Trial     int // from 1
	Call      int // how many calls of this model the run made before
	Iteration int // from 1
	// Of is the task itself, target included, by the names of its fields. Only a
	// simulated model may read it: it stands in for a model that knows.
	Of expr.Fields
}

// Reply is a complete answer.
type Reply struct {
	Text     string
	Thinking string // what the model says of its reasoning
	// ToolCalls are the tools that the model calls natively, in its order.
	ToolCalls []ToolCall
	Answered  string // what the server says has answered, where it is not the model asked for
	Finish    string // the model's finish reason: stop, length, content_filter ...
	Usage     record.Usage
	Reserved  *record.Usage // under a hard budget
	Duration  time.Duration // as-if: of a simulated or cached call, what it stands for
	Waited    time.Duration // for rate limits, to try again, and for failed attempts; not part of Duration
	Attempts  int           // requests sent; 0 means 1
	Unsent    int           // of these attempts, those of which no byte reached a server
	Cached    bool
}
