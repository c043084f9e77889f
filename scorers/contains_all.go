package scorers

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// containsAll holds where each of the texts looked for stands in the value.
func containsAll(c *compiler) comparison {
	return c.lookFor(strings.Contains, func(texts, found []string, _ string) verdict {
		missing := slices.IndexFunc(texts, func(want string) bool { return !slices.Contains(found, want) })
		if missing < 0 {
			return verdict{value: 1}
		}
		return verdict{explanation: fmt.Sprintf("%s is not in it (%d of %d are)", quoted(texts[missing]), len(found), len(texts))}
	})
}

// lookFor looks for the options, or the items of the target, in the text of the value. A text that is empty is found
// everywhere, so that nothing is told by it.
func (c *compiler) lookFor(match func(got, want string) bool, judge func(texts, found []string, got string) verdict) comparison {
	options, fold := c.options(), func(s string) string { return s }
	if c.spec.IgnoreCase {
		fold = folded
	}
	if options != nil {
		c.made.needsTarget = false
	}
	return func(_ context.Context, s *subject) verdict {
		texts, got := options, text(s.value)
		if texts == nil {
			texts = textsOf(s.target)
		}
		switch {
		case len(texts) == 0:
			return unscored("the target is an empty list")
		case slices.Contains(texts, ""):
			return unscored("the target is empty, which every text contains")
		}
		in := fold(got)
		return judge(texts, slices.DeleteFunc(slices.Clone(texts), func(want string) bool { return !match(in, fold(want)) }), got)
	}
}
