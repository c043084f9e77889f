package scorers

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/scorers/textual"
	"github.com/agentbench/agentbench/spec/expr"
)

// contains is the share of the target's items, or of the one that it is, that the text of the value contains.
func contains(c *compiler) comparison {
	look := c.lookFor(strings.Contains, func(texts, found []string, _ string) verdict {
		v := verdict{value: float64(len(found)) / float64(len(texts))}
		if missing := firstMissing(texts, found); missing >= 0 {
			v.explanation = quoted(texts[missing]) + " is not in it"
		}
		return v
	})
	return func(ctx context.Context, s *subject) verdict {
		if list, ok := s.target.([]any); isEmpty(s.target) || ok && slices.ContainsFunc(list, isEmpty) {
			return emptyTarget
		}
		return look(ctx, s)
	}
}

var emptyTarget = unscored("the target is empty, which every text contains")

func firstMissing(texts, found []string) int {
	return slices.IndexFunc(texts, func(want string) bool { return !slices.Contains(found, want) })
}

// containsAll holds where the value contains each of the texts looked for.
func containsAll(c *compiler) comparison {
	return c.lookFor(strings.Contains, func(texts, found []string, _ string) verdict {
		missing := firstMissing(texts, found)
		if missing < 0 {
			return verdict{value: 1}
		}
		return verdict{explanation: fmt.Sprintf("%s is not in it (%d of %d are)", quoted(texts[missing]), len(found), len(texts))}
	})
}

// lookFor looks for the options, or the items of the target, in the text of the value. An empty text would be found
// everywhere.
func (c *compiler) lookFor(match func(got, want string) bool, judge func(texts, found []string, got string) verdict) comparison {
	options, fold := c.options(), func(s string) string { return s }
	if c.spec.IgnoreCase {
		fold = folded
	}
	return func(_ context.Context, s *subject) verdict {
		texts, got := options, text(s.value)
		if texts == nil {
			texts = textsOf(s.target)
		}
		switch {
		case len(texts) == 0:
			return noTargets
		case slices.Contains(texts, ""):
			return emptyTarget
		}
		in := fold(got)
		return judge(texts, slices.DeleteFunc(slices.Clone(texts), func(want string) bool { return !match(in, fold(want)) }), got)
	}
}

// containsAny holds where the value contains one of the texts looked for.
func containsAny(c *compiler) comparison {
	return c.lookFor(strings.Contains, func(texts, found []string, _ string) verdict {
		return holding(len(found) > 0, short("none of these is in it: "+strings.Join(texts, ", "), maxAnswer))
	})
}

// oneOf compares with each of the options, or of the items of the target, as exact does. A target that is no list is
// the only one allowed.
func oneOf(c *compiler) comparison {
	same := c.sameText()
	options := c.options()
	return func(_ context.Context, s *subject) verdict {
		allowed := options
		if allowed == nil {
			allowed = textsOf(s.target)
		}
		if len(allowed) == 0 {
			return noTargets
		}
		got := text(s.value)
		fits := slices.ContainsFunc(allowed, func(option string) bool { return same(got, option) })
		return hit(fits, "one of "+strings.Join(allowed, ", "), got)
	}
}

// options are the texts of the options, which take the target's place; nil where none are declared.
func (c *compiler) options() []string {
	if c.spec.Options == nil {
		return nil
	}
	c.made.needsTarget = false
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

var noTargets = unscored("the target is an empty list")

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

// startsWith holds where the value starts with one of the texts looked for; white space before it does not count.
func startsWith(c *compiler) comparison {
	starts := func(got, want string) bool {
		return strings.HasPrefix(strings.TrimLeftFunc(got, unicode.IsSpace), want)
	}
	return c.lookFor(starts, func(texts, found []string, got string) verdict {
		return hit(len(found) > 0, "one of "+strings.Join(texts, ", "), got)
	})
}

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
		found, err := re.Match(got)
		if err != nil {
			return unscored("%v", err)
		}
		return holding(found, noMatch)
	}
}

// regexp compiles the value of a key; nil after a fault.
func (c *compiler) regexp(key, source string) *expr.Pattern {
	re, err := expr.CompilePattern(source)
	if err != nil {
		c.fault(key, "%v", err)
	}
	return re
}

// extraction takes the answer out of the subject's value; nil or "" where it finds none.
type extraction func(ctx context.Context, s *subject) (any, error)

// extraction compiles `extract`; nil without it. As an expression it sees what `value` sees, so that one of both is
// too many.
func (c *compiler) extraction() extraction {
	x := c.spec.Extract
	switch {
	case x == nil:
		return nil
	case x.Expr == nil:
		re := c.regexp("extract", x.Regex)
		return func(_ context.Context, s *subject) (any, error) { return lastMatch(re, text(s.value)) }
	case c.spec.Value != nil:
		c.fault("value", "value and extract.expr are both expressions for the answer: write one of them")
	}
	program := c.expression(x.Expr)
	return func(ctx context.Context, s *subject) (any, error) { return program.Value(ctx, s) }
}

