package stop

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// BegunTools are the tool calls that had begun at a time.
func BegunTools(calls []record.ToolCall, at time.Duration) []record.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c record.ToolCall) bool { return c.Start > at })
}
