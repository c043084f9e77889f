package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Damage lists the bad lines of the records of a folder. ReadSignals reads no
// more of the records than it needs, and so does not know of all of them.
//
// It reads all of what is no larger than most bytes; 0 means any size. Of what
// is larger it reads about so many bytes, at both ends and evenly between, and
// the rest only where it finds a bad line: whole is then false where there may
// be more.
func Damage(dir string, most int64) (found []*Problem, whole bool, err error) {
	f, size, err := openRecords(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if most > 0 && size > most {
		sound, err := soundInPlaces(f, size, most)
		if err != nil {
			return nil, false, fmt.Errorf("reading the records: %w", err)
		}
		if sound {
			return nil, false, nil
		}
	}
	found, err = badLines(f, 0, size)
	return found, true, err
}

// badLines are those of a part of the records that begins with a line.
func badLines(f io.ReaderAt, from, to int64) (found []*Problem, err error) {
	for _, err := range scan(recordsFile, io.NewSectionReader(f, from, to-from), place{offset: from}) {
		var problem *Problem
		switch {
		case errors.As(err, &problem):
			found = append(found, problem)
		case err != nil:
			return found, fmt.Errorf("reading the records: %w", err)
		}
	}
	return found, nil
}

// samples is in how many places large records are looked at.
const samples = 64

// soundInPlaces says whether the lines are good that begin in evenly spaced
// parts of the records, the first at their beginning and the last at their end.
func soundInPlaces(f *os.File, size, most int64) (bool, error) {
	length := most / samples
	for i := range int64(samples) {
		from := (size - length) / (samples - 1) * i
		if i == samples-1 {
			from = size - length
		}
		start, err := lineAfter(f, from, size)
		if err != nil || start > from+length { // one line, or none, fills the part
			return false, err
		}
		end, err := lineAfter(f, min(from+length, size), size)
		if err != nil {
			return false, err
		}
		if bad, err := badLines(f, start, end); err != nil || len(bad) > 0 {
			return false, err
		}
	}
	return true, nil
}

// lineAfter is where the first line begins at or behind an offset.
func lineAfter(f io.ReaderAt, offset, size int64) (int64, error) {
	if offset == 0 || offset == size {
		return offset, nil
	}
	in := bufio.NewReader(io.NewSectionReader(f, offset-1, size-offset+1))
	for at := offset - 1; ; {
		part, err := in.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case err == nil || err == io.EOF:
			return at, nil
		case err != bufio.ErrBufferFull:
			return 0, err
		}
	}
}
