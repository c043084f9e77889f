package spec

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
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

// dataFile is a file of rows.
type dataFile struct {
	folder folder
	path   string
	name   string // as messages and expressions call it
	ext    string // what its name ends in, in lower case, without .gz
	packed bool
	header []byte // the line that names the columns of a table
	// taskFolder is the folder that is a task, as the suite names it, and whose task.yaml the file is; "": it holds rows.
	taskFolder string
}

func newDataFile(f folder, file string) *dataFile {
	unpacked, packed := unpackedName(file)
	return &dataFile{folder: f, path: file, name: f.name(file), ext: strings.ToLower(path.Ext(unpacked)), packed: packed}
}

func unpackedName(file string) (name string, packed bool) {
	ext := path.Ext(file)
	if packed = strings.EqualFold(ext, ".gz"); packed {
		file = strings.TrimSuffix(file, ext)
	}
	return file, packed
}

// taskFormats are what files of rows may be; textFormats are files that are one row each, of tasks alone.
var (
	taskFormats = []string{".jsonl", ".json", ".yaml", ".yml", ".csv", ".parquet"}
	textFormats = []string{".txt", ".md"}
)

// hasRows reports whether the file holds rows; any other is text, and one row.
func (f *dataFile) hasRows() bool { return slices.Contains(taskFormats, f.ext) }

func (f *dataFile) isCSV() bool { return f.ext == ".csv" }

// fileNode is where the i-th file is named.
func (t *Tasks) fileNode(i int) *source.Node {
	if files := fileNodes(t.Node.Get("files")); i < len(files) {
		return files[i]
	}
	return t.Node
}

// rows are those of all files that the paths and patterns name. The next rows follow an error.
func (d *Document) rows(files []string, at func(int) *source.Node, each *Expr) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for i, reference := range files {
			place, found, err := d.roots.files(d.folder, reference)
			if err != nil && !yield(row{}, faultOf(at(i), err)) {
				return
			}
			for _, file := range found {
				for r, err := range newDataFile(place.folder, file).rows(each) {
					if !yield(r, faultOf(at(i), err)) {
						return
					}
				}
			}
		}
	}
}

// faultOf places an error about a file where the file is named.
func faultOf(n *source.Node, err error) error {
	if known, ok := errors.AsType[*fileError](err); ok {
		return n.Fault(known.hint, "%s", known.what)
	}
	return err
}

// rows are those of the file: its lines, or the entries of the list that it holds or that each gives.
func (f *dataFile) rows(each *Expr) iter.Seq2[row, error] {
	switch lines := f.lines(); {
	case !f.hasRows():
		return f.textRow
	case lines != nil && each == nil:
		return lines
	}
	return func(yield func(row, error) bool) {
		list, doc, err := f.list(each)
		if err != nil {
			yield(row{}, err)
			return
		}
		for i, value := range list {
			if !yield(row{dataFile: f, value: value, doc: doc, n: i + 1}, nil) {
				return
			}
		}
	}
}

// list is the list that a file holds, or that each gives of it.
func (f *dataFile) list(each *Expr) (list []any, doc any, err error) {
	if doc, err = f.document(); err != nil {
		return nil, nil, err
	}
	if each != nil {
		if list, err = each.List(background, row{dataFile: f, doc: doc}); err != nil {
			err = mappingFault(each, err, f.name)
		}
		return list, doc, err
	}
	list, ok := doc.([]any)
	if !ok {
		err = &fileError{f.name + " holds no list of rows", f.placeHint(doc)}
	}
	return list, doc, err
}

// lines are the rows of a file that is read row by row; nil for another one.
func (f *dataFile) lines() iter.Seq2[row, error] {
	switch f.ext {
	case ".jsonl":
		return f.jsonLines
	case ".csv":
		return f.records
	case ".parquet":
		return f.parquetRows
	}
	return nil
}

// document reads a file as one value.
func (f *dataFile) document() (any, error) {
	if lines := f.lines(); lines != nil {
		doc := []any{}
		for r, err := range lines {
			if err != nil {
				return nil, err
			}
			doc = append(doc, r.value)
		}
		return doc, nil
	}
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	if f.ext == ".json" {
		return f.parseJSON(text, 1)
	}
	tree, faults := source.Parse(source.NewFile(f.name, text))
	var plain any
	if faults.Err() == nil {
		faults = source.Decode(tree, &plain)
	}
	return valueOf(plain), faults.Err()
}

