package reports

import "iter"

type limitRow struct {
	configuration *Configuration
	limit         *Limit
}

// limitsTable tells how much of each iteration limit was used.
func limitsTable(r *Report) table {
	fields := append(nameFields(r, func(row limitRow) *Configuration { return row.configuration }), []field[limitRow]{
		{column{head: "limit", key: "limit"}, limitCell},
		{column{head: "is", key: "value", right: true}, func(row limitRow) cell { return ofCount(row.limit.Limit) }},
		{column{head: "used", key: "used_mean", right: true}, func(row limitRow) cell { return of(row.limit.Used, count) }},
		{column{head: "share", key: "share", right: true}, func(row limitRow) cell { return of(row.limit.Share, percent) }},
		{column{head: "reached", key: "reached", right: true}, func(row limitRow) cell { return of(row.limit.Reached, percent) }},
		{column{key: "enough", only: machines}, func(row limitRow) cell { return ofCount(row.limit.Enough) }},
		{column{head: "hint", key: "hint", prose: true, optional: true}, func(row limitRow) cell { return ofText(row.limit.Hint) }},
	}...)
	t := table{keys: 2, name: "limits", title: "How much of each limit was used (iterations, means per run)", columns: columnsOf(fields)}
	t.fill(rowsOf(fields, r.limitRows()))
	return t
}

// limitCell is brief for people: "phase execution" is phases.execution.max_iterations.
func limitCell(row limitRow) cell {
	c := ofName(row.limit.Name)
	if phase, ok := row.limit.phase(); ok {
		c.text = "phase " + phase
	} else if row.limit.Derived {
		c.text += " (derived)"
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
