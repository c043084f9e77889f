package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// thousand is how many runs savings are told for.
const thousand = 1_000

// against compares the recommended configuration with today's, where that is
// answered for, and with what was recorded.
func (t *chooser) against(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	if choice.candidate < 0 {
		return nil
	}
	mine, err := t.Outcomes(ctx, choice.candidate)
	if err != nil {
		return err
	}
	if today := t.todayAnswered(); today >= 0 {
		base, err := t.Outcomes(ctx, today)
		if err != nil {
			return err
		}
		if err := t.compare(ctx, r, "today", t.candidates[today].Name, base, mine); err != nil {
			return err
		}
	}
	return t.compare(ctx, r, "recording", tune.LabelRecorded, t.held.Recorded, mine)
}

func (t *chooser) compare(ctx context.Context, r *tune.Tuning, what, name string, base, mine []sweep.Outcome) error {
	v := tune.Versus{What: what, Name: name, All: []tune.Difference{}, Saved: []tune.Saving{}}
	result, err := compare.Sides(t.side(base), t.side(mine), compare.Options{Alpha: 1 - t.Level, Seed: t.Seed})
	if err != nil && !errors.Is(err, compare.ErrNoCommonTask) {
		return fmt.Errorf("comparing with %s: %w", what, err)
	}
	if result != nil {
		for i := range result.Lines {
			v.All = append(v.All, differenceOf(&result.Lines[i]))
		}
	}
	for i := range mine {
		lost, gained := flip(&base[i], &mine[i], t.score)
		v.Lost, v.Gained = v.Lost+count(lost), v.Gained+count(gained)
	}
	v.Saved = t.savings(ctx, base, mine)
	r.Against = append(r.Against, v)
	return nil
}

// flip says whether a run loses or gains a success, by a score.
func flip(base, mine *sweep.Outcome, score int) (lost, gained bool) {
	if score < 0 {
		return false, false
	}
	before, now := tune.ScoreOf(base, score), tune.ScoreOf(mine, score)
	if !before.Known() || !now.Known() {
		return false, false
	}
	return before.Least >= tune.Success && now.Most < tune.Success, before.Most < tune.Success && now.Least >= tune.Success
}

// side is what is compared: the runs, grouped by task. What is no point is left
// out.
func (t *chooser) side(outcomes []sweep.Outcome) *compare.Side {
	s := &compare.Side{}
	order := make([]int, 0, len(outcomes))
	for i := range t.held.Tasks {
		runs := t.held.Tasks[i].Runs
		first := t.held.Runs[runs[0]].Run
		s.Tasks, s.Starts = append(s.Tasks, first.Task), append(s.Starts, int32(len(order)))
		if t.held.Clusters > 0 {
			s.Clusters = append(s.Clusters, first.Cluster)
		}
		byTrial := slices.SortedFunc(slices.Values(runs), func(a, b int) int { return t.held.Runs[a].Run.Trial - t.held.Runs[b].Run.Trial })
		order = append(order, byTrial...)
	}
	s.Starts = append(s.Starts, int32(len(order)))
	for _, i := range order {
		s.Trials = append(s.Trials, int32(t.held.Runs[i].Run.Trial))
	}
	for at, name := range t.held.Scores {
		s.Columns = append(s.Columns, column(name, false, order, func(i int) float64 { return point(tune.ScoreOf(&outcomes[i], at)) }))
	}
	for _, a := range t.amountsKnown() {
		s.Columns = append(s.Columns, column(a.name, true, order, func(i int) float64 { return a.of(&outcomes[i]) }))
	}
	return s
}

func column(name string, amount bool, order []int, of func(i int) float64) compare.Column {
	c := compare.Column{Quantity: compare.Quantity{Name: name, Lower: amount, Ratio: amount}}
	for _, i := range order {
		v := of(i)
		if math.IsNaN(v) {
			c.Missing = page.Unknown
		}
		c.Values = append(c.Values, v)
	}
	return c
}

// point is the number of a range, NaN where it is none.
func point(r sweep.Range) float64 {
	if r.Least != r.Most {
		return math.NaN()
	}
	return r.Least
}

// amountOfRun is an amount of which less is better. One that has bounds counts at
// its most.
type amountOfRun struct {
	name string
	of   func(o *sweep.Outcome) float64
}

// amountsKnown are those that the recording knows.
func (t *chooser) amountsKnown() []amountOfRun {
	var all []amountOfRun
	add := func(name string, s *tune.Spending) {
		all = append(all, amountOfRun{name, func(o *sweep.Outcome) float64 {
			if s.Missing(o.Total().Most) != "" {
				return math.NaN()
			}
			_, most := s.Of(o)
			return float64(most) / s.Unit
		}})
	}
	if t.known.cost {
		add("cost_usd", &tune.Cost)
	}
	if t.known.times {
		add("latency_s", &tune.Time)
	}
	if t.known.tokens {
		add("tokens", &tune.Tokens)
	}
	add("iterations", &tune.Iterations)
	return all
}

// savings are how much less a thousand runs take.
func (t *chooser) savings(ctx context.Context, base, mine []sweep.Outcome) []tune.Saving {
	all := []tune.Saving{}
	before, after := t.profileOf(base), t.profileOf(mine)
	for _, a := range t.amountsKnown() {
		per := term{text: a.name, native: perThousand(a.name)}
		x, _ := per.of(ctx, t.scope(t.sum(before, 0)))
		y, _ := per.of(ctx, t.scope(t.sum(after, 0)))
		s := tune.Saving{Quantity: a.name, Saved: valueOf(x-y, page.Unknown), Interval: noRange(page.Nothing)}
		if d := differences(t.influence(ctx, before, 0, &per), t.influence(ctx, after, 0, &per)); d != nil {
			s.Interval = t.interval(d)
		}
		all = append(all, s)
	}
	return all
}

func perThousand(amount string) func(s *sums) float64 {
	total := func(s *sums) float64 { return s.iterations }
	switch amount {
	case "cost_usd":
		total = func(s *sums) float64 { return numberOf(s.cost()) }
	case "latency_s":
		total = func(s *sums) float64 { return s.seconds }
	case "tokens":
		total = func(s *sums) float64 { return numberOf(s.usedTokens()) }
	}
	return func(s *sums) float64 { return thousand * total(s) / s.runs }
}

func differenceOf(l *compare.Line) tune.Difference {
	why := l.Missing
	if why == "" {
		why = page.Nothing
	}
	return tune.Difference{
		Quantity: l.Name, Base: valueOf(l.Base, why), New: valueOf(l.New, why), Change: valueOf(l.Change, why),
		Interval: page.Range{Low: valueOf(l.Low, why), High: valueOf(l.High, why)}, Relative: l.Relative,
		P: valueOf(l.P, why), Test: l.Test, Method: l.Method, Wins: l.Wins, Losses: l.Losses, Ties: l.Ties, Tasks: l.Tasks,
		Verdict: l.Verdict, NotWorse: l.NotWorse, Needed: l.Needed,
	}
}
