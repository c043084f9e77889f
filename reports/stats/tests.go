package stats

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Method says how the p of a test came about.
type Method string

const (
	// Exact counts every case that chance could have produced.
	Exact Method = "exact"
	// MonteCarlo draws cases by a seed: p is (hits + 1) / (draws + 1).
	MonteCarlo Method = "Monte Carlo"
	// Approximate takes a distribution that holds for large samples, or for
	// values that are themselves normal.
	Approximate Method = "approximate"
)

// Draws is the number of cases that a Monte Carlo test draws.
const Draws = 10_000

// Test is what a test of "there is no difference" gives: its statistic, whose
// meaning the test tells, and the chance of one at least as far off when there
// is no difference.
type Test struct {
	Statistic, P float64
	Method       Method
}

// McNemar tests pairs of zeros and ones that are won b times and lost c times:
// twice the chance of so few of the rarer kind when each is a toss of a coin
// (Q. McNemar, Psychometrika 12, 1947). The statistic is b - c.
func McNemar(b, c int) (test Test, ok bool) {
	if b < 0 || c < 0 {
		return Test{}, false
	}
	p := 1.0
	if b != c {
		p = min(1, 2*headsAtMost(float64(min(b, c)), float64(b)+float64(c)))
	}
	return Test{Statistic: float64(b) - float64(c), P: p, Method: Exact}, true
}

// BonettPrice is the interval of (b-c)/n, the difference of two proportions in
// n pairs of which b are won and c are lost (D. G. Bonett and R. M. Price,
// Journal of Educational and Behavioral Statistics 37, 2012).
func BonettPrice(b, c, n int, level float64) (interval Interval, ok bool) {
	z, ok := NormalQuantile(twoSided(level))
	if !ok || b < 0 || c < 0 || n < 1 || b > n || c > n-b {
		return Interval{}, false
	}
	won, lost := float64(b+1)/float64(n+2), float64(c+1)/float64(n+2)
	difference := won - lost
	half := z * math.Sqrt((won+lost-difference*difference)/float64(n+2))
	return Interval{max(-1, difference-half), min(1, difference+half)}, true
}

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

func zeroOrOne(is bool) int {
	if is {
		return 1
	}
	return 0
}

// SignFlip tests whether paired differences favour one side: p is the share of
// all 2^n assignments of signs whose sum lies at least as far from 0 as the sum
// that was seen, which is the statistic (R. A. Fisher, The Design of
// Experiments, 1935, section 21). Differences of one cluster have to be summed
// up before, since their signs turn together.
//
// All assignments are counted when the differences are multiples of one step or
// at most 20 are not 0; else 10,000 are drawn by the seed. Sums that differ by
// 1e-9 of the sum of all sizes or less are equal.
func SignFlip(differences []float64, seed uint64) (test Test, ok bool) {
	sizes, seen, total := withoutZeros(differences)
	if len(differences) == 0 || !isFinite(total) {
		return Test{}, false
	}
	atLeast := math.Abs(seen) - tolerance*total
	test = Test{Statistic: seen, Method: Exact}
	counts, whole := steps(sizes)
	switch {
	case atLeast <= 0:
		test.P = 1
	case whole && flipWork(counts) <= mostFlipWork:
		test.P = flipWhole(counts)
	case len(sizes) <= mostEnumerated:
		test.P = flipAll(sizes, atLeast)
	default:
		test.P, test.Method = flipDrawn(sizes, atLeast, seed), MonteCarlo
	}
	return test, true
}

const (
	mostEnumerated = 20
	mostFlipWork   = 30_000_000
)

// withoutZeros leaves out what no sign changes. Total is the sum of the sizes.
func withoutZeros(differences []float64) (rest []float64, sum, total float64) {
	for _, d := range differences {
		if d != 0 {
			rest = append(rest, d)
		}
		total += math.Abs(d)
	}
	return rest, Sum(rest), total
}

