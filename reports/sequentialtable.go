package reports

import (
	"fmt"
	"strconv"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// sequentialTable has the evidence of each score, where that was asked for.
func sequentialTable(c *Comparison) page.Table {
	fields := []page.Field[differenceRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration", Only: c.severalPairs()}, Cell: func(row differenceRow) page.Cell {
			return page.Name(row.pair.Name, asNotes(c.warningsOf(row.pair))...)
		}},
		{Column: page.Column{Key: "simulated", Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Name(row.pair.simulatedBy())
		}},
		{Column: page.Column{Head: "score", Key: "score"}, Cell: func(row differenceRow) page.Cell { return page.Name(row.Quantity) }},
		{Column: page.Column{Head: "verdict", Key: "verdict"}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: row.Sequential.judgement(), Raw: string(row.Sequential.Verdict)}
		}},
		{Column: page.Column{Head: "evidence", Key: "evidence", Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.Sequential.Evidence, weight)
		}},
		{Column: page.Column{Head: "needed", Key: "needed", Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Number(page.Known(row.Sequential.Needed), weight)
		}},
		{Column: page.Column{Head: "shown\nafter", Key: "after", Right: true, Optional: true}, Cell: func(row differenceRow) page.Cell {
			if row.Sequential.After == 0 {
				return page.Cell{Raw: 0}
			}
			return page.Cell{Text: fmt.Sprint(row.Sequential.After), Raw: row.Sequential.After}
		}},
		{Column: page.Column{Head: "of", Key: "units", Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: row.units(), Raw: row.Sequential.Units}
		}},
		{Column: page.Column{Head: "won/lost\n/equal", Right: true, Only: page.People, Optional: true}, Cell: func(row differenceRow) page.Cell {
			return page.Text(row.outcomes())
		}},
	}
	t := page.Table{Name: "sequential", Title: "Evidence of a difference, however often one looks", Columns: page.ColumnsOf(fields), Keys: 2}
	if c.severalPairs() == page.Machines {
		t.Keys = 1
	}
	t.Fill(page.RowsOf(fields, func(yield func(differenceRow) bool) {
		for row := range c.differences() {
			if row.Sequential != nil && !yield(row) {
				return
			}
		}
	}))
	return t
}

// judgement is what the evidence has shown; ~ where that is nothing yet.
func (s *Sequential) judgement() string {
	if s.Verdict == compare.CannotTell {
		return "~"
	}
	return string(s.Verdict)
}

func (row differenceRow) units() string {
	if row.Clusters > 0 {
		return page.Plural(row.Sequential.Units, "cluster", "clusters")
	}
	return page.Plural(row.Sequential.Units, "task", "tasks")
}

// weight shows evidence, which grows by powers.
func weight(v page.Value) string {
	switch {
	case !v.Known():
		return v.Missing
	case v.Number >= 1e6:
		return fmt.Sprintf("%.1e", v.Number)
	case v.Number >= 1e3:
		return page.Whole(v)
	}
	return strconv.FormatFloat(v.Number, 'g', 3, 64)
}
