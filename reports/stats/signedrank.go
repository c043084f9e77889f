package stats

import "math"

// SignedRank tests whether paired differences favour one side by their ranks,
// which one outlier cannot move far; differences of 0 are left out (F. Wilcoxon,
// Biometrics Bulletin 1, 1945). The statistic is V, the sum of the ranks of the
// differences above 0. p is exact given the ties; beyond some 300 differences it
// is the normal one with corrections for ties and continuity. Differences that
// lie within 1e-9 of the largest are tied.
func SignedRank(differences []float64) (test Test, ok bool) {
	return signedRank(differences, false)
}

// SignedRankPratt is SignedRank with differences of 0 ranked as well, before
// they are left out (J. W. Pratt, JASA 54, 1959).
func SignedRankPratt(differences []float64) (test Test, ok bool) {
	return signedRank(differences, true)
}

func signedRank(differences []float64, rankZeros bool) (test Test, ok bool) {
	rest, _, total := withoutZeros(differences)
	if len(differences) == 0 || !isFinite(total) {
		return Test{}, false
	}
	ranks := signedRanks(rest, (len(differences)-len(rest))*zeroOrOne(rankZeros))
	for _, r := range ranks {
		test.Statistic += float64(max(0, r)) / 2
	}
	if flipWork(ranks) <= mostFlipWork {
		test.P, test.Method = flipWhole(ranks), Exact
	} else {
		test.P, test.Method = signedRankNormal(ranks), Approximate
	}
	return test, true
}

// signedRanks are twice the ranks of the sizes, above those of the zeros, with
// the signs of the differences.
func signedRanks(differences []float64, zeros int) []int {
	sizes, largest := make([]float64, len(differences)), 0.0
	for i, d := range differences {
		sizes[i] = math.Abs(d)
		largest = max(largest, sizes[i])
	}
	ranks := rank(rounded(sizes, tolerance*largest)).doubled
	for i := range ranks {
		ranks[i] += 2 * zeros
		if differences[i] < 0 {
			ranks[i] = -ranks[i]
		}
	}
	return ranks
}

// rounded gives values that lie within a rounding error of each other one value.
func rounded(values []float64, rounding float64) []float64 {
	order := places(values)
	for i := 1; i < len(order); i++ {
		if before := values[order[i-1]]; values[order[i]]-before <= rounding {
			values[order[i]] = before
		}
	}
	return values
}

func signedRankNormal(ranks []int) float64 {
	var sum, squares float64
	for _, r := range ranks {
		sum += float64(r)
		squares += float64(r) * float64(r)
	}
	const continuity = 2 // V moves by 1/2, and so its doubled ranks, both sides of 0, by 2
	if squares == 0 {
		return 1
	}
	return normalTails(max(0, math.Abs(sum)-continuity) / math.Sqrt(squares))
}

func zeroOrOne(is bool) int {
	if is {
		return 1
	}
	return 0
}
