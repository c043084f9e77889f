package mockserver

import (
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Rule says what is replied to some requests.
type Rule struct {
	Match   *expr.Pattern // the last message of the user; nil: any
	Replies spec.Replies  // in turn, in the order of arrival; over again after the last
	// Steps are the replies of one conversation instead, from the first message of the user that the rule matches: the first one
	// to that message, the next one where the assistant has replied once since, and so on; the last one stays.
	Steps spec.Replies
}

// Texts is a rule that replies to everything.
func Texts(texts ...string) (r Rule) {
	for _, text := range texts {
		r.Replies = append(r.Replies, spec.Answer{Text: text})
	}
	return r
}

// ParseRules reads a file of replies: a YAML or JSON list. An item is a text, which replies to anything, or a mapping with the
// keys match, a regular expression, and replies or steps, lists of replies as those of a script model. Texts that follow each
// other are one list of replies.
func ParseRules(name string, text []byte) ([]Rule, source.Faults) {
	tree, faults := source.Parse(source.NewFile(name, text))
	if faults.Err() != nil {
		return nil, faults
	}
	var items []rule
	if more := source.Decode(tree, &items); more.Err() != nil {
		return nil, append(faults, more...)
	}
	var rules []Rule
	for i, it := range items {
		if i > 0 && it.text && items[i-1].text {
			last := &rules[len(rules)-1]
			last.Replies = append(last.Replies, it.Replies...)
			continue
		}
		rules = append(rules, it.Rule)
	}
	return rules, faults
}

// rule is an item of a file.
type rule struct {
	Rule
	text bool
}

// DecodeNode takes a text, or a mapping.
func (r *rule) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind != source.Map {
		var text string
		d.Decode(n, &text)
		*r = rule{Texts(text), true}
		return
	}
	var f struct {
		Match   string       `yaml:"match"`
		Replies spec.Replies `yaml:"replies" also:"reply"`
		Steps   spec.Replies `yaml:"steps"`
	}
	d.Decode(n, &f)
	if (f.Replies == nil) == (f.Steps == nil) {
		d.Fault(n, "write replies: [...], given in turn, or steps: [...], those of a conversation", "want replies or steps")
	}
	r.Replies, r.Steps = f.Replies, f.Steps
	if f.Match != "" {
		var err error
		if r.Match, err = expr.CompilePattern(f.Match); err != nil {
			d.Fault(n, expr.PatternHint(err), "match: %v", err)
		}
	}
}

func (r *Rule) matches(text string) (bool, error) {
	if r.Match == nil {
		return true, nil
	}
	return r.Match.Match(text)
}

// byRule is the reply of the first rule that matches, else the echo. The error is that a match would search for too long.
func (s *Server) byRule(t *turn) (*model.Reply, error) {
	asked := t.lastUser()
	for i := range s.options.Rules {
		r := &s.options.Rules[i]
		matches, err := r.matches(asked)
		if err != nil {
			return nil, err
		}
		switch {
		case !matches:
		case r.Steps != nil:
			step, err := r.step(t)
			return replyOf(&r.Steps[min(step, len(r.Steps)-1)]), err
		case r.Replies != nil:
			n := s.given[i].Add(1) - 1
			return replyOf(&r.Replies[n%int64(len(r.Replies))]), nil
		}
	}
	if t.JSON && !json.Valid([]byte(asked)) {
		text, _ := json.Marshal(object{"echo": asked}) // a text
		asked = string(text)
	}
	return replyOf(&spec.Answer{Text: asked}), nil
}

// step is how often the assistant has replied since the first message of the user that the rule matches.
func (r *Rule) step(t *turn) (step int, err error) {
	begun := false
	for _, m := range t.Messages {
		switch {
		case begun && m.Role == "assistant":
			step++
		case !begun && m.Role == "user":
			if begun, err = r.matches(m.Text); err != nil {
				return 0, err
			}
		}
	}
	return step, nil
}

// replyOf is a reply of a file. Its tokens are to be estimated.
func replyOf(a *spec.Answer) *model.Reply {
	reply := &model.Reply{Text: a.Text, Thinking: a.Thinking, Finish: a.Finish, Usage: record.Usage{Calls: 1, Estimated: 1}}
	for _, call := range a.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, model.ToolCall(call))
	}
	switch {
	case reply.Finish != "":
	case reply.ToolCalls != nil:
		reply.Finish = "tool_calls"
	default:
		reply.Finish = "stop"
	}
	return reply
}
