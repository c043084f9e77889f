package reports

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// How many configurations a chart shows by a colour of their own, how many more as grey
// lines, and with how many points.
const (
	colouredLines = 6
	greyLines     = 31 // and two of what is lowest and highest among the others
	bandedLines   = 4
	mostPoints    = 50
)

// curveOf is a number of each point of a curve.
type curveOf[P any] struct {
	name, title, about string
	axis               page.Axis
	// goesOn says that a run that a limit stopped might have come to another number.
	goesOn bool
	of     func(*P) (page.Value, page.Range)
}

// curveCharts show the numbers of the curves of all configurations.
type curveCharts[P any] struct {
	*Report
	beside string
	x      page.Axis
	points func(*Configuration) []P
	at     func(*P) int
	// cut is the first point of a configuration that some runs did not reach for a guard
	// or a budget, ends the share of its runs that stopped at its last point for a limit.
	cut  func(*Configuration) int
	ends func(*Configuration) page.Value
}

func (r *Report) iterationCharts() []page.Chart {
	digits, shown := r.scoreDigits(), r.shownScore()
	c := curveCharts[CurvePoint]{
		Report: r, beside: "curve", x: page.Axis{Name: "every run stops at iteration", Unit: page.InCounts, Form: page.Whole},
		points: func(c *Configuration) []CurvePoint { return c.Curve }, at: func(p *CurvePoint) int { return p.Iteration },
		cut: r.firstCut, ends: (*Configuration).atTheMaximum,
	}
	score := r.Primary()
	return c.charts([]curveOf[CurvePoint]{
		{"curve-score", "Score if every run stopped at an iteration", "What the runs would have scored.", page.Axis{Name: score, Form: shown}, true,
			func(p *CurvePoint) (page.Value, page.Range) { return p.Score, p.ScoreInterval }},
		{"curve-gain", "What one more iteration adds to the score", "The change of the mean score by the iteration; what is at 0 pays for nothing.",
			page.Axis{Name: "gain of " + score, Unit: page.InChanges, Shown: []float64{0}, Form: func(v page.Value) string { return page.Gain(v, digits) }}, false,
			func(p *CurvePoint) (page.Value, page.Range) { return p.Gain, p.GainInterval }},
		{"curve-cost", "Cost if every run stopped at an iteration", "What a run would have cost on the average.", page.Axis{Name: "cost per run", Unit: page.InDollars, Shown: []float64{0}, Form: r.dollars}, true,
			func(p *CurvePoint) (page.Value, page.Range) { return p.Cost, p.CostInterval }},
		{"curve-latency", "Latency if every run stopped at an iteration", "What a run would have taken on the average.", page.Axis{Name: "latency per run", Unit: page.InSeconds, Shown: []float64{0}, Form: page.Seconds}, true,
			func(p *CurvePoint) (page.Value, page.Range) { return p.Seconds, p.SecondsInterval }},
		{"curve-reached", "Runs that reach an iteration", "The share of the runs that came so far.", page.Axis{Name: "reached", Unit: page.InPercent, Shown: []float64{0, 1}, Form: page.Percent}, false,
			func(p *CurvePoint) (page.Value, page.Range) { return p.Reached, p.ReachedInterval }},
	})
}

func (r *Report) stepCharts() []page.Chart {
	c := curveCharts[StepPoint]{
		Report: r, beside: "steps", x: page.Axis{Name: "a limit ends every run at step", Unit: page.InCounts, Form: page.Whole},
		points: func(c *Configuration) []StepPoint { return c.Steps }, at: func(p *StepPoint) int { return p.Step },
	}
	return c.charts([]curveOf[StepPoint]{
		{"steps-reached", "Runs that reach a step", "The share of the runs that made so many steps.", page.Axis{Name: "reached", Unit: page.InPercent, Shown: []float64{0, 1}, Form: page.Percent}, false,
			func(p *StepPoint) (page.Value, page.Range) { return p.Reached, p.ReachedInterval }},
		{"steps-cost", "Cost if a limit of steps ended every run", "What a run had spent when the next call arrived.", page.Axis{Name: "cost per run", Unit: page.InDollars, Shown: []float64{0}, Form: r.dollars}, false,
			func(p *StepPoint) (page.Value, page.Range) { return p.Cost, p.CostInterval }},
		{"steps-tokens", "Tokens if a limit of steps ended every run", "What a run had used when the next call arrived.", page.Axis{Name: "tokens per run", Shown: []float64{0}, Form: page.Whole}, false,
			func(p *StepPoint) (page.Value, page.Range) { return p.Tokens, p.TokensInterval }},
		{"steps-latency", "Latency if a limit of steps ended every run", "What a run had taken when the next call arrived.", page.Axis{Name: "latency per run", Unit: page.InSeconds, Shown: []float64{0}, Form: page.Seconds}, false,
			func(p *StepPoint) (page.Value, page.Range) { return p.Seconds, p.SecondsInterval }},
	})
}

