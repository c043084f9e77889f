package scorers

import (
	"context"

	"github.com/agentbench/agentbench/engine/record"
)

// steps holds where the agent took so many steps, those of its delegates included where they are wanted. An agent that
// does not converse takes none.
func steps(c *compiler) comparison {
	within, delegates := c.within(), c.spec.Delegates
	return func(_ context.Context, s *subject) verdict {
		taken := 0
		for n := range s.seen {
			taken += len(s.run.Iterations[n].Steps)
		}
		if delegates {
			for _, call := range s.calls(true) {
				taken += delegatedSteps(call.ToolCall)
			}
		}
		return within(taken)
	}
}

// delegatedSteps are those of the run to which a call handed its task, without those of its own delegates.
func delegatedSteps(call *record.ToolCall) (taken int) {
	if call.Delegated == nil {
		return 0
	}
	for i := range call.Delegated.Iterations {
		taken += len(call.Delegated.Iterations[i].Steps)
	}
	return taken
}
