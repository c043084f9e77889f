package tables

import "strings"

const (
	gap = 2 // between columns
	// least is the width down to which prose and names are broken.
	least = 16
)

// block is a part of a table that fits the page: the first column and some of
// the others, with their widths.
type block struct{ columns, widths []int }

// split deals the columns out to blocks of at most that width, in their order.
// The names in the first column take at most two fifths of the page.
func (t *Table) split(width int) []block {
	natural := t.naturalWidths()
	first := min(natural[0], max(least, width*2/5))
	blocks := []block{{columns: []int{0}, widths: []int{first}}}
	used := first
	for c := 1; c < len(t.Columns); c++ {
		want, need := natural[c], natural[c]
		if t.Columns[c].Prose {
			need = min(want, least)
		}
		if used+gap+need > width && len(blocks[len(blocks)-1].columns) > 1 {
			blocks = append(blocks, block{columns: []int{0}, widths: []int{first}})
			used = first
		}
		got := max(need, min(want, width-used-gap))
		last := &blocks[len(blocks)-1]
		last.columns, last.widths = append(last.columns, c), append(last.widths, got)
		used += gap + got
	}
	return blocks
}

func (t *Table) naturalWidths() []int {
	widths := make([]int, len(t.Columns))
	for c, column := range t.Columns {
		widths[c] = widest(column.Head)
		for _, row := range t.Rows {
			widths[c] = max(widths[c], widest(row[c]))
		}
	}
	return widths
}

func widest(text string) (width int) {
	for line := range strings.SplitSeq(text, "\n") {
		width = max(width, Width(line))
	}
	return width
}

// cells are the block's cells of a row, broken to their widths.
func (b *block) cells(t *Table, row []string) []string {
	cells := make([]string, len(b.columns))
	for i, c := range b.columns {
		switch {
		case c == 0:
			cells[i] = breakName(row[c], b.widths[i])
		case t.Columns[c].Prose:
			cells[i] = breakProse(row[c], b.widths[i])
		default:
			cells[i] = row[c]
		}
	}
	return cells
}
