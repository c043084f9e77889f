package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// mostSplits is how many ways to split values in two are looked at one by one.
const mostSplits = 1_000_000

// Permutation tests whether the means of two independent samples differ: p is
// the share of all ways to split their values into samples of the same sizes
// whose means differ at least as much, in either direction, as the ones seen
// (E. J. G. Pitman, Supplement to the JRSS 4, 1937). The statistic is the
// difference of the means.
//
// All ways are counted when the values are multiples of one step or there are at
// most a million; else 10,000 are drawn by the seed.
func Permutation(x, y []float64, seed uint64) (test Test, ok bool) {
	a, aOK := Mean(x)
	b, bOK := Mean(y)
	all := slices.Concat(x, y)
	if !aOK || !bOK || !isFinite(all...) || !isFinite(spread(all)*float64(len(all))) {
		return Test{}, false
	}
	test = Test{Statistic: a - b, Method: Exact}
	s := newSplit(all, len(x))
	counts, whole := steps(s.values)
	switch {
	case s.atLeast <= 0:
		test.P = 1
	case whole && splitWork(counts, len(x)) <= mostRankWork:
		test.P = splitWhole(counts, len(x))
	case combin.LogGeneralizedBinomial(float64(len(all)), float64(len(x))) <= math.Log(mostSplits):
		test.P = s.all()
	default:
		test.P, test.Method = s.drawn(seed), MonteCarlo
	}
	return test, true
}

// split is a pool of values, moved to begin at 0, from which a sample is taken.
type split struct {
	values  []float64
	size    int
	mean    float64 // of the sum of a sample
	atLeast float64 // how far from it the sum that was seen lies
}

func newSplit(all []float64, size int) split {
	s := split{values: make([]float64, len(all)), size: size}
	least := slices.Min(all)
	for i, v := range all {
		s.values[i] = v - least
	}
	total := Sum(s.values)
	s.mean = total * float64(size) / float64(len(all))
	s.atLeast = math.Abs(Sum(s.values[:size])-s.mean) - tolerance*total
	return s
}

func (s split) far(sum float64) bool { return math.Abs(sum-s.mean) >= s.atLeast }

func (s split) all() float64 {
	ways := combin.NewCombinationGenerator(len(s.values), s.size)
	picked := make([]int, s.size)
	hits, all := 0, 0
	for ways.Next() {
		sum := 0.0
		for _, at := range ways.Combination(picked) {
			sum += s.values[at]
		}
		all++
		if s.far(sum) {
			hits++
		}
	}
	return float64(hits) / float64(all)
}

func (s split) drawn(seed uint64) float64 {
	random := rand.New(rand.NewPCG(seed, uint64(len(s.values))))
	hits := 0
	for range Draws {
		sum := 0.0
		for i := range s.size {
			at := i + random.IntN(len(s.values)-i)
			s.values[i], s.values[at] = s.values[at], s.values[i]
			sum += s.values[i]
		}
		if s.far(sum) {
			hits++
		}
	}
	return float64(hits+1) / (Draws + 1)
}

func splitWork(counts []int, size int) int {
	few := min(size, len(counts)-size)
	return int(min(math.MaxInt32, float64(len(counts))*float64(few)*float64(few)*float64(slices.Max(counts)+1)/2))
}

func splitWhole(counts []int, size int) float64 {
	seen := 0
	for _, c := range counts[:size] {
		seen += c
	}
	return subsetTails(counts, size, seen)
}

// spread is how far the values lie apart.
func spread(values []float64) float64 { return slices.Max(values) - slices.Min(values) }
