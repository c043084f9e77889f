package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

type differenceRow struct {
	against *Versus
	*Difference
}

// quantities are those that are spent; all others are scores.
var quantities = []string{"cost_usd", "latency_s", "tokens", "calls", "iterations"}

func (d *Difference) isScore() bool { return !slices.Contains(quantities, d.Quantity) }

// differencesTable compares the recommended configuration, task by task.
func (t *Tuning) differencesTable() page.Table {
	number := func(head string, of func(*Difference) page.Value) page.Field[differenceRow] {
		return page.Field[differenceRow]{Column: page.Column{Head: head, Key: head, Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Number(of(row.Difference), row.form())
		}}
	}
	fields := slices.Concat([]page.Field[differenceRow]{
		{Column: page.Column{Head: "against", Key: "against"}, Cell: func(row differenceRow) page.Cell { return page.Text(row.against.What) }},
		{Column: page.Column{Head: "quantity", Key: "quantity"}, Cell: func(row differenceRow) page.Cell { return page.Name(row.Quantity) }},
		{Column: page.Column{Head: "verdict", Key: "verdict"}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: judgement(row.Difference), Raw: string(row.Verdict)}
		}},
		number("base", func(d *Difference) page.Value { return d.Base }),
		number("new", func(d *Difference) page.Value { return d.New }),
		{Column: page.Column{Head: "change", Key: "change", Right: true, Warnings: Warnings([]Note{{Kind: ByRatios}})}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.Change, orNothing(row.changeForm()))
		}},
		{Column: page.Column{Head: "95%", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: changed(row.Interval, row.changeForm())}
		}},
	}, page.Ends("change", func(row differenceRow) page.Range { return row.Interval }), []page.Field[differenceRow]{
		{Column: page.Column{Head: "p", Right: true, Key: "p"}, Cell: func(row differenceRow) page.Cell { return page.Number(row.P, orNothing(page.Chance)) }},
		{Column: page.Column{Head: "won/lost\n/equal", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Text(row.outcomes())
		}},
		{Column: page.Column{Key: "tasks", Only: page.Machines}, Cell: func(row differenceRow) page.Cell { return page.Count(row.Tasks) }},
	}, savingFields())
	table := page.Table{Name: "differences", Title: "The recommended configuration, task by task", Columns: page.ColumnsOf(fields), Keys: 2}
	table.Fill(page.RowsOf(fields, t.differences()))
	return table
}

// savingFields are what 1,000 runs save.
func savingFields() []page.Field[differenceRow] {
	return append([]page.Field[differenceRow]{
		{Column: page.Column{Head: "1,000 runs\nsave", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: row.saving().text() + row.against.shareText(row.Quantity)}
		}},
		{Column: page.Column{Head: "save\n95%", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: row.saving().between()}
		}},
		{Column: page.Column{Key: "saved_per_1000", Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.saving().Saved, page.Whole)
		}},
	}, page.Ends("saved_per_1000", func(row differenceRow) page.Range { return row.saving().Interval })...)
}

func (t *Tuning) differences() func(func(differenceRow) bool) {
	return func(yield func(differenceRow) bool) {
		for i := range t.Against {
			if i > 0 && t.Against[i].repeats(&t.Against[i-1]) {
				continue
			}
			for d := range t.Against[i].All {
				if !yield(differenceRow{&t.Against[i], &t.Against[i].All[d]}) {
					return
				}
			}
		}
	}
}

// repeats says that both compare with the same numbers: today's configuration is
// what was recorded.
func (v *Versus) repeats(other *Versus) bool {
	return slices.EqualFunc(v.All, other.All, func(a, b Difference) bool {
		return a.Quantity == b.Quantity && a.Base == b.Base && a.Change == b.Change && a.Wins == b.Wins && a.Losses == b.Losses
	})
}

// saving is that of the row's quantity; of a score there is none.
func (row *differenceRow) saving() *Saving {
	for i := range row.against.Saved {
		if s := &row.against.Saved[i]; s.Quantity == row.Quantity {
			return s
		}
	}
	none := page.Missing(page.Nothing)
	return &Saving{Saved: none, Interval: page.Range{Low: none, High: none}}
}

func (s *Saving) text() string {
	if !s.Saved.Known() {
		return ""
	}
	return amountForm(s.Quantity)(s.Saved)
}

// shareText is the part of a quantity that is saved, as the first lines tell it.
func (v *Versus) shareText(quantity string) string {
	text, _ := v.savedOf(quantity)
	_, share, found := strings.Cut(text, " (")
	if !found {
		return ""
	}
	sign := ""
	if v.share(quantity).Number < 0 {
		sign = "-"
	}
	return " (" + sign + share
}

func (s *Saving) between() string { return changed(s.Interval, amountForm(s.Quantity)) }

// changed is the interval of a change, whose ends may have signs.
func changed(r page.Range, form func(page.Value) string) string {
	if !r.Known() {
		return ""
	}
	low, high := form(r.Low), form(r.High)
	if strings.HasPrefix(low, "+") {
		high = strings.TrimPrefix(high, "+")
	}
	return low + "…" + high
}

// form shows the quantity of a row.
func (d *Difference) form() func(page.Value) string {
	switch {
	case d.isScore():
		return func(v page.Value) string { return page.Score(v, 3) }
	case d.Quantity == "cost_usd":
		return func(v page.Value) string { return page.Dollars(v, d.dollarDigits()) }
	}
	return amountForm(d.Quantity)
}

// changeForm shows a change of it.
func (d *Difference) changeForm() func(page.Value) string {
	switch {
	case d.Relative:
		return page.Relative
	case d.isScore():
		return func(v page.Value) string { return page.Gain(v, 3) }
	case d.Quantity == "cost_usd":
		return func(v page.Value) string { return page.ExtraDollars(v, d.dollarDigits()) }
	case d.Quantity == "latency_s":
		return page.ExtraSeconds
	}
	return page.ExtraCount
}

// dollarDigits is one digit more than amounts have that are not so close.
func (d *Difference) dollarDigits() int {
	return 1 + page.DollarDigits(slices.Values([]page.Value{d.Base, d.New}))
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
	if d.Tasks == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d/%d", d.Wins, d.Losses, d.Ties)
}

// judgement is the verdict in a word, "~" where nothing can be told.
func judgement(d *Difference) string {
	if d.Verdict == compare.CannotTell {
		return "~"
	}
	return string(d.Verdict)
}
