package tune

import (
	"fmt"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/page"
)

type replayedField = page.Field[*ReplayedConfiguration]

// configurationsTable has one row for each configuration in the order declared,
// the recorded ones first.
func (r *Replayed) configurationsTable() page.Table {
	fields := r.labelFields()
	if len(r.Scorers) > 0 {
		fields = slices.Concat(fields, r.scoreFields(0), r.changeFields(0))
	}
	fields = append(fields, r.spentFields()...)
	for i := 1; i < len(r.Scorers); i++ {
		fields = slices.Concat(fields, r.scoreFields(i), r.changeFields(i))
	}
	t := page.Table{Name: "configurations", Title: "Configurations (means per run)", Columns: page.ColumnsOf(fields), Keys: 1, Whole: len(r.Configurations) <= wholeRows}
	t.Fill(page.RowsOf(fields, r.each()))
	return t
}

// wholeRows is how many configurations a terminal shows without leaving any out.
const wholeRows = 50

func (r *Replayed) each() iter.Seq[*ReplayedConfiguration] {
	return func(yield func(*ReplayedConfiguration) bool) {
		for i := range r.Configurations {
			if !yield(&r.Configurations[i]) {
				return
			}
		}
	}
}

// labelFields say which configuration it is, and how far its numbers go.
func (r *Replayed) labelFields() []replayedField {
	number := func(head, key string, of func(*ReplayedConfiguration) int) replayedField {
		return replayedField{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(c *ReplayedConfiguration) page.Cell {
			n := page.Count(of(c))
			if n.Raw == 0 {
				n.Text = ""
			}
			return n
		}}
	}
	return []replayedField{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(c *ReplayedConfiguration) page.Cell { return page.Name(c.Name) }},
		{Column: page.Column{Head: "label", Key: "label"}, Cell: func(c *ReplayedConfiguration) page.Cell {
			cell := page.Text(c.Label)
			cell.Warnings = notesOf(c.Warnings, "", Bounds, Branching, ToldLimits)
			return cell
		}},
		{Column: page.Column{Head: "recording", Key: "recording", Only: r.severalRecordings()}, Cell: func(c *ReplayedConfiguration) page.Cell { return page.Name(c.Recording) }},
		{Column: page.Column{Head: "exact\nruns", Key: "exact", Right: true}, Cell: exactRuns},
		{Column: page.Column{Key: "runs", Only: page.Machines}, Cell: func(c *ReplayedConfiguration) page.Cell { return page.Count(c.Runs) }},
		number("cut\nruns", "censored", func(c *ReplayedConfiguration) int { return c.Censored }),
		number("other\npath", "branches", func(c *ReplayedConfiguration) int { return c.Branches }),
		{Column: page.Column{Key: "told", Only: page.Machines}, Cell: func(c *ReplayedConfiguration) page.Cell { return page.Count(c.Told) }},
	}
}

// severalRecordings is who reads on which recording a configuration was replayed.
func (r *Replayed) severalRecordings() page.Audience {
	if len(r.Recordings) > 1 {
		return page.Everyone
	}
	return page.Machines
}

// exactRuns are those of all runs.
func exactRuns(c *ReplayedConfiguration) page.Cell {
	text := fmt.Sprint(c.Exact)
	if c.Exact != c.Runs {
		text = fmt.Sprintf("%d/%d", c.Exact, c.Runs)
	}
	return page.Cell{Text: text, Raw: c.Exact}
}

// scoreFields are what is known of the i-th score.
func (r *Replayed) scoreFields(i int) []replayedField {
	name, form := r.Scorers[i], r.scoreForm()
	of := func(c *ReplayedConfiguration) *ReplayedScore { return &c.Scores[i] }
	number := func(key string, of func(*ReplayedScore) int) replayedField {
		return replayedField{Column: page.Column{Key: name + "_" + key, Only: page.Machines}, Cell: func(c *ReplayedConfiguration) page.Cell {
			return page.Count(of(&c.Scores[i]))
		}}
	}
	return slices.Concat([]replayedField{
		{Column: page.Column{About: name, Right: true, Only: page.People}, Cell: func(c *ReplayedConfiguration) page.Cell {
			return page.Cell{Text: c.pointOrBounds(of(c).Mean, of(c).Bounds, form), Warnings: notesOf(c.Warnings, name, ReturnUnscored)}
		}},
		{Column: page.Column{Key: name + "_mean", Only: page.Machines}, Cell: func(c *ReplayedConfiguration) page.Cell {
			return page.Number(of(c).Mean, form)
		}},
		{Column: page.Column{About: name, Head: "95%", Right: true, Optional: true, Minor: i > 0, Only: page.People}, Cell: func(c *ReplayedConfiguration) page.Cell {
			return page.Cell{Text: of(c).Interval.Text(form), Warnings: notesOf(c.Warnings, name, "no_interval")}
		}},
	},
		page.Ends(name, func(c *ReplayedConfiguration) numbers.Range { return of(c).Interval }),
		boundFields(name, func(c *ReplayedConfiguration) numbers.Range { return of(c).Bounds }),
		[]replayedField{
			number("successes", func(s *ReplayedScore) int { return s.Successes }),
			number("scored", func(s *ReplayedScore) int { return s.Scored }),
			number("unscored", func(s *ReplayedScore) int { return s.Unscored }),
		})
}

