package dialect

import (
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// The roles of messages.
const (
	userRole      = "user"
	assistantRole = "assistant"
	toolRole      = "tool"
)

// Turns are the messages of an iteration, made of its record alone. The messages
// of each inner list stand or fall together: the prompt; a reply with what its
// calls gave; a user's answer.
func (d Dialect) Turns(prompt string, steps []record.Step, calls []record.ToolCall) [][]model.Message {
	turns := make([][]model.Message, 0, 1+len(steps))
	turns = append(turns, []model.Message{{Role: userRole, Text: prompt}})
	made := 0
	for i := range steps {
		n := min(steps[i].Tools, len(calls)-made)
		turns = append(turns, d.Step(&steps[i], calls[made:made+n], made)...)
		made += n
	}
	return turns
}

// Step are the turns of one step: of its calls, which are all that were made
// where it was cut, and of how many calls the iteration made before.
func (d Dialect) Step(step *record.Step, calls []record.ToolCall, before int) [][]model.Message {
	var turns [][]model.Message
	// Servers refuse a reply that says nothing.
	if len(calls) > 0 || strings.TrimSpace(step.Text) != "" {
		turns = append(turns, d.exchange(step.Text, calls, before))
	}
	if step.User != "" {
		turns = append(turns, []model.Message{{Role: userRole, Text: step.User}})
	}
	return turns
}

func (d Dialect) exchange(text string, calls []record.ToolCall, before int) []model.Message {
	switch {
	case len(calls) == 0:
		return []model.Message{{Role: assistantRole, Text: text}}
	case d.native():
		return nativeExchange(text, calls, before)
	}
	return []model.Message{{Role: assistantRole, Text: text}, {Role: userRole, Text: d.results(calls)}}
}

// nativeExchange has one message for each call, as servers want it.
func nativeExchange(text string, calls []record.ToolCall, before int) []model.Message {
	messages := make([]model.Message, 1, 1+len(calls))
	messages[0] = model.Message{Role: assistantRole, Text: text, ToolCalls: make([]model.ToolCall, len(calls))}
	told, taken := answers(calls), map[string]bool{}
	for i := range calls {
		id := distinct(calls[i].ID, before+i+1, taken)
		messages[0].ToolCalls[i] = model.ToolCall{ID: id, Name: callable(calls[i].Tool), Arguments: sendable(&calls[i])}
		messages = append(messages, model.Message{Role: toolRole, ToolCallID: id, Text: told[i]})
	}
	return messages
}

// distinct is the id of a call, and one of ours where it has none of its own.
func distinct(id string, number int, taken map[string]bool) string {
	for id == "" || taken[id] {
		id = "call_" + strconv.Itoa(number)
		number++
	}
	taken[id] = true
	return id
}

// callable is a name that servers accept: they refuse a conversation in which
// the model made up another.
func callable(name string) string {
	legal := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if legal == "" {
		return "unknown"
	}
	return legal[:min(len(legal), longestName)]
}

const longestName = 64

// sendable are the arguments of a call, an empty object where there is none:
// servers refuse anything else.
func sendable(c *record.ToolCall) string {
	if kind(c.Arguments) != "an object" {
		return "{}"
	}
	return string(compact(c.Arguments))
}
