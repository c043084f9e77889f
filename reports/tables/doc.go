// Package tables decides where the cells of a table stand on a page: in columns
// under their heads on a terminal of a given width, or as Markdown.
//
// It is the only importer of tablewriter. Cells come in as they are to be
// shown: escaped for their format and free of control characters.
package tables

import "github.com/olekukonko/tablewriter/pkg/twwidth"

// Column is a column's head and how its cells are set.
type Column struct {
	// Name is the upper part of the head. On a terminal a long one is broken.
	Name string
	// Head is the lower part, which may have several lines.
	Head  string
	Right bool // numbers
	// Prose may be broken at its spaces to fit; other cells are never broken.
	Prose bool
	// List is prose whose items, parted by commas, are broken only where one alone
	// does not fit.
	List bool
	// Minor columns are left out where they would begin another block.
	Minor bool
}

// Table is a table with as many cells in each row as it has columns.
type Table struct {
	Columns []Column
	// Keys are the first columns that tell which row it is: 1 (also 0) or more.
	// The very first may hold long names, which are broken to fit; rows below
	// with the same name leave it empty.
	Keys int
	Rows [][]string
}

// Width is the number of terminal columns that a line of text takes, the same
// in every locale.
func Width(line string) int { return twwidth.WidthWithOptions(line, twwidth.Options{}) }
