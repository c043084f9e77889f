package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bootstrap is how the variation of a number is found by drawing as many
// clusters as there are, with replacement, again and again (B. Efron, Annals of
// Statistics 7, 1979). Where all n^n draws of n clusters are no more than the
// resamples asked for, each is taken once.
type Bootstrap struct {
	Resamples int     // 10,000 when 0
	Level     float64 // 0.95 when 0
	Seed      uint64
}

// Resampled is what a bootstrap gives: the percentile interval, its ends being
// quantiles of type 7, and the standard deviation of the resamples.
type Resampled struct {
	Interval
	SE float64
}

// Mean is the bootstrap of the mean of the clusters' values.
func (b Bootstrap) Mean(values []float64) (resampled Resampled, ok bool) {
	ones := make([]float64, len(values))
	for i := range ones {
		ones[i] = 1
	}
	return b.Ratio(values, ones)
}

// Ratio is the bootstrap of a ratio of sums, to which each cluster adds a
// numerator and a denominator: costs and successes, or sums and counts of values.
// It has no answer where more resamples than its upper end leaves out have a
// denominator of 0.
func (b Bootstrap) Ratio(numerators, denominators []float64) (resampled Resampled, ok bool) {
	n := len(numerators)
	if len(denominators) != n || !isFinite(numerators...) || !isFinite(denominators...) {
		return Resampled{}, false
	}
	type cluster struct{ over, under float64 }
	clusters := make([]cluster, n)
	for i := range clusters {
		clusters[i] = cluster{numerators[i], denominators[i]}
	}
	return b.Any(n, func(picked []int32) float64 {
		var sum cluster
		for _, at := range picked {
			c := &clusters[at]
			sum.over += c.over
			sum.under += c.under
		}
		if sum.under == 0 {
			return math.Inf(1)
		}
		return sum.over / sum.under
	})
}

// Any is the bootstrap of any number of n clusters. The statistic is told which
// were picked, some more than once, and gives +Inf where it has no value.
func (b Bootstrap) Any(n int, statistic func(picked []int32) float64) (resampled Resampled, ok bool) {
	if n < 1 || b.Resamples < 0 {
		return Resampled{}, false
	}
	values := make([]float64, 0, b.resamples())
	b.each(n, func(picked []int32) { values = append(values, statistic(picked)) })
	slices.Sort(values)
	if math.IsNaN(values[0]) {
		return Resampled{}, false
	}
	return b.percentiles(values)
}

func (b Bootstrap) percentiles(sorted []float64) (resampled Resampled, ok bool) {
	level := b.Level
	if level == 0 {
		level = Level
	}
	low, lowOK := Quantile(sorted, 1-twoSided(level))
	high, highOK := Quantile(sorted, twoSided(level))
	if !(level > 0 && level < 1) || !lowOK || !highOK || !isFinite(low, high) {
		return Resampled{}, false
	}
	finite := sorted
	for math.IsInf(finite[len(finite)-1], 1) {
		finite = finite[:len(finite)-1]
	}
	variance, _ := Variance(finite)
	n := float64(len(finite))
	return Resampled{Interval{low, high}, math.Sqrt(variance * (n - 1) / n)}, true
}

func (b Bootstrap) resamples() int {
	if b.Resamples == 0 {
		return Draws
	}
	return b.Resamples
}

// each calls with the clusters of one resample after the other.
func (b Bootstrap) each(n int, resample func(picked []int32)) {
	picked := make([]int32, n)
	if math.Pow(float64(n), float64(n)) <= float64(b.resamples()) {
		for more := true; more; more = next(picked) {
			resample(picked)
		}
		return
	}
	random := rand.NewPCG(b.Seed, uint64(n))
	for range b.resamples() {
		pick(random, picked)
		resample(picked)
	}
}

// pick draws two clusters from each 64 bits of chance (D. Lemire's product; with
// fewer than a million clusters its bias is below 1/4000).
func pick(random *rand.PCG, picked []int32) {
	n := uint64(len(picked))
	for i := 0; i < len(picked); i += 2 {
		bits := random.Uint64()
		picked[i] = int32(bits >> 32 * n >> 32)
		if i+1 < len(picked) {
			picked[i+1] = int32(bits & math.MaxUint32 * n >> 32)
		}
	}
}

// next counts up in the base of the number of clusters.
func next(picked []int32) bool {
	for i := range picked {
		if picked[i]++; int(picked[i]) < len(picked) {
			return true
		}
		picked[i] = 0
	}
	return false
}
