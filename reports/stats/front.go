package stats

import (
	"cmp"
	"slices"
)

// Point is what something costs and how good it is.
type Point struct{ Cost, Quality float64 }

// Front are the places of the points that no other beats: none is as cheap and
// as good and better in one of both. Of equal points the first is on it. The
// cheapest comes first; points that are no numbers are left out.
func Front(points []Point) (front []int) {
	var order []int
	for i, p := range points {
		if isFinite(p.Cost, p.Quality) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(points[a].Cost, points[b].Cost), cmp.Compare(points[b].Quality, points[a].Quality))
	})
	for _, at := range order {
		if len(front) == 0 || points[at].Quality > points[front[len(front)-1]].Quality {
			front = append(front, at)
		}
	}
	return front
}

// FrontShares is, for each of several rows, the share of draws of the clusters,
// as many with replacement, in which its mean point is on the front: how sure it
// is to belong there. Each row holds a point for every cluster, the same ones.
// Rows that are equal share their place: all of them count.
func FrontShares(rows [][]Point, draws int, seed uint64) (shares []float64, ok bool) {
	if len(rows) == 0 || len(rows[0]) == 0 || draws < 1 {
		return nil, false
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) || slices.ContainsFunc(row, func(p Point) bool { return !isFinite(p.Cost, p.Quality) }) {
			return nil, false
		}
	}
	shares = make([]float64, len(rows))
	points, all := make([]Point, len(rows)), 0.0
	for drawn := range resamples(len(rows[0]), draws, seed) {
		all++
		for i, row := range rows {
			points[i] = sumOf(row, drawn)
		}
		markFront(points, shares)
	}
	for i := range shares {
		shares[i] /= all
	}
	return shares, true
}

func sumOf(row []Point, drawn []uint8) (sum Point) {
	for at, times := range drawn {
		sum.Cost += float64(times) * row[at].Cost
		sum.Quality += float64(times) * row[at].Quality
	}
	return sum
}

func markFront(points []Point, hits []float64) {
	front := Front(points)
	for i, p := range points {
		if slices.ContainsFunc(front, func(at int) bool { return points[at] == p }) {
			hits[i]++
		}
	}
}
