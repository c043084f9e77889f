package mockserver

import (
	"encoding/json"

	"github.com/agentbench/agentbench/spec/expr"
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
//   - match: weather
//     steps:                               # the replies of one conversation, see Rule
//   - tools: [{name: lookup, arguments: {city: Rome}}]
//   - It rains.
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
	Match string  `yaml:"match"`
	Steps []step  `yaml:"steps" minlen:"1"`
	Reply answers `yaml:"reply"`
	more  `yaml:",inline"`
}

// more is what a reply has beside its text.
type more struct {
	Thinking string     `yaml:"thinking"`
	Finish   string     `yaml:"finish"`
	Tools    []fileTool `yaml:"tools"`
}

type fileTool struct {
	ID        string `yaml:"id"`
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
	switch {
	case f.Steps != nil && (f.Reply != nil || !f.more.empty()):
		d.Fault(n, "write thinking, finish and tools in each step", "want steps or a reply, not both")
	case f.Steps == nil && f.Reply == nil && f.Tools == nil:
		d.Fault(n, "write reply: ..., tools: ..., both, or steps: [...]", "want something to reply")
	}
	if f.Match != "" {
		match, err := expr.CompilePattern(f.Match)
		if err != nil {
			d.Fault(n, expr.PatternHint(err), "match: %v", err)
		}
		i.rule.Match = match
	}
	i.rule.Replies, i.rule.Steps = f.replies(), f.Steps != nil
}

// step is one reply of a conversation: a text, or what a rule has for one.
type step Reply

// DecodeNode takes a text, or a mapping.
func (s *step) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind != source.Map {
		var text any
		d.Decode(n, &text)
		s.Text = textOf(text)
		return
	}
	var f struct {
		Reply any `yaml:"reply"`
		more  `yaml:",inline"`
	}
	d.Decode(n, &f)
	if f.Reply == nil && f.Tools == nil {
		d.Fault(n, "write reply: ..., tools: ... or both", "want something to reply")
	}
	*s = step(f.more.reply())
	if f.Reply != nil {
		s.Text = textOf(f.Reply)
	}
}

func (m *more) empty() bool { return m.Thinking == "" && m.Finish == "" && m.Tools == nil }

// reply is one without a text.
func (m *more) reply() Reply {
	reply := Reply{Thinking: m.Thinking, Finish: m.Finish}
	for _, t := range m.Tools {
		tool := Tool{ID: t.ID, Name: t.Name, Arguments: "{}"}
		if t.Arguments != nil {
			tool.Arguments = textOf(t.Arguments)
		}
		reply.Tools = append(reply.Tools, tool)
	}
	return reply
}

func (f *fields) replies() []Reply {
	var all []Reply
	for _, s := range f.Steps {
		all = append(all, Reply(s))
	}
	for _, text := range f.Reply {
		reply := f.more.reply()
		reply.Text = text
		all = append(all, reply)
	}
	if all == nil {
		all = []Reply{f.more.reply()}
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
