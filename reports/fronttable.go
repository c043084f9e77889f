package reports

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/agentbench/agentbench/reports/page"
)

// FrontPoint is what a front tells of a configuration.
type FrontPoint struct{ Cost, Quality, Seconds, Share page.Value }

// FrontFields are the columns of a front: what is small, what is large, the latency,
// and how sure a row is to be on it. Cost and quality come with their heads and keys.
func FrontFields[T any](cost, quality page.Column, dollars, score func(page.Value) string, share []page.Warning, of func(T) FrontPoint) []page.Field[T] {
	cost.Right, quality.Right = true, true
	return []page.Field[T]{
		{Column: cost, Cell: func(row T) page.Cell { return page.Number(of(row).Cost, dollars) }},
		{Column: quality, Cell: func(row T) page.Cell { return page.Number(of(row).Quality, score) }},
		{Column: page.Column{Head: "latency", Key: "latency_s", Right: true, Optional: true}, Cell: func(row T) page.Cell {
			if seconds := of(row).Seconds; seconds.Known() {
				return page.Number(seconds, page.Seconds)
			}
			return page.Cell{}
		}},
		{Column: page.Column{Head: "on the\nfront", Key: "share", Right: true, Warnings: share}, Cell: func(row T) page.Cell {
			return page.Number(of(row).Share, orNothing(page.Percent))
		}},
	}
}

// table has a row for each configuration, those on the front first.
func (f *Front) table(digits int) page.Table {
	if f == nil {
		f = &Front{}
	}
	quality := page.Column{About: f.Score, Key: "score"}
	if f.Score == "" {
		quality.Head = "loop says\nsuccess"
	}
	fields := []page.Field[*FrontRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(r *FrontRow) page.Cell {
			return page.Name(r.Name, r.of.report.nameCell(r.of.configuration()).Warnings...)
		}},
		{Column: page.Column{Key: "simulated", Only: page.Machines}, Cell: func(r *FrontRow) page.Cell { return page.Name(r.of.configuration().simulatedBy()) }},
		{Column: page.Column{Key: "front", Only: page.Machines}, Cell: func(r *FrontRow) page.Cell { return page.Text(strconv.FormatBool(r.Front)) }},
	}
	fields = append(fields, FrontFields(page.Column{Head: f.costHead(), Key: f.Cost}, quality, f.costForm(), func(v page.Value) string { return page.Score(v, digits) },
		nil, func(r *FrontRow) FrontPoint { return FrontPoint{r.Cost, r.Quality, r.Seconds, r.Share} })...)
	fields = append(fields, []page.Field[*FrontRow]{
		{Column: page.Column{Head: "beaten by", Key: "beaten_by", Optional: true}, Cell: func(r *FrontRow) page.Cell { return page.Name(r.BeatenBy) }},
		{Column: page.Column{Head: "apart", Key: "apart", Optional: true}, Cell: func(r *FrontRow) page.Cell { return page.Text(r.Apart) }},
	}...)
	t := page.Table{Name: "front", Title: f.title(), Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, f.each()))
	return t
}

// title says what the front is of, and what the shares are.
func (f *Front) title() string {
	over := ""
	if f.Tasks < f.Of {
		over = fmt.Sprintf(", over the %d of %d tasks that all have", f.Tasks, f.Of)
	}
	return "Front (no other is as cheap, good and fast at once, and in what share of draws of the tasks" + over + ")"
}

func (c *contender) configuration() *Configuration { return &c.report.Configurations[c.at] }

func (f *Front) each() iter.Seq[*FrontRow] {
	return func(yield func(*FrontRow) bool) {
		for i := range f.Rows {
			if !yield(&f.Rows[i]) {
				return
			}
		}
	}
}

func (f *Front) costHead() string {
	if f.Cost == "cost_usd" {
		return "cost\nper run"
	}
	return f.Cost + "\nper run"
}

func (f *Front) costForm() func(page.Value) string {
	if f.Cost != "cost_usd" {
		return page.Whole
	}
	digits := page.DollarDigits(func(yield func(page.Value) bool) {
		for r := range f.each() {
			if !yield(r.Cost) {
				return
			}
		}
	})
	return orNothing(func(v page.Value) string { return page.Dollars(v, digits) })
}

// front compares the configurations of a report, once.
func (r *Report) front() *Front {
	if r.Front != nil || r.runs == nil || r.fronted {
		return r.Front
	}
	r.fronted = true
	all := make([]*contender, len(r.Configurations))
	for i := range all {
		all[i] = &contender{name: r.Configurations[i].Name, report: r, at: i}
	}
	r.Front = frontOf(all, r.Seed)
	return r.Front
}

// front compares all configurations of both sides that are compared, once.
func (c *Comparison) front() *Front {
	if c.Front != nil || c.fronted {
		return c.Front
	}
	c.fronted = true
	var all []*contender
	add := func(s *PairSide, of *Report, at int) {
		if !slices.ContainsFunc(all, func(known *contender) bool { return known.report == of && known.at == at }) {
			all = append(all, &contender{name: s.named(verbatim), report: of, at: at})
		}
	}
	for i, of := range c.couples {
		add(&c.Pairs[i].Base, c.base, of.base)
		add(&c.Pairs[i].New, c.new, of.new)
	}
	if len(all) > 0 {
		c.Front = frontOf(all, c.new.Seed)
	}
	return c.Front
}

func verbatim(text string) string { return text }
