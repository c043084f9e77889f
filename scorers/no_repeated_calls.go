package scorers

import (
	"context"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
)

// noRepeatedCalls holds where no tool was called twice with the same arguments; the order of keys, and how numbers are
// written, make no difference.
func noRepeatedCalls(c *compiler) comparison {
	counted := c.counted()
	return func(_ context.Context, s *subject) verdict {
		calls := counted(s)
		v := verdict{value: 1, answer: fmt.Sprint(len(calls))}
		seen := make(map[string]int, len(calls))
		for _, call := range calls {
			key := call.Tool + "\x00" + string(record.Canonical(call.Arguments))
			if seen[key]++; seen[key] == 2 {
				v.value = 0
				v.explanation = fmt.Sprintf("%s(%s) is repeated in iteration %d", quoted(call.Tool), short(string(call.Arguments), maxQuoted), call.Iteration)
				break
			}
		}
		return v
	}
}
