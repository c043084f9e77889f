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
	// Rebuilt is how many runs had lost their signals; they have them again.
	Rebuilt int
	// Problems are the lines that were dropped. None of them were acknowledged,
	// unless the disk lost them.
	Problems []*Problem
}

// Resume opens the journal of a folder that holds results. It cuts off what a
// crash left half written, makes missing signals again, and tells what is still
// to be done. Damage in the middle of the records is an error that is a
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
	order, size, err := j.recoverRecords(r)
	if err != nil {
		return err
	}
	if err := j.recoverScores(r, order); err != nil {
		return err
	}
	missing, err := j.cutSignals(r, size)
	if err != nil {
		return err
	}
	if err := j.openFiles(); err != nil {
		return err
	}
	return j.rebuildSignals(r, missing, size)
}

// recoverRecords returns the ids of the finished runs in their order and how far
// the good records reach.
func (j *Journal) recoverRecords(r *Recovered) (order []string, size int64, err error) {
	in := new(reader)
	size, err = j.eachLine(recordsFile, r, func(o *object, err error) error {
		if err != nil {
			return err
		}
		head, err := in.readHead(o.json)
		if err != nil {
			return o.problem(recordsFile, err)
		}
		if _, known := r.Finished[head.ID]; !known && head.Outcome.Counts() {
			r.Finished[head.ID] = struct{}{}
			order = append(order, head.ID)
			delete(r.Faults, head.ID)
		}
		if _, finished := r.Finished[head.ID]; !finished && head.Outcome.Status == Faulted {
			r.Faults[head.ID]++
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%s is damaged: %w", j.folder.dir, err)
	}
	return order, size, nil
}

// recoverScores finds the runs that lack scores. Damaged scores are made again
// too; their lines stay.
func (j *Journal) recoverScores(r *Recovered, order []string) error {
	in, line, scored := new(reader), new(Scored), map[string]uint64{}
	_, err := j.eachLine(scoresFile, r, func(o *object, err error) error {
		if err == nil {
			if err = in.readScored(o.json, line); err != nil {
				err = o.problem(scoresFile, err)
			}
		}
		if damage := (*Problem)(nil); errors.As(err, &damage) {
			r.Problems = append(r.Problems, damage)
			return nil
		}
		scored[line.Run] = judgedBy(r.Manifest.Scorers, line.Scores, scored[line.Run])
		return err
	})
	if err != nil {
		return err
	}
	all := judgedByAll(r.Manifest.Scorers)
	for _, id := range order {
		if by, ok := scored[id]; !ok || by&all != all {
			r.Unscored = append(r.Unscored, id)
		}
	}
	return nil
}

// mostJudges are the scorers that are told apart by a run's bits; those beyond
// share the last one.
const mostJudges = 64

// judgedByAll has a bit for each scorer.
func judgedByAll(scorers []string) uint64 {
	return 1<<min(len(scorers), mostJudges) - 1
}

// judgedBy are the scorers that have judged a run, after these scores of it.
func judgedBy(scorers []string, scores []ScoreHead, by uint64) uint64 {
	for _, s := range scores {
		at := slices.Index(scorers, s.Name)
		if at < 0 || s.Iteration != 0 {
			continue
		}
		bit := uint64(1) << min(at, mostJudges-1)
		if by |= bit; s.Removed {
			by &^= bit
		}
	}
	return by
}

// cutSignals leaves of signals.jsonl what belongs to the first size bytes of the
// records, and returns the place of the first record without signals.
func (j *Journal) cutSignals(r *Recovered, size int64) (place, error) {
	var missing place
	var keep int64
	signals, err := derivedSignals(j.folder.dir, size)
	if err != nil {
		return missing, err
	}
	for s, err := range signals.written((*reader).readHead) {
		var damage *Problem
		if errors.As(err, &damage) {
			r.Problems = append(r.Problems, damage)
			break
		}
		if err != nil {
			return missing, err
		}
		missing, keep = s.end(), s.written
	}
	return missing, j.cut(signalsFile, keep)
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

// rebuildSignals appends what is missing, a group at a time.
func (j *Journal) rebuildSignals(r *Recovered, from place, size int64) error {
	if from.offset >= size {
		return nil
	}
	g := &group{}
	for s, err := range rebuiltSignals(j.folder.dir, from, size) {
		if err != nil {
			return err
		}
		if g.lines[1], err = appendSignals(g.lines[1], s.Signals); err != nil {
			return err
		}
		r.Rebuilt++
		if g.size() >= fullGroup {
			if err := j.writeFiles(g); err != nil {
				return err
			}
			g.finish(nil)
		}
	}
	return j.writeFiles(g)
}

// eachLine visits the lines of a file and the errors between them, cuts off a
// torn end, and returns the size that is left. A missing file has no lines.
func (j *Journal) eachLine(name string, r *Recovered, visit func(*object, error) error) (int64, error) {
	f, err := openFile(filepath.Join(j.folder.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening the results: %w", err)
	}
	defer f.Close()
	var size int64
	for o, err := range scan(name, f, place{}) {
		var torn *Problem
		if errors.As(err, &torn) && torn.Torn {
			r.Problems = append(r.Problems, torn)
			break
		}
		if err := visit(&o, err); err != nil {
			return 0, err
		}
		if err == nil {
			size = o.end().offset
		}
	}
	return size, j.cut(name, size)
}
