package record

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Runs are the records of a result folder, each of which can be read by itself,
// in any order. They are safe for concurrent use. What is written to the folder
// after OpenRuns is not among them.
type Runs struct {
	dir  string
	file *os.File
	size int64

	seed  maphash.Seed
	index func() ([]placedID, error) // of all records
}

// placedID is where the record of a run stands: 24 bytes for each.
type placedID struct {
	id uint64 // hashed
	at RecordPlace
}

// OpenRuns opens the records of a result folder. The caller closes them.
func OpenRuns(dir string) (*Runs, error) {
	f, size, err := openRecords(dir)
	if err != nil {
		return nil, err
	}
	r := &Runs{dir: dir, file: f, size: size, seed: maphash.MakeSeed()}
	r.index = sync.OnceValues(r.places)
	return r, nil
}

// Close closes the file.
func (r *Runs) Close() error { return r.file.Close() }

// Heads yields the head of every run that counts, in the order in which they
// finished. Each is valid until the next one; the errors are as those of
// [ReadRuns].
func (r *Runs) Heads() iter.Seq2[*RunHead, error] {
	return func(yield func(*RunHead, error) bool) {
		for l, err := range sectionLines(recordsFile, r.file, place{}, r.size, headOf) {
			if err == nil && !l.is.Status.counts() {
				continue
			}
			var head *RunHead
			if err == nil {
				head = &l.is
				head.At = RecordPlace{l.offset, l.bytes}
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// Read reads the record at a place.
func (r *Runs) Read(at RecordPlace) (*Run, error) {
	return runAt(r.file, place{offset: at.offset}, at.bytes)
}

func runAt(records io.ReaderAt, at place, bytes int64) (*Run, error) {
	object, err := objectAt(recordsFile, records, at, bytes)
	if err != nil {
		return nil, err
	}
	run, err := runOf(object)
	if err != nil {
		l := line[*Run]{place: at, bytes: bytes}
		return nil, l.problem(recordsFile, err)
	}
	return run, nil
}

// Run reads the run of that id; of one that was tried again, the last record. The
// first call reads the heads of all. The error is ErrNoRun for an unknown id.
func (r *Runs) Run(id string) (*Run, error) {
	all, err := r.index()
	if err != nil {
		return nil, err
	}
	hashed := maphash.String(r.seed, id)
	at, _ := slices.BinarySearchFunc(all, hashed, func(p placedID, id uint64) int { return cmp.Compare(p.id, id) })
	for ; at < len(all) && all[at].id == hashed; at++ {
		run, err := r.Read(all[at].at)
		if err != nil || run.ID == id {
			return run, err
		}
	}
	return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, r.dir, id)
}

// places finds out where the record of each run stands, the last record of each first.
// Bad lines have no id.
func (r *Runs) places() (all []placedID, err error) {
	for l, err := range Sound(sectionLines(recordsFile, r.file, place{}, r.size, readStatus)) {
		if err != nil {
			return nil, err
		}
		all = append(all, placedID{maphash.String(r.seed, l.is.ID), RecordPlace{l.offset, l.bytes}})
	}
	slices.SortFunc(all, func(a, b placedID) int { return cmp.Or(cmp.Compare(a.id, b.id), b.at.Compare(a.at)) })
	return all, nil
}

// ErrNoRun means that a folder holds no run of that id.
var ErrNoRun = errors.New("no such run")

// ReadRuns yields the runs of a result folder in the order in which they
// finished, each once: of a run that was tried again, the last record. Memory
// does not grow with the number of runs.
//
// An error that is a *Problem is about bad lines, and the lines behind them are read; any
// other error is the last element.
func ReadRuns(dir string) iter.Seq2[*Run, error] {
	return latest(dir, runOf, func(r *Run) string { return r.ID })
}

// ReadSignals yields the signals of the runs of a result folder, as ReadRuns does.
func ReadSignals(dir string) iter.Seq2[*Signals, error] {
	return latest(dir, signalsOf, func(s *Signals) string { return s.ID })
}

// latest yields what is read of the last record of each run.
func latest[T any](dir string, read func([]byte) (*T, error), id func(*T) string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		f, size, err := openRecords(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		left := tries{}
		for head, err := range sectionLines(recordsFile, f, place{}, size, readStatus) {
			if err == nil { // else it is met again
				left.add(&head.is)
			}
		}
		for l, err := range sectionLines(recordsFile, f, place{}, size, read) {
			var is *T
			if err == nil {
				if is = l.is; !left.last(id(is)) {
					continue
				}
			}
			if !yield(is, err) {
				return
			}
		}
	}
}

// tries counts the records of the runs that have one which does not count: only
// those are tried again, so that this takes no memory for the others.
type tries map[string]int

func (t tries) add(head *RunHead) {
	if _, known := t[head.ID]; known || !head.Status.counts() {
		t[head.ID]++
	}
}

// last takes one try off and reports whether it was the last one.
func (t tries) last(run string) bool {
	if _, known := t[run]; !known {
		return true
	}
	t[run]--
	return t[run] == 0
}

// ReadScores yields the scores of a result folder in the order in which they
// were made; the errors are as those of ReadRuns. A folder may hold scores of
// runs whose records were lost; it holds none of a run that does not count.
func ReadScores(dir string) iter.Seq2[Score, error] {
	return scoresIn(values(fileLines(dir, scoresFile, scoresOf)))
}

func scoresIn(lines iter.Seq2[scoresLine, error]) iter.Seq2[Score, error] {
	return func(yield func(Score, error) bool) {
		for line, err := range lines {
			if err != nil && !yield(Score{}, err) {
				return
			}
			for i := 0; err == nil && i < len(line.Scores); i++ {
				if !yield(line.Scores[i], nil) {
					return
				}
			}
		}
	}
}

// ReadScored yields the heads of the scores of a result folder in the order in
// which they were made; of several on the same thing by one scorer the last one
// counts. Each is valid until the next one; the errors are as those of
// [ReadRuns].
func ReadScored(dir string) iter.Seq2[*Scored, error] {
	return func(yield func(*Scored, error) bool) {
		for scored, err := range values(fileLines(dir, scoresFile, scoredOf)) {
			if !yield(&scored, err) {
				return
			}
		}
	}
}

// ReadSnapshots yields what was found of states of workspaces, in the order in which it was
// written; the errors are as those of [ReadScores].
func ReadSnapshots(dir string) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		for line, err := range values(fileLines(dir, scoresFile, scoresOf)) {
			if err != nil && !yield(Snapshot{}, err) {
				return
			}
			for i := 0; err == nil && i < len(line.Snapshots); i++ {
				if !yield(line.Snapshots[i], nil) {
					return
				}
			}
		}
	}
}

// Find reads the run of that id, or returns ErrNoRun.
func Find(dir, run string) (*Run, error) {
	f, size, err := openRecords(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, length := place{}, int64(0)
	for l, err := range sectionLines(recordsFile, f, place{}, size, readStatus) {
		if err == nil && l.is.ID == run {
			found, length = l.place, l.bytes
		}
	}
	if length == 0 {
		return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, dir, run)
	}
	return runAt(f, found, length)
}

func openRecords(dir string) (*os.File, int64, error) {
	f, err := openFile(filepath.Join(dir, recordsFile))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the records: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("reading the records: %w", err)
	}
	return f, info.Size(), nil
}
