package reports

import (
	"iter"
	"slices"
)

type curveRow struct {
	configuration *Configuration
	point         *CurvePoint
}

// curveTable tells what each further iteration brought and cost.
func curveTable(r *Report) table {
	digits := r.scoreDigits()
	form := func(v Value) string { return score(v, digits) }
	fields := slices.Concat(nameFields(r, func(row curveRow) *Configuration { return row.configuration }), []field[curveRow]{
		{column{head: "stop\nat", key: "iteration", right: true}, func(row curveRow) cell { return ofCount(row.point.Iteration) }},
		{column{head: "reached", key: "reached", right: true}, func(row curveRow) cell { return of(row.point.Reached, percent) }},
		{column{about: r.Primary(), head: scoreHead(r), key: "score", right: true, optional: true}, func(row curveRow) cell {
			return of(row.point.Score, form, row.configuration.notesOf("", CurveCut)...)
		}},
	}, curveInterval("95%", "score", form, func(p *CurvePoint) Range { return p.ScoreInterval }), []field[curveRow]{
		{column{head: "gain", key: "gain", right: true, optional: true}, func(row curveRow) cell {
			return of(row.point.Gain, func(v Value) string { return gain(v, digits) })
		}},
		curveField("cost", "cost_usd", r.dollars, func(p *CurvePoint) Value { return p.Cost }),
	}, curveInterval("cost 95%", "cost_usd", r.dollars, func(p *CurvePoint) Range { return p.CostInterval }), []field[curveRow]{
		curveField("+cost", "extra_cost_usd", r.extraDollars, func(p *CurvePoint) Value { return p.ExtraCost }),
		minor(curveField("latency", "latency_s", seconds, func(p *CurvePoint) Value { return p.Seconds })),
	}, curveInterval("latency 95%", "latency_s", seconds, func(p *CurvePoint) Range { return p.SecondsInterval }), []field[curveRow]{
		minor(curveField("+time", "extra_latency_s", extraSeconds, func(p *CurvePoint) Value { return p.ExtraSeconds })),
	})
	t := table{keys: 2, name: "curve", title: "If every run stopped at this iteration (means per run)", columns: columnsOf(fields)}
	t.fill(rowsOf(fields, r.curveRows()))
	return t
}

// scoreHead heads a column of primary scores that have no name.
func scoreHead(r *Report) string {
	if r.Primary() == "" {
		return "score"
	}
	return ""
}

func curveField(head, key string, form func(Value) string, value func(*CurvePoint) Value) field[curveRow] {
	return field[curveRow]{column{head: head, key: key, right: true}, func(row curveRow) cell {
		return of(value(row.point), form)
	}}
}

func curveInterval(head, key string, form func(Value) string, interval func(*CurvePoint) Range) []field[curveRow] {
	return intervalFields(head, key, form, func(row curveRow) Range { return interval(row.point) })
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
