package page

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a table before it takes a format. Its rows are made anew each time that
// they are asked for.
type Table struct {
	Name    string // as in Options.Tables
	Title   string
	Columns []Column
	Rows    iter.Seq[[]Cell]
	Count   int // of rows
	Keys    int // the first columns, which tell which row it is
	// Blocks is how many blocks the table may take on a terminal; 0: any number.
	Blocks int
	// Whole says that no row is left out on a terminal.
	Whole bool
	// Shown are the rows that a terminal shows, by their places; nil: the first ones.
	Shown []int
	// Shares say how the rows are cut of which there are too many for a page; nil:
	// the first ones stay.
	Shares *Shares
}

// best is the place of the first row that looks the best, -1 where none does.
func (t *Table) best() int {
	if t.Rows == nil {
		return -1
	}
	at := 0
	for row := range t.Rows {
		if slices.ContainsFunc(row, func(c Cell) bool { return c.Look == Best }) {
			return at
		}
		at++
	}
	return -1
}

// Shares are how a cut is shared among the groups of a table's rows.
type Shares struct {
	Order []int               // the places of all rows, those first that stay the longest
	Group func(at int) string // that the row at a place is of, a name from outside; "": it needs no name
}

// Column is what all cells of a column have in common.
type Column struct {
	Head string // for people; a line feed parts its lines
	// About is a name from outside that stands over the head, with warnings.
	About    string
	Warnings []Warning
	Key      string // for machines
	Right    bool   // numbers
	Prose    bool   // may be broken at spaces
	List     bool   // may be broken between its items
	Minor    bool   // left out on a narrow terminal
	Wide     bool   // left out on a terminal that is not wide
	// Optional columns are left out for people where all their cells are empty.
	Optional bool
	Only     Audience
}

// Audience says whether a column is for people, for machines, or for both.
type Audience int

// The audiences.
const (
	Everyone Audience = iota
	People
	Machines
)

// slim is the table without its wide columns.
func (t *Table) slim() *Table {
	var keep []int
	for i, c := range t.Columns {
		if !c.Wide {
			keep = append(keep, i)
		}
	}
	return t.picked(keep)
}

// picked is the table with some of its columns.
func (t *Table) picked(columns []int) *Table {
	few := *t
	few.Columns = pick(t.Columns, columns)
	few.Rows = func(yield func([]Cell) bool) {
		for row := range t.Rows {
			if !yield(pick(row, columns)) {
				return
			}
		}
	}
	return &few
}

// few is the table with the rows that a terminal shows. What it counts are all.
func (t *Table) few() *Table {
	if t.Shown == nil {
		return t
	}
	few := *t
	few.Rows = func(yield func([]Cell) bool) {
		at := 0
		for row := range t.Rows {
			if slices.Contains(t.Shown, at) && !yield(row) {
				return
			}
			at++
		}
	}
	return &few
}

// collected is the table with the columns for that audience and the rows that stay
// under a limit.
func (t *Table) collected(of Audience, limit int) (columns []Column, rows [][]Cell) {
	stays := func(int) bool { return true }
	if kept := t.kept(limit); kept != nil {
		stays = func(at int) bool { return kept[at] }
	}
	at := 0
	for row := range t.Rows {
		if limit > 0 && len(rows) == limit {
			break
		}
		if stays(at) {
			rows = append(rows, row)
		}
		at++
	}
	keep := t.columnsFor(of, rows)
	for i, row := range rows {
		rows[i] = pick(row, keep)
	}
	return pick(t.Columns, keep), rows
}

// kept are the places of the rows that stay where a cut is shared; nil: it is not.
func (t *Table) kept(limit int) map[int]bool {
	if t.Shares == nil || limit <= 0 || len(t.Shares.Order) <= limit {
		return nil
	}
	kept := map[int]bool{}
	for _, at := range t.Shares.Order[:limit] {
		kept[at] = true
	}
	return kept
}

// more says how many rows are left out where so many are shown, and of which groups.
func (t *Table) more(rows int, foreign func(string) string) string {
	left := t.Count - rows
	if left <= 0 {
		return ""
	}
	text := fmt.Sprintf("%d more", left)
	if t.Shares != nil {
		if groups := t.Shares.left(rows, foreign); groups != "" {
			text += " (" + groups + ")"
		}
	}
	return "… and " + text + ": --format csv --table " + t.Name
}

