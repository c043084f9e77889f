package textual

import (
	"math/bits"
	"strings"
	"unicode"
)

// RougeN is the overlap of the runs of n tokens, as Google's rouge_score computes it without its stemmer: tokens are
// runs of ASCII letters and digits of the text in lower case, so that a text in other letters has none.
func RougeN(answer, target string, n int) Overlap {
	got, want := grams(rougeTokens(answer), n), grams(rougeTokens(target), n)
	return overlapOf(shared(counts(got), counts(want)), len(got), len(want))
}

// RougeL is the overlap of which the longest common subsequence of both texts' tokens is shared. It fails where the
// texts are too long.
func RougeL(answer, target string) (Overlap, error) {
	got, want := rougeTokens(answer), rougeTokens(target)
	if tooLong(len(got), len(want)) {
		return Overlap{}, errTooLong("tokens", len(got), len(want))
	}
	return overlapOf(subsequence(got, want), len(got), len(want)), nil
}

func rougeTokens(s string) []string {
	var tokens []string
	var word []byte
	end := func() {
		if len(word) > 0 {
			tokens, word = append(tokens, string(word)), word[:0]
		}
	}
	for _, r := range s {
		lower := unicode.ToLower(r)
		if lower > unicode.MaxASCII || !isASCIIWord(lower) {
			end()
			continue
		}
		word = append(word, byte(lower))
		if r == 'İ' { // in lower case it is i and a dot, and that is no letter
			end()
		}
	}
	end()
	return tokens
}

// grams are the runs of n tokens that hold no white space.
func grams(tokens []string, n int) []string {
	if n == 1 {
		return tokens
	}
	found := make([]string, 0, max(len(tokens)-n+1, 0))
	for i := 0; i+n <= len(tokens); i++ {
		found = append(found, strings.Join(tokens[i:i+n], " "))
	}
	return found
}

// subsequence is the length of the longest common subsequence. It fills 64 rows of the table at a time: a bit is 0
// where the length grows (M. Crochemore et al., A fast and practical bit-vector algorithm for the longest common
// subsequence problem, Information Processing Letters 80, 2001).
func subsequence(x, y []string) int {
	rows, columns, n := numbered(x, y)
	below := make([]uint8, len(y)) // what a column carries to the rows below
	equal := make([]uint64, n)
	length := 0
	for len(rows) > 0 {
		block := rows[:min(64, len(rows))]
		rows = rows[len(block):]
		mark(equal, block)
		v := ^uint64(0)
		for j, item := range columns {
			matched := v & equal[item]
			sum, carry := bits.Add64(v, matched, uint64(below[j]))
			v, below[j] = sum|v&^equal[item], uint8(carry)
		}
		unmark(equal, block)
		length += bits.OnesCount64(^v << (64 - len(block)))
	}
	return length
}
