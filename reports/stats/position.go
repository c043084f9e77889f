package stats

// Placed is what two verdicts are worth to the same output, from 0 to 1: where it
// stands first, and where it stands second.
type Placed struct{ First, Second float64 }

// Position is how much the place of an output decides about it, where outputs
// are compared two at a time and in both orders.
type Position struct {
	Pairs int
	// Changed is the share of pairs whose verdict changed with the order: 1 less
	// the consistency of L. Zheng et al., arXiv 2306.05685, 2023, table 2.
	Changed float64
	// First is what standing first is worth, the mean of (x + 1 - y)/2 over the
	// pairs: 0.5 where the place does not matter, 1 where the first always wins.
	First float64
	// P is that of as many clusters in favour of the first place as of the second
	// one, where the place does not matter: an exact sign test. Verdicts on outputs
	// of one task are no independent ones.
	P float64
}

// PositionBias is made of verdicts in both orders, by cluster.
func PositionBias(clusters [][]Placed) (p Position, ok bool) {
	var first, second, changed int
	sum := 0.0
	for _, cluster := range clusters {
		lead := 0.0
		for _, v := range cluster {
			if !(v.First >= 0 && v.First <= 1 && v.Second >= 0 && v.Second <= 1) {
				return Position{}, false
			}
			if v.First != v.Second {
				changed++
			}
			lead += v.First - v.Second
			sum += (v.First + 1 - v.Second) / 2
		}
		p.Pairs += len(cluster)
		switch {
		case lead > tolerance:
			first++
		case lead < -tolerance:
			second++
		}
	}
	test, ok := McNemar(first, second)
	if !ok || p.Pairs == 0 {
		return Position{}, false
	}
	n := float64(p.Pairs)
	p.Changed, p.First, p.P = float64(changed)/n, min(sum/n, 1), test.P
	return p, true
}
