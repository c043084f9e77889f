package scorers

import (
	"context"
	"strings"
)

// contains looks for the target in the text of the value. Of a target that is a list it gives the share that is there.
func contains(c *compiler) comparison {
	ignoreCase := c.spec.IgnoreCase
	return func(_ context.Context, s *subject) verdict {
		wanted, ok := s.target.([]any)
		if !ok {
			wanted = []any{s.target}
		}
		got := text(s.value)
		if ignoreCase {
			got = folded(got)
		}
		return shareOf(wanted, func(want string) bool {
			if ignoreCase {
				want = folded(want)
			}
			return strings.Contains(got, want)
		})
	}
}

func shareOf(wanted []any, there func(string) bool) verdict {
	if len(wanted) == 0 {
		return unscored("the target is an empty list")
	}
	found, missing := 0, ""
	for _, item := range wanted {
		switch want := text(item); {
		case isEmpty(item):
			return unscored("the target is empty, which every text contains")
		case there(want):
			found++
		case missing == "":
			missing = want
		}
	}
	v := verdict{value: float64(found) / float64(len(wanted))}
	if missing != "" {
		v.explanation = quoted(missing) + " is not in it"
	}
	return v
}
