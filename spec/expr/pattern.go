package expr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// Regular expressions (those of RE2) are limited wherever one is written: in expressions, scorers, JSON Schemas and the
// rules of the mock. A search takes time proportional to the instructions that the expression is compiled to, times the bytes of the
// text. Both are known before it begins, so their product is what is limited: the same search is refused on every
// machine, however busy. Literal prefixes and anchors make many searches faster than that; the rule does not count on it.
const (
	// MaxPatternSteps is how many instructions times bytes a search may take: 0.2 to 0.6 s where every instruction is
	// live at every byte (docs/benchmarks.md).
	MaxPatternSteps = 50_000_000

	maxInstructions = 50_000 // compiling that many takes some 20 ms
	maxGroups       = 99     // a search copies the groups with every instruction that is live
	uninterrupted   = MaxPatternSteps / 50
)

// PatternHint helps where CompilePattern fails.
func PatternHint(err error) string {
	if _, wrong := errors.AsType[*syntax.Error](err); wrong {
		return "regular expressions are those of RE2: no look-around, no back references"
	}
	return "repeat less, write a shorter one, and (?:...) for groups whose text is not used"
}

// Pattern is a compiled regular expression. It is safe for concurrent use.
type Pattern struct {
	source string
	whole  counted
	rest   func() counted // searches beyond the first match
}

// counted is an expression and how many instructions it has.
type counted struct {
	*regexp.Regexp
	instructions int
}

// CompilePattern refuses what is no regular expression, and what is so large that it could hardly search a page.
func CompilePattern(source string) (*Pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if about := size(tree) + 2; about > maxInstructions {
		return nil, fmt.Errorf("the regular expression is compiled to about %d instructions; at most %d are allowed", about, maxInstructions)
	}
	if groups := tree.MaxCap(); groups > maxGroups {
		return nil, fmt.Errorf("the regular expression has %d groups; at most %d are allowed", groups, maxGroups)
	}
	whole := compile(source)
	// A search from the middle of a text sees one character before it, for \b and ^. The outer group is the match.
	rest := sync.OnceValue(func() counted { return compile(`\A(?s:.)(?s:.*?)(` + source + `)`) })
	return &Pattern{source, whole, rest}, nil
}

// compile wants an expression that can be parsed.
func compile(source string) counted {
	re := regexp.MustCompile(source)
	tree, _ := syntax.Parse(source, syntax.Perl) // MustCompile has done the same
	program, _ := syntax.Compile(tree.Simplify())
	return counted{re, len(program.Inst)}
}

// size is at least how many instructions an expression is compiled to, but for the first and the last. It counts repetitions without making them.
func size(tree *syntax.Regexp) int {
	const most = 1 << 40
	n := 2 // its own, and one of what it is a part of
	for _, part := range tree.Sub {
		n += size(part)
	}
	switch tree.Op {
	case syntax.OpLiteral:
		n += len(tree.Rune)
	case syntax.OpRepeat:
		n *= max(tree.Max, tree.Min+1)
	}
	return min(n, most)
}

// String is the expression as it was written.
func (p *Pattern) String() string { return p.source }

// Groups is how many groups the expression has.
func (p *Pattern) Groups() int { return p.whole.NumSubexp() }

// Instructions is how many the expression is compiled to.
func (p *Pattern) Instructions() int { return p.whole.instructions }

// Steps is what a search of a text may take: instructions times bytes.
func (p *Pattern) Steps(text string) int64 { return int64(p.whole.instructions) * int64(len(text)) }

// PatternError refuses a search.
type PatternError struct {
	Instructions int
	Bytes        int  // of the text, or those that its matches read one after the other
	Matches      bool // it is the many matches that take so long
}

func (e *PatternError) Error() string {
	if e.Matches {
		return fmt.Sprintf("finding all matches takes too long: %d instructions x more than %d bytes; at most %d are allowed", e.Instructions, e.Bytes, MaxPatternSteps)
	}
	return fmt.Sprintf("the regular expression takes too long: %d instructions x %d bytes = %d steps; at most %d are allowed",
		e.Instructions, e.Bytes, int64(e.Instructions)*int64(e.Bytes), MaxPatternSteps)
}

func (p *Pattern) refuse(text string) error {
	if p.Steps(text) > MaxPatternSteps {
		return &PatternError{Instructions: p.whole.instructions, Bytes: len(text)}
	}
	return nil
}

