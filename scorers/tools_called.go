package scorers

import (
	"context"
	"slices"
	"strings"
)

// toolsCalled is the share of the tools that were called at least once.
func toolsCalled(c *compiler) comparison {
	wanted, delegates := c.wanted(), c.spec.Delegates
	return func(_ context.Context, s *subject) verdict {
		all, got := distinct(wanted(s)), distinct(made(s.calls(delegates)))
		missing := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(got, name) })
		v := verdict{value: share(len(all)-len(missing), len(all)), answer: sequence(got)}
		if len(missing) > 0 {
			v.explanation = short("not called: "+strings.Join(missing, ", "), maxAnswer)
		}
		return v
	}
}

// share is a part of a whole; of nothing it is all.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}
