package expr

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// expressions generates regular expressions of every kind of node.
func expressions(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		leaf := rapid.SampledFrom([]string{"a", "b", "ab", "é", ".", `\w`, `\W`, "[ab]", "[^a]", `\pL`, "^", "$", `\b`, `\B`, `\A`, `\z`, "(?m:^)", "(?m:$)", "(?s:.)", "(?i:A)", ""})
		if depth == 0 {
			return leaf.Draw(t, "leaf")
		}
		part := func() string { return expressions(depth-1).Draw(t, "part") }
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1:
			return part() + part()
		case 2, 3:
			return "(?:" + part() + "|" + part() + ")"
		case 4:
			return "(" + part() + ")"
		case 5:
			return "(?:" + part() + ")" + rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??"}).Draw(t, "often")
		case 6:
			least := rapid.IntRange(0, 4).Draw(t, "least")
			return fmt.Sprintf("(?:%s){%d,%s}", part(), least, rapid.SampledFrom([]string{"", fmt.Sprint(least), fmt.Sprint(least + 3)}).Draw(t, "most"))
		}
		return leaf.Draw(t, "leaf")
	})
}

func texts(most int) *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "aaaa", "é", "\xff", "\xc3", "\n", " ", "B"})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, most).Draw(t, "text"), "") })
}

// instructions counts them as Go does, apart from the code under test.
func instructions(t rapid.TB, source string) *syntax.Prog {
	t.Helper()
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// visited counts how many instructions a search for all matches that begin anywhere looks at: the live ones before each
// character and at the end.
func visited(program *syntax.Prog, text string) (steps int) {
	var next []uint32
	chars := append([]rune(text), -1)
	for i, char := range chars {
		before := rune(-1)
		if i > 0 {
			before = chars[i-1]
		}
		live := map[uint32]bool{}
		var add func(pc uint32)
		add = func(pc uint32) {
			if live[pc] {
				return
			}
			live[pc] = true
			switch in := &program.Inst[pc]; in.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				add(in.Out)
				add(in.Arg)
			case syntax.InstCapture, syntax.InstNop:
				add(in.Out)
			case syntax.InstEmptyWidth:
				if syntax.EmptyOp(in.Arg)&^syntax.EmptyOpContext(before, char) == 0 {
					add(in.Out)
				}
			}
		}
		for _, pc := range append(next, uint32(program.Start)) {
			add(pc)
		}
		steps += len(live)
		next = nil
		for pc := range live {
			switch in := &program.Inst[pc]; in.Op {
			case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
				if char >= 0 && in.MatchRune(char) {
					next = append(next, in.Out)
				}
			}
		}
	}
	return steps
}

// C.22: whatever the expression and the text, a search looks at no more than its instructions for each byte and the end
// of the text, and is refused exactly where the product is beyond the limit.
func TestSearchesAreBoundedBeforeTheyRun(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		source := expressions(4).Draw(t, "expression")
		p, err := CompilePattern(source)
		if err != nil {
			t.Fatal(source, err)
		}
		program := instructions(t, source)
		if p.Instructions() != len(program.Inst) {
			t.Fatalf("%q: %d instructions, and Go has %d", source, p.Instructions(), len(program.Inst))
		}
		text := texts(50).Draw(t, "text")
		if steps := visited(program, text); int64(steps) > p.Steps(text+"$") {
			t.Fatalf("%q on %q: %d steps, at most %d were told", source, text, steps, p.Steps(text))
		}
		most := MaxPatternSteps / len(program.Inst)
		long := strings.Repeat("a", most+1)
		if err := p.refuse(long[:most]); err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		var refused *PatternError
		for name, search := range patternSearches(p) {
			if err := search(t.Context(), long); !errors.As(err, &refused) || refused.Instructions != len(program.Inst) || refused.Bytes != len(long) {
				t.Fatalf("%s: %q on %d bytes: %v", name, source, len(long), err)
			}
		}
	})
}

// searches are all ways to search with an expression.
func patternSearches(p *Pattern) map[string]func(ctx context.Context, text string) error {
	return map[string]func(ctx context.Context, text string) error{
		"Match": func(ctx context.Context, text string) error { _, err := p.Match(ctx, text); return err },
		"Find":  func(ctx context.Context, text string) error { _, err := p.Find(ctx, text); return err },
		"All": func(ctx context.Context, text string) error {
			_, err := p.All(ctx, text, func([]int) bool { return true })
			return err
		},
	}
}

