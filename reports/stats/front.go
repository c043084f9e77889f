package stats

import (
	"cmp"
	"math"
	"slices"
)

// Point is what something costs, how good it is, and how long it takes. Where
// delays do not matter they are all the same.
type Point struct{ Cost, Quality, Delay float64 }

// Front are the places of the points that no other beats: none is as cheap, as
// good and as fast, and better in one of these. Of equal points the first is on
// it. The cheapest comes first; points that are no numbers are left out.
func Front(points []Point) (front []int) {
	var order []int
	for i, p := range points {
		if isFinite(p.Cost, p.Quality, p.Delay) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := points[a], points[b]
		return cmp.Or(cmp.Compare(x.Cost, y.Cost), cmp.Compare(y.Quality, x.Quality), cmp.Compare(x.Delay, y.Delay))
	})
	var reached stairs
	for _, at := range order {
		if reached.add(points[at]) {
			front = append(front, at)
		}
	}
	return front
}

// stairs are the points so far that are as good and as fast as none of the
// others: the worse the faster, the worst first.
type stairs []Point

// add adds a point, unless one is as good and as fast.
func (s *stairs) add(p Point) bool {
	at, _ := slices.BinarySearchFunc(*s, p, func(q, p Point) int { return cmp.Compare(q.Quality, p.Quality) })
	if at < len(*s) && (*s)[at].Delay <= p.Delay {
		return false
	}
	to := at
	if at < len(*s) && (*s)[at].Quality == p.Quality {
		to++
	}
	for at > 0 && (*s)[at-1].Delay >= p.Delay {
		at--
	}
	*s = slices.Replace(*s, at, to, p)
	return true
}

// FrontShares is, for each of several rows, the share of draws of the clusters,
// as many with replacement, in which its mean point is on the front: how sure it
// is to belong there. Each row holds a point for every cluster, the same ones.
// Rows that are equal share their place: all of them count. Sums that differ by
// less than 1e-9 of the largest point are equal.
func FrontShares(rows [][]Point, draws int, seed uint64) (shares []float64, ok bool) {
	if len(rows) == 0 || len(rows[0]) == 0 || draws < 1 {
		return nil, false
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) || slices.ContainsFunc(row, func(p Point) bool { return !isFinite(p.Cost, p.Quality, p.Delay) }) {
			return nil, false
		}
	}
	shares = make([]float64, len(rows))
	points, all, step := make([]Point, len(rows)), 0.0, stepOf(rows)
	for drawn := range resamples(len(rows[0]), draws, seed) {
		all++
		for i, row := range rows {
			points[i] = sumOf(row, drawn).rounded(step)
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
		sum.Delay += float64(times) * row[at].Delay
	}
	return sum
}

// stepOf is how many steps make up 1 of each number: a billion, or ten of them, make
// up the largest. A decimal step does not part thirds that are equal, as 1/3 + 1/3
// and 2/3 + 0 would be by steps of a power of two.
func stepOf(rows [][]Point) (step Point) {
	for _, row := range rows {
		for _, p := range row {
			step.Cost, step.Quality, step.Delay = max(step.Cost, math.Abs(p.Cost)), max(step.Quality, math.Abs(p.Quality)), max(step.Delay, math.Abs(p.Delay))
		}
	}
	for _, x := range []*float64{&step.Cost, &step.Quality, &step.Delay} {
		if *x > 0 {
			*x = math.Pow(10, 9-math.Floor(math.Log10(*x)))
		}
	}
	return step
}

// rounded has its numbers in whole steps.
func (p Point) rounded(step Point) Point {
	return Point{math.Round(p.Cost * step.Cost), math.Round(p.Quality * step.Quality), math.Round(p.Delay * step.Delay)}
}

func markFront(points []Point, hits []float64) {
	front := Front(points)
	for i, p := range points {
		if slices.ContainsFunc(front, func(at int) bool { return points[at] == p }) {
			hits[i]++
		}
	}
}
