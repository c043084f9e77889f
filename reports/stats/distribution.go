package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/combin"
)

// Beyond manyDegrees Student's t is the normal distribution to 1e-6; of less than
// fewDegrees, a tenth of what two values have, nothing can be said.
const (
	manyDegrees = 1e6
	fewDegrees  = 0.1
)

// NormalQuantile is the p-quantile of the standard normal distribution.
func NormalQuantile(p float64) (z float64, ok bool) {
	if !(p > 0 && p < 1) {
		return 0, false
	}
	return mathext.NormalQuantile(p), true
}

// StudentQuantile is the p-quantile of Student's t distribution, whose degrees
// of freedom need not be whole.
func StudentQuantile(p, degrees float64) (t float64, ok bool) {
	if !(p > 0 && p < 1) || !(degrees >= fewDegrees) {
		return 0, false
	}
	if degrees > manyDegrees {
		return mathext.NormalQuantile(p), true
	}
	x := mathext.InvRegIncBeta(degrees/2, 0.5, 2*min(p, 1-p))
	t = math.Copysign(math.Sqrt(degrees*(1-x)/x), p-0.5)
	return t, isFinite(t)
}

// twoSided is the p of the quantile that, together with its opposite, holds the
// level between them.
func twoSided(level float64) float64 { return (1 + level) / 2 }

// normalTails is the chance that a standard normal is at least |z| away from 0.
func normalTails(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// studentTails is the chance that Student's t is at least |t| away from 0.
func studentTails(t, degrees float64) float64 {
	if degrees > manyDegrees {
		return normalTails(t)
	}
	return min(1, mathext.RegIncBeta(degrees/2, 0.5, degrees/(t*t+degrees)))
}

// headsAtMost is the chance of at most k heads in n tosses of a fair coin.
func headsAtMost(k, n float64) float64 {
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(n-k, k+1, 0.5)
}

// heads is the chance of k heads in n tosses of a fair coin.
func heads(k, n float64) float64 {
	return math.Exp(combin.LogGeneralizedBinomial(n, k) - k*math.Ln2 - (n-k)*math.Ln2)
}

func isFinite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
