package choose

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// choices describes the recommended configuration and those beside it.
func (t *chooser) choices(ctx context.Context, r *tune.Tuning, choice *chosen) (err error) {
	if r.Recording, err = t.choice(ctx, theRecording); err != nil {
		return err
	}
	for _, one := range []struct {
		into **tune.Choice
		at   int
	}{{&r.Recommended, choice.candidate}, {&r.Today, t.today()}, {&r.Best, choice.best}} {
		if one.at < 0 {
			continue
		}
		if *one.into, err = t.choice(ctx, one.at); err != nil {
			return err
		}
	}
	for _, next := range choice.next {
		c, err := t.choice(ctx, next)
		if err != nil {
			return err
		}
		r.Alternatives = append(r.Alternatives, *c)
	}
	t.change(r, choice.candidate)
	return nil
}

// change tells what differs from today.
func (t *chooser) change(r *tune.Tuning, to int) {
	if to < 0 {
		return
	}
	from := t.Recordings()[0].Loop
	if today := t.today(); today >= 0 {
		from = t.candidates[today].Declared()
		r.Unchanged = today == to || slices.Equal(t.at[today], t.at[to])
	}
	r.Changes = changes(from, &t.candidates[to])
}

// choice describes a candidate.
func (t *chooser) choice(ctx context.Context, candidate int) (*tune.Choice, error) {
	outcomes, of := t.held.Recorded, &sweep.Candidate{Name: tune.LabelRecorded}
	if candidate != theRecording {
		var err error
		if outcomes, err = t.Outcomes(ctx, candidate); err != nil {
			return nil, err
		}
		of = &t.candidates[candidate]
	}
	c := &tune.Choice{Configuration: t.held.Configuration(of, outcomes), Candidate: candidate}
	if candidate == theRecording {
		c.Recorded, c.Label = true, tune.LabelRecorded
		if len(t.Recordings()) > 1 {
			c.Name = t.Recordings()[0].Configuration
		}
	}
	return c, t.worth(ctx, c, outcomes)
}

// worth fills in what a configuration is worth by the terms. What is bounded is no
// point.
func (t *chooser) worth(ctx context.Context, c *tune.Choice, outcomes []sweep.Outcome) error {
	p := t.profileOf(outcomes)
	scope := t.scope(t.sum(p, 0))
	if t.quantiles {
		everyRunOf(outcomes).into(scope.sums, t.fold, -1)
	}
	value, why := t.goal.of(ctx, scope)
	cost, whyCost := t.price.of(ctx, scope)
	c.Objective, c.ChoiceCost = valueOf(value, why), valueOf(cost, whyCost)
	c.ObjectiveInterval, c.LostMost = noRange(page.Nothing), page.Missing(page.Nothing)
	if c.Exact < c.Runs {
		c.Objective, c.ChoiceCost = page.Missing(c.Label), page.Missing(c.Label)
		return nil
	}
	if values := t.influence(ctx, p, 0, &t.goal); values != nil {
		c.ObjectiveInterval = t.interval(values)
	}
	if t.score < 0 {
		return nil
	}
	s := &scope.scores[t.score]
	c.Lost, c.Gained = int(s.lost), int(s.gained)
	if c.Candidate == theRecording {
		return nil
	}
	l, err := t.lossAlone(ctx, c.Candidate, 0)
	c.LostMost, c.LossIsNet = l.LostMost, l.LossIsNet
	return err
}

// lossAlone is what a candidate loses on a subset, with the bound of one that is named
// beforehand.
func (t *chooser) lossAlone(ctx context.Context, candidate, subset int) (tune.Loss, error) {
	if t.score < 0 {
		return tune.Loss{LostMost: page.Missing(page.Nothing)}, nil
	}
	l, err := t.lossInFull(ctx, candidate, subset, t.Level)
	return tune.Loss{Lost: l.lost, Gained: l.gained, LostMost: valueOf(l.most, page.Nothing), LossIsNet: l.net}, err
}

// all describes every candidate that can be chosen, where that was asked for.
func (t *chooser) all(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	if !t.Options.All {
		return nil
	}
	order := []int{}
	for i := range t.candidates {
		if t.can[i] {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.cost[0][a], t.cost[0][b]), cmp.Compare(t.rank[a], t.rank[b]))
	})
	for _, i := range order {
		l, err := t.lossAlone(ctx, i, 0)
		if err != nil {
			return err
		}
		r.All = append(r.All, tune.AllRow{
			Candidate: i, Name: t.candidates[i].Name, Params: tune.Params(t.candidates[i].Params), Objective: t.shownValue(t.value[0][i]), ChoiceCost: page.Known(t.cost[0][i]),
			Counted: t.counted(t.over(&sums{}, i, 0)), Within: t.within[t.chosenOn][i], Loss: l, Alpha: t.steps.rungs[t.steps.rung[i]].alpha, Recommended: i == choice.candidate, Today: i == t.today(),
		})
	}
	return nil
}
