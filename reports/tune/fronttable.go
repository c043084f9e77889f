package tune

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// frontTable has the configurations that none beats, the cheapest first.
func (t *Tuning) frontTable() page.Table {
	cost := t.costForm(t.meanCosts()...)
	var notes []Note
	if t.Unpriced > 0 {
		notes = append(notes, Note{Kind: OffTheFront, Count: t.Unpriced})
	}
	fields := []page.Field[*FrontRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration", Warnings: Warnings(notes)}, Cell: func(f *FrontRow) page.Cell { return page.Name(f.Name) }},
		{Column: page.Column{Head: "", Key: "role", Optional: true}, Cell: func(f *FrontRow) page.Cell { return page.Text(f.role()) }},
	}
	fields = append(fields, reports.FrontFields(page.Column{About: t.Terms.Cost, Key: "cost"}, page.Column{About: t.Terms.objectiveName(), Key: "objective"}, cost, objectiveForm,
		Warnings([]Note{{Kind: OnTheFront}}), func(f *FrontRow) reports.FrontPoint {
			return reports.FrontPoint{Cost: f.ChoiceCost, Quality: f.Objective, Seconds: f.Seconds, Share: f.Share}
		})...)
	fields = append(fields, []page.Field[*FrontRow]{
		{Column: page.Column{Head: "successes", Key: "successes", Right: true}, Cell: func(f *FrontRow) page.Cell { return f.Counted.hits() }},
		{Column: page.Column{Head: "lost", Key: "lost", Right: true, Optional: true}, Cell: func(f *FrontRow) page.Cell { return f.lostRuns() }},
		{Column: optional(lostMost), Cell: func(f *FrontRow) page.Cell { return f.most() }},
		{Column: page.Column{Head: "iterations\nin all", Key: "iterations", Right: true}, Cell: func(f *FrontRow) page.Cell { return f.Counted.made() }},
		{Column: page.Column{Head: "others\nas good", Key: "same", Right: true, Optional: true}, Cell: func(f *FrontRow) page.Cell { return countOrEmpty(f.Same) }},
	}...)
	table := tableOf("front", "Front (no other is as cheap, good and fast at once, the cheapest first)", 1, fields, t.Front)
	table.Shown = t.frontShown()
	return table
}

// lostRuns are the runs that lose their success, where that is known.
func (f *FrontRow) lostRuns() page.Cell {
	if !f.LostMost.Known() {
		return page.Number(f.LostMost, orNothing(page.Whole))
	}
	return whole(f.Lost)
}

// optional is a column that narrow terminals leave out.
func optional(c page.Column) page.Column {
	c.Optional = true
	return c
}

// allTable has every configuration that can be chosen, the cheapest first.
func (t *Tuning) allTable() page.Table {
	cost := t.costForm(t.meanCosts()...)
	fields := []page.Field[*AllRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(a *AllRow) page.Cell { return page.Name(a.Name) }},
		{Column: page.Column{Head: "", Key: "role", Optional: true}, Cell: func(a *AllRow) page.Cell { return page.Text(role(a.Recommended, a.Today)) }},
		{Column: page.Column{About: t.Terms.Cost, Key: "cost", Right: true}, Cell: func(a *AllRow) page.Cell { return page.Number(a.ChoiceCost, cost) }},
		{Column: page.Column{About: t.Terms.objectiveName(), Key: "objective", Right: true}, Cell: func(a *AllRow) page.Cell { return page.Number(a.Objective, objectiveForm) }},
		{Column: page.Column{Head: "successes", Key: "successes", Right: true}, Cell: func(a *AllRow) page.Cell { return a.Counted.hits() }},
		{Column: page.Column{Head: "lost", Key: "lost", Right: true}, Cell: func(a *AllRow) page.Cell { return whole(a.Lost) }},
		{Column: lostMost, Cell: func(a *AllRow) page.Cell { return a.most() }},
		{Column: page.Column{Head: "gained", Key: "gained", Right: true}, Cell: func(a *AllRow) page.Cell { return whole(a.Gained) }},
		{Column: page.Column{Head: "iterations\nin all", Key: "iterations", Right: true}, Cell: func(a *AllRow) page.Cell { return a.Counted.made() }},
	}
	return tableOf("all", "All configurations that can be chosen, the cheapest first", 1, fields, t.All)
}

// frontRows is how many configurations of the front a terminal shows.
const frontRows = 20

// frontShown are the rows of the front that a terminal shows where they are many:
// evenly spread, and the recommended configuration and today's among them.
func (t *Tuning) frontShown() (shown []int) {
	n := len(t.Front)
	if n <= frontRows {
		return nil
	}
	for i := range t.Front {
		if t.Front[i].role() != "" {
			shown = append(shown, i)
		}
	}
	spread := frontRows - len(shown)
	for i := range spread {
		if at := i * (n - 1) / (spread - 1); !slices.Contains(shown, at) {
			shown = append(shown, at)
		}
	}
	return shown
}

func (f *FrontRow) role() string { return role(f.Recommended, f.Today) }

func role(recommended, today bool) string {
	switch {
	case recommended && today:
		return "recommended, today"
	case recommended:
		return "recommended"
	case today:
		return "today"
	}
	return ""
}

