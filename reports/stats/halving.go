package stats

import "math"

// Rung is how many rows are tried, and on how much each.
type Rung struct{ Rows, Resource int }

// Hyperband are the brackets of successive halvings that spend a resource of
// which one row gets at most the given amount: the first bracket tries many rows
// on little, the last few on all of it, and from rung to rung the best of each
// eta stay (L. Li et al., JMLR 18, 2018).
func Hyperband(most, eta int) (brackets [][]Rung, ok bool) {
	if most < 1 || eta < 2 {
		return nil, false
	}
	halvings := 0
	for left := most; left >= eta; left /= eta {
		halvings++
	}
	for s := halvings; s >= 0; s-- {
		rows := math.Ceil(float64((halvings+1)*power(eta, s)) / float64(s+1))
		bracket, _ := SuccessiveHalving(int(rows), most, eta, s)
		brackets = append(brackets, bracket)
	}
	return brackets, true
}

// SuccessiveHalving are the rungs of one bracket: the rows get so much of the
// resource that after as many halvings those left get most of it (K. Jamieson
// and A. Talwalkar, AISTATS 2016). The resource holds so many halvings; at least
// one row is on each rung.
func SuccessiveHalving(rows, most, eta, halvings int) (rungs []Rung, ok bool) {
	if rows < 1 || eta < 2 || halvings < 0 || most < power(eta, halvings) {
		return nil, false
	}
	for i := range halvings + 1 {
		rungs = append(rungs, Rung{max(1, rows/power(eta, i)), most / power(eta, halvings-i)})
	}
	return rungs, true
}

// power stays at the largest int where it is larger.
func power(base, exponent int) int {
	result := 1
	for range exponent {
		if result > math.MaxInt/base {
			return math.MaxInt
		}
		result *= base
	}
	return result
}
