package expr

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"time"
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
	longestSearch   = 2 * time.Second
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
	re           *regexp.Regexp
	instructions int
}

// CompilePattern refuses what is no regular expression, and what is so large that it could hardly search a page.
func CompilePattern(source string) (*Pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if groups := tree.MaxCap(); groups > maxGroups {
		return nil, fmt.Errorf("the regular expression has %d groups; at most %d are allowed", groups, maxGroups)
	}
	n := leastInstructions(tree)
	var program *syntax.Prog
	if n <= maxInstructions {
		if program, err = syntax.Compile(tree.Simplify()); err != nil {
			return nil, err
		}
		n = len(program.Inst)
	}
	if n > maxInstructions {
		return nil, fmt.Errorf("the regular expression is compiled to at least %d instructions; at most %d are allowed", n, maxInstructions)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, n}, nil
}

// leastInstructions counts those of the characters alone: a few letters that are repeated often take seconds to compile.
func leastInstructions(tree *syntax.Regexp) (n int) {
	switch tree.Op {
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	}
	for _, sub := range tree.Sub {
		n += leastInstructions(sub)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min, tree.Max)
	}
	return n
}

// String is the expression as it was written.
func (p *Pattern) String() string { return p.re.String() }

// Groups is how many groups the expression has.
func (p *Pattern) Groups() int { return p.re.NumSubexp() }

// Steps is what a search of a text may take: instructions times bytes.
func (p *Pattern) Steps(text string) int64 { return int64(p.instructions) * int64(len(text)) }

func (p *Pattern) refuse(text string) error {
	if p.Steps(text) > MaxPatternSteps {
		return fmt.Errorf("the regular expression takes too long: %d instructions x %d bytes = %d steps; at most %d are allowed", p.instructions, len(text), p.Steps(text), MaxPatternSteps)
	}
	return nil
}

// Match reports whether the expression matches anywhere in the text. The error is that the search would take too long.
func (p *Pattern) Match(text string) (bool, error) {
	if err := p.refuse(text); err != nil {
		return false, err
	}
	return p.re.MatchString(text), nil
}

// Find is the first match and its groups, as pairs of offsets like those of [regexp.Regexp.FindStringSubmatchIndex].
func (p *Pattern) Find(text string) ([]int, error) {
	if err := p.refuse(text); err != nil {
		return nil, err
	}
	return p.re.FindStringSubmatchIndex(text), nil
}

// All gives the first matches, as [regexp.Regexp.FindAllStringSubmatchIndex] does; most below 0: all. Each may look at all the rest
// of the text in vain for a longer one, so that they are searched for twice as many at a time, until that has taken too long.
func (p *Pattern) All(text string, most int) ([][]int, error) {
	if err := p.refuse(text); err != nil {
		return nil, err
	}
	began := time.Now()
	for n := 16; ; n *= 2 {
		if most >= 0 && n >= most {
			return p.re.FindAllStringSubmatchIndex(text, most), nil
		}
		if found := p.re.FindAllStringSubmatchIndex(text, n); len(found) < n {
			return found, nil
		}
		if time.Since(began) > longestSearch {
			return nil, fmt.Errorf("finding all matches takes too long: up to %d instructions x %d bytes for each of more than %d matches", p.instructions, len(text), n)
		}
	}
}
