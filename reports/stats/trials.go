package stats

import (
	"cmp"
	"slices"
)

// PassAtK is the chance that at least one of k trials succeeds, from c successes
// in n trials without bias: 1 - C(n-c,k)/C(n,k) (M. Chen et al., arXiv
// 2107.03374, 2021). It is unknown for k > n.
func PassAtK(n, c, k int) (chance float64, ok bool) {
	if !trialsKnown(n, c, k) {
		return 0, false
	}
	if n-c < k {
		return 1, true
	}
	failures := 1.0
	for i := n - c + 1; i <= n; i++ {
		failures *= 1 - float64(k)/float64(i)
	}
	return 1 - failures, true
}

// PassHatK is the chance that all of k trials succeed, from c successes in n
// trials without bias: C(c,k)/C(n,k) (S. Yao et al., arXiv 2406.12045, 2024). It
// is unknown for k > n.
func PassHatK(n, c, k int) (chance float64, ok bool) {
	if !trialsKnown(n, c, k) {
		return 0, false
	}
	if c < k {
		return 0, true
	}
	chance = 1
	for i := range k {
		chance *= float64(c-i) / float64(n-i)
	}
	return chance, true
}

func trialsKnown(n, c, k int) bool { return k >= 1 && k <= n && c >= 0 && c <= n }

// BestOfK is the mean score of the trial that is best by another score, over all
// ways to take k of the trials: without bias for k new ones, as PassAtK is. Of
// trials that are equally good each is taken as often. It is unknown for k above
// the number of trials.
func BestOfK(scores, by []float64, k int) (mean float64, ok bool) {
	n := len(scores)
	if k < 1 || k > n || len(by) != n || !isFinite(by...) {
		return 0, false
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(by[j], by[i]) })
	var parts, alike []float64
	for from := 0; from < n; {
		to := from
		alike = alike[:0]
		for ; to < n && by[order[to]] == by[order[from]]; to++ {
			alike = append(alike, scores[order[to]])
		}
		chance := noneOf(n, from, k) - noneOf(n, to, k) // that the best is one of these
		of, _ := Mean(alike)
		parts = append(parts, chance*of)
		from = to
	}
	mean = Sum(parts)
	return mean, isFinite(mean)
}

// noneOf is the chance that k of n hold none of some m: C(n-m,k)/C(n,k).
func noneOf(n, m, k int) float64 {
	chance := 1.0
	for i := range k {
		chance *= float64(max(0, n-m-i)) / float64(n-i)
	}
	return chance
}

// Majority is the mean of the values that go with the answer given most often.
// Answers are numbers that stand for them; of several given as often each counts
// the same. The answer none counts only where no other is given.
func Majority(answers []uint64, values []float64, none uint64) (value float64, ok bool) {
	if len(answers) == 0 || len(values) != len(answers) {
		return 0, false
	}
	counted := map[uint64][]float64{}
	var order []uint64 // as they first come: the order of a sum changes its last digit
	most := 0
	for i, answer := range answers {
		if counted[answer] == nil {
			order = append(order, answer)
		}
		counted[answer] = append(counted[answer], values[i])
		if answer != none {
			most = max(most, len(counted[answer]))
		}
	}
	if most == 0 {
		return Mean(values)
	}
	var means []float64
	for _, answer := range order {
		if of := counted[answer]; answer != none && len(of) == most {
			mean, _ := Mean(of)
			means = append(means, mean)
		}
	}
	return Mean(means)
}
