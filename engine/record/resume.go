package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Recovered is what Resume found in a result folder.
type Recovered struct {
	Manifest Manifest
	// Finished are the ids of the runs that count; the others are to be tried
	// again.
	Finished map[string]struct{}
	// Faults counts how often each of those others was tried and had a fault.
	Faults map[string]int
	// Unscored are the finished ones that some scorer of the manifest has not
	// judged, in the order in which they finished: a crash came in between, a score
	// was taken back, or there are no scorers and no scores.
	Unscored []string
	// Problems are the lines that were dropped. None of them were acknowledged,
	// unless the disk lost them.
	Problems []*Problem
}

// Resume opens the journal of a folder that holds results. It cuts off what a
// crash left half written, and tells what is still to be done. Damage in the middle of the records is an error that is a
// *Problem. The caller closes the journal.
func Resume(dir string, options Options) (*Journal, *Recovered, error) {
	folder, err := lock(dir)
	if err != nil {
		return nil, nil, err
	}
	j := newJournal(folder, options)
	r := &Recovered{Finished: map[string]struct{}{}, Faults: map[string]int{}}
	if err := j.resume(r); err != nil {
		return nil, nil, errors.Join(err, j.leave())
	}
	go j.commit()
	return j, r, nil
}

func (j *Journal) resume(r *Recovered) error {
	var err error
	if r.Manifest, err = ReadManifest(j.folder.dir); err != nil {
		return err
	}
	order, err := j.recoverRecords(r)
	if err != nil {
		return err
	}
	if err := j.recoverScores(r, order); err != nil {
		return err
	}
	return j.openFiles()
}

// recoverRecords returns the ids of the finished runs in their order.
func (j *Journal) recoverRecords(r *Recovered) (order []string, err error) {
	err = eachLine(j, recordsFile, r, readStatus, func(l *line[RunHead], err error) error {
		if err != nil {
			return err
		}
		head := &l.is
		_, finished := r.Finished[head.ID]
		switch {
		case finished:
		case head.Status.counts():
			r.Finished[head.ID] = struct{}{}
			order = append(order, head.ID)
			delete(r.Faults, head.ID)
		case head.Status == Faulted:
			r.Faults[head.ID]++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", j.folder.dir, err)
	}
	return order, nil
}

// recoverScores finds the runs that lack scores, or that a scorer could not judge. Damaged scores are made again
// too; their lines stay.
func (j *Journal) recoverScores(r *Recovered, order []string) error {
	const mostJudges = 64 // scorers that have a bit of their own; those beyond share the last one
	scorers := r.Manifest.Scorers
	scored := map[string]uint64{} // by the id of a run: bits of those who judged it
	err := eachLine(j, scoresFile, r, reading[Scored], func(l *line[Scored], err error) error {
		if damage, is := errors.AsType[*Problem](err); is {
			r.Problems = append(r.Problems, damage)
			return nil
		}
		if err != nil {
			return err
		}
		by := scored[l.is.Run]
		for _, s := range l.is.Scores {
			at := slices.Index(scorers, s.Name)
			if at < 0 || s.Iteration != 0 {
				continue
			}
			bit := uint64(1) << min(at, mostJudges-1)
			if by |= bit; s.Removed || s.Unscored != "" {
				by &^= bit
			}
		}
		scored[l.is.Run] = by
		return nil
	})
	if err != nil {
		return err
	}
	all := uint64(1)<<min(len(scorers), mostJudges) - 1
	for _, id := range order {
		if by, ok := scored[id]; !ok || by&all != all {
			r.Unscored = append(r.Unscored, id)
		}
	}
	return nil
}

// cut shortens a file that is longer.
func (j *Journal) cut(name string, size int64) error {
	info, err := statRegular(filepath.Join(j.folder.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the results: %w", err)
	}
	if info.Size() <= size {
		return nil
	}
	return writing(j.disk.Truncate(name, size))
}

// eachLine visits the lines of a file and the errors between them, and cuts off a torn end. A missing file has no lines.
func eachLine[T any](j *Journal, name string, r *Recovered, read func([]byte) (T, error), visit func(*line[T], error) error) error {
	size := int64(0)
	for l, err := range fileLines(j.folder.dir, name, read) {
		if torn, is := errors.AsType[*Problem](err); is && torn.Torn {
			r.Problems = append(r.Problems, torn)
			break
		}
		if err := visit(l, err); err != nil {
			return err
		}
		if err == nil {
			size = l.end().offset
		}
	}
	return j.cut(name, size)
}

// OpenScores opens the journal of a folder that holds results, for scores alone:
// nothing else may be appended to it. It cuts off a score that a crash left half
// written; no reader has seen that. The caller closes the journal.
func OpenScores(dir string, options Options) (*Journal, Manifest, error) {
	folder, err := lock(dir)
	if err != nil {
		return nil, Manifest{}, err
	}
	j := newJournal(folder, options)
	m, err := j.openScores()
	if err != nil {
		return nil, m, errors.Join(err, j.leave())
	}
	go j.commit()
	return j, m, nil
}

func (j *Journal) openScores() (Manifest, error) {
	m, err := ReadManifest(j.folder.dir)
	if err != nil {
		return m, err
	}
	whole, err := wholeLines(filepath.Join(j.folder.dir, scoresFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("opening the results: %w", err)
	}
	if err := j.cut(scoresFile, whole); err != nil {
		return m, err
	}
	f, err := j.disk.Append(scoresFile)
	j.files[toScores] = f
	return m, writing(err)
}

// wholeLines is the size of a file up to its last line feed.
func wholeLines(path string) (int64, error) {
	f, err := openFile(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	for part := make([]byte, 1<<16); err == nil && end > 0; {
		from := max(0, end-int64(len(part)))
		part = part[:end-from]
		if _, err = f.ReadAt(part, from); err != nil {
			break
		}
		if at := bytes.LastIndexByte(part, '\n'); at >= 0 {
			return from + int64(at) + 1, nil
		}
		end = from
	}
	return 0, err
}
