package choose

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// neighbours tell what one step in each parameter changes, for the recommended
// configuration and for today's.
func (t *chooser) neighbours(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	for _, of := range t.described(choice) {
		for path := range t.paths {
			n, err := t.neighbour(ctx, of.name, of.candidate, path)
			if err != nil {
				return err
			}
			if n.Less != nil || n.More != nil {
				r.Neighbours = append(r.Neighbours, n)
			}
		}
	}
	return nil
}

// described are the candidates that are described in full, by their roles.
func (t *chooser) described(choice *chosen) (all []role) {
	if choice.candidate >= 0 {
		all = append(all, role{"recommended", choice.candidate})
	}
	if today := t.today(); today >= 0 && today != choice.candidate {
		all = append(all, role{"today", today})
	}
	return all
}

type role struct {
	name      string
	candidate int
}

func (t *chooser) neighbour(ctx context.Context, of string, candidate, path int) (tune.Neighbour, error) {
	n := tune.Neighbour{Of: of, Path: t.paths[path], Value: valueText(t.param(candidate, path))}
	for _, to := range []struct {
		steps int
		into  **tune.Step
	}{{-1, &n.Less}, {1, &n.More}} {
		other, ok := t.beside(candidate, path, to.steps)
		if !ok {
			continue
		}
		step, err := t.step(ctx, candidate, other)
		if err != nil {
			return n, err
		}
		step.Value = valueText(t.param(other, path))
		*to.into = step
	}
	return n, nil
}

// step holds a candidate against the one that it is next to.
func (t *chooser) step(ctx context.Context, from, to int) (*tune.Step, error) {
	before, err := t.Outcomes(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := t.Outcomes(ctx, to)
	if err != nil {
		return nil, err
	}
	s := &tune.Step{Candidate: to, Label: t.labels[to].String(), PerSuccess: page.Missing(page.Nothing)}
	s.Objective = t.changeOf(t.standing[from], t.standing[to], t.value[0][to]-t.value[0][from], t.Minimize)
	s.Cost = t.changeOf(t.standing[from], t.standing[to], t.cost[0][to]-t.cost[0][from], false)
	for i := range after {
		lost, gained := flip(&before[i], &after[i], t.score)
		s.Lost, s.Gained = s.Lost+count(lost), s.Gained+count(gained)
	}
	if extra := s.Gained - s.Lost; extra != 0 && s.Cost.Known() && s.Cost.Number*float64(extra) > 0 {
		s.PerSuccess = page.Known((t.total(after) - t.total(before)) / float64(extra))
	}
	return s, nil
}

// changeOf is a change that is known where both sides are; minimised values are
// turned around.
func (t *chooser) changeOf(from, to standingOfOne, change float64, turned bool) page.Value {
	if turned {
		change = -change
	}
	switch {
	case from == notExact || to == notExact:
		return page.Missing("not exact")
	case from == faulty || to == faulty:
		return page.Missing(tune.LabelFault)
	case from == notScored || to == notScored:
		return page.Missing(page.Unscored)
	}
	return valueOf(change, page.Unknown)
}

// total is what runs cost together, in the unit of the choice's cost where that is
// an amount: money, tokens, or iterations.
func (t *chooser) total(outcomes []sweep.Outcome) (sum float64) {
	of := t.unitOfCost()
	for i := range outcomes {
		_, most := of.Of(&outcomes[i])
		sum += float64(most) / of.Unit
	}
	return sum
}

// unitOfCost is the amount that costs are told in where they are told run by run:
// the one that the choice goes by, else the first that is known.
func (t *chooser) unitOfCost() *tune.Spending {
	reads := []string{t.price.text}
	if t.price.program != nil {
		reads = t.price.program.Reads()
	}
	for _, a := range []struct {
		name string
		of   *tune.Spending
	}{{"cost_usd", &tune.Cost}, {"tokens", &tune.Tokens}, {"latency", &tune.Time}, {"iterations", &tune.Iterations}} {
		if len(reads) == 1 && (reads[0] == a.name+".mean" || reads[0] == a.name+".sum" || reads[0] == a.name+".total") {
			return a.of
		}
	}
	switch {
	case t.known.cost:
		return &tune.Cost
	case t.known.tokens:
		return &tune.Tokens
	}
	return &tune.Iterations
}
