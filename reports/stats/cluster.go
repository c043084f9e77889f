package stats

import "math"

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

// Grouped gathers values by the names of their clusters, in the order in which
// the names first come. Values beyond the names are clusters of their own.
func Grouped(values []float64, names []string) (clusters [][]float64) {
	at := map[string]int{}
	for i, v := range values {
		if i >= len(names) {
			clusters = append(clusters, []float64{v})
			continue
		}
		cluster, seen := at[names[i]]
		if !seen {
			cluster = len(clusters)
			at[names[i]] = cluster
			clusters = append(clusters, nil)
		}
		clusters[cluster] = append(clusters[cluster], v)
	}
	return clusters
}
