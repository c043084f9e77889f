package mockserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Rule says what is replied to some requests.
type Rule struct {
	Match   *expr.Pattern // the last message of the user; nil: any
	Replies []Reply       // in turn, in the order of arrival
	// Steps says that the replies are those of one conversation instead, from the
	// first message of the user on that the rule matches: the first one to that
	// message, the next one where the assistant has replied once since then, and so
	// on; the last one stays. So it does not matter what arrives in between.
	Steps bool
}

// Reply is what the absent model says.
type Reply struct {
	Text     string
	Thinking string
	Finish   string // default: stop, or tool_calls where there are some
	Tools    []Tool
}

// Tool is a call of a tool that the absent model wants made.
type Tool struct {
	ID        string // default: made of the answer's
	Name      string
	Arguments string // a JSON object
}

func (r *Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Tools) > 0:
		return "tool_calls"
	}
	return "stop"
}

// Texts is a rule that replies to everything.
func Texts(texts ...string) Rule {
	var rule Rule
	for _, text := range texts {
		rule.Replies = append(rule.Replies, Reply{Text: text})
	}
	return rule
}

// replies are rules with the place that each has reached in its list.
type replies struct {
	rules []Rule
	given []atomic.Uint64
}

func (r *replies) reset(rules []Rule) {
	if r.given == nil {
		r.rules, r.given = rules, make([]atomic.Uint64, len(rules))
	}
	for i := range r.given {
		r.given[i].Store(0)
	}
}

// chosen is the rule that replies to a request.
type chosen struct {
	rule  int // -1: none
	steps int // how far the conversation is, where the rule has steps
}

// choose looks for the rule that replies. The error is that its expression would search for too long.
func (r *replies) choose(ctx context.Context, request *request) (chosen, error) {
	asked := request.lastUser()
	for i, rule := range r.rules {
		if len(rule.Replies) == 0 {
			continue
		}
		switch matches, err := rule.matches(ctx, asked); {
		case err != nil:
			return chosen{}, err
		case matches && rule.Steps:
			steps, err := request.steps(ctx, &rule)
			return chosen{i, steps}, err
		case matches:
			return chosen{rule: i}, nil
		}
	}
	return chosen{rule: -1}, nil
}

func (r *Rule) matches(ctx context.Context, text string) (bool, error) {
	if r.Match == nil {
		return true, nil
	}
	return r.Match.Match(ctx, text)
}

// to is the reply to a request.
func (r *replies) to(request *request, by chosen) Reply {
	if by.rule < 0 {
		return echo(request, request.lastUser())
	}
	rule := &r.rules[by.rule]
	if rule.Steps {
		return rule.Replies[min(by.steps, len(rule.Replies)-1)]
	}
	n := r.given[by.rule].Add(1) - 1
	return rule.Replies[n%uint64(len(rule.Replies))]
}

// echo gives back what was asked, as JSON where JSON is wanted.
func echo(request *request, asked string) Reply {
	if !request.json || json.Valid([]byte(asked)) {
		return Reply{Text: asked}
	}
	text, _ := json.Marshal(map[string]string{"echo": asked}) // a string cannot fail
	return Reply{Text: string(text)}
}

// answer is what is said to a request, whatever the protocol. Faults change it before it
// is written.
type answer struct {
	*request
	created  int64
	model    string // that answers
	text     string
	thinking string
	refusal  string // instead of the text
	calls    []Tool
	finish   string   // stop, length, tool_calls, content_filter, or what a rule says; "": it is not told
	usage    *usage   // nil: it is not told
	content  presence // whether anything is said
	second   place    // of a second choice, where the protocol has choices
	shrinks  bool     // a stream tells the usage at its begin, and half of it at its end
	disorder bool     // a part of a stream comes behind its end
}

// presence is whether an answer says anything.
type presence int

const (
	present presence = iota
	isNull           // the content is null
	noParts          // an empty list does
)

// place is where a second choice stands.
type place int

const (
	none place = iota
	after
	before
)

// secondText is what a second choice says.
const secondText = "another"

// usage is the tokens that an answer reports.
type usage struct {
	input, output              int64
	thinking                   int64  // of the output
	cached, written, written1h int64  // of the input
	as                         string // how a number is written; "": as a whole one
}

func (a *answer) outputTokens() int64 {
	if a.usage == nil {
		return 0
	}
	return a.usage.output
}

// complete makes an answer of a reply. One that is longer than the request allows
// is cut, as a model would be.
func (s *Server) complete(r *request, reply Reply) *answer {
	a := &answer{
		request: r, created: s.options.Now().Unix(), model: r.model,
		text: reply.Text, thinking: reply.Thinking, finish: reply.finish(), calls: slices.Clone(reply.Tools),
	}
	if most := 4 * r.maxOutput; most > 0 && len(a.text) > most {
		a.text, a.finish = validPrefix(a.text, most), "length"
	}
	output := len(a.text) + len(a.thinking)
	for i := range a.calls {
		call := &a.calls[i]
		call.ID = cmp.Or(call.ID, fmt.Sprintf("%s%s%d", r.callID, a.id[:16], i))
		output += len(call.Name) + len(call.Arguments)
	}
	a.usage = &usage{input: r.inputTokens(), output: model.EstimateTokens(output), thinking: model.EstimateTokens(len(a.thinking))}
	s.prompts.use(&r.cached, a.usage)
	return a
}

// parts cuts a text into parts of so many bytes, at characters.
func parts(text string, size int) []string {
	var all []string
	for len(text) > size {
		part := validPrefix(text, size)
		if part == "" {
			_, width := utf8.DecodeRuneInString(text)
			part = text[:width]
		}
		all = append(all, part)
		text = text[len(part):]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

func validPrefix(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

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
	text, _ := json.Marshal(value) // plain values
	return string(text)
}
