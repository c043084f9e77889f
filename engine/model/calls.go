package model

import (
	"slices"
	"strconv"
)

// Bytes is the length of what a model reads of a message.
func (m *Message) Bytes() int {
	return len(m.Text) + len(m.ToolCallID) + callBytes(m.ToolCalls)
}

// Bytes is the length of what a model reads of a tool.
func (t *Tool) Bytes() int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

// Bytes is the length of what a model wrote.
func (r *Reply) Bytes() int { return len(r.Text) + len(r.Thinking) + callBytes(r.ToolCalls) }

func callBytes(calls []ToolCall) int {
	bytes := 0
	for i := range calls {
		bytes += len(calls[i].ID) + len(calls[i].Name) + len(calls[i].Arguments)
	}
	return bytes
}

// Identify gives an ID to each call that has none, or that of one before it:
// call_1 is the first call's, and so on. Always the same calls get the same IDs.
func Identify(calls []ToolCall) {
	for i := range calls {
		id := calls[i].ID
		if id == "" {
			id = "call_" + strconv.Itoa(i+1)
		}
		calls[i].ID = distinct(calls, i, id)
	}
}

// distinct is the id with a number behind it where another call has it: one that
// came before, or one that is yet to come and has it of its own.
func distinct(calls []ToolCall, at int, id string) string {
	taken := func(id string) bool {
		same := func(c ToolCall) bool { return c.ID == id }
		before := slices.ContainsFunc(calls[:at], same)
		return before || id != calls[at].ID && slices.ContainsFunc(calls[at+1:], same)
	}
	made := id
	for n := 2; taken(made); n++ {
		made = id + "_" + strconv.Itoa(n)
	}
	return made
}
