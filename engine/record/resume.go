package record

import (
	"errors"
	"fmt"
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
	// Effort is what all attempts at runs really took.
	Effort Effort
}

// Resume opens the journal of a folder that holds results. It cuts off the line that a
// crash left half written, and tells what is still to be done. The error may be a *[Damage] or
// *[InUse]. The caller closes the journal.
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
	err = wholeLines(j, recordsFile, headOf, func(head *RunHead) {
		r.Effort = r.Effort.Plus(head.effort())
		_, finished := r.Finished[head.ID]
		switch {
		case finished:
		case head.Outcome.Counts():
			r.Finished[head.ID] = struct{}{}
			order = append(order, head.ID)
			delete(r.Faults, head.ID)
		case head.Outcome.Status == Faulted:
			r.Faults[head.ID]++
		}
	})
	return order, err
}

// recoverScores finds the runs that lack scores, or that a scorer could not judge.
func (j *Journal) recoverScores(r *Recovered, order []string) error {
	type judgement struct{ run, scorer string }
	scored, judged := map[string]bool{}, map[judgement]bool{}
	err := wholeLines(j, scoresFile, scoredOf, func(line *Scored) {
		scored[line.Run] = true
		for _, s := range line.Scores {
			if s.Iteration == 0 {
				judged[judgement{line.Run, s.Name}] = !s.Removed && s.Unscored == ""
			}
		}
	})
	if err != nil {
		return err
	}
	for _, id := range order {
		if !scored[id] || slices.ContainsFunc(r.Manifest.Scorers, func(name string) bool { return !judged[judgement{id, name}] }) {
			r.Unscored = append(r.Unscored, id)
		}
	}
	return nil
}

// wholeLines visits the lines of a file, and cuts off one that is torn.
func wholeLines[T any](j *Journal, name string, read func([]byte) (T, error), visit func(*T)) error {
	path, size := filepath.Join(j.folder.dir, name), int64(0)
	for l, err := range fileLines(path, read) {
		if err != nil {
			return err
		}
		visit(&l.is)
		size = l.offset + l.bytes
	}
	info, err := statRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("opening the results: %w", err)
	case info.Size() > size:
		return writing(j.disk.Truncate(name, size))
	}
	return nil
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
	if err := wholeLines(j, scoresFile, unread, func(*struct{}) {}); err != nil {
		return m, err
	}
	f, err := j.disk.Append(scoresFile)
	j.files[toScores] = f
	return m, writing(err)
}

// unread reads nothing of a line.
func unread([]byte) (none struct{}, err error) { return none, nil }