// Match reports whether the expression matches anywhere in the text. The error is an *Error, or that of the context: a
// long search ends with it.
func (p *Pattern) Match(ctx context.Context, text string) (bool, error) {
	if err := p.refuse(text); err != nil {
		return false, err
	}
	if p.Steps(text) <= uninterrupted {
		return p.whole.MatchString(text), nil
	}
	r := newReader(ctx, text, p.whole, MaxPatternSteps)
	found := p.whole.MatchReader(r)
	return found, r.failed
}

// Find is the first match and its groups, as pairs of offsets like those of [regexp.Regexp.FindStringSubmatchIndex].
func (p *Pattern) Find(ctx context.Context, text string) ([]int, error) {
	if err := p.refuse(text); err != nil {
		return nil, err
	}
	if p.Steps(text) <= uninterrupted {
		return p.whole.FindStringSubmatchIndex(text), nil
	}
	r := newReader(ctx, text, p.whole, MaxPatternSteps)
	found := p.whole.FindReaderSubmatchIndex(r)
	return found, r.failed
}

// All gives every match in turn, as [regexp.Regexp.FindAllStringSubmatchIndex] does, until yield returns false, and
// returns how many steps that took. Each match may look at all the rest of the text in vain for a longer one. So what
// they read is counted, and all of them together may take as many steps as one search.
func (p *Pattern) All(ctx context.Context, text string, yield func(match []int) bool) (steps int64, err error) {
	if err := p.refuse(text); err != nil {
		return 0, err
	}
	from, before := 0, -1 // where the next search begins, and where the last match ended
	if atOnce := int(uninterrupted / max(1, p.Steps(text))); atOnce > 0 {
		matches := p.whole.FindAllStringSubmatchIndex(text, atOnce)
		for _, match := range matches {
			if !yield(match) {
				return int64(atOnce) * p.Steps(text), nil
			}
			from, before = match[1], match[1]
		}
		if steps = int64(len(matches)+1) * p.Steps(text); len(matches) < atOnce {
			return steps, nil
		}
	}
	for from <= len(text) {
		match, took, err := p.from(ctx, text, from, MaxPatternSteps-steps)
		if steps += took; err != nil || match == nil {
			return steps, err
		}
		isNew := match[0] != before || match[1] != from // not an empty one where another ended
		if before = match[1]; match[1] == from {
			_, width := utf8.DecodeRuneInString(text[from:])
			from += max(1, width)
		} else {
			from = match[1]
		}
		if isNew && !yield(match) {
			return steps, nil
		}
	}
	return steps, nil
}

// from is the first match that begins at an offset or later, and the steps that it took.
func (p *Pattern) from(ctx context.Context, text string, from int, most int64) (match []int, steps int64, err error) {
	if from == 0 {
		r := newReader(ctx, text, p.whole, most)
		match := p.whole.FindReaderSubmatchIndex(r)
		return match, r.steps(), r.failed
	}
	_, width := utf8.DecodeLastRuneInString(text[:from])
	begin := from - width
	r := newReader(ctx, text[begin:], p.rest(), most)
	found := p.rest().FindReaderSubmatchIndex(r)
	if r.failed != nil || found == nil {
		return nil, r.steps(), r.failed
	}
	match = found[2:]
	for i := range match {
		if match[i] >= 0 {
			match[i] += begin
		}
	}
	return match, r.steps(), nil
}

// reader is a text that a search reads, which it ends by an end of the text: where the context has ended, and where
// it has read too much.
type patternReader struct {
	ctx    context.Context
	text   string
	by     counted
	at     int // in bytes
	most   int
	look   int // where the context is looked at next
	failed error
}

func newReader(ctx context.Context, text string, by counted, steps int64) *patternReader {
	return &patternReader{ctx: ctx, text: text, by: by, most: int(steps / int64(by.instructions))}
}

func (r *patternReader) steps() int64 { return int64(r.at) * int64(r.by.instructions) }

// ReadRune implements [io.RuneReader].
func (r *patternReader) ReadRune() (char rune, width int, err error) {
	if r.at == len(r.text) || r.failed != nil {
		return 0, 0, io.EOF
	}
	if r.at >= r.look {
		r.look = r.at + max(1, uninterrupted/r.by.instructions)
		r.failed = context.Cause(r.ctx)
	}
	if r.at >= r.most {
		r.failed = &PatternError{Instructions: r.by.instructions, Bytes: MaxPatternSteps / r.by.instructions, Matches: true}
	}
	if r.failed != nil {
		return 0, 0, io.EOF
	}
	char, width = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += width
	return char, width, nil
}
