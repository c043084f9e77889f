package stats

import (
	"math"
	"slices"
)

// mostRankWork is how many additions the exact distribution of ranks may cost.
const mostRankWork = 100_000_000

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
	test.P, test.Method = r.subsetTails(nx, sum), Exact
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

// subsetTails takes whole ranks as they are, which are half as many to add up.
func (r ranking) subsetTails(size, sum int) float64 {
	if len(r.tied) < len(r.doubled) {
		return subsetTails(r.doubled, size, sum)
	}
	ranks := make([]int, len(r.doubled))
	for i, doubled := range r.doubled {
		ranks[i] = doubled / 2
	}
	return subsetTails(ranks, size, sum/2)
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

// subsetSums counts the subsets of a size by their sums. No value is below 0.
func subsetSums(values []int, size int) (ways []float64) {
	sorted := slices.Sorted(slices.Values(values))
	upTo := make([]int, len(sorted)+1) // the sum of so many of the smallest
	for i, v := range sorted {
		upTo[i+1] = upTo[i] + v
	}
	largest := upTo[len(sorted)] - upTo[len(sorted)-size]
	bySize := make([][]float64, size+1)
	for k := range bySize {
		bySize[k] = make([]float64, largest+1)
	}
	bySize[0][0] = 1
	for i, v := range sorted {
		for k := min(i+1, size); k > 0; k-- {
			least, most := upTo[k-1], upTo[i]-upTo[i-k+1] // of k-1 values before this one
			with, without := bySize[k][least+v:most+v+1], bySize[k-1][least:most+1]
			for sum, n := range without {
				with[sum] += n
			}
		}
	}
	return bySize[size]
}
