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
// Names in the first column take at most three tenths of the page; prose takes a
// third, and then the room that is left. It returns how many minor columns are
// in none.
func (t *Table) split(width int) (blocks []block, left int) {
	natural := t.naturalWidths()
	natural[0] = t.nameWidth(max(least, width*3/10))
	keys := max(1, t.Keys)
	now := t.keyBlock(natural[:keys])
	for c := keys; c < len(t.Columns); c++ {
		want, need := natural[c], natural[c]
		if t.Columns[c].breaks() {
			need = min(want, t.narrowest(c))
			want = max(need, min(want, max(least, width/3)))
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
	blocks = append(blocks, now)
	for i := range blocks {
		blocks[i].widen(t, natural, width)
	}
	return blocks, left
}

func (c *Column) breaks() bool { return c.Prose || c.List }

// narrowest is the width down to which a column may be broken: that of the
// widest item of a list, within bounds.
func (t *Table) narrowest(c int) int {
	width := least
	if t.Columns[c].List {
		for _, row := range t.Rows {
			for item := range strings.SplitSeq(row[c], ", ") {
				width = max(width, Width(item)+1)
			}
		}
	}
	return min(width, 2*least)
}

// widen gives prose the room that is left.
func (b *block) widen(t *Table, natural []int, width int) {
	for i, c := range b.columns {
		if t.Columns[c].breaks() {
			b.widths[i] += max(0, min(natural[c]-b.widths[i], width-b.used()))
		}
	}
}

// nameWidth is how wide the first column is when names are broken to at most
// that width.
func (t *Table) nameWidth(most int) int {
	width := widest(t.Columns[0].terminalHead())
	for _, row := range t.Rows {
		width = max(width, widest(strings.Join(breakName(row[0], most, "  "), "\n")))
	}
	return width
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
// a broken name stand beside the lines of the other cells, and beside the rows
// below that leave the name empty.
func (b *block) cells(t *Table) [][]string {
	all := make([][]string, len(t.Rows))
	var name []string // the lines that are left of it
	for r, row := range t.Rows {
		if row[0] != "" {
			name = breakName(row[0], b.widths[0], "  ")
		}
		cells := b.row(t, row)
		now := len(name)
		if r+1 < len(t.Rows) && t.Rows[r+1][0] == "" {
			now = min(now, lines(cells[1:]))
		}
		cells[0] = strings.Join(name[:now], "\n")
		all[r], name = cells, name[now:]
	}
	return all
}

func (b *block) row(t *Table, row []string) []string {
	cells := make([]string, len(b.columns))
	for i, c := range b.columns {
		cells[i] = row[c]
		switch {
		case Width(row[c]) <= b.widths[i]:
		case t.Columns[c].List:
			cells[i] = strings.Join(wrapList(row[c], b.widths[i]), "\n")
		case t.Columns[c].Prose:
			cells[i] = strings.Join(Wrap(row[c], b.widths[i]), "\n")
		}
	}
	return cells
}

// lines is how many lines the highest of the cells has, at least one.
func lines(cells []string) (highest int) {
	highest = 1
	for _, cell := range cells {
		highest = max(highest, countLines(cell))
	}
	return highest
}
