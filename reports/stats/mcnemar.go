package stats

import "math"

// McNemar tests pairs of zeros and ones that are won b times and lost c times:
// twice the chance of so few of the rarer kind when each is a toss of a coin
// (Q. McNemar, Psychometrika 12, 1947). The statistic is b - c.
func McNemar(b, c int) (test Test, ok bool) {
	if b < 0 || c < 0 {
		return Test{}, false
	}
	p := 1.0
	if b != c {
		p = min(1, 2*headsAtMost(float64(min(b, c)), float64(b)+float64(c)))
	}
	return Test{Statistic: float64(b) - float64(c), P: p, Method: Exact}, true
}

// McNemarMidP is McNemar's p with half the chance of the case that was seen: it
// is less cautious than the exact one, and above the level at times (M. W.
// Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology 13, 2013).
func McNemarMidP(b, c int) (p float64, ok bool) {
	exact, ok := McNemar(b, c)
	if !ok || b == c {
		return 1, ok
	}
	return exact.P - heads(float64(min(b, c)), float64(b)+float64(c)), true
}

// BonettPrice is the interval of (b-c)/n, the difference of two proportions in
// n pairs of which b are won and c are lost (D. G. Bonett and R. M. Price,
// Journal of Educational and Behavioral Statistics 37, 2012).
func BonettPrice(b, c, n int, level float64) (interval Interval, ok bool) {
	z, ok := NormalQuantile(twoSided(level))
	if !ok || b < 0 || c < 0 || n < 1 || b > n || c > n-b {
		return Interval{}, false
	}
	won, lost := float64(b+1)/float64(n+2), float64(c+1)/float64(n+2)
	difference := won - lost
	half := z * math.Sqrt((won+lost-difference*difference)/float64(n+2))
	return Interval{max(-1, difference-half), min(1, difference+half)}, true
}
