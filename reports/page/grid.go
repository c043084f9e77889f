package page

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// GridColumn is a column's head and how its cells are set.
type GridColumn struct {
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

// Grid is a table of texts with as many cells in each row as it has columns.
type Grid struct {
	Columns []GridColumn
	// Keys are the first columns that tell which row it is: 1 (also 0) or more.
	// The very first may hold long names, which are broken to fit; rows below
	// with the same name leave it empty.
	Keys int
	Rows [][]string

	looks [][]Look                       // of the cells
	dress func(line, look string) string // nil: no cell has a look
}

// Width is the number of terminal columns that a line of text takes, the same
// in every locale.
func Width(line string) int { return twwidth.WidthWithOptions(line, twwidth.Options{}) }

// terminalHead is the head with its name broken to a bearable width.
func (c *GridColumn) terminalHead() string {
	switch {
	case c.Name == "":
		return c.Head
	case c.Head == "":
		return strings.Join(breakName(c.Name, least, ""), "\n")
	}
	return strings.Join(append(breakName(c.Name, least, ""), c.Head), "\n")
}

// heads are the heads of the block's columns. Those with fewer lines stand
// beside the last lines of the others.
func (b *block) heads(t *Grid) []string {
	lines := b.headLines(t)
	heads := make([]string, len(b.columns))
	for i, c := range b.columns {
		head := t.Columns[c].terminalHead()
		heads[i] = strings.Repeat("\n", lines-countLines(head)) + head
	}
	return heads
}

func (b *block) headLines(t *Grid) (lines int) {
	for _, c := range b.columns {
		lines = max(lines, countLines(t.Columns[c].terminalHead()))
	}
	return lines
}

func countLines(text string) int { return strings.Count(text, "\n") + 1 }

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
// Names in the first column take at most a third of the page; prose takes a third,
// and then the room that is left. It returns how many minor columns are
// in none.
func (t *Grid) split(width int) (blocks []block, left int) {
	natural := t.naturalWidths()
	natural[0] = t.nameWidth(max(least, width/3))
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

func (c *GridColumn) breaks() bool { return c.Prose || c.List }

// narrowest is the width down to which a column may be broken: that of the
// widest item of a list, within bounds.
func (t *Grid) narrowest(c int) int {
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
func (b *block) widen(t *Grid, natural []int, width int) {
	for i, c := range b.columns {
		if t.Columns[c].breaks() {
			b.widths[i] += max(0, min(natural[c]-b.widths[i], width-b.used()))
		}
	}
}

// nameWidth is how wide the first column is when names are broken to at most
// that width.
func (t *Grid) nameWidth(most int) int {
	width := widest(t.Columns[0].terminalHead())
	for _, row := range t.Rows {
		width = max(width, widest(strings.Join(breakName(row[0], most, "  "), "\n")))
	}
	return width
}

func (t *Grid) keyBlock(widths []int) (b block) {
	for c, width := range widths {
		b.add(c, width)
	}
	return b
}

func (t *Grid) naturalWidths() []int {
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
func (b *block) cells(t *Grid) [][]string {
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
		b.dress(t, r, cells)
		all[r], name = cells, name[now:]
	}
	return all
}

// dress gives the lines of a row's cells their looks.
func (b *block) dress(t *Grid, row int, cells []string) {
	if t.dress == nil {
		return
	}
	for i, c := range b.columns {
		if look := string(t.looks[row][c]); look != "" {
			lines := strings.Split(cells[i], "\n")
			for l := range lines {
				lines[l] = t.dress(lines[l], look)
			}
			cells[i] = strings.Join(lines, "\n")
		}
	}
}

func (b *block) row(t *Grid, row []string) []string {
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

// Wrap breaks prose at its spaces into lines of at most that width; a word that
// is longer stands on a line of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// wrapParts breaks a heading into lines of at most that width, at the dots between its
// parts; a part that is wider is broken like prose.
func wrapParts(text string, width int) []string {
	const dot = " · "
	var lines []string
	line := ""
	for part := range strings.SplitSeq(text, dot) {
		switch {
		case line == "":
			line = part
		case Width(line+dot+part) <= width:
			line += dot + part
		default:
			lines = append(lines, Wrap(line, width)...)
			line = part
		}
	}
	return append(lines, Wrap(line, width)...)
}

// wrapList breaks a list behind its commas into lines of at most that width; an
// item that is wider is broken like prose.
func wrapList(text string, width int) []string {
	var lines []string
	line := ""
	for item := range strings.SplitAfterSeq(text, ", ") {
		item = strings.TrimSuffix(item, " ")
		switch {
		case line == "":
			line = item
		case Width(line)+1+Width(item) <= width:
			line += " " + item
		default:
			lines = append(lines, Wrap(line, width)...)
			line = item
		}
	}
	return append(lines, Wrap(line, width)...)
}

// breakName breaks a name into lines of at most that width, after punctuation
// where there is some; all lines but the first are indented.
func breakName(name string, width int, indent string) []string {
	var lines []string
	before := ""
	for Width(before+name) > width {
		head := fitting(name, width-len(before))
		lines = append(lines, before+name[:head])
		name, before = name[head:], indent
	}
	return append(lines, before+name)
}

// fitting is the length in bytes of the part of a name to put on one line: up to
// a comma, which parts what belongs together, or other punctuation, but not the
// point in a number.
func fitting(name string, width int) int {
	end, afterComma, afterMark, used := 0, 0, 0, 0
	for end < len(name) {
		r, size := utf8.DecodeRuneInString(name[end:])
		used += Width(string(r))
		if used > width && end > 0 {
			break
		}
		end += size
		switch {
		case r == ',':
			afterComma, afterMark = end, end
		case r == '.' && end < len(name) && name[end] >= '0' && name[end] <= '9':
		case strings.ContainsRune("[/-_ =:.|", r):
			afterMark = end
		}
	}
	for _, after := range []int{afterComma, afterMark} {
		if after > 0 && Width(name[:after])*2 >= width {
			return after
		}
	}
	return end
}

// Screen is what a table is written to.
type Screen struct {
	Width int // in terminal columns
	// Blocks is how many blocks a table that is wider than the page may take;
	// 0 means as many as it needs.
	Blocks int
	// Head dresses a line of a head, for example with colours; nil does nothing.
	Head func(line string) string
}

// Terminal writes the table without any lines, as kubectl does. What is wider
// than the page continues in further blocks that begin with the same keys.
// It returns how many columns were left out: those for which there are no more
// blocks, and minor ones.
func Terminal(w io.Writer, t Grid, screen Screen) (left int, err error) {
	blocks, left := t.split(screen.Width)
	for i := range blocks {
		if screen.Blocks > 0 && i >= screen.Blocks {
			left += len(blocks[i].columns) - max(1, t.Keys)
			continue
		}
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return 0, err
			}
		}
		if err := blocks[i].write(w, &t, screen.Head); err != nil {
			return 0, fmt.Errorf("writing a table: %w", err)
		}
	}
	return left, nil
}

func (b *block) write(w io.Writer, t *Grid, dress func(string) string) error {
	var out bytes.Buffer
	table := tablewriter.NewTable(&out,
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would turn p95 into "P 95"
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(b.alignment(t)),
		tablewriter.WithRowAlignmentConfig(b.alignment(t)),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
		}))
	table.Header(b.heads(t))
	for _, cells := range b.cells(t) {
		if err := table.Append(cells); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	return writeTrimmed(w, out.Bytes(), b.headLines(t), dress)
}

func (b *block) alignment(t *Grid) tw.CellAlignment {
	aligns := make([]tw.Align, len(b.columns))
	for i, c := range b.columns {
		aligns[i] = tw.AlignLeft
		if t.Columns[c].Right {
			aligns[i] = tw.AlignRight
		}
	}
	return tw.CellAlignment{PerColumn: aligns}
}

// writeTrimmed writes the lines without blanks at their ends, be they before the end of
// a look.
func writeTrimmed(w io.Writer, text []byte, heads int, dress func(string) string) error {
	var out bytes.Buffer
	n := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \n")
		if plain, dressed := bytes.CutSuffix(line, []byte(plainAgain)); dressed {
			plain = bytes.TrimSuffix(bytes.TrimRight(plain, " "), []byte(plainAgain))
			line = append(bytes.TrimRight(plain, " "), plainAgain...)
		}
		if n++; n <= heads && dress != nil && len(line) > 0 {
			line = []byte(dress(string(line)))
		}
		out.Write(append(line, '\n'))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Markdown writes the table as GitHub's Markdown. Cells and heads come in
// escaped; line feeds in them become spaces.
func Markdown(w io.Writer, t Grid) error {
	all := block{columns: make([]int, len(t.Columns))}
	for c := range t.Columns {
		all.columns[c] = c
	}
	table := tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(all.alignment(&t)),
		tablewriter.WithRowAlignmentConfig(all.alignment(&t)))
	heads := make([]string, len(t.Columns))
	for c := range t.Columns {
		heads[c] = oneLine(strings.TrimSpace(t.Columns[c].Name + " " + t.Columns[c].Head))
	}
	table.Header(heads)
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for c := range row {
			cells[c] = oneLine(row[c])
		}
		if err := table.Append(cells); err != nil {
			return fmt.Errorf("writing a table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("writing a table: %w", err)
	}
	return nil
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }
