package stats

import "math"

// Interval is a confidence interval with both ends included.
type Interval struct{ Low, High float64 }

// Z95 is the normal quantile of a two-sided interval at level 0.95.
const Z95 = 1.95996398454005423552

// Wilson is the score interval of a proportion p seen in n draws, at the level
// of the normal quantile z (E. B. Wilson, JASA 22, 1927), without continuity
// correction. n need not be whole: it may be an effective sample size.
func Wilson(p, n, z float64) (interval Interval, ok bool) {
	if !(n > 0) || !(p >= 0 && p <= 1) {
		return Interval{}, false
	}
	scale := 1 + z*z/n
	centre := (p + z*z/(2*n)) / scale
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n)) / scale
	return Interval{wilsonEnd(p == 0, 0, centre-half), wilsonEnd(p == 1, 1, centre+half)}, true
}

// wilsonEnd takes the end that is exact by algebra where rounding would miss it.
func wilsonEnd(exact bool, end, computed float64) float64 {
	if exact {
		return end
	}
	return min(1, max(0, computed))
}

// ClusteredSE is the standard error of the mean of all values when values of
// one cluster depend on each other: Liang and Zeger's, with the factor
// sqrt(G/(G-1)) for G clusters (CR1). Empty clusters do not count; fewer than
// two clusters have no standard error.
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
	return math.Sqrt(squares) / n * math.Sqrt(g/(g-1)), true
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

// EffectiveN is the number of independent draws that would give a proportion p
// the standard error se, at most n.
func EffectiveN(p, se, n float64) float64 {
	if se == 0 {
		return n
	}
	return min(n, p*(1-p)/(se*se))
}

// ProportionInterval is the 95 % interval of the share of ones in clusters of
// zeros and ones: Wilson's, on n when every cluster holds one value, else on
// the effective n of the clustered standard error. Where all values are equal
// that standard error says nothing and the number of clusters takes its place.
func ProportionInterval(clusters [][]float64) (interval Interval, ok bool) {
	p, n, groups := clusteredMean(clusters)
	if n == float64(groups) {
		return Wilson(p, n, Z95)
	}
	se, _ := ClusteredSE(clusters)
	return wilsonOnEffective(p, se, n, groups)
}

// MeanProportionInterval is ProportionInterval for the mean of the clusters'
// means, in which clusters weigh the same whatever their sizes: it takes the
// means and the number of values in all clusters together.
func MeanProportionInterval(means []float64, n int) (interval Interval, ok bool) {
	p, ok := Mean(means)
	if !ok {
		return Interval{}, false
	}
	if n == len(means) {
		return Wilson(p, float64(n), Z95)
	}
	se, _ := StandardError(means)
	return wilsonOnEffective(p, se, float64(n), len(means))
}

// StandardError is that of the mean of independent values, at least two.
func StandardError(values []float64) (se float64, ok bool) {
	n := float64(len(values))
	if n < 2 {
		return 0, false
	}
	mean, _ := Mean(values)
	squares := make([]float64, len(values))
	for i, v := range values {
		squares[i] = (v - mean) * (v - mean)
	}
	return math.Sqrt(Sum(squares) / (n - 1) / n), true
}

func wilsonOnEffective(p, se, n float64, groups int) (interval Interval, ok bool) {
	if p == 0 || p == 1 || se == 0 {
		return Wilson(p, float64(groups), Z95)
	}
	return Wilson(p, EffectiveN(p, se, n), Z95)
}
