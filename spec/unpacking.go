package spec

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// unpacking holds what cannot be read in any order from where it is: what is packed lies unpacked in a file without a name,
// and what is read whole in memory.
type unpacking struct {
	mu       sync.Mutex
	unpacked map[*dataFile]*os.File
	whole    map[*dataFile][]row
}

// take gives a file in a form in which its rows can be read in any order.
func (s *unpacking) take(file *dataFile, each *Expr) (from seekable, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file.whole {
		from.rows, err = s.rows(file, each)
		return from, err
	}
	if file.isParquet() {
		from.columnar, err = file.columnar()
		return from, err
	}
	if from.text, err = s.text(file); err != nil || !file.isCSV() {
		return from, err
	}
	head, err := file.table(io.NewSectionReader(from.text, 0, 1<<62))
	from.columns = head.columns
	return from, err
}

func (s *unpacking) text(file *dataFile) (readerAt, error) {
	if !file.format.packed {
		opened, err := file.folder.open(file.path, 0)
		if err != nil {
			return nil, err
		}
		if text, ok := opened.(readerAt); ok {
			return text, nil
		}
		opened.Close()
	}
	text, err := s.unpack(file)
	return kept{text}, err
}

// kept is a file that stays open.
type kept struct{ io.ReaderAt }

// Close implements io.Closer.
func (kept) Close() error { return nil }

func (s *unpacking) rows(file *dataFile, each *Expr) (rows []row, err error) {
	if known, ok := s.whole[file]; ok {
		return known, nil
	}
	for r, err := range file.rows(each) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if s.whole == nil {
		s.whole = map[*dataFile][]row{}
	}
	s.whole[file] = rows
	return rows, nil
}

// unpack copies the text of a file to one without a name, which is gone with the process.
func (s *unpacking) unpack(file *dataFile) (*os.File, error) {
	if known, ok := s.unpacked[file]; ok {
		return known, nil
	}
	opened, err := file.open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := os.CreateTemp("", "agentbench-tasks-*")
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", file.name, err)
	}
	os.Remove(text.Name()) // where that fails, it is one more temporary file
	if _, err := io.Copy(text, opened); err != nil {
		text.Close()
		return nil, fmt.Errorf("unpacking %s: %w", file.name, err)
	}
	if s.unpacked == nil {
		s.unpacked = map[*dataFile]*os.File{}
	}
	s.unpacked[file] = text
	return text, nil
}

// candidateReader reads tasks in the order of their candidates.
type candidateReader struct {
	document *Document
	drawn    *drawn
	open     map[int32]seekable
	buffer   bufio.Reader
}

// seekable is a file whose rows can be read in any order: its text, or, where it was read whole, its rows.
type seekable struct {
	text      readerAt
	columns   []string // of a .csv file
	rows      []row
	*columnar // of a .parquet file
}

type readerAt interface {
	io.ReaderAt
	io.Closer
}

// maxSeekable are kept open at a time.
const maxSeekable = 64

// task reads the task of a candidate.
func (r *candidateReader) task(l *candidate) (placedTask, error) {
	tasks := &r.document.Suite.Tasks
	if l.file < 0 {
		placed := tasks.inline(int(l.n) - 1)
		r.document.locate(placed)
		return placed, nil
	}
	read, err := r.row(l)
	file := r.drawn.files[l.file]
	placed := placedTask{row: read}
	if err == nil {
		placed.task, err = tasks.ofRow(read)
		r.document.locate(placed)
	}
	if err == nil && keyOf(placed.task.ID) != l.key {
		err = file.changed()
	}
	return placed, err
}

func (r *candidateReader) row(l *candidate) (row, error) {
	file := r.drawn.files[l.file]
	if file.taskFolder != "" {
		return file.folderRow(), nil
	}
	if !file.format.rows() {
		return file.textRow()
	}
	from, err := r.seekable(l.file, file)
	if err != nil {
		return row{dataFile: file}, err
	}
	if from.columnar != nil {
		return from.columnar.row(file, l)
	}
	if from.text == nil {
		if int(l.n) > len(from.rows) {
			return row{dataFile: file}, file.changed()
		}
		return from.rows[l.n-1], nil
	}
	r.buffer.Reset(io.NewSectionReader(from.text, l.at, 1<<62))
	read, err := file.rowAt(&r.buffer, l, from.columns)
	read.dataFile, read.n, read.at = file, int(l.n), l.at
	return read, err
}

// seekable opens a file, or finds it open.
func (r *candidateReader) seekable(number int32, file *dataFile) (seekable, error) {
	if known, ok := r.open[number]; ok {
		return known, nil
	}
	if len(r.open) == maxSeekable {
		r.close()
	}
	from, err := r.drawn.unpacking.take(file, r.document.Suite.Tasks.Each)
	if err == nil {
		r.open[number] = from
	}
	return from, err
}

func (r *candidateReader) close() {
	for number, from := range r.open {
		if from.text != nil {
			from.text.Close()
		}
		if from.columnar != nil {
			from.columnar.Close()
		}
		delete(r.open, number)
	}
}

// rowAt reads the row that a reader begins with.
func (f *dataFile) rowAt(text *bufio.Reader, l *candidate, columns []string) (row, error) {
	if !f.isCSV() {
		line, err := readLine(text)
		if err != nil {
			return row{}, f.readFailure(err)
		}
		return f.lineRow(line, int(l.n))
	}
	t := f.newTable(text)
	t.columns, t.reader.FieldsPerRecord = columns, len(columns)
	read, err := t.next()
	if err != nil {
		return row{}, f.changed()
	}
	return read, f.checkValues(t.reader, t.values)
}

// readLine reads a line of at most maxLineBytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLineBytes:
			return nil, bufio.ErrTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
