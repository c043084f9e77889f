// Package agent decides what executes one iteration of a loop: a model that is
// asked once, or one that converses, with tools, delegates, a memory or a user.
// Programs, endpoints and remote agents are beneath it.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Agent executes iterations. Implementations are safe for concurrent use.
//
// An error is a *record.Error, model.ErrEnded (the agent ends the run before
// the iteration), or the context's error. The Result may hold calls that were
// made before the error.
type Agent interface {
	Execute(ctx context.Context, turn *Turn) (Result, error)
}

// Sender is an agent that can tell what it would send without doing so: the hash
// that the result's Request would be.
type Sender interface {
	Sends(turn *Turn) (hash string, err error)
}

// Turn is what an agent is given for one iteration.
type Turn struct {
	Task      *spec.Task
	Trial     int
	Iteration int // from 1
	Phase     string
	Strategy  string
	System    string
	Prompt    string
	Elapsed   time.Duration  // as-if, since the start of the run
	Calls     map[string]int // calls of each model so far in the run; Execute counts on
	ToolCalls int            // calls of tools so far in the run
	// Earlier are the run's iterations so far: what a memory is made of. They are
	// only read.
	Earlier []record.Iteration
	// Servers are those whose tools the run knows already; an agent that asks
	// another one adds it to the Result. A replay has them of the record.
	Servers []record.ToolServer
	// Remaining is how many iterations the loop's limit leaves, this one included;
	// 0: it has none. An agent is told of it that makes one step in each.
	Remaining int
	// AfterStep is told of every whole step of a conversing agent: the result so
	// far, whose last step it is. Where it gives a reason, the agent makes no
	// further step and the result is Cut; nil: nobody wants to know.
	AfterStep func(sofar *Result) (cut record.Reason)
	// Late says that nothing more begins in an iteration that took so long, of which
	// so much was waited, because a timeout of the loop has passed. Nil: none has.
	Late func(took, waited time.Duration) bool
	// Scope has what expressions see. A program reads of it, as JSON: task
	// (without target), iteration, phase, strategy, feedback, previous, best.
	Scope expr.Scope
}

// Result is what an iteration gave.
type Result struct {
	Request  string          // hash of what was sent
	Output   json.RawMessage // JSON: a string for a text reply
	Bytes    []byte          // what was written as output, where it is not UTF-8
	Value    any             // the output as expressions see it
	Fault    string          // why a reply that was to be JSON is not; Output is then the text
	Thinking string
	// Calls and ToolCalls begin as long after the start of the iteration as their
	// Start says. Where Took is 0 the calls follow one another instead.
	Calls     []record.Call
	ToolCalls []record.ToolCall
	Took      time.Duration       // as-if
	Waited    time.Duration       // part of Took: for rate limits and the like
	Prompt    string              // what a conversing agent was given
	Steps     []record.Step       // of a conversing agent
	Servers   []record.ToolServer // that were asked for their tools in this iteration
	Cut       record.Reason       // why AfterStep ended it, "": it did not
	// Unanswered is the request to which whoever is behind a conversing agent had
	// nothing more to give.
	Unanswered *record.Next
	Ended      *record.Ended
	// Confidence is what a program said of its own output, nil if it did not.
	Confidence *float64
}