// hits are the successes of the runs.
func (c *Counted) hits() page.Cell {
	return page.Cell{Text: fmt.Sprintf("%d/%d", c.Hits, c.Runs), Raw: c.Hits}
}

// made are the iterations of all runs together, each counted.
func (c *Counted) made() page.Cell {
	return page.Cell{Text: fmt.Sprint(c.Iterations), Raw: c.Iterations}
}

// whole is a count with all its digits.
func whole(n int) page.Cell { return page.Cell{Text: fmt.Sprint(n), Raw: n} }

func countOrEmpty(n int) page.Cell {
	cell := page.Cell{Raw: n}
	if n != 0 {
		cell.Text = fmt.Sprint(n)
	}
	return cell
}

// orEmpty leaves out numbers that are missing.
func orEmpty(form func(page.Value) string) func(page.Value) string {
	return func(v page.Value) string {
		if !v.Known() {
			return ""
		}
		return form(v)
	}
}

// foldRow is a fold, or a sum over them.
type foldRow struct {
	name, chosen   string
	tasks          int
	train, heldOut *Counted
}

// foldsTable is the choice tried on tasks that it was not made on.
func (t *Tuning) foldsTable() page.Table {
	counted := func(head, key string, of func(foldRow) *Counted, cell func(*Counted) page.Cell) page.Field[foldRow] {
		return page.Field[foldRow]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(row foldRow) page.Cell {
			if of(row) == nil || of(row).Runs == 0 {
				return page.Cell{}
			}
			return cell(of(row))
		}}
	}
	train := func(row foldRow) *Counted { return row.train }
	heldOut := func(row foldRow) *Counted { return row.heldOut }
	number := func(of func(*Counted) page.Value, form func(page.Value) string) func(*Counted) page.Cell {
		return func(c *Counted) page.Cell { return page.Number(of(c), orEmpty(form)) }
	}
	fields := []page.Field[foldRow]{
		{Column: page.Column{Head: "fold", Key: "fold"}, Cell: func(row foldRow) page.Cell { return page.Text(row.name) }},
		{Column: page.Column{Head: "chosen without it", Key: "configuration"}, Cell: func(row foldRow) page.Cell { return page.Name(row.chosen) }},
		{Column: page.Column{Head: "tasks", Key: "tasks", Right: true}, Cell: func(row foldRow) page.Cell { return whole(row.tasks) }},
		counted("successes", "successes", heldOut, (*Counted).hits),
		counted("score", "score", heldOut, number(func(c *Counted) page.Value { return c.Score }, func(v page.Value) string { return page.Score(v, 3) })),
		counted("iterations", "iterations", heldOut, (*Counted).made),
		counted("tokens", "tokens", heldOut, number(func(c *Counted) page.Value { return c.Tokens }, page.Whole)),
		counted("cost", "cost_usd", heldOut, number(func(c *Counted) page.Value { return c.Cost }, dollarForm(t.sumCosts()...))),
		counted("latency", "latency_s", heldOut, number(func(c *Counted) page.Value { return c.Seconds }, page.Seconds)),
		counted("chosen on:\nsuccesses", "train_successes", train, (*Counted).hits),
		counted("chosen on:\niterations", "train_iterations", train, (*Counted).made),
	}
	table := page.Table{Name: "folds", Title: "The same choice on tasks that it was not made on (sums)", Columns: page.ColumnsOf(fields), Keys: 1}
	table.Fill(page.RowsOf(fields, t.foldRows()))
	return table
}

// sumCosts are what the runs of the folds cost.
func (t *Tuning) sumCosts() (all []page.Value) {
	for row := range t.foldRows() {
		if row.heldOut != nil {
			all = append(all, row.heldOut.Cost)
		}
	}
	return all
}

// foldRows are the folds and the sums over them, unless none of them chooses.
func (t *Tuning) foldRows() func(func(foldRow) bool) {
	return func(yield func(foldRow) bool) {
		v := t.Validation
		if v == nil || v.HeldOut.Runs == 0 {
			return
		}
		for i := range v.Folds {
			row := v.Folds[i].row()
			if t.Terms.HoldOut > 0 {
				row.name = "held out"
			}
			if !yield(row) {
				return
			}
		}
		for _, sum := range t.foldSums(v) {
			if sum.of != nil && sum.of.Runs > 0 && !yield(foldRow{name: sum.name, tasks: sum.of.Tasks, heldOut: sum.of}) {
				return
			}
		}
	}
}

// foldSum is a configuration, or the folds' choices, on the tasks left out.
type foldSum struct {
	name string
	of   *Counted
}

// foldSums are those over the folds; of what is held out the one fold is the sum.
func (t *Tuning) foldSums(v *Validation) []foldSum {
	others := []foldSum{{"today", v.Today}, {"recorded", &v.Recording}}
	if t.Terms.HoldOut > 0 {
		return others
	}
	return append([]foldSum{{"all folds", &v.HeldOut}, {"recommended", &v.InSample}}, others...)
}

// row is a fold; where the rule finds nothing without it, there are no numbers.
func (f *Fold) row() foldRow {
	if f.Chosen < 0 {
		return foldRow{name: fmt.Sprint(f.Fold), chosen: "none", tasks: f.Tasks}
	}
	return foldRow{name: fmt.Sprint(f.Fold), chosen: f.Name, tasks: f.Tasks, train: &f.Train, heldOut: &f.HeldOut}
}
