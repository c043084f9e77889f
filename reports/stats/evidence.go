package stats

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Evidence weighs b wins against c losses so that one may look at any time and
// stop: when wins and losses are equally likely it exceeds 1/alpha at any time
// with a chance of at most alpha (a mixture over Beta(a,a) of likelihood ratios;
// J. Ville, 1939; A. Ramdas et al., Statistical Science 38, 2023). The order in
// which pairs are looked at must be fixed before. a is 1 for the usual even
// mixture, smaller to find large differences sooner. It stays at the largest
// float64 where it is larger.
func Evidence(b, c int, a float64) (evidence float64, ok bool) {
	if b < 0 || c < 0 || !(a > 0) || math.IsInf(a, 1) {
		return 0, false
	}
	won, lost := float64(b), float64(c)
	log := (won+lost)*math.Ln2 + logBeta(a+won, a+lost) - logBeta(a, a)
	return min(math.MaxFloat64, math.Exp(log)), !math.IsNaN(log)
}

func logBeta(a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}

// bets are how many stakes on either side the evidence of a mean is a mixture of.
const bets = 128

// MeanEvidence weighs differences in [-1, 1], those of tasks in an order fixed
// before, so that one may look at any time and stop: where their true mean is
// -margin or more, it exceeds 1/alpha at any time with a chance of at most alpha.
// It is what somebody has won who bet, at even stakes of (-1, 1), that they are
// lower (I. Waudby-Smith and A. Ramdas, J. R. Stat. Soc. B 86, 2024), and 0 where
// betting on the contrary won more. Of wins, losses and ties without a margin it
// is [Evidence].
func MeanEvidence(differences []float64, margin float64) (evidence float64, ok bool) {
	if !(margin >= 0 && margin < 1) || slices.ContainsFunc(differences, func(d float64) bool { return !(math.Abs(d) <= 1) }) {
		return 0, false
	}
	if won, lost, even := signs(differences); even && margin == 0 {
		if won > lost {
			return 0, true
		}
		return Evidence(won, lost, 1)
	}
	distinct, counts := tallied(differences)
	lower, higher := 0.0, 0.0
	for j := range bets {
		stake := (float64(j) + 0.5) / bets
		lower += wealth(distinct, counts, margin, stake)
		higher += wealth(distinct, counts, margin, -stake)
	}
	if higher > lower {
		return 0, true
	}
	return min(math.MaxFloat64, (lower+higher)/(2*bets)), true
}

// signs counts wins and losses; even says that all differences are 1, -1 or 0.
func signs(differences []float64) (won, lost int, even bool) {
	for _, d := range differences {
		switch d {
		case 1:
			won++
		case -1:
			lost++
		case 0:
		default:
			return 0, 0, false
		}
	}
	return won, lost, true
}

// tallied are the values that occur, ascending, and how often each does.
func tallied(values []float64) (distinct []float64, counts []int) {
	for _, v := range slices.Sorted(slices.Values(values)) {
		if n := len(distinct); n > 0 && distinct[n-1] == v {
			counts[n-1]++
			continue
		}
		distinct, counts = append(distinct, v), append(counts, 1)
	}
	return distinct, counts
}

// wealth is what is made of 1 by betting a stake on each difference.
func wealth(distinct []float64, counts []int, margin, stake float64) float64 {
	log := 0.0
	for i, d := range distinct {
		log += float64(counts[i]) * math.Log1p(-stake*(d+margin)/(1+margin))
	}
	return math.Exp(log)
}

// SequentialEvidence weighs differences in [-1, 1], in an order fixed before, on both
// sides: where their true mean is 0 it reaches a bound at any time with a chance of at
// most 1/bound. It tells how much it is in the end, after how many differences it first
// reached the bound (0: never), and which way they pointed then: 1 up, -1 down. Of wins
// and losses it is [Evidence], of others the mixture of [MeanEvidence].
func SequentialEvidence(differences []float64, bound float64) (evidence float64, after, way int, ok bool) {
	if !(bound > 0) || slices.ContainsFunc(differences, func(d float64) bool { return !(math.Abs(d) <= 1) }) {
		return 0, 0, 0, false
	}
	weigh := wagers()
	if _, _, even := signs(differences); even {
		weigh = counts()
	}
	evidence, sum := 1.0, 0.0
	for i, d := range differences {
		if d == 0 {
			continue
		}
		sum += d
		if evidence = weigh(d); evidence >= bound && after == 0 {
			after, way = i+1, 1
			if sum < 0 {
				way = -1
			}
		}
	}
	return evidence, after, way, true
}

// counts gives the evidence of wins and losses that come one after the other.
func counts() func(d float64) (evidence float64) {
	won, lost := 0, 0
	return func(d float64) float64 {
		if d > 0 {
			won++
		} else {
			lost++
		}
		evidence, _ := Evidence(won, lost, 1)
		return evidence
	}
}

