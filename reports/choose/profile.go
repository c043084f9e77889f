package choose

import (
	"context"
	"math"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
)

// profile is what a candidate makes of every cell of the runs: those of one unit
// and one fold.
type profile struct{ cells []sweep.Totals }

// theRecording is the number that stands for the recording among candidates.
const theRecording = -1

// mostProfiles are kept at a time: a megabyte each where there are many tasks.
const mostProfiles = 16

// mostOutcomes are kept at a time, of all candidates together: some 600 bytes each.
const mostOutcomes = 50_000

// Outcomes replays a candidate, and remembers those that are asked for again and
// again.
func (t *chooser) Outcomes(ctx context.Context, candidate int) ([]sweep.Outcome, error) {
	if known, ok := t.outcomes[candidate]; ok {
		return known, nil
	}
	outcomes, err := t.Source.Outcomes(ctx, candidate)
	if err != nil {
		return nil, err
	}
	if len(t.outcomes)*len(outcomes) > mostOutcomes {
		clear(t.outcomes)
	}
	t.outcomes[candidate] = outcomes
	return outcomes, nil
}

// profile replays a candidate, or is that of a recording.
func (t *chooser) profile(ctx context.Context, candidate int) (*profile, error) {
	if p, ok := t.profiles[candidate]; ok {
		return p, nil
	}
	var p *profile
	switch {
	case candidate >= 0:
		cells, err := t.Sums(ctx, candidate, t.parts)
		if err != nil {
			return nil, err
		}
		p = &profile{cells}
	case candidate == theRecording:
		p = t.profileOf(t.held.Recorded)
	default:
		p = t.profileOf(tune.Hold(t.Recordings()[theRecording-candidate].Runs, t.held.Scores).Recorded)
	}
	if len(t.profiles) >= mostProfiles {
		clear(t.profiles)
	}
	t.profiles[candidate] = p
	return p, nil
}

func (t *chooser) profileOf(outcomes []sweep.Outcome) *profile {
	return &profile{t.parts.Sum(outcomes)}
}

// sum adds up the cells of a subset.
func (t *chooser) sum(p *profile, subset int) *sums {
	s := &sums{}
	for c := range p.cells {
		if t.in(c, subset) {
			s.add(&p.cells[c])
		}
	}
	return s
}

// in says whether a cell is in a subset.
func (t *chooser) in(cell, subset int) bool { return subset == 0 || t.cellFold[cell] != subset-1 }

// influence are the pseudo-values of a term for the units of a subset, whose mean
// and spread are those of the term (M. H. Quenouille, Biometrika 43, 1956; J. W.
// Tukey, 1958): for a mean over units of one size they are the units' means. They
// are moved so that their mean is the term itself. It is nil where the term has no
// value, or where quantiles are read, which the jackknife does not fit.
func (t *chooser) influence(ctx context.Context, p *profile, subset int, of *term) []float64 {
	byUnit := make([][]*sweep.Totals, t.units)
	for c := range p.cells {
		if t.in(c, subset) && p.cells[c].Runs > 0 {
			byUnit[t.cellUnit[c]] = append(byUnit[t.cellUnit[c]], &p.cells[c])
		}
	}
	all := t.sum(p, subset)
	scope := t.scope(all.copy())
	whole, _ := of.of(ctx, scope)
	if of.program != nil && t.quantiles || math.IsNaN(whole) {
		return nil
	}
	values, mean := []float64{}, 0.0
	for _, cells := range byUnit {
		if len(cells) == 0 {
			continue
		}
		scope.set(all)
		for _, c := range cells {
			scope.drop(c)
		}
		without, _ := of.of(ctx, scope)
		values = append(values, without)
		mean += without
	}
	return pseudo(values, whole, mean/float64(len(values)))
}

// pseudo turns what the term is without each unit into pseudo-values.
func pseudo(without []float64, whole, mean float64) []float64 {
	if math.IsNaN(mean) || len(without) < 2 {
		return nil
	}
	n := float64(len(without))
	for i, x := range without {
		without[i] = whole + (n-1)*(mean-x)
	}
	return without
}
