// Package answer says what a final answer means: which number stands in a text, and whether two answers are the same
// number, the same numbers, or the same expression.
//
// The stages, in order: what is only layout is taken away (layout.go), what is left is read as a list, a number or a
// text (value.go, scalar.go, unit.go), and two of these are compared, numbers exactly, as fractions (equal.go).
//
// It is pure, and limits what it reads: numbers of more than 400 characters or 1000 decimal places, and lists of more
// than 100 items or of lists in lists in lists, are texts.

package textual
