package reports

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

type stopRow struct {
	configuration *Configuration
	stop          *Stop
}

// stopsTable tells which conditions, guards and limits ended the runs.
func stopsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, func(row stopRow) *Configuration { return row.configuration }), []page.Field[stopRow]{
		{Column: page.Column{Head: "stopped by", Key: "reason"}, Cell: func(row stopRow) page.Cell {
			return page.Cell{Text: row.stop.Name(), Raw: string(row.stop.Reason), Foreign: true}
		}},
		{Column: page.Column{Key: "fired", Only: page.Machines}, Cell: func(row stopRow) page.Cell { return page.Name(row.stop.Fired) }},
		{Column: page.Column{Head: "runs", Key: "runs", Right: true}, Cell: func(row stopRow) page.Cell { return page.Count(row.stop.Runs) }},
	}, stopField(page.Column{Head: "share", Key: "share"}, page.Percent, func(s *Stop) (page.Value, page.Range) { return s.Share, s.ShareInterval }),
		stopField(page.Column{Head: "iterations", Key: "iterations_mean"}, page.Whole, func(s *Stop) (page.Value, page.Range) { return s.Iterations, s.IterationsInterval }),
		stopField(page.Column{Head: "steps", Key: "steps_mean", Optional: true}, page.Whole, func(s *Stop) (page.Value, page.Range) { return s.Steps, s.StepsInterval }),
		stopField(page.Column{About: r.Primary(), Head: scoreHead(r), Key: "score_mean", Optional: true}, r.shownScore(), func(s *Stop) (page.Value, page.Range) { return s.Score, s.ScoreInterval }),
		[]page.Field[stopRow]{{Column: page.Column{Head: "class", Key: "class", Minor: true}, Cell: func(row stopRow) page.Cell {
			return page.Name(string(row.stop.Class))
		}}})
	t := page.Table{Keys: 2, Name: "stops", Title: "What stopped the runs (means of the runs it stopped)", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.stopRows()))
	return t
}

// stopField is a number of a stop with its interval.
func stopField(c page.Column, form func(page.Value) string, of func(*Stop) (page.Value, page.Range)) []page.Field[stopRow] {
	return page.Measured(c, form, func(row stopRow) (page.Value, page.Range) { return of(row.stop) })
}

func (r *Report) stopRows() iter.Seq[stopRow] {
	return func(yield func(stopRow) bool) {
		for c := range r.each() {
			for i := range c.Stops {
				if !yield(stopRow{c, &c.Stops[i]}) {
					return
				}
			}
		}
	}
}
