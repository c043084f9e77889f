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
