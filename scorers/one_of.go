package scorers

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// oneOf compares with each of the options, or of the items of the target, as exact does. A target that is no list is
// the only one allowed.
func oneOf(c *compiler) comparison {
	same := c.sameText()
	options := c.options()
	if options != nil {
		c.made.needsTarget = false
	}
	return func(_ context.Context, s *subject) verdict {
		allowed := options
		if allowed == nil {
			allowed = textsOf(s.target)
		}
		if len(allowed) == 0 {
			return unscored("%v", errNoTargets)
		}
		got := text(s.value)
		fits := slices.ContainsFunc(allowed, func(option string) bool { return same(got, option) })
		return hit(fits, "one of "+strings.Join(allowed, ", "), got)
	}
}

// options are the texts of the options, nil where none are declared.
func (c *compiler) options() []string {
	if c.spec.Options == nil {
		return nil
	}
	for _, option := range c.spec.Options {
		switch option.(type) {
		case string, bool, int64, float64:
		default:
			c.fault("options", "options are texts, numbers or booleans")
			return nil
		}
	}
	return textsOf(c.spec.Options)
}

var errNoTargets = errors.New("the target is an empty list")

// textsOf are the texts of a list, or the one of what is no list.
func textsOf(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = text(list[i])
	}
	return texts
}
