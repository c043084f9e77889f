package stats

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
	// P is that of as many verdicts changing in favour of the first place as of the
	// second one, where the place does not matter: McNemar's exact test.
	P float64
}

// PositionBias is made of what verdicts are worth to the same output, where it
// stands first (x) and where it stands second (y): from 0 to 1.
func PositionBias(x, y []float64) (p Position, ok bool) {
	if len(x) != len(y) || len(x) == 0 {
		return Position{}, false
	}
	var first, second int
	sum := 0.0
	for i := range x {
		if !(x[i] >= 0 && x[i] <= 1 && y[i] >= 0 && y[i] <= 1) {
			return Position{}, false
		}
		switch {
		case x[i] > y[i]:
			first++
		case x[i] < y[i]:
			second++
		}
		sum += (x[i] + 1 - y[i]) / 2
	}
	n := float64(len(x))
	test, ok := McNemar(first, second)
	return Position{Pairs: len(x), Changed: float64(first+second) / n, First: min(sum/n, 1), P: test.P}, ok
}
