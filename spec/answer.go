package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
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
	var errs [4]error
	a.Text, errs[0] = oneText(o, "text", "content")
	a.Thinking, errs[1] = oneText(o, "thinking", "reasoning_content", "reasoning")
	a.Finish, errs[2] = oneText(o, "finish")
	a.ToolCalls, errs[3] = answerCalls(o)
	return a, cmp.Or(errs[:]...)
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

// Script is what a script model answers.
type Script struct {
	// ByTask has the replies by task id; where it is nil, List serves every task.
	ByTask map[string][]Answer
	List   []Answer
	// Conversations have the replies to programs, by names or patterns of conversations; the first that matches counts.
	Conversations source.Named[Replies]
	AfterLast     string // error, repeat or end
}

// Answers reads the replies of a script model: from its files, its list, or the environment.
func (d *Document) Answers(model string) (Script, error) {
	m, ok := d.Suite.Models.Get(model)
	if !ok || m.Provider != "script" {
		return Script{}, fmt.Errorf("unknown script model %q", model)
	}
	s := Script{AfterLast: m.AfterLast}
	s.AfterLast = cmp.Or(s.AfterLast, "error")
	var err error
	switch {
	case m.Conversations != nil:
		s.Conversations = m.Conversations
	case m.Files != nil:
		s.ByTask, err = d.recorded(&m)
	case m.Responses != nil && m.Responses.File != "":
		s.List, err = d.replies(m.Responses)
	case m.Responses != nil:
		s.List = m.Responses.List
	default:
		s.List, err = d.mocked()
	}
	return s, err
}

// recorded looks up the answers of every task.
func (d *Document) recorded(m *Model) (map[string][]Answer, error) {
	answers := map[string][]Answer{}
	at := func(i int) *source.Node { return fileNodes(m.Node.Get("files"))[i] }
	for r, err := range d.rows(m.Files, at, m.Each) {
		if err != nil {
			return nil, err
		}
		key, err := m.Key.String(background, r)
		if err != nil {
			return nil, mappingFault(m.Key, err, r.place())
		}
		if _, taken := answers[key]; taken {
			return nil, m.Key.Node.Fault("make the key distinct, for instance with file", "the task %q has answers twice (in %s)", shorten(key), r.place())
		}
		list, err := m.Answers.List(background, r)
		if err != nil {
			return nil, mappingFault(m.Answers, err, r.place())
		}
		if answers[key], err = answersOf(list); err != nil {
			return nil, m.Answers.Node.Fault(answerHint, "%v (in %s)", err, r.place())
		}
	}
	return answers, nil
}

const answerHint = `write a text, or {text: ..., tool_calls: [{name: ..., arguments: {...}}]}`

func answersOf(list []any) ([]Answer, error) {
	answers := make([]Answer, len(list))
	for i, value := range list {
		var err error
		if answers[i], err = answerOf(value); err != nil {
			return nil, fmt.Errorf("reply %d: %w", i+1, err)
		}
	}
	return answers, nil
}

// replies reads a file that holds a list of replies.
func (d *Document) replies(r *Responses) ([]Answer, error) {
	var list []Answer
	for row, err := range d.rows([]string{r.File}, func(int) *source.Node { return r.Node }, nil) {
		if err != nil {
			return nil, err
		}
		answer, err := answerOf(row.value)
		if err != nil {
			return nil, row.fault(answerHint, "%v", err)
		}
		list = append(list, answer)
	}
	if len(list) == 0 {
		return nil, r.Node.Fault("", "%s holds no replies", r.File)
	}
	return list, nil
}

// mocked reads the replies that the environment gives to every script model that declares none.
func (d *Document) mocked() ([]Answer, error) {
	for _, variable := range mockVariables {
		text := d.getenv(variable)
		if text == "" {
			continue
		}
		value, err := expr.ParseJSON([]byte(text))
		list, ok := value.([]any)
		switch {
		case err != nil:
			return nil, jsonFaultIn("$"+variable, []byte(text), 1, err)
		case !ok:
			return nil, lineFault("$"+variable, []byte(text), 1, 1, `write ["first reply", "second reply"]`, "want a JSON list of replies")
		}
		answers, err := answersOf(list)
		if err != nil {
			return nil, lineFault("$"+variable, []byte(text), 1, 1, answerHint, "%v", err)
		}
		return answers, nil
	}
	return nil, fmt.Errorf("none of %s is set", strings.Join(mockVariables, ", "))
}
