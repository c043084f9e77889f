package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

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
