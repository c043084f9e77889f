package reports

import "iter"

type stopRow struct {
	configuration *Configuration
	stop          *Stop
}

// stopsTable tells which conditions, guards and limits ended the runs.
func stopsTable(r *Report) table {
	digits := r.scoreDigits()
	fields := append(nameFields(r, func(row stopRow) *Configuration { return row.configuration }), []field[stopRow]{
		{column{head: "stopped by", key: "reason"}, func(row stopRow) cell {
			return cell{text: row.stop.Name(), raw: string(row.stop.Reason), foreign: true}
		}},
		{column{key: "fired", only: machines}, func(row stopRow) cell { return ofName(row.stop.Fired) }},
		{column{head: "runs", key: "runs", right: true}, func(row stopRow) cell { return ofCount(row.stop.Runs) }},
		{column{head: "share", key: "share", right: true}, func(row stopRow) cell { return of(row.stop.Share, percent) }},
		{column{head: "iterations", key: "iterations_mean", right: true}, func(row stopRow) cell { return of(row.stop.Iterations, count) }},
		{column{about: r.Primary(), head: scoreHead(r), key: "score_mean", right: true, optional: true}, func(row stopRow) cell {
			return of(row.stop.Score, func(v Value) string { return score(v, digits) })
		}},
		{column{head: "class", key: "class", minor: true}, func(row stopRow) cell { return ofName(string(row.stop.Class)) }},
	}...)
	t := table{keys: 2, name: "stops", title: "What stopped the runs (means of the runs it stopped)", columns: columnsOf(fields)}
	t.fill(rowsOf(fields, r.stopRows()))
	return t
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
