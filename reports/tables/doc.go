// Package tables decides where the cells of a table stand on a page: in columns
// under their heads on a terminal of a given width, or as Markdown.
//
// It is the only importer of tablewriter. Cells come in as they are to be
// shown: escaped for their format and free of control characters.
package tables

import "github.com/olekukonko/tablewriter/pkg/twwidth"

// Column is a column's head, which may have several lines, and its alignment.
type Column struct {
	Head  string
	Right bool // numbers
	// Prose may be broken at its spaces to fit; other cells are never broken.
	Prose bool
}

// Table is a table with as many cells in each row as it has columns. The first
// column names the row.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Width is the number of terminal columns that a line of text takes, the same
// in every locale.
func Width(line string) int { return twwidth.WidthWithOptions(line, twwidth.Options{}) }
