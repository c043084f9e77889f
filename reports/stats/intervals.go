package stats

import (
	"math"
)

// Interval is a confidence interval with both ends included.
type Interval struct{ Low, High float64 }

// Level is the level of an interval, and Alpha that of a test, unless one is told.
const (
	Level = 0.95
	Alpha = 0.05
)

func checked(interval Interval) (Interval, bool) {
	if !isFinite(interval.Low, interval.High) {
		return Interval{}, false
	}
	return interval, true
}

// Estimate is a number, how much it varies from sample to sample, and how well
// that is known: as well as the variance of Degrees + 1 independent values.
type Estimate struct{ Value, SE, Degrees float64 }

// Interval is Value ± t(Degrees) SE. It has no answer where the standard error
// is 0: how much the values vary is then unknown.
func (e Estimate) Interval(level float64) (interval Interval, ok bool) {
	t, ok := StudentQuantile(twoSided(level), e.Degrees)
	if !ok || !(e.SE > 0) {
		return Interval{}, false
	}
	return checked(Interval{e.Value - t*e.SE, e.Value + t*e.SE})
}

// Test is Student's t test of whether the estimated number is 0.
func (e Estimate) Test() (test Test, ok bool) {
	t := e.Value / e.SE
	if !(e.SE > 0) || !(e.Degrees >= fewDegrees) || !isFinite(t) {
		return Test{}, false
	}
	return Test{Statistic: t, P: studentTails(t, e.Degrees), Method: Approximate}, true
}

// MeanOf estimates the mean of independent values, at least two.
func MeanOf(values []float64) (estimate Estimate, ok bool) {
	mean, ok := Mean(values)
	if !ok || len(values) < 2 {
		return Estimate{}, false
	}
	se, ok := StandardError(values)
	return Estimate{mean, se, float64(len(values) - 1)}, ok
}

// Minus is the difference of two independent estimates, with Satterthwaite's
// degrees of freedom (F. E. Satterthwaite, Biometrics Bulletin 2, 1946).
func (e Estimate) Minus(f Estimate) (difference Estimate, ok bool) {
	va, vb := e.SE*e.SE, f.SE*f.SE
	difference = Estimate{e.Value - f.Value, math.Sqrt(va + vb), e.Degrees + f.Degrees}
	if welch := (va + vb) * (va + vb) / (va*va/e.Degrees + vb*vb/f.Degrees); isFinite(welch) {
		difference.Degrees = welch
	}
	return difference, isFinite(difference.Value, difference.SE)
}

// StandardError is that of the mean of independent values, at least two.
func StandardError(values []float64) (se float64, ok bool) {
	variance, ok := Variance(values)
	return math.Sqrt(variance / float64(max(1, len(values)))), ok
}

// Variance is that of the population which the values were drawn from (divided
// by one less than their number, of which there are at least two).
func Variance(values []float64) (variance float64, ok bool) {
	mean, ok := Mean(values)
	if !ok || len(values) < 2 {
		return 0, false
	}
	squares := make([]float64, len(values))
	for i, v := range values {
		squares[i] = (v - mean) * (v - mean)
	}
	variance = Sum(squares) / float64(len(values)-1)
	return variance, isFinite(variance)
}

// MeanInterval is the interval of the mean of independent values, which may be
// the means of clusters. It has no answer for fewer than two values, nor where
// all are equal.
func MeanInterval(values []float64, level float64) (interval Interval, ok bool) {
	estimate, ok := MeanOf(values)
	if !ok {
		return Interval{}, false
	}
	return estimate.Interval(level)
}

