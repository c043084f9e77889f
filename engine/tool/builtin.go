package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// The built-in tools.
const (
	// taskCompletion ends the run with its result.
	taskCompletion = "task_completion"
	// askQuestion gives what the task answers to the question, and ends the run
	// with the question where it answers nothing.
	askQuestion = "ask_question"
	// converse says something to the user; where there is none it ends the
	// iteration with the message.
	converse = "converse"
)

// Builtin gives the tool of that name; a description that is not "" replaces its own.
func Builtin(name, description string) (Tool, error) {
	t := Tool{Definition: Definition{Name: name}}
	var usual, argument, schema string
	switch name {
	case taskCompletion:
		usual, argument, schema = "Finish the task with its result.", "result", `{"description": "What the task was to give."}`
		t.Breaks = record.ReasonToolEnded
	case askQuestion:
		usual, argument, schema = "Ask a question that has to be answered before the task can go on.", "question", `{"type": "string", "minLength": 1}`
		t.Serial = true // the task may answer in an order
	case converse:
		usual, argument, schema = "Say something to the user and wait for the answer.", "message", `{"type": "string", "minLength": 1}`
		t.Converses = true
	default:
		return Tool{}, fmt.Errorf("unknown built-in tool %q", name)
	}
	t.Description = cmp.Or(description, usual)
	t.Parameters = json.RawMessage(fmt.Sprintf(
		`{"type":"object","required":[%[1]q],"additionalProperties":false,"properties":{%[1]q:%[2]s}}`, argument, schema))
	t.Use = func(ctx context.Context, use *Use) (Result, error) {
		var given map[string]json.RawMessage
		if err := json.Unmarshal(use.Arguments, &given); err != nil {
			return Result{}, badCall("the arguments are no object: %v", err)
		}
		if name == askQuestion {
			return ask(ctx, use, given[argument])
		}
		return Result{Content: given[argument]}, nil
	}
	return t, nil
}

// ask answers a question as the task does, or ends the run with it.
func ask(ctx context.Context, use *Use, written json.RawMessage) (Result, error) {
	var question string
	if err := json.Unmarshal(written, &question); err != nil {
		return Result{}, badCall("the arguments are wrong: %v", err)
	}
	answer, known := answerOf(use.Task, question, asked(ctx))
	if !known {
		said := Text(question)
		return Result{Content: said, Ended: &record.Ended{Reason: string(record.ReasonQuestionAsked), Output: said}}, nil
	}
	content, err := expr.AppendJSON(nil, answer)
	if err != nil {
		return Result{}, record.Errorf(record.Tool, "the task's answer cannot be told: %v", err)
	}
	return Result{Content: content}, nil
}
