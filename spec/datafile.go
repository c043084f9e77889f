package spec

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// dataFile is a file of rows.
type dataFile struct {
	folder folder
	path   string
	name   string // as messages and expressions call it
	whole  bool   // its rows are numbered, not known by their lines
}

func newDataFile(f folder, path string) *dataFile {
	return &dataFile{folder: f, path: path, name: f.name(path)}
}

// place is where a row stands: FILE:LINE, or FILE:NUMBER for the rows of a whole document.
func (f *dataFile) place(n int) string { return fmt.Sprintf("%s:%d", f.name, n) }

func (f *dataFile) isCSV() bool { return strings.EqualFold(path.Ext(f.path), ".csv") }

// fault is a fault at row n. Its line is read again to be shown: that happens to a few rows only.
func (f *dataFile) fault(n int, hint, format string, args ...any) source.Fault {
	what := fmt.Sprintf(format, args...)
	if f.whole {
		return source.Fault{File: source.NewFile(f.name, nil), Hint: hint, What: fmt.Sprintf("row %d: %s", n, what)}
	}
	return faultIn(f.name, f.line(n), n, 1, hint, "%s", what)
}

// line reads line n again.
func (f *dataFile) line(n int) []byte {
	opened, err := f.folder.open(f.path, 0)
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

// jsonFault places an error of expr.ParseJSON in the text, which starts at a line of the file.
func (f *dataFile) jsonFault(text []byte, line int, err error) error {
	return jsonFaultIn(f.name, text, line, err)
}

func jsonFaultIn(name string, text []byte, line int, err error) error {
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

func (f *dataFile) csvFault(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return f.readFailure(err)
	}
	return faultIn(f.name, f.line(parse.Line), parse.Line, max(parse.Column, 1), "", "not CSV: %v", parse.Err)
}
