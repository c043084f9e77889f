package stop

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Begun is how many calls of an iteration had begun when a timeout cancelled it:
// the others, which only an as-if clock can show, would not have been made.
// Worked is the working time of the run before the iteration.
func Begun(r *Rules, it *record.Iteration, worked time.Duration) int {
	for i := range it.Calls {
		begins := it.Calls[i].Start
		if r.working {
			begins = worked
		}
		if i > 0 && begins >= r.cancelAt {
			return i
		}
		worked += it.Calls[i].Duration
	}
	return len(it.Calls)
}

// BegunTools are the tool calls that had begun at a time.
func BegunTools(calls []record.ToolCall, at time.Duration) []record.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c record.ToolCall) bool { return c.Start > at })
}
