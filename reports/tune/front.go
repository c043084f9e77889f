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
	"github.com/agentbench/agentbench/reports/compare"
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
	tested := choice.candidate // the recommended one, else the best
	if tested < 0 {
		tested = choice.best
	}
	against, err := t.objectiveOf(ctx, tested)
	if err != nil {
		return err
	}
	standings, err := stats.Standings(points, spread, func(at int) bool { return candidates[at] == choice.candidate }, t.Seed)
	if err != nil {
		return err
	}
	drawn, competing := 0, 0
	var tests []frontTest
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
		row.LostMost, row.Intervals, row.P = page.Missing(notDrawn), noIntervals(notDrawn), page.Missing(notDrawn)
		if s.Drawn { // else it would be replayed for this alone
			p, err := t.profile(ctx, row.Candidate)
			if err != nil {
				return err
			}
			row.Intervals = t.intervals(ctx, p, 0)
			switch d := differences(against, t.influence(ctx, p, 0, &t.goal)); {
			case d == nil:
				row.P = page.Missing(page.Nothing)
			case slices.ContainsFunc(s.At, func(at int) bool { return candidates[at] == tested }):
				row.P = page.Known(1)
			default:
				tests = append(tests, frontTest{len(r.Front), d})
			}
			if row.Loss, err = t.lossAlone(ctx, row.Candidate, 0); err != nil {
				return err
			}
		}
		r.Front = append(r.Front, row)
	}
	if err := t.test(ctx, r.Front, tests); err != nil {
		return err
	}
	t.beatenRows(r, standings, candidates)
	switch {
	case drawn < len(r.Front):
		r.Notes = append(r.Notes, Note{Kind: FrontThinned, Count: drawn, Of: len(r.Front)})
	case competing < len(standings):
		r.Notes = append(r.Notes, Note{Kind: FrontBounded, Count: competing, Of: len(standings)})
	}
	return nil
}

// objectiveOf is the objective of a candidate, unit by unit; nil where that is not known, or no candidate is given.
func (t *chooser) objectiveOf(ctx context.Context, candidate int) ([]float64, error) {
	if candidate < 0 {
		return nil, nil
	}
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return nil, err
	}
	return t.influence(ctx, p, 0, &t.goal), nil
}

// test tests what is drawn on the front against the tested candidate, as comparisons of several
// configurations are. The row of that candidate is the same as itself, which is no test.
func (t *chooser) test(ctx context.Context, front []FrontRow, tests []frontTest) error {
	p := make([]float64, len(tests))
	if err := sweep.Each(ctx, len(tests), 1, func(i int) { p[i] = t.same(tests[i].differences) }); err != nil {
		return err
	}
	for i, adjusted := range compare.Adjusted(p) {
		front[tests[i].row].P = page.Known(adjusted)
	}
	return nil
}

// frontTest is what a row on the front and the tested candidate differ by in each unit.
type frontTest struct {
	row         int
	differences []float64
}

// mostBeaten are so many candidates that the front beats: a chart with all of them hides the front.
const mostBeaten = 100

// beatenRows are what the front beats, evenly from the cheapest to the dearest.
func (t *chooser) beatenRows(r *Tuning, standings []stats.Standing, candidates []int) {
	var front, behind []*stats.Standing
	for s := range page.EachOf(standings) {
		if s.Front {
			front = append(front, s)
		} else {
			behind = append(behind, s)
		}
	}
	slices.SortStableFunc(behind, func(a, b *stats.Standing) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(b.Quality, a.Quality), cmp.Compare(a.Delay, b.Delay))
	})
	r.BeatenInAll = len(behind)
	for i := range min(len(behind), mostBeaten) {
		s := behind[i]
		if len(behind) > mostBeaten {
			s = behind[i*(len(behind)-1)/(mostBeaten-1)]
		}
		row := t.frontRow(s, candidates, &chosen{candidate: -1})
		by := slices.IndexFunc(front, func(f *stats.Standing) bool {
			return f.Cost <= s.Cost && f.Quality >= s.Quality && f.Delay <= s.Delay
		})
		r.Beaten = append(r.Beaten, BeatenRow{
			Candidate: row.Candidate, Name: row.Name, Params: row.Params, Objective: row.Objective, ChoiceCost: row.ChoiceCost, Seconds: row.Seconds,
			BeatenBy: r.Front[by].Name, Same: row.Same,
		})
	}
}

// notDrawn is why a configuration on the front has no share.
const notDrawn = "not drawn"

