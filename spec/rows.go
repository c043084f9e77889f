package spec

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// at is the byte that the row begins at, in a .jsonl or .csv file; in a .parquet file its number, from 0.
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
	case f.isParquet():
		streamed = f.parquetRows
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
	doc, err := gathered(streamed)
	if err != nil {
		yield(row{dataFile: f}, err)
		return
	}
	f.whole = true
	f.yieldEach(doc, each, yield)
}

// gathered are the values of rows.
func gathered(rows iter.Seq2[row, error]) ([]any, error) {
	doc := []any{}
	for r, err := range rows {
		if err != nil {
			return nil, err
		}
		doc = append(doc, r.value)
	}
	return doc, nil
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
		yield(row{dataFile: f}, &fileError{f.name + " holds no list of rows", f.placeHint(doc)})
		return
	}
	for i, value := range list {
		if !yield(row{dataFile: f, value: value, doc: doc, n: i + 1}, nil) {
			return
		}
	}
}

// placeHint says where a document that is no list has one.
func (f *dataFile) placeHint(doc any) string {
	object, ok := doc.(*expr.Object)
	if !ok {
		return "write a list of rows"
	}
	for i := range object.Len() {
		if key, value := object.At(i); key == "suite" || key == "loop" {
			return "this is a " + key + "; tasks are a list, or a file of their own"
		} else if isWord(key) {
			if _, isList := value.([]any); isList {
				return fmt.Sprintf("name their place: tasks: {files: [%s], each: doc.%s}", f.name, key)
			}
		}
	}
	return "write a list of rows, even of one: [{...}]"
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

// document reads a file as one value: a .json or .yaml file, or the rows of a .parquet file.
func (f *dataFile) document() (any, error) {
	if f.isParquet() {
		return gathered(f.parquetRows)
	}
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
			return f.fault(1, "give one of them another name", "duplicate column %q", shorten(column))
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

// taskFormats are what files of rows may be; textFormats are files that are one row each, of tasks alone.
var (
	taskFormats = []string{".jsonl", ".json", ".yaml", ".yml", ".csv", ".parquet"}
	textFormats = []string{".txt", ".md"}
)

// format is how a data file is read: what its name ends in, in lower case, and whether it is packed.
type format struct {
	ext    string
	packed bool
}

func formatOf(file string) format {
	ext := path.Ext(file)
	if !strings.EqualFold(ext, ".gz") {
		return format{ext: strings.ToLower(ext)}
	}
	return format{strings.ToLower(path.Ext(strings.TrimSuffix(file, ext))), true}
}

// stem is the name of a file without what it ends in.
func stem(file string) string {
	name := path.Base(file)
	if ext := path.Ext(name); strings.EqualFold(ext, ".gz") {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, path.Ext(name))
}

// rows reports whether the file holds rows; any other is text, and one row.
func (f format) rows() bool { return slices.Contains(taskFormats, f.ext) }

func (f format) streamed() bool { return f.ext == ".jsonl" || f.ext == ".csv" || f.ext == ".parquet" }

// open opens the file as it reads unpacked.
func (f *dataFile) open() (io.ReadCloser, error) {
	opened, err := f.folder.open(f.path, 0)
	if err != nil || !f.format.packed {
		return opened, err
	}
	info, err := opened.Stat()
	if err != nil {
		opened.Close()
		return nil, f.readFailure(err)
	}
	unpacked, err := gzip.NewReader(opened)
	if err != nil {
		opened.Close()
		return nil, f.readFailure(err)
	}
	return &packed{unpacked, opened, maxUnpackedFree + maxUnpackedTimes*info.Size()}, nil
}

// packed is a file that is read through gzip, up to so many bytes: a few that are packed may stand for very many.
type packed struct {
	*gzip.Reader
	file fs.File
	left int64
}

var errUnpacksTooMuch = errors.New("it unpacks to too much")

// Read implements [io.Reader].
func (p *packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.left -= int64(n); p.left < 0 {
		return 0, errUnpacksTooMuch
	}
	return n, err
}

// countRow counts a row of a file as at least rowBytes bytes: what a row takes to read does not end with its length.
func countRow(opened io.Reader, bytes int64) {
	if p, ok := opened.(*packed); ok {
		p.left -= max(0, rowBytes-bytes)
	}
}

// Close implements io.Closer.
func (p *packed) Close() error { return errors.Join(p.Reader.Close(), p.file.Close()) }

// read reads the whole file. What it unpacks to is limited, too.
func (f *dataFile) read() ([]byte, error) {
	if !f.format.packed {
		return f.folder.read(f.path, maxDataBytes)
	}
	opened, err := f.open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxUnpackedBytes+1))
	if err == nil && len(text) > maxUnpackedBytes {
		return nil, &fileError{fmt.Sprintf("%s unpacks to more than %d bytes", f.name, maxUnpackedBytes), "files that end in .jsonl.gz or .csv.gz are not read whole"}
	}
	if err != nil {
		return nil, f.readFailure(err)
	}
	return text, nil
}

