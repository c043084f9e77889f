package scorers

import (
	"context"
	"fmt"
	"slices"
)

// toolsNotCalled holds where the agent tried none of the tools.
func toolsNotCalled(c *compiler) comparison {
	forbidden, delegates := c.wanted(), c.spec.Delegates
	return func(_ context.Context, s *subject) verdict {
		calls, not := s.calls(delegates), forbidden(s)
		var got []string
		for _, call := range calls {
			got = append(got, call.Tool)
		}
		v := verdict{value: 1, answer: sequence(distinct(got))}
		for _, call := range calls {
			if slices.Contains(not, call.Tool) {
				v.value, v.explanation = 0, fmt.Sprintf("%s was called in iteration %d", quoted(call.Tool), call.Iteration)
				break
			}
		}
		return v
	}
}
