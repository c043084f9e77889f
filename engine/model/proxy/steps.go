package proxy

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// iteration is the one that is made.
type iteration struct {
	number int
	began  time.Duration // its calls arrived later
	agent  string        // User-Agent of its first call
	// Steps that were answered: followed by another one of their conversation, or not yet.
	followed, unfollowed []*said
	// What was followed, for those who look at it when a call arrives.
	steps []record.Step
	tools []record.ToolCall
}

// said is what the model said in a step, and the tools that it asked for.
type said struct {
	call  *record.Call
	step  record.Step
	tools []record.ToolCall
}

func newSaid(call *record.Call, reply *model.Reply) *said {
	t := &said{call: call, step: record.Step{Text: reply.Text, Thinking: reply.Thinking, Tools: len(reply.ToolCalls)}}
	for _, asked := range reply.ToolCalls {
		arguments := json.RawMessage(asked.Arguments)
		if !json.Valid(arguments) {
			arguments, _ = json.Marshal(asked.Arguments) // a text
		}
		t.tools = append(t.tools, record.ToolCall{Tool: asked.Name, ID: asked.ID, Arguments: arguments})
	}
	return t
}

// ended begins the tools of a step, whose call has ended.
func (t *said) ended() {
	if t == nil {
		return
	}
	for i := range t.tools {
		t.tools[i].Start = t.call.Ended
	}
}

// follow takes what the tools of a step gave from the next call of its conversation.
func (s *Session) follow(p *place, a *asked, arrived time.Duration) {
	if p == nil || p.said == nil || !slices.Contains(s.iteration.unfollowed, p.said) {
		return
	}
	t := p.said
	a.results(t.tools, p.items)
	for i := range t.tools {
		t.tools[i].Duration = arrived - t.tools[i].Start
	}
	s.iteration.unfollowed = slices.DeleteFunc(s.iteration.unfollowed, func(other *said) bool { return other == t })
	s.iteration.followed = append(s.iteration.followed, t)
	s.iteration.steps, s.iteration.tools = append(s.iteration.steps, t.step), append(s.iteration.tools, t.tools...)
}

// unstep makes a refused call no step: the steps after it move up.
func (s *Session) unstep(refused *record.Call) {
	if refused.Step == 0 {
		return
	}
	for _, c := range s.calls {
		if c.Step > refused.Step {
			c.Step--
		}
	}
	refused.Step = 0
	s.conversations.steps--
}
