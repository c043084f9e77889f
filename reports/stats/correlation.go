package stats

import "math"

// Spearman is the correlation of the ranks of pairs of values, tied ones having
// their mean rank (C. Spearman, American Journal of Psychology 15, 1904).
func Spearman(x, y []float64) (correlation float64, ok bool) {
	if len(x) != len(y) || !isFinite(x...) || !isFinite(y...) {
		return 0, false
	}
	a, b := halves(rank(x).doubled), halves(rank(y).doubled)
	middle := float64(len(x)+1) / 2
	var both, ofX, ofY float64
	for i := range a {
		dx, dy := a[i]-middle, b[i]-middle
		both, ofX, ofY = both+dx*dy, ofX+dx*dx, ofY+dy*dy
	}
	return Ratio(both, math.Sqrt(ofX)*math.Sqrt(ofY))
}

// KendallTauB is the share of pairs of pairs that are in the same order less that
// of those in the opposite one, corrected for ties (M. G. Kendall, Biometrika
// 33, 1945). It looks at all of them, n(n-1)/2.
func KendallTauB(x, y []float64) (correlation float64, ok bool) {
	if len(x) != len(y) || !isFinite(x...) || !isFinite(y...) {
		return 0, false
	}
	var balance, ofX, ofY float64
	for i := range x {
		for j := range i {
			a, b := order(x[i], x[j]), order(y[i], y[j])
			balance, ofX, ofY = balance+a*b, ofX+a*a, ofY+b*b
		}
	}
	return Ratio(balance, math.Sqrt(ofX)*math.Sqrt(ofY))
}

// order is 1, 0 or -1.
func order(a, b float64) float64 {
	switch {
	case a > b:
		return 1
	case a < b:
		return -1
	}
	return 0
}
