package textual

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
)

// The example of every textbook, and texts on whose code points it depends.
func TestLevenshtein(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"kitten", "sitting", 1 - 3./7}, {"", "", 1}, {"", "abc", 0}, {"abc", "abc", 1}, {"abc", "xyz", 0},
		{"é", "e\u0301", 0}, {"日本語", "日本", 1 - 1./3}, {"Saturday", "Sunday", 1 - 3./8},
		{strings.Repeat("a", 64), strings.Repeat("a", 65), 1 - 1./65},
	} {
		got, err := Levenshtein(c.a, c.b)
		expect.NoError(t, err)
		near(t, c.a+"/"+c.b, got, c.want, 1e-15)
	}
}

// The values of Winkler's paper (1990), table of string comparators, to the digits printed.
func TestJaroWinkler(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"MARTHA", "MARHTA", .9611}, {"DIXON", "DICKSONX", .8133}, {"DWAYNE", "DUANE", .84},
		{"", "", 1}, {"", "a", 0}, {"a", "a", 1}, {"ab", "cd", 0},
	} {
		near(t, c.a+"/"+c.b, JaroWinkler(c.a, c.b), c.want, 5e-5)
		near(t, c.b+"/"+c.a, JaroWinkler(c.b, c.a), c.want, 5e-5)
	}
	near(t, "Jaro of MARTHA", jaro([]rune("MARTHA"), []rune("MARHTA")), 17./18, 1e-15)
}

// word has few letters, and is longer than one or two blocks of 64 rows at times.
func word(t *rapid.T, name string) string {
	shortest := rapid.SampledFrom([]int{0, 60, 130}).Draw(t, "shortest "+name)
	return rapid.StringOfN(rapid.RuneFrom([]rune("abé")), shortest, shortest+20, -1).Draw(t, name)
}

func TestSimilaritiesHoldTheirBounds(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		a, b := word(t, "a"), word(t, "b")
		l, err := Levenshtein(a, b)
		if j := JaroWinkler(a, b); err != nil || !(l >= 0 && l <= 1 && j >= 0 && j <= 1) {
			t.Fatalf("%v (%v) and %v", l, err, j)
		}
		same, _ := Levenshtein(a, a)
		if same != 1 || JaroWinkler(a, a) != 1 {
			t.Fatalf("%q is not itself", a)
		}
	})
}

// byDefinition is Jaro's similarity as strcmp95 states it: for each character, all of the other text's are looked at.
func byDefinition(x, y []rune) float64 {
	window := max(max(len(x), len(y))/2-1, 0)
	taken := make([]bool, len(y))
	var inX []rune
	for i := range x {
		for j := max(i-window, 0); j < min(i+window+1, len(y)); j++ {
			if !taken[j] && x[i] == y[j] {
				taken[j] = true
				inX = append(inX, x[i])
				break
			}
		}
	}
	moved, k := 0, 0
	for j := range y {
		if taken[j] {
			if y[j] != inX[k] {
				moved++
			}
			k++
		}
	}
	if k == 0 {
		return 0
	}
	m := float64(k)
	return (m/float64(len(x)) + m/float64(len(y)) + (m-float64(moved/2))/m) / 3
}

func TestJaroIsThatOfItsDefinition(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		a, b := []rune(word(t, "a")), []rune(word(t, "b"))
		if len(a)+len(b) > 0 && jaro(a, b) != byDefinition(a, b) {
			t.Fatalf("%v; want %v", jaro(a, b), byDefinition(a, b))
		}
		if jaro(a, b) != jaro(b, a) {
			t.Fatalf("%v and %v", jaro(a, b), jaro(b, a))
		}
	})
}

// Equal texts of any length are alike; what takes too long is refused.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("abcdefghi ", 100_000)
	if got, err := Levenshtein(long, long); err != nil || got != 1 {
		t.Errorf("%v, %v", got, err)
	}
	_, err := Levenshtein(long, strings.Repeat("x", 1_000_000))
	if err == nil || err.Error() != "texts of 1000000 and 1000000 characters are too long to be compared" {
		t.Errorf("%v", err)
	}
	if _, err := RougeL(strings.Repeat("a ", 500_000), strings.Repeat("b ", 500_000)); err == nil {
		t.Error("no error")
	}
}