// Sum adds up the values with Neumaier's compensation, so that its error does
// not grow with the length of the sample (A. Neumaier, ZAMM 54, 1974).
func Sum(values []float64) float64 {
	var sum, lost float64
	for _, v := range values {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	return sum + lost
}

// Mean is the arithmetic mean; a sample without values has none.
func Mean(values []float64) (mean float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	mean = Sum(values) / float64(len(values))
	return mean, isFinite(mean)
}

// Ratio is the ratio of two sums, which is what a cost per success is; it is
// not the mean of ratios. It has no value when the denominator is 0.
func Ratio(numerator, denominator float64) (ratio float64, ok bool) {
	if denominator == 0 {
		return 0, false
	}
	ratio = numerator / denominator
	return ratio, isFinite(ratio)
}

// LogRatio estimates the logarithm of the ratio of two sums over the same units, which
// is that of the ratio of their means. A unit is what depends on nothing outside: a
// task, or a cluster, whose values have to be summed up before; a mean of clusters is
// the ratio of their sums to their sizes. Values are not below 0, both sums above 0.
//
// The error is that of the linearised ratio (W. G. Cochran, Sampling Techniques, 1977,
// section 6.3), in which a unit's residual is divided by 1 - h for its share h of the
// sums, as the jackknife does (CR3; J. G. MacKinnon and H. White, Journal of Econometrics
// 29, 1985). A few units with most of the sums count as the number of equal ones that
// says as much, 1 / the sum of h^2 (L. Kish, Survey Sampling, 1965), less one degree of
// freedom. SE is 0 where all units have the same ratio.
func LogRatio(above, below []float64) (estimate Estimate, ok bool) {
	a, b := Sum(above), Sum(below)
	if len(above) != len(below) || len(above) < 2 || !(a > 0) || !(b > 0) {
		return Estimate{}, false
	}
	var variance, shares float64
	for i := range above {
		x, y := above[i]/a, below[i]/b
		share := (x + y) / 2
		shares += share * share
		if residual := x - y; math.Abs(residual) > tolerance*share {
			variance += residual * residual / ((1 - share) * (1 - share))
		}
	}
	estimate = Estimate{math.Log(a) - math.Log(b), math.Sqrt(variance), 1/shares - 1}
	return estimate, isFinite(estimate.Value, estimate.SE, estimate.Degrees)
}

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

// EffectiveN is the number of independent draws that would give a proportion p
// the standard error se, at most n.
func EffectiveN(p, se, n float64) float64 {
	if se == 0 {
		return n
	}
	return min(n, p*(1-p)/(se*se))
}

// MedianOrders says between which two of n independent values in ascending order,
// the first being 1, the median lies with the chance wanted, whatever their
// distribution (W. R. Thompson, Annals of Mathematical Statistics 7, 1936), and
// what that chance is. Level 0.95 needs 6 values.
func MedianOrders(n int, level float64) (low, high int, coverage float64, ok bool) {
	if n < 1 || !(level > 0 && level < 1) {
		return 0, 0, 0, false
	}
	outside := func(below int) float64 { return 2 * headsAtMost(float64(below), float64(n)) }
	if outside(0) > 1-level {
		return 0, 0, 0, false
	}
	first, beyond := 0, n/2
	for first+1 < beyond {
		if middle := (first + beyond) / 2; outside(middle) <= 1-level {
			first = middle
		} else {
			beyond = middle
		}
	}
	return first + 1, n - first, 1 - outside(first), true
}

// Quantile is the p-quantile of values that are sorted in ascending order, of
// type 7: linear between the order statistics around (n-1)p (R. Hyndman and
// Y. Fan, The American Statistician 50, 1996; R's and NumPy's default).
func Quantile[T ~int | ~int32 | ~int64 | ~float64](sorted []T, p float64) (quantile float64, ok bool) {
	if len(sorted) == 0 || !(p >= 0 && p <= 1) {
		return 0, false
	}
	h := float64(len(sorted)-1) * p
	below := math.Floor(h)
	low := float64(sorted[int(below)])
	high := float64(sorted[int(math.Ceil(h))])
	quantile = low + (h-below)*(high-low)
	return quantile, isFinite(quantile)
}

// ClusteredSE is the standard error of the mean of all values when values of
// one cluster depend on each other: Liang and Zeger's, with the factor
// sqrt(G/(G-1)) for G clusters (CR1; K.-Y. Liang and S. L. Zeger, Biometrika 73,
// 1986). Empty clusters do not count; fewer than two clusters have no standard
// error.
func ClusteredSE(clusters [][]float64) (se float64, ok bool) {
	mean, n, groups := clusteredMean(clusters)
	if groups < 2 {
		return 0, false
	}
	var squares float64
	for _, cluster := range clusters {
		d := Sum(cluster) - mean*float64(len(cluster))
		squares += d * d
	}
	g := float64(groups)
	se = math.Sqrt(squares) / n * math.Sqrt(g/(g-1))
	return se, isFinite(se)
}

func clusteredMean(clusters [][]float64) (mean, n float64, groups int) {
	var sums []float64
	for _, cluster := range clusters {
		if len(cluster) > 0 {
			groups++
			n += float64(len(cluster))
			sums = append(sums, Sum(cluster))
		}
	}
	mean, _ = Ratio(Sum(sums), n)
	return mean, n, groups
}

// ExpandedRatio is the interval that [Resamples.Ratio] would give after
// infinitely many draws, for many clusters: the distribution of a drawn sum is
// expanded around the normal one by its skewness and kurtosis (E. A. Cornish and
// R. A. Fisher, Revue de l'Institut international de statistique 5, 1938; P. Hall,
// The Bootstrap and Edgeworth Expansion, 1992, 2.5). A drawn ratio is at most r
// where the sum of numerators - r denominators is at most 0, so that the ratio
// needs no expansion of its own.
func ExpandedRatio(numerators, denominators []float64, level float64) (interval Interval, ok bool) {
	e, ok := expand(numerators, denominators)
	z, zOK := NormalQuantile(twoSided(level))
	if !ok || !zOK {
		return Interval{}, false
	}
	interval = Interval{e.ratio + e.scale*e.root(-z), e.ratio + e.scale*e.root(z)}
	return interval, interval.spans()
}

// expansion holds the joint moments of both parts of a ratio: u is by how much a
// numerator is above its share, v the denominator, both in units of the means.
type expansion struct {
	ratio, scale, groups float64
	moments              [5][5]float64 // of u^i v^j, i + j <= 4
}

func expand(numerators, denominators []float64) (e expansion, ok bool) {
	e.groups = float64(len(numerators))
	below := Sum(denominators) / e.groups
	ratio, ok := Ratio(Sum(numerators)/e.groups, below)
	if !ok || len(numerators) != len(denominators) || len(numerators) < 2 || !isFinite(ratio) || !(below > 0) {
		return e, false
	}
	e.ratio = ratio
	for i, numerator := range numerators {
		e.scale = max(e.scale, math.Abs(numerator-ratio*denominators[i])/below)
	}
	if !(e.scale > 0) {
		return e, false
	}
	for i, numerator := range numerators {
		e.add((numerator-ratio*denominators[i])/below/e.scale, denominators[i]/below)
	}
	for i := range e.moments {
		for j := range e.moments[i] {
			e.moments[i][j] /= e.groups
		}
	}
	return e, isFinite(e.moments[4][0], e.moments[0][4])
}

func (e *expansion) add(u, v float64) {
	power := 1.0
	for i := range 5 {
		both := power
		for j := range 5 - i {
			e.moments[i][j] += both
			both *= v
		}
		power *= u
	}
}

// root is the deviation d from the ratio at which the z-quantile of the drawn
// mean of u - d v is 0; infinite where the denominators leave no bound.
func (e *expansion) root(z float64) float64 {
	step := math.Copysign(math.Sqrt(e.moments[2][0]/e.groups), z)
	far := step
	for n := 0; (e.quantile(far, z) > 0) == (z > 0); n++ {
		if n > 60 {
			return math.Copysign(math.Inf(1), z)
		}
		far += step * math.Exp2(float64(n)/4)
	}
	near := 0.0
	for range 100 {
		middle := (near + far) / 2
		if (e.quantile(middle, z) > 0) == (z > 0) {
			near = middle
		} else {
			far = middle
		}
	}
	return near
}

// quantile is that of the drawn mean of w = u - d v.
func (e *expansion) quantile(d, z float64) float64 {
	m := func(i, j int) float64 { return e.moments[i][j] }
	mean := m(1, 0) - d*m(0, 1)
	second := m(2, 0) - 2*d*m(1, 1) + d*d*m(0, 2)
	third := m(3, 0) - 3*d*m(2, 1) + 3*d*d*m(1, 2) - d*d*d*m(0, 3)
	fourth := m(4, 0) - 4*d*m(3, 1) + 6*d*d*m(2, 2) - 4*d*d*d*m(1, 3) + d*d*d*d*m(0, 4)
	variance := second - mean*mean
	if !(variance > 0) {
		return mean
	}
	deviation := math.Sqrt(variance)
	skewness := (third - 3*mean*second + 2*mean*mean*mean) / (variance * deviation)
	kurtosis := (fourth-4*mean*third+6*mean*mean*second-3*mean*mean*mean*mean)/(variance*variance) - 3
	return mean + deviation/math.Sqrt(e.groups)*cornishFisher(z, skewness/math.Sqrt(e.groups), kurtosis/e.groups)
}

// cornishFisher is the quantile of a distribution of that skewness and excess
// kurtosis where the normal one has z.
func cornishFisher(z, skewness, kurtosis float64) float64 {
	z3 := z * z * z
	return z + skewness*(z*z-1)/6 + kurtosis*(z3-3*z)/24 - skewness*skewness*(2*z3-5*z)/36
}
