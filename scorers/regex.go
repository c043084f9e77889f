package scorers

import (
	"context"
	"regexp"
)

// regex looks for a match of the pattern (RE2) anywhere in the text of the value.
func regex(c *compiler) comparison {
	re := c.regexp("pattern", c.spec.Pattern)
	if c.spec.IgnoreCase && re != nil {
		re = regexp.MustCompile("(?i)" + c.spec.Pattern)
	}
	noMatch := "no match of " + quoted(c.spec.Pattern)
	return func(_ context.Context, s *subject) verdict {
		got := text(s.value)
		if err := searchable(got); err != nil {
			return unscored("%v", err)
		}
		if re.MatchString(got) {
			return verdict{value: 1}
		}
		return verdict{explanation: noMatch}
	}
}

// regexp compiles what is written under a key; nil after a fault.
func (c *compiler) regexp(key, pattern string) *regexp.Regexp {
	re, err := regexp.Compile(pattern)
	if err != nil {
		c.fault(key, "%v", err)
	}
	return re
}
