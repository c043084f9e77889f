// Package stats decides how samples become numbers: sums, means, quantiles,
// intervals, and how well a probability foretold an outcome.
//
// Everything here is a pure function of its arguments and knows no word of the
// product. Functions of a sample that has no answer, an empty one above all,
// return ok = false: a missing number is neither 0 nor NaN.
package stats
