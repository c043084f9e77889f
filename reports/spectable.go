package reports

import (
	"slices"
	"strconv"

	"github.com/agentbench/agentbench/reports/page"
)

// specTable lists what differs between the specs, what was not declared first.
func specTable(c *Comparison) page.Table {
	fields := []page.Field[SpecDifference]{
		{Column: page.Column{Head: "path", Key: "path"}, Cell: func(d SpecDifference) page.Cell { return page.Name(d.Path) }},
		{Column: page.Column{Head: "base", Key: "base", Prose: true}, Cell: func(d SpecDifference) page.Cell { return page.Name(d.Base) }},
		{Column: page.Column{Head: "new", Key: "new", Prose: true}, Cell: func(d SpecDifference) page.Cell { return page.Name(d.New) }},
		{Column: page.Column{Head: "declared", Only: page.People}, Cell: func(d SpecDifference) page.Cell { return page.Text(yesOrNo(d.Declared)) }},
		{Column: page.Column{Key: "declared", Only: page.Machines}, Cell: func(d SpecDifference) page.Cell {
			return page.Text(strconv.FormatBool(d.Declared))
		}},
	}
	sorted := slices.Clone(c.Spec)
	slices.SortStableFunc(sorted, func(a, b SpecDifference) int { return number(a.Declared) - number(b.Declared) })
	t := page.Table{Name: "spec", Title: "What differs between the specs", Columns: page.ColumnsOf(fields), Blocks: 1}
	t.Fill(page.RowsOf(fields, slices.Values(sorted)))
	return t
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
