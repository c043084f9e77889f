// Package dialect writes tools for models. A Dialect tells a model which tools and other agents it can call,
// reads the calls that it writes, and writes what they returned. It is pure: the same
// record gives the same messages.
//
// It is no stable API.
package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec/expr"
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
	Server string // as [Tool] has it; only XML writes it
	// Arguments are always JSON, and an object where Fault is "". Otherwise
	// they are what was written: a string where that is not JSON.
	Arguments json.RawMessage
	Fault     string // why the call could not be read, "": it could
}

// Read gives the calls of a reply in their order. It takes any text: what looks
// like a call and can not be read is one with a Fault.
func (d Dialect) Read(reply *model.Reply) (calls []Call) {
	if d.native() {
		return nativeCalls(reply.ToolCalls)
	}
	for _, found := range d.find(reply.Text) {
		calls = append(calls, found.call)
	}
	return calls
}

// Thinking is the model's reasoning: what it gave apart from its reply, and the text
// around the calls in a reply.
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

// keys are how a written call names its parts: each has a first choice, and what
// models write instead.
type keys struct{ tool, server, arguments []string }

func writtenCall(value json.RawMessage, k keys) Call {
	if kind(value) != "an object" {
		return Call{Arguments: value, Fault: fmt.Sprintf("the block holds %s; it is to hold one object", kind(value))}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return Call{Arguments: quoted(string(value)), Fault: "the block is not JSON: " + err.Error()}
	}
	name, fault := text(members, k.tool)
	if fault != "" {
		return Call{Arguments: value, Fault: fault}
	}
	call := Call{Tool: name}
	if len(k.server) > 0 {
		if server, _ := text(members, k.server); server != localServer && server != agentsServer {
			call.Server = server
		}
	}
	call.Arguments, call.Fault = arguments(first(members, k.arguments))
	return call
}

// first is the member of the first name that is there.
func first(members map[string]json.RawMessage, names []string) json.RawMessage {
	for _, name := range names {
		if value, there := members[name]; there {
			return value
		}
	}
	return nil
}

func text(members map[string]json.RawMessage, names []string) (value, fault string) {
	raw, wanted := first(members, names), strconv.Quote(names[0])
	switch {
	case raw == nil:
		return "", "the block has no " + wanted
	case json.Unmarshal(raw, &value) != nil || kind(raw) != "a string":
		return "", fmt.Sprintf("%s is %s; it is to be a string", wanted, kind(raw))
	case value == "":
		return "", wanted + " is empty"
	}
	return value, ""
}

// What XML calls those that are not of a server.
const (
	localServer  = "local"
	agentsServer = "agents"
)

// task is what is handed over by a call of the agent that a block names.
func task(value json.RawMessage) Call {
	call := writtenCall(value, keys{tool: []string{"agent"}})
	if call.Fault != "" {
		return call
	}
	var written struct {
		Task json.RawMessage `json:"task"`
	}
	if json.Unmarshal(value, &written) == nil && written.Task != nil {
		call.Arguments = append(append(json.RawMessage(`{"task":`), written.Task...), '}')
	}
	return call
}

// firstValue reads the JSON value that a text begins with, and finds where it
// ends; or what is wrong with it.
func firstValue(text string) (value json.RawMessage, end int, fault string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&value); err != nil {
		return nil, 0, notJSON(text, err)
	}
	return compact(value), int(decoder.InputOffset()), ""
}

// wholeValue is the JSON value that a text is, nil for a blank text.
func wholeValue(text string) (value json.RawMessage, fault string) {
	if strings.TrimSpace(text) == "" {
		return nil, ""
	}
	value, end, fault := firstValue(text)
	if rest := strings.TrimSpace(text[end:]); fault == "" && rest != "" {
		return nil, fmt.Sprintf("not JSON: %q stands behind the value", short(rest))
	}
	return value, fault
}

func notJSON(text string, err error) string {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return "not JSON: it ends too early"
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "not JSON: " + err.Error()
	}
	read := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line, column := strings.Count(read, "\n")+1, len(read)-strings.LastIndexByte(read, '\n')
	return fmt.Sprintf("not JSON: %v (line %d, column %d)", err, line, column)
}

// arguments is the object that arguments are: missing ones are an empty one, and a string
// may hold one. With a fault they are as they were written.
func arguments(written json.RawMessage) (json.RawMessage, string) {
	switch kind(written) {
	case "nothing":
		return json.RawMessage("{}"), ""
	case "an object":
		return written, ""
	case "a string":
		var text string
		if json.Unmarshal(written, &text) != nil {
			break
		}
		inner, fault := wholeValue(text)
		if k := kind(inner); fault == "" && (k == "an object" || k == "nothing") {
			return arguments(inner)
		}
	}
	return written, fmt.Sprintf("the arguments are %s, not an object", kind(written))
}

// kind is the kind of a JSON value, as faults name it.
func kind(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "nothing"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

func compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}

func quoted(text string) json.RawMessage {
	value, _ := expr.AppendJSON(make([]byte, 0, len(text)+2), text) // a string always is JSON
	return value
}

func short(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(secret.Prefix(text, most), "") + " …"
}
