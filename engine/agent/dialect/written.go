package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// keys are how a written call names its parts: each has a first choice, and what
// models write instead.
type keys struct{ tool, server, arguments []string }

// writtenCall reads the object that stands in a block.
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
	call := Call{Tool: name, Server: server(members, k.server)}
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

func server(members map[string]json.RawMessage, names []string) string {
	if len(names) == 0 {
		return ""
	}
	name, _ := text(members, names)
	if name == localServer || name == agentsServer {
		return ""
	}
	return name
}

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
