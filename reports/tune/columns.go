package tune

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// Field is a column with its cells.
type Field = page.Field[*Configuration]

// Columns are what a table tells of each of some configurations.
type Columns struct {
	Configurations []Configuration
	Scorers        []string
	Runs           int          // that were recorded
	Costs          []page.Value // that stand on the same page: money has equally many digits
}

// Label is how far the numbers of a configuration go, for some readers.
func (k *Columns) Label(readers page.Audience) Field {
	return Field{Column: page.Column{Head: "label", Key: "label", Only: readers}, Cell: func(c *Configuration) page.Cell {
		cell := page.Text(c.Label)
		cell.Warnings = notesOf(c.Warnings, "", Bounds, Branching, ToldLimits)
		return cell
	}}
}

// Score is what is known of the i-th score.
func (k *Columns) Score(i int) []Field {
	name, form := k.Scorers[i], k.scoreForm()
	of := func(c *Configuration) *Score { return &c.Scores[i] }
	number := func(key string, of func(*Score) int) Field {
		return Field{Column: page.Column{Key: name + "_" + key, Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Count(of(&c.Scores[i]))
		}}
	}
	return slices.Concat([]Field{
		{Column: page.Column{About: name, Right: true, Only: page.People}, Cell: func(c *Configuration) page.Cell {
			return page.Cell{Text: c.pointOrBounds(of(c).Mean, of(c).Bounds, form), Warnings: notesOf(c.Warnings, name, ReturnUnscored)}
		}},
		{Column: page.Column{Key: name + "_mean", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(of(c).Mean, form)
		}},
		{Column: page.Column{About: name, Head: "95%", Right: true, Optional: true, Minor: i > 0, Only: page.People}, Cell: func(c *Configuration) page.Cell {
			return page.Cell{Text: of(c).onScale().Text(form), Warnings: notesOf(c.Warnings, name, "no_interval")}
		}},
	},
		page.Ends(name, func(c *Configuration) page.Range { return of(c).Interval }),
		boundFields(name, func(c *Configuration) page.Range { return of(c).Bounds }),
		[]Field{
			number("successes", func(s *Score) int { return s.Successes }),
			number("scored", func(s *Score) int { return s.Scored }),
			number("unscored", func(s *Score) int { return s.Unscored }),
		})
}

// onScale is the interval as it is shown: where all scores are from 0 to 1 their
// mean is, too.
func (s *Score) onScale() page.Range {
	between := s.Interval
	if s.unit {
		between.Low.Number, between.High.Number = max(0, between.Low.Number), min(1, between.High.Number)
	}
	return between
}

// change are the successes by the i-th score that are lost and gained; the
// first says what a success is.
func (k *Columns) change(i int) []Field {
	name := k.Scorers[i]
	number := func(key string, of func(*Score) int) Field {
		column := page.Column{Head: key, About: name, Key: name + "_" + key, Right: true, Optional: true}
		if i > 0 {
			column = page.Column{Key: name + "_" + key, Only: page.Machines}
		}
		return Field{Column: column, Cell: func(c *Configuration) page.Cell { return c.Among(of(&c.Scores[i]), c.Scores[i].Unscored) }}
	}
	return []Field{
		number("lost", func(s *Score) int { return s.Lost }),
		number("gained", func(s *Score) int { return s.Gained }),
	}
}

// boundFields are bounds for machines.
func boundFields(key string, of func(*Configuration) page.Range) []Field {
	end := func(key string, of func(*Configuration) page.Value) Field {
		return Field{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(of(c), page.Whole)
		}}
	}
	return []Field{
		end(key+"_least", func(c *Configuration) page.Value { return of(c).Low }),
		end(key+"_most", func(c *Configuration) page.Value { return of(c).High }),
	}
}

// Among is a number of the exact runs of which the score is known: there are no
// fewer among all of them, of which that of some may be unknown.
func (c *Configuration) Among(n, unscored int) page.Cell {
	cell := page.Cell{Raw: n, Text: fmt.Sprint(n)}
	switch {
	case c.Recorded:
		cell.Text = ""
	case c.Exact == 0:
		cell.Text = page.Nothing
	case c.Exact+c.Faults < c.Runs, unscored > 0:
		cell.Text = "≥" + cell.Text
	}
	return cell
}

