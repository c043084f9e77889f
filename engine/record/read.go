package record

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ReadRuns yields the runs of a result folder, each once: those that count in the order in which they finished, then the last records
// of the others. Memory does not grow with the number of runs that count. The last element may be an error: a [*Damage], or why the
// folder cannot be read.
func ReadRuns(dir string) iter.Seq2[*Run, error] {
	return latest(dir, runOf)
}

// ReadLight yields the runs of a result folder without their texts, as [Run.Light] gives them, in the order of ReadRuns.
func ReadLight(dir string) iter.Seq2[*Run, error] { return latest(dir, lightOf) }

// latest yields what is read of the last record of each run. Only a run that does not count is tried again.
func latest(dir string, read func([]byte) (*Run, error)) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		r, err := OpenRuns(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		rest := map[string]Place{} // of the records that may be tried again
		for l, err := range runLines(r, read) {
			if err != nil {
				yield(nil, err)
				return
			}
			if run := l.is; !run.Outcome.Counts() {
				rest[run.ID] = l.Place
			} else if delete(rest, run.ID); !yield(run, nil) {
				return
			}
		}
		for _, at := range slices.SortedFunc(maps.Values(rest), Place.Compare) {
			if !yield(lineAt(r.path(), r.file, at, read)) {
				return
			}
		}
	}
}

// Runs are the records of a result folder, each of which can be read by itself,
// in any order. They are safe for concurrent use. What is written to the folder
// after OpenRuns is not among them.
type Runs struct {
	dir    string
	file   *os.File
	size   int64
	places func() (map[string]Place, error) // of the last record of each run
}

// OpenRuns opens the records of a result folder. The caller closes them.
func OpenRuns(dir string) (*Runs, error) {
	r := &Runs{dir: dir}
	r.places = sync.OnceValues(r.index)
	var err error
	if r.file, err = openFile(r.path()); err != nil {
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	info, err := r.file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the records: %w", err), r.file.Close())
	}
	r.size = info.Size()
	return r, nil
}

func (r *Runs) path() string { return filepath.Join(r.dir, recordsFile) }

// Close closes the file.
func (r *Runs) Close() error { return r.file.Close() }

func runLines[T any](r *Runs, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return goodLines(r.path(), io.NewSectionReader(r.file, 0, r.size), 1, read)
}

// Heads yields the head of every run that counts, in the order in which they
// finished. Each is valid until the next one; errors are as those of
// [ReadRuns].
func (r *Runs) Heads() iter.Seq2[*RunHead, error] {
	return func(yield func(*RunHead, error) bool) {
		for l, err := range runLines(r, headOf) {
			if err == nil && !l.is.Outcome.Counts() {
				continue
			}
			var head *RunHead
			if err == nil {
				head = &l.is
				head.At = l.Place
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// Read reads the record at a place.
func (r *Runs) Read(at Place) (*Run, error) { return lineAt(r.path(), r.file, at, runOf) }

// ErrNoRun means that a folder holds no run of that id.
var ErrNoRun = errors.New("no such run")

// Run reads the run of that id; of one that was tried again, the last record. The
// first call reads the heads of all. The error is ErrNoRun for an unknown id.
func (r *Runs) Run(id string) (*Run, error) {
	places, err := r.places()
	if err != nil {
		return nil, err
	}
	at, known := places[id]
	if !known {
		return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, r.dir, id)
	}
	return r.Read(at)
}

func (r *Runs) index() (map[string]Place, error) {
	places := map[string]Place{}
	for l, err := range runLines(r, headOf) {
		if err != nil {
			return nil, err
		}
		places[l.is.ID] = l.Place
	}
	return places, nil
}

// Find reads the run of that id, or returns ErrNoRun.
func Find(dir, run string) (*Run, error) {
	r, err := OpenRuns(dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Run(run)
}

// ReadScores yields the scores of a result folder in the order in which they
// were made; errors are as those of ReadRuns. A folder may hold scores of
// runs whose records were lost; it holds none of a run that does not count.
func ReadScores(dir string) iter.Seq2[Score, error] {
	return each(scoreLines(dir, scoresOf), func(l *scoresLine) []Score { return l.Scores })
}

// ReadSnapshots yields what was found of states of workspaces, in the order in which it was
// written; errors are as those of [ReadScores].
func ReadSnapshots(dir string) iter.Seq2[Snapshot, error] {
	return each(scoreLines(dir, scoresOf), func(l *scoresLine) []Snapshot { return l.Snapshots })
}

// ReadScored yields the heads of the scores of a result folder in the order in
// which they were made; of several on the same thing by one scorer the last one
// counts. Errors are as those of [ReadRuns].
func ReadScored(dir string) iter.Seq2[Scored, error] { return values(scoreLines(dir, scoredOf)) }

func scoreLines[T any](dir string, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return fileLines(filepath.Join(dir, scoresFile), read)
}

// each yields what lines of scores list.
func each[T any](lines iter.Seq2[*line[scoresLine], error], list func(*scoresLine) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for l, err := range lines {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range list(&l.is) {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}
