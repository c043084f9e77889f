package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// ErrNoRun says that a folder holds no run of that id.
var ErrNoRun = errors.New("no such run")

// ReadRuns yields the runs of a result folder in the order in which they
// finished, each once: of a run that was tried again, the last record. Memory
// does not grow with the number of runs.
//
// An error that is a *Problem tells of bad lines, and the reading goes on; any
// other error is the last element.
func ReadRuns(dir string) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		f, size, err := openRecords(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		tries := countTries(placedSignals(dir, size, (*reader).readHead))
		for o, err := range scan(recordsFile, io.NewSectionReader(f, 0, size), place{}) {
			var run *Run
			if err == nil {
				run, err = runOf(&o)
			}
			if err == nil && !tries.last(run.ID) {
				continue
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

// ReadSignals yields the signals of the runs of a result folder, as ReadRuns
// does. Where signals.jsonl is missing, damaged or lacks lines they are made from
// the records. Where there are no records at all, signals.jsonl stands for itself.
func ReadSignals(dir string) iter.Seq2[*Signals, error] {
	return func(yield func(*Signals, error) bool) {
		size, err := sizeOfRecords(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		signals, err := derivedSignals(dir, size)
		if err != nil {
			yield(nil, err)
			return
		}
		tries := countTries(signals.placed((*reader).readHead))
		for s, err := range signals.placed((*reader).readSignals) {
			if err == nil && !tries.last(s.ID) {
				continue
			}
			if !yield(s.Signals, err) {
				return
			}
		}
	}
}

// ReadScores yields the scores of a result folder in the order in which they
// were made; the errors are as those of ReadRuns. A folder may hold scores of
// runs whose records were lost; it holds none of a run that does not count.
func ReadScores(dir string) iter.Seq2[Score, error] {
	return func(yield func(Score, error) bool) {
		f, err := openFile(filepath.Join(dir, scoresFile))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Score{}, fmt.Errorf("reading the scores: %w", err))
			return
		}
		defer f.Close()
		in := new(reader)
		for o, err := range scan(scoresFile, f, place{}) {
			var scores []Score
			if err == nil {
				_, scores, err = scoresOf(&o, in)
			}
			if err != nil {
				scores = []Score{{}}
			}
			for i := range scores {
				if !yield(scores[i], err) {
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
	for s, err := range placedSignals(dir, size, (*reader).readHead) {
		if err == nil && s.ID == run {
			found, length = s.place, s.Bytes
		}
	}
	if length == 0 {
		return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, dir, run)
	}
	for o, err := range scan(recordsFile, io.NewSectionReader(f, found.offset, length), found) {
		if err != nil {
			return nil, err
		}
		return runOf(&o)
	}
	return nil, io.ErrUnexpectedEOF
}

// runOf, like the functions below it, tells of a line that is whole but cannot be read as
// a *Problem: another version may have written it.
func runOf(o *object) (*Run, error) {
	run, err := readRun(o.json)
	if err == nil {
		err = knownVersion(run.Version)
	}
	if err == nil {
		err = (&Signals{Trial: run.Trial, Elapsed: run.Elapsed, Usage: run.Usage, Judging: run.Judging, User: run.User}).amounts()
	}
	if err != nil {
		return nil, o.problem(recordsFile, err)
	}
	return run, nil
}

func signalsOf(o *object, read readFunc, in *reader) (*Signals, error) {
	s, err := read(in, o.json)
	if err == nil {
		err = knownVersion(s.Version)
	}
	if err == nil {
		err = s.impossible()
	}
	if err != nil {
		return nil, o.problem(signalsFile, err)
	}
	return s, nil
}

func scoresOf(o *object, in *reader) (run string, scores []Score, err error) {
	run, scores, err = in.readScores(o.json)
	if err == nil {
		err = impossibleScores(scores)
	}
	if err != nil {
		err = o.problem(scoresFile, err)
	}
	return run, scores, err
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