// changeFields are the successes by the i-th score that are lost and gained; the
// first says what a success is.
func (r *Replayed) changeFields(i int) []replayedField {
	name := r.Scorers[i]
	number := func(key string, of func(*ReplayedScore) int) replayedField {
		column := page.Column{Head: key, About: name, Key: name + "_" + key, Right: true, Optional: true}
		if i > 0 {
			column = page.Column{Key: name + "_" + key, Only: page.Machines}
		}
		return replayedField{Column: column, Cell: func(c *ReplayedConfiguration) page.Cell { return c.among(of(&c.Scores[i])) }}
	}
	return []replayedField{
		number("lost", func(s *ReplayedScore) int { return s.Lost }),
		number("gained", func(s *ReplayedScore) int { return s.Gained }),
	}
}

// boundFields are bounds for machines.
func boundFields(key string, of func(*ReplayedConfiguration) numbers.Range) []replayedField {
	end := func(key string, of func(*ReplayedConfiguration) numbers.Value) replayedField {
		return replayedField{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(c *ReplayedConfiguration) page.Cell {
			return page.Number(of(c), numbers.Count)
		}}
	}
	return []replayedField{
		end(key+"_least", func(c *ReplayedConfiguration) numbers.Value { return of(c).Low }),
		end(key+"_most", func(c *ReplayedConfiguration) numbers.Value { return of(c).High }),
	}
}

// among is a number of the exact runs: there are no fewer among all of them.
func (c *ReplayedConfiguration) among(n int) page.Cell {
	cell := page.Cell{Raw: n, Text: fmt.Sprint(n)}
	switch {
	case c.Recorded:
		cell.Text = ""
	case c.Exact == 0:
		cell.Text = numbers.Nothing
	case c.Exact < c.Runs:
		cell.Text = "≥" + cell.Text
	}
	return cell
}

// pointOrBounds shows a number, else between which ends it lies, else why there is
// nothing to show. Bounds of runs of which none is exact say next to nothing.
func (c *ReplayedConfiguration) pointOrBounds(point numbers.Value, bounds numbers.Range, form func(numbers.Value) string) string {
	switch {
	case c.Exact == 0 && !point.Known():
		return numbers.Nothing
	case point.Known() || !bounds.Known():
		return form(point)
	case !bounds.High.Known():
		return "≥" + form(bounds.Low)
	case !bounds.Low.Known():
		return "≤" + form(bounds.High)
	}
	return bounds.Text(form)
}

// spentFields are what a run takes, and what of it is saved. What is known of no
// configuration is left out for people: a note says why.
func (r *Replayed) spentFields() []replayedField {
	digits := r.dollarDigits()
	dollars := func(v numbers.Value) string { return numbers.Dollars(v, digits) }
	all := slices.Concat(
		r.amountFields("iterations", "iterations", numbers.Count, func(c *ReplayedConfiguration) *Amount { return &c.Iterations }),
		r.amountFields("tokens", "tokens", numbers.Count, func(c *ReplayedConfiguration) *Amount { return &c.Tokens }),
		r.amountFields("cost", "cost_usd", dollars, func(c *ReplayedConfiguration) *Amount { return &c.Cost }),
		r.amountFields("latency", "latency_s", numbers.Seconds, func(c *ReplayedConfiguration) *Amount { return &c.Latency }))
	for _, f := range r.amountFields("", "calls", numbers.Count, func(c *ReplayedConfiguration) *Amount { return &c.Calls }) {
		if f.Only == page.Machines {
			all = append(all, f)
		}
	}
	return all
}

func (r *Replayed) amountFields(head, key string, form func(numbers.Value) string, of func(*ReplayedConfiguration) *Amount) []replayedField {
	known := false
	for c := range r.each() {
		known = known || of(c).Mean.Known() || of(c).Bounds.Known()
	}
	text := func(head string, cell func(*ReplayedConfiguration) string) replayedField {
		return replayedField{Column: page.Column{Head: head, Right: true, Only: page.People, Optional: true}, Cell: func(c *ReplayedConfiguration) page.Cell {
			if !known {
				return page.Cell{}
			}
			return page.Cell{Text: cell(c)}
		}}
	}
	machine := func(key string, value func(*Amount) numbers.Value) replayedField {
		return replayedField{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(c *ReplayedConfiguration) page.Cell {
			return page.Number(value(of(c)), numbers.Count)
		}}
	}
	return slices.Concat([]replayedField{
		text(head, func(c *ReplayedConfiguration) string { return c.pointOrBounds(of(c).Mean, of(c).Bounds, form) }),
		text("saved", func(c *ReplayedConfiguration) string { return c.saved(of(c)) }),
		machine(key+"_mean", func(a *Amount) numbers.Value { return a.Mean }),
	}, boundFields(key, func(c *ReplayedConfiguration) numbers.Range { return of(c).Bounds }), []replayedField{
		machine(key+"_saved", func(a *Amount) numbers.Value { return a.Saved }),
	}, boundFields(key+"_saved", func(c *ReplayedConfiguration) numbers.Range { return of(c).SavedBounds }))
}

// saved is what is saved of an amount; what was recorded saves nothing.
func (c *ReplayedConfiguration) saved(a *Amount) string {
	if c.Recorded {
		return ""
	}
	return c.pointOrBounds(a.Saved, a.SavedBounds, numbers.Percent)
}

// scoreForm shows a score with as many digits as mean something.
func (r *Replayed) scoreForm() func(numbers.Value) string {
	digits := 2
	if r.Runs >= 100 {
		digits = 3
	}
	return func(v numbers.Value) string { return numbers.Score(v, digits) }
}

// dollarDigits is how many digits amounts of money have, the same everywhere.
func (r *Replayed) dollarDigits() int {
	return numbers.DollarDigits(func(yield func(numbers.Value) bool) {
		for c := range r.each() {
			if !yield(c.Cost.Mean) || !yield(c.Cost.Bounds.Low) {
				return
			}
		}
		for _, cost := range r.besides {
			if !yield(cost) {
				return
			}
		}
	})
}
