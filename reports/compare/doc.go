// Package compare decides which of two sides is better: quantity by quantity,
// paired by task, with the interval and the test that fit the sample, and a
// verdict that says so when the sample cannot answer.
//
// The stages of the data, in order: pair joins the tasks and trials of both
// sides; sample makes of a column one difference for each task; measure turns
// the sample into a Line by the procedures of reports/stats; Correct adjusts the
// p values of several comparisons and judges. Everything is a pure function of
// its arguments, and the order of the tasks makes no difference but to the
// rounding of sums.
package compare