// pointOrBounds shows a number, else between which ends it lies, else why there is
// nothing to show. Bounds of runs of which none is exact say next to nothing.
func (c *Configuration) pointOrBounds(point page.Value, bounds page.Range, form func(page.Value) string) string {
	switch {
	case c.Exact == 0 && !point.Known():
		return page.Nothing
	case point.Known() || !bounds.Known():
		return form(point)
	case !bounds.High.Known():
		return "≥" + form(bounds.Low)
	case !bounds.Low.Known():
		return "≤" + form(bounds.High)
	}
	return bounds.Text(form)
}

// Spent is what a run takes, and what of it is saved. What is known of no
// configuration is left out for people: a note says why.
func (k *Columns) Spent() []Field {
	digits := k.dollarDigits()
	dollars := func(v page.Value) string { return page.Dollars(v, digits) }
	all := slices.Concat(
		k.amount("iterations", "iterations", page.Whole, func(c *Configuration) *Amount { return &c.Iterations }),
		k.amount("tokens", "tokens", page.Whole, func(c *Configuration) *Amount { return &c.Tokens }),
		k.amount("cost", "cost_usd", dollars, func(c *Configuration) *Amount { return &c.Cost }),
		k.amount("latency", "latency_s", page.Seconds, func(c *Configuration) *Amount { return &c.Latency }))
	for _, f := range k.amount("", "calls", page.Whole, func(c *Configuration) *Amount { return &c.Calls }) {
		if f.Only == page.Machines {
			all = append(all, f)
		}
	}
	return all
}

func (k *Columns) amount(head, key string, form func(page.Value) string, of func(*Configuration) *Amount) []Field {
	known := false
	for c := range rowsOf(k.Configurations) {
		known = known || of(c).Mean.Known() || of(c).Bounds.Known()
	}
	text := func(head string, cell func(*Configuration) string) Field {
		return Field{Column: page.Column{Head: head, Right: true, Only: page.People, Optional: true}, Cell: func(c *Configuration) page.Cell {
			if !known {
				return page.Cell{}
			}
			return page.Cell{Text: cell(c)}
		}}
	}
	machine := func(key string, value func(*Amount) page.Value) Field {
		return Field{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(value(of(c)), page.Whole)
		}}
	}
	return slices.Concat([]Field{
		text(head, func(c *Configuration) string { return c.pointOrBounds(of(c).Mean, of(c).Bounds, form) }),
		text("saved", func(c *Configuration) string { return c.saved(of(c)) }),
		machine(key+"_mean", func(a *Amount) page.Value { return a.Mean }),
	}, boundFields(key, func(c *Configuration) page.Range { return of(c).Bounds }), []Field{
		machine(key+"_saved", func(a *Amount) page.Value { return a.Saved }),
	}, boundFields(key+"_saved", func(c *Configuration) page.Range { return of(c).SavedBounds }))
}

// saved is what is saved of an amount; what was recorded saves nothing.
func (c *Configuration) saved(a *Amount) string {
	if c.Recorded {
		return ""
	}
	return c.pointOrBounds(a.Saved, a.SavedBounds, page.Percent)
}

// scoreForm shows a score with as many digits as mean something.
func (k *Columns) scoreForm() func(page.Value) string {
	digits := 2
	if k.Runs >= 100 {
		digits = 3
	}
	return func(v page.Value) string { return page.Score(v, digits) }
}

// dollarDigits is how many digits amounts of money have, the same everywhere.
func (k *Columns) dollarDigits() int {
	return page.DollarDigits(func(yield func(page.Value) bool) {
		for c := range rowsOf(k.Configurations) {
			if !yield(c.Cost.Mean) || !yield(c.Cost.Bounds.Low) {
				return
			}
		}
		for _, cost := range k.Costs {
			if !yield(cost) {
				return
			}
		}
	})
}