// points are those of the candidates that can be chosen, on the tasks of the choice,
// the ones with the smallest parameters first.
func (t *chooser) points() (candidates []int, points []stats.Point) {
	candidates = t.ordered(0)
	slices.SortStableFunc(candidates, func(a, b int) int { return cmp.Compare(t.rank[a], t.rank[b]) })
	for _, i := range candidates {
		points = append(points, t.pointOf(i, 0))
	}
	return candidates, points
}

// spread is what a candidate is worth on each unit; nil where that is not known.
func (t *chooser) spread(ctx context.Context, candidate int) ([]stats.Point, error) {
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return nil, err
	}
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
		Counted: t.counted(t.over(&sums{}, candidate, 0)), Share: page.Missing(notDrawn), Same: len(equal) - 1,
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
// further. Runs of which the score is not known at every iteration are left out: see
// [reports.DrawsCurve].
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
	byUnit, unit, cut := make([]curveUnit, t.units), t.unitOfRun(), map[int]int{} // cut: runs by their last iteration
	left, spent := 0, t.ofIteration()
	for i := range t.held.Tasks {
		for _, run := range t.held.Tasks[i].Runs {
			whole := t.held.Runs[run].Run
			scores := t.scoresAt(&t.held.Runs[run], whole, &loop)
			if scores == nil {
				left++
				continue
			}
			steps = extend(steps, whole, scores, spent)
			byUnit[unit[run]].add(whole, scores, spent)
			if class := whole.Outcome.Class; class == record.ByGuard || class == record.ByBudget {
				cut[len(scores)]++
			}
		}
	}
	if left > 0 {
		r.Notes = append(r.Notes, Note{Kind: reports.CurveCut, Count: left, Of: len(t.held.Runs)})
	}
	if runs := len(t.held.Runs); reports.DrawsCurve(runs-left, runs) {
		r.Curve = curveOf(steps, len(t.held.Runs)-left)
		t.boundCurve(r.Curve, byUnit)
		before := 0
		for i := range r.Curve {
			before += cut[i]
			r.Curve[i].Cut = before
		}
	}
	return nil
}

// curveUnit is a task or cluster in the curve.
type curveUnit struct {
	runs  int
	steps []step
	spent []float64 // up to each step
}

func (u *curveUnit) add(run *record.Run, scores []float64, spent func(it *record.Iteration) float64) {
	u.runs, u.steps = u.runs+1, extend(u.steps, run, scores, spent)
}

// at are the sums of a unit at an iteration: those of its last one where its runs are over.
func (u *curveUnit) at(i int) (score, cost float64) {
	i = min(i, len(u.steps)-1)
	return u.steps[i].score, u.spent[i]
}

// unitOfRun is the unit of each run.
func (t *chooser) unitOfRun() []int {
	unit := make([]int, len(t.cell))
	for run, cell := range t.cell {
		unit[run] = t.cellUnit[cell]
	}
	return unit
}

// boundCurve finds the intervals of a curve.
func (t *chooser) boundCurve(curve []CurveStep, units []curveUnit) {
	units = slices.DeleteFunc(units, func(u curveUnit) bool { return u.runs == 0 })
	all := 0
	for u := range page.EachOf(units) {
		all += u.runs
		sum := 0.0
		for i := range u.steps {
			sum += u.steps[i].cost
			u.spent = append(u.spent, sum)
		}
	}
	scores, costs := make([]float64, len(units)), make([]float64, len(units))
	for i := range curve {
		for k := range units {
			scores[k], costs[k] = units[k].at(i)
		}
		c := &curve[i]
		c.ScoreInterval = t.ofUnits(scores, units, 1).OnScale(!t.wide)
		c.CostInterval = t.ofUnits(costs, units, float64(all))
	}
}

// ofUnits is the interval of so many times what the runs of all units have on average.
func (t *chooser) ofUnits(sums []float64, units []curveUnit, times float64) page.Range {
	var sum, runs, mean float64
	for k := range sums {
		sum, runs = sum+sums[k], runs+float64(units[k].runs)
	}
	without := make([]float64, len(sums))
	for k := range sums {
		without[k] = times * (sum - sums[k]) / (runs - float64(units[k].runs))
		mean += without[k] / float64(len(sums))
	}
	values := pseudo(without, times*sum/runs, mean)
	if values == nil {
		return page.NoRange(page.Nothing)
	}
	return t.interval(values)
}

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
