package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
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

	index sync.Once
	seed  maphash.Seed
	byID  []placedID
	err   error
}

// placedID is where the record of a run stands: 16 bytes for each.
type placedID struct {
	id     uint64 // hashed
	offset int64
}

// RunHead is what a run is of, and where its record stands.
type RunHead struct {
	ID            string
	Configuration string
	Task          string
	Trial         int
	Status        Status
	Returned      int // the iteration whose output is returned, 0: none
	Iterations    int
	At            RecordPlace
}

// RecordPlace is where a record stands.
type RecordPlace struct{ offset, bytes int64 }

// Compare orders places as they stand in the file.
func (p RecordPlace) Compare(q RecordPlace) int { return cmp.Compare(p.offset, q.offset) }

// OpenRuns opens the records of a result folder. The caller closes them.
func OpenRuns(dir string) (*Runs, error) {
	f, size, err := openRecords(dir)
	if err != nil {
		return nil, err
	}
	return &Runs{dir: dir, file: f, size: size, seed: maphash.MakeSeed()}, nil
}

// Close closes the file.
func (r *Runs) Close() error { return r.file.Close() }

// Heads yields the head of every run that counts, in the order in which they
// finished. Each is valid until the next one; the errors are as those of
// [ReadRuns].
func (r *Runs) Heads() iter.Seq2[*RunHead, error] {
	return func(yield func(*RunHead, error) bool) {
		head := new(RunHead)
		for s, err := range placedSignals(r.dir, r.size, (*reader).readCounts) {
			if err == nil && !s.Outcome.Counts() {
				continue
			}
			if err == nil {
				*head = RunHead{
					ID: s.ID, Configuration: s.Configuration, Task: s.Task, Trial: s.Trial, Status: s.Outcome.Status,
					Returned: s.Outcome.Returned, Iterations: len(s.Iterations), At: RecordPlace{s.offset, s.Bytes},
				}
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// Read reads the record at a place.
func (r *Runs) Read(at RecordPlace) (*Run, error) {
	line := make([]byte, at.bytes)
	if _, err := r.file.ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	o := object{place: place{offset: at.offset}, bytes: at.bytes}
	var err error
	if o.json, err = unseal(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
		return nil, o.problem(recordsFile, err)
	}
	return runOf(&o)
}

// Run reads the run of that id; of one that was tried again, the last record. The
// first call reads the heads of all. The error is ErrNoRun where there is none.
func (r *Runs) Run(id string) (*Run, error) {
	r.index.Do(r.place)
	if r.err != nil {
		return nil, r.err
	}
	hashed := maphash.String(r.seed, id)
	for i := r.behind(hashed) - 1; i >= 0 && r.byID[i].id == hashed; i-- {
		run, err := r.at(r.byID[i].offset)
		if err != nil {
			return nil, err
		}
		if run.ID == id {
			return run, nil
		}
	}
	return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, r.dir, id)
}

// behind is the index behind the last record of a hashed id.
func (r *Runs) behind(hashed uint64) int {
	at, _ := slices.BinarySearchFunc(r.byID, hashed, func(p placedID, id uint64) int {
		if p.id <= id {
			return -1
		}
		return 1
	})
	return at
}

// place finds out where the record of each run stands. Bad lines have no id.
func (r *Runs) place() {
	for s, err := range placedSignals(r.dir, r.size, (*reader).readHead) {
		var bad *Problem
		switch {
		case errors.As(err, &bad):
		case err != nil:
			r.err = err
			return
		default:
			r.byID = append(r.byID, placedID{maphash.String(r.seed, s.ID), s.offset})
		}
	}
	slices.SortFunc(r.byID, func(a, b placedID) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.offset, b.offset)) })
}

// at reads the record that begins at an offset.
func (r *Runs) at(offset int64) (*Run, error) {
	from := place{offset: offset}
	for o, err := range scan(recordsFile, io.NewSectionReader(r.file, offset, r.size-offset), from) {
		if err != nil {
			return nil, err
		}
		return runOf(&o)
	}
	return nil, io.ErrUnexpectedEOF
}

// readCounts reads what a RunHead holds. The iterations are empty: only their
// number is told. The result is valid until the next one.
func (r *reader) readCounts(text []byte) (*Signals, error) {
	r.begin(text)
	r.head = Signals{}
	s := &r.head
	for key := range r.object() {
		if r.ofHead(key, s) {
			continue
		}
		switch string(key) {
		case "configuration":
			s.Configuration = r.name()
		case "task":
			s.Task = r.string()
		case "trial":
			s.Trial = int(r.integer())
		case "outcome":
			r.outcome(&s.Outcome)
		case "iterations":
			r.iterations = r.iterations[:0]
			for range r.list() {
				r.pass()
				r.iterations = append(r.iterations, IterationSignals{})
			}
			s.Iterations = r.iterations
		default:
			r.pass()
		}
	}
	return s, r.end()
}
