package stats

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

// Agreement is the chance that two of n trials, c of which succeed, end alike:
// 1 - 2c(n-c)/(n(n-1)). It needs two trials.
func Agreement(n, c int) (chance float64, ok bool) {
	if !trialsKnown(n, c, 2) {
		return 0, false
	}
	return 1 - 2*float64(c)*float64(n-c)/(float64(n)*float64(n-1)), true
}

// PlugInAgreement is (2c/n - 1)^2, the consistency of the Holistic Agent
// Leaderboard: 0 for a toss of a coin, 1 where all trials end alike. It takes
// the share seen for the true one and so is too large for few trials.
func PlugInAgreement(n, c int) (consistency float64, ok bool) {
	if !trialsKnown(n, c, 1) {
		return 0, false
	}
	twice := 2*float64(c)/float64(n) - 1
	return twice * twice, true
}
