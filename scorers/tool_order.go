package scorers

import (
	"context"
	"slices"
)

// toolOrder is the share of the tools that were called in the order wanted, whatever was called between them; with
// exactly the calls are to be these and no others.
func toolOrder(c *compiler) comparison {
	wanted, delegates, exactly := c.wanted(), c.spec.Delegates, c.spec.Exactly
	return func(_ context.Context, s *subject) verdict {
		want, got := wanted(s), made(s.calls(delegates))
		v := verdict{value: share(inOrder(want, got), len(want)), answer: sequence(got)}
		if exactly && !slices.Equal(want, got) {
			v.value = 0
		}
		if v.value < 1 {
			v.explanation = differs(sequence(want), v.answer)
		}
		return v
	}
}

// inOrder is the length of the longest list that is left of both when names are left out of them.
func inOrder(want, got []string) int {
	best := make([]int, len(want)+1) // best[i]: of the first i wanted and those got so far
	for _, name := range got {
		before := 0 // best[i-1] without this name
		for i := range want {
			old := best[i+1]
			if want[i] == name {
				best[i+1] = before + 1
			}
			best[i+1] = max(best[i+1], best[i], old)
			before = old
		}
	}
	return best[len(want)]
}
