package stats

import (
	"cmp"
	"slices"
)

// ranking is the places of values in ascending order.
type ranking struct {
	// doubled holds twice the mean rank of each value, which is whole: the
	// smallest of n distinct values has 2, the largest 2n.
	doubled []int
	// tied holds how many values share each distinct value.
	tied []int
}

func rank(values []float64) ranking {
	order := places(values)
	r := ranking{doubled: make([]int, len(values))}
	for first := 0; first < len(order); {
		next := first + 1
		for next < len(order) && values[order[next]] == values[order[first]] {
			next++
		}
		for _, at := range order[first:next] {
			r.doubled[at] = first + 1 + next
		}
		r.tied = append(r.tied, next-first)
		first = next
	}
	return r
}

// places are where the values stand, from the smallest to the largest.
func places(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// tieCubes is the sum of t^3 - t over groups of t tied values.
func (r ranking) tieCubes() (cubes float64) {
	for _, tied := range r.tied {
		t := float64(tied)
		cubes += t*t*t - t
	}
	return cubes
}