// flipWork is how many additions flipWhole needs, about.
func flipWork(counts []int) int {
	total := 0
	for _, c := range counts {
		total += max(c, -c)
	}
	return total * len(counts) / 2
}

// flipWhole convolves: chance[t] is that the positive counts add up to t, and
// their sum less that of the negative ones is 2t - total.
func flipWhole(counts []int) float64 {
	total, seen := 0, 0
	for _, c := range counts {
		total, seen = total+max(c, -c), seen+c
	}
	chance := make([]float64, total+1)
	chance[0] = 1
	reached := 0
	for _, c := range counts {
		size := max(c, -c)
		reached += size
		for t := reached; t >= size; t-- {
			chance[t] = (chance[t] + chance[t-size]) / 2
		}
		for t := range size {
			chance[t] /= 2
		}
	}
	return tails(chance, (total+max(seen, -seen))/2)
}

// tails is twice the chance at and above the place in a symmetric distribution.
func tails(chance []float64, from int) (p float64) {
	for t := len(chance) - 1; t >= from; t-- {
		p += chance[t]
	}
	return min(1, 2*p)
}

// flipAll walks through all signs in Gray's order, in which one sign changes at
// a time. The first keeps its sign: the other half mirrors this one.
func flipAll(sizes []float64, atLeast float64) float64 {
	flipped := append([]float64(nil), sizes...)
	sum := Sum(flipped)
	hits, all := 0, 1<<(len(flipped)-1)
	for i := 1; ; i++ {
		if math.Abs(sum) >= atLeast {
			hits++
		}
		if i == all {
			return float64(hits) / float64(all)
		}
		at := 1 + bits.TrailingZeros(uint(i))
		sum -= 2 * flipped[at]
		flipped[at] = -flipped[at]
	}
}

// flipDrawn takes a bit of chance for each sign.
func flipDrawn(sizes []float64, atLeast float64, seed uint64) float64 {
	random := rand.NewPCG(seed, uint64(len(sizes)))
	hits := 0
	for range Draws {
		var sum float64
		for i := 0; i < len(sizes); i += 64 {
			signs := random.Uint64()
			for _, d := range sizes[i:min(i+64, len(sizes))] {
				sum += math.Float64frombits(math.Float64bits(d) ^ signs<<63)
				signs >>= 1
			}
		}
		if math.Abs(sum) >= atLeast {
			hits++
		}
	}
	return float64(hits+1) / (Draws + 1)
}

// Holm adjusts the p of several tests so that the chance of a false finding
// among all of them stays below the level (S. Holm, Scandinavian Journal of
// Statistics 6, 1979). They come back in their order.
func Holm(p []float64) (adjusted []float64, ok bool) {
	order, ok := ascending(p)
	if !ok {
		return nil, false
	}
	adjusted = make([]float64, len(p))
	reached := 0.0
	for i, at := range order {
		reached = max(reached, min(1, float64(len(p)-i)*p[at]))
		adjusted[at] = reached
	}
	return adjusted, true
}

// BenjaminiHochberg adjusts so that the share of false ones among the findings
// stays below the level on average (Y. Benjamini and Y. Hochberg, JRSS B 57, 1995).
func BenjaminiHochberg(p []float64) (adjusted []float64, ok bool) {
	order, ok := ascending(p)
	if !ok {
		return nil, false
	}
	adjusted = make([]float64, len(p))
	reached := 1.0
	for i, at := range slices.Backward(order) {
		reached = min(reached, float64(len(p))/float64(i+1)*p[at])
		adjusted[at] = reached
	}
	return adjusted, true
}

// ascending are the places of the p from the smallest to the largest.
func ascending(p []float64) (order []int, ok bool) {
	for i := range p {
		if !(p[i] >= 0 && p[i] <= 1) {
			return nil, false
		}
	}
	return places(p), true
}

