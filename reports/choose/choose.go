package choose

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// chosen is what a rule makes of the candidates on a subset of the runs.
type chosen struct {
	candidate int // -1: none
	best      int // the one with the best objective; -1: there is none to choose
	// top is the best of all that is known, and topValue what it is worth at least:
	// the best candidate, a recording, or a candidate that has bounds only. What is
	// chosen is compared with it.
	top      int
	topValue float64
	next     []int
	// passing is one that the rule allows where none is chosen, because by beats it,
	// which the rule does not allow; -1: there is none.
	passing, by int
	// loss, margin and p are what the rule decided by: the loss of MaxLoss, the
	// standard error of WithinOneSE, the p of Indistinguishable (1 for the best).
	loss      loss
	margin, p float64
}

// mostNext is how many alternatives are looked for, among so many candidates that
// come after the chosen one and are better.
const mostNext, nextLooked = 3, 50

// choose takes the cheapest candidate that the rule allows, by the runs of a
// subset alone.
func (t *chooser) choose(ctx context.Context, subset int) (chosen, error) {
	c := chosen{candidate: -1, best: -1, passing: -1}
	order := t.ordered(subset)
	if len(order) == 0 {
		return c, nil
	}
	c.best = t.best(order, subset)
	c.top, c.topValue = t.topOf(c.best, subset)
	front := t.unbeaten(order, subset)
	allow, err := t.allowing(ctx, subset, &c)
	if subset != t.chosenOn && errors.Is(err, errOneUnit) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err = t.take(front, subset, allow, &c); err == nil && c.candidate < 0 && t.Choose.Rule == MaxLoss && subset == t.chosenOn {
		err = t.passOver(order, front, allow, &c)
	}
	return c, err
}

// passOver finds one of the loosest configurations that passes and is beaten. Where
// none of these passes, none does.
func (t *chooser) passOver(order, front []int, allow func(candidate int) (bool, error), c *chosen) error {
	for _, i := range order {
		if t.steps.rungs[t.steps.rung[i]].level > 0 {
			continue
		}
		ok, err := allow(i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		c.passing = i
		for _, c.by = range front {
			if t.cost[t.chosenOn][c.by] <= t.cost[t.chosenOn][i] && t.value[t.chosenOn][c.by] >= t.value[t.chosenOn][i] {
				return nil
			}
		}
	}
	return nil
}

// take finds the chosen one, and for what is recommended what would have come next:
// of those that cost more, what is better.
func (t *chooser) take(order []int, subset int, allow func(candidate int) (bool, error), c *chosen) error {
	at := 0
	for ; at < len(order) && c.candidate < 0; at++ {
		ok, err := allow(order[at])
		if err != nil {
			return err
		}
		if ok {
			c.candidate = order[at]
		}
	}
	if subset != t.chosenOn || c.candidate < 0 {
		return nil
	}
	c.candidate = t.kept(c.candidate)
	decided, last, looked := *c, c.candidate, 0
	for ; at < len(order) && len(decided.next) < mostNext && looked < nextLooked; at++ {
		if t.value[subset][order[at]] <= t.value[subset][last] {
			continue
		}
		looked++
		ok, err := allow(order[at])
		if err != nil {
			return err
		}
		if ok {
			last = order[at]
			decided.next = append(decided.next, last)
		}
	}
	*c = decided
	return nil
}

// ordered are the candidates that can be chosen and that satisfy the constraints:
// the cheapest first, of those the better, of those the faster, of those the smaller
// parameters.
func (t *chooser) ordered(subset int) []int {
	value, cost, seconds := t.value[subset], t.cost[subset], t.seconds[subset]
	order := []int{}
	for i := range t.candidates {
		if t.can[i] && t.within[subset][i] && !math.IsNaN(value[i]) && !math.IsNaN(cost[i]) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(cost[a], cost[b]), cmp.Compare(value[b], value[a]), cmp.Compare(seconds[a], seconds[b]), cmp.Compare(t.rank[a], t.rank[b]))
	})
	return order
}

// kept is, of the candidates that make the same of every run as the chosen one, the
// one that differs from today's configuration in the fewest parameters: a parameter
// whose change changes no run keeps today's value.
func (t *chooser) kept(chosen int) int {
	return slices.MinFunc(t.steps.rungs[t.steps.rung[chosen]].candidates, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.changed(a), t.changed(b)), cmp.Compare(t.rank[a], t.rank[b]))
	})
}

// changed is in how many parameters a candidate differs from today's configuration.
func (t *chooser) changed(candidate int) (n int) {
	if today := t.today(); today >= 0 {
		for path, at := range t.at[today] {
			n += count(t.at[candidate][path] != at)
		}
	}
	return n
}

