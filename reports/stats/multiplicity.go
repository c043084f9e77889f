package stats

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

// Hochberg adjusts like Holm from the largest p downwards: never above Holm's,
// but only for tests that are independent or depend on each other positively
// (Y. Hochberg, Biometrika 75, 1988).
func Hochberg(p []float64) (adjusted []float64, ok bool) {
	return stepUp(p, func(rank int) float64 { return float64(len(p) - rank + 1) })
}

// BenjaminiHochberg adjusts so that the share of false ones among the findings
// stays below the level on average (Y. Benjamini and Y. Hochberg, JRSS B 57, 1995).
func BenjaminiHochberg(p []float64) (adjusted []float64, ok bool) {
	return stepUp(p, func(rank int) float64 { return float64(len(p)) / float64(rank) })
}

// BenjaminiYekutieli is BenjaminiHochberg for tests that depend on each other in
// any way (Y. Benjamini and D. Yekutieli, The Annals of Statistics 29, 2001).
func BenjaminiYekutieli(p []float64) (adjusted []float64, ok bool) {
	harmonic := 0.0
	for i := len(p); i > 0; i-- {
		harmonic += 1 / float64(i)
	}
	return stepUp(p, func(rank int) float64 { return harmonic * float64(len(p)) / float64(rank) })
}

// stepUp multiplies each p by the factor of its rank, 1 being the smallest, and
// lets none exceed a larger one.
func stepUp(p []float64, factor func(rank int) float64) (adjusted []float64, ok bool) {
	order, ok := ascending(p)
	if !ok {
		return nil, false
	}
	adjusted = make([]float64, len(p))
	reached := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		reached = min(reached, factor(i+1)*p[order[i]])
		adjusted[order[i]] = reached
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
