package openai

import (
	"cmp"
	"slices"
	"strings"
)

// callDelta is the part of a tool call that an event holds.
type callDelta struct {
	Index    *int   `json:"index"` // of the call; there are servers that leave it out
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// calls are the tool calls of a stream so far.
type calls []*streamedCall

type streamedCall struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// add takes a part. It belongs to the newest call of its index, unless it brings
// another ID: there are servers that give every call the index 0.
func (c *calls) add(part *callDelta) {
	call := c.of(part)
	call.id = cmp.Or(call.id, part.ID)
	if part.Function.Name != call.name { // else it only says again whose part it is
		call.name += part.Function.Name
	}
	call.arguments.WriteString(part.Function.Arguments)
}

func (c *calls) of(part *callDelta) *streamedCall {
	for _, call := range slices.Backward(*c) {
		if part.Index != nil && call.index != *part.Index {
			continue
		}
		if part.ID == "" || call.id == "" || part.ID == call.id {
			return call
		}
		break
	}
	begun := &streamedCall{index: len(*c)}
	if part.Index != nil {
		begun.index = *part.Index
	}
	*c = append(*c, begun)
	return begun
}

// whole are the calls as an answer has them, in the order of their indexes.
func (c calls) whole() []toolCall {
	slices.SortStableFunc(c, func(a, b *streamedCall) int { return cmp.Compare(a.index, b.index) })
	var all []toolCall
	for _, call := range c {
		all = append(all, toolCall{ID: call.id, Type: "function", Function: functionCall{call.name, call.arguments.String()}})
	}
	return all
}
