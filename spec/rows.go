package spec

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
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
	// at is the byte that the row begins at, in a .jsonl or .csv file.
	at int64
}

// rows gives the rows of a file. A bad row is an error, after which the next rows follow; each may be nil.
func (f *dataFile) rows(each *Expr) iter.Seq2[row, error] {
	streamed := f.lines
	switch {
	case !f.format.rows():
		return f.text
	case f.isCSV():
		streamed = f.records
	case !f.format.streamed():
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

// text is the one row of a file that holds no rows.
func (f *dataFile) text(yield func(row, error) bool) { yield(f.textRow()) }

func (f *dataFile) textRow() (row, error) {
	r := row{dataFile: f, n: 1}
	text, err := f.read()
	if err == nil && !utf8.Valid(text) {
		err = f.encodingFault(text, 1)
	}
	object := expr.NewObject(4)
	object.Set("name", path.Base(f.path))
	object.Set("stem", stem(f.path))
	object.Set("path", f.name)
	object.Set("text", string(bytes.TrimPrefix(text, byteOrderMark)))
	r.value = object
	return r, err
}

// lines streams a .jsonl file; empty lines are passed over.
func (f *dataFile) lines(yield func(row, error) bool) {
	opened, err := f.open()
	if err != nil {
		yield(row{dataFile: f}, err)
		return
	}
	defer opened.Close()
	scanner := newScanner(opened)
	n, at, next := 0, int64(0), int64(0)
	searched := 0 // bytes of a line that has no end yet: each is looked at once, however little comes at a time
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if !atEOF && bytes.IndexByte(data[searched:], '\n') < 0 {
			searched = len(data)
			return 0, nil, nil
		}
		searched = 0
		blank, lines := blankLines(data)                            // millions of them are no work
		advance, token, err := bufio.ScanLines(data[blank:], atEOF) // at once: a scanner that has come to the end asks no more where it gets no line
		n += lines
		if token != nil {
			n++
			at = next + int64(blank)
		}
		next += int64(blank + advance)
		return blank + advance, token, err
	})
	for scanner.Scan() {
		countRow(opened, next-at)
		if r, err := f.lineRow(scanner.Bytes(), n); r.n > 0 {
			r.at = at
			if !yield(r, err) {
				return
			}
		}
	}
	if err := scanner.Err(); err != nil {
		yield(row{dataFile: f}, f.readFailure(err))
	}
}

// blankLines are how many bytes and lines at the beginning hold nothing but white space.
func blankLines(data []byte) (bytes, lines int) {
	for i, c := range data {
		switch c {
		case '\n':
			bytes, lines = i+1, lines+1
		case ' ', '\t', '\r':
		default:
			return bytes, lines
		}
	}
	return bytes, lines
}

// lineRow is the row that line n holds; without a number where it is empty.
func (f *dataFile) lineRow(text []byte, n int) (row, error) {
	if n == 1 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return row{}, nil
	}
	value, err := f.parseJSON(text, n)
	return row{dataFile: f, value: value, n: n}, err
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
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	if f.format.ext == ".json" {
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
	if errors.Is(err, errUnpacksTooMuch) {
		return &fileError{fmt.Sprintf("%s unpacks to more than %d times its size and %d bytes, where a row counts as at least %d", f.name, maxUnpackedTimes, maxUnpackedFree, rowBytes), "unpack it, if that is meant"}
	}
	if f.format.packed {
		return &fileError{fmt.Sprintf("%s cannot be unpacked: %s", f.name, gzipWords(err)), "pack it again, or write it where it is not cut off"}
	}
	return &fileError{what: fmt.Sprintf("%s cannot be read: %v", f.name, err)}
}

// gzipWords say what is wrong with a packed file.
func gzipWords(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too early"
	case errors.Is(err, gzip.ErrHeader):
		return "it is not what gzip writes"
	case errors.Is(err, gzip.ErrChecksum):
		return "it is damaged, its checksum is another"
	}
	return "it is damaged: " + err.Error()
}
