package imports

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// row is what a mapping makes a run of.
type row struct {
	doc   any // what of its document was read before it
	value any
	file  string
	line  int // at which it begins, or at which its document does
	n     int // which row of its document it is, from 1; 0: the only one at its line
	bytes int // of its text, or its document's
}

// file reads the rows of a file.
type file struct {
	name string
	of   string // the file that its rows are of; "": this one
	each *spec.Expr
	path []string // the keys that lead to the list of rows, where each is one such as doc.log.runs
	zip  *spec.Zip
	// give takes a row, or what could not be read, and reports whether it wants more.
	give  func(row, *Problem) bool
	notes *Notes
}

// errEnough ends the reading of a file: no more rows are wanted.
var errEnough = errors.New("enough")

var pathOfKeys = regexp.MustCompile(`^doc\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)$`)

func newFile(name string, m *spec.Import, notes *Notes, give func(row, *Problem) bool) *file {
	f := &file{name: name, each: m.Each, zip: m.Zip, notes: notes, give: give}
	if m.Each == nil {
		return f
	}
	text := strings.Join(strings.Fields(m.Each.Text), "")
	if keys := pathOfKeys.FindStringSubmatch(text); keys != nil {
		f.path = strings.Split(keys[1], ".")
	}
	if text == "doc" {
		f.each = nil
	}
	return f
}

func (f *file) yield(r row) error {
	r.file = cmp.Or(f.of, f.name)
	if !f.give(r, nil) {
		return errEnough
	}
	return nil
}

// report hands out what is wrong.
func (f *file) report(err error) error {
	if err == nil || errors.Is(err, errEnough) {
		return err
	}
	problem := &Problem{What: err.Error()}
	errors.As(err, &problem)
	problem.File = f.name
	if !f.give(row{}, problem) {
		return errEnough
	}
	return nil
}

// read reads a file by its beginning and its name. It returns errEnough, or nothing.
func (f *file) read(r io.Reader) error {
	start := bufio.NewReader(r)
	head, _ := start.Peek(4) // a shorter file is no zip file
	switch ext := strings.ToLower(path.Ext(f.name)); {
	case bytes.Equal(head, []byte("PK\x03\x04")):
		return f.report(f.archive(r))
	case ext == ".csv":
		return f.report(f.table(start))
	case ext == ".jsonl" || ext == ".ndjson":
		return f.report(f.lines(start))
	}
	return f.report(f.documents(newValues(start)))
}

var errEmpty = errors.New("the file is empty")

func (f *file) documents(v *values) error {
	for n := 0; ; n++ {
		first, err := v.peek()
		switch {
		case err == nil && first == 0 && n == 0:
			return errEmpty
		case err != nil || first == 0:
			return err
		case first == '{' && f.path != nil:
			doc := expr.NewObject(4)
			err = f.below(v, doc, doc, f.path)
		case first == '[' && f.each == nil:
			err = f.list(v, nil)
		default:
			doc, line, wrong := v.value()
			if err = wrong; err == nil {
				err = f.whole(doc, line, 0)
			}
		}
		if err != nil {
			return err
		}
	}
}

// whole gives the rows of a document in memory; all of them have its line.
func (f *file) whole(doc any, line, bytes int) error {
	rows, isList := doc.([]any)
	switch {
	case isList && f.path != nil: // a log may be written without what stands above its path
	case f.each != nil:
		s := &scope{row: row{doc: doc, file: f.name, line: line}}
		if rows = list(f.each, s); s.err != nil {
			return f.report(&Problem{Line: line, What: s.err.Error()})
		}
	case !isList:
		rows = []any{doc}
	}
	for i, value := range rows {
		r := row{doc: doc, value: value, line: line, bytes: bytes / len(rows)}
		if len(rows) > 1 {
			r.n = i + 1
		}
		if err := f.yield(r); err != nil {
			return err
		}
	}
	return nil
}

// list gives the items of a list. One that is not JSON inside is reported, and the next follow.
func (f *file) list(v *values, doc any) error {
	return v.members(func(string) error {
		text, line, err := v.raw()
		if err != nil {
			return err
		}
		value, err := parse(text, line)
		if err != nil {
			return f.report(err)
		}
		return f.yield(row{doc: doc, value: value, line: line, bytes: len(text)})
	})
}

// below gives the rows of the list at a path of keys below an object. They see what stands before
// them as doc; what comes after them is not read.
func (f *file) below(v *values, doc, here *expr.Object, path []string) error {
	first, err := v.peek()
	switch {
	case err != nil:
		return err
	case len(path) == 0 && first == '[':
		return f.list(v, doc)
	case len(path) == 0:
		return v.problem("want a list of rows")
	case first != '{':
		return v.problem("%s is missing", strings.Join(strings.Fields(f.each.Text), ""))
	}
	found := false
	err = v.members(func(key string) error {
		if found {
			_, _, err := v.raw()
			return err
		}
		if found = key == path[0]; found {
			inner := expr.NewObject(4)
			if len(path) > 1 {
				here.Set(key, inner)
			}
			return f.below(v, doc, inner, path[1:])
		}
		value, _, err := v.value()
		here.Set(key, value)
		return err
	})
	if err == nil && !found {
		err = v.problem("%s is missing", strings.Join(strings.Fields(f.each.Text), ""))
	}
	return err
}