// lastMatch is what the expression took out of its last match, because answers come at the end: the first group that
// took part in it, else the whole match; "" where nothing matches.
func lastMatch(re *expr.Pattern, s string) (found string, err error) {
	if err := searchable(s); err != nil {
		return "", err
	}
	all, err := re.All(s, -1)
	if len(all) == 0 {
		return "", err
	}
	last := all[len(all)-1]
	for i := 2; i < len(last); i += 2 {
		if last[i] >= 0 {
			return s[last[i]:last[i+1]], nil
		}
	}
	return s[last[0]:last[1]], nil
}

// numeric compares numbers. The difference may be as large as tolerance, or as the relative share of the target,
// whichever allows more; without both it must be 0. See textual.Number for what is a number in a text.
func numeric(c *compiler) comparison {
	absolute, relative := c.spec.Tolerance, c.spec.Relative
	return func(_ context.Context, s *subject) verdict {
		want, ok := number(s.target)
		if !ok {
			return unscored("the target is not a number: %s", quoted(text(s.target)))
		}
		got, ok := number(s.value)
		if !ok {
			return verdict{explanation: "it is not a number"}
		}
		allowed := 0.0
		if absolute != nil {
			allowed = *absolute
		}
		if relative != nil {
			allowed = max(allowed, *relative*math.Abs(want))
		}
		near := got == want || allowed > 0 && math.Abs(got-want) <= allowed+rounding(got, want)
		return hit(near, text(s.target), text(s.value))
	}
}

// rounding is what decimal numbers may be off in binary: 1.1 is within 0.1 of 1.0.
func rounding(a, b float64) float64 {
	const steps = 4
	return steps * 0x1p-52 * max(math.Abs(a), math.Abs(b))
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case int64:
		return float64(v), true
	case string:
		return textual.Number(v)
	}
	return 0, false
}

// mathematics compares final answers by what they mean: the same number however it is written, within the tolerance,
// lists of the same, or the same expression as it is written. Of a target that is a list any will do. See
// textual.Parse for what is read.
func mathematics(c *compiler) comparison {
	var tolerance *big.Rat
	if c.spec.Tolerance != nil {
		tolerance = textual.Tolerance(*c.spec.Tolerance)
	}
	return func(_ context.Context, s *subject) verdict {
		text, targets, err := compared(s)
		if err != nil {
			return unscored("%v", err)
		}
		got := textual.Parse(text)
		v := verdict{answer: short(got.Text, maxAnswer)}
		var wanted []string
		for _, target := range targets {
			want := textual.Parse(target)
			if want.Text == "" {
				return unscored("the target is empty")
			}
			if got.Equal(want, tolerance) {
				v.value = 1
				return v
			}
			wanted = append(wanted, want.Text)
		}
		v.explanation = differs(oneOfThese(wanted), got.Text)
		return v
	}
}

const (
	maxAnswer      = 200     // characters of an answer that are kept
	maxExplanation = 1000    // characters of what a judge says that are kept
	maxQuoted      = 60      // characters of a value that an explanation shows
	maxSearch      = 1 << 20 // bytes that are searched or parsed; what is longer is unscored
)

// text is how a value is compared as a text: a text as it is, anything else as JSON on one line, so that the number 18
// is the text 18.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	written, err := expr.AppendJSON(nil, value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(written)
}

func isEmpty(value any) bool {
	if s, ok := value.(string); ok {
		return strings.TrimSpace(s) == ""
	}
	return value == nil
}

// short cuts a text to at most so many characters, of which the last is then an ellipsis. It is not cut within a word.
func short(s string, characters int) string {
	if within(s, characters) < len(s) {
		s = secret.Prefix(s, within(s, characters-1)) + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// within is how many bytes the first characters of a text have.
func within(s string, characters int) int {
	if len(s) <= characters {
		return len(s)
	}
	for i := range s {
		if characters == 0 {
			return i
		}
		characters--
	}
	return len(s)
}

func quoted(s string) string {
	shown := short(s, maxQuoted)
	if strings.TrimSpace(shown) != shown || strings.ContainsFunc(shown, unicode.IsControl) {
		return strconv.Quote(shown)
	}
	return shown
}

// searchable refuses a text that is too long to be searched or parsed.
func searchable(s string) error {
	if len(s) > maxSearch {
		return fmt.Errorf("the value has %d bytes; at most %d are searched", len(s), maxSearch)
	}
	return nil
}
