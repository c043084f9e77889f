// Package tool decides what a tool is to the rest of agentbench: something with
// a name and a schema that answers one use with one result. The kinds are
// beneath it: program, endpoint, computed, builtin, mcp.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Tool is something that an agent may use. Implementations are safe for
// concurrent use.
//
// An error is a *record.Error, which the agent is told, or the context's cause,
// which ends the run. The Result may hold what there was before the error.
type Tool interface {
	Definition() Definition
	Use(ctx context.Context, use *Use) (Result, error)
}

// Definition is what is told of a tool, and how it is to be used.
type Definition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments, an object; nil: any object
	Server      string          // of MCP; "" is a tool of the suite's own
	// Identity is what is run or asked, beside what is told: pure tools of one
	// identity answer from one memory.
	Identity string
	Timeout  time.Duration // of one try; 0: the tool sees to it itself
	Retries  int           // how often a use that failed is tried again
	// Pure says that the same arguments give the same result, which may be
	// answered from memory.
	Pure bool
	// Breaks is the reason for which the run ends with the result; "": it goes on.
	Breaks record.Reason
	// Serial says that uses of it in one step follow one another; others run in
	// parallel.
	Serial bool
	// Delegate says that it is another agent, to which the argument `task` is
	// handed.
	Delegate bool
	// Converses says that the result is what the agent says to its user: the user's
	// turn follows, and where nobody answers it is the output.
	Converses bool
}

// Use is one use of a tool.
type Use struct {
	Arguments json.RawMessage // an object that is valid against Parameters
	Task      *spec.Task      // of the run; its target is not for tools
	Trial     int
	Number    int // how many tool calls the run made before, from 0
	// Calls counts the calls of each model so far in the run, which a delegate's go
	// on from; it is the tool's own to change, and counts on where the result's
	// Calls are of models.
	Calls map[string]int
}

// Result is what a use gave.
type Result struct {
	Content  json.RawMessage // JSON: a string for a text
	Bytes    []byte          // what was written, where it is not UTF-8; Content has U+FFFD then
	Duration time.Duration   // as-if
	Waited   time.Duration   // part of Duration: for rate limits and the like
	Attempts int             // 0 means 1
	Cached   bool
	Ended    *record.Ended // set where it ends the run
	// Calls are those of a delegate, timed from the start of the use; Run is its
	// record, where it is a loop.
	Calls []record.Call
	Run   *record.Run
}