// lines reads a document a line. A line that is not JSON is reported, and the next
// lines follow.
func (f *file) lines(r *bufio.Reader) error {
	s := bufio.NewScanner(withoutMark(r))
	s.Buffer(make([]byte, 0, 64<<10), mostBytes)
	line := 0
	for s.Scan() {
		line++
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		doc, err := parse(s.Bytes(), line)
		if err == nil {
			err = f.whole(doc, line, len(s.Bytes()))
		}
		if err := f.report(err); err != nil {
			return err
		}
	}
	switch err := s.Err(); {
	case err == nil && line == 0:
		return errEmpty
	case errors.Is(err, bufio.ErrTooLong):
		return &Problem{Line: line + 1, What: fmt.Sprintf("a line of more than %d bytes", mostBytes)}
	case err != nil:
		return &Problem{Line: line + 1, What: err.Error()}
	}
	return nil
}

// table reads a .csv file: the first line names the columns, every value is text. A line with another number of
// values is reported, and the next lines follow.
func (f *file) table(r *bufio.Reader) error {
	if f.each != nil {
		return errors.New("a .csv file has a row a line, but the mapping has each")
	}
	reader := csv.NewReader(withoutMark(r))
	columns, err := reader.Read()
	if err != nil {
		return tableError(err)
	}
	for {
		values, err := reader.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong):
			err = f.report(tableError(err))
		case err == nil:
			line, _ := reader.FieldPos(0)
			object := expr.NewObject(len(columns))
			for i, column := range columns {
				object.Set(column, values[i])
			}
			err = f.yield(row{value: object, line: line})
		}
		if err != nil {
			return err
		}
	}
}

func tableError(err error) error {
	var wrong *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return errEmpty
	case errors.As(err, &wrong):
		return &Problem{Line: wrong.Line, What: "not CSV: " + wrong.Err.Error()}
	}
	return err
}

// archive reads a zip file: the members that the mapping says are rows, or else
// every JSON member as a file of its own. Of members of one name the last is meant.
func (f *file) archive(r io.Reader) error {
	opened, err := openZip(r)
	if err != nil {
		return err
	}
	last := map[string]*zip.File{}
	for _, m := range opened.File {
		last[m.Name] = m
	}
	var doc any
	if f.zip != nil && len(f.zip.Doc) > 0 {
		at := slices.IndexFunc(f.zip.Doc, func(name string) bool { return last[name] != nil })
		if at < 0 {
			return errors.New("the zip file has no member " + strings.Join(f.zip.Doc, ", "))
		}
		if doc, _, err = memberValue(last[f.zip.Doc[at]]); err != nil {
			return fmt.Errorf("%s: %v", f.zip.Doc[at], err)
		}
	}
	for _, member := range opened.File {
		wanted := isJSON(member.Name)
		if f.zip != nil {
			wanted, _ = path.Match(f.zip.Rows, member.Name) // the pattern was checked
		}
		if wanted && last[member.Name] != member {
			f.notes.Replaced++
		} else if wanted {
			if err := f.member(member, doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// member reads a member: as a row, or as a file.
func (f *file) member(m *zip.File, doc any) error {
	inner := *f
	inner.name, inner.zip = f.name+"/"+m.Name, nil
	if f.zip != nil {
		value, line, err := memberValue(m)
		if err != nil {
			return inner.report(err)
		}
		return inner.yield(row{doc: doc, value: value, line: line, bytes: int(m.UncompressedSize64)})
	}
	opened, err := openMember(m)
	if err != nil {
		return inner.report(err)
	}
	defer opened.Close()
	return inner.read(opened)
}

func memberValue(m *zip.File) (any, int, error) {
	r, err := openMember(m)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	return newValues(r).value()
}

func isJSON(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".json" || ext == ".jsonl"
}

// openZip wants a file that can be read at any place.
func openZip(r io.Reader) (*zip.Reader, error) {
	at, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, errors.New("a zip file cannot be read from a pipe")
	}
	size, err := at.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	opened, err := zip.NewReader(at, size)
	if err != nil {
		return nil, fmt.Errorf("the zip file is cut off or damaged: %w", err)
	}
	opened.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(mostWindow)))
	return opened, nil
}

// What a member of a zip file may take: the memory of its compression, and, from a
// size on, so many times its size in the zip file.
const (
	mostWindow    = 128 << 20
	mostExpansion = 300
	expandsFreely = 64 << 20
)

// expanding reads a member as long as that is in proportion.
type expanding struct {
	io.ReadCloser
	member *zip.File
	read   uint64
}

func (e *expanding) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if e.read += uint64(n); e.read > mostBytes || e.read > expandsFreely && e.read/mostExpansion > e.member.CompressedSize64 {
		return 0, fmt.Errorf("%d bytes expand to more than %d: is the zip file a bomb? To import it, unpack it first", e.member.CompressedSize64, e.read-1)
	}
	return n, err
}

func openMember(m *zip.File) (io.ReadCloser, error) {
	opened, err := m.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return nil, errors.New(m.Name + " has an unknown compression method; unpack the zip file and import its members")
	case err != nil:
		return nil, err
	}
	return &expanding{ReadCloser: opened, member: m}, nil
}
