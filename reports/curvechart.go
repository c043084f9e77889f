package reports

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// How many configurations a chart shows by a colour of their own, how many more as grey
// lines, how many with intervals, and with how many points.
const (
	colouredLines = 6
	greyLines     = 32
	bandedLines   = 4
	mostPoints    = 50
)

// curveOf is a number of each point of a curve.
type curveOf struct {
	name, title, about string
	axis               page.Axis
	of                 func(*CurvePoint) page.Estimate
}

// curveCharts show the score and the cost that all configurations would have had, had every run
// stopped at an iteration. A number that no point knows is left out.
func (r *Report) curveCharts() (charts []page.Chart) {
	shown, more := r.curves()
	for _, of := range []curveOf{
		{"curve-score", "Score if every run stopped at an iteration", "What the runs would have scored.", page.Axis{Name: r.Primary(), Form: r.shownScore()},
			func(p *CurvePoint) page.Estimate { return p.Score }},
		{"curve-cost", "Cost if every run stopped at an iteration", "What a run would have cost on the average.", page.Axis{Name: "cost per run", Unit: page.InDollars, Shown: []float64{0}, Form: r.dollars},
			func(p *CurvePoint) page.Estimate { return p.Cost }},
	} {
		chart := r.curveChart(&of, shown)
		if more > 0 {
			chart.Notes = append(chart.Notes, page.Plural(more, "more configuration stands", "more configurations stand")+" in the table alone")
		}
		if slices.ContainsFunc(chart.Series, func(s page.Series) bool {
			return slices.ContainsFunc(s.Dots, func(d page.Dot) bool { return d.Y.Known() })
		}) {
			charts = append(charts, chart)
		}
	}
	return charts
}

// curves are the configurations whose runs came further than one point. Where there are many,
// some from the cheapest to the dearest of the front come first, for the others are grey.
func (r *Report) curves() (order []*Configuration, more int) {
	order, more = r.foremost(colouredLines+greyLines, func(c *Configuration) bool { return len(c.Curve) > 1 })
	f := r.front()
	if len(order) <= colouredLines || f == nil {
		return order, more
	}
	var front []string
	for row := range f.each() {
		if row.Front && slices.ContainsFunc(order, func(c *Configuration) bool { return c.Name == row.Name }) {
			front = append(front, row.Name)
		}
	}
	first := map[string]bool{}
	for _, at := range spaced(len(front), colouredLines) {
		first[front[at]] = true
	}
	slices.SortStableFunc(order, func(a, b *Configuration) int { return number(first[b.Name]) - number(first[a.Name]) })
	return order, more
}

func (r *Report) curveChart(of *curveOf, order []*Configuration) page.Chart {
	x := page.Axis{Name: "every run stops at iteration", Unit: page.InCounts, Form: page.Whole}
	chart := page.Chart{Name: of.name, Title: of.title, About: of.about, Beside: "curve", X: x, Y: of.axis}
	thinned, cut := false, false
	for i, c := range order {
		s := page.Series{Name: c.Name, Tone: page.Tone(i), Line: true, Band: len(order) <= bandedLines}
		if i >= colouredLines {
			s.Tone, s.Mute, s.Unlisted = page.Grey, true, i > colouredLines
		}
		if more := len(order) - colouredLines; i == colouredLines && more > 1 {
			s.Legend = page.Plural(more, "more configuration", "more configurations")
		}
		from := r.firstCut(c)
		for k, at := range spaced(len(c.Curve), mostPoints) {
			thinned = thinned || k != at
			p := &c.Curve[at]
			d := page.Dot{X: page.Known(float64(p.Iteration)), Censored: from > 0 && p.Iteration >= from, Link: page.OfConfiguration(c.Name)}
			cut = cut || d.Censored
			y := of.of(p)
			if d.Y = y.Value; len(order) <= bandedLines {
				d.YRange = y.Range
			}
			s.Dots = append(s.Dots, d)
		}
		chart.Series = append(chart.Series, s)
		if s.Tone != page.Grey && c.atTheMaximum().Number > 0 {
			chart.Series, cut = append(chart.Series, s.Beyond()), true
		}
	}
	if len(order) > bandedLines {
		chart.Notes = append(chart.Notes, "intervals of so many configurations would hide each other: the table has them")
	} else {
		chart.About += " The band is the 95% interval."
	}
	if cut {
		chart.About += page.AboutCut
	}
	if thinned {
		chart.Notes = append(chart.Notes, fmt.Sprintf("of each curve %d points are drawn; the table has all", mostPoints))
	}
	return chart
}

// spaced are at most so many places of n, evenly, the first and the last among them.
func spaced(n, most int) (places []int) {
	kept := min(n, most)
	for i := range kept {
		at := i
		if n > kept {
			at = i * (n - 1) / (kept - 1)
		}
		places = append(places, at)
	}
	return places
}

// atTheMaximum is the share of the runs that a maximum of iterations stopped.
func (c *Configuration) atTheMaximum() page.Value {
	for i := range c.Stops {
		if c.Stops[i].Reason == record.ReasonMaxIterations {
			return c.Stops[i].Share.Value
		}
	}
	return page.Known(0)
}

// firstCut is the first iteration that some run did not reach since a guard or a budget
// ended it; 0: there is none.
func (r *Report) firstCut(c *Configuration) (first int) {
	at, _ := r.named(c.Name)
	for _, run := range r.runs.ordered[at] {
		class, next := r.runs.stops[r.runs.all[run].stop].Class, int(r.runs.all[run].iterations)+1
		if (class == record.ByGuard || class == record.ByBudget) && (first == 0 || next < first) {
			first = next
		}
	}
	return first
}