// ClusteredMean estimates the mean of all values when values of one cluster depend on
// each other. The standard error is the one that has no bias when they do not (CR2), with
// Satterthwaite's degrees of freedom for it: few and unequal clusters are worth fewer
// (R. M. Bell and D. F. McCaffrey, Survey Methodology 28, 2002; J. E. Pustejovsky and E.
// Tipton, Journal of Business & Economic Statistics 36, 2018; here their matrices are
// those of a lone mean). Simulations show that its intervals hold their level at least as
// well as those of CR1 at any number of clusters; for clusters of one size both are the same.
func ClusteredMean(clusters [][]float64) (estimate Estimate, ok bool) {
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

// ranking is the places of values in ascending order.
type ranking struct {
	// doubled holds twice the mean rank of each value, which is whole: the
	// smallest of n distinct values has 2, the largest 2n.
	doubled []int
	// tied holds how many values share each distinct value.
	tied []int
}

func rank(values []float64) ranking {
	order := places(values)
	r := ranking{doubled: make([]int, len(values))}
	for first := 0; first < len(order); {
		next := first + 1
		for next < len(order) && values[order[next]] == values[order[first]] {
			next++
		}
		for _, at := range order[first:next] {
			r.doubled[at] = first + 1 + next
		}
		r.tied = append(r.tied, next-first)
		first = next
	}
	return r
}

// places are where the values stand, from the smallest to the largest.
func places(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// tieCubes is the sum of t^3 - t over groups of t tied values.
func (r ranking) tieCubes() (cubes float64) {
	for _, tied := range r.tied {
		t := float64(tied)
		cubes += t*t*t - t
	}
	return cubes
}

// Power is what a planned test shall hold: the level at which it finds a
// difference (0.05) and the chance to find one that is there (0.8).
type Power struct{ Alpha, Power float64 }

// z is the sum of the normal quantiles of both.
func (p Power) z() (level, power float64, ok bool) {
	level, levelOK := NormalQuantile(1 - p.Alpha/2)
	power, powerOK := NormalQuantile(p.Power)
	return level, power, levelOK && powerOK && level+power > 0
}

// Needed is how many independent values of the given variance show that their
// mean differs from 0 by the difference, by the normal distribution; round it
// up. Below about 30 Student's t test needs a few more.
func (p Power) Needed(variance, difference float64) (n float64, ok bool) {
	level, power, ok := p.z()
	n = (level + power) * (level + power) * variance / (difference * difference)
	return n, ok && variance > 0 && isFinite(n)
}

// Detectable is the smallest difference from 0 that the mean of n independent
// values of the given variance shows.
func (p Power) Detectable(variance, n float64) (difference float64, ok bool) {
	level, power, ok := p.z()
	difference = (level + power) * math.Sqrt(variance/n)
	return difference, ok && n > 0 && isFinite(difference)
}

// NeededMcNemar is how many pairs of zeros and ones McNemar's test needs when
// the share won is to be found different from the share lost (R. J. Connor,
// Biometrics 43, 1987); round it up.
func (p Power) NeededMcNemar(won, lost float64) (pairs float64, ok bool) {
	level, power, ok := p.z()
	discordant, d := won+lost, won-lost
	if !ok || !(won >= 0) || !(lost >= 0) || !(discordant <= 1) || d == 0 {
		return 0, false
	}
	root := (level*math.Sqrt(discordant) + power*math.Sqrt(discordant-d*d)) / d
	return root * root, isFinite(root * root)
}

// PairedVariance is that of a paired difference of two means of trials: Between
// is the variance of the true differences, Within that of one trial on either
// side (E. Miller, arXiv 2411.00640, 2024). Power.Needed of it is a number of pairs.
type PairedVariance struct {
	Between          float64
	WithinA, WithinB float64
	TrialsA, TrialsB int
}

// Value is the variance of one pair's difference.
func (v PairedVariance) Value() (variance float64, ok bool) {
	variance = v.Between + v.WithinA/float64(v.TrialsA) + v.WithinB/float64(v.TrialsB)
	return variance, v.TrialsA > 0 && v.TrialsB > 0 && variance >= 0 && isFinite(variance)
}
