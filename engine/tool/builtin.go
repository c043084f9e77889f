package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// The tools.
const (
	// TaskCompletion ends the run with its result.
	TaskCompletion = "task_completion"
	// AskQuestion gives what the task answers to the question, and ends the run
	// with the question where it answers nothing.
	AskQuestion = "ask_question"
	// Converse says something to the user; where there is none it ends the
	// iteration with the message.
	Converse = "converse"
)

// Builtin gives the tool of that name; a description that is not "" replaces its own.
func Builtin(name, description string) (Tool, error) {
	switch name {
	case TaskCompletion:
		defined := define(name, description, "Finish the task with its result.", "result", `{"description": "What the task was to give."}`)
		defined.Breaks = record.ReasonToolEnded
		return &says{defined, "result"}, nil
	case AskQuestion:
		defined := define(name, description, "Ask a question that has to be answered before the task can go on.", "question", `{"type": "string", "minLength": 1}`)
		defined.Serial = true // answers may stand in an order
		return &asks{defined}, nil
	case Converse:
		defined := define(name, description, "Say something to the user and wait for the answer.", "message", `{"type": "string", "minLength": 1}`)
		defined.Converses = true
		return &says{defined, "message"}, nil
	}
	return nil, fmt.Errorf("unknown built-in tool %q", name)
}

func define(name, description, usual, argument, schema string) Definition {
	if description == "" {
		description = usual
	}
	return Definition{Name: name, Description: description, Parameters: json.RawMessage(fmt.Sprintf(
		`{"type":"object","required":[%[1]q],"additionalProperties":false,"properties":{%[1]q:%[2]s}}`, argument, schema))}
}

// says gives one of its arguments as the result.
type says struct {
	defined  Definition
	argument string
}

// Definition is the tool's.
func (s *says) Definition() Definition { return s.defined }

// Use gives the argument.
func (s *says) Use(_ context.Context, use *Use) (Result, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(use.Arguments, &given); err != nil {
		return Result{}, &record.Error{Class: record.BadCall, Message: "the arguments are no object: " + err.Error()}
	}
	return Result{Content: given[s.argument]}, nil
}

// asks gives what the task answers.
type asks struct{ defined Definition }

// Definition is the tool's.
func (a *asks) Definition() Definition { return a.defined }

// Use answers the question, or ends the run with it.
func (a *asks) Use(ctx context.Context, use *Use) (Result, error) {
	var given struct{ Question string }
	if err := json.Unmarshal(use.Arguments, &given); err != nil {
		return Result{}, &record.Error{Class: record.BadCall, Message: "the arguments are wrong: " + err.Error()}
	}
	answer, known := answers(use.Task).to(given.Question, asked(ctx))
	if !known {
		question := Text(given.Question)
		return Result{Content: question, Ended: &record.Ended{Reason: string(record.ReasonQuestionAsked), Output: question}}, nil
	}
	content, err := expr.AppendJSON(nil, answer)
	if err != nil {
		return Result{}, &record.Error{Class: record.Tool, Message: "the task's answer cannot be told: " + err.Error()}
	}
	return Result{Content: content}, nil
}
