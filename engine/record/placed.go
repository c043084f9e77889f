package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
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

// placedSignals yields the signals of all records in the first size bytes of
// records.jsonl, those that are superseded too. The signals of a run tell how
// long its record is, so that what signals.jsonl lacks is found without reading
// the records before.
//
// They are read with readSignals, or with readHead where no more is needed.
func placedSignals(dir string, size int64, read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		at, goOn := place{}, true
		for s, err := range writtenSignals(dir, size, read) {
			if goOn = yield(s, err); !goOn || isNotRegular(err) {
				return
			}
			if err == nil {
				at = s.end()
			}
		}
		if size <= at.offset {
			return
		}
		for s, err := range rebuiltSignals(dir, at, size) {
			if !yield(s, err) {
				return
			}
		}
	}
}

// writtenSignals yields what signals.jsonl holds, up to its first bad line or to
// a run whose record does not end within the size. Without records there is
// nothing to make signals from, and bad lines are passed over.
func writtenSignals(dir string, size int64, read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		f, err := openFile(filepath.Join(dir, signalsFile))
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
			if size == noRecords {
				if !yield(s, err) {
					return
				}
				continue
			}
			if err != nil {
				if !isTorn(err) {
					yield(placed{}, err)
				}
				return
			}
			if s.Bytes <= 0 || s.end().offset > size || !yield(s, nil) {
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
