package choose

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/replays"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/reports/tune"
)

const (
	// frontDraws is how often the tasks are drawn anew.
	frontDraws = 2_000
	// mostCompeting is how many configurations are drawn: those on the front, evenly
	// where they are more, and from next to it as many as there is room for. What
	// lies further back is hardly ever in their way.
	mostCompeting = 40
)

// distinct is a point and the candidates that have it, the one with the smallest
// parameters first.
type distinct struct {
	stats.Point
	candidates []int
}

// front finds the candidates that none beats in cost, objective and latency, and
// how sure they are to belong there.
func (t *chooser) front(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	r.Unpriced = r.Tried.Costless
	points := t.points()
	layers := peel(points)
	if len(layers) == 0 {
		return nil
	}
	drawn := thinned(layers[0], mostCompeting, func(at int) bool { return slices.Contains(points[at].candidates, choice.candidate) })
	competing := slices.Clone(drawn)
	for _, layer := range layers[1:] {
		competing = append(competing, layer[:min(len(layer), mostCompeting-len(competing))]...)
	}
	shares, err := t.shares(ctx, points, competing)
	if err != nil {
		return err
	}
	for _, at := range layers[0] {
		share := numbers.Missing(notDrawn)
		if i := slices.Index(drawn, at); i >= 0 {
			share = shares[i]
		}
		r.Front = append(r.Front, t.frontRow(&points[at], share, choice))
	}
	switch {
	case len(drawn) < len(layers[0]):
		r.Notes = append(r.Notes, tune.Note{Kind: tune.FrontThinned, Count: len(drawn), Of: len(layers[0])})
	case len(competing) < len(points):
		r.Notes = append(r.Notes, tune.Note{Kind: tune.FrontBounded, Count: len(competing), Of: len(points)})
	}
	return nil
}

// notDrawn is why a configuration on the front has no share.
const notDrawn = "not drawn"

// points are those of the candidates that can be chosen.
func (t *chooser) points() (all []distinct) {
	at := map[stats.Point]int{}
	order := t.ordered(0)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.rank[a], t.rank[b]) })
	for _, i := range order {
		p := stats.Point{Cost: t.cost[0][i], Quality: t.value[0][i]}
		if t.known.times {
			p.Delay = t.seconds(i)
		}
		place, known := at[p]
		if !known {
			place = len(all)
			at[p] = place
			all = append(all, distinct{Point: p})
		}
		all[place].candidates = append(all[place].candidates, i)
	}
	return all
}

// seconds is the mean latency of a candidate.
func (t *chooser) seconds(candidate int) float64 {
	var elapsed int64
	runs := 0
	for f := range t.totals[candidate] {
		elapsed, runs = elapsed+t.totals[candidate][f].Elapsed, runs+t.totals[candidate][f].Runs
	}
	return float64(elapsed) / 1e9 / float64(runs)
}

// peel takes front after front off the points, until there are enough that
// compete.
func peel(points []distinct) (layers [][]int) {
	left := make([]stats.Point, len(points))
	for i := range points {
		left[i] = points[i].Point
	}
	for n := 0; n < mostCompeting; {
		front := stats.Front(left)
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
		return all
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

// shares draws the units anew for those that compete.
func (t *chooser) shares(ctx context.Context, points []distinct, competing []int) ([]numbers.Value, error) {
	rows := make([][]stats.Point, len(competing))
	for i, at := range competing {
		row, err := t.spread(ctx, points[at].candidates[0])
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	shares, ok := stats.FrontShares(rows, frontDraws, t.Seed)
	all := make([]numbers.Value, len(competing))
	for i := range all {
		all[i] = numbers.Missing(numbers.Nothing)
		if ok {
			all[i] = numbers.Known(shares[i])
		}
	}
	return all, nil
}

// spread is what a candidate is worth on each unit; nil where that is not known.
func (t *chooser) spread(ctx context.Context, candidate int) ([]stats.Point, error) {
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return nil, err
	}
	latency := term{text: "latency.mean", native: func(s *sums) float64 { return s.seconds / s.runs }}
	quality, cost := t.influence(ctx, p, 0, &t.goal), t.influence(ctx, p, 0, &t.price)
	delay := t.influence(ctx, p, 0, &latency)
	if quality == nil || cost == nil {
		return nil, nil
	}
	row := make([]stats.Point, len(quality))
	for i := range row {
		row[i] = stats.Point{Cost: cost[i], Quality: quality[i]}
		if t.Minimize {
			row[i].Quality = -quality[i]
		}
		if t.known.times {
			row[i].Delay = delay[i]
		}
	}
	return row, nil
}

func (t *chooser) frontRow(p *distinct, share numbers.Value, choice *chosen) tune.FrontRow {
	candidate := p.candidates[0]
	if slices.Contains(p.candidates, choice.candidate) {
		candidate = choice.candidate
	}
	whole := &sums{}
	for f := range t.totals[candidate] {
		whole.add(&t.totals[candidate][f])
	}
	row := tune.FrontRow{
		Candidate: candidate, Name: t.candidates[candidate].Name, Params: replays.Params(t.candidates[candidate].Params),
		Objective: numbers.Known(p.Quality), ChoiceCost: numbers.Known(p.Cost), Seconds: numbers.Known(p.Delay),
		Counted: t.counted(whole), Share: share, Same: len(p.candidates) - 1,
		Recommended: candidate == choice.candidate, Today: slices.Contains(p.candidates, t.today()),
	}
	if t.Minimize {
		row.Objective.Number = -p.Quality
	}
	if !t.known.times {
		row.Seconds = numbers.Missing(numbers.Unknown)
	}
	return row
}
