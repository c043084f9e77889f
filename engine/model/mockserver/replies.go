package mockserver

import (
	"encoding/json"
	"regexp"
	"sync/atomic"
)

// Rule says what is replied to some requests.
type Rule struct {
	Match   *regexp.Regexp // the last message of the user; nil: any
	Replies []Reply        // in turn, in the order of arrival
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

// to is the reply to a request.
func (r *replies) to(request *chatRequest) Reply {
	asked := request.lastUser()
	for i, rule := range r.rules {
		if len(rule.Replies) == 0 || rule.Match != nil && !rule.Match.MatchString(asked) {
			continue
		}
		if rule.Steps {
			return rule.Replies[min(request.steps(rule.Match), len(rule.Replies)-1)]
		}
		n := r.given[i].Add(1) - 1
		return rule.Replies[n%uint64(len(rule.Replies))]
	}
	return echo(request, asked)
}

// echo gives back what was asked, as JSON where JSON is wanted.
func echo(request *chatRequest, asked string) Reply {
	if request.ResponseFormat.Type == "" || request.ResponseFormat.Type == "text" || json.Valid([]byte(asked)) {
		return Reply{Text: asked}
	}
	text, _ := json.Marshal(map[string]string{"echo": asked}) // a string cannot fail
	return Reply{Text: string(text)}
}
