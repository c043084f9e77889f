package reports

import (
	"iter"

	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/page"
)

type limitRow struct {
	configuration *Configuration
	limit         *Limit
}

// limitsTable tells how much of each iteration limit was used.
func limitsTable(r *Report) page.Table {
	fields := append(nameFields(r, func(row limitRow) *Configuration { return row.configuration }), []page.Field[limitRow]{
		{Column: page.Column{Head: "limit", Key: "limit"}, Cell: limitCell},
		{Column: page.Column{Head: "is", Key: "value", Right: true}, Cell: func(row limitRow) page.Cell { return page.Count(row.limit.Limit) }},
		{Column: page.Column{Head: "used", Key: "used_mean", Right: true}, Cell: func(row limitRow) page.Cell {
			return page.Number(row.limit.Used, numbers.Count)
		}},
		{Column: page.Column{Head: "share", Key: "share", Right: true}, Cell: func(row limitRow) page.Cell {
			return page.Number(row.limit.Share, numbers.Percent)
		}},
		{Column: page.Column{Head: "reached", Key: "reached", Right: true}, Cell: func(row limitRow) page.Cell {
			return page.Number(row.limit.Reached, numbers.Percent)
		}},
		{Column: page.Column{Key: "enough", Only: page.Machines}, Cell: func(row limitRow) page.Cell { return page.Count(row.limit.Enough) }},
		{Column: page.Column{Head: "hint", Key: "hint", Prose: true, Optional: true}, Cell: func(row limitRow) page.Cell {
			return page.Text(row.limit.Hint)
		}},
	}...)
	t := page.Table{Keys: 2, Name: "limits", Title: "How much of each limit was used (iterations, means per run)", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.limitRows()))
	return t
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
