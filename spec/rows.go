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
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// row is one row of a data file.
type row struct {
	value any
	doc   any    // the whole file, where it was read whole
	file  string // as messages and expressions call it
	line  int    // of a .jsonl or .csv file; else the number of the row; from 1
}

// maxRowBytes is how long a line of a .jsonl file may be.
const maxRowBytes = 64 << 20

// rowsOf gives the rows of a file. A bad row is an error, after which the next rows follow; each may be nil.
func rowsOf(f folder, file string, each *Expr) iter.Seq2[row, error] {
	streamed := lines
	switch strings.ToLower(path.Ext(file)) {
	case ".jsonl":
	case ".csv":
		streamed = records
	default:
		return documentRows(f, file, each)
	}
	if each != nil {
		return eachOfStream(streamed(f, file), f.name(file), each)
	}
	return streamed(f, file)
}

// documentRows reads a .json or .yaml file whole.
func documentRows(f folder, file string, each *Expr) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		doc, err := readDocument(f, file)
		if err != nil {
			yield(row{}, err)
			return
		}
		yieldEach(doc, f.name(file), each, yield)
	}
}

// eachOfStream gathers the rows of a streamed file as doc.
func eachOfStream(rows iter.Seq2[row, error], name string, each *Expr) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		doc := []any{}
		for r, err := range rows {
			if err != nil {
				yield(row{}, err)
				return
			}
			doc = append(doc, r.value)
		}
		yieldEach(doc, name, each, yield)
	}
}

func yieldEach(doc any, name string, each *Expr, yield func(row, error) bool) {
	list, isList := doc.([]any)
	switch {
	case each != nil:
		var err error
		if list, err = each.List(background, rowScope{row: row{doc: doc, file: name}}); err != nil {
			yield(row{}, mappingFault(each, err, name))
			return
		}
	case !isList:
		yield(row{}, &fileError{name + " holds no list of rows", "say where they are: tasks: {files: [...], each: doc.rows, ...}"})
		return
	}
	for i, value := range list {
		if !yield(row{value: value, doc: doc, file: name, line: i + 1}, nil) {
			return
		}
	}
}

// readDocument reads a .json or .yaml file as one value.
func readDocument(f folder, file string) (any, error) {
	text, err := f.read(file, maxDataBytes)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(path.Ext(file), ".json") {
		value, err := expr.ParseJSON(bytes.TrimPrefix(text, []byte("\ufeff")))
		if err != nil {
			return nil, jsonFault(f.name(file), text, 1, err)
		}
		return value, nil
	}
	tree, faults := source.Parse(source.NewFile(f.name(file), text))
	if faults.Err() != nil {
		return nil, faults
	}
	var plain any
	if faults := source.Decode(tree, &plain); faults.Err() != nil {
		return nil, faults
	}
	return valueOf(plain), nil
}

// readValue reads a file that a suite names as one value; the rows of a .jsonl file are a list.
func (l *loader) readValue(reference string) (any, error) {
	at, err := l.roots.resolve(l.doc.folder, reference)
	if err != nil {
		return nil, err
	}
	return readDocument(at.folder, at.path)
}

// lines streams a .jsonl file; empty lines are passed over.
func lines(f folder, file string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		opened, err := f.open(file, 0)
		if err != nil {
			yield(row{}, err)
			return
		}
		defer opened.Close()
		scanner := bufio.NewScanner(opened)
		scanner.Buffer(make([]byte, 64<<10), maxRowBytes)
		name := f.name(file)
		for line := 1; scanner.Scan(); line++ {
			if r, err := lineRow(name, scanner.Bytes(), line); (r.value != nil || err != nil) && !yield(r, err) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(row{}, readFailure(name, err))
		}
	}
}

func readFailure(name string, err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return &fileError{what: fmt.Sprintf("%s has a line of more than %d bytes", name, maxRowBytes)}
	}
	return &fileError{what: fmt.Sprintf("%s cannot be read: %v", name, err)}
}

func lineRow(name string, text []byte, line int) (row, error) {
	if line == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return row{}, nil
	}
	value, err := expr.ParseJSON(text)
	if err != nil {
		return row{}, jsonFault(name, text, line, err)
	}
	if value == nil {
		value = expr.NewObject(0) // a row that says nothing is still a row, and refused as one
	}
	return row{value: value, file: name, line: line}, nil
}

// records streams a .csv file: the first line names the columns, every value is text.
func records(f folder, file string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		opened, err := f.open(file, 0)
		if err != nil {
			yield(row{}, err)
			return
		}
		defer opened.Close()
		name := f.name(file)
		reader := csv.NewReader(opened)
		columns, err := reader.Read()
		if errors.Is(err, io.EOF) {
			yield(row{}, &fileError{name + " is empty", "the first line names the columns"})
			return
		}
		if err == nil {
			columns[0] = strings.TrimPrefix(columns[0], "\ufeff")
		}
		for err == nil {
			var values []string
			if values, err = reader.Read(); err != nil {
				break
			}
			line, _ := reader.FieldPos(0)
			if !yield(row{value: record(columns, values), file: name, line: line}, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(row{}, csvFault(name, err))
		}
	}
}

func record(columns, values []string) *expr.Object {
	object := expr.NewObject(len(columns))
	for i, column := range columns {
		object.Set(column, values[i])
	}
	return object
}

// faultIn is a fault at a line of a data file, of which only that line is shown.
func faultIn(name string, text []byte, line, column int, hint, format string, args ...any) source.Fault {
	const shown = 2000 // bytes; more never fits a terminal
	if len(text) > shown {
		text = text[:shown]
	}
	padded := append(bytes.Repeat([]byte("\n"), line-1), text...)
	return source.Fault{File: source.NewFile(name, padded), Pos: source.Pos{Line: line, Col: column}, What: fmt.Sprintf(format, args...), Hint: hint}
}

// jsonFault places an error of expr.ParseJSON in the text that starts at line.
func jsonFault(name string, text []byte, line int, err error) error {
	at, what := 1, err.Error()
	if _, scanned := fmt.Sscanf(what, "at byte %d:", &at); scanned == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	before := text[:min(max(at-1, 0), len(text))]
	line += bytes.Count(before, []byte("\n"))
	start := bytes.LastIndexByte(before, '\n') + 1
	end := len(text)
	if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
		end = start + i
	}
	column := 1 + len([]rune(string(before[start:])))
	return faultIn(name, text[start:end], line, column, "", "not JSON: %s", what)
}

func csvFault(name string, err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return readFailure(name, err)
	}
	return faultIn(name, nil, parse.Line, max(parse.Column, 1), "", "not CSV: %v", parse.Err)
}
