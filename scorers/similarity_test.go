package scorers

import (
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

// The values of package textual, as scores.
var similarities = []said{
	{`type: similarity`, `"sitting"`, `"kitten"`, `0.5714 (kitten): compared with sitting`},
	{`type: similarity`, `["sitting", "mitten"]`, `"kitten"`, `0.8333 (kitten): compared with mitten`},
	{`type: similarity`, `"Paris"`, `"PARIS"`, `0.2 (PARIS): compared with Paris`},
	{`type: similarity, ignore_case: true`, `"Paris"`, `"PARIS"`, `1 (PARIS)`},
	{`type: similarity, method: jaro_winkler`, `"MARTHA"`, `"MARHTA"`, `0.9611 (MARHTA): compared with MARTHA`},
	{`type: similarity, not: true`, `"sitting"`, `"kitten"`, `0.4286 (kitten)`},
	{`type: similarity`, `12345`, `12346`, `0.8 (12346): compared with 12345`},
	{`type: similarity`, `"x"`, `""`, `0 (none)`},
	{`type: similarity`, `[]`, `"x"`, `unscored: the target is an empty list`},
	{`type: similarity`, ``, `"x"`, `unscored: the target is missing`},

	{`type: f1`, `"a cat"`, `"the cat sat"`, `0.6667 (the cat sat): compared with a cat`},
	{`type: f1, measure: recall`, `"a cat"`, `"the cat sat"`, `1 (the cat sat)`},
	{`type: f1, measure: precision`, `"a cat"`, `"the cat sat"`, `0.5 (the cat sat): compared with a cat`},
	{`type: f1`, `["a dog", "The cat sat!"]`, `"cat sat"`, `1 (cat sat)`},
	{`type: f1`, `["a", "dog"]`, `"the"`, `1 (the)`},
	{`type: f1`, `"dog"`, `"cat"`, `0 (cat): compared with dog`},
	{`type: f1, value: output.answer`, `"cat"`, `{"answer": "a cat"}`, `1 (a cat)`},

	{`type: rouge`, `"testing one two"`, `"testing two"`, `0.8 (testing two): compared with testing one two`},
	{`type: rouge, variant: rouge_l, measure: precision`, `"testing one two"`, `"testing two"`, `1 (testing two)`},
	{`type: rouge, variant: rouge_1`, `"testing one two"`, `"testing"`, `0.5 (testing): compared with testing one two`},
	{`type: rouge, variant: rouge_2, measure: recall`, `"testing one two"`, `"testing one"`, `0.5 (testing one): compared with testing one two`},
	{`type: rouge`, `["one", "two"]`, `"two"`, `1 (two)`},
	{`type: rouge`, `"日本"`, `"日本"`, `0 (日本): compared with 日本`}, // rouge_score has tokens of ASCII alone

	{`type: bleu`, `"a test"`, `"test"`, `0.3679 (test): compared with a test`},
	{`type: bleu`, `["no", "this is a test"]`, `"this is a test"`, `1 (this is a test)`},
	{`type: bleu`, `"okay thanks"`, `"this is a cat"`, `0 (this is a cat): compared with okay thanks`},

	{`type: exact, normalize: squad`, `"The Eiffel Tower"`, `"eiffel tower."`, `1 (eiffel tower.)`},
	{`type: exact, normalize: squad`, `["Paris", "the city of Paris"]`, `"City of Paris"`, `1 (City of Paris)`},
	{`type: exact, normalize: squad`, `["Paris", "Lutetia"]`, `"Rome"`, `0 (Rome): want one of Paris, Lutetia, got Rome`},
	{`type: exact, normalize: squad`, `"Paris"`, `"Rome"`, `0 (Rome): want Paris, got Rome`},
	{`type: exact, normalize: squad`, `[]`, `"Rome"`, `unscored: the target is an empty list`},
}

// What package textual finds alike, as scores.
var maths = []said{
	{`type: math`, `"18"`, `"The total is $\\boxed{\\$18.00}$."`, `1 ($18.00)`},
	{`type: math`, `0.5`, `"\\frac{1}{2}"`, `1 (\frac{1}{2})`},
	{`type: math`, `"50%"`, `0.5`, `1 (0.5)`},
	{`type: math`, `50`, `"50%"`, `0 (50%): want 50, got 50%`},
	{`type: math`, `"3/4"`, `"2/4"`, `0 (2/4): want 3/4, got 2/4`},
	{`type: math`, `["1/3", "0.33"]`, `"0.33"`, `1 (0.33)`},
	{`type: math`, `["1/3", "1/4"]`, `"0.5"`, `0 (0.5): want one of 1/3, 1/4, got 0.5`},
	{`type: math, tolerance: 0.01`, `"1/3"`, `"0.33"`, `1 (0.33)`},
	{`type: math`, `"1/3"`, `"0.33"`, `0 (0.33): want 1/3, got 0.33`},
	{`type: math`, `"(1, 2)"`, `"(2, 1)"`, `0 ((2, 1)): want (1, 2), got (2, 1)`},
	{`type: math`, `"18 eggs"`, `"I do not know"`, `0 (I do not know): want 18 eggs, got I do not know`},
	{`type: math, extract: 'A: (.*)'`, `18`, `"A: 17\nA: 18 eggs."`, `1 (18 eggs)`},
	{`type: math, value: output.n`, `18`, `{"n": 18.0}`, `1 (18)`},
	{`type: math`, `18`, `""`, `0 (none)`},
	{`type: math`, `"$$"`, `"18"`, `unscored: the target is empty`},
	{`type: math`, `[]`, `"18"`, `unscored: the target is an empty list`},
	{`type: math, not: true`, `18`, `"18.0"`, `0 (18.0): it holds, and not is set`},
}

// What would take too long is unscored and not 0.
func TestTextsTooLongToCompare(t *testing.T) {
	half, whole := strconv.Quote(strings.Repeat("ab ", 1<<18)), strconv.Quote(strings.Repeat("x", 1<<20+1))
	other := strconv.Quote(strings.Repeat("c d ", 1<<18))
	for _, c := range []struct{ scorer, target, output, want string }{
		{`type: similarity`, other, half, "unscored: texts of 786432 and 1048576 characters are too long to be compared"},
		{`type: rouge`, other, half, "unscored: texts of 262144 and 524288 tokens are too long to be compared"},
		{`type: bleu`, `"x"`, whole, "unscored: the value has 1048577 bytes; at most 1048576 are searched"},
		{`type: f1`, whole, `"x"`, "unscored: target: the value has 1048577 bytes; at most 1048576 are searched"},
		{`type: exact, normalize: squad`, whole, `"x"`, "unscored: target: the value has 1048577 bytes; at most 1048576 are searched"},
	} {
		expect.Equal(t, c.scorer, shown(scored(t, c.scorer, c.target, c.output)), c.want)
	}
}
