package textual

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %.10f; want %.10f", what, got, want)
	}
}

// plus are the statistics of both.
func (s stats) plus(t stats) stats {
	for n := range maxOrder {
		s.Matches[n] += t.Matches[n]
		s.Totals[n] += t.Totals[n]
	}
	s.Answer += t.Answer
	s.Target += t.Target
	return s
}

// The example of sacreBLEU's README ("Using SacreBLEU from Python": 48.53 82.4/50.0/45.5/37.5, BP 0.943, hyp_len 17,
// ref_len 18) and, to more digits, of its test/test_bleu.py (test_corpus_bleu_cases).
func TestCorpusOfSacreBLEU(t *testing.T) {
	targets := [][]string{
		{"The dog bit the man.", "The dog had bit the man."},
		{"It was not unexpected.", "No one was surprised."},
		{"The man bit him first.", "The man had bitten the dog."},
	}
	answers := []string{"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."}
	var corpus, empty stats
	for i := range answers {
		corpus = corpus.plus(statsOf(answers[i], targets[i]...))
		empty = empty.plus(statsOf("", targets[i]...))
	}
	near(t, "BLEU", 100*corpus.bleu(), 48.530827, 1e-6)
	near(t, "BLEU of nothing", empty.bleu(), 0, 0)
	if corpus.Answer != 17 || corpus.Target != 18 || empty.Target != 6+5+6 {
		t.Errorf("lengths %d, %d and %d", corpus.Answer, corpus.Target, empty.Target)
	}
	near(t, "BP", corpus.brevity(), 0.943, 5e-4)
	for n, want := range []float64{82.4, 50.0, 45.5, 37.5} {
		near(t, "precision", 100*float64(corpus.Matches[n])/float64(corpus.Totals[n]), want, 0.05)
	}
}

// sacreBLEU's test/test_sentence_bleu.py (its issues 98 and 141) and the cases of test/test_bleu.py that need no
// smoothing, or none that differs (test_raw_bleu_cases, test_case_effective_order).
func TestSentencesOfSacreBLEU(t *testing.T) {
	for _, c := range []struct {
		answer, target string
		want, within   float64
	}{
		{"Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;", "producţia de zahăr brut se exprimă în zahăr alb;", 0.08493, 1e-5},
		{"this is a cat", "okay thanks", 0, 0},
		{"this is a test", "this is a test", 1, 0},
		{"test", "a test", 0.3678794411714425, 1e-8},
		{"a test", "a test", 1, 0},
	} {
		near(t, c.answer, BLEU(c.answer, c.target), c.want, c.within)
	}
}

// The README's example holds an apostrophe and full stops; the others follow from the rules of mteval-v13a.pl.
func TestTokens13a(t *testing.T) {
	for s, want := range map[string]string{
		"It wasn't surprising.":         "It wasn't surprising .",
		"3.5 and 1,000 in 1990-2000":    "3.5 and 1,000 in 1990 - 2000",
		"well-known, e.g. U.S.A.":       "well-known , e . g . U . S . A .",
		"a &amp; b &quot;c&quot; &lt;d": `a & b " c " < d`,
		"&amp;lt; &amp;quot;":           "< & quot ;",
		"a <skipped>x-\ny\nz":           "a xy z",
		"trailing-\n":                   "trailing-",
		"$5 (50%) [x]{y}~/@":            "$ 5 ( 50 % ) [ x ] { y } ~ / @",
		"1..5 1.,5 a,.b":                "1 . . 5 1 . , 5 a , . b",
		"“so” … él, 日本。語":               "“so” … él , 日本。語",
		"a\u00a0b\u2003c\x1cd":          "a b c d",
		" \t":                           "",
	} {
		expect.Equal(t, s, strings.Join(tokens13a(s), " "), want)
	}
}

// rules13a are the rules as sacreBLEU states them.
var rules13a = []struct {
	match *regexp.Regexp
	write string
}{
	{regexp.MustCompile("([\\{-\\~\\[-\\` -\\&\\(-\\+\\:-\\@\\/])"), " $1 "},
	{regexp.MustCompile(`([^0-9])([\.,])`), "$1 $2 "},
	{regexp.MustCompile(`([\.,])([^0-9])`), " $1 $2"},
	{regexp.MustCompile(`([0-9])(-)`), "$1 $2 "},
}

func byRules13a(s string) []string {
	s = strings.TrimRightFunc(s, isSpace)
	for _, e := range entities {
		s = strings.ReplaceAll(s, e[0], e[1])
	}
	s = " " + s + " "
	for _, rule := range rules13a {
		s = rule.match.ReplaceAllString(s, rule.write)
	}
	return strings.FieldsFunc(s, isSpace)
}

func FuzzTokens13a(f *testing.F) {
	for _, s := range []string{"It wasn't 3.5, or 1..5-6&lt;", "é.,,.1-\n", "<skip<skipped>ped>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		if got, want := tokens13a(s), byRules13a(s); !slices.Equal(got, want) {
			t.Fatalf("%q: %q; want %q", s, got, want)
		}
	})
}

// sentence is a text of few words, so that some are the same.
var sentence = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "The", "dog.", "1,5", "é", "x-y"}), 0, 12).Draw(t, "words"), " ")
})

func TestBLEUHoldsItsBounds(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		answer, target, other := sentence.Draw(t, "answer"), sentence.Draw(t, "target"), sentence.Draw(t, "other")
		one, two := BLEU(answer, target), BLEU(answer, target, other)
		if !(one >= 0 && one <= 1 && two >= 0 && two <= 1) {
			t.Fatalf("%v and %v", one, two)
		}
		if two != BLEU(answer, other, target) {
			t.Fatal("the order of targets counts")
		}
		if answer != "" && BLEU(answer, other, answer) != 1 {
			t.Fatalf("%q beside itself is not 1", answer)
		}
	})
}