// unbeaten leaves those that no other beats in cost, objective and latency at once:
// those on the front. Their order stays.
func (t *chooser) unbeaten(order []int, subset int) []int {
	points := make([]stats.Point, len(order))
	for k, i := range order {
		points[k] = t.pointOf(i, subset)
	}
	front := map[stats.Point]bool{}
	for _, at := range stats.Front(points) {
		front[points[at]] = true
	}
	kept := make([]int, 0, len(order))
	for k, i := range order {
		if front[points[k]] {
			kept = append(kept, i)
		}
	}
	return kept
}

// pointOf is what a candidate costs, is worth and takes.
func (t *chooser) pointOf(candidate, subset int) stats.Point {
	p := stats.Point{Cost: t.cost[subset][candidate], Quality: t.value[subset][candidate]}
	if t.known.times {
		p.Delay = t.seconds[subset][candidate]
	}
	return p
}

// best is the first with the best objective.
func (t *chooser) best(order []int, subset int) int {
	best := order[0]
	for _, i := range order {
		if t.value[subset][i] > t.value[subset][best] {
			best = i
		}
	}
	return best
}

// allowing is the rule on a subset.
func (t *chooser) allowing(ctx context.Context, subset int, c *chosen) (func(candidate int) (bool, error), error) {
	value, top := t.value[subset], c.topValue
	switch t.Choose.Rule {
	case AtLeast:
		bound := top - (1-t.Choose.Number)*math.Abs(top)
		return func(i int) (bool, error) { return value[i] >= bound-slack(bound), nil }, nil
	case WithinOneSE:
		se, err := t.standardError(ctx, c.top, subset)
		c.margin = se
		return func(i int) (bool, error) { return value[i] >= top-se-slack(top), nil }, err
	case Indistinguishable:
		return t.notShownWorse(ctx, subset, c)
	}
	passes := t.stepped(ctx, subset, c)
	return func(i int) (bool, error) {
		if t.goal.native != nil && value[i]+t.Choose.Number < top-slack(top) {
			return false, nil // what the recording does not answer for is better by more
		}
		return passes(i)
	}, nil
}

// slack is the rounding that a bound may have.
func slack(bound float64) float64 { return 1e-9 * math.Abs(bound) }

// standardError is that of the objective of a candidate; 0 where its units do not
// vary.
func (t *chooser) standardError(ctx context.Context, candidate, subset int) (float64, error) {
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return 0, err
	}
	values := t.influence(ctx, p, subset, &t.goal)
	if values == nil {
		return 0, t.noSpread(subset)
	}
	estimate, _ := stats.MeanOf(values)
	return estimate.SE, nil
}

// noSpread is why the spread of the objective is not known.
func (t *chooser) noSpread(subset int) error {
	if n, _ := t.lossUnits(subset); n < 2 && !t.quantiles {
		return errOneUnit
	}
	return errNoJackknife
}

// notShownWorse allows what a paired test does not show to be worse than the best.
// What costs as much as a candidate that was shown to be worse, and is no better,
// is not looked at.
func (t *chooser) notShownWorse(ctx context.Context, subset int, c *chosen) (func(candidate int) (bool, error), error) {
	p, err := t.profile(ctx, c.top)
	if err != nil {
		return nil, err
	}
	top := t.influence(ctx, p, subset, &t.goal)
	if top == nil {
		return nil, t.noSpread(subset)
	}
	worse := math.Inf(-1)
	return func(i int) (bool, error) {
		if t.value[subset][i] <= worse {
			return false, nil
		}
		p, err := t.profile(ctx, i)
		if err != nil {
			return false, err
		}
		c.p = t.same(differences(top, t.influence(ctx, p, subset, &t.goal)))
		if c.p < 1-t.Level {
			worse = t.value[subset][i]
		}
		return c.p >= 1-t.Level, nil
	}, nil
}

// mostFlipped is up to how many differences that are not 0 are flipped; more are
// tested by Student's t, as reports/compare does.
const mostFlipped = 2_000

// same is the chance of such differences where there is none; 1 where all are 0.
func (t *chooser) same(d []float64) float64 {
	switch n := differing(d); {
	case d == nil:
		return 0
	case n == 0:
		return 1
	case n > mostFlipped:
		estimate, _ := stats.MeanOf(d)
		test, _ := estimate.Test()
		return test.P
	}
	test, ok := stats.SignFlip(d, t.Seed)
	if !ok {
		return 0
	}
	return test.P
}
