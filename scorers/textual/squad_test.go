package textual

import (
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

// The rules of SQuAD's evaluate-v2.0.py, normalize_answer: lower, remove_punc, remove_articles, white_space_fix.
func TestSQuAD(t *testing.T) {
	for s, want := range map[string]string{
		"The Eiffel Tower.":     "eiffel tower",
		"A  cat\tand an\nапple": "cat and апple",
		"U.S.A.":                "usa",
		"the-end":               "theend", // punctuation goes before articles
		"“The” end":             "“ ” end",
		"O'Neill, $5":           "oneill 5",
		"the":                   "",
		"ΣΑΣ":                   "σας",
		"anthem theatre":        "anthem theatre",
		"a1 the_end":            "a1 theend",
		"a\u0301":               "\u0301", // an accent alone is no letter of a word for Python's \b
	} {
		expect.Equal(t, s, SQuAD(s), want)
	}
}

// compute_f1 of the same script.
func TestF1(t *testing.T) {
	for _, c := range []struct {
		answer, target string
		want           Overlap
	}{
		{"the cat sat", "a cat", Overlap{1. / 2, 1, 2. / 3}},
		{"cat cat", "cat", Overlap{1. / 2, 1, 2. / 3}},
		{"dog", "cat", Overlap{}},
		{"the", "an", Overlap{1, 1, 1}}, // both empty
		{"the", "cat", Overlap{}},
		{"cat", "", Overlap{}},
	} {
		nearAll(t, c.answer+"/"+c.target, F1(c.answer, c.target), c.want, 1e-15)
	}
}
