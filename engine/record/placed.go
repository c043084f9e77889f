package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
)

// placed are the signals of a run and the place of its record.
type placed struct {
	*Signals
	place
	written int64 // the offset behind their line in signals.jsonl; 0: rebuilt
}

func (p *placed) end() place { return place{p.line + 1, p.offset + p.Bytes} }

type readFunc func(r *reader, text []byte) (*Signals, error)

// noRecords is the size of records that are missing.
const noRecords = -1

func sizeOfRecords(dir string) (int64, error) {
	info, err := statRegular(filepath.Join(dir, recordsFile))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := statRegular(filepath.Join(dir, signalsFile))
		if err != nil {
			return 0, fmt.Errorf("reading the results: %w", err)
		}
		return noRecords, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the records: %w", err)
	}
	return info.Size(), nil
}

// derived is signals.jsonl of a folder, as far as it fits the records.
type derived struct {
	dir  string
	size int64 // of the records
	// fits is how many bytes of it are of the records in their order, and misfit is
	// what stands behind them where that is of other records.
	fits   int64
	misfit *Problem
}

// derivedSignals finds out how far the signals fit the first size bytes of the
// records. A line says how long its record is, so all of them fit where the record
// at the place of the last one is of its run.
func derivedSignals(dir string, size int64) (*derived, error) {
	d := &derived{dir: dir, size: size, fits: math.MaxInt64}
	if size == noRecords {
		return d, nil
	}
	var last placedLine
	for s, err := range d.written((*reader).readHead) {
		if err == nil {
			last = lineOf(&s)
		}
	}
	f, _, err := openRecords(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if last.bytes == 0 || last.fits(f) {
		return d, nil
	}
	return d, d.cut(f, last)
}

// placedLine is a line of signals.jsonl and the place of its record.
type placedLine struct {
	place
	run     string
	bytes   int64 // of the record
	written place // behind the line
}

func lineOf(s *placed) placedLine {
	return placedLine{place: s.place, run: s.ID, bytes: s.Bytes, written: place{s.line + 1, s.written}}
}

// fits reports whether the record at the place of a line is of its run. One that is
// damaged does not say.
func (l *placedLine) fits(records io.ReaderAt) bool {
	for o, err := range scan(recordsFile, io.NewSectionReader(records, l.offset, l.bytes), l.place) {
		if err != nil {
			return false
		}
		head, err := new(reader).readHead(o.json)
		return err == nil && o.bytes == l.bytes && head.ID == l.run
	}
	return false
}

// cut finds the last line that fits. Where a whole record stands among those of the
// lines behind it, these are not in their places.
func (d *derived) cut(records io.ReaderAt, last placedLine) error {
	var good, bad placedLine
	for s, err := range d.written((*reader).readHead) {
		if err != nil {
			break
		}
		switch line := lineOf(&s); {
		case line.fits(records):
			good, bad = line, placedLine{}
		case bad.bytes == 0:
			bad = line
		}
	}
	from, to := good.offset+good.bytes, last.offset+last.bytes
	for o, err := range scan(recordsFile, io.NewSectionReader(records, from, d.size-from), place{good.written.line, from}) {
		switch {
		case err != nil && !isDamage(err):
			return err
		case err == nil && o.offset < to:
			d.fits = good.written.offset
			d.misfit = &Problem{
				File: signalsFile, Line: bad.written.line, Lines: 1, Offset: d.fits, Bytes: bad.written.offset - d.fits,
				What: "it is not of the record that comes next",
			}
			return nil
		}
	}
	return nil
}

// placedSignals yields the signals of all records in the first size bytes of
// records.jsonl, those that are superseded too. The signals of a run tell how
// long its record is, so that what signals.jsonl lacks is found without reading
// the records before.
//
// They are read with readSignals, or with readHead where no more is needed.
func placedSignals(dir string, size int64, read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		d, err := derivedSignals(dir, size)
		if err != nil {
			yield(placed{}, err)
			return
		}
		d.placed(read)(yield)
	}
}

func (d *derived) placed(read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		at := place{}
		for s, err := range d.written(read) {
			if !yield(s, err) || isNotRegular(err) {
				return
			}
			if err == nil {
				at = s.end()
			}
		}
		if d.size <= at.offset {
			return
		}
		for s, err := range rebuiltSignals(d.dir, at, d.size) {
			if !yield(s, err) {
				return
			}
		}
	}
}

// written yields what signals.jsonl holds, up to its first bad line, to one that is
// not of the record in its place, or to a run whose record does not end within the
// size. Without records there is nothing to make signals from, and bad lines are
// passed over.
func (d *derived) written(read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		f, err := openFile(filepath.Join(d.dir, signalsFile))
		if isNotRegular(err) {
			yield(placed{}, err)
			return
		}
		if err != nil {
			return // then all are rebuilt
		}
		defer f.Close()
		at, in := place{}, new(reader)
		for o, err := range scan(signalsFile, f, place{}) {
			s := placed{place: at, written: o.end().offset}
			if err == nil {
				s.Signals, err = signalsOf(&o, read, in)
			}
			if d.size == noRecords {
				if !yield(s, err) {
					return
				}
				continue
			}
			if err == nil && o.offset >= d.fits {
				err = d.misfit
			}
			if err != nil {
				if !isTorn(err) {
					yield(placed{}, err)
				}
				return
			}
			if s.Bytes <= 0 || s.end().offset > d.size || !yield(s, nil) {
				return
			}
			at = s.end()
		}
	}
}

// rebuiltSignals makes signals from the records between a place and an offset.
func rebuiltSignals(dir string, from place, to int64) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		f, _, err := openRecords(dir)
		if err != nil {
			yield(placed{}, err)
			return
		}
		defer f.Close()
		for o, err := range scan(recordsFile, io.NewSectionReader(f, from.offset, to-from.offset), from) {
			s := placed{place: o.place}
			var run *Run
			if err == nil {
				run, err = runOf(&o)
			}
			if err == nil {
				signals := run.Signals()
				signals.Bytes = o.bytes
				s.Signals = &signals
			}
			if !yield(s, err) {
				return
			}
		}
	}
}
