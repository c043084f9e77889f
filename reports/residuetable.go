package reports

import (
	"fmt"
	"iter"

	"github.com/agentbench/agentbench/reports/page"
)

type residueRow struct {
	configuration *Configuration
	part          *Part
}

// residueTable tells what varies inside the means of the scores, and what would
// make them surer.
func residueTable(r *Report) page.Table {
	digits := r.scoreDigits()
	variance := func(v page.Value) string { return page.Score(v, digits+1) }
	fields := append(nameFields(r, func(row residueRow) *Configuration { return row.configuration }), []page.Field[residueRow]{
		{Column: page.Column{Head: "score", Key: "scorer"}, Cell: func(row residueRow) page.Cell { return page.Name(row.part.Scorer) }},
		{Column: page.Column{Key: "tasks", Only: page.Machines}, Cell: func(row residueRow) page.Cell { return page.Count(row.part.Tasks) }},
		residueField("trials", "trials_mean", page.Whole, func(p *Part) page.Value { return p.Trials }),
		residueField("ICC", "icc", func(v page.Value) string { return page.Score(v, 2) }, func(p *Part) page.Value { return p.ICC }),
		residueField("agree", "agreement", page.Percent, func(p *Part) page.Value { return p.Agreement }),
		residueField("SE now", "se", variance, func(p *Part) page.Value { return p.SE }),
		{Column: page.Column{Head: "advice", Key: "advice"}, Cell: func(row residueRow) page.Cell { return page.Text(row.part.Advice) }},
		page.Wide(residueField("between\ntasks", "variance_between", variance, func(p *Part) page.Value { return p.Between })),
		page.Wide(residueField("within\ntasks", "variance_within", variance, func(p *Part) page.Value { return p.Within })),
	}...)
	for i, trials := range residueTrials {
		head := fmt.Sprintf("SE with\n%d", trials)
		fields = append(fields, page.Wide(residueField(head, fmt.Sprintf("se_with_%d", trials), variance, func(p *Part) page.Value { return p.With[i].SE })))
	}
	t := page.Table{Keys: 2, Name: "residue", Title: "What varies inside the means of the scores, and what would make them surer", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.residueRows()))
	return t
}

func residueField(head, key string, form func(page.Value) string, value func(*Part) page.Value) page.Field[residueRow] {
	return page.Field[residueRow]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(row residueRow) page.Cell {
		return page.Number(value(row.part), form)
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
