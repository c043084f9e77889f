package stats

import "math"

// ClusteredMean estimates the mean of all values when values of one cluster
// depend on each other, as ClusteredMeanCR2 does: simulations show that its
// intervals hold their level at least as well as those of CR1 at any number of
// clusters. For clusters of one size both are the same.
func ClusteredMean(clusters [][]float64) (estimate Estimate, ok bool) {
	return ClusteredMeanCR2(clusters)
}

// ClusteredMeanCR1 takes the standard error of ClusteredSE and one degree of
// freedom less than there are clusters.
func ClusteredMeanCR1(clusters [][]float64) (estimate Estimate, ok bool) {
	se, ok := ClusteredSE(clusters)
	if !ok {
		return Estimate{}, false
	}
	mean, _, groups := clusteredMean(clusters)
	return Estimate{mean, se, float64(groups - 1)}, true
}

// ClusteredMeanCR2 takes the standard error that has no bias when values do not
// depend on each other, and Satterthwaite's degrees of freedom for it: few and
// unequal clusters are worth fewer (R. M. Bell and D. F. McCaffrey, Survey
// Methodology 28, 2002; J. E. Pustejovsky and E. Tipton, Journal of Business &
// Economic Statistics 36, 2018; here their matrices are those of a lone mean).
func ClusteredMeanCR2(clusters [][]float64) (estimate Estimate, ok bool) {
	mean, n, groups := clusteredMean(clusters)
	if groups < 2 {
		return Estimate{}, false
	}
	var variance, sizes, weights, weightSquares float64
	for _, cluster := range clusters {
		size := float64(len(cluster))
		d := Sum(cluster) - mean*size
		variance += d * d / (1 - size/n)
		weight := size * size / (1 - size/n)
		sizes += size * size
		weights += weight
		weightSquares += weight * weight
	}
	degrees := n * n / (sizes + (weights*weights-weightSquares)/(n*n))
	estimate = Estimate{mean, math.Sqrt(variance) / n, degrees}
	return estimate, isFinite(estimate.Value, estimate.SE, degrees)
}
