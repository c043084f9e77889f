// Package stats decides how samples become numbers: estimates, intervals, tests
// of whether two samples differ, how large a sample has to be, and how well a
// probability foretold an outcome.
//
// Everything here is a pure function of its arguments and knows no word of the
// product. Values of one cluster depend on each other; clusters do not. What is
// drawn at random comes from a seed, so that the same arguments give the same
// answer. Functions of a sample that has no answer, an empty one or one that
// holds a NaN above all, return ok = false: a missing number is neither 0 nor
// NaN. Tests are two-sided.
package stats
