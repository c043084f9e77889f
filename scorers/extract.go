package scorers

import (
	"context"

	"github.com/agentbench/agentbench/spec/expr"
)

// extraction takes the answer out of the subject's value; nil or "" where it finds none.
type extraction func(ctx context.Context, s *subject) (any, error)

// extraction compiles `extract`; nil where there is none. As an expression it sees what `value` sees, so that both are
// one too many.
func (c *compiler) extraction() extraction {
	x := c.spec.Extract
	switch {
	case x == nil:
		return nil
	case x.Expr == nil:
		re := c.regexp("extract", x.Regex)
		return func(ctx context.Context, s *subject) (any, error) { return lastMatch(ctx, re, text(s.value)) }
	case c.spec.Value != nil:
		c.fault("value", "value and extract.expr are both expressions for the answer: write one of them")
	}
	program := c.expression(x.Expr)
	return func(ctx context.Context, s *subject) (any, error) { return program.Value(ctx, s) }
}

// lastMatch is what the expression took out of its last match, because answers stand at the end: the first group that
// took part in it, else the whole match; "" where nothing matches.
func lastMatch(ctx context.Context, re *expr.Pattern, s string) (found string, err error) {
	if err := searchable(s); err != nil {
		return "", err
	}
	_, err = re.All(ctx, s, func(match []int) bool {
		found = taken(s, match)
		return true
	})
	if err != nil {
		return "", err
	}
	return found, nil
}

// taken is the first group of a match that took part, else the match.
func taken(s string, match []int) string {
	for i := 2; i < len(match); i += 2 {
		if match[i] >= 0 {
			return s[match[i]:match[i+1]]
		}
	}
	return s[match[0]:match[1]]
}
