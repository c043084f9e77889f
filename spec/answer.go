package spec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/spec/expr"
)

// Answer is one reply that stands in a file instead of a model's.
type Answer struct {
	Text      string
	Thinking  string
	ToolCalls []AnswerCall // made natively
	Finish    string       // why the model stopped; "": stop, or tool_calls where it calls some
}

// AnswerCall is a call of a tool.
type AnswerCall struct {
	ID        string // "": the model's own numbering
	Name      string
	Arguments string // as they were written, or the JSON of what they are
}

// Texts are answers that are only texts.
func Texts(texts ...string) []Answer {
	answers := make([]Answer, len(texts))
	for i, text := range texts {
		answers[i].Text = text
	}
	return answers
}

// answerKeys are those of an object that is a reply and not what is replied: our
// own, and those that a message of the chat-completions API has.
var answerKeys = []string{
	"text", "content", "thinking", "reasoning_content", "reasoning", "finish", "tool_calls",
	"role", "refusal", "annotations", "audio", "function_call",
}

// answerOf makes a reply of a value. An object is a reply where it has tool_calls,
// or the role of an assistant, or a text and no key that replies have not; any
// other value that is no text is replied as its JSON.
func answerOf(value any) (Answer, error) {
	o, isObject := value.(*expr.Object)
	if !isObject || !isAnswer(o) {
		return Answer{Text: replyText(value)}, nil
	}
	var a Answer
	var err error
	if a.Text, err = oneText(o, "text", "content"); err != nil {
		return a, err
	}
	if a.Thinking, err = oneText(o, "thinking", "reasoning_content", "reasoning"); err != nil {
		return a, err
	}
	if a.Finish, err = oneText(o, "finish"); err != nil {
		return a, err
	}
	a.ToolCalls, err = answerCalls(o)
	return a, err
}

func isAnswer(o *expr.Object) bool {
	if _, calls := o.Get("tool_calls"); calls {
		return true
	}
	if role, _ := o.Get("role"); role == "assistant" {
		return true
	}
	_, text := o.Get("text")
	_, content := o.Get("content")
	return (text || content) && !slices.ContainsFunc(o.Keys(), func(key string) bool { return !slices.Contains(answerKeys, key) })
}

// oneText is the text under one of the keys; null is none.
func oneText(o *expr.Object, keys ...string) (string, error) {
	found, at := "", ""
	for _, key := range keys {
		value, _ := o.Get(key)
		if value == nil {
			continue
		}
		text, isText := value.(string)
		switch {
		case !isText:
			return "", fmt.Errorf("%s is to be a text", key)
		case at != "":
			return "", fmt.Errorf("write %s or %s, not both", at, key)
		}
		found, at = text, key
	}
	return found, nil
}

func answerCalls(o *expr.Object) ([]AnswerCall, error) {
	value, _ := o.Get("tool_calls")
	list, isList := value.([]any)
	if !isList && value != nil {
		return nil, errors.New("tool_calls is to be a list of {name, arguments}")
	}
	var calls []AnswerCall
	for i, value := range list {
		call, err := answerCall(value)
		if err != nil {
			return nil, fmt.Errorf("tool call %d: %w", i+1, err)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// answerCall takes {id, name, arguments}, and the same inside function, as the
// API has it.
func answerCall(value any) (AnswerCall, error) {
	o, isObject := value.(*expr.Object)
	if !isObject {
		return AnswerCall{}, errors.New("want {name, arguments}")
	}
	var c AnswerCall
	var err error
	if c.ID, err = oneText(o, "id"); err != nil {
		return c, err
	}
	if inner, _ := o.Get("function"); inner != nil {
		if o, isObject = inner.(*expr.Object); !isObject {
			return c, errors.New("function is to hold {name, arguments}")
		}
	}
	if c.Name, err = oneText(o, "name"); err != nil {
		return c, err
	}
	if c.Name == "" {
		return c, errors.New("it has no name")
	}
	c.Arguments = "{}"
	if arguments, _ := o.Get("arguments"); arguments != nil {
		c.Arguments = replyText(arguments)
	}
	return c, nil
}
