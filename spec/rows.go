package spec

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// row is one row of a data file.
type row struct {
	*dataFile
	value any
	doc   any // the whole file, where it was read whole
	// n is the line in a .jsonl or .csv file, else the number of the row; from 1.
	n int
}

// rows gives the rows of a file. A bad row is an error, after which the next rows follow; each may be nil.
func (f *dataFile) rows(each *Expr) iter.Seq2[row, error] {
	streamed := f.lines
	switch strings.ToLower(path.Ext(f.path)) {
	case ".jsonl":
	case ".csv":
		streamed = f.records
	default:
		return func(yield func(row, error) bool) { f.yieldDocument(each, yield) }
	}
	if each == nil {
		return streamed
	}
	return func(yield func(row, error) bool) { f.yieldGathered(streamed, each, yield) }
}

// yieldDocument reads a .json or .yaml file whole.
func (f *dataFile) yieldDocument(each *Expr, yield func(row, error) bool) {
	f.whole = true
	doc, err := f.document()
	if err != nil {
		yield(row{dataFile: f}, err)
		return
	}
	f.yieldEach(doc, each, yield)
}

// yieldGathered makes doc of the rows of a streamed file.
func (f *dataFile) yieldGathered(streamed iter.Seq2[row, error], each *Expr, yield func(row, error) bool) {
	doc := []any{}
	for r, err := range streamed {
		if err != nil {
			yield(r, err)
			return
		}
		doc = append(doc, r.value)
	}
	f.whole = true
	f.yieldEach(doc, each, yield)
}

func (f *dataFile) yieldEach(doc any, each *Expr, yield func(row, error) bool) {
	list, isList := doc.([]any)
	switch {
	case each != nil:
		var err error
		if list, err = each.List(background, rowScope{row{dataFile: f, doc: doc}}); err != nil {
			yield(row{dataFile: f}, mappingFault(each, err, f.name))
			return
		}
	case !isList:
		yield(row{dataFile: f}, &fileError{f.name + " holds no list of rows", "say where they are: tasks: {files: [...], each: doc.rows, ...}"})
		return
	}
	for i, value := range list {
		if !yield(row{dataFile: f, value: value, doc: doc, n: i + 1}, nil) {
			return
		}
	}
}

// lines streams a .jsonl file; empty lines are passed over.
func (f *dataFile) lines(yield func(row, error) bool) {
	opened, err := f.folder.open(f.path, 0)
	if err != nil {
		yield(row{dataFile: f}, err)
		return
	}
	defer opened.Close()
	scanner := newScanner(opened)
	for n := 1; scanner.Scan(); n++ {
		text := scanner.Bytes()
		if n == 1 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		value, err := f.parseJSON(text, n)
		if !yield(row{dataFile: f, value: value, n: n}, err) {
			return
		}
	}
	if err := scanner.Err(); err != nil {
		yield(row{dataFile: f}, f.readFailure(err))
	}
}

// records streams a .csv file: the first line names the columns, every value is text.
func (f *dataFile) records(yield func(row, error) bool) {
	opened, err := f.folder.open(f.path, 0)
	if err != nil {
		yield(row{dataFile: f}, err)
		return
	}
	defer opened.Close()
	limited := &lineLimit{Reader: opened, left: maxLineBytes}
	reader := csv.NewReader(limited)
	columns, err := reader.Read()
	if errors.Is(err, io.EOF) {
		yield(row{dataFile: f}, &fileError{f.name + " is empty", "the first line names the columns"})
		return
	}
	if err == nil {
		columns[0] = strings.TrimPrefix(columns[0], string(byteOrderMark))
		err = f.checkColumns(columns)
	}
	for err == nil {
		limited.left = maxLineBytes
		var values []string
		if values, err = reader.Read(); err == nil {
			n, _ := reader.FieldPos(0)
			if !yield(row{dataFile: f, value: record(columns, values), n: n}, f.checkValues(reader, values)) {
				return
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		yield(row{dataFile: f}, f.csvFault(err))
	}
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

var byteOrderMark = []byte("\ufeff")

// maxLineBytes is how long a line of a .jsonl file may be.
const maxLineBytes = 64 << 20

func newScanner(r io.Reader) *bufio.Scanner {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), maxLineBytes)
	return scanner
}

// document reads a .json or .yaml file as one value.
func (f *dataFile) document() (any, error) {
	text, err := f.folder.read(f.path, maxDataBytes)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(path.Ext(f.path), ".json") {
		text = bytes.TrimPrefix(text, byteOrderMark)
		return f.parseJSON(text, 1)
	}
	tree, faults := source.Parse(source.NewFile(f.name, text))
	if faults.Err() != nil {
		return nil, faults
	}
	var plain any
	if faults := source.Decode(tree, &plain); faults.Err() != nil {
		return nil, faults
	}
	return valueOf(plain), nil
}

// readValue reads a file that a suite names as one value.
func (l *loader) readValue(reference string) (any, error) {
	at, err := l.roots.resolve(l.doc.folder, reference)
	if err != nil {
		return nil, err
	}
	return newDataFile(at.folder, at.path).document()
}

func (f *dataFile) readFailure(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return &fileError{what: fmt.Sprintf("%s has a line of more than %d bytes", f.name, maxLineBytes)}
	}
	return &fileError{what: fmt.Sprintf("%s cannot be read: %v", f.name, err)}
}
