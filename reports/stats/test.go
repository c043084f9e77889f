package stats

// Method says how the p of a test came about.
type Method string

const (
	// Exact counts every case that chance could have produced.
	Exact Method = "exact"
	// MonteCarlo draws cases by a seed: p is (hits + 1) / (draws + 1).
	MonteCarlo Method = "Monte Carlo"
	// Approximate takes a distribution that holds for large samples, or for
	// values that are themselves normal.
	Approximate Method = "approximate"
)

// Draws is the number of cases that a Monte Carlo test draws.
const Draws = 10_000

// Test is what a test of "there is no difference" gives: its statistic, whose
// meaning the test tells, and the chance of one at least as far off when there
// is no difference.
type Test struct {
	Statistic, P float64
	Method       Method
}
