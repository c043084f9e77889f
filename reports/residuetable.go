package reports

import (
	"fmt"
	"iter"
)

type residueRow struct {
	configuration *Configuration
	part          *Part
}

// residueTable tells what varies inside the means of the scores, and what would
// make them surer.
func residueTable(r *Report) table {
	digits := r.scoreDigits()
	variance := func(v Value) string { return score(v, digits+1) }
	fields := append(nameFields(r, func(row residueRow) *Configuration { return row.configuration }), []field[residueRow]{
		{column{head: "score", key: "scorer"}, func(row residueRow) cell { return ofName(row.part.Scorer) }},
		{column{key: "tasks", only: machines}, func(row residueRow) cell { return ofCount(row.part.Tasks) }},
		residueField("trials", "trials_mean", count, func(p *Part) Value { return p.Trials }),
		residueField("ICC", "icc", func(v Value) string { return score(v, 2) }, func(p *Part) Value { return p.ICC }),
		residueField("agree", "agreement", percent, func(p *Part) Value { return p.Agreement }),
		residueField("SE now", "se", variance, func(p *Part) Value { return p.SE }),
		{column{head: "advice", key: "advice"}, func(row residueRow) cell { return ofText(row.part.Advice) }},
		wide(residueField("between\ntasks", "variance_between", variance, func(p *Part) Value { return p.Between })),
		wide(residueField("within\ntasks", "variance_within", variance, func(p *Part) Value { return p.Within })),
	}...)
	for i, trials := range residueTrials {
		head := fmt.Sprintf("SE with\n%d", trials)
		fields = append(fields, wide(residueField(head, fmt.Sprintf("se_with_%d", trials), variance, func(p *Part) Value { return p.With[i].SE })))
	}
	t := table{keys: 2, name: "residue", title: "What varies inside the means of the scores, and what would make them surer", columns: columnsOf(fields)}
	t.fill(rowsOf(fields, r.residueRows()))
	return t
}

func residueField(head, key string, form func(Value) string, value func(*Part) Value) field[residueRow] {
	return field[residueRow]{column{head: head, key: key, right: true, optional: true}, func(row residueRow) cell {
		return of(value(row.part), form)
	}}
}

func (r *Report) residueRows() iter.Seq[residueRow] {
	return func(yield func(residueRow) bool) {
		for c := range r.each() {
			for i := range c.Residue {
				if !yield(residueRow{c, &c.Residue[i]}) {
					return
				}
			}
		}
	}
}
