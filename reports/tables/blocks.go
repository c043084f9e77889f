package tables

import "strings"

const (
	gap = 2 // between columns
	// least is the width down to which prose and names are broken.
	least = 16
)

// block is a part of a table that fits the page: the keys and some of the other
// columns, with their widths.
type block struct{ columns, widths []int }

func (b *block) used() int {
	used := -gap
	for _, width := range b.widths {
		used += gap + width
	}
	return used
}

func (b *block) add(column, width int) {
	b.columns, b.widths = append(b.columns, column), append(b.widths, width)
}

// split deals the columns out to blocks of at most that width, in their order.
// Names in the first column take at most three tenths of the page, prose a
// third. It returns how many minor columns are in none.
func (t *Table) split(width int) (blocks []block, left int) {
	natural := t.naturalWidths()
	natural[0] = min(natural[0], max(least, width*3/10))
	keys := max(1, t.Keys)
	now := t.keyBlock(natural[:keys])
	for c := keys; c < len(t.Columns); c++ {
		want, need := natural[c], natural[c]
		if t.Columns[c].Prose {
			want = min(want, max(least, width/3))
			need = min(want, least)
		}
		full := now.used()+gap+need > width && len(now.columns) > keys
		if full && t.Columns[c].Minor {
			left++
			continue
		}
		if full {
			blocks = append(blocks, now)
			now = t.keyBlock(natural[:keys])
		}
		now.add(c, max(need, min(want, width-now.used()-gap)))
	}
	return append(blocks, now), left
}

func (t *Table) keyBlock(widths []int) (b block) {
	for c, width := range widths {
		b.add(c, width)
	}
	return b
}

func (t *Table) naturalWidths() []int {
	widths := make([]int, len(t.Columns))
	for c := range t.Columns {
		widths[c] = widest(t.Columns[c].terminalHead())
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

// cells are the block's cells of all rows, broken to their widths. The lines of
// a broken name stand beside the rows below that leave it empty.
func (b *block) cells(t *Table) [][]string {
	all := make([][]string, len(t.Rows))
	var name []string // the lines that are left of it
	for r, row := range t.Rows {
		if row[0] != "" {
			name = breakName(row[0], b.widths[0], "  ")
		}
		shared := r+1 < len(t.Rows) && t.Rows[r+1][0] == ""
		now := len(name)
		if shared {
			now = min(1, len(name))
		}
		all[r] = b.row(t, row, strings.Join(name[:now], "\n"))
		name = name[now:]
	}
	return all
}

func (b *block) row(t *Table, row []string, name string) []string {
	cells := make([]string, len(b.columns))
	for i, c := range b.columns {
		cells[i] = row[c]
		if t.Columns[c].Prose && Width(row[c]) > b.widths[i] {
			cells[i] = strings.Join(Wrap(row[c], b.widths[i]), "\n")
		}
	}
	cells[0] = name
	return cells
}
