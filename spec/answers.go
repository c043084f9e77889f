package spec

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Script is what a script model answers.
type Script struct {
	// ByTask has the replies by task id; where it is nil, List serves every task.
	ByTask    map[string][]Answer
	List      []Answer
	AfterLast string // error, repeat or end
}

// Answers reads the replies of a script model: from its files, its list, or the environment.
func (d *Document) Answers(model string) (Script, error) {
	m, ok := d.Suite.Models.Get(model)
	if !ok || m.Provider != "script" {
		return Script{}, fmt.Errorf("there is no script model %q", model)
	}
	s := Script{AfterLast: m.AfterLast}
	if s.AfterLast == "" {
		s.AfterLast = "error"
	}
	var err error
	switch {
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
	for r, err := range d.rows(m.Files, at, m.Each, nil) {
		if err != nil {
			return nil, err
		}
		key, err := m.Key.String(background, rowScope{r})
		if err != nil {
			return nil, mappingFault(m.Key, err, r.place(r.n))
		}
		if _, taken := answers[key]; taken {
			return nil, m.Key.Node.Fault("make the key distinct, for instance with file", "the task %q has answers twice (in %s)", shorten(key), r.place(r.n))
		}
		list, err := m.Answers.List(background, rowScope{r})
		if err != nil {
			return nil, mappingFault(m.Answers, err, r.place(r.n))
		}
		if answers[key], err = answersOf(list); err != nil {
			return nil, m.Answers.Node.Fault(answerHint, "%v (in %s)", err, r.place(r.n))
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
	for row, err := range d.rows([]string{r.File}, func(int) *source.Node { return r.Node }, nil, nil) {
		if err != nil {
			return nil, err
		}
		answer, err := answerOf(row.value)
		if err != nil {
			return nil, row.fault(row.n, answerHint, "%v", err)
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
			return nil, faultIn("$"+variable, []byte(text), 1, 1, `write ["first reply", "second reply"]`, "want a JSON list of replies")
		}
		answers, err := answersOf(list)
		if err != nil {
			return nil, faultIn("$"+variable, []byte(text), 1, 1, answerHint, "%v", err)
		}
		return answers, nil
	}
	return nil, fmt.Errorf("none of %s is set", strings.Join(mockVariables, ", "))
}
