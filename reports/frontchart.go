package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// frontMarks are how many configurations have whiskers and names. Of more, only those on the
// front have them, or some of these, evenly, and the baseline.
const frontMarks = 12

// charts show the front by cost and by latency.
func (f *Front) charts(baseline string, digits int) []page.Chart {
	if f == nil || len(f.Rows) < 2 {
		return nil
	}
	cost := page.Axis{Name: strings.Replace(f.costHead(), "\n", " ", 1), Unit: unitOf(f.Cost), Form: f.costForm()}
	latency := page.Axis{Name: "latency per run", Unit: page.InSeconds, Form: page.Or(page.Nothing, page.Seconds)}
	ofCost := func(r *FrontRow) page.Estimate {
		return page.Estimate{Value: r.Cost, Range: r.of.configuration().intervalOf(f.Cost)}
	}
	ofLatency := func(r *FrontRow) page.Estimate {
		return page.Estimate{Value: r.Seconds, Range: r.of.configuration().Latency.Mean.Range}
	}
	charts := []page.Chart{f.chart("front-cost", cost, ofCost, baseline, digits)}
	if slices.ContainsFunc(f.Rows, func(r FrontRow) bool { return r.Apart == "" && r.Seconds.Known() }) {
		charts = append(charts, f.chart("front-latency", latency, ofLatency, baseline, digits))
	}
	return charts
}

// costHead is what is to be small, in two lines.
func (f *Front) costHead() string {
	if f.Cost == "cost_usd" {
		return "cost\nper run"
	}
	return f.Cost + "\nper run"
}

func (f *Front) scoreName() string {
	return cmp.Or(f.Score, "share of runs that the loop calls a success")
}

// unitOf is what an amount is counted in.
func unitOf(amount string) page.Unit {
	switch amount {
	case "cost_usd":
		return page.InDollars
	case "latency_s":
		return page.InSeconds
	}
	return page.InNumbers
}

// intervalOf is the interval of the mean of an amount.
func (c *Configuration) intervalOf(amount string) page.Range {
	switch amount {
	case "cost_usd":
		return c.Cost.Mean.Range
	case "tokens":
		return c.Tokens.Range
	}
	return c.Iterations.Mean.Range
}

func (c *Configuration) primaryInterval() page.Range {
	if len(c.Scores) == 0 {
		return c.Success.Range
	}
	return c.Scores[0].Mean.OnScale(c.Scores[0].unit)
}

// chart shows the score against an amount of which less is better.
func (f *Front) chart(name string, x page.Axis, of func(*FrontRow) page.Estimate, baseline string, digits int) page.Chart {
	c := page.Chart{
		Name: name, Title: "Front: " + f.scoreName() + " against " + x.Name, Beside: "front", X: x,
		Y: page.Axis{Name: f.scoreName(), Form: func(v page.Value) string { return page.Score(v, digits) }},
		About: "Up and to the left is better. The steps join what no other configuration beats in these two numbers; " +
			"colour marks what none beats in cost, score and latency together.",
	}
	var values []page.Value
	on, beaten := page.Series{Name: "on the front"}, page.Series{Name: "beaten", Tone: page.Grey}
	fewer, marked := 0, f.marked()
	for r := range f.each() {
		d := page.Dot{Name: r.Name, Y: r.Quality, Ring: r.Name == baseline, Link: page.Filter(r.of.terms()...), More: r.told()}
		x := of(r)
		d.X, d.XRange = x.Value, x.Range
		d.YRange = r.of.configuration().primaryInterval()
		d.Unnamed = !marked[r.Name] && !d.Ring
		if d.Unnamed || r.of.configuration().Tasks != f.Tasks {
			d.XRange, d.YRange = page.NoRange(page.Nothing), page.NoRange(page.Nothing)
			fewer += number(r.Apart == "")
		}
		if r.Apart != "" {
			d.X = page.Missing(page.Nothing)
		}
		values = append(values, d.X)
		if r.Front {
			on.Dots = append(on.Dots, d)
		} else {
			beaten.Dots = append(beaten.Dots, d)
		}
	}
	c.X.Kind = page.ScaleOf(values)
	c.Series = []page.Series{on, beaten}
	if len(beaten.Dots) == 0 {
		c.Series = c.Series[:1]
	}
	c.Stairs = page.StairsOf(on.Dots)
	if slices.ContainsFunc(f.Rows, func(r FrontRow) bool { return r.Name == baseline }) {
		c.Legend = append(c.Legend, page.Key{Ring: true, Name: "baseline"})
	}
	if fewer > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s without whiskers: some on the front have them and the baseline, and only where all of their tasks are compared", page.Plural(fewer, "configuration", "configurations")))
	}
	return c
}

// marked are the names of the rows with whiskers and names.
func (f *Front) marked() map[string]bool {
	var rows []string
	for r := range f.each() {
		if r.Front || len(f.Rows) <= frontMarks {
			rows = append(rows, r.Name)
		}
	}
	marked := map[string]bool{}
	for _, at := range spaced(len(rows), frontMarks) {
		marked[rows[at]] = true
	}
	return marked
}

// told is what the table says of a row besides its numbers.
func (r *FrontRow) told() string {
	switch {
	case r.Apart != "":
		return "apart: " + r.Apart
	case r.BeatenBy != "":
		return "beaten by " + r.BeatenBy
	}
	return "on the front in " + page.Or(page.Nothing, page.Percent)(r.Share) + " of bootstrap samples"
}