// readValue reads a file that a suite names as one value.
func (l *loader) readValue(reference string) (any, error) {
	at, err := l.roots.resolve(l.doc.folder, reference)
	if err != nil {
		return nil, err
	}
	value, err := newDataFile(at.folder, at.path).document()
	if err == nil {
		at.folder.read.isSpec(at)
	}
	return value, err
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

// read reads the whole file, unpacked and without a byte order mark.
func (f *dataFile) read() (text []byte, err error) {
	if f.packed {
		text, err = f.unpack()
	} else {
		text, err = f.folder.content(f.path, maxDataBytes)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

func (f *dataFile) unpack() (text []byte, err error) {
	opened, err := f.folder.open(f.path, 0)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	unpacked, err := gzip.NewReader(opened)
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(unpacked, maxUnpackedBytes+1))
	}
	switch {
	case err != nil:
		return nil, &fileError{fmt.Sprintf("%s cannot be unpacked: %s", f.name, gzipWords(err)), "pack it again, or write it where it is not cut off"}
	case len(text) > maxUnpackedBytes:
		return nil, &fileError{fmt.Sprintf("%s unpacks to more than %d bytes", f.name, maxUnpackedBytes), "unpack it, or divide it into several files"}
	}
	return text, nil
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

// textRow is the one row of a file that holds no rows.
func (f *dataFile) textRow(yield func(row, error) bool) {
	text, err := f.read()
	if err == nil && !utf8.Valid(text) {
		err = f.encodingFault(text, 1)
	}
	name, _ := unpackedName(path.Base(f.path))
	object := expr.NewObject(4)
	object.Set("name", path.Base(f.path))
	object.Set("stem", strings.TrimSuffix(name, path.Ext(name)))
	object.Set("path", f.name)
	object.Set("text", string(text))
	yield(row{dataFile: f, value: object, n: 1, line: nthLine(text, 1)}, err)
}

// jsonLines are the rows of a .jsonl file; lines of white space are skipped.
func (f *dataFile) jsonLines(yield func(row, error) bool) {
	text, err := f.read()
	if err != nil {
		yield(row{}, err)
		return
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		value, err := f.parseJSON(line, n)
		if !yield(row{dataFile: f, value: value, n: n, line: line}, err) {
			return
		}
	}
}

// records are the rows of a .csv file: the first line names the columns, every value is text.
func (f *dataFile) records(yield func(row, error) bool) {
	text, err := f.read()
	table := csv.NewReader(bytes.NewReader(text))
	for columns := []string(nil); err == nil; {
		start := table.InputOffset()
		values, failed := table.Read()
		if failed != nil {
			err = f.csvFault(text, failed)
			break
		}
		r, wrong := row{dataFile: f, line: bytes.Trim(text[start:table.InputOffset()], "\r\n")}, error(nil)
		if r.n, _ = table.FieldPos(0); !utf8.Valid(r.line) {
			wrong = f.encodingFault(r.line, r.n)
		}
		if columns == nil {
			f.header, columns = r.line, values
			if err = wrong; err == nil {
				err = r.checkColumns(columns)
			}
			continue
		}
		object := expr.NewObject(len(columns))
		for i, column := range columns {
			object.Set(column, values[i])
		}
		if r.value = object; !yield(r, wrong) {
			return
		}
	}
	if f.header == nil && errors.Is(err, io.EOF) {
		err = &fileError{f.name + " is empty", "the first line names the columns"}
	}
	if !errors.Is(err, io.EOF) {
		yield(row{}, err)
	}
}

// checkColumns refuses a column that would hide another one.
func (r row) checkColumns(columns []string) error {
	for i, column := range columns {
		if column != "" && slices.Contains(columns[:i], column) {
			return r.fault("give one of them another name", "duplicate column %q", shorten(column))
		}
	}
	return nil
}

// csvFault places an error of encoding/csv in the text; the end of the file is none.
func (f *dataFile) csvFault(text []byte, err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	hint := `close the quotes; a quote within a field is written ""`
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		hint = "each line has as many fields as the first one; put a field that holds a comma in double quotes"
	}
	return lineFault(f.name, nthLine(text, parse.Line), parse.Line, max(parse.Column, 1), hint, "not CSV: %v", parse.Err)
}

// parseJSON reads the text that starts at a line of the file. Bytes that are no UTF-8 are refused: a model would be
// sent something else than the file holds, and ids could become the same.
func (f *dataFile) parseJSON(text []byte, line int) (any, error) {
	value, err := expr.ParseUniqueJSON(text)
	if err != nil {
		return nil, jsonFaultIn(f.name, text, line, err)
	}
	if !utf8.Valid(text) {
		return nil, f.encodingFault(text, line)
	}
	return value, nil
}

// encodingFault is at the first byte that is no UTF-8 of the text, which starts at a line of the file.
func (f *dataFile) encodingFault(text []byte, line int) error {
	at := 0
	for size := 0; ; at += size {
		r := rune(0)
		if r, size = utf8.DecodeRune(text[at:]); r == utf8.RuneError && size <= 1 {
			break
		}
	}
	shown, n, column := lineAt(text, line, at)
	return lineFault(f.name, shown, n, column, "save the file as UTF-8", "the byte 0x%02X is not UTF-8", text[at])
}

// lineFault is a fault at a line of a data file, of which only that line is kept.
func lineFault(name string, text []byte, line, column int, hint, format string, args ...any) source.Fault {
	const shown = 2000 // bytes; more never fits a terminal
	if len(text) > shown && column < shown/4 {
		text = text[:shown]
	}
	return source.Fault{File: source.NewLine(name, line, text), Pos: source.Pos{Line: line, Col: column}, What: fmt.Sprintf(format, args...), Hint: hint}
}

// jsonFaultIn places an error of expr.ParseUniqueJSON in the text, which starts at a line of the file.
func jsonFaultIn(name string, text []byte, line int, err error) error {
	at, what := 1, err.Error()
	if _, scanned := fmt.Sscanf(what, "at byte %d:", &at); scanned == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	shown, line, column := lineAt(text, line, min(max(at-1, 0), len(text)))
	return lineFault(name, shown, line, column, jsonHint(what, path.Ext(name) == ".jsonl", column), "not JSON: %s", what)
}

// jsonHint knows the usual mistakes.
func jsonHint(what string, lines bool, column int) string {
	switch {
	case strings.HasPrefix(what, `invalid character '\''`):
		return "put keys and texts in double quotes"
	case strings.HasPrefix(what, "invalid character ','"):
		return "remove this comma"
	case lines && strings.HasSuffix(what, "after top-level value"):
		return "write one object a line"
	case lines && (column == 1 || strings.HasSuffix(what, "too early")):
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

// nthLine is a line of a text by its number, from 1.
func nthLine(text []byte, n int) []byte {
	for line := range bytes.Lines(text) {
		if n--; n == 0 {
			return bytes.TrimRight(line, "\r\n")
		}
	}
	return []byte{}
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
	answers, failed := d.hashAll(references)
	return append(files, answers...), errors.Join(err, failed)
}

// TaskFiles are those of the suite's tasks alone: their files, and what the folders that are tasks say.
func (d *Document) TaskFiles() ([]DataFile, error) {
	if d.Suite == nil {
		return nil, nil
	}
	files, err := d.hashAll(d.Suite.Tasks.Files)
	for _, reference := range d.Suite.Tasks.Folders {
		found, failed := d.taskFolders(reference)
		err = errors.Join(err, failed)
		for _, file := range found {
			if file.says() {
				sum, failed := file.folder.sum(file.path)
				err = errors.Join(err, failed)
				files = append(files, DataFile{Name: path.Join(file.taskFolder, TaskFile), Hash: sum})
			}
		}
	}
	return files, err
}

func (d *Document) hashAll(references []string) (files []DataFile, err error) {
	for _, reference := range references {
		at, found, failed := d.roots.files(d.folder, reference)
		err = errors.Join(err, failed)
		root := reference[:len(reference)-len(at.path)]
		for _, file := range found {
			sum, failed := at.folder.sum(file)
			err = errors.Join(err, failed)
			files = append(files, DataFile{Name: root + file, Hash: sum})
		}
	}
	return files, err
}

// sum is the hash of a file of any size.
func (f folder) sum(file string) (string, error) {
	opened, err := f.look(file, 0)
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
