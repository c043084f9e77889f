package spec

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/expr"
)

// records streams a .csv file: the first line names the columns, every value is text.
func (f *dataFile) records(yield func(row, error) bool) {
	opened, err := f.open()
	if err != nil {
		yield(row{dataFile: f}, err)
		return
	}
	defer opened.Close()
	table, err := f.table(opened)
	for err == nil {
		at := table.reader.InputOffset()
		var r row
		if r, err = table.next(); err == nil {
			r.at = at
			countRow(opened, table.reader.InputOffset()-at)
			if !yield(r, f.checkValues(table.reader, table.values)) {
				return
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		yield(row{dataFile: f}, f.csvFault(err))
	}
}

// table is a .csv file that is being read.
type table struct {
	file            *dataFile
	reader          *csv.Reader
	limited         *lineLimit
	columns, values []string
}

func (f *dataFile) newTable(text io.Reader) *table {
	limited := &lineLimit{Reader: text, left: maxLineBytes}
	return &table{file: f, reader: csv.NewReader(limited), limited: limited}
}

// table reads the first line.
func (f *dataFile) table(opened io.Reader) (*table, error) {
	t := f.newTable(opened)
	var err error
	if t.columns, err = t.reader.Read(); errors.Is(err, io.EOF) {
		return t, &fileError{f.name + " is empty", "the first line names the columns"}
	}
	if err != nil {
		return t, err
	}
	t.columns[0] = strings.TrimPrefix(t.columns[0], string(byteOrderMark))
	return t, f.checkColumns(t.columns)
}

func (t *table) next() (row, error) {
	t.limited.left = maxLineBytes
	var err error
	if t.values, err = t.reader.Read(); err != nil {
		return row{}, err
	}
	n, _ := t.reader.FieldPos(0)
	return row{dataFile: t.file, value: record(t.columns, t.values), n: n}, nil
}

// checkColumns refuses what would hide a column behind another.
func (f *dataFile) checkColumns(columns []string) error {
	for i, column := range columns {
		if !utf8.ValidString(column) {
			return f.encodingFault(f.line(1), 1)
		}
		if column != "" && slices.Contains(columns[:i], column) {
			return f.fault(1, "give one of them another name", "the column %q stands twice", shorten(column))
		}
	}
	return nil
}

func (f *dataFile) checkValues(reader *csv.Reader, values []string) error {
	for i, value := range values {
		if !utf8.ValidString(value) {
			n, _ := reader.FieldPos(i)
			return f.encodingFault(f.line(n), n)
		}
	}
	return nil
}

// lineLimit ends a record that an unclosed quote makes of the rest of a file.
type lineLimit struct {
	io.Reader
	left int
}

func (l *lineLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, bufio.ErrTooLong
	}
	n, err := l.Reader.Read(p)
	l.left -= n
	return n, err
}

func record(columns, values []string) *expr.Object {
	object := expr.NewObject(len(columns))
	for i, column := range columns {
		object.Set(column, values[i])
	}
	return object
}
