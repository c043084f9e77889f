package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
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
	size, err = eachLine(j, recordsFile, r, readStatus, func(l *line[RunHead], err error) error {
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
		return nil, 0, fmt.Errorf("%s is damaged: %w", j.folder.dir, err)
	}
	return order, size, nil
}

// recoverScores finds the runs that lack scores, or that a scorer could not judge. Damaged scores are made again
// too; their lines stay.
func (j *Journal) recoverScores(r *Recovered, order []string) error {
	const mostJudges = 64 // scorers that have a bit of their own; those beyond share the last one
	scorers := r.Manifest.Scorers
	scored := map[string]uint64{} // by the id of a run: bits of those who judged it
	_, err := eachLine(j, scoresFile, r, reading[Scored], func(l *line[Scored], err error) error {
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

// cutSignals leaves of signals.jsonl what belongs to the first size bytes of the
// records, and returns the place of the first record without signals.
func (j *Journal) cutSignals(r *Recovered, size int64) (missing place, err error) {
	signals, err := derivedSignals(j.folder.dir, size)
	if err != nil {
		return missing, err
	}
	keep := int64(0)
	for s, err := range writtenSignals(signals, statuses) {
		if damage, is := errors.AsType[*Problem](err); is {
			r.Problems = append(r.Problems, damage)
			break
		}
		if err != nil {
			return missing, err
		}
		missing, keep = s.end(), s.written.offset
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
	for s, err := range rebuiltSignals(j.folder.dir, from, size, whole) {
		if err != nil {
			return err
		}
		if g.lines[1], err = appendSignals(g.lines[1], s.is); err != nil {
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
func eachLine[T any](j *Journal, name string, r *Recovered, read func([]byte) (T, error), visit func(*line[T], error) error) (size int64, err error) {
	for l, err := range fileLines(j.folder.dir, name, read) {
		if torn, is := errors.AsType[*Problem](err); is && torn.Torn {
			r.Problems = append(r.Problems, torn)
			break
		}
		if err := visit(l, err); err != nil {
			return 0, err
		}
		if err == nil {
			size = l.end().offset
		}
	}
	return size, j.cut(name, size)
}

// placed is what was read of a run's signals, and the place of its record.
type placed[S signalled] struct {
	is S
	place
	written place // behind their line in signals.jsonl; zero: rebuilt
}

func (p *placed[S]) end() place { return place{p.line + 1, p.offset + p.is.record()} }

// signalled is what is read of signals: all, or as much as is needed.
type signalled interface {
	record() (bytes int64) // how long the record is
}

func (s *Signals) record() (bytes int64) { return s.Bytes }
func (h RunHead) record() (bytes int64)  { return h.At.bytes }

// form is how signals are read, and how they are made of a record.
type form[S signalled] struct {
	read    func(signals []byte) (S, error)
	rebuild func(*Signals) S
}

var (
	whole    = form[*Signals]{signalsOf, func(s *Signals) *Signals { return s }}
	counts   = form[RunHead]{countsOf, headOf}
	statuses = form[RunHead]{statusOf, headOf}
)

func headOf(s *Signals) RunHead {
	return RunHead{
		ID: s.ID, Configuration: s.Configuration, Task: s.Task, Trial: s.Trial, Status: s.Outcome.Status,
		Returned: s.Outcome.Returned, Iterations: len(s.Iterations), At: RecordPlace{bytes: s.Bytes},
	}
}

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
	// counted are the tries of the runs that it holds; reach is how much of the
	// records these are.
	counted tries
	reach   int64
}

// derivedSignals finds out how far the signals fit the first size bytes of the
// records. A line says how long its record is, so all of them fit where the record
// at the place of the last one is of its run.
func derivedSignals(dir string, size int64) (*derived, error) {
	d := &derived{dir: dir, size: size, fits: math.MaxInt64, counted: tries{}}
	var last placed[RunHead]
	for s, err := range writtenSignals(d, statuses) {
		if err == nil {
			last = *s
			d.counted.add(&s.is)
		}
	}
	d.reach = last.end().offset
	if size == noRecords {
		return d, nil
	}
	f, _, err := openRecords(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if last.is.At.bytes == 0 || fits(&last, f) {
		return d, nil
	}
	return d, d.cut(f, &last)
}

// fits reports whether the record at the place of a line is of its run. One that is
// damaged does not say.
func fits(l *placed[RunHead], records io.ReaderAt) bool {
	object, err := objectAt(recordsFile, records, l.place, l.is.At.bytes)
	if err != nil {
		return false
	}
	head, err := readStatus(object)
	return err == nil && head.ID == l.is.ID
}

// cut finds the last line that fits. Where a whole record stands among those of the
// lines behind it, these are not in their places.
func (d *derived) cut(records io.ReaderAt, last *placed[RunHead]) error {
	var good, bad placed[RunHead]
	for l, err := range writtenSignals(d, statuses) {
		if err != nil {
			break
		}
		switch {
		case fits(l, records):
			good, bad = *l, placed[RunHead]{}
		case bad.is.At.bytes == 0:
			bad = *l
		}
	}
	from := good.end()
	if good.is.ID == "" {
		from = place{}
	}
	for l, err := range sectionLines(recordsFile, records, from, d.size, checked) {
		switch {
		case err != nil && !isDamage(err):
			return err
		case err == nil && l.offset < last.end().offset:
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

// tries counts the records of the runs that are tried again.
func (d *derived) tries() tries {
	if d.size == noRecords || d.misfit == nil && d.reach == d.size {
		return d.counted
	}
	t := tries{}
	for s, err := range placedIn(d, statuses) {
		if err == nil { // else the caller meets it too
			t.add(&s.is)
		}
	}
	return t
}

// placedSignals yields the signals of all records in the first size bytes of
// records.jsonl, those that are superseded too, in a form that holds what is needed.
// Signals hold how long their record is, so that what signals.jsonl lacks
// is found without reading the records before.
func placedSignals[S signalled](dir string, size int64, as form[S]) iter.Seq2[*placed[S], error] {
	d, err := derivedSignals(dir, size)
	if err != nil {
		return func(yield func(*placed[S], error) bool) { yield(new(placed[S]), err) }
	}
	return placedIn(d, as)
}

func placedIn[S signalled](d *derived, as form[S]) iter.Seq2[*placed[S], error] {
	return func(yield func(*placed[S], error) bool) {
		at := place{}
		for s, err := range writtenSignals(d, as) {
			if !yield(s, err) || isNotRegular(err) {
				return
			}
			if err == nil {
				at = s.end()
			}
		}
		if d.size > at.offset {
			rebuiltSignals(d.dir, at, d.size, as)(yield)
		}
	}
}

// writtenSignals yields what signals.jsonl holds, up to its first bad line, to one that is
// not of the record in its place, or to a run whose record does not end within the
// size. Without records nothing can be made again, and bad lines are
// passed over. What it yields is valid until the next one.
func writtenSignals[S signalled](d *derived, as form[S]) iter.Seq2[*placed[S], error] {
	return func(yield func(*placed[S], error) bool) {
		s, at := new(placed[S]), place{}
		f, err := openFile(filepath.Join(d.dir, signalsFile))
		if isNotRegular(err) {
			yield(s, err)
			return
		}
		if err != nil {
			return // then all are rebuilt
		}
		defer f.Close()
		for l, err := range walk(signalsFile, f, place{}, as.read) {
			*s = placed[S]{place: at}
			if err == nil {
				s.is, s.written = l.is, l.end()
			}
			if d.size == noRecords {
				if !yield(s, err) {
					return
				}
				continue
			}
			if err == nil && l.offset >= d.fits {
				err = d.misfit
			}
			if err != nil {
				if !isTorn(err) {
					yield(new(placed[S]), err)
				}
				return
			}
			if s.is.record() <= 0 || s.end().offset > d.size || !yield(s, nil) {
				return
			}
			at = s.end()
		}
	}
}

// rebuiltSignals makes signals from the records between a place and an offset.
func rebuiltSignals[S signalled](dir string, from place, to int64, as form[S]) iter.Seq2[*placed[S], error] {
	return func(yield func(*placed[S], error) bool) {
		f, _, err := openRecords(dir)
		if err != nil {
			yield(new(placed[S]), err)
			return
		}
		defer f.Close()
		for l, err := range sectionLines(recordsFile, f, from, to, rebuild) {
			s := &placed[S]{}
			if err == nil {
				l.is.Bytes = l.bytes
				s.is, s.place = as.rebuild(l.is), l.place
			}
			if !yield(s, err) {
				return
			}
		}
	}
}
