package scorers

import (
	"context"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// finishReason holds where the agent's last call of the iteration ended as one of the options says, by default with
// stop: the model had said all that it wanted. Where nobody told how it ended there is nothing to judge.
func finishReason(c *compiler) comparison {
	wanted := c.options()
	if wanted == nil {
		wanted = []string{"stop"}
	}
	return func(_ context.Context, s *subject) verdict {
		it := s.judged()
		if it == nil {
			return nothing
		}
		finish := lastFinish(it)
		if finish == "" {
			return unscored("nothing tells how the last call of iteration %d ended", s.n)
		}
		v := hit(slices.Contains(wanted, finish), strings.Join(wanted, " or "), finish)
		v.answer = short(finish, maxAnswer)
		return v
	}
}

// lastFinish is how the agent's own last call ended; "" where it made none, or is not told.
func lastFinish(it *record.Iteration) string {
	for _, call := range slices.Backward(it.Calls) {
		if call.Role == record.RoleAgent && call.Delegate == "" {
			return call.Finish
		}
	}
	return ""
}
