package reports

import (
	"slices"
	"strconv"
)

// specTable lists what differs between the specs, what was not declared first.
func specTable(c *Comparison) table {
	fields := []field[SpecDifference]{
		{column{head: "path", key: "path"}, func(d SpecDifference) cell { return ofName(d.Path) }},
		{column{head: "base", key: "base", prose: true}, func(d SpecDifference) cell { return ofName(d.Base) }},
		{column{head: "new", key: "new", prose: true}, func(d SpecDifference) cell { return ofName(d.New) }},
		{column{head: "declared", only: people}, func(d SpecDifference) cell { return ofText(yesOrNo(d.Declared)) }},
		{column{key: "declared", only: machines}, func(d SpecDifference) cell { return ofText(strconv.FormatBool(d.Declared)) }},
	}
	sorted := slices.Clone(c.Spec)
	slices.SortStableFunc(sorted, func(a, b SpecDifference) int { return number(a.Declared) - number(b.Declared) })
	t := table{name: "spec", title: "What differs between the specs", columns: columnsOf(fields), blocks: 1}
	t.fill(rowsOf(fields, slices.Values(sorted)))
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
