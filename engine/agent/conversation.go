package agent

import (
	"cmp"
	"context"

	"github.com/agentbench/agentbench/engine/agent/dialect"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Conversation is an agent that converses with a model within an iteration: it
// calls tools, hands tasks to delegates, remembers earlier iterations, or is
// answered by a user.
//
// What it sends is a function of the turn and of the iteration's record so far,
// so that Retrace can tell it of any recorded iteration.
type Conversation struct {
	Model     model.Model // nil: it can only tell what it would send
	ModelName string      // in the suite
	Spec      *spec.Agent // of the stage, overrides applied
	MaxSteps  int         // model calls of an iteration; 0: DefaultMaxSteps
	Tools     *Toolbox    // nil: none
	User      User        // nil: nobody answers
}

// User answers a conversing agent where it calls no tool.
type User interface {
	// Answer gives the user's turn. Its call, where there is one, is given with an
	// error as well.
	Answer(ctx context.Context, heard *Heard) (Answer, error)
	// Again gives the turn again that a record has. Why says that it would be
	// another one; nobody is asked.
	Again(ctx context.Context, heard *Heard, recorded Answer) (a Answer, why string, err error)
}

// Answer is a user's turn.
type Answer struct {
	Text string // "" where the user has nothing more to say
	Over bool   // the conversation is over
	// Unanswered is the hash of the request to which a model that plays the user had
	// nothing more to give.
	Unanswered string
	Call       *record.Call
}

// Heard is a conversation as its user hears it: without tools.
type Heard struct {
	Turn  *Turn
	Lines []Line
	Turns int // of the user in this iteration, after the prompt
	All   int // of the user in the conversation, which memory carries over iterations
}

// Line is what one side said.
type Line struct {
	User bool // who also says the prompts
	Text string
}

// DefaultMaxSteps is how many steps an iteration may have where nothing is said.
const DefaultMaxSteps = 5

// Execute converses until the model calls no tool, or something ends it.
func (c *Conversation) Execute(ctx context.Context, turn *Turn) (Result, error) {
	set, asked, err := c.Tools.open(ctx, turn.Servers)
	if err != nil {
		return Result{Servers: asked}, err
	}
	t := c.begin(turn, set.Definitions())
	t.set, t.result.Servers = set, asked
	for over := false; !over && err == nil; {
		over, err = t.step(ctx)
	}
	if err != nil {
		t.silence()
	}
	return t.result, err
}

func (c *Conversation) dialect() dialect.Dialect { return dialect.Dialect(c.Spec.ToolCalls) }

func (c *Conversation) maxSteps() int { return cmp.Or(c.MaxSteps, DefaultMaxSteps) }
