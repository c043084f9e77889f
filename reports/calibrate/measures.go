package calibrate

import (
	"math"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// bias is how kind the scorer is, and how kind people are.
func (m *measure) bias() Bias {
	of := func(value func(*Pair) float64) (page.Value, page.Range) { return m.mean(value) }
	var b Bias
	b.Score, b.ScoreInterval = of(func(p *Pair) float64 { return p.Score })
	b.Label, b.LabelInterval = of(func(p *Pair) float64 { return p.Label })
	b.ScoreInterval, b.LabelInterval = within(b.ScoreInterval, 0, 1), within(b.LabelInterval, 0, 1)
	b.Difference, b.DifferenceBounds = of(func(p *Pair) float64 { return p.Score - p.Label })
	return b
}

// mean is that over outputs, with Student's interval by unit.
func (m *measure) mean(value func(*Pair) float64) (page.Value, page.Range) {
	clusters := make([][]float64, m.units)
	for i := range m.scored {
		clusters[m.unit[i]] = append(clusters[m.unit[i]], value(&m.scored[i]))
	}
	mean, ok := stats.Mean(flat(clusters))
	interval := none
	if estimate, ok := stats.ClusteredMean(clusters); ok {
		interval = rangeOf(estimate.Interval(stats.Level))
	}
	return page.ValueOf(mean, ok), interval
}

// draws is how often the units are drawn for an interval.
const draws = 2_000

// measures are those of numbers: how well they foretell a yes, or go with what labels
// say.
func (m *measure) measures() []Measure {
	if m.ordered() {
		return m.orderedMeasures()
	}
	forecasts := make([][]stats.Forecast, m.units)
	for i, p := range m.scored {
		forecasts[m.unit[i]] = append(forecasts[m.unit[i]], stats.Forecast{Probability: p.Score, Outcome: p.Label})
	}
	all := flat(forecasts)
	_, brier := m.mean(func(p *Pair) float64 { return (p.Score - p.Label) * (p.Score - p.Label) })
	return []Measure{
		{"Brier", page.ValueOf(stats.Brier(all)), within(brier, 0, 1), "0 is perfect, 0.25 is what always saying 0.5 gets"},
		{"ECE", page.ValueOf(stats.ECE(all)), rangeOf(drawn(m, forecasts, stats.ECE)), "how far numbers lie from the share of yes, in tenths; too large for few labels"},
		{"AUROC", page.ValueOf(stats.AUROC(all)), rangeOf(stats.AUROCInterval(forecasts, stats.Level)), "the chance that a yes has the higher number; 0.5 is chance"},
	}
}

func (m *measure) orderedMeasures() []Measure {
	pairs := m.clusters(scoreAndLabel)
	off, between := m.mean(func(p *Pair) float64 { return math.Abs(p.Score - p.Label) })
	return []Measure{
		{"Spearman", page.ValueOf(spearman(flat(pairs))), rangeOf(drawn(m, pairs, spearman)), "whether what people rate higher has the higher score; 0 is chance"},
		{"mean distance", off, within(between, 0, 1), "how far the score lies from the label, of 1"},
	}
}

func spearman(pairs []stats.Rated) (float64, bool) {
	a, b := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, r := range pairs {
		a[i], b[i] = r.A, r.B
	}
	return stats.Spearman(a, b)
}

// drawn is the bootstrap's interval of a number of what the units hold.
func drawn[T any](m *measure, clusters [][]T, of func([]T) (float64, bool)) (stats.Interval, bool) {
	var all []T
	return stats.Bootstrap(len(clusters), draws, m.Seed, func(times []uint8) (float64, bool) {
		all = all[:0]
		for i, n := range times {
			for range n {
				all = append(all, clusters[i]...)
			}
		}
		return of(all)
	}, stats.Level)
}

// within keeps an interval within what its number can be.
func within(r page.Range, low, high float64) page.Range {
	if !r.Known() {
		return r
	}
	return page.Range{Low: page.Known(max(low, r.Low.Number)), High: page.Known(min(high, r.High.Number))}
}
