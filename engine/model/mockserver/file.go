package mockserver

import (
	"encoding/json"
	"regexp"

	"github.com/agentbench/agentbench/spec/source"
)

// ParseRules reads a file of replies: a YAML or JSON list. An item is a text,
// which replies to anything, or a mapping:
//
//   - match: "capital of (France|Italy)"   # a regular expression; default: anything
//     reply: Paris                         # or a list of replies, given in turn
//     thinking: Both are in Europe.        # reasoning_content
//     finish: stop                         # finish_reason
//     tools: [{name: lookup, arguments: {q: x}}]
//
// Texts that follow each other are one list, given in turn.
func ParseRules(name string, text []byte) ([]Rule, source.Faults) {
	tree, faults := source.Parse(source.NewFile(name, text))
	if faults.Err() != nil {
		return nil, faults
	}
	var items []item
	if more := source.Decode(tree, &items); more.Err() != nil {
		return nil, append(faults, more...)
	}
	var rules []Rule
	for i, item := range items {
		if i > 0 && item.isText && items[i-1].isText {
			last := &rules[len(rules)-1]
			last.Replies = append(last.Replies, item.rule.Replies...)
			continue
		}
		rules = append(rules, item.rule)
	}
	return rules, faults
}

// item is one of a file's replies.
type item struct {
	rule   Rule
	isText bool
}

type fields struct {
	Match    string     `yaml:"match"`
	Reply    answers    `yaml:"reply"`
	Thinking string     `yaml:"thinking"`
	Finish   string     `yaml:"finish"`
	Tools    []fileTool `yaml:"tools"`
}

type fileTool struct {
	Name      string `yaml:"name" need:"required"`
	Arguments any    `yaml:"arguments"` // a mapping; its JSON is what is sent
}

// DecodeNode takes a text, or a mapping.
func (i *item) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind != source.Map {
		var text answers
		text.DecodeNode(n, d)
		i.rule, i.isText = Texts(text...), true
		return
	}
	var f fields
	d.Decode(n, &f)
	if f.Reply == nil && f.Tools == nil {
		d.Fault(n, "write reply: ..., tools: ... or both", "want something to reply")
	}
	if f.Match != "" {
		pattern, err := regexp.Compile(f.Match)
		if err != nil {
			d.Fault(n, "", "match: %v", err)
		}
		i.rule.Match = pattern
	}
	i.rule.Replies = f.replies()
}

func (f *fields) replies() []Reply {
	base := Reply{Thinking: f.Thinking, Finish: f.Finish}
	for _, t := range f.Tools {
		tool := Tool{t.Name, "{}"}
		if t.Arguments != nil {
			tool.Arguments = textOf(t.Arguments)
		}
		base.Tools = append(base.Tools, tool)
	}
	if f.Reply == nil {
		return []Reply{base}
	}
	var all []Reply
	for _, text := range f.Reply {
		reply := base
		reply.Text = text
		all = append(all, reply)
	}
	return all
}

// answers are one text or several. What is no text is its JSON.
type answers []string

// DecodeNode takes a value or a list of values.
func (a *answers) DecodeNode(n *source.Node, d *source.Decoder) {
	values := []any{nil}
	if n.Kind == source.List {
		d.DecodeTagged(n, &values, `minlen:"1"`)
	} else {
		d.Decode(n, &values[0])
	}
	for _, value := range values {
		*a = append(*a, textOf(value))
	}
}

// textOf is a text as it is, and the JSON of anything else.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(jsonOf(value)) // plain values
	return string(text)
}

// jsonOf makes encoding/json keep the order of an object's keys.
func jsonOf(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = jsonOf(v[i])
		}
		return list
	case *source.Object:
		var text []byte
		for i, key := range v.Keys {
			name, _ := json.Marshal(key) // a string
			inner, _ := json.Marshal(jsonOf(v.Values[i]))
			text = append(append(append(append(text, ','), name...), ':'), inner...)
		}
		return json.RawMessage("{" + string(text[min(1, len(text)):]) + "}")
	}
	return value
}