// wagers gives what is made of 1 by stakes on either side, with differences that come
// one after the other.
func wagers() func(d float64) (evidence float64) {
	var logs [2 * bets]float64
	return func(d float64) float64 {
		sum := 0.0
		for j := range bets {
			stake := (float64(j) + 0.5) / bets
			logs[j] += math.Log1p(-stake * d)
			logs[bets+j] += math.Log1p(stake * d)
			sum += math.Exp(logs[j]) + math.Exp(logs[bets+j])
		}
		return min(math.MaxFloat64, sum/(2*bets))
	}
}

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

// proportional reports whether all clusters have the same ratio, but for rounding.
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

// percentiles are the quantiles, of type 7, around the middle part of the numbers,
// which it puts into another order. Where all are equal there is nothing to tell.
func percentiles(numbers []float64, level float64) (interval Interval, ok bool) {
	if len(numbers) == 0 || !(level > 0 && level < 1) {
		return Interval{}, false
	}
	interval = Interval{unsortedQuantile(numbers, 1-twoSided(level)), unsortedQuantile(numbers, twoSided(level))}
	return interval, interval.spans()
}

// spans reports whether the ends differ by more than rounding.
func (i Interval) spans() bool {
	return i.High-i.Low > tolerance*max(math.Abs(i.Low), min(math.Abs(i.High), math.MaxFloat64))
}

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

// Bootstrap is the percentile interval, at the level of [PercentileLevel], of any
// number that follows from how often each cluster was drawn. Unlike [Resamples] it
// keeps no draws and takes any number of clusters, from two on. Draws without an
// answer are left out; where they are more than one in twenty there is none.
func Bootstrap(groups, draws int, seed uint64, of func(drawn []uint8) (number float64, ok bool), level float64) (interval Interval, ok bool) {
	if groups < 2 {
		return Interval{}, false
	}
	var numbers []float64
	all := 0
	for drawn := range resamples(groups, draws, seed) {
		all++
		if number, ok := of(drawn); ok && isFinite(number) {
			numbers = append(numbers, number)
		}
	}
	if 20*len(numbers) < 19*all {
		return Interval{}, false
	}
	return percentiles(numbers, PercentileLevel(groups, level))
}

// Beyond manyDegrees Student's t is the normal distribution to 1e-6; of less than
// fewDegrees, a tenth of what two values have, nothing can be said.
const (
	manyDegrees = 1e6
	fewDegrees  = 0.1
)

// NormalQuantile is the p-quantile of the standard normal distribution.
func NormalQuantile(p float64) (z float64, ok bool) {
	if !(p > 0 && p < 1) {
		return 0, false
	}
	return mathext.NormalQuantile(p), true
}

// StudentQuantile is the p-quantile of Student's t distribution, whose degrees
// of freedom need not be whole.
func StudentQuantile(p, degrees float64) (t float64, ok bool) {
	if !(p > 0 && p < 1) || !(degrees >= fewDegrees) {
		return 0, false
	}
	if degrees > manyDegrees {
		return mathext.NormalQuantile(p), true
	}
	x := mathext.InvRegIncBeta(degrees/2, 0.5, 2*min(p, 1-p))
	t = math.Copysign(math.Sqrt(degrees*(1-x)/x), p-0.5)
	return t, isFinite(t)
}

// twoSided is the p of the quantile that, together with its opposite, holds the
// level between them.
func twoSided(level float64) float64 { return (1 + level) / 2 }

// normalTails is the chance that a standard normal is at least |z| away from 0.
func normalTails(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// studentTails is the chance that Student's t is at least |t| away from 0.
func studentTails(t, degrees float64) float64 {
	if degrees > manyDegrees {
		return normalTails(t)
	}
	return min(1, mathext.RegIncBeta(degrees/2, 0.5, degrees/(t*t+degrees)))
}

// headsAtMost is the chance of at most k heads in n tosses of a fair coin.
func headsAtMost(k, n float64) float64 {
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(n-k, k+1, 0.5)
}

func isFinite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// tolerance is how far, as a share of the largest, two sums may lie apart and
// still be the same sum that rounding split.
const tolerance = 1e-9

// mostSteps is how many steps the largest of values may hold.
const mostSteps = 10_000

// steps tells values that are all multiples of one step, such as the means of
// zeros and ones over as many trials, as numbers of steps.
func steps(values []float64) (counts []int, ok bool) {
	step, largest := 0.0, 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	seen := 0.0 // the largest so far
	for _, v := range values {
		if step = commonStep(math.Abs(v), step, tolerance*largest); step*mostSteps < largest && step > 0 {
			return nil, false
		}
		if seen = max(seen, math.Abs(v)); step > 0 {
			step = seen / math.Round(seen/step) // else rounding adds up
		}
	}
	if step == 0 {
		return make([]int, len(values)), true
	}
	counts = make([]int, len(values))
	for i, v := range values {
		whole := math.Round(v / step)
		if math.Abs(v-whole*step) > tolerance*largest {
			return nil, false
		}
		counts[i] = int(whole)
	}
	return counts, true
}

// commonStep is Euclid's greatest common divisor of two numbers that are
// multiples of it but for rounding; that of a number and 0 is the number.
func commonStep(a, b, rounding float64) float64 {
	for b > rounding {
		a, b = b, math.Mod(a, b)
	}
	return a
}
