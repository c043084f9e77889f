package scorers

import (
	"context"
	"errors"
	"regexp"
	"time"
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

const (
	quickly    = 1 << 16 // bytes of a text that is searched without a limit of time
	atOnce     = 64      // matches of such a text; fewer of a longer one
	searchTime = time.Second
)

var errSearchTime = errors.New("searching takes too long: the text is long and has many matches")

// lastMatch is what the expression took out of its last match, because answers stand at the end: the first group that
// took part in it, else the whole match; "" where nothing matches.
//
// One search is linear in the text, but each of many matches may have looked at all the rest of it. So there are only
// so many at once, and a long text has a limit of time. A search that goes on begins anew at the last match.
func lastMatch(ctx context.Context, re *regexp.Regexp, s string) (string, error) {
	if err := searchable(s); err != nil {
		return "", err
	}
	if len(s) > quickly {
		limited, cancel := context.WithTimeout(ctx, searchTime)
		defer cancel()
		ctx = limited
	}
	found := ""
	for {
		n := atOnce * quickly / max(len(s), quickly) // at least 4
		matches := re.FindAllStringSubmatchIndex(s, n)
		if len(matches) == 0 {
			return found, nil
		}
		last := matches[len(matches)-1]
		found = taken(s, last)
		if len(matches) < n {
			return found, nil
		}
		if ctx.Err() != nil {
			return "", errSearchTime
		}
		s = s[last[0]:]
	}
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
