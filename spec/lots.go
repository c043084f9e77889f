package spec

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lotReader reads tasks in the order of their lots.
type lotReader struct {
	document *Document
	drawn    *drawn
	open     map[int32]seekable
	buffer   bufio.Reader
}

// seekable is a file whose rows can be read in any order: its text, or, where it was read whole, its rows.
type seekable struct {
	text    readerAt
	columns []string // of a .csv file
	rows    []row
}

type readerAt interface {
	io.ReaderAt
	io.Closer
}

// maxSeekable are kept open at a time.
const maxSeekable = 64

// task reads the task of a lot.
func (r *lotReader) task(l *lot) (placedTask, error) {
	tasks := &r.document.Suite.Tasks
	if l.file < 0 {
		return tasks.inline(int(l.n) - 1), nil
	}
	read, err := r.row(l)
	file := r.drawn.files[l.file]
	placed := placedTask{row: read}
	if err == nil {
		placed.task, err = tasks.ofRow(read)
	}
	if err == nil && keyOf(placed.task.ID) != l.key {
		err = file.changed()
	}
	return placed, err
}

func (r *lotReader) row(l *lot) (row, error) {
	file := r.drawn.files[l.file]
	if !file.format.rows() {
		return file.textRow()
	}
	from, err := r.seekable(l.file, file)
	if err != nil {
		return row{dataFile: file}, err
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
func (r *lotReader) seekable(number int32, file *dataFile) (seekable, error) {
	if known, ok := r.open[number]; ok {
		return known, nil
	}
	if len(r.open) == maxSeekable {
		r.close()
	}
	from, err := r.drawn.shelf.take(file, r.document.Suite.Tasks.Each)
	if err == nil {
		r.open[number] = from
	}
	return from, err
}

func (r *lotReader) close() {
	for number, from := range r.open {
		if from.text != nil {
			from.text.Close()
		}
		delete(r.open, number)
	}
}

// rowAt reads the row that a reader begins with.
func (f *dataFile) rowAt(text *bufio.Reader, l *lot, columns []string) (row, error) {
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
