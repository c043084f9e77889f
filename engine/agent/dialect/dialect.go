// Package dialect decides how a model is told of tools and other agents, how it
// writes that it calls them, and how it is told what they gave. It is pure: the
// same record gives the same messages.
package dialect

import (
	"encoding/json"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
)

// Dialect is one way of writing calls. "" is Native.
type Dialect string

// The dialects.
const (
	Native Dialect = "native" // the server's own function calling
	Fenced Dialect = "fenced" // ```tool_call and ```delegate blocks of JSON
	XML    Dialect = "xml"    // <tool> elements that hold JSON
)

// Call is a call that a reply holds.
type Call struct {
	ID     string // of a native call
	Tool   string // "" where it could not be read
	Server string // as [Tool] has it; only XML tells
	// Arguments are always JSON, and an object where there is no Fault. Beside one
	// they are what was written: a string where that is no JSON.
	Arguments json.RawMessage
	Fault     string // why the call could not be read, "": it could
}

// Read gives the calls of a reply in their order. It takes any text: what looks
// like a call and can not be read is one with a Fault.
func (d Dialect) Read(reply *model.Reply) []Call {
	found := d.find(reply.Text)
	if d.native() {
		return nativeCalls(reply.ToolCalls)
	}
	var calls []Call
	for i := range found {
		calls = append(calls, found[i].call)
	}
	return calls
}

// Thinking is what a model says of its reasoning: beside its reply, and in a
// reply in which it writes calls, all that stands around them.
func (d Dialect) Thinking(reply *model.Reply) string {
	found := d.find(reply.Text)
	if len(found) == 0 {
		return reply.Thinking
	}
	said, from := []string{reply.Thinking}, 0
	for i := range found {
		said = append(said, reply.Text[from:found[i].from])
		from = found[i].to
	}
	return joined(append(said, reply.Text[from:]))
}

func (d Dialect) native() bool { return d == "" || d == Native }

// block is a call in a text, and where it stands.
type block struct {
	from, to int
	call     Call
}

func (d Dialect) find(text string) []block {
	switch d {
	case Fenced:
		return fencedBlocks(text)
	case XML:
		return elements(text)
	}
	return nil
}

// joined are the texts that are not blank, a line apart.
func joined(texts []string) string {
	var kept []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n\n")
}
