package tune

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec"
)

// front finds the candidates that none beats in cost, objective and latency, and
// how sure they are to belong there.
func (t *chooser) front(ctx context.Context, r *Tuning, choice *chosen) error {
	r.Unpriced = r.Tried.Costless
	candidates, points := t.points()
	spread := func(at int) ([]stats.Point, error) { return t.spread(ctx, candidates[at]) }
	standings, err := stats.Standings(points, spread, func(at int) bool { return candidates[at] == choice.candidate }, t.Seed)
	if err != nil {
		return err
	}
	drawn, competing := 0, 0
	for s := range page.EachOf(standings) {
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
		row.LostMost, row.Intervals = page.Missing(notDrawn), noIntervals(notDrawn)
		if s.Drawn { // else it would be replayed for this alone
			p, err := t.profile(ctx, row.Candidate)
			if err != nil {
				return err
			}
			row.Intervals = t.intervals(ctx, p, t.chosenOn)
			if row.Loss, err = t.lossAlone(ctx, row.Candidate, t.chosenOn); err != nil {
				return err
			}
		}
		r.Front = append(r.Front, row)
	}
	switch {
	case drawn < len(r.Front):
		r.Notes = append(r.Notes, Note{Kind: FrontThinned, Count: drawn, Of: len(r.Front)})
	case competing < len(standings):
		r.Notes = append(r.Notes, Note{Kind: FrontBounded, Count: competing, Of: len(standings)})
	}
	return nil
}

// notDrawn is why a configuration on the front has no share.
const notDrawn = "not drawn"

