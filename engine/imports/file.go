package imports

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Problem is something that could not be read.
type Problem struct {
	File string
	Line int // 0: of the file as a whole
	What string
}

// Error names the place.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// file is a file that is being read.
type file struct {
	name  string
	shape shape
	zip   *spec.Zip
	give  func(row, *Problem) bool
	// ended says that who reads wants no more.
	ended bool
}

// yield hands out a row, or what is wrong with it.
func (f *file) yield(r row, err error) bool {
	if err != nil {
		return f.fail(r.line, err)
	}
	r.file = f.name
	f.ended = !f.give(r, nil)
	return !f.ended
}

// fail hands out what is wrong. It gives false: only behind a row whose end is
// known can one go on.
func (f *file) fail(line int, err error) bool {
	var b *broken
	if errors.As(err, &b) {
		line = b.line
	}
	f.ended = !f.give(row{}, &Problem{File: f.name, Line: line, What: err.Error()})
	return false
}

// read reads a file by its beginning and its name.
func (f *file) read(r io.Reader) {
	start := bufio.NewReader(r)
	head, _ := start.Peek(4) // a shorter file is no zip file
	switch ext := strings.ToLower(path.Ext(f.name)); {
	case bytes.Equal(head, []byte("PK\x03\x04")):
		f.archive(r, start)
	case ext == ".csv":
		f.table(start)
	case ext == ".jsonl" || ext == ".ndjson":
		f.lines(start)
	default:
		f.documents(newStream(start))
	}
}

// documents reads one JSON document after the other.
func (f *file) documents(s *stream) {
	for n := 0; ; n++ {
		c, err := s.peek()
		switch {
		case err != nil:
			f.fail(s.line, err)
			return
		case c == 0 && n == 0:
			f.fail(0, errors.New("the file is empty"))
			return
		case c == 0:
			return
		}
		if !f.document(s) {
			return
		}
	}
}

// lines reads a document a line. A line that is no JSON is told, and the next
// lines follow.
func (f *file) lines(r *bufio.Reader) {
	s := newLines(r)
	for {
		text, line, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			f.fail(line, err)
			return
		case len(bytes.TrimSpace(text)) == 0:
			continue
		}
		text = bytes.TrimRight(text, "\r\n") // an end that is missing is missed on this line
		doc, err := expr.ParseJSON(text)
		if err != nil {
			f.fail(line, notJSON(text, line, err))
		} else {
			f.inMemory(doc, line)
		}
		if f.ended {
			return
		}
	}
}

// lineReader reads lines of any length, up to mostBytes.
type lineReader struct {
	r    *bufio.Reader
	buf  []byte
	line int
}

func newLines(r *bufio.Reader) *lineReader {
	if mark, _ := r.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = r.Discard(3) // they were peeked at
	}
	return &lineReader{r: r}
}

// next is the next line, until the next call.
func (l *lineReader) next() ([]byte, int, error) {
	l.line++
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf) == 0 && err == nil {
			return part, l.line, nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > mostBytes:
			return nil, l.line, fmt.Errorf("a line of more than %d bytes", mostBytes)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0, err == nil:
			return l.buf, l.line, nil
		default:
			return nil, l.line, err
		}
	}
}

// table reads a .csv file: the first line names the columns, every value is text.
func (f *file) table(r *bufio.Reader) {
	newLines(r) // steps over the byte order mark
	if f.shape.each != nil || f.shape.values || f.shape.path != nil {
		f.fail(0, errors.New("a .csv file has a row a line, but the mapping has each"))
		return
	}
	reader := csv.NewReader(r)
	columns, err := reader.Read()
	if err != nil {
		f.fail(1, tableError(err))
		return
	}
	columns = slices.Clone(columns)
	for {
		values, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.fail(0, tableError(err))
			var parse *csv.ParseError
			if !errors.As(err, &parse) || f.ended {
				return
			}
			continue
		}
		line, _ := reader.FieldPos(0)
		object := expr.NewObject(len(columns))
		for i, column := range columns {
			object.Set(column, values[i])
		}
		if !f.yield(row{value: object, line: line}, nil) {
			return
		}
	}
}

func tableError(err error) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.As(err, &parse):
		return &broken{parse.Line, "not CSV: " + parse.Err.Error()}
	}
	return err
}
