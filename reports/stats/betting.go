package stats

import (
	"math"
	"slices"
)

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