// charts leaves out numbers that no point knows.
func (c *curveCharts[P]) charts(all []curveOf[P]) (charts []page.Chart) {
	order, others := c.order()
	for i := range all {
		if chart := c.chart(&all[i], order); slices.ContainsFunc(chart.Series, func(s page.Series) bool {
			return slices.ContainsFunc(s.Dots, func(d page.Dot) bool { return d.Y.Known() })
		}) {
			if len(others) > 0 {
				chart.Series = append(chart.Series, c.boundsOf(&all[i], others)...)
			}
			charts = append(charts, chart)
		}
	}
	return charts
}

// boundsOf are what is lowest and highest among configurations that have no line of their own.
func (c *curveCharts[P]) boundsOf(of *curveOf[P], others []*Configuration) []page.Series {
	low, high := map[int]float64{}, map[int]float64{}
	for _, configuration := range others {
		points := c.points(configuration)
		for i := range points {
			y, _ := of.of(&points[i])
			if at := c.at(&points[i]); y.Known() {
				if _, met := low[at]; !met {
					low[at], high[at] = y.Number, y.Number
				}
				low[at], high[at] = min(low[at], y.Number), max(high[at], y.Number)
			}
		}
	}
	line := func(name string, numbers map[int]float64) page.Series {
		s := page.Series{Name: name, Tone: page.Grey, Line: true, Mute: true}
		at := slices.Sorted(maps.Keys(numbers))
		for _, k := range spaced(len(at), mostPoints) {
			s.Dots = append(s.Dots, page.Dot{X: page.Known(float64(at[k])), Y: page.Known(numbers[at[k]])})
		}
		return s
	}
	name := page.Plural(len(others), "other", "others")
	least, most := line("lowest of "+name, low), line("highest of "+name, high)
	least.Legend, most.Unlisted = "lowest and highest of "+name, true
	return []page.Series{least, most}
}

// order has the configurations whose runs came further than one point. Where there are many,
// some from the cheapest to the dearest of the front come first, for the others are grey.
func (c *curveCharts[P]) order() (order, others []*Configuration) {
	order, others = c.foremostAndOthers(colouredLines+greyLines+1, func(of *Configuration) bool { return len(c.points(of)) > 1 })
	f := c.front()
	if len(order) <= colouredLines || f == nil {
		return order, others
	}
	var front []string
	for row := range f.each() {
		if row.Front && slices.ContainsFunc(order, func(of *Configuration) bool { return of.Name == row.Name }) {
			front = append(front, row.Name)
		}
	}
	first := map[string]bool{}
	for _, at := range spaced(len(front), colouredLines) {
		first[front[at]] = true
	}
	slices.SortStableFunc(order, func(a, b *Configuration) int { return number(first[b.Name]) - number(first[a.Name]) })
	return order, others
}

func (c *curveCharts[P]) chart(of *curveOf[P], order []*Configuration) page.Chart {
	chart := page.Chart{Name: of.name, Title: of.title, About: of.about, Beside: c.beside, X: c.x, Y: of.axis}
	thinned, cut := false, false
	for i, configuration := range order {
		s := page.Series{Name: configuration.Name, Tone: page.Tone(i), Line: true, Band: len(order) <= bandedLines}
		if i >= colouredLines {
			s.Tone, s.Mute, s.Unlisted = page.Grey, true, i > colouredLines
		}
		points, from := c.points(configuration), 0
		if c.cut != nil {
			from = c.cut(configuration)
		}
		for k, at := range spaced(len(points), mostPoints) {
			thinned = thinned || k != at
			p := &points[at]
			d := page.Dot{X: page.Known(float64(c.at(p))), Censored: from > 0 && c.at(p) >= from, Link: page.OfConfiguration(configuration.Name)}
			cut = cut || d.Censored
			if d.Y, d.YRange = of.of(p); len(order) > bandedLines {
				d.YRange = page.NoRange(page.Nothing)
			}
			s.Dots = append(s.Dots, d)
		}
		chart.Series = append(chart.Series, s)
		if stub := c.stub(configuration, &s); stub != nil && of.goesOn {
			chart.Series, cut = append(chart.Series, *stub), true
		}
	}
	if len(order) > colouredLines+1 {
		chart.Series[slices.IndexFunc(chart.Series, func(s page.Series) bool { return s.Tone == page.Grey && !s.Guide })].Legend = page.Plural(len(order)-colouredLines, "more configuration", "more configurations")
	}
	if len(order) > bandedLines {
		chart.Notes = append(chart.Notes, "intervals of so many configurations would hide each other: the table has them")
	} else {
		chart.About += " The band is the 95% interval."
	}
	if cut {
		chart.About += " Dashed: a limit, a guard or a budget ended some of the runs, so that what would have followed is unknown."
	}
	if thinned {
		chart.Notes = append(chart.Notes, fmt.Sprintf("of each curve %d points are drawn; the table has all", mostPoints))
	}
	return chart
}

// stub goes on from the last point where runs stopped there for a limit.
func (c *curveCharts[P]) stub(configuration *Configuration, s *page.Series) *page.Series {
	if c.ends == nil || s.Tone == page.Grey || c.ends(configuration).Number == 0 {
		return nil
	}
	last := s.Dots[len(s.Dots)-1]
	on := last
	on.X.Number, on.Censored = on.X.Number+0.6, true
	return &page.Series{Tone: s.Tone, Line: true, Mute: true, Guide: true, Dots: []page.Dot{last, on}}
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
			return c.Stops[i].Share
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
