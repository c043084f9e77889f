package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
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

const (
	// frontDraws is how often the clusters are drawn anew.
	frontDraws = 2_000
	// mostCompeting is how many points are drawn: those on the front, evenly where
	// they are more, and from next to it as many as there is room for. What lies
	// further back is hardly ever in their way.
	mostCompeting = 40
	// mostDrawn is how many clusters are drawn from. Of more, some are drawn together,
	// which moves a share by less than another seed does.
	mostDrawn = 2_000
)

// Standing is one of several points beside the others.
type Standing struct {
	Point
	At    []int // the places of the points that are equal
	Front bool  // no other beats it
	Drawn bool  // it competed when the clusters were drawn anew
	// Share is how often it was on the front then; NaN where that is not known.
	Share float64
}

// Standings are all distinct points, those on the front first and the cheapest of
// them first, with the share of 2,000 draws of the clusters in which each is on the
// front. Spread is what a point is made of, as [FrontShares] takes it; nil where
// that is not known. A point that stays is drawn though the front is thinned.
// Points that are no numbers are left out.
func Standings(points []Point, spread func(at int) ([]Point, error), stays func(at int) bool, seed uint64) ([]Standing, error) {
	all := standingsOf(points)
	layers := peel(all)
	if len(layers) == 0 {
		return nil, nil
	}
	for _, at := range layers[0] {
		all[at].Front = true
	}
	competing := thinned(layers[0], mostCompeting, func(at int) bool { return slices.ContainsFunc(all[at].At, stays) })
	for _, layer := range layers[1:] {
		competing = append(competing, layer[:min(len(layer), mostCompeting-len(competing))]...)
	}
	rows := make([][]Point, len(competing))
	for i, at := range competing {
		row, err := spread(all[at].At[0])
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	shares, ok := FrontShares(rows, frontDraws, seed)
	for i, at := range competing {
		if all[at].Drawn = true; ok {
			all[at].Share = shares[i]
		}
	}
	return inOrder(all, layers), nil
}

// standingsOf are the distinct points that are numbers.
func standingsOf(points []Point) (all []Standing) {
	place := map[Point]int{}
	for i, p := range points {
		if !isFinite(p.Cost, p.Quality, p.Delay) {
			continue
		}
		at, known := place[p]
		if !known {
			at, place[p] = len(all), len(all)
			all = append(all, Standing{Point: p, Share: math.NaN()})
		}
		all[at].At = append(all[at].At, i)
	}
	return all
}

// peel takes front after front off the points, until there are enough that
// compete.
func peel(all []Standing) (layers [][]int) {
	left := make([]Point, len(all))
	for i := range all {
		left[i] = all[i].Point
	}
	for n := 0; n < mostCompeting; {
		front := Front(left)
		if len(front) == 0 {
			break
		}
		layers = append(layers, front)
		for _, at := range front {
			left[at].Cost = math.NaN()
		}
		n += len(front)
	}
	return layers
}

// thinned keeps so many of a list, evenly, the ends and what has to stay among
// them.
func thinned(all []int, most int, stays func(int) bool) (kept []int) {
	if len(all) <= most {
		return slices.Clone(all)
	}
	for i := range most {
		kept = append(kept, all[i*(len(all)-1)/(most-1)])
	}
	if must := slices.IndexFunc(all, stays); must >= 0 && !slices.Contains(kept, all[must]) {
		near, _ := slices.BinarySearchFunc(kept, must, func(at, must int) int { return cmp.Compare(slices.Index(all, at), must) })
		kept[min(near, most-2)] = all[must]
	}
	return kept
}

// inOrder has layer after layer, and behind them what is in none.
func inOrder(all []Standing, layers [][]int) []Standing {
	ordered := make([]Standing, 0, len(all))
	layered := make([]bool, len(all))
	for _, layer := range layers {
		for _, at := range layer {
			ordered, layered[at] = append(ordered, all[at]), true
		}
	}
	for at := range all {
		if !layered[at] {
			ordered = append(ordered, all[at])
		}
	}
	return ordered
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
	rows = drawnTogether(rows, seed)
	shares = make([]float64, len(rows))
	points, all, step := make([]Point, len(rows)), 0.0, stepOf(rows)
	for drawn := range resamples(len(rows[0]), draws, seed) {
		all++
		for i, row := range rows {
			points[i] = sumOf(row, drawn).rounded(step)
		}
		front := Front(points)
		for i, p := range points {
			if slices.ContainsFunc(front, func(at int) bool { return points[at] == p }) {
				shares[i]++
			}
		}
	}
	for i := range shares {
		shares[i] /= all
	}
	return shares, true
}

// drawnTogether adds up clusters in an order of chance, so that no more than
// mostDrawn are drawn from.
func drawnTogether(rows [][]Point, seed uint64) [][]Point {
	if len(rows[0]) <= mostDrawn {
		return rows
	}
	few, order := make([][]Point, len(rows)), rand.New(rand.NewPCG(seed, uint64(len(rows[0])))).Perm(len(rows[0]))
	for i, row := range rows {
		few[i] = make([]Point, mostDrawn)
		for at, p := range row {
			sum := &few[i][order[at]%mostDrawn]
			sum.Cost, sum.Quality, sum.Delay = sum.Cost+p.Cost, sum.Quality+p.Quality, sum.Delay+p.Delay
		}
	}
	return few
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

// Rung is how many rows are tried, and on how much each.
type Rung struct{ Rows, Resource int }

// SuccessiveHalving are the rungs of one bracket: the rows get so much of the
// resource that after as many halvings those left get most of it (K. Jamieson
// and A. Talwalkar, AISTATS 2016). The resource holds so many halvings; at least
// one row is on each rung.
func SuccessiveHalving(rows, most, eta, halvings int) (rungs []Rung, ok bool) {
	if rows < 1 || eta < 2 || halvings < 0 || most < power(eta, halvings) {
		return nil, false
	}
	for i := range halvings + 1 {
		rungs = append(rungs, Rung{max(1, rows/power(eta, i)), most / power(eta, halvings-i)})
	}
	return rungs, true
}

// power stays at the largest int where it is larger.
func power(base, exponent int) int {
	result := 1
	for range exponent {
		if result > math.MaxInt/base {
			return math.MaxInt
		}
		result *= base
	}
	return result
}
