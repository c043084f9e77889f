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

// calibrationCharts show how far the loops may be believed.
func (r *Report) calibrationCharts() (charts []page.Chart) {
	digits := r.scoreDigits()
	reliability := Reliability("calibration-reliability", "calibration", "confidence", r.Primary(), func(v page.Value) string { return page.Score(v, digits) })
	outcomes := page.Chart{
		Name: "calibration-outcomes", Title: "What the loop said and what was so", Beside: "calibration",
		About: "Runs with a confidence and a score. A false alarm was called a success and was none; a missed one was a success that the loop did not recognize.",
		X:     page.Axis{Name: "runs", Unit: page.InCounts, Shown: []float64{0}, Form: page.Whole},
		Y:     page.Axis{Name: "configuration", Kind: page.Category},
		Series: []page.Series{
			{Name: "confirmed", Tone: 2, Bars: true}, {Name: "false alarm", Tone: 4, Bars: true}, {Name: "missed", Tone: 1, Bars: true}, {Name: "rightly not a success", Tone: page.Grey, Bars: true},
		},
	}
	drawn, withBins := 0, 0
	for c := range r.each() {
		if c.Calibration != nil && len(c.Calibration.Bins) > 1 {
			withBins++
		}
	}
	shown, more := r.foremost(mostBars, func(c *Configuration) bool { return c.Calibration != nil })
	for row, c := range shown {
		k := c.Calibration
		if len(k.Bins) > 1 && drawn < colouredLines {
			scored := []string{page.Term("config", c.Name), page.Compared(r.Primary(), ">=", 0)}
			reliability.Series = append(reliability.Series, ReliabilitySeries(c.Name, page.Tone(drawn), k.Bins, withBins <= 2, scored))
			drawn++
		}
		outcomes.Y.Labels = append(outcomes.Y.Labels, c.Name)
		for i, n := range []int{k.Confirmed, k.FalseAlarm, k.Missed, k.Runs - k.Confirmed - k.FalseAlarm - k.Missed} {
			if n > 0 {
				link := page.Filter(page.Term("config", c.Name), page.Compared("confidence", ">=", 0), page.Compared("believed", "=", float64(number(i < 2))), page.Compared(r.Primary(), [4]string{">=", "<", ">=", "<"}[i], success))
				outcomes.Series[i].Dots = append(outcomes.Series[i].Dots, page.Dot{X: page.Known(float64(n)), Y: page.Known(float64(row)), Text: fmt.Sprint(n), Link: link})
			}
		}
	}
	if drawn > 0 {
		if withBins > drawn {
			reliability.Notes = []string{page.Plural(withBins-drawn, "more configuration is", "more configurations are") + " not drawn"}
		}
		charts = append(charts, reliability)
	}
	if len(outcomes.Y.Labels) > 0 {
		outcomes.Notes = moreRows(more)
		charts = append(charts, outcomes)
	}
	return charts
}
