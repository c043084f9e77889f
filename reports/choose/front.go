package choose

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/reports/tune"
)

// front finds the candidates that none beats in cost, objective and latency, and
// how sure they are to belong there.
func (t *chooser) front(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	r.Unpriced = r.Tried.Costless
	candidates, points := t.points()
	spread := func(at int) ([]stats.Point, error) { return t.spread(ctx, candidates[at]) }
	standings, err := stats.Standings(points, spread, func(at int) bool { return candidates[at] == choice.candidate }, t.Seed)
	if err != nil {
		return err
	}
	drawn, competing := 0, 0
	for i := range standings {
		s := &standings[i]
		if s.Drawn {
			competing++
		}
		if !s.Front {
			continue
		}
		if s.Drawn {
			drawn++
		}
		row := t.frontRow(s, candidates, choice)
		row.LostMost = page.Missing(notDrawn)
		if s.Drawn { // else it would be replayed for this alone
			if row.Loss, err = t.lossAlone(ctx, row.Candidate, t.chosenOn); err != nil {
				return err
			}
		}
		r.Front = append(r.Front, row)
	}
	switch {
	case drawn < len(r.Front):
		r.Notes = append(r.Notes, tune.Note{Kind: tune.FrontThinned, Count: drawn, Of: len(r.Front)})
	case competing < len(standings):
		r.Notes = append(r.Notes, tune.Note{Kind: tune.FrontBounded, Count: competing, Of: len(standings)})
	}
	return nil
}

// notDrawn is why a configuration on the front has no share.
const notDrawn = "not drawn"

// points are those of the candidates that can be chosen, on the tasks of the choice,
// the ones with the smallest parameters first.
func (t *chooser) points() (candidates []int, points []stats.Point) {
	candidates = slices.Clone(t.ordered(t.chosenOn))
	slices.SortStableFunc(candidates, func(a, b int) int { return cmp.Compare(t.rank[a], t.rank[b]) })
	for _, i := range candidates {
		points = append(points, t.pointOf(i, t.chosenOn))
	}
	return candidates, points
}

// spread is what a candidate is worth on each unit; nil where that is not known.
func (t *chooser) spread(ctx context.Context, candidate int) ([]stats.Point, error) {
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return nil, err
	}
	latency := term{text: "latency.mean", native: func(s *sums) float64 { return s.seconds / s.runs }}
	quality, cost := t.influence(ctx, p, t.chosenOn, &t.goal), t.influence(ctx, p, t.chosenOn, &t.price)
	delay := t.influence(ctx, p, t.chosenOn, &latency)
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

func (t *chooser) frontRow(s *stats.Standing, candidates []int, choice *chosen) tune.FrontRow {
	equal := make([]int, len(s.At))
	for i, at := range s.At {
		equal[i] = candidates[at]
	}
	candidate := equal[0]
	for _, one := range []int{t.today(), choice.candidate} {
		if slices.Contains(equal, one) {
			candidate = one
		}
	}
	row := tune.FrontRow{
		Candidate: candidate, Name: t.candidates[candidate].Name, Params: tune.Params(t.candidates[candidate].Params),
		Objective: page.Known(s.Quality), ChoiceCost: page.Known(s.Cost), Seconds: page.Known(s.Delay),
		Counted: t.counted(t.over(&sums{}, candidate, t.chosenOn)), Share: page.Missing(notDrawn), Same: len(equal) - 1,
		Recommended: candidate == choice.candidate, Today: slices.Contains(equal, t.today()),
	}
	if s.Drawn {
		row.Share = page.ValueOf(s.Share, true)
	}
	if t.Minimize {
		row.Objective.Number = -s.Quality
	}
	if !t.known.times {
		row.Seconds = page.Missing(page.Unknown)
	}
	return row
}
