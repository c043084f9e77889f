package reports

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Bin has the runs whose confidence lies in one tenth of the scale.
type Bin struct {
	Runs       int        `json:"runs"`
	Confidence page.Value `json:"predicted"` // their mean confidence
	Score      page.Value `json:"observed"`  // their mean score

	tenth int
}

// Bins is how many parts the scale has.
const Bins = 10

// Binned puts forecasts from 0 to 1 into bins.
func Binned(forecasts []stats.Forecast) []Bin {
	var sums [Bins]struct{ n, probability, outcome float64 }
	for _, f := range forecasts {
		at := min(Bins-1, int(f.Probability*Bins))
		sums[at].n++
		sums[at].probability += f.Probability
		sums[at].outcome += f.Outcome
	}
	var bins []Bin
	for tenth, s := range sums {
		if s.n > 0 {
			bins = append(bins, Bin{int(s.n), page.Known(s.probability / s.n), page.Known(s.outcome / s.n), tenth})
		}
	}
	return bins
}

// Reliability is a diagram of bins against what would be right.
func Reliability(name, beside, confidence, score string, form func(page.Value) string) page.Chart {
	return page.Chart{
		Name: name, Title: "Reliability: " + score + " by " + confidence, Beside: beside,
		About: "Runs in tenths of " + confidence + ", with how many they are. On the diagonal it is right; below it is too high, above it too low.",
		X:     page.Axis{Name: confidence, Shown: []float64{0, 1}, Form: form},
		Y:     page.Axis{Name: score, Shown: []float64{0, 1}, Form: form},
		Series: []page.Series{{Tone: page.Grey, Line: true, Mute: true, Guide: true, Dots: []page.Dot{
			{X: page.Known(0), Y: page.Known(0)}, {X: page.Known(1), Y: page.Known(1), Censored: true},
		}}},
	}
}

// terms are the filter for the runs of a bin.
func (b *Bin) terms() []string {
	terms := []string{page.Compared("confidence", ">=", float64(b.tenth)/Bins)}
	if b.tenth < Bins-1 {
		terms = append(terms, page.Compared("confidence", "<", float64(b.tenth+1)/Bins))
	}
	return terms
}

// ReliabilitySeries are the marks of bins. Of is the filter for all of their runs; nil: they are
// in no page.
func ReliabilitySeries(name string, tone page.Tone, bins []Bin, counted bool, of []string) page.Series {
	s := page.Series{Name: name, Tone: tone, Line: true}
	for _, b := range bins {
		d := page.Dot{X: b.Confidence, Y: b.Score, More: page.Plural(b.Runs, "run", "runs")}
		if of != nil {
			d.Link = page.Filter(slices.Concat(of, b.terms())...)
		}
		if counted {
			d.Name = fmt.Sprintf("n=%d", b.Runs)
		}
		s.Dots = append(s.Dots, d)
	}
	return s
}

// reliabilityChart shows how far the confidence of the loops may be believed.
func (r *Report) reliabilityChart() []page.Chart {
	digits := r.scoreDigits()
	chart := Reliability("reliability", "calibration", "confidence", r.Primary(), func(v page.Value) string { return page.Score(v, digits) })
	shown, more := r.foremost(colouredLines, func(c *Configuration) bool { return c.Calibration != nil && len(c.Calibration.Bins) > 1 })
	for i, c := range shown {
		scored := []string{page.Term("config", c.Name), page.Compared(r.Primary(), ">=", 0)}
		chart.Series = append(chart.Series, ReliabilitySeries(c.Name, page.Tone(i), c.Calibration.Bins, len(shown) <= 2, scored))
	}
	if len(shown) == 0 {
		return nil
	}
	if more > 0 {
		chart.Notes = []string{page.Plural(more, "more configuration is", "more configurations are") + " not drawn"}
	}
	return []page.Chart{chart}
}
