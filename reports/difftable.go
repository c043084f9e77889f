package reports

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
)

// differenceRow is a difference of a pair.
type differenceRow struct {
	pair *Pair
	*Difference
}

// differencesTable has one row for each configuration and quantity.
func differencesTable(c *Comparison) table {
	fields := []field[differenceRow]{
		{column{head: "configuration", key: "configuration", only: c.severalPairs()}, func(row differenceRow) cell {
			return ofName(row.pair.Name, asNotes(c.warningsOf(row.pair))...)
		}},
		{column{key: "simulated", only: machines}, func(row differenceRow) cell { return ofName(row.pair.simulatedBy()) }},
		{column{head: "quantity", key: "quantity"}, func(row differenceRow) cell { return ofName(row.Quantity) }},
		{column{head: "verdict", only: people, warnings: asNotes(c.explain())}, func(row differenceRow) cell { return ofText(row.judgement()) }},
	}
	fields = append(fields, c.numberFields()...)
	fields = append(fields, countFields()...)
	t := table{name: "differences", title: "Differences", columns: columnsOf(fields), keys: 2, whole: true}
	if c.severalPairs() == machines {
		t.keys = 1
	}
	t.fill(rowsOf(fields, c.differences()))
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

// differences are the rows, pair by pair.
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

func (c *Comparison) numberFields() []field[differenceRow] {
	dollars := c.dollarDigits()
	number := func(head string, value func(*Difference) Value) field[differenceRow] {
		return field[differenceRow]{column{head: head, key: head, right: true}, func(row differenceRow) cell {
			return of(value(row.Difference), func(v Value) string { return row.number(v, dollars) })
		}}
	}
	machine := func(key string, value func(*Difference) Value) field[differenceRow] {
		return field[differenceRow]{column{key: key, only: machines}, func(row differenceRow) cell { return of(value(row.Difference), count) }}
	}
	return []field[differenceRow]{
		number("base", func(d *Difference) Value { return d.Base }),
		number("new", func(d *Difference) Value { return d.New }),
		{column{head: "change", key: "change", right: true}, func(row differenceRow) cell {
			return of(row.Change, orNothing(func(v Value) string { return row.change(v, dollars) }), asNotes(row.warnings())...)
		}},
		{column{head: "95%", right: true, only: people}, func(row differenceRow) cell { return ofText(row.interval(dollars)) }},
		machine("low", func(d *Difference) Value { return d.Low }),
		machine("high", func(d *Difference) Value { return d.High }),
		{column{head: "p", right: true, only: people}, func(row differenceRow) cell { return of(row.Adjusted, orNothing(chance)) }},
		machine("p", func(d *Difference) Value { return d.P }),
		machine("p_adjusted", func(d *Difference) Value { return d.Adjusted }),
	}
}

func countFields() []field[differenceRow] {
	n := func(key string, value func(*Difference) int) field[differenceRow] {
		return field[differenceRow]{column{key: key, only: machines}, func(row differenceRow) cell { return ofCount(value(row.Difference)) }}
	}
	word := func(key string, value func(*Difference) string) field[differenceRow] {
		return field[differenceRow]{column{key: key, only: machines}, func(row differenceRow) cell { return ofText(value(row.Difference)) }}
	}
	return []field[differenceRow]{
		{column{head: "won/lost\n/equal", right: true, only: people, optional: true}, func(row differenceRow) cell { return ofText(row.outcomes()) }},
		word("verdict", func(d *Difference) string { return string(d.Verdict) }),
		word("not_worse", func(d *Difference) string { return strconv.FormatBool(d.NotWorse) }),
		n("wins", func(d *Difference) int { return d.Wins }),
		n("losses", func(d *Difference) int { return d.Losses }),
		n("ties", func(d *Difference) int { return d.Ties }),
		n("tasks", func(d *Difference) int { return d.Tasks }),
		n("tasks_needed", func(d *Difference) int { return d.Needed }),
		n("left_out", func(d *Difference) int { return d.LeftOut }),
		word("test", func(d *Difference) string { return string(d.Test) }),
	}
}

// scoreDifference is how many digits of scores are shown beside each other.
const scoreDifference = 3

func (d *Difference) number(v Value, dollarDigits int) string {
	switch {
	case d.Score:
		return score(v, scoreDifference)
	case d.Quantity == "cost_usd":
		return dollars(v, dollarDigits)
	case d.Quantity == "latency_s":
		return seconds(v)
	}
	return count(v)
}

// change is a difference in the unit of the quantity, or a ratio in per cent.
func (d *Difference) change(v Value, dollarDigits int) string {
	switch {
	case d.Relative:
		return relative(v)
	case d.Score:
		return gain(v, scoreDifference)
	case d.Quantity == "cost_usd":
		return extraDollars(v, dollarDigits)
	case d.Quantity == "latency_s":
		return extraSeconds(v)
	}
	return extraCount(v)
}

func (d *Difference) interval(dollarDigits int) string {
	if !d.Low.Known() || !d.High.Known() {
		return nothing
	}
	low, high := d.change(d.Low, dollarDigits), d.change(d.High, dollarDigits)
	if strings.HasPrefix(low, "+") {
		high = strings.TrimPrefix(high, "+")
	}
	return low + "…" + high
}

// orNothing leaves out why a number is missing, which stands beside it.
func orNothing(form func(Value) string) func(Value) string {
	return func(v Value) string {
		if !v.Known() {
			return nothing
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
	return "~ " + strings.Replace(count(known(float64(d.Needed))), ".0", "", 1) + " tasks"
}

// warnings are those on the change.
func (d *Difference) warnings() (warnings []Warning) {
	if d.LeftOut > 0 && d.Tasks > 0 {
		warnings = append(warnings, Warning{Kind: LeftOut, Name: d.Quantity, Count: d.LeftOut, Of: d.Runs + d.LeftOut})
	}
	if !d.Score && !d.Relative && d.Tasks > 0 && d.Wins+d.Losses > 0 {
		warnings = append(warnings, Warning{Kind: ByDifferences, Name: d.Quantity})
	}
	if d.TooFew && d.Wins+d.Losses < fewestDiffering {
		warnings = append(warnings, Warning{Kind: TooFewDiffer, Count: d.Wins + d.Losses, Of: fewestDiffering})
	}
	return warnings
}

// dollarDigits is how many digits amounts of money have, as in a report.
func (c *Comparison) dollarDigits() int {
	var costs []Value
	for row := range c.differences() {
		if row.Quantity == "cost_usd" && !row.Score {
			costs = append(costs, row.Base, row.New)
		}
	}
	return dollarDigits(slices.Values(costs))
}
