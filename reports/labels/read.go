package labels

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/source"
)

// Read reads a CSV file with a header. Its columns may be separated by commas,
// semicolons or tabs; a byte order mark and any ends of lines are fine, and so are
// comments before the header. The labels are those in which there is no fault.
func Read(name string, text []byte, scale Scale) (*File, source.Faults) {
	f := &File{file: source.NewFile(name, text)}
	rows, faults := f.rows(withoutComments(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if len(rows) == 0 {
		return f, append(faults, source.Fault{File: f.file, What: "the file is empty", Hint: "its first line names the columns, for example run,label"})
	}
	c, found := f.headed(rows[0])
	if faults = append(faults, found...); len(found) > 0 {
		return f, faults
	}
	faults = append(faults, f.fill(rows[1:], len(rows[0]), c)...)
	faults = append(faults, f.judge(scale)...)
	if len(rows) == 1 && len(faults) == 0 {
		faults = append(faults, source.Fault{File: f.file, What: "there are no labels"})
	}
	return f, faults
}

// withoutComments is a file whose comments are empty lines: lines that begin with #
// and stand before the header. Behind it # may begin the name of a task, and a header
// may begin with it, too.
func withoutComments(text []byte) []byte {
	rest, blank := text, []byte(nil)
	for {
		line, next, more := bytes.Cut(rest, []byte("\n"))
		comment := bytes.HasPrefix(line, []byte("#")) && !isHeader.Match(line)
		if !comment && len(bytes.TrimSpace(line)) > 0 || !more {
			return append(blank, rest...)
		}
		blank, rest = append(blank, '\n'), next
	}
}

// isHeader is a line with a column of labels.
var isHeader = regexp.MustCompile(`(?i)[,;\t]\s*"?label2?"?\s*(?:[,;\t]|$)`)

// rows are the cells of a file. After a fault in its quotes nothing more is known.
func (f *File) rows(text []byte) (rows [][]cell, faults source.Faults) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord = separator(text), -1
	for {
		fields, err := r.Read()
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return rows, faults
		case errors.As(err, &syntax):
			at := cell{line: syntax.Line, column: syntax.Column}
			return rows, append(faults, f.fault(at, "a cell that holds quotes is put into quotes, and each of its own is written twice", "no CSV: %v", syntax.Err))
		case err != nil: // of bytes there is no other
			return rows, append(faults, source.Fault{File: f.file, What: err.Error()})
		}
		row := make([]cell, len(fields))
		for i, text := range fields {
			row[i].text = text
			row[i].line, row[i].column = r.FieldPos(i)
		}
		rows = append(rows, row)
	}
}

// separator is what separates the names in the header.
func separator(text []byte) rune {
	header, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	most := ','
	for _, other := range []rune{';', '\t'} {
		if bytes.Count(header, []byte(string(other))) > bytes.Count(header, []byte(string(most))) {
			most = other
		}
	}
	return most
}

// fill makes labels of rows, without knowing what they are worth.
func (f *File) fill(rows [][]cell, width int, c columns) (faults source.Faults) {
	met := map[string]int{}
	for _, row := range rows {
		l, found := f.label(row, width, c)
		if len(found) == 0 {
			if before, twice := met[l.key()]; twice {
				found = append(found, f.Fault(&l, "", "it is labelled in line %d already", before))
			}
			met[l.key()] = l.line
		}
		if faults = append(faults, found...); len(found) == 0 {
			f.Labels = append(f.Labels, l)
		}
	}
	return faults
}

// key is the same for labels of the same output.
func (l *Label) key() string {
	return strings.Join([]string{l.Run, l.Configuration, l.Task, strconv.Itoa(l.Trial), l.Output}, "\x00")
}

func (f *File) label(row []cell, width int, c columns) (l Label, faults source.Faults) {
	l = Label{first: c.of(row, "label"), second: c.of(row, "label2"), line: row[0].line}
	if len(row) != width {
		return l, source.Faults{f.fault(row[len(row)-1], "a cell that holds a separator is put into quotes", "the row has %d cells, and the header %d", len(row), width)}
	}
	for _, cell := range row {
		if !utf8.ValidString(cell.text) {
			faults = append(faults, f.fault(cell, "save the file as UTF-8", "no UTF-8"))
		}
	}
	if strings.TrimSpace(l.first.text) == "" {
		faults = append(faults, f.fault(l.first, "leave out the rows that nobody has labelled", "the label is empty"))
	}
	return l, append(faults, f.place(&l, row, c)...)
}

// place reads what is labelled.
func (f *File) place(l *Label, row []cell, c columns) (faults source.Faults) {
	l.at = c.of(row, "run")
	if c.has("run") {
		l.Run = l.at.text
		return f.named("run", l.at)
	}
	l.at = c.of(row, "task")
	l.Task = l.at.text
	faults = f.named("task", l.at)
	if f.Texts {
		l.Output = c.of(row, "output").text
		return faults
	}
	configuration := c.of(row, "configuration")
	l.Configuration, l.Trial = configuration.text, 1
	faults = append(faults, f.named("configuration", configuration)...)
	if !c.has("trial") {
		return faults
	}
	trial := c.of(row, "trial")
	var err error
	if l.Trial, err = strconv.Atoi(strings.TrimSpace(trial.text)); err != nil || l.Trial < 1 {
		faults = append(faults, f.fault(trial, "", "trial %q: want a whole number from 1", trial.text))
	}
	return faults
}

// named wants a name.
func (f *File) named(what string, c cell) source.Faults {
	if c.text != "" {
		return nil
	}
	return source.Faults{f.fault(c, "", "the %s is empty", what)}
}
