package tune

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

type unknownRow struct {
	configuration *Configuration
	*Unknown
}

// unknownTable says of which runs the record does not tell all, from where on and
// why.
func (r *Replay) unknownTable() page.Table {
	fields := []page.Field[unknownRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(row unknownRow) page.Cell { return page.Name(row.configuration.Name) }},
		{Column: page.Column{Head: "label", Key: "label"}, Cell: func(row unknownRow) page.Cell { return page.Text(row.Label) }},
		{Column: page.Column{Head: "runs", Key: "runs", Right: true}, Cell: func(row unknownRow) page.Cell { return page.Count(row.Runs) }},
		{Column: page.Column{Head: "from\niteration", Right: true, Only: page.People}, Cell: func(row unknownRow) page.Cell { return page.Text(row.from()) }},
		{Column: page.Column{Key: "first_iteration", Only: page.Machines}, Cell: func(row unknownRow) page.Cell { return page.Count(row.First) }},
		{Column: page.Column{Key: "last_iteration", Only: page.Machines}, Cell: func(row unknownRow) page.Cell { return page.Count(row.Last) }},
		{Column: page.Column{Head: "why", Key: "why", Prose: true}, Cell: func(row unknownRow) page.Cell { return page.Name(row.Why) }},
	}
	t := page.Table{Name: "unknown", Title: r.unknownTitle(), Columns: page.ColumnsOf(fields), Keys: 2}
	t.Fill(page.RowsOf(fields, r.unknown()))
	return t
}

// unknownTitle says that there are faults where there are.
func (r *Replay) unknownTitle() string {
	if slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Faults > 0 }) {
		return "What the recording does not tell, and faults: from where on and why"
	}
	return "What the recording does not tell, from where on and why"
}

// from are the iterations from which the runs are not known.
func (u *Unknown) from() string {
	if u.First == u.Last {
		return fmt.Sprint(u.First)
	}
	return fmt.Sprintf("%d–%d", u.First, u.Last)
}

func (r *Replay) unknown() func(func(unknownRow) bool) {
	return func(yield func(unknownRow) bool) {
		for c := range rowsOf(r.Configurations) {
			for i := range c.Unknown {
				if !yield(unknownRow{c, &c.Unknown[i]}) {
					return
				}
			}
		}
	}
}

type stopRow struct {
	configuration *Configuration
	*StopCount
}

// stopsTable says which conditions, guards and limits would have ended the runs.
func (r *Replay) stopsTable() page.Table {
	fields := []page.Field[stopRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(row stopRow) page.Cell { return page.Name(row.configuration.Name) }},
		{Column: page.Column{Head: "stopped by", Key: "reason"}, Cell: func(row stopRow) page.Cell {
			return page.Cell{Text: row.Name, Raw: string(row.Reason), Foreign: true}
		}},
		{Column: page.Column{Key: "fired", Only: page.Machines}, Cell: func(row stopRow) page.Cell { return page.Name(row.Fired) }},
		{Column: page.Column{Head: "runs", Key: "runs", Right: true}, Cell: func(row stopRow) page.Cell { return page.Count(row.Runs) }},
		{Column: page.Column{Head: "share", Key: "share", Right: true}, Cell: func(row stopRow) page.Cell { return page.Number(row.Share, page.Percent) }},
	}
	t := page.Table{Name: "stops", Title: "What stops the runs (of those that are exact)", Columns: page.ColumnsOf(fields), Keys: 2}
	t.Fill(page.RowsOf(fields, func(yield func(stopRow) bool) {
		for c := range rowsOf(r.Configurations) {
			for i := range c.Stops {
				if !yield(stopRow{c, &c.Stops[i]}) {
					return
				}
			}
		}
	}))
	return t
}
