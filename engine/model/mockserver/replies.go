package mockserver

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/agentbench/agentbench/spec/expr"
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
	Thinking string // sent as reasoning_content
	Finish   string // finish_reason; default: stop, or tool_calls where there are some
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
func (r *replies) choose(ctx context.Context, request *chatRequest) (chosen, error) {
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
func (r *replies) to(request *chatRequest, by chosen) Reply {
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
func echo(request *chatRequest, asked string) Reply {
	if request.ResponseFormat.Type == "" || request.ResponseFormat.Type == "text" || json.Valid([]byte(asked)) {
		return Reply{Text: asked}
	}
	text, _ := json.Marshal(map[string]string{"echo": asked}) // a string cannot fail
	return Reply{Text: string(text)}
}
