package stats

// Components are the parts of the variance of values in clusters: of what the
// clusters truly are, and of the values around that.
type Components struct{ Between, Within float64 }

// VarianceComponents splits the variance by the analysis of variance of random
// effects (S. R. Searle, G. Casella and C. E. McCulloch, Variance Components,
// 1992, chapter 3). Between is 0 where the estimate falls below it. It needs two
// clusters, of which one has two values.
func VarianceComponents(clusters [][]float64) (c Components, ok bool) {
	mean, n, groups := clusteredMean(clusters)
	g := float64(groups)
	if groups < 2 || n <= g {
		return Components{}, false
	}
	var within, between, sizes []float64
	for _, cluster := range clusters {
		own, ok := Mean(cluster)
		if !ok {
			continue
		}
		for _, v := range cluster {
			within = append(within, (v-own)*(v-own))
		}
		size := float64(len(cluster))
		between = append(between, size*(own-mean)*(own-mean))
		sizes = append(sizes, size*size)
	}
	c.Within = Sum(within) / (n - g)
	typical := (n - Sum(sizes)/n) / (g - 1)
	c.Between = max(0, (Sum(between)/(g-1)-c.Within)/typical)
	return c, len(sizes) == groups && isFinite(c.Between, c.Within)
}

// ICC is the share of the variance that lies between clusters: how much two
// values of one cluster depend on each other.
func (c Components) ICC() (share float64, ok bool) { return Ratio(c.Between, c.Between+c.Within) }

// MeanSE is the standard error of the mean over as many clusters with as many
// values in each: what more clusters, or more values in each, would buy.
func (c Components) MeanSE(clusters, values int) (se float64, ok bool) {
	if clusters < 1 || values < 1 {
		return 0, false
	}
	return root((c.Between + c.Within/float64(values)) / float64(clusters))
}
