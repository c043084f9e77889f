package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Wilson is the score interval of a proportion p seen in n draws (E. B. Wilson,
// JASA 22, 1927), without continuity correction. n need not be whole: it may be
// an effective sample size.
func Wilson(p, n, level float64) (interval Interval, ok bool) {
	z, ok := NormalQuantile(twoSided(level))
	if !ok || !(n > 0) || !(p >= 0 && p <= 1) || math.IsInf(n, 1) {
		return Interval{}, false
	}
	centre := (p*n + z*z/2) / (n + z*z)
	half := z * math.Sqrt(p*(1-p)*n+z*z/4) / (n + z*z)
	return Interval{wilsonEnd(p == 0, 0, centre-half), wilsonEnd(p == 1, 1, centre+half)}, true
}

// wilsonEnd takes the end that is exact by algebra where rounding would miss it.
func wilsonEnd(exact bool, end, computed float64) float64 {
	if exact {
		return end
	}
	return min(1, max(0, computed))
}

// ClopperPearson is the interval of a proportion seen x times in n draws that
// holds its level whatever the proportion is, and so is wider than Wilson's (C.
// J. Clopper and E. S. Pearson, Biometrika 26, 1934).
func ClopperPearson(x, n int, level float64) (interval Interval, ok bool) {
	high, ok := ProportionAtMost(x, n, twoSided(level))
	if !ok {
		return Interval{}, false
	}
	mirrored, ok := ProportionAtMost(n-x, n, twoSided(level))
	return Interval{1 - mirrored, high}, ok
}

// ProportionAtMost is the one-sided upper bound of Clopper and Pearson: a
// proportion above it shows at most x times in n draws with a chance below
// 1 - level.
func ProportionAtMost(x, n int, level float64) (bound float64, ok bool) {
	if x < 0 || n < 1 || x > n || !(level > 0 && level < 1) {
		return 0, false
	}
	return shareAtMost(float64(x), float64(n), level)
}

func shareAtMost(x, n, level float64) (bound float64, ok bool) {
	if x >= n {
		return 1, true
	}
	bound = mathext.InvRegIncBeta(x+1, n-x, level)
	return bound, isFinite(bound)
}

// ProportionInterval is the interval of the share of ones in clusters of zeros
// and ones: Wilson's on n when every cluster holds one value, else
// Estimate.Proportion.
func ProportionInterval(clusters [][]float64, level float64) (interval Interval, ok bool) {
	p, n, groups := clusteredMean(clusters)
	if n == float64(groups) {
		return Wilson(p, n, level)
	}
	estimate, ok := ClusteredMean(clusters)
	if !ok {
		return Wilson(p, float64(groups), level)
	}
	return estimate.Proportion(n, groups, level)
}

// MeanProportionInterval is ProportionInterval for the mean of the clusters'
// means, in which clusters weigh the same whatever their sizes: it takes the
// means and the number of values in all clusters together.
func MeanProportionInterval(means []float64, n int, level float64) (interval Interval, ok bool) {
	p, ok := Mean(means)
	if !ok {
		return Interval{}, false
	}
	if n == len(means) {
		return Wilson(p, float64(n), level)
	}
	estimate, ok := MeanOf(means)
	if !ok {
		return Wilson(p, float64(len(means)), level)
	}
	return estimate.Proportion(float64(n), len(means), level)
}

// manyDegreesForShares is where the variance of clusters is known well enough.
const manyDegreesForShares = 49

// Proportion is the interval of an estimated share of ones among n values in
// clusters: Wilson's on the effective n, which stays between 0 and 1. Below 50
// clusters, or what unequal ones are worth, the effective n shrinks as the normal
// quantile does beside Student's (E. L. Korn and B. I. Graubard, Survey
// Methodology 24, 1998). Where all values are equal the standard error says
// nothing and the number of clusters takes the place of n.
func (e Estimate) Proportion(n float64, clusters int, level float64) (interval Interval, ok bool) {
	if e.Value == 0 || e.Value == 1 || e.SE == 0 {
		return Wilson(e.Value, float64(clusters), level)
	}
	z, zOK := NormalQuantile(twoSided(level))
	t, tOK := StudentQuantile(twoSided(level), e.Degrees)
	if !zOK || !tOK {
		return Interval{}, false
	}
	if e.Degrees >= manyDegreesForShares {
		t = z
	}
	return Wilson(e.Value, EffectiveN(e.Value, e.SE*t/z, n), level)
}

// ProportionAtMost is the one-sided upper bound of an estimated share of ones
// among n values in clusters: that of Clopper and Pearson on the effective n of
// Proportion. Where all values are equal the number of clusters takes the place
// of n.
func (e Estimate) ProportionAtMost(n float64, clusters int, level float64) (bound float64, ok bool) {
	if clusters < 1 || e.Value < 0 || e.Value > 1 || !(level > 0 && level < 1) {
		return 0, false
	}
	if e.Value == 0 || e.Value == 1 || e.SE == 0 {
		return shareAtMost(e.Value*float64(clusters), float64(clusters), level)
	}
	z, zOK := NormalQuantile(level)
	t, tOK := StudentQuantile(level, e.Degrees)
	if !zOK || !tOK {
		return 0, false
	}
	if e.Degrees >= manyDegreesForShares {
		t = z
	}
	n = EffectiveN(e.Value, e.SE*t/z, n)
	return shareAtMost(e.Value*n, n, level)
}

// EffectiveN is the number of independent draws that would give a proportion p
// the standard error se, at most n.
func EffectiveN(p, se, n float64) float64 {
	if se == 0 {
		return n
	}
	return min(n, p*(1-p)/(se*se))
}