// left are the groups of the rows that are left out, in the order of the table, with
// how many these are.
func (s *Shares) left(rows int, foreign func(string) string) string {
	const most = 8
	count := map[string]int{}
	for _, at := range s.Order[rows:] {
		count[s.Group(at)]++
	}
	var names []string
	for _, at := range slices.Sorted(slices.Values(s.Order)) {
		if name := s.Group(at); name != "" && count[name] > 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var texts []string
	for _, name := range names[:min(most, len(names))] {
		texts = append(texts, fmt.Sprintf("%s %d", foreign(name), count[name]))
	}
	if others := len(names) - most; others > 0 {
		texts = append(texts, fmt.Sprintf("and %d others", others))
	}
	return strings.Join(texts, ", ")
}

// columnsFor are the indexes of the columns for an audience.
func (t *Table) columnsFor(of Audience, rows [][]Cell) (keep []int) {
	for i, c := range t.Columns {
		filled := func(row []Cell) bool { return row[i].Text != "" && row[i].Text != Nothing }
		switch {
		case c.Only != Everyone && c.Only != of:
		case of == People && c.Optional && !slices.ContainsFunc(rows, filled):
		default:
			keep = append(keep, i)
		}
	}
	return keep
}

func pick[T any](all []T, keep []int) []T {
	picked := make([]T, len(keep))
	for i, at := range keep {
		picked[i] = all[at]
	}
	return picked
}

type Cell struct {
	Text string
	// Raw is a string, a number, or nil for a number that is missing.
	Raw any
	// Foreign says that the text comes from outside, for example a name.
	Foreign bool
	// Runs are the terms of the filter for the runs of a name; nil: the name is the term.
	Runs     []string
	Warnings []Warning
	Look     Look
}

// Number makes a cell of a value.
func Number(v Value, form func(Value) string, warnings ...Warning) Cell {
	c := Cell{Text: form(v), Warnings: warnings}
	if v.Known() {
		c.Raw = v.Number
	}
	return c
}

// Warned is the cell with warnings.
func (c Cell) Warned(warnings ...Warning) Cell {
	c.Warnings = warnings
	return c
}

// Count makes a cell of a number of things.
func Count(n int) Cell { return Cell{Text: Whole(Known(float64(n))), Raw: n} }

// Name makes a cell of a text from outside.
func Name(name string, warnings ...Warning) Cell {
	return Cell{Text: name, Raw: name, Foreign: true, Warnings: warnings}
}

// Text makes a cell of a text of our own.
func Text(text string) Cell { return Cell{Text: text, Raw: text} }

// ofEnd is the end of an interval. Why there is none stands beside it.
func ofEnd(v Value) Cell {
	if !v.Known() {
		return Cell{}
	}
	return Cell{Raw: v.Number}
}

// laidOut is a table's first rows for people, in the texts of a format. Where
// some numbers of a column carry marks, the others leave room for them, so that
// digits stand below digits.
func laidOut(t *Table, limit int, notes *footnotes, foreign, own func(string) string) Grid {
	columns, rows := t.collected(People, limit)
	return laidWith(t.Keys, columns, rows, notes, foreign, own)
}

// laidWith lays out columns and rows.
func laidWith(keys int, columns []Column, rows [][]Cell, notes *footnotes, foreign, own func(string) string) Grid {
	out := Grid{Keys: keys, Columns: make([]GridColumn, len(columns))}
	for i, c := range columns {
		out.Columns[i] = GridColumn{Head: own(c.Head), Right: c.Right, Prose: c.Prose, List: c.List, Minor: c.Minor}
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
			widths[c] = max(widths[c], Width(marks[i][c]))
		}
	}
	for i, row := range rows {
		cells := make([]string, len(row))
		for c := range row {
			cells[c] = textOf(&row[c], foreign, own) + marks[i][c]
			if columns[c].Right {
				cells[c] += strings.Repeat(" ", widths[c]-Width(marks[i][c]))
			}
		}
		out.Rows = append(out.Rows, cells)
		looks := make([]Look, len(row))
		for c := range row {
			looks[c] = row[c].Look
		}
		out.looks = append(out.looks, looks)
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
func withoutRepeats(t *Grid) {
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

// footnotes number warnings in the order in which they are first met. Those
// that say the same share a number.
type footnotes []footnote

// footnote is a text, and the warnings that say it.
type footnote struct {
	text     string
	warnings []Warning
}

// marks are the superscript numbers of warnings: "¹" or "¹'³".
func (f *footnotes) marks(warnings []Warning) string {
	marks := make([]string, len(warnings))
	for i, w := range warnings {
		text := w.Text().shown()
		at := slices.IndexFunc(*f, func(met footnote) bool { return met.text == text })
		if at < 0 {
			at = len(*f)
			*f = append(*f, footnote{text: text})
		}
		(*f)[at].warnings = append((*f)[at].warnings, w)
		marks[i] = superscript(at + 1)
	}
	return strings.Join(marks, "'")
}

// each gives the texts of the footnotes, each with its mark, and then those
// warnings that are about the page as a whole.
func (f *footnotes) each(whole []Warning, yield func(mark string, text Words)) {
	for i, note := range *f {
		yield(superscript(i+1), note.warnings[0].Text())
	}
	for _, w := range whole {
		yield("", w.Text())
	}
}

func superscript(n int) string {
	return raised.Replace(strconv.Itoa(n))
}

var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// ExtraCount is a difference of counts, with its sign.
func ExtraCount(v Value) string {
	return shape(v, func(x float64) string { return signed(x, minus(x)+plain(math.Abs(x))) })
}

// Relative shows a ratio less 1: 0.123 is +12.3%, 1.5 is +150%, 11 is ×12.0.
func Relative(v Value) string { return shape(v, ratio) }

func ratio(x float64) string {
	switch magnitude := math.Abs(x); {
	case x >= 1e6: // of an interval that says nothing
		return "×>1M"
	case x >= 9:
		return "×" + brief(x+1)
	case magnitude >= 0.9995:
		return signed(x, fixed(x*100, 0)+"%")
	}
	return signed(x, fixed(x*100, 1)+"%")
}

// Chance shows a p.
func Chance(v Value) string {
	return shape(v, func(p float64) string {
		if p < 0.001 {
			return "<0.001"
		}
		return fixed(p, 3)
	})
}
