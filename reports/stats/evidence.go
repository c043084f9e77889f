package stats

import "math"

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
