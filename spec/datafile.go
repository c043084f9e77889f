package spec

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// dataFile is a file of rows.
type dataFile struct {
	folder folder
	path   string
	name   string // as messages and expressions call it
	format format
	whole  bool // its rows are numbered, not known by their lines
	// terse, where it is true, leaves the text of faults away: they are only counted.
	terse *bool
}

func newDataFile(f folder, path string) *dataFile {
	return &dataFile{folder: f, path: path, name: f.name(path), format: formatOf(path)}
}

// place is where a row stands: FILE:LINE, or FILE:NUMBER for the rows of a whole document.
func (f *dataFile) place(n int) string { return fmt.Sprintf("%s:%d", f.name, n) }

func (f *dataFile) isCSV() bool { return f.format.ext == ".csv" }

func (f *dataFile) isTerse() bool { return f.terse != nil && *f.terse }

// fault is a fault at row n. Its line is read again to be shown: that happens to a few rows only.
func (f *dataFile) fault(n int, hint, format string, args ...any) source.Fault {
	what := fmt.Sprintf(format, args...)
	if f.isTerse() {
		return source.Fault{What: what}
	}
	if f.whole {
		return source.Fault{File: source.NewFile(f.name, nil), Hint: hint, What: fmt.Sprintf("row %d: %s", n, what)}
	}
	return faultIn(f.name, f.line(n), n, 1, hint, "%s", what)
}

// line reads line n again.
func (f *dataFile) line(n int) []byte {
	opened, err := f.open()
	if err != nil {
		return nil
	}
	defer opened.Close()
	scanner := newScanner(opened)
	for range n {
		if !scanner.Scan() {
			return nil
		}
	}
	return scanner.Bytes()
}

// faultIn is a fault at a line of a data file, of which only that line is kept.
func faultIn(name string, text []byte, line, column int, hint, format string, args ...any) source.Fault {
	const shown = 2000 // bytes; more never fits a terminal
	if len(text) > shown && column < shown/4 {
		text = text[:shown]
	}
	padded := append(bytes.Repeat([]byte("\n"), line-1), text...)
	return source.Fault{File: source.NewFile(name, padded), Pos: source.Pos{Line: line, Col: column}, What: fmt.Sprintf(format, args...), Hint: hint}
}

// parseJSON reads the text that starts at a line of the file. Bytes that are no UTF-8 are refused: a model would be
// sent something else than the file holds, and ids could become the same.
func (f *dataFile) parseJSON(text []byte, line int) (any, error) {
	value, err := expr.ParseJSON(text)
	if err != nil {
		return nil, f.jsonFault(text, line, err)
	}
	if !utf8.Valid(text) {
		return nil, f.encodingFault(text, line)
	}
	return value, nil
}

// encodingFault is at the first byte that is no UTF-8 of the text, which starts at a line of the file.
func (f *dataFile) encodingFault(text []byte, line int) error {
	if f.isTerse() {
		return source.Fault{What: "not UTF-8"}
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			shown, n, column := lineAt(text, line, at)
			return faultIn(f.name, shown, n, column, "save the file as UTF-8", "the byte 0x%02X is not UTF-8", text[at])
		}
		at += size
	}
	return faultIn(f.name, text, line, 1, "save the file as UTF-8", "this holds bytes that are not UTF-8")
}

// jsonFault places an error of expr.ParseJSON in the text, which starts at a line of the file.
func (f *dataFile) jsonFault(text []byte, line int, err error) error {
	if f.isTerse() {
		return source.Fault{What: err.Error()}
	}
	return jsonFaultIn(f.name, text, line, err)
}

func jsonFaultIn(name string, text []byte, line int, err error) error {
	at, what := 1, err.Error()
	if _, scanned := fmt.Sscanf(what, "at byte %d:", &at); scanned == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	shown, line, column := lineAt(text, line, min(max(at-1, 0), len(text)))
	return faultIn(name, shown, line, column, "", "not JSON: %s", what)
}

// lineAt is the line of byte at of a text that starts at a line: its text, its number and the column, from 1.
func lineAt(text []byte, line, at int) (shown []byte, n, column int) {
	before := text[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	end := len(text)
	if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
		end = start + i
	}
	return text[start:end], line + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

func (f *dataFile) csvFault(err error) error {
	var parse *csv.ParseError
	var known source.Fault
	var ofFile *fileError
	switch {
	case errors.As(err, &known), errors.As(err, &ofFile):
		return err
	case !errors.As(err, &parse):
		return f.readFailure(err)
	}
	return faultIn(f.name, f.line(parse.Line), parse.Line, max(parse.Column, 1), "", "not CSV: %v", parse.Err)
}
