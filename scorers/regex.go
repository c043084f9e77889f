package scorers

import (
	"context"

	"github.com/agentbench/agentbench/spec/expr"
)

// regex looks for a match of the pattern (RE2) anywhere in the text of the value.
func regex(c *compiler) comparison {
	re := c.regexp("pattern", c.spec.Pattern)
	if c.spec.IgnoreCase && re != nil {
		re = c.regexp("pattern", "(?i)"+c.spec.Pattern)
	}
	noMatch := "no match of " + quoted(c.spec.Pattern)
	return func(ctx context.Context, s *subject) verdict {
		got := text(s.value)
		if err := searchable(got); err != nil {
			return unscored("%v", err)
		}
		switch found, err := re.Match(ctx, got); {
		case err != nil:
			return unscored("%v", err)
		case found:
			return verdict{value: 1}
		}
		return verdict{explanation: noMatch}
	}
}

// regexp compiles what is written under a key; nil after a fault.
func (c *compiler) regexp(key, source string) *expr.Pattern {
	re, err := expr.CompilePattern(source)
	if err != nil {
		c.fault(key, "%v", err)
	}
	return re
}
