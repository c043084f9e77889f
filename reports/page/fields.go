package page

import (
	"iter"
	"strings"
)

// Field is a column with what makes its cells out of a T.
type Field[T any] struct {
	Column
	Cell func(T) Cell
}

// Fields are columns that belong together, such as a number and its interval.
type Fields[T any] []Field[T]

// Of is a column with cells of any kind.
func Of[T any](c Column, cell func(T) Cell) Fields[T] { return Fields[T]{{c, cell}} }

// Named is a text from outside.
func Named[T any](head, key string, of func(T) string) Fields[T] {
	return Of(Column{Head: head, Key: key}, func(row T) Cell { return Name(of(row)) })
}

// Worded is a text of our own.
func Worded[T any](head, key string, of func(T) string) Fields[T] {
	return Of(Column{Head: head, Key: key}, func(row T) Cell { return Text(of(row)) })
}

// Right is a column of cells of any kind at the right.
func Right[T any](head, key string, cell func(T) Cell) Fields[T] {
	return Of(Column{Head: head, Key: key, Right: true}, cell)
}

// Prose is a long text from outside.
func Prose[T any](head, key string, of func(T) string) Fields[T] {
	return Of(Column{Head: head, Key: key, Prose: true}, func(row T) Cell { return Name(of(row)) })
}

// Over are fields of what a row has.
func Over[T, U any](fields Fields[U], of func(T) U) Fields[T] {
	all := make(Fields[T], len(fields))
	for i, f := range fields {
		all[i] = Field[T]{f.Column, func(row T) Cell { return f.Cell(of(row)) }}
	}
	return all
}

// Counted is a number of things.
func Counted[T any](head, key string, of func(T) int) Fields[T] {
	return Right(head, key, func(row T) Cell { return Count(of(row)) })
}

// Valued is a number.
func Valued[T any](head, key string, form func(Value) string, of func(T) Value) Fields[T] {
	return Right(head, key, func(row T) Cell { return Number(of(row), form) })
}

// Interval is the 95 % interval of a number, in one column for people and
// in two for machines. The key is the number's.
func Interval[T any](head, key string, form func(Value) string, of func(T) Range) Fields[T] {
	return append(ShownInterval(head, form, of), Ends(key, of)...)
}

// Measured is a number in a column of its own, and its 95 % interval beside it.
func Measured[T any](head, key string, form func(Value) string, of func(T) Estimate) Fields[T] {
	return append(Valued(head, key, form, func(row T) Value { return of(row).Value }),
		Interval(strings.TrimLeft(strings.ReplaceAll(head, "\n", " ")+"\n95%", "\n"), key, form, func(row T) Range { return of(row).Range })...)
}

// ShownInterval is the column for people alone.
func ShownInterval[T any](head string, form func(Value) string, of func(T) Range) Fields[T] {
	return Of(Column{Head: head, Right: true}, func(row T) Cell { return Cell{Text: of(row).Text(form)} }).Optional().Wide().ForPeople()
}

// Ends are the ends of an interval for machines.
func Ends[T any](key string, of func(T) Range) Fields[T] {
	return Fields[T]{
		{Column{Key: key + "_low", Only: Machines}, func(row T) Cell { return ofEnd(of(row).Low) }},
		{Column{Key: key + "_high", Only: Machines}, func(row T) Cell { return ofEnd(of(row).High) }},
	}
}

func (f Fields[T]) each(change func(*Column)) Fields[T] {
	for i := range f {
		change(&f[i].Column)
	}
	return f
}

// About puts a name from outside, with warnings, over the head of the first field.
func (f Fields[T]) About(name string, warnings ...Warning) Fields[T] {
	f[0].About, f[0].Warnings = name, warnings
	return f
}

// Minor lets the fields be left out on a narrow terminal.
func (f Fields[T]) Minor() Fields[T] { return f.each(func(c *Column) { c.Minor = true }) }

// Wide lets the fields be left out on a terminal that is not wide, and without a
// word: they add to the field beside them.
func (f Fields[T]) Wide() Fields[T] {
	return f.each(func(c *Column) { c.Minor, c.Wide = true, true })
}

// Optional leaves fields out for people where all their cells are empty.
func (f Fields[T]) Optional() Fields[T] { return f.each(func(c *Column) { c.Optional = true }) }

// ForPeople and ForMachines keep the fields from the other audience.
func (f Fields[T]) ForPeople() Fields[T] { return f.each(func(c *Column) { c.Only = People }) }

// ForMachines is the counterpart of ForPeople.
func (f Fields[T]) ForMachines() Fields[T] { return f.each(func(c *Column) { c.Only = Machines }) }

// ColumnsOf are the columns of fields.
func ColumnsOf[T any](fields []Field[T]) []Column {
	columns := make([]Column, len(fields))
	for i := range fields {
		columns[i] = fields[i].Column
	}
	return columns
}

// RowsOf are the rows of a sequence of Ts.
func RowsOf[T any](fields []Field[T], all iter.Seq[T]) iter.Seq[[]Cell] {
	return func(yield func([]Cell) bool) {
		for of := range all {
			cells := make([]Cell, len(fields))
			for i := range fields {
				cells[i] = fields[i].Cell(of)
			}
			if !yield(cells) {
				return
			}
		}
	}
}

// Filled is the table with its columns and rows, which it counts.
func Filled[T any](t Table, fields []Field[T], rows iter.Seq[T]) Table {
	t.Columns = ColumnsOf(fields)
	t.Fill(RowsOf(fields, rows))
	return t
}

// EachOf are pointers to the elements of a list.
func EachOf[T any](all []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// TableOf makes a table of which no row is left out.
func TableOf[T any](name, title string, fields []Field[T], rows iter.Seq[T]) Table {
	return Filled(Table{Name: name, Title: title, Whole: true}, fields, rows)
}

// Fill gives a table its rows and counts them.
func (t *Table) Fill(rows iter.Seq[[]Cell]) {
	t.Rows = rows
	for range rows {
		t.Count++
	}
}
