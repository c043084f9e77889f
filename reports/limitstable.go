package reports

import (
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

type limitRow struct {
	configuration *Configuration
	limit         *Limit
}

// limitsTable tells how much of each iteration limit was used.
func limitsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, func(row limitRow) *Configuration { return row.configuration }), []page.Field[limitRow]{
		{Column: page.Column{Head: "limit", Key: "limit"}, Cell: limitCell},
		{Column: page.Column{Head: "is", Key: "value", Right: true}, Cell: func(row limitRow) page.Cell { return page.Count(row.limit.Limit) }},
	}, limitField("used", "used_mean", page.Whole, func(l *Limit) (page.Value, page.Range) { return l.Used, l.UsedInterval }),
		limitField("share", "share", page.Percent, func(l *Limit) (page.Value, page.Range) { return l.Share, l.ShareInterval }),
		limitField("reached", "reached", page.Percent, func(l *Limit) (page.Value, page.Range) { return l.Reached, l.ReachedInterval }),
		[]page.Field[limitRow]{
			{Column: page.Column{Key: "enough", Only: page.Machines}, Cell: func(row limitRow) page.Cell { return page.Count(row.limit.Enough) }},
			{Column: page.Column{Head: "hint", Key: "hint", Prose: true, Optional: true}, Cell: func(row limitRow) page.Cell {
				return page.Text(row.limit.Hint)
			}},
		})
	t := page.Table{Keys: 2, Name: "limits", Title: "How much of each limit was used (" + r.limitUnits() + ", means per run)", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.limitRows()))
	return t
}

// limitUnits says what limits count.
func (r *Report) limitUnits() string {
	for row := range r.limitRows() {
		if strings.HasSuffix(row.limit.Name, "agent.max_steps") {
			return "iterations; of max_steps the steps of a run's longest iteration"
		}
	}
	return "iterations"
}

// limitField is a number of a limit with its interval.
func limitField(head, key string, form func(page.Value) string, of func(*Limit) (page.Value, page.Range)) []page.Field[limitRow] {
	return page.Measured(page.Column{Head: head, Key: key}, form, func(row limitRow) (page.Value, page.Range) { return of(row.limit) })
}

// limitCell is brief for people: "phase execution" is phases.execution.max_iterations.
func limitCell(row limitRow) page.Cell {
	c := page.Name(row.limit.Name)
	if phase, ok := row.limit.phase(); ok {
		c.Text = "phase " + phase
	} else if row.limit.Derived {
		c.Text += " (derived)"
	}
	return c
}

func (r *Report) limitRows() iter.Seq[limitRow] {
	return func(yield func(limitRow) bool) {
		for c := range r.each() {
			for i := range c.Limits {
				if c.Runs > 0 && !yield(limitRow{c, &c.Limits[i]}) {
					return
				}
			}
		}
	}
}
