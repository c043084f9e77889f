package reports

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// differenceRow is a difference of a pair.
type differenceRow struct {
	pair *Pair
	*Difference
}

// differencesTable has one row for each configuration and quantity.
func differencesTable(c *Comparison) page.Table {
	fields := []page.Field[differenceRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration", Only: c.severalPairs()}, Cell: func(row differenceRow) page.Cell {
			return page.Name(row.pair.Name, asNotes(c.warningsOf(row.pair))...)
		}},
		{Column: page.Column{Key: "simulated", Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Name(row.pair.simulatedBy())
		}},
		{Column: page.Column{Head: "quantity", Key: "quantity"}, Cell: func(row differenceRow) page.Cell { return page.Name(row.Quantity) }},
		{Column: page.Column{Head: "verdict", Only: page.People, Warnings: asNotes(c.explain())}, Cell: func(row differenceRow) page.Cell {
			return page.Text(row.judgement())
		}},
	}
	fields = append(fields, c.numberFields()...)
	fields = append(fields, countFields()...)
	t := page.Table{Name: "differences", Title: "Differences", Columns: page.ColumnsOf(fields), Keys: 2, Whole: true}
	if c.severalPairs() == page.Machines {
		t.Keys = 1
	}
	t.Fill(page.RowsOf(fields, c.rows()))
	return t
}

// simulatedBy are the models of which either side's numbers come.
func (p *Pair) simulatedBy() string {
	for _, w := range p.Warnings {
		if w.Kind == SimulatedModel {
			return w.Name
		}
	}
	return ""
}

// rows are the differences, and one for each pair that has none, to say so.
func (c *Comparison) rows() iter.Seq[differenceRow] {
	return func(yield func(differenceRow) bool) {
		for i := range c.Pairs {
			p := &c.Pairs[i]
			differences := p.Differences
			if len(differences) == 0 {
				differences = []Difference{nothingCompared()}
			}
			for d := range differences {
				if !yield(differenceRow{p, &differences[d]}) {
					return
				}
			}
		}
	}
}

// nothingCompared is of no quantity.
func nothingCompared() Difference {
	none := page.Missing(page.Nothing)
	return Difference{Base: none, New: none, Change: none, Low: none, High: none, P: none, Adjusted: none, Verdict: compare.CannotTell}
}

// differences are those of all pairs.
func (c *Comparison) differences() iter.Seq[differenceRow] {
	return func(yield func(differenceRow) bool) {
		for i := range c.Pairs {
			for d := range c.Pairs[i].Differences {
				if !yield(differenceRow{&c.Pairs[i], &c.Pairs[i].Differences[d]}) {
					return
				}
			}
		}
	}
}

func (c *Comparison) numberFields() []page.Field[differenceRow] {
	dollars := c.dollarDigits()
	number := func(head string, value func(*Difference) page.Value) page.Field[differenceRow] {
		return page.Field[differenceRow]{Column: page.Column{Head: head, Key: head, Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Number(value(row.Difference), func(v page.Value) string { return row.number(v, dollars) })
		}}
	}
	machine := func(key string, value func(*Difference) page.Value) page.Field[differenceRow] {
		return page.Field[differenceRow]{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Number(value(row.Difference), page.Whole)
		}}
	}
	return []page.Field[differenceRow]{
		number("base", func(d *Difference) page.Value { return d.Base }),
		number("new", func(d *Difference) page.Value { return d.New }),
		{Column: page.Column{Head: "change", Key: "change", Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.Change, orNothing(func(v page.Value) string { return row.change(v, dollars) }), asNotes(row.warnings())...)
		}},
		{Column: page.Column{Head: "95%", Right: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Text(row.interval(dollars))
		}},
		machine("low", func(d *Difference) page.Value { return d.Low }),
		machine("high", func(d *Difference) page.Value { return d.High }),
		{Column: page.Column{Head: "p", Right: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.Adjusted, orNothing(page.Chance))
		}},
		machine("p", func(d *Difference) page.Value { return d.P }),
		machine("p_adjusted", func(d *Difference) page.Value { return d.Adjusted }),
	}
}

