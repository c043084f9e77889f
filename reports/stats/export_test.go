package stats

import "slices"

// The approximations that samples of this size would not take, for the vectors.
var (
	SignedRankNormal = func(differences []float64) float64 {
		rest, _, _ := withoutZeros(differences)
		return signedRankNormal(signedRanks(rest, 0))
	}
	MannWhitneyNormal = func(u float64, x, y []float64) float64 {
		return mannWhitneyNormal(u, float64(len(x)), float64(len(y)), rank(slices.Concat(x, y)).tieCubes())
	}
)

// The ways to the p of one test, which must not differ.
var (
	FlipWays = func(differences []float64, seed uint64) (whole, all, drawn float64, isWhole bool) {
		sizes, seen, total := withoutZeros(differences)
		atLeast := max(seen, -seen) - tolerance*total
		counts, isWhole := steps(sizes)
		if isWhole {
			whole = flipWhole(counts)
		}
		return whole, flipAll(sizes, atLeast), flipDrawn(sizes, atLeast, seed), isWhole
	}
	SplitWays = func(x, y []float64, seed uint64) (whole, all, drawn float64, isWhole bool) {
		s := newSplit(slices.Concat(x, y), len(x))
		counts, isWhole := steps(s.values)
		if isWhole {
			whole = splitWhole(counts, len(x))
		}
		return whole, s.all(), s.drawn(seed), isWhole
	}
	Steps = steps
)