// What is found is what Go finds, at once or while counting what is read.
func TestSearchesFindWhatGoFinds(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		p, err := CompilePattern(expressions(4).Draw(t, "expression"))
		if err != nil {
			t.Fatal(err)
		}
		text := texts(3000).Draw(t, "text")
		if rapid.Bool().Draw(t, "long") {
			text = strings.Repeat(text, 20)
		}
		if p.Steps(text) > MaxPatternSteps/5 { // Go's own search for comparison is not bounded
			text = text[:MaxPatternSteps/5/p.Instructions()]
		}
		ctx := context.Background()
		if got, err := p.Match(ctx, text); err != nil || got != p.whole.MatchString(text) {
			t.Fatalf("%q: match %v, %v", p, got, err)
		}
		if got, err := p.Find(ctx, text); err != nil || !reflect.DeepEqual(got, p.whole.FindStringSubmatchIndex(text)) {
			t.Fatalf("%q: find %v, %v", p, got, err)
		}
		var got [][]int
		steps, err := p.All(ctx, text, func(match []int) bool { got = append(got, match); return len(got) < 2000 })
		if tooMany := new(*PatternError); errors.As(err, tooMany) && (*tooMany).Matches {
			if steps < MaxPatternSteps-int64(p.rest().instructions)*4 {
				t.Fatalf("%q: refused after %d steps: %v", p, steps, err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if steps > MaxPatternSteps+int64(p.rest().instructions)*4 {
			t.Fatalf("%q: %d steps", p, steps)
		}
		want := p.whole.FindAllStringSubmatchIndex(text, 2000)
		if err != nil {
			want = want[:len(got)]
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q on %q: all matches:\n got %v\nwant %v", p, text, got, want)
		}
	})
}

// Every match looks at the rest of the text in vain for a y.
func TestAllMatchesTogetherAreBounded(t *testing.T) {
	p, _ := CompilePattern(`(?:x+y)|x`)
	n := 0
	steps, err := p.All(t.Context(), strings.Repeat("x", 100_000), func([]int) bool { n++; return true })
	var refused *PatternError
	if !errors.As(err, &refused) || !refused.Matches || n < 10 || n > MaxPatternSteps/100_000 || steps > MaxPatternSteps+100 {
		t.Errorf("%d matches, %d steps: %v", n, steps, err)
	}
	if want := "finding all matches takes too long: 13 instructions x more than 3846153 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}

// A long search ends with its context.
func TestSearchesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	p, _ := CompilePattern(`(?:a*b*)*c`)
	for name, search := range patternSearches(p) {
		if err := search(ctx, strings.Repeat("ab", 2*uninterrupted/p.Instructions())); err == nil || err.Error() != "enough" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is too large is refused before it is compiled, and nothing that is compiled is larger than was estimated.
func TestSizes(t *testing.T) {
	for source, want := range map[string]string{
		"(?:" + strings.Repeat("a", 3000) + "){1000}":          "instructions; at most 50000 are allowed",
		"(?:" + strings.Repeat("(?:a{0,10}){0,10}", 80) + ")*": "",
		strings.Repeat("(a)", 100):                             "the regular expression has 100 groups; at most 99 are allowed",
		"(a":                                                   "error parsing regexp: missing closing ): `(a`",
		"((a{0,100}){0,100}){0,100}":                           "error parsing regexp: invalid repeat count: `{0,100}`",
	} {
		if _, err := CompilePattern(source); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.30q: %v, want %q", source, err, want)
		}
	}
	propertytest.Check(t, func(t *rapid.T) {
		source := expressions(5).Draw(t, "expression")
		tree, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if about, is := size(tree)+2, len(instructions(t, source).Inst); about < is {
			t.Fatalf("%q: about %d, and it has %d", source, about, is)
		}
	})
}

func TestRefusalsNameBothNumbers(t *testing.T) {
	p, err := CompilePattern("(.*?,){200}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Match(t.Context(), strings.Repeat("a", 1_000_000))
	want := "the regular expression takes too long: 1002 instructions x 1000000 bytes = 1002000000 steps; at most 50000000 are allowed"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// BenchmarkSearch is what the dearest searches that are allowed take: every instruction is live at every byte.
func BenchmarkSearch(b *testing.B) {
	for name, source := range map[string]string{
		"classes":       strings.Repeat(`[^,]*`, 40) + "z",
		"letters":       strings.Repeat(`\pL*`, 40) + "z",
		"optional":      "(" + strings.Repeat("a?", 30) + ")*b",
		"words":         strings.Repeat(`\w*\b`, 40) + "z",
		"groups":        strings.Repeat("(a*)", 99) + "z",
		"alternatives":  "(?:" + strings.Repeat("a.*b|", 100) + "c)z",
		"500 repeats":   "(?:a?){500}b",
		"one character": "[^b]*b",
	} {
		p, err := CompilePattern(source)
		if err != nil {
			b.Fatal(err)
		}
		text := strings.Repeat("a", MaxPatternSteps/p.Instructions())
		for kind, search := range patternSearches(p) {
			b.Run(name+"/"+kind, func(b *testing.B) {
				for b.Loop() {
					if err := search(b.Context(), text); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxPatternSteps, "ns/step")
			})
		}
	}
}

func BenchmarkCompilePattern(b *testing.B) {
	source := "(?:" + strings.Repeat("a", 46) + "){990}"
	for b.Loop() {
		if _, err := CompilePattern(source); err != nil {
			b.Fatal(err)
		}
	}
}