func countFields() []page.Field[differenceRow] {
	n := func(key string, value func(*Difference) int) page.Field[differenceRow] {
		return page.Field[differenceRow]{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Count(value(row.Difference))
		}}
	}
	word := func(key string, value func(*Difference) string) page.Field[differenceRow] {
		return page.Field[differenceRow]{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Text(value(row.Difference))
		}}
	}
	return []page.Field[differenceRow]{
		{Column: page.Column{Head: "won/lost\n/equal", Right: true, Only: page.People, Optional: true}, Cell: func(row differenceRow) page.Cell {
			return page.Text(row.outcomes())
		}},
		word("verdict", func(d *Difference) string { return string(d.Verdict) }),
		word("not_worse", func(d *Difference) string { return strconv.FormatBool(d.NotWorse) }),
		n("wins", func(d *Difference) int { return d.Wins }),
		n("losses", func(d *Difference) int { return d.Losses }),
		n("ties", func(d *Difference) int { return d.Ties }),
		n("tasks", func(d *Difference) int { return d.Tasks }),
		n("tasks_needed", func(d *Difference) int { return d.Needed }),
		n("clusters", func(d *Difference) int { return d.Clusters }),
		n("clusters_needed", func(d *Difference) int { return d.ClustersNeeded }),
		n("left_out", func(d *Difference) int { return d.LeftOut }),
		word("test", func(d *Difference) string { return string(d.Test) }),
	}
}

// scoreDifference is how many digits of scores are shown beside each other.
const scoreDifference = 3

func (d *Difference) number(v page.Value, dollarDigits int) string {
	switch {
	case d.Score:
		return page.Score(v, scoreDifference)
	case d.Quantity == "cost_usd":
		return page.Dollars(v, dollarDigits)
	case d.Quantity == "latency_s":
		return page.Seconds(v)
	}
	return page.Whole(v)
}

// change is a difference in the unit of the quantity, or a ratio in per cent.
func (d *Difference) change(v page.Value, dollarDigits int) string {
	switch {
	case d.Relative:
		return page.Relative(v)
	case d.Score:
		return page.Gain(v, scoreDifference)
	case d.Quantity == "cost_usd":
		return page.ExtraDollars(v, dollarDigits)
	case d.Quantity == "latency_s":
		return page.ExtraSeconds(v)
	}
	return page.ExtraCount(v)
}

func (d *Difference) interval(dollarDigits int) string {
	if !d.Low.Known() || !d.High.Known() {
		return page.Nothing
	}
	low, high := d.change(d.Low, dollarDigits), d.change(d.High, dollarDigits)
	if strings.HasPrefix(low, "+") {
		high = strings.TrimPrefix(high, "+")
	}
	return low + "…" + high
}

// orNothing leaves out why a number is missing, which stands beside it.
func orNothing(form func(page.Value) string) func(page.Value) string {
	return func(v page.Value) string {
		if !v.Known() {
			return page.Nothing
		}
		return form(v)
	}
}

func (d *Difference) outcomes() string {
	if !d.Paired || d.Tasks == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d/%d", d.Wins, d.Losses, d.Ties)
}

// judgement is the verdict; where nothing can be told, with how many tasks it
// would take.
func (d *Difference) judgement() string {
	switch d.Verdict {
	case compare.Better, compare.Worse:
		return string(d.Verdict)
	case compare.Same:
		return "same"
	}
	switch {
	case d.Needed == 0, d.Change.Number == 0:
		return "~"
	case d.Needed == compare.Beyond:
		return "~ >1M tasks"
	}
	n, of := d.Needed, " tasks"
	if d.Clusters > 0 {
		n, of = d.ClustersNeeded, " clusters"
	}
	return "~ " + strings.Replace(page.Whole(page.Known(float64(n))), ".0", "", 1) + of
}

// warnings are those on the change.
func (d *Difference) warnings() (warnings []Warning) {
	if d.LeftOut > 0 && d.Tasks > 0 {
		warnings = append(warnings, Warning{Kind: LeftOut, Name: d.Quantity, Count: d.LeftOut, Of: d.Runs + d.LeftOut})
	}
	if !d.Score && !d.Relative && d.Tasks > 0 && d.Wins+d.Losses > 0 {
		warnings = append(warnings, Warning{Kind: ByDifferences, Name: d.Quantity})
	}
	if d.Contrary {
		warnings = append(warnings, Warning{Kind: RanksDisagree})
	}
	if d.TooFew && (d.few.Name == "cluster" || d.few.Count == d.Wins+d.Losses) {
		warnings = append(warnings, d.few)
	}
	return warnings
}

// dollarDigits is how many digits amounts of money have, as in a report.
func (c *Comparison) dollarDigits() int {
	var costs []page.Value
	for row := range c.differences() {
		if row.Quantity == "cost_usd" && !row.Score {
			costs = append(costs, row.Base, row.New)
		}
	}
	return page.DollarDigits(slices.Values(costs))
}
