package reports

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

type curveRow struct {
	configuration *Configuration
	point         *CurvePoint
}

// curveTable tells what each further iteration brought and cost.
func curveTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := r.shownScore()
	gain := func(v page.Value) string { return page.Gain(v, digits) }
	fields := slices.Concat(nameFields(r, func(row curveRow) *Configuration { return row.configuration }), []page.Field[curveRow]{
		{Column: page.Column{Head: "stop\nat", Key: "iteration", Right: true}, Cell: func(row curveRow) page.Cell {
			return page.Count(row.point.Iteration)
		}},
	}, curveFields("reached", "reached", page.Percent, func(p *CurvePoint) (page.Value, page.Range) { return p.Reached, p.ReachedInterval }),
		[]page.Field[curveRow]{
			{Column: page.Column{About: r.Primary(), Head: scoreHead(r), Key: "score", Right: true, Optional: true}, Cell: func(row curveRow) page.Cell {
				return page.Number(row.point.Score, form, row.configuration.notesOf("", CurveCut)...)
			}},
		}, curveInterval("95%", "score", form, func(p *CurvePoint) page.Range { return p.ScoreInterval }), []page.Field[curveRow]{
			{Column: page.Column{Head: "gain", Key: "gain", Right: true, Optional: true}, Cell: func(row curveRow) page.Cell {
				return page.Number(row.point.Gain, gain)
			}},
		}, curveInterval("gain\n95%", "gain", gain, func(p *CurvePoint) page.Range { return p.GainInterval }),
		curveFields("cost", "cost_usd", r.dollars, func(p *CurvePoint) (page.Value, page.Range) { return p.Cost, p.CostInterval }),
		curveFields("+cost", "extra_cost_usd", r.extraDollars, func(p *CurvePoint) (page.Value, page.Range) { return p.ExtraCost, p.ExtraCostInterval }),
		minorFirst(curveFields("latency", "latency_s", page.Seconds, func(p *CurvePoint) (page.Value, page.Range) { return p.Seconds, p.SecondsInterval })),
		minorFirst(curveFields("+time", "extra_latency_s", page.ExtraSeconds, func(p *CurvePoint) (page.Value, page.Range) { return p.ExtraSeconds, p.ExtraSecondsInterval })))
	t := page.Table{Keys: 2, Name: "curve", Title: "If every run stopped at this iteration (means per run)", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.curveRows()))
	return t
}

// scoreHead heads a column of primary scores that have no name.
func scoreHead(r *Report) string {
	if r.Primary() == "" {
		return "score"
	}
	return ""
}

// curveFields are a number of a point and its interval.
func curveFields(head, key string, form func(page.Value) string, of func(*CurvePoint) (page.Value, page.Range)) []page.Field[curveRow] {
	return page.Measured(page.Column{Head: head, Key: key}, form, func(row curveRow) (page.Value, page.Range) { return of(row.point) })
}

func curveInterval(head, key string, form func(page.Value) string, interval func(*CurvePoint) page.Range) []page.Field[curveRow] {
	return page.Interval(head, key, form, func(row curveRow) page.Range { return interval(row.point) })
}

// minorFirst lets the number be left out on a narrow terminal, as its interval is.
func minorFirst(fields []page.Field[curveRow]) []page.Field[curveRow] {
	fields[0] = page.Minor(fields[0])
	return fields
}

// curveRows are the points of the configurations that have more than one.
func (r *Report) curveRows() iter.Seq[curveRow] {
	return func(yield func(curveRow) bool) {
		for i := range r.Configurations {
			c := &r.Configurations[i]
			if len(c.Curve) < 2 {
				continue
			}
			for at := range c.Curve {
				if !yield(curveRow{configuration: c, point: &c.Curve[at]}) {
					return
				}
			}
		}
	}
}