// points are those of the candidates that can be chosen, on the tasks of the choice,
// the ones with the smallest parameters first.
func (t *chooser) points() (candidates []int, points []stats.Point) {
	candidates = t.ordered(t.chosenOn)
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

func (t *chooser) frontRow(s *stats.Standing, candidates []int, choice *chosen) FrontRow {
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
	row := FrontRow{
		Candidate: candidate, Name: t.candidates[candidate].Name, Params: Params(t.candidates[candidate].Params),
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

// curve tells what each iteration of the recorded runs gains and costs, and from
// where going on pays: by the hazard, the chance of a first success at an iteration,
// one looks one step ahead, and by the least cost of a success over several steps
// further. Runs of which the score is not known at every iteration are left out. Where
// those are many there is no curve: the others are mostly runs that ended early.
func (t *chooser) curve(_ context.Context, r *Tuning, _ *chosen) error {
	if t.score < 0 {
		return nil
	}
	if why := toldOfIterations(&t.Recordings()[0]); why != "" {
		r.Notes = append(r.Notes, Note{Kind: CurveTold, More: why})
		return nil
	}
	loop := spec.Loop{} // that nothing ends
	if recorded := t.Recordings()[0].Loop; recorded != nil {
		loop = *recorded
		loop.Terminate, loop.Guards = spec.Tree{}, spec.Guards{}
	}
	var steps []step
	left, spent, room := 0, t.ofIteration(), &replay.Room{}
	for i := range t.held.Tasks {
		for _, run := range t.held.Tasks[i].Runs {
			whole := t.held.Runs[run].Whole(room)
			scores := t.scoresAt(&t.held.Runs[run], whole, &loop)
			if scores == nil {
				left++
				continue
			}
			steps = extend(steps, whole, scores, spent)
		}
	}
	if left > 0 {
		r.Notes = append(r.Notes, Note{Kind: reports.CurveCut, Count: left, Of: len(t.held.Runs)})
	}
	if float64(left) <= mostLeftOut*float64(len(t.held.Runs)) {
		r.Curve = curveOf(steps, len(t.held.Runs)-left)
	}
	return nil
}

// mostLeftOut is the share of the runs that a curve may lack.
const mostLeftOut = 0.1

// toldOfIterations says how the agent was told how many iterations it has, so that
// no record shows what it would have done with fewer; "" where it was not.
func toldOfIterations(r *sweep.Recording) string {
	for _, path := range r.Announced {
		switch spec.FullPath(path) {
		case "terminate", "terminate.max_iterations", "guards", "guards.absolute_max_iterations":
			return "it got " + path
		}
	}
	if r.Loop == nil || r.Loop.Agent == nil {
		return ""
	}
	if p := replay.AnalysePath(r.Loop, "terminate.max_iterations"); p.Class == replay.Calls {
		return p.Why
	}
	return ""
}

// step is the sums over all runs at an iteration.
type step struct {
	reached, hits int     // runs that came so far; that are a success if stopped here
	risk, first   int     // runs that come here without a success before; that have their first
	score, cost   float64 // of all runs; of this iteration
}

// scoresAt are the scores of a run had it stopped after each of its iterations; nil
// where one is not known.
func (t *chooser) scoresAt(run *sweep.Run, whole *record.Run, loop *spec.Loop) []float64 {
	values, n := run.Scores[t.score], len(whole.Iterations)
	if n == 0 || len(values) == 0 || math.IsNaN(values[0]) {
		return nil
	}
	state := stop.Compile(loop).Start(run.Task, loop.Param)
	scores := make([]float64, n)
	for i := range n {
		state.Fold(&whole.Iterations[i])
		at := state.Returned()
		switch {
		case i == n-1:
			scores[i] = values[0]
		case at == 0:
			scores[i] = 0
		case at < len(values):
			scores[i] = values[at]
		default:
			return nil
		}
		if math.IsNaN(scores[i]) {
			return nil
		}
	}
	return scores
}

func extend(steps []step, run *record.Run, scores []float64, spent func(it *record.Iteration) float64) []step {
	var last step
	if len(steps) > 0 {
		last = steps[len(steps)-1]
	}
	for len(steps) < len(scores) { // the runs so far stay as they ended
		steps = append(steps, step{hits: last.hits, score: last.score})
	}
	before := false
	for i := range steps {
		s, at := &steps[i], min(i, len(scores)-1)
		hit := scores[at] >= Success
		s.hits += count(hit)
		s.score += scores[at]
		if i < len(scores) {
			s.reached++
			s.cost += spent(&run.Iterations[i])
			s.risk += count(!before)
			s.first += count(!before && hit)
			before = before || hit
		}
	}
	return steps
}

// curveOf are the steps with what follows from them.
func curveOf(steps []step, runs int) []CurveStep {
	all := make([]CurveStep, len(steps))
	var cost float64
	for i, s := range steps {
		cost += s.cost
		c := CurveStep{
			Iteration: i + 1, Reached: s.reached, Hits: s.hits, Extra: s.hits, Score: page.Known(s.score / float64(runs)),
			Cost: page.Known(cost), ExtraCost: page.Known(s.cost), Hazard: page.Ratio(int64(s.first), int64(s.risk)),
			PerSuccess: per(cost, s.hits),
		}
		if i > 0 {
			c.Extra -= steps[i-1].hits
		}
		c.PerExtra = per(s.cost, c.Extra)
		all[i] = c
	}
	for i := range all {
		look(&all[i], steps[i:], i)
	}
	return all
}

// per is the cost of each of so many successes.
func per(cost float64, successes int) page.Value {
	if successes <= 0 {
		return page.Missing(page.None)
	}
	return page.ValueOf(stats.Ratio(cost, float64(successes)))
}

// look finds the least cost of an extra success over a step of the curve and those
// after it.
func look(c *CurveStep, steps []step, from int) {
	c.Ahead = page.Missing(page.None)
	var cost float64
	before := c.Hits - c.Extra
	for i, s := range steps {
		cost += s.cost
		ahead := per(cost, s.hits-before)
		if ahead.Known() && (!c.Ahead.Known() || ahead.Number < c.Ahead.Number) {
			c.Ahead, c.AheadTo = ahead, from+i+1
		}
	}
}