// dataFile is a file of rows.
type dataFile struct {
	folder folder
	path   string
	name   string // as messages and expressions call it
	format format
	whole  bool // its rows are numbered, not known by their lines
	// taskFolder is the folder that is a task, as the suite names it, and whose task.yaml the file is; "": it holds rows.
	taskFolder string
	// terse, where it is true, leaves the text of faults away: they are only counted.
	terse *bool
}

func newDataFile(f folder, path string) *dataFile {
	return &dataFile{folder: f, path: path, name: f.name(path), format: formatOf(path)}
}

// place is where a row stands: FILE:LINE, or FILE:NUMBER for the rows of a whole document; a folder is its own place.
func (f *dataFile) place(n int) string {
	if f.taskFolder != "" {
		return f.name
	}
	return fmt.Sprintf("%s:%d", f.name, n)
}

func (f *dataFile) isCSV() bool { return f.format.ext == ".csv" }

func (f *dataFile) isParquet() bool { return f.format.ext == ".parquet" }

func (f *dataFile) isTerse() bool { return f.terse != nil && *f.terse }

// fault is a fault at row n. Its line is read again to be shown: that happens to a few rows only.
func (f *dataFile) fault(n int, hint, format string, args ...any) source.Fault {
	what := fmt.Sprintf(format, args...)
	if f.isTerse() {
		return source.Fault{What: what}
	}
	if f.taskFolder != "" {
		return source.Fault{File: source.NewFile(f.name, nil), Hint: hint, What: what}
	}
	if f.whole || f.isParquet() {
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
	return faultIn(name, shown, line, column, jsonHint(what, path.Ext(name) == ".jsonl", column), "not JSON: %s", what)
}

// jsonHint knows the usual mistakes.
func jsonHint(what string, lines bool, column int) string {
	switch {
	case strings.HasPrefix(what, `'\'' where`):
		return "put keys and texts in double quotes"
	case strings.HasPrefix(what, "'}' where a key"), strings.HasPrefix(what, "']' where a JSON value"):
		return "remove the comma before it"
	case lines && strings.HasSuffix(what, "after the end of the JSON value"):
		return "write one object a line"
	case lines && (column == 1 || strings.HasPrefix(what, "end of text")):
		return `each line is one whole JSON object: {"input": "...", "target": "..."}`
	}
	return ""
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
	hint := `close the quotes; a quote within a field is written ""`
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		hint = "each line has as many fields as the first one; put a field that holds a comma in double quotes"
	}
	return faultIn(f.name, f.line(parse.Line), parse.Line, max(parse.Column, 1), hint, "not CSV: %v", parse.Err)
}

// DataFile is a file of tasks or of recorded answers, and the hash of its bytes.
type DataFile struct{ Name, Hash string }

// DataFiles are the files of the suite's tasks and of its script models, in their order. They are named as the suite
// names them; those that a pattern finds, by their paths in its folder.
func (d *Document) DataFiles() ([]DataFile, error) {
	if d.Suite == nil {
		return nil, nil
	}
	var references []string
	for _, m := range d.Suite.Models {
		references = append(references, m.Value.Files...)
		if r := m.Value.Responses; r != nil && r.File != "" {
			references = append(references, r.File)
		}
	}
	files, err := d.TaskFiles()
	if err != nil {
		return nil, err
	}
	answers, err := d.hashAll(references)
	return append(files, answers...), err
}

// TaskFiles are those of the suite's tasks alone.
func (d *Document) TaskFiles() ([]DataFile, error) {
	if d.Suite == nil {
		return nil, nil
	}
	files, err := d.hashAll(d.Suite.Tasks.Files)
	if err != nil {
		return nil, err
	}
	said, err := d.hashTaskFolders()
	return append(files, said...), err
}

func (d *Document) hashAll(references []string) (files []DataFile, err error) {
	for _, reference := range references {
		at, found, err := d.roots.files(d.folder, reference)
		if err != nil {
			return nil, err
		}
		root := reference[:len(reference)-len(at.path)]
		for _, file := range found {
			sum, err := at.folder.sum(file)
			if err != nil {
				return nil, err
			}
			files = append(files, DataFile{Name: root + file, Hash: sum})
		}
	}
	return files, nil
}

// sum is the hash of a file of any size.
func (f folder) sum(file string) (string, error) {
	opened, err := f.open(file, 0)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	h := sha256.New()
	if _, err := io.Copy(h, opened); err != nil {
		return "", fmt.Errorf("reading %s: %w", f.name(file), err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
