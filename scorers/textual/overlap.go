package textual

// Overlap is what an answer and a target have in common: the share of what the answer has, the share of what the target
// has, and the harmonic mean of both.
type Overlap struct{ Precision, Recall, F1 float64 }

// overlapOf is the overlap of so many items of which so many are shared.
func overlapOf(shared, answer, target int) Overlap {
	if shared == 0 {
		return Overlap{}
	}
	p, r := float64(shared)/float64(answer), float64(shared)/float64(target)
	return Overlap{p, r, 2 * p * r / (p + r)}
}

// counts is how often each item stands in a list.
func counts[K comparable](items []K) map[K]int {
	n := make(map[K]int, len(items))
	for _, item := range items {
		n[item]++
	}
	return n
}

// shared is how many items two counts have in common.
func shared[K comparable](a, b map[K]int) int {
	n := 0
	for item, count := range a {
		n += min(count, b[item])
	}
	return n
}
