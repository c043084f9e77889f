package reports

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/page"
)

type curveRow struct {
	configuration *Configuration
	point         *CurvePoint
}

// curveTable tells what each further iteration brought and cost.
func curveTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := func(v numbers.Value) string { return numbers.Score(v, digits) }
	fields := slices.Concat(nameFields(r, func(row curveRow) *Configuration { return row.configuration }), []page.Field[curveRow]{
		{Column: page.Column{Head: "stop\nat", Key: "iteration", Right: true}, Cell: func(row curveRow) page.Cell {
			return page.Count(row.point.Iteration)
		}},
		{Column: page.Column{Head: "reached", Key: "reached", Right: true}, Cell: func(row curveRow) page.Cell {
			return page.Number(row.point.Reached, numbers.Percent)
		}},
		{Column: page.Column{About: r.Primary(), Head: scoreHead(r), Key: "score", Right: true, Optional: true}, Cell: func(row curveRow) page.Cell {
			return page.Number(row.point.Score, form, row.configuration.notesOf("", CurveCut)...)
		}},
	}, curveInterval("95%", "score", form, func(p *CurvePoint) numbers.Range { return p.ScoreInterval }), []page.Field[curveRow]{
		{Column: page.Column{Head: "gain", Key: "gain", Right: true, Optional: true}, Cell: func(row curveRow) page.Cell {
			return page.Number(row.point.Gain, func(v numbers.Value) string { return numbers.Gain(v, digits) })
		}},
		curveField("cost", "cost_usd", r.dollars, func(p *CurvePoint) numbers.Value { return p.Cost }),
	}, curveInterval("cost 95%", "cost_usd", r.dollars, func(p *CurvePoint) numbers.Range { return p.CostInterval }), []page.Field[curveRow]{
		curveField("+cost", "extra_cost_usd", r.extraDollars, func(p *CurvePoint) numbers.Value { return p.ExtraCost }),
		page.Minor(curveField("latency", "latency_s", numbers.Seconds, func(p *CurvePoint) numbers.Value { return p.Seconds })),
	}, curveInterval("latency 95%", "latency_s", numbers.Seconds, func(p *CurvePoint) numbers.Range { return p.SecondsInterval }), []page.Field[curveRow]{
		page.Minor(curveField("+time", "extra_latency_s", numbers.ExtraSeconds, func(p *CurvePoint) numbers.Value { return p.ExtraSeconds })),
	})
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

func curveField(head, key string, form func(numbers.Value) string, value func(*CurvePoint) numbers.Value) page.Field[curveRow] {
	return page.Field[curveRow]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(row curveRow) page.Cell {
		return page.Number(value(row.point), form)
	}}
}

func curveInterval(head, key string, form func(numbers.Value) string, interval func(*CurvePoint) numbers.Range) []page.Field[curveRow] {
	return page.Interval(head, key, form, func(row curveRow) numbers.Range { return interval(row.point) })
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
