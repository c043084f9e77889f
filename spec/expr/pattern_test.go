package expr

import (
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
	must(t, err)
	program, err := syntax.Compile(tree.Simplify())
	must(t, err)
	return program
}

// C.22: whatever the expression, its instructions are those that Go compiles it to, of which a search looks at each at most
// once for a byte; it is refused exactly where the product is beyond the limit.
func TestSearchesAreBoundedBeforeTheyRun(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		source := expressions(4).Draw(t, "expression")
		p, err := CompilePattern(source)
		if err != nil {
			t.Fatal(source, err)
		}
		program := instructions(t, source)
		tree, _ := syntax.Parse(source, syntax.Perl)
		if least := leastInstructions(tree); least > len(program.Inst) {
			t.Fatalf("%q has %d instructions, not at least %d", source, len(program.Inst), least)
		}
		most := MaxPatternSteps / len(program.Inst)
		long := strings.Repeat("a", most+1)
		if err := p.refuse(long[:most]); err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		want := fmt.Sprintf("%d instructions x %d bytes", len(program.Inst), len(long))
		for name, search := range patternSearches(p) {
			if err := search(long); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%s: %q on %d bytes: %v", name, source, len(long), err)
			}
		}
	})
}

// patternSearches are all ways to search with an expression.
func patternSearches(p *Pattern) map[string]func(text string) error {
	return map[string]func(text string) error{
		"Match": func(text string) error { _, err := p.Match(text); return err },
		"Find":  func(text string) error { _, err := p.Find(text); return err },
		"All":   func(text string) error { _, err := p.All(text, -1); return err },
	}
}

// All matches, or the first ones, are those that Go finds.
func TestAllMatchesAreThoseOfGo(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		p, err := CompilePattern(expressions(4).Draw(t, "expression"))
		must(t, err)
		text, most := texts(300).Draw(t, "text"), rapid.IntRange(-1, 100).Draw(t, "most")
		got, err := p.All(text, most)
		if want := p.re.FindAllStringSubmatchIndex(text, most); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q on %q:\n got %v, %v\nwant %v", p, text, got, err, want)
		}
	})
}

// Every match looks at the rest of the text in vain for a y.
func TestAllMatchesTogetherAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes until that has taken too long")
	}
	p, _ := CompilePattern(`(?:x+y)|x`)
	if _, err := p.All(strings.Repeat("x", 1_000_000), -1); err == nil || !strings.Contains(err.Error(), "finding all matches takes too long: up to 7 instructions x 1000000 bytes") {
		t.Error(err)
	}
}

// What is too large, or has too many groups, is refused.
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
		must(b, err)
		text := strings.Repeat("a", MaxPatternSteps/p.instructions)
		for kind, search := range patternSearches(p) {
			b.Run(name+"/"+kind, func(b *testing.B) {
				for b.Loop() {
					must(b, search(text))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxPatternSteps, "ns/step")
			})
		}
	}
}
