package scorers

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/agentbench/agentbench/scorers/textual"
)

// exact compares as texts: the number 18 equals the text "18". Letter case counts unless ignore_case is set, white
// space at the ends does not unless trim is false.
func exact(c *compiler) comparison {
	if c.spec.Normalize == "squad" {
		return exactMatch
	}
	same := c.sameText()
	return func(_ context.Context, s *subject) verdict {
		got, want := text(s.value), text(s.target)
		return hit(same(got, want), want, got)
	}
}

// exactMatch is that of SQuAD: the same text in its normalisation. Of a target that is a list any will do.
func exactMatch(_ context.Context, s *subject) verdict {
	got, targets, err := compared(s)
	if err != nil {
		return unscored("%v", err)
	}
	normalized := textual.SQuAD(got)
	fits := slices.ContainsFunc(targets, func(want string) bool { return textual.SQuAD(want) == normalized })
	return hit(fits, oneOfThese(targets), got)
}

// oneOfThese are texts of which any will do, as an explanation names them.
func oneOfThese(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// sameText is the equality that trim and ignore_case ask for.
func (c *compiler) sameText() func(a, b string) bool {
	trim := c.spec.Trim == nil || *c.spec.Trim
	ignoreCase := c.spec.IgnoreCase
	return func(a, b string) bool {
		if trim {
			a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		}
		if ignoreCase {
			return strings.EqualFold(a, b)
		}
		return a == b
	}
}

// folded is one text for all that differ only in letter case, in the sense of strings.EqualFold.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}
