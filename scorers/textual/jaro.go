package textual

import "slices"

// JaroWinkler is the similarity of Jaro with Winkler's bonus for a shared beginning: 0.1 for each of at most four code
// points, where the similarity is above 0.7 without it (W. E. Winkler, String comparator metrics and enhanced decision
// rules in the Fellegi-Sunter model of record linkage, 1990, and the program strcmp95 of the Census Bureau). Two empty
// texts are alike.
func JaroWinkler(a, b string) float64 {
	const scale, longest, enough = 0.1, 4, 0.7
	x, y := []rune(a), []rune(b)
	similarity := jaro(x, y)
	if similarity <= enough {
		return similarity
	}
	prefix := 0
	for prefix < min(len(x), len(y), longest) && x[prefix] == y[prefix] {
		prefix++
	}
	return similarity + float64(prefix)*scale*(1-similarity)
}

// jaro is the mean of the shares of both texts that are in the other one, near the same place, and of those in the same
// order.
func jaro(x, y []rune) float64 {
	if len(x) == 0 && len(y) == 0 {
		return 1
	}
	inX, inY := assigned(x, y)
	if len(inX) == 0 {
		return 0
	}
	slices.Sort(inY)
	moved := 0
	for i, at := range inY {
		if x[inX[i]] != y[at] {
			moved++
		}
	}
	m := float64(len(inX))
	return (m/float64(len(x)) + m/float64(len(y)) + (m-float64(moved/2))/m) / 3
}

// assigned gives each code point of x, in order, the first equal one of y that is free and not too far away. As what is
// too far behind stays so, one pass is enough.
func assigned(x, y []rune) (inX, inY []int) {
	window := max(max(len(x), len(y))/2-1, 0)
	free := map[rune][]int{}
	for i, r := range y {
		free[r] = append(free[r], i)
	}
	for i, r := range x {
		queue := free[r]
		for len(queue) > 0 && queue[0] < i-window {
			queue = queue[1:]
		}
		if len(queue) > 0 && queue[0] <= i+window {
			inX, inY = append(inX, i), append(inY, queue[0])
			queue = queue[1:]
		}
		free[r] = queue
	}
	return inX, inY
}
