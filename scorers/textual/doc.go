// Package textual compares texts: how alike two are, with the numbers that others publish, and what a final answer
// means.
//
// Alike: edit distances, the token overlap of SQuAD, ROUGE, and BLEU as sacreBLEU computes it. Every similarity is a
// number from 0 to 1. What takes longer than the texts are long has a limit, and is an error beyond it.
//
// Answers: which number a text ends with, and whether two answers are the same number, the same numbers, or the same
// expression. What is only layout is taken away (layout.go), what is left is read as a list, a number or a text
// (value.go, scalar.go, unit.go), and two of these are compared, numbers exactly, as fractions (equal.go). Numbers of
// more than 400 characters or 1000 decimal places, lists of more than 100 items and lists in lists in lists are texts.
//
// It is pure and knows nothing of runs and targets. It is no stable API.
package textual

import (
	"fmt"
	"unicode"
)

// maxCells is how much of a table may be filled, 64 cells at a time: less than a second.
const maxCells = 4 << 30

// tooLong: a table of so many cells takes too long to fill.
func tooLong(rows, columns int) bool { return rows > 0 && columns > maxCells/rows }

func errTooLong(items string, a, b int) error {
	return fmt.Errorf("texts of %d and %d %s are too long to be compared", a, b, items)
}

// isSpace is the white space of the references, which are Python: that of Unicode and four separators of ASCII.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// numbered tells the items of both lists by numbers below n: those of x from 1, and all in y that are not in x by 0.
func numbered[K comparable](x, y []K) (xs, ys []int32, n int) {
	number := make(map[K]int32, len(x))
	xs, ys = make([]int32, len(x)), make([]int32, len(y))
	for i, item := range x {
		if number[item] == 0 {
			number[item] = int32(len(number) + 1)
		}
		xs[i] = number[item]
	}
	for i, item := range y {
		ys[i] = number[item]
	}
	return xs, ys, len(number) + 1
}
