package reports

import "iter"

type limitRow struct {
	configuration *Configuration
	limit         *Limit
}

// limitsTable tells how much of each iteration limit was used.
func limitsTable(r *Report) table {
	fields := []field[limitRow]{
		{column{head: "configuration", key: "configuration"}, func(row limitRow) cell { return r.nameCell(row.configuration) }},
		{column{head: "limit", key: "limit"}, func(row limitRow) cell { return ofName(row.limit.Name) }},
		{column{head: "is", key: "value", right: true}, func(row limitRow) cell { return ofCount(row.limit.Limit) }},
		{column{head: "used", key: "used_mean", right: true}, func(row limitRow) cell { return of(row.limit.Used, count) }},
		{column{head: "share", key: "share", right: true}, func(row limitRow) cell { return of(row.limit.Share, percent) }},
		{column{head: "reached", key: "reached", right: true}, func(row limitRow) cell { return of(row.limit.Reached, percent) }},
		{column{key: "enough", only: machines}, func(row limitRow) cell { return ofCount(row.limit.Enough) }},
		{column{head: "hint", key: "hint", prose: true, optional: true}, func(row limitRow) cell { return ofText(row.limit.Hint) }},
	}
	t := table{name: "limits", title: "How much of each limit was used (iterations, means per run)", columns: columnsOf(fields)}
	t.fill(rowsOf(fields, r.limitRows()))
	return t
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
