package reports

import (
	"iter"
	"math"
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
	warnings []Warning
	key      string // for machines
	right    bool   // numbers
	prose    bool   // may be broken at spaces
	minor    bool   // left out on a narrow terminal
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

// cell is one cell, for people and for machines.
type cell struct {
	text string
	// raw is a string, a number, or nil for a number that is missing.
	raw any
	// foreign says that the text comes from outside, for example a name.
	foreign  bool
	warnings []Warning
}

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

// of makes a cell of a value.
func of(v Value, form func(Value) string, warnings ...Warning) cell {
	c := cell{text: form(v), warnings: warnings}
	if v.Known() {
		c.raw = v.Number
	}
	return c
}

func ofCount(n int) cell { return cell{text: count(known(float64(n))), raw: n} }

func ofName(name string, warnings ...Warning) cell {
	return cell{text: name, raw: name, foreign: true, warnings: warnings}
}

func ofText(text string) cell { return cell{text: text, raw: text} }

// tables are all tables of a report, in the order in which people read them.
func (r *Report) tables(of audience) []table {
	tasks := tasksTable
	if of == machines {
		tasks = taskRowsTable
	}
	return []table{
		configurationsTable(r), curveTable(r), stopsTable(r), limitsTable(r), calibrationTable(r), tasks(r),
	}
}

// scoreDigits is how many digits of a score mean something to the reader.
func (r *Report) scoreDigits() int {
	for i := range r.Configurations {
		if r.Configurations[i].Runs >= 100 {
			return 3
		}
	}
	return 2
}

// dollarDigits is how many digits after the point amounts have, the same
// everywhere so that they can be compared at a glance: two that count of the
// smallest mean cost, but not many more than three of the largest.
func (r *Report) dollarDigits() int {
	smallest, largest := math.Inf(1), 0.0
	for c := range r.each() {
		if cost := c.Cost.Mean; cost.Known() && cost.Number > 0 {
			smallest, largest = min(smallest, cost.Number), max(largest, cost.Number)
		}
	}
	if largest == 0 {
		return 2
	}
	return max(2, min(decimals(smallest, 2), decimals(largest, 3)+2))
}

func (r *Report) dollars(v Value) string { return dollars(v, r.dollarDigits()) }

func (r *Report) extraDollars(v Value) string { return extraDollars(v, r.dollarDigits()) }

// allSimulated says that no number comes from a real model.
func (r *Report) allSimulated() bool {
	return !slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Runs > 0 && !c.Simulated }) &&
		slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Simulated })
}

// nameCell names a configuration, with the warnings that are about all of its
// numbers.
func (r *Report) nameCell(c *Configuration) cell {
	warnings := c.warningsOf("", MixedLoops)
	if !r.allSimulated() {
		warnings = append(warnings, c.warningsOf("", SimulatedModel)...)
	}
	return ofName(c.Name, warnings...)
}

// nameFields name a row's configuration and, for machines, the simulated models
// that its numbers come from.
func nameFields[T any](r *Report, of func(T) *Configuration) []field[T] {
	return []field[T]{
		{column{head: "configuration", key: "configuration"}, func(row T) cell { return r.nameCell(of(row)) }},
		{column{key: "simulated", only: machines}, func(row T) cell { return ofName(of(row).simulatedBy()) }},
	}
}

func (c *Configuration) simulatedBy() string {
	for _, w := range c.warningsOf("", SimulatedModel) {
		return w.Name
	}
	return ""
}

// warningsOf are the configuration's warnings of some kinds; about one scorer
// where that is named.
func (c *Configuration) warningsOf(scorer string, kinds ...WarningKind) (found []Warning) {
	for _, w := range c.Warnings {
		if slices.Contains(kinds, w.Kind) && (scorer == "" || scorer == w.Name) {
			found = append(found, w)
		}
	}
	return found
}
