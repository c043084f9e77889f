package page

import (
	"strings"

	"github.com/agentbench/agentbench/reports/tables"
)

// laidOut is a table's first rows for people, in the texts of a format. Where
// some numbers of a column carry marks, the others leave room for them, so that
// digits stand below digits.
func laidOut(t *Table, limit int, notes *footnotes, foreign, own func(string) string) tables.Table {
	columns, rows := t.collected(People, limit)
	out := tables.Table{Keys: t.Keys, Columns: make([]tables.Column, len(columns))}
	for i, c := range columns {
		out.Columns[i] = tables.Column{Head: own(c.Head), Right: c.Right, Prose: c.Prose, List: c.List, Minor: c.Minor}
		if c.About != "" {
			out.Columns[i].Name = foreign(c.About) + notes.marks(c.Warnings)
		} else {
			out.Columns[i].Head += notes.marks(c.Warnings)
		}
	}
	marks := make([][]string, len(rows))
	widths := make([]int, len(columns))
	for i, row := range rows {
		marks[i] = make([]string, len(row))
		for c := range row {
			marks[i][c] = notes.marks(row[c].Warnings)
			widths[c] = max(widths[c], tables.Width(marks[i][c]))
		}
	}
	for i, row := range rows {
		cells := make([]string, len(row))
		for c := range row {
			cells[c] = textOf(&row[c], foreign, own) + marks[i][c]
			if columns[c].Right {
				cells[c] += strings.Repeat(" ", widths[c]-tables.Width(marks[i][c]))
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

func textOf(c *Cell, foreign, own func(string) string) string {
	if c.Foreign && c.Text != "" {
		return foreign(c.Text)
	}
	return own(c.Text)
}

// withoutRepeats, where rows form groups, empties the names in the first column that repeat the row
// above, so that the groups of rows can be seen.
func withoutRepeats(t *tables.Table) {
	if t.Keys < 2 {
		return
	}
	above := ""
	for _, row := range t.Rows {
		name := row[0]
		if name == above {
			row[0] = ""
		}
		above = name
	}
}
