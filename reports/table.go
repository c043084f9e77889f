package reports

import (
	"iter"
	"slices"
)

// table is a table before it takes a format.
type table struct {
	name    string // as in Options.Tables
	title   string
	columns []column
	rows    iter.Seq[[]cell]
	count   int // of rows
	keys    int // the first columns, which tell which row it is
	// blocks is how many blocks the table may take on a terminal; 0: any number.
	blocks int
	// whole says that no row is left out on a terminal.
	whole bool
}

// column is what all cells of a column have in common.
type column struct {
	head string // for people; a line feed parts its lines
	// about is a name from outside that stands over the head, with warnings.
	about    string
	warnings []note
	key      string // for machines
	right    bool   // numbers
	prose    bool   // may be broken at spaces
	list     bool   // may be broken between its items
	minor    bool   // left out on a narrow terminal
	wide     bool   // left out on a terminal that is not wide
	// optional columns are left out for people where all their cells are empty.
	optional bool
	only     audience
}

// audience says whether a column is for people, for machines, or for both.
type audience int

const (
	everyone audience = iota
	people
	machines
)

// field is a column with what makes its cells out of a T.
type field[T any] struct {
	column
	cell func(T) cell
}

// about puts a name from outside over a field's head.
func about[T any](name string, f field[T]) field[T] {
	f.column.about = name
	return f
}

// minor lets a field be left out on a narrow terminal.
func minor[T any](f field[T]) field[T] {
	f.column.minor = true
	return f
}

// wide lets a field be left out on a terminal that is not wide, and without a
// word: it adds to the field beside it.
func wide[T any](f field[T]) field[T] {
	f.column.minor, f.column.wide = true, true
	return f
}

// intervalFields are the 95 % interval of a number, in one column for people and
// in two for machines. The key is the number's.
func intervalFields[T any](head, key string, form func(Value) string, of func(T) Range) []field[T] {
	return append([]field[T]{intervalField(head, form, of)}, endFields(key, of)...)
}

func intervalField[T any](head string, form func(Value) string, of func(T) Range) field[T] {
	return wide(field[T]{column{head: head, right: true, optional: true, only: people},
		func(row T) cell { return cell{text: of(row).Text(form)} }})
}

// endFields are the ends of an interval for machines.
func endFields[T any](key string, of func(T) Range) []field[T] {
	return []field[T]{
		{column{key: key + "_low", only: machines}, func(row T) cell { return ofEnd(of(row).Low) }},
		{column{key: key + "_high", only: machines}, func(row T) cell { return ofEnd(of(row).High) }},
	}
}

// slim is the table without its wide columns.
func (t *table) slim() *table {
	var keep []int
	for i, c := range t.columns {
		if !c.wide {
			keep = append(keep, i)
		}
	}
	return t.picked(keep)
}

// picked is the table with some of its columns.
func (t *table) picked(columns []int) *table {
	few := *t
	few.columns = pick(t.columns, columns)
	few.rows = func(yield func([]cell) bool) {
		for row := range t.rows {
			if !yield(pick(row, columns)) {
				return
			}
		}
	}
	return &few
}

// columnsOf and rowOf part fields into columns and cells.
func columnsOf[T any](fields []field[T]) []column {
	columns := make([]column, len(fields))
	for i := range fields {
		columns[i] = fields[i].column
	}
	return columns
}

func rowOf[T any](fields []field[T], of T) []cell {
	cells := make([]cell, len(fields))
	for i := range fields {
		cells[i] = fields[i].cell(of)
	}
	return cells
}

// rowsOf are the rows of a sequence of Ts.
func rowsOf[T any](fields []field[T], all iter.Seq[T]) iter.Seq[[]cell] {
	return func(yield func([]cell) bool) {
		for of := range all {
			if !yield(rowOf(fields, of)) {
				return
			}
		}
	}
}

// fill gives a table its rows and counts them.
func (t *table) fill(rows iter.Seq[[]cell]) {
	t.rows = rows
	for range rows {
		t.count++
	}
}

// collected is the table with the columns for that audience and its first rows.
func (t *table) collected(of audience, limit int) (columns []column, rows [][]cell) {
	for row := range t.rows {
		if limit > 0 && len(rows) == limit {
			break
		}
		rows = append(rows, row)
	}
	keep := t.columnsFor(of, rows)
	for i, row := range rows {
		rows[i] = pick(row, keep)
	}
	return pick(t.columns, keep), rows
}

// columnsFor are the indexes of the columns for an audience.
func (t *table) columnsFor(of audience, rows [][]cell) (keep []int) {
	for i, c := range t.columns {
		filled := func(row []cell) bool { return row[i].text != "" && row[i].text != nothing }
		switch {
		case c.only != everyone && c.only != of:
		case of == people && c.optional && !slices.ContainsFunc(rows, filled):
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
