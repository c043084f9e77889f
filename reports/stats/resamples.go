package stats

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples are what a bootstrap draws: as many clusters as there are, with
// replacement, again and again (B. Efron, Annals of Statistics 7, 1979). One set of them serves every number of the same
// clusters, which costs little and lets the numbers be compared. It holds one
// byte for each cluster and draw.
type Resamples struct {
	groups int
	counts []uint8 // how often each cluster was drawn, one draw after the other
}

// MostResampled is the number of clusters up to which a bootstrap draws. Beyond
// it the expansion of [ExpandedRatio] is as close to the bootstrap's own
// distribution as 10,000 draws are.
const MostResampled = 100

// Resample draws so many times from so many clusters, at most [MostResampled].
// Where all n^n ways to draw are no more than that, each is taken once.
func Resample(groups, draws int, seed uint64) *Resamples {
	groups = max(0, min(groups, MostResampled))
	r := &Resamples{groups: groups}
	if math.Pow(float64(groups), float64(groups)) > float64(draws) {
		r.counts = make([]uint8, 0, groups*max(0, draws))
	}
	for drawn := range resamples(groups, draws, seed) {
		r.counts = append(r.counts, drawn...)
	}
	return r
}

// resamples gives how often each of the clusters was drawn, in the same slice
// for one draw after the other.
func resamples(groups, draws int, seed uint64) iter.Seq[[]uint8] {
	if draws < 1 || groups < 1 {
		return func(func([]uint8) bool) {}
	}
	if math.Pow(float64(groups), float64(groups)) <= float64(draws) {
		return everyResample(groups)
	}
	return func(yield func([]uint8) bool) {
		random := rand.New(rand.NewPCG(seed, uint64(groups)))
		drawn := make([]uint8, groups)
		for range draws {
			clear(drawn)
			for range groups {
				drawn[random.IntN(groups)]++
			}
			if !yield(drawn) {
				return
			}
		}
	}
}

// everyResample counts up in the base of the number of clusters; each digit is a
// cluster that was drawn.
func everyResample(groups int) iter.Seq[[]uint8] {
	return func(yield func([]uint8) bool) {
		digits, drawn := make([]int, groups), make([]uint8, groups)
		drawn[0] = uint8(groups)
		for yield(drawn) {
			at := 0
			for ; at < groups && digits[at] == groups-1; at++ {
				drawn[groups-1]--
				drawn[0]++
				digits[at] = 0
			}
			if at == groups {
				return
			}
			drawn[digits[at]]--
			digits[at]++
			drawn[digits[at]]++
		}
	}
}

// Ratio is the percentile interval (B. Efron and R. J. Tibshirani, An Introduction
// to the Bootstrap, 1993, 13.3) of the ratio of two sums, of which each cluster
// gives a part: a mean where the denominators are counts. Ratios of draws whose
// denominator is 0 are infinite, and so an end may be. It wants at least two
// clusters, as many as were drawn from, no denominator below 0, and values that
// vary.
func (r *Resamples) Ratio(numerators, denominators []float64, level float64) (interval Interval, ok bool) {
	if r.groups < 2 || len(numerators) != r.groups || len(denominators) != r.groups || !isFinite(numerators...) || !isFinite(denominators...) {
		return Interval{}, false
	}
	if proportional(numerators, denominators) {
		return Interval{}, false
	}
	ratios := make([]float64, 0, len(r.counts)/r.groups)
	for draw := range slices.Chunk(r.counts, r.groups) {
		ratios = append(ratios, ratioOf(draw, numerators, denominators))
	}
	return percentiles(ratios, level)
}

// proportional says that all clusters have the same ratio, but for rounding.
func proportional(numerators, denominators []float64) bool {
	ratio, ok := Ratio(Sum(numerators), Sum(denominators))
	for i, numerator := range numerators {
		if ok && math.Abs(numerator-ratio*denominators[i]) > tolerance*math.Abs(numerator) {
			return false
		}
	}
	return ok
}

// ratioOf has two sums each, which the processor adds up at the same time.
func ratioOf(draw []uint8, numerators, denominators []float64) float64 {
	numerators, denominators = numerators[:len(draw)], denominators[:len(draw)]
	var above, below, above2, below2 float64
	i := 0
	for ; i+1 < len(draw); i += 2 {
		n, m := float64(draw[i]), float64(draw[i+1])
		above, below = above+n*numerators[i], below+n*denominators[i]
		above2, below2 = above2+m*numerators[i+1], below2+m*denominators[i+1]
	}
	if i < len(draw) {
		n := float64(draw[i])
		above, below = above+n*numerators[i], below+n*denominators[i]
	}
	if below+below2 == 0 {
		return math.Inf(1)
	}
	return (above + above2) / (below + below2)
}

// Interval is the percentile interval of any number that follows from how often
// each cluster was drawn. Draws without an answer are left out; where they are
// more than one in twenty there is none.
func (r *Resamples) Interval(of func(drawn []uint8) (number float64, ok bool), level float64) (interval Interval, ok bool) {
	if r.groups < 2 {
		return Interval{}, false
	}
	var numbers []float64
	for draw := range slices.Chunk(r.counts, r.groups) {
		if number, ok := of(draw); ok {
			numbers = append(numbers, number)
		}
	}
	if 20*len(numbers) < 19*len(r.counts)/r.groups {
		return Interval{}, false
	}
	return percentiles(numbers, level)
}

// percentiles are the quantiles, of type 7, around the middle part of the numbers,
// which it puts into another order. Where all are equal there is nothing to tell.
func percentiles(numbers []float64, level float64) (interval Interval, ok bool) {
	if len(numbers) == 0 || !(level > 0 && level < 1) {
		return Interval{}, false
	}
	interval = Interval{unsortedQuantile(numbers, 1-twoSided(level)), unsortedQuantile(numbers, twoSided(level))}
	return interval, interval.spans()
}

// spans says that the ends differ by more than rounding.
func (i Interval) spans() bool {
	return i.High-i.Low > tolerance*max(math.Abs(i.Low), min(math.Abs(i.High), math.MaxFloat64))
}

// unsortedQuantile is [Quantile] of numbers in any order.
func unsortedQuantile(numbers []float64, p float64) float64 {
	h := float64(len(numbers)-1) * p
	below := int(h)
	partition(numbers, below)
	low, high := numbers[below], numbers[below]
	if rest := numbers[below+1:]; len(rest) > 0 && h > float64(below) {
		high = slices.Min(rest)
	}
	if low == high || math.IsInf(high, 1) {
		return high
	}
	return low + (h-float64(below))*(high-low)
}

// partition puts the k-th smallest number at its place, no larger ones before it
// and no smaller ones behind it (C. A. R. Hoare, Communications of the ACM 4, 1961).
func partition(numbers []float64, k int) {
	for low, high := 0, len(numbers)-1; low < high; {
		pivot := numbers[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for numbers[i] < pivot {
				i++
			}
			for numbers[j] > pivot {
				j--
			}
			if i <= j {
				numbers[i], numbers[j] = numbers[j], numbers[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}

// PercentileLevel is the level at which the percentiles of so many resampled
// clusters hold a level: without it they lie too close together, like the normal
// quantiles of a standard error that divides by n (T. C. Hesterberg, The American
// Statistician 69, 2015, section 4.4).
func PercentileLevel(groups int, level float64) float64 {
	n := float64(groups)
	t, ok := StudentQuantile(twoSided(level), n-1)
	if !ok {
		return level
	}
	return min(1-1e-9, 1-normalTails(t*math.Sqrt(n/(n-1))))
}
