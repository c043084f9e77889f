package stats

import (
	"math"
	"slices"
)

// mostRankWork is how many additions the exact distribution of ranks may cost.
const mostRankWork = 50_000_000

// MannWhitney tests whether values of one of two independent samples tend to be
// larger (H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18,
// 1947). The statistic is U: the number of pairs which x wins, ties counting
// half. p is exact given the ties, the chance of a U at least as far from its
// mean; for samples too large for that, some 80 values each, it is the normal
// one with corrections for ties and continuity.
func MannWhitney(x, y []float64) (test Test, ok bool) {
	all := slices.Concat(x, y)
	if len(x) == 0 || len(y) == 0 || !isFinite(all...) {
		return Test{}, false
	}
	r := rank(all)
	sum := 0
	for _, doubled := range r.doubled[:len(x)] {
		sum += doubled
	}
	nx, ny := len(x), len(y)
	test.Statistic = float64(sum-nx*(nx+1)) / 2
	if rankWork(nx, ny) > mostRankWork {
		test.P, test.Method = mannWhitneyNormal(test.Statistic, float64(nx), float64(ny), r.tieCubes()), Approximate
		return test, true
	}
	test.P, test.Method = subsetTails(r.doubled, nx, sum), Exact
	return test, true
}

func rankWork(nx, ny int) int {
	n, few := float64(nx+ny), float64(min(nx, ny))
	return int(min(math.MaxInt32, n*few*few*n/2))
}

func mannWhitneyNormal(u, nx, ny, cubes float64) float64 {
	n := nx + ny
	variance := nx * ny / 12 * (n + 1 - cubes/(n*(n-1)))
	if variance <= 0 {
		return 1
	}
	return normalTails(max(0, math.Abs(u-nx*ny/2)-0.5) / math.Sqrt(variance))
}

// subsetTails is the share of the subsets of a size whose sum lies at least as
// far from the mean sum as the one seen. The smaller of a subset and what it
// leaves is counted: both are as far from their means.
func subsetTails(values []int, size, seen int) float64 {
	total := 0
	for _, v := range values {
		total += v
	}
	n := len(values)
	far := max(n*seen-size*total, size*total-n*seen)
	size = min(size, n-size)
	var hits, all float64
	for sum, ways := range subsetSums(values, size) {
		all += ways
		if away := n*sum - size*total; away >= far || -away >= far {
			hits += ways
		}
	}
	return min(1, hits/all)
}

// subsetSums counts the subsets of a size by their sums. The values are positive.
func subsetSums(values []int, size int) (ways []float64) {
	largest := 0
	for _, v := range slices.Sorted(slices.Values(values))[len(values)-size:] {
		largest += v
	}
	bySize := make([][]float64, size+1)
	for i := range bySize {
		bySize[i] = make([]float64, largest+1)
	}
	bySize[0][0] = 1
	for seen, v := range values {
		for k := min(seen+1, size); k > 0; k-- {
			with, without := bySize[k], bySize[k-1]
			for sum := v; sum <= largest; sum++ {
				with[sum] += without[sum-v]
			}
		}
	}
	return bySize[size]
}
