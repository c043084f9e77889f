package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// stopWord ends a conversation where `until` is not declared.
const stopWord = "###STOP###"

// Answer is a user's turn.
type Answer struct {
	Text string // "" where the user has nothing more to say
	Over bool   // the conversation is over
	// Unanswered is the hash of the request to which a model that plays the user had
	// nothing more to give.
	Unanswered string
	Call       *record.Call
}

// Heard is a conversation as its user hears it: without tools.
type Heard struct {
	Turn  *Turn
	Lines []Line
	Turns int // of the user in this iteration, after the prompt
	All   int // of the user in the conversation, which memory carries over iterations
}

// Line is what one side said.
type Line struct {
	User bool // who also says the prompts
	Text string
}

// User answers a conversing agent where it calls no tool, as the loop declares. It is safe for
// concurrent use.
type User struct {
	Spec  *spec.User
	Model model.Model // of Spec.Model; nil without one
}

// Answer gives the user's next turn. Its call, where there is one, is given with an
// error as well.
func (u *User) Answer(ctx context.Context, heard *Heard) (Answer, error) {
	if u.silent(heard) {
		return Answer{Over: true}, nil
	}
	if u.Spec.Model == "" {
		return u.read(ctx, heard)
	}
	request, err := u.request(ctx, heard)
	if err != nil {
		return Answer{}, err
	}
	reply, call, err := trace.Ask(ctx, model.Asked{
		Model: u.Model, Name: u.Spec.Model, Role: record.RoleUser, Hash: request.Hash(u.Spec.Model),
		Request: request, Calls: heard.Turn.Calls,
	})
	switch {
	case errors.Is(err, model.ErrEnded):
		return Answer{Over: true, Unanswered: request.Hash(u.Spec.Model)}, nil
	case err != nil:
		return Answer{Call: call}, err
	}
	return u.turn(ctx, heard, Answer{Text: strings.TrimSpace(reply.Text), Call: call})
}

// Again gives the turn again that a record has, without a call. Why it would be
// another one, "": it would not.
func (u *User) Again(ctx context.Context, heard *Heard, recorded Answer) (a Answer, why string, err error) {
	if u.silent(heard) {
		if recorded.Text != "" {
			why = "the user would say nothing more"
		}
		return Answer{Over: true}, why, nil
	}
	if u.Spec.Model == "" {
		a, err = u.read(ctx, heard)
		if err == nil && a.Text != recorded.Text {
			why = "the user would say something else"
		}
		return a, why, err
	}
	request, err := u.request(ctx, heard)
	switch {
	case err != nil:
		return a, "", err
	case recorded.Unanswered == request.Hash(u.Spec.Model):
		return Answer{Over: true}, "", nil
	case recorded.Unanswered != "":
		return a, askedOther, nil
	case recorded.Call == nil:
		return a, "the user would be asked for an answer", nil
	case request.Hash(u.Spec.Model) != recorded.Call.Request:
		return a, askedOther, nil
	}
	a, err = u.turn(ctx, heard, recorded)
	return a, "", err
}

const askedOther = "the user would be asked something else"

// silent reports whether the user has had all turns of an iteration.
func (u *User) silent(heard *Heard) bool {
	return u.Spec.MaxTurns > 0 && heard.Turns >= u.Spec.MaxTurns
}

// read is the next turn of the script, if there is one.
func (u *User) read(ctx context.Context, heard *Heard) (Answer, error) {
	turns, err := u.Spec.Script.List(ctx, heard.Turn.Scope)
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case err != nil:
		return Answer{}, record.Errorf(record.Expression, "the user's script: %v", err)
	case heard.All >= len(turns):
		return Answer{Over: true}, nil
	}
	text, ok := turns[heard.All].(string)
	if !ok {
		return Answer{}, record.Errorf(record.Expression, "the user's script: turn %d is not a text", heard.All+1)
	}
	return u.turn(ctx, heard, Answer{Text: text})
}

// turn finds out whether the conversation is over with an answer.
func (u *User) turn(ctx context.Context, heard *Heard, a Answer) (Answer, error) {
	if u.Spec.Until == nil {
		a.Over = strings.Contains(a.Text, stopWord)
		return a, nil
	}
	over, err := u.Spec.Until.Bool(ctx, scope{heard.Turn.Scope, a.Text, int64(heard.Turns + 1)})
	switch {
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	case err != nil:
		return a, record.Errorf(record.Expression, "the user's until: %v", err)
	}
	a.Over = over
	return a, nil
}

// scope adds the user's turn to what expressions see.
type scope struct {
	expr.Scope
	message string
	turn    int64
}

// Lookup gives expressions their variables.
func (s scope) Lookup(name string) (any, bool) {
	switch name {
	case "message":
		return s.message, true
	case "turn":
		return s.turn, true
	}
	return s.Scope.Lookup(name)
}

// request shows the conversation from the user's side: the agent's texts are those of a
// user to the model that plays the user.
func (u *User) request(ctx context.Context, heard *Heard) (*model.Request, error) {
	turn := heard.Turn
	request := &model.Request{Messages: make([]model.Message, 0, 1+len(heard.Lines)), Draw: turn.draw(u.Spec.Model)}
	if u.Spec.System != nil {
		text, err := u.Spec.System.Render(ctx, turn.Scope)
		if err != nil {
			return nil, record.Errorf(record.Expression, "rendering the user's system prompt: %v", err)
		}
		request.Messages = append(request.Messages, model.Message{Role: "system", Text: text})
	}
	for _, line := range heard.Lines {
		role := "user"
		if line.User {
			role = "assistant"
		}
		request.Messages = append(request.Messages, model.Message{Role: role, Text: line.Text})
	}
	return request, nil
}
